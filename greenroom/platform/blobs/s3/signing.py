"""Signed requests to the objects of one bucket: by header, and in the address for others to use."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from greenroom.platform.aws.signing import ALGORITHM, Keys, Scope, moment_of

SERVICE = "s3"
UNSIGNED = "UNSIGNED-PAYLOAD"

Pairs = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Bucket:
    """The address of a bucket, without a slash at its end: `https://bucket.s3.…` for AWS, and
    `http://host:port/bucket` for other engines, which have no host name for each."""

    url: str
    region: str


class S3Signer:
    def __init__(self, bucket: Bucket) -> None:
        parts = urlsplit(bucket.url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._host = parts.netloc
        self._path = parts.path
        self._scope = Scope(bucket.region, SERVICE)

    def url(self, key: str, query: Pairs) -> str:
        """The address of an object, or of the bucket if the key is empty."""
        encoded = _query(query)
        return f"{self.origin}{self._object(key)}" + (f"?{encoded}" if encoded else "")

    def headers(
        self,
        method: str,
        key: str,
        query: Pairs,
        headers: Pairs,
        *,
        payload_sha256: str,
        keys: Keys,
        at_ms: int,
    ) -> dict[str, str]:
        """All headers of a request whose other headers are these, in lower case."""
        moment = moment_of(at_ms)
        signed = {
            **headers,
            "host": self._host,
            "x-amz-content-sha256": payload_sha256,
            "x-amz-date": moment,
            **({"x-amz-security-token": keys.token} if keys.token else {}),
        }
        names = ";".join(sorted(signed))
        request = self._canonical(method, key, _query(query), signed, payload_sha256)
        signed["authorization"] = (
            f"{ALGORITHM} Credential={keys.access_key}/{self._scope.name(moment)}, "
            f"SignedHeaders={names}, Signature={self._scope.sign(request, keys, moment)}"
        )
        return signed

    def presign(
        self,
        method: str,
        key: str,
        query: Pairs,
        headers: Pairs,
        *,
        keys: Keys,
        at_ms: int,
        seconds: int,
    ) -> str:
        """An address that is good for this method with exactly these headers, until `seconds` after
        `at_ms`."""
        moment = moment_of(at_ms)
        signed = {**headers, "host": self._host}
        given = {
            **query,
            "X-Amz-Algorithm": ALGORITHM,
            "X-Amz-Credential": f"{keys.access_key}/{self._scope.name(moment)}",
            "X-Amz-Date": moment,
            "X-Amz-Expires": str(seconds),
            **({"X-Amz-Security-Token": keys.token} if keys.token else {}),
            "X-Amz-SignedHeaders": ";".join(sorted(signed)),
        }
        encoded = _query(given)
        request = self._canonical(method, key, encoded, signed, UNSIGNED)
        signature = self._scope.sign(request, keys, moment)
        return f"{self.origin}{self._object(key)}?{encoded}&X-Amz-Signature={signature}"

    def _canonical(
        self, method: str, key: str, encoded_query: str, headers: Pairs, payload_sha256: str
    ) -> str:
        lines = "".join(f"{name}:{headers[name]}\n" for name in sorted(headers))
        names = ";".join(sorted(headers))
        path = self._object(key)
        return f"{method}\n{path}\n{encoded_query}\n{lines}\n{names}\n{payload_sha256}"

    def _object(self, key: str) -> str:
        """Keys consist of characters that are not escaped."""
        return f"{self._path}/{key}"


def _query(pairs: Pairs) -> str:
    return "&".join(f"{_escape(name)}={_escape(pairs[name])}" for name in sorted(pairs))


def _escape(text: str) -> str:
    return quote(text, safe="-_.~")
