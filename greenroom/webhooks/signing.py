"""Signatures as Standard Webhooks has them, and secrets that are stored encrypted.

A signature is the HMAC-SHA256 of `id.timestamp.body` in base64. While a secret is being changed
there are two, separated by a space.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

PREFIX = "whsec_"
SECRET_BYTES = 32
NONCE_BYTES = 12
KEY_PURPOSE = b"greenroom webhook secrets"


class SealError(Exception):
    """A stored secret cannot be read with this key."""


def new_secret() -> bytes:
    return secrets.token_bytes(SECRET_BYTES)


def secret_text(secret: bytes) -> str:
    return PREFIX + base64.b64encode(secret).decode()


def sign(keys: Sequence[bytes], event_id: str, timestamp_s: int, body: bytes) -> str:
    """The header `webhook-signature`."""
    signed = b"%s.%d.%s" % (event_id.encode(), timestamp_s, body)
    return " ".join(
        "v1," + base64.b64encode(hmac.digest(key, signed, "sha256")).decode() for key in keys
    )


class Sealer:
    """Encrypts secrets with AES-256-GCM for one webhook each: a sealed secret that is copied to
    another webhook cannot be read there."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCM(hashlib.sha256(KEY_PURPOSE + key).digest())
        self._unsealed = lru_cache(256)(self._unseal)

    def seal(self, webhook_id: str, secret: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, secret, webhook_id.encode())

    def unseal(self, webhook_id: str, sealed: bytes) -> bytes:
        """Raises SealError."""
        return self._unsealed(webhook_id, sealed)

    def _unseal(self, webhook_id: str, sealed: bytes) -> bytes:
        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, webhook_id.encode())
        except (InvalidTag, ValueError) as error:
            raise SealError(
                "the secret cannot be read: it was stored under another GREENROOM_WEBHOOK_KEY"
            ) from error
