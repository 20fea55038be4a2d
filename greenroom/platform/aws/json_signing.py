"""The signed headers of requests to AWS services that take JSON: the action is in a header, and the
path is always `/`."""

import hashlib

from greenroom.platform.aws.signing import ALGORITHM, Keys, Scope, moment_of


class JsonSigner:
    """Makes the headers of requests to one host in one region. `target` is the service's name and
    version as it stands before the action, such as `AWSEvents.`."""

    def __init__(
        self, region: str, host: str, *, service: str, target: str, content_type: str
    ) -> None:
        self._scope = Scope(region, service)
        self._host = host
        self._target = target
        self._content_type = content_type

    def headers(self, action: str, body: bytes, keys: Keys, at_ms: int) -> dict[str, str]:
        moment = moment_of(at_ms)
        headers = {
            "content-type": self._content_type,
            "host": self._host,
            "x-amz-date": moment,
            **({"x-amz-security-token": keys.token} if keys.token else {}),
            "x-amz-target": self._target + action,
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
