"""Links to S3 are signed like those of AWS."""

from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as Theirs

from taskmill.settings.access import Credentials, S3Access
from taskmill.stores.s3.signing import link

ID, SECRET = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
OURS = Credentials(username=ID, password=SECRET)


def test_a_link_has_the_signature_that_the_documentation_of_aws_has():
    class Documented(S3Access):
        def place(self, key):
            return "https://examplebucket.s3.amazonaws.com", f"/{key}"

    access = Documented(bucket="examplebucket", credentials=OURS)
    at = datetime(2013, 5, 24, tzinfo=UTC)
    url = link(access, "GET", "test.txt", now=at, lives=timedelta(days=1))
    assert url.endswith(
        "X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
    )


@pytest.mark.parametrize("token", ["", "a session/token=="])
@pytest.mark.parametrize("endpoint", ["", "http://127.0.0.1:9000"])
@pytest.mark.parametrize(
    ("method", "headers"),
    [("GET", {}), ("PUT", {"Content-Length": "5", "x-amz-checksum-sha256": "+/a="})],
)
def test_a_link_is_the_one_that_botocore_would_give(method, headers, endpoint, token):
    access = S3Access(
        bucket="mill", region="eu-west-1", endpoint=endpoint, credentials=OURS, token=token
    )
    now = datetime.now(UTC)
    key = "payloads/echo/default/a b~é.csv"
    url = link(access, method, key, now=now, lives=timedelta(minutes=15), headers=headers)
    request = AWSRequest(method, url.partition("?")[0], headers=headers)
    request.context["timestamp"] = now.strftime("%Y%m%dT%H%M%SZ")
    signer = S3SigV4QueryAuth(Theirs(ID, SECRET, token or None), "s3", "eu-west-1", expires=900)
    signer._modify_request_before_signing(request)  # noqa: SLF001 - all but the reading of a clock
    canonical = signer.canonical_request(request)
    answer = signer.string_to_sign(request, canonical)
    wanted = signer.signature(answer, request)
    assert dict(parse_qsl(urlsplit(url).query))["X-Amz-Signature"] == wanted


def test_nothing_that_is_printed_of_the_access_tells_a_secret():
    access = S3Access(bucket="mill", credentials=OURS, token=SECRET[::-1])
    assert SECRET not in repr(access)
    assert access.token not in repr(access)
