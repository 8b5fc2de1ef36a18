"""Foreign web pages in a browser cannot affect the local system."""

import json

import pytest

from taskmill_local.front.guard import local_only
from taskmill_local.front.head import parse_head
from taskmill_local.front.request import Request

JSON = "Content-Type: application/json"
CANCEL = "POST /v1/tasks/7/cancel"


def refusal(line, *headers, host="localhost:8080", body=b""):
    lines = [f"{line} HTTP/1.1", f"Host: {host}", *headers]
    head = parse_head("\r\n".join(lines).encode())
    return local_only(Request(head=head, body=body, source_ip="127.0.0.1"))


def status(*given, **different):
    answer = refusal(*given, **different)
    return None if answer is None else answer.status


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.8.9.1", "[::1]:80", "a.localhost"]
)
def test_names_of_this_machine_are_answered(host):
    assert status("GET /mail", host=host) is None


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8080", "127.0.0.1.evil.example", "10.0.0.5", "localhost.evil"],
)
def test_another_name_is_a_page_that_changed_its_address(host):
    assert status("GET /mail", host=host) == 403


def test_a_program_of_http_1_0_may_leave_the_name_out():
    head = parse_head(b"GET /mail HTTP/1.0")
    assert local_only(Request(head=head, body=b"", source_ip="127.0.0.1")) is None


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:9000", "null", ""])
def test_a_page_of_another_origin_changes_nothing(origin):
    assert status(CANCEL, f"Origin: {origin}") == 403
    assert status("GET /v1/tasks", f"Origin: {origin}") is None


def test_a_page_of_the_system_itself_may():
    assert status(CANCEL, "Origin: http://localhost:8080") is None
    assert status("POST /v1/tasks", "Origin: http://LOCALHOST:8080", JSON, body=b"{}") is None


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", ""]
)
def test_what_a_form_can_send_is_refused(kind):
    assert status(CANCEL, f"Content-Type: {kind}", body=b"{}") == 415
    assert status(CANCEL, body=b"{}") == 415


def test_json_and_nothing_are_taken():
    assert status(CANCEL) is None
    assert status(CANCEL, "Content-Type: text/plain") is None
    assert status(CANCEL, "Content-Type: Application/JSON; charset=utf-8", body=b"{}") is None


def test_a_refusal_says_what_to_do_as_the_api_does():
    answer = refusal("GET /mail", host="evil.example")
    assert answer.headers == (("content-type", "application/problem+json"),)
    assert json.loads(answer.body) == {
        "type": "forbidden",
        "title": "Forbidden",
        "status": 403,
        "detail": "the local system answers to names of this machine only: send Host: localhost",
    }
