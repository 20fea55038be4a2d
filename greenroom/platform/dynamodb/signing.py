"""The signed headers of requests to DynamoDB."""

import hashlib

from greenroom.platform.aws.signing import ALGORITHM, Keys, Scope, moment_of

SERVICE = "dynamodb"
TARGET = "DynamoDB_20120810."
CONTENT_TYPE = "application/x-amz-json-1.0"


class Signer:
    """Makes the headers of requests to one host in one region."""

    def __init__(self, region: str, host: str) -> None:
        self._scope = Scope(region, SERVICE)
        self._host = host

    def headers(self, action: str, body: bytes, keys: Keys, at_ms: int) -> dict[str, str]:
        moment = moment_of(at_ms)
        headers = {
            "content-type": CONTENT_TYPE,
            "host": self._host,
            "x-amz-date": moment,
            **({"x-amz-security-token": keys.token} if keys.token else {}),
            "x-amz-target": TARGET + action,
        }
        # The headers are in alphabetical order, as the signature requires.
        lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
        names = ";".join(headers)
        request = f"POST\n/\n\n{lines}\n{names}\n{hashlib.sha256(body).hexdigest()}"
        headers["authorization"] = (
            f"{ALGORITHM} Credential={keys.access_key}/{self._scope.name(moment)}, "
            f"SignedHeaders={names}, Signature={self._scope.sign(request, keys, moment)}"
        )
        return headers
