"""Signatures of webhooks: `t=<Unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`."""

import hashlib
import hmac

HEADER = "Greenroom-Signature"
TOLERANCE_S = 5 * 60
SIGNATURE_CHARACTERS = 1000


def sign(secret: str, body: bytes, *, at_s: int) -> str:
    return f"t={at_s},v1={_mac(secret, str(at_s), body)}"


def is_signed(secret: str, body: bytes, signature: str | None, *, now_s: int) -> bool:
    """Whether the signature belongs to this body and is at most five minutes old; the age limit
    prevents replays. Several `v1` are allowed, for the time in which a secret is being changed."""
    if signature is None or len(signature) > SIGNATURE_CHARACTERS:
        return False
    parts = [part.partition("=")[::2] for part in signature.split(",")]
    at = next((value for name, value in parts if name == "t"), "")
    if not at.isascii() or not at.isdigit() or abs(now_s - int(at)) > TOLERANCE_S:
        return False
    right = _mac(secret, at, body).encode()
    macs = [value.encode() for name, value in parts if name == "v1"]
    return any(hmac.compare_digest(mac, right) for mac in macs)


def _mac(secret: str, at: str, body: bytes) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
