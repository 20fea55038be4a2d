"""AWS signature version 4. Each service makes its canonical request itself: a general signer takes
several times as long, because it sorts and escapes what is constant there."""

import hashlib
import hmac
import os
import time
from collections.abc import Mapping
from typing import NamedTuple, Protocol

ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None = None


class KeySource(Protocol):
    async def __call__(self) -> Keys: ...

    def now(self) -> Keys:
        """For signatures that cannot wait. Blocks only if no keys are known yet."""
        ...


class FixedKeys:
    """Keys that stay the same as long as the process runs."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def __call__(self) -> Keys:
        return self._keys

    def now(self) -> Keys:
        return self._keys


def environment_keys(environ: Mapping[str, str] = os.environ) -> Keys | None:
    """The keys in the variables that every AWS program knows, which need no AWS library."""
    access_key = environ.get("AWS_ACCESS_KEY_ID")
    secret_key = environ.get("AWS_SECRET_ACCESS_KEY")
    if not access_key or not secret_key:
        return None
    return Keys(access_key, secret_key, environ.get("AWS_SESSION_TOKEN") or None)


def moment_of(at_ms: int) -> str:
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at_ms // 1000))


class Scope:
    """What signatures are valid for: a day, a region and a service."""

    def __init__(self, region: str, service: str) -> None:
        self._region = region
        self._service = service
        self._derived: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def name(self, moment: str) -> str:
        return f"{moment[:8]}/{self._region}/{self._service}/aws4_request"

    def sign(self, canonical_request: str, keys: Keys, moment: str) -> str:
        digest = hashlib.sha256(canonical_request.encode()).hexdigest()
        text = f"{ALGORITHM}\n{moment}\n{self.name(moment)}\n{digest}"
        return hmac.digest(self._key(keys.secret_key, moment[:8]), text.encode(), "sha256").hex()

    def _key(self, secret_key: str, day: str) -> bytes:
        """The signing key of a day, derived from the secret by four HMACs. Cached."""
        known, key = self._derived
        if known != (secret_key, day):
            key = f"AWS4{secret_key}".encode()
            for part in (day, self._region, self._service, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._derived = (secret_key, day), key
        return key
