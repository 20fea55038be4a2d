"""Our signature is the one that AWS's own library makes."""

from datetime import UTC, datetime
from unittest.mock import patch

from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from greenroom.platform.aws.signing import Keys
from greenroom.platform.dynamodb.signing import CONTENT_TYPE, TARGET, Signer

DAY_MS = 86_400_000
NOON_MS = 1_800_014_400_000

secret_text = st.text(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/+=", min_size=16, max_size=60
)
keys = st.builds(Keys, secret_text, secret_text, st.none() | secret_text)


def theirs(host: str, region: str, action: str, body: bytes, keys: Keys, at_ms: int) -> str:
    request = AWSRequest(
        "POST",
        f"https://{host}/",
        headers={"Content-Type": CONTENT_TYPE, "X-Amz-Target": TARGET + action},
        data=body,
    )
    now = datetime.fromtimestamp(at_ms // 1000, UTC)
    with patch("botocore.auth.get_current_datetime", lambda: now):
        SigV4Auth(Credentials(*keys), "dynamodb", region).add_auth(request)
    authorization: str = request.headers["Authorization"]
    return authorization


@given(
    host=st.sampled_from(["dynamodb.eu-central-1.amazonaws.com", "127.0.0.1:8000"]),
    region=st.sampled_from(["eu-central-1", "cn-north-1"]),
    action=st.sampled_from(["GetItem", "TransactWriteItems"]),
    body=st.binary(max_size=200),
    keys=keys,
    at_ms=st.integers(0, 4_000_000_000_000),
)
@settings(max_examples=200, deadline=None)
def test_the_signature_is_the_one_of_botocore(
    host: str, region: str, action: str, body: bytes, keys: Keys, at_ms: int
) -> None:
    headers = Signer(region, host).headers(action, body, keys, at_ms)
    assert headers["authorization"] == theirs(host, region, action, body, keys, at_ms)
    assert headers.get("x-amz-security-token") == keys.token


def test_the_kept_key_is_never_that_of_another_day_or_secret() -> None:
    host, region = "dynamodb.eu-central-1.amazonaws.com", "eu-central-1"
    signer = Signer(region, host)
    first, second = Keys("A" * 16, "a secret"), Keys("A" * 16, "another secret", "token")
    for at_ms in (NOON_MS, NOON_MS + 1, NOON_MS + DAY_MS, NOON_MS):
        for held in (first, second, first):
            made = signer.headers("Query", b"{}", held, at_ms)["authorization"]
            assert made == theirs(host, region, "Query", b"{}", held, at_ms)
