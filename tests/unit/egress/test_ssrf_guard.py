"""No internal address can be called, however it is written."""

from ipaddress import IPv4Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskmill.egress.ssrf_guard import Blocked, Target, target_of, vetted

PUBLIC = Target(is_secure=True, host="hooks.example.com", port=443, path="/in")
HERE = Target(is_secure=True, host="localhost", port=443, path="/", is_loopback=True)
INSIDE = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",  # noqa: S104 - an address to refuse
    "10.0.0.1",
    "100.64.0.1",
    "168.63.129.16",
    "169.254.169.254",
    "169.254.170.2",
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.1",
    "192.0.2.1",
    "192.168.0.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.1.1.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::127.0.0.1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "::ffff:93.184.215.14",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
    "2001::7f00:1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
    "5f00::1",
    "fc00::1",
    "fd00:ec2::254",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "ff0e::1",
]
OUTSIDE = ["93.184.215.14", "8.8.8.8", "172.32.0.1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"]
ODD = ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0", "0x", "1.2.3.4.5", "256.1.1.1"]
NAMES_INSIDE = [
    "db.localhost",
    "metadata.google.internal",
    "printer.local",
    "intranet",
    "localhost.",
]


def why(url, **how):
    answer = target_of(url, **how)
    assert isinstance(answer, Blocked), answer
    return answer.why


def literal(address):
    return f"https://[{address}]/in" if ":" in address else f"https://{address}/in"


@pytest.mark.parametrize("address", INSIDE)
def test_no_address_inside_is_a_target(address):
    assert why(literal(address))


@pytest.mark.parametrize("address", INSIDE)
def test_a_name_that_leads_inside_is_refused_whatever_else_it_leads_to(address):
    for found in ([address], ["8.8.8.8", address], [address, "8.8.8.8"]):
        answer = vetted(PUBLIC, found)
        assert answer == Blocked("hooks.example.com leads to an address that is not public")


@pytest.mark.parametrize("address", OUTSIDE)
def test_what_is_public_may_be_called(address):
    assert isinstance(target_of(literal(address)), Target)
    assert vetted(PUBLIC, [address]) == [address]


@pytest.mark.parametrize("host", [*ODD, *NAMES_INSIDE])
@pytest.mark.parametrize("reaches_loopback", [False, True])
def test_an_odd_form_of_an_address_and_a_name_of_the_inside_are_refused(host, reaches_loopback):
    assert why(f"https://{host}/in", reaches_loopback=reaches_loopback)


@pytest.mark.parametrize(
    "host",
    [
        "①②⑦.0.0.1",
        "127。0。0。1",
        "\uff11\uff12\uff17.0.0.1",  # digits as wide as a Chinese character
        "localho\u017ft",  # an old form of the letter s
        "ⓛocalhost",
        "127.0.0.1\u200b",
    ],
)
def test_letters_that_become_an_inner_host_are_refused(host):
    assert "ASCII" in why(f"https://{host}/in", reaches_loopback=True)


def test_a_name_that_looks_like_another_is_shown_in_punycode():
    answer = why("https://pаypal.com/in")  # noqa: RUF001 - that is the trick
    assert answer == "the host must be written in ASCII, which is xn--pypal-4ve.com"
    assert isinstance(target_of("https://xn--pypal-4ve.com/in"), Target)


def test_a_password_before_such_a_name_is_not_shown():
    answer = target_of("https://user:p\xe4ss@example.com/in").why
    assert answer == "the host must be written in ASCII, which is example.com"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])
def test_this_machine_is_no_target_under_any_of_its_names(host):
    assert why(f"https://{host}/in")


@pytest.mark.parametrize("port", [0, 22, 25, 80, 5432, 6379, 9092, 8443, 65536, 99999])
def test_only_one_port_is_called(port):
    assert "port" in why(f"https://hooks.example.com:{port}/in")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "gopher://hooks.example.com/_x",
        "ftp://hooks.example.com/",
        "http://hooks.example.com/in",
        "//hooks.example.com/in",
        "hooks.example.com/in",
        "https:/hooks.example.com/in",
        "https:hooks.example.com",
        "https://",
        "https:///in",
        "https://user@hooks.example.com/in",
        "https://user:word@hooks.example.com/in",
        "https://hooks.example.com@127.0.0.1/in",
        "https://127.0.0.1#@hooks.example.com/",
        "https://hooks.example.com/in#part",
        "https://hooks.example.com/in#",
        "https://hooks.example.com\\@127.0.0.1/",
        "https://hooks.example.com/a b",
        "https://hooks.example.com/a\r\nHost: inside",
        "https://hooks.example.com/a\n",
        "https://hooks.example.com\r\n/a",
        "https://hooks.example.com/\x00",
        "https://hooks.example.com/ü",
        "https://hooks.example.com:/in:",
        "https://hooks.example.com:443:443/in",
        "https://hooks.example.com:+443/in",
        "https://hooks.example.com:４４３/in",  # noqa: RUF001 - digits that only some readers take
        "https://[::1/in",
        "https://[hooks.example.com]/in",
        "https://[127.0.0.1]/in",
        "https://[2606:2800::1%25eth0]/in",
        "https://2606:2800::1/in",
        "https://-hooks.example.com/in",
        "https://hooks..example.com/in",
        "https://.example.com/in",
        "https://hooks_a.example.com/in",
        f"https://{'a' * 64}.example.com/in",
        f"https://{'a.' * 130}com/in",
        f"https://hooks.example.com/{'a' * 2048}",
        " https://hooks.example.com/in",
        "https://hooks.example.com/in ",
    ],
)
@pytest.mark.parametrize("reaches_loopback", [False, True])
def test_what_is_not_plainly_a_web_address_is_refused(url, reaches_loopback):
    assert why(url, reaches_loopback=reaches_loopback)


def test_a_target_is_the_url_in_its_parts():
    answer = target_of("HTTPS://Hooks.Example.COM:443?a=%2F&b")
    assert answer == Target(is_secure=True, host="hooks.example.com", port=443, path="/?a=%2F&b")
    assert answer.endpoint == "https://hooks.example.com/"


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("http://127.0.0.1:8081/in?x=1", "http://127.0.0.1:8081/in"),
        ("http://localhost/in", "http://localhost/in"),
        ("https://[::1]:8443", "https://[::1]:8443/"),
        ("https://127.9.9.9/", "https://127.9.9.9/"),
    ],
)
def test_this_machine_is_a_target_only_where_that_is_allowed(url, endpoint):
    assert why(url)
    answer = target_of(url, reaches_loopback=True)
    assert (answer.is_loopback, answer.endpoint) == (True, endpoint)


def test_what_means_this_machine_leads_nowhere_else_and_nothing_else_leads_here():
    assert vetted(HERE, ["127.0.0.1", "::1"]) == ["127.0.0.1", "::1"]
    for address in ("10.0.0.1", "169.254.169.254", "8.8.8.8"):
        assert isinstance(vetted(HERE, ["127.0.0.1", address]), Blocked)
    assert isinstance(vetted(PUBLIC, ["127.0.0.1"]), Blocked)


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "https://169.254.169.254/", "https://[fd00:ec2::254]/"]
)
def test_to_allow_this_machine_allows_nothing_else(url):
    assert why(url, reaches_loopback=True)


@given(st.integers(0, 2**32 - 1))
def test_what_the_library_calls_private_is_never_called(number):
    address = IPv4Address(number)
    if not address.is_global or address.is_multicast:
        assert isinstance(vetted(PUBLIC, [str(address)]), Blocked)


@given(st.integers(0, 2**128 - 1))
def test_of_the_newer_addresses_only_those_handed_out_are_called(number):
    address = ip_address(number.to_bytes(16))
    if address not in ip_network("2000::/3"):
        assert isinstance(vetted(PUBLIC, [str(address)]), Blocked)


@given(st.text(max_size=60).map("https://{}".format) | st.text(max_size=60))
def test_any_text_is_a_public_target_or_refused_with_a_sentence(url):
    answer = target_of(url)
    if isinstance(answer, Target):
        assert (answer.is_secure, answer.port, answer.is_loopback) == (True, 443, False)
        assert answer.path.isascii()
        assert answer.path.isprintable()
    else:
        assert answer.why
