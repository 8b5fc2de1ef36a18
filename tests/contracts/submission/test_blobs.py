"""Memory, S3 and the local bucket behave the same."""

import hashlib
import socket
import time
from base64 import b64encode
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
from moto.server import ThreadedMotoServer

from taskmill.core.errors import BlobRefused, StoreUnavailable
from taskmill.settings.access import Credentials, S3Access
from taskmill.stores.memory.blobs import MemoryBlobs
from taskmill.stores.s3.blobs import S3Blobs
from taskmill_local.bucket import Bucket

KEY = "payloads/echo/default/abc"
SOON = timedelta(seconds=2)


def by_moto():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    place = "{}:{}".format(*server.get_host_and_port())
    answer = asked("PUT", f"http://{place}/mill")
    assert answer.status == 200
    result = {"TASKMILL_BUCKET_ENDPOINT": f"http://{place}"}
    result |= {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing"}
    return access_of(result), server.stop


def by_the_laptop(folder):
    bucket = Bucket(folder)
    return access_of(bucket.start()), bucket.stop


def access_of(result):
    return S3Access(
        bucket="mill",
        endpoint=result["TASKMILL_BUCKET_ENDPOINT"],
        credentials=Credentials(
            username=result["AWS_ACCESS_KEY_ID"], password=result["AWS_SECRET_ACCESS_KEY"]
        ),
    )


@dataclass
class Answer:
    status: int
    body: bytes


def asked(method, url, body=None, headers=None):
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        connection.request(method, f"{parts.path}?{parts.query}", body, headers or {})
        response = connection.getresponse()
        return Answer(response.status, response.read())
    finally:
        connection.close()


@pytest.fixture(scope="module", params=["memory", "moto", "laptop"])
def bucket(request, tmp_path_factory) -> Any:
    if request.param == "memory":
        yield MemoryBlobs("mill")
        return
    folder = tmp_path_factory.mktemp("bucket")
    access, stop = by_moto() if request.param == "moto" else by_the_laptop(folder)
    try:
        yield S3Blobs(access)
    finally:
        stop()


@pytest.fixture(scope="module")
def laptop(tmp_path_factory):
    access, stop = by_the_laptop(tmp_path_factory.mktemp("bucket"))
    yield access
    stop()


def test_what_is_written_is_read_by_its_url(bucket):
    content = bytes(range(256)) * 1000
    bucket.write(KEY, content)
    url = bucket.url(KEY)
    assert url == f"s3://mill/{KEY}"
    assert bucket.look(url).size == len(content)
    assert bucket.read(url, most=len(content) + 1) == content
    assert bucket.read(url, most=10) == content[:10]


def test_what_has_a_media_type_is_written_like_anything_else(bucket):
    bucket.write(KEY, b"hello", media_type="text/plain; charset=utf-8")
    assert bucket.read(bucket.url(KEY), most=10) == b"hello"


def test_what_is_written_is_kept_for_days_and_anew_when_it_is_written_again(s3):
    content, days = b"hello", timedelta(days=30).total_seconds()
    for _ in range(2):
        before = int(time.time())
        s3.write(KEY, content)
        kept = s3.look(s3.url(KEY)).kept_until_ms / 1000 - days
        assert before - 1 <= kept <= time.time() + 1


def test_what_is_written_again_is_replaced(bucket):
    bucket.write("results/echo/1", b"one")
    bucket.write("results/echo/1", b"two, longer")
    assert bucket.read(bucket.url("results/echo/1"), most=100) == b"two, longer"


@pytest.mark.parametrize("url", ["s3://mill/results/nothing", f"s3://other/{KEY}", "", "s3://mill"])
def test_where_nothing_is_nothing_is_read(bucket, url):
    assert bucket.look(url) is None
    assert bucket.read(url, most=100) is None


@pytest.fixture(params=["moto", "laptop"])
def s3(request, tmp_path):
    access, stop = by_moto() if request.param == "moto" else by_the_laptop(tmp_path)
    try:
        yield S3Blobs(access)
    finally:
        stop()


def test_a_client_writes_and_reads_by_links(s3):
    content = b'{"say": "hello"}'
    digest = hashlib.sha256(content).hexdigest()
    upload = s3.upload_link(KEY, size=len(content), digest=digest)
    assert asked(upload.method, upload.url, content, upload.headers).status == 200
    assert s3.look(s3.url(KEY)).size == len(content)
    assert asked("GET", s3.download_link(s3.url(KEY))).body == content


def test_a_link_lets_nobody_write_anything_else(laptop):
    content, digest = b"hello", hashlib.sha256(b"hello").hexdigest()
    upload = S3Blobs(laptop).upload_link(KEY, size=5, digest=digest)
    other = b64encode(hashlib.sha256(b"HELLO").digest()).decode()
    result = upload.headers
    assert asked("PUT", upload.url, b"HELLO", result).status == 400
    assert (
        asked("PUT", upload.url, b"HELLO", result | {"x-amz-checksum-sha256": other}).status == 403
    )
    assert asked("PUT", upload.url, b"hello!", result | {"Content-Length": "6"}).status == 403
    assert asked("PUT", upload.url, content, {"Content-Length": "5"}).status == 403
    assert asked("PUT", upload.url.replace("abc", "abd"), content, result).status == 403
    assert asked("GET", upload.url, None, result).status == 403
    assert asked("GET", f"{laptop.endpoint}/mill/{KEY}").status == 403
    assert S3Blobs(laptop).look(f"s3://mill/{KEY}") is None
    assert asked("PUT", upload.url, content, result).status == 200


def test_a_refusal_reaches_a_client_that_is_still_sending(laptop):
    parts = urlsplit(laptop.endpoint)
    rest = bytes(10_000_000)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        head = f"PUT /mill/{KEY} HTTP/1.1\r\nHost: mill\r\nContent-Length: {len(rest) + 1}\r\n\r\n"
        connection.sendall(head.encode() + b"x")
        assert connection.recv(1, socket.MSG_PEEK)
        connection.sendall(rest)
        answer = b"".join(iter(lambda: connection.recv(1000), b""))
    assert b" 403 " in answer.splitlines()[0]
    assert answer.endswith(b"</Error>")


def test_a_link_is_good_for_a_quarter_of_an_hour(laptop):
    S3Blobs(laptop).write("results/echo/old", b"one")
    url = "s3://mill/results/echo/old"
    for minutes, status in ((14, 200), (16, 403), (-16, 403)):
        then = datetime.now(UTC) - timedelta(minutes=minutes)
        link = S3Blobs(laptop, now=lambda then=then: then).download_link(url)
        assert asked("GET", link).status == status


@pytest.mark.parametrize("key", ["../../x", "a/../b", ".", "a//b", "%2e%2e/x", "a/%00"])
def test_no_key_leads_out_of_the_folder(laptop, key):
    with pytest.raises(BlobRefused, match="400"):
        S3Blobs(laptop).write(key, b"x")


def test_what_is_no_request_of_ours_is_refused(laptop):
    for target in ("/", "/?X-Amz-Expires=x", "/a/b?X-Amz-Credential=%00&X-Amz-Signature=%C3%A9"):
        assert asked("GET", f"{laptop.endpoint}{target}").status == 403


def test_what_the_laptop_keeps_survives_a_restart(tmp_path):
    access, stop = by_the_laptop(tmp_path)
    S3Blobs(access).write(KEY, b"hello")
    stop()
    access, stop = by_the_laptop(tmp_path)
    try:
        assert S3Blobs(access).read(f"s3://mill/{KEY}", most=9) == b"hello"
    finally:
        stop()


def test_a_wrong_key_is_no_silence(laptop):
    login = Credentials(username=laptop.credentials.username, password=KEY)
    stranger = replace(laptop, credentials=login)
    with pytest.raises(BlobRefused, match="403"):
        S3Blobs(stranger).read(f"s3://mill/{KEY}", most=9)
    with pytest.raises(BlobRefused, match="403"):
        S3Blobs(stranger).write(KEY, b"x")
    assert S3Blobs(stranger).look(f"s3://mill/{KEY}") is None  # it may not list


def test_a_bucket_that_is_away_is_said_to_be_away(tmp_path):
    access, stop = by_the_laptop(tmp_path)
    stop()
    away = S3Blobs(access, patience=SOON, tries=2)
    for ask in (
        lambda: away.look(f"s3://mill/{KEY}"),
        lambda: away.read(f"s3://mill/{KEY}", most=9),
        lambda: away.write(KEY, b"x"),
    ):
        with pytest.raises(StoreUnavailable, match="S3 cannot be reached"):
            ask()
