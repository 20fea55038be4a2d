"""Our signatures of S3 are those that AWS's own library makes."""

import hashlib
from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4Auth, S3SigV4QueryAuth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.s3.signing import Bucket, S3Signer

REGION = "eu-central-1"
SECONDS = 600

secret_text = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+=", min_size=16, max_size=40
)
keys = st.builds(Keys, secret_text, secret_text, st.none() | secret_text)
buckets = st.sampled_from(
    ["https://shop.s3.eu-central-1.amazonaws.com", "http://127.0.0.1:8333/shop"]
)
queries = st.sampled_from(
    [
        {},
        {"uploads": ""},
        {"partNumber": "3", "uploadId": "a_b-c.d~e/f+g="},
        {"response-content-disposition": "attachment; filename*=UTF-8''caf%C3%A9 \"1\".png"},
    ]
)
moments = st.integers(0, 4_000_000_000_000)
KEY = "threads/thr_1/attachments/fil_1/preview.webp"


def query_auth(url: str, method: str, headers: dict[str, str], held: Keys, at_ms: int) -> str:
    request = AWSRequest(method, url, headers=headers)
    now = datetime.fromtimestamp(at_ms // 1000, UTC)
    with patch("botocore.auth.get_current_datetime", lambda: now):
        S3SigV4QueryAuth(Credentials(*held), "s3", REGION, expires=SECONDS).add_auth(request)
    signed: str = request.url
    return parse_qs(urlsplit(signed).query)["X-Amz-Signature"][0]


@given(bucket=buckets, query=queries, held=keys, at_ms=moments)
@settings(max_examples=150, deadline=None)
def test_addresses_are_signed_as_botocore_does(
    bucket: str, query: dict[str, str], held: Keys, at_ms: int
) -> None:
    signer = S3Signer(Bucket(bucket, REGION))
    headers = {"content-length": "10", "content-type": "image/webp"}
    made = signer.presign("PUT", KEY, query, headers, keys=held, at_ms=at_ms, seconds=SECONDS)
    theirs = query_auth(signer.url(KEY, query), "PUT", headers, held, at_ms)
    assert parse_qs(urlsplit(made).query)["X-Amz-Signature"] == [theirs]


@given(bucket=buckets, query=queries, held=keys, at_ms=moments, body=st.binary(max_size=20))
@settings(max_examples=150, deadline=None)
def test_requests_are_signed_as_botocore_does(
    bucket: str, query: dict[str, str], held: Keys, at_ms: int, body: bytes
) -> None:
    signer = S3Signer(Bucket(bucket, REGION))
    digest = hashlib.sha256(body).hexdigest()
    headers = {"content-md5": "abc=", "content-type": "image/webp", "if-match": '"e"'}
    made = signer.headers("PUT", KEY, query, headers, payload_sha256=digest, keys=held, at_ms=at_ms)
    request = AWSRequest("PUT", signer.url(KEY, query), headers=headers, data=body)
    request.context["payload_signing_enabled"] = True
    now = datetime.fromtimestamp(at_ms // 1000, UTC)
    with patch("botocore.auth.get_current_datetime", lambda: now):
        S3SigV4Auth(Credentials(*held), "s3", REGION).add_auth(request)
    assert made["authorization"] == request.headers["Authorization"]
    assert made.get("x-amz-security-token") == held.token
