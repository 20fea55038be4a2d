"""AWS signature version 4, for the one kind of request that DynamoDB takes.

A general signer costs several times as much, and sorts and escapes what is constant here.
"""

import hashlib
import hmac
import time
from typing import NamedTuple

SERVICE = "dynamodb"
TARGET = "DynamoDB_20120810."
CONTENT_TYPE = "application/x-amz-json-1.0"
ALGORITHM = "AWS4-HMAC-SHA256"


class Keys(NamedTuple):
    access_key: str
    secret_key: str
    token: str | None = None


class Signer:
    """Makes the headers of requests to one host in one region."""

    def __init__(self, region: str, host: str) -> None:
        self._region = region
        self._host = host
        self._derived: tuple[tuple[str, str], bytes] = (("", ""), b"")

    def headers(self, action: str, body: bytes, keys: Keys, at_ms: int) -> dict[str, str]:
        moment = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at_ms // 1000))
        headers = {
            "content-type": CONTENT_TYPE,
            "host": self._host,
            "x-amz-date": moment,
            **({"x-amz-security-token": keys.token} if keys.token else {}),
            "x-amz-target": TARGET + action,
        }
        day = moment[:8]
        scope = f"{day}/{self._region}/{SERVICE}/aws4_request"
        # The headers stand in alphabetical order already, as the signature wants them.
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        names = ";".join(headers)
        request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        digest = hashlib.sha256(request.encode()).hexdigest()
        text = f"{ALGORITHM}\n{moment}\n{scope}\n{digest}"
        signature = hmac.digest(self._key(keys.secret_key, day), text.encode(), "sha256").hex()
        headers["authorization"] = (
            f"{ALGORITHM} Credential={keys.access_key}/{scope}, "
            f"SignedHeaders={names}, Signature={signature}"
        )
        return headers

    def _key(self, secret_key: str, day: str) -> bytes:
        """The key of a day, which four rounds of hashing make from the secret."""
        known, key = self._derived
        if known != (secret_key, day):
            key = f"AWS4{secret_key}".encode()
            for part in (day, self._region, SERVICE, "aws4_request"):
                key = hmac.digest(key, part.encode(), "sha256")
            self._derived = (secret_key, day), key
        return key
