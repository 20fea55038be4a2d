"""Signatures are those of Standard Webhooks, and receivers refuse everything else."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.webhooks.signing import Sealer, SealError, new_secret, secret_text, sign
from greenroom_client import WebhookError, verify_webhook

# Of the libraries that Standard Webhooks publishes.
VECTOR = {
    "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "timestamp": 1614265330,
    "body": b'{"test": 2432232314}',
    "signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
KEY = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
AT_S = 1_800_000_000


def test_the_published_vector() -> None:
    at_s = VECTOR["timestamp"]
    assert sign([KEY], VECTOR["id"], at_s, VECTOR["body"]) == VECTOR["signature"]  # type: ignore[arg-type]
    headers = {
        "Webhook-Id": VECTOR["id"],
        "Webhook-Timestamp": str(at_s),
        "Webhook-Signature": f"v1,bm9uZQ== v2,unknown {VECTOR['signature']}",
    }
    event = verify_webhook(VECTOR["secret"], headers, VECTOR["body"], now=lambda: float(at_s))  # type: ignore[arg-type]
    assert event == {"test": 2432232314}


def signed(keys: list[bytes], body: bytes = b'{"type":"message.send"}') -> dict[str, str]:
    signature = sign(keys, "evt_1", AT_S, body)
    return {
        "webhook-id": "evt_1",
        "webhook-timestamp": str(AT_S),
        "webhook-signature": signature,
    }


@given(st.binary(min_size=24, max_size=64), st.dictionaries(st.text(), st.text()))
def test_what_was_signed_is_accepted(key: bytes, content: dict[str, str]) -> None:
    body = json.dumps(content).encode()
    got = verify_webhook(secret_text(key), signed([key], body), body, now=lambda: AT_S)
    assert got == content


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("webhook-id", "evt_2"),
        ("webhook-timestamp", str(AT_S + 1)),
        ("webhook-timestamp", "now"),
        ("webhook-timestamp", "²"),
        ("webhook-signature", ""),
        ("webhook-signature", "v1,"),
        ("webhook-signature", "v1,AAAA"),
        ("webhook-signature", "v1ä"),
        ("webhook-id", ""),
    ],
)
def test_what_was_tampered_with_is_refused(header: str, value: str) -> None:
    headers = {**signed([KEY]), header: value}
    with pytest.raises(WebhookError):
        verify_webhook(secret_text(KEY), headers, b'{"type":"message.send"}', now=lambda: AT_S)


def test_another_body_secret_or_version_is_refused() -> None:
    headers, body = signed([KEY]), b'{"type":"message.send"}'
    with pytest.raises(WebhookError):
        verify_webhook(secret_text(KEY), headers, body + b" ", now=lambda: AT_S)
    with pytest.raises(WebhookError):
        verify_webhook(secret_text(new_secret()), headers, body, now=lambda: AT_S)
    with pytest.raises(WebhookError):
        verify_webhook("whsec_not base64", headers, body, now=lambda: AT_S)
    only_v2 = {**headers, "webhook-signature": headers["webhook-signature"].replace("v1", "v2")}
    with pytest.raises(WebhookError):
        verify_webhook(secret_text(KEY), only_v2, body, now=lambda: AT_S)


@pytest.mark.parametrize("later_s", [301, -301])
def test_an_old_request_that_is_sent_again_is_refused(later_s: int) -> None:
    headers, body = signed([KEY]), b'{"type":"message.send"}'
    with pytest.raises(WebhookError):
        verify_webhook(secret_text(KEY), headers, body, now=lambda: AT_S + later_s)


def test_during_a_rotation_either_secret_verifies() -> None:
    old, new = new_secret(), new_secret()
    headers, body = signed([new, old]), b'{"type":"message.send"}'
    for key in (old, new):
        verify_webhook(secret_text(key), headers, body, now=lambda: AT_S)


def test_a_sealed_secret_is_of_one_webhook_and_one_key() -> None:
    sealer, secret = Sealer(b"key"), new_secret()
    sealed = sealer.seal("whk_1", secret)
    assert sealer.unseal("whk_1", sealed) == secret
    assert sealer.seal("whk_1", secret) != sealed
    for other, webhook_id, text in (
        (sealer, "whk_2", sealed),
        (Sealer(b"another"), "whk_1", sealed),
        (sealer, "whk_1", sealed[:-1] + bytes([sealed[-1] ^ 1])),
        (sealer, "whk_1", b""),
    ):
        with pytest.raises(SealError):
            other.unseal(webhook_id, text)
