"""The few blocking requests to a new engine: whether it works, and how its bucket is set up."""

import hashlib
import http.client
from collections.abc import Iterable
from urllib.parse import urlsplit

from greenroom.kernel.clock import system_clock
from greenroom.platform.aws.signing import Keys
from greenroom.platform.blobs.s3.documents import cors
from greenroom.platform.blobs.s3.errors import refusal
from greenroom.platform.blobs.s3.signing import Bucket, S3Signer

ENGINE_REGION = "us-east-1"
"""Engines other than AWS have no regions."""

ANSWER_TIMEOUT_S = 5
TRIED_BUCKET = "greenroom-start"


def answers(url: str, keys: Keys) -> bool:
    """Whether an object can be stored: the engine listens some time before it can."""
    try:
        made = _put(url, keys, TRIED_BUCKET, "") in (200, 409)
        return made and _put(url, keys, TRIED_BUCKET, "", "started", b"x") == 200
    except (OSError, http.client.HTTPException):
        return False


def prepare_bucket(url: str, keys: Keys, bucket: str, origins: Iterable[str]) -> None:
    """Make the bucket unless it exists, and let pages of these origins use it."""
    status = _put(url, keys, bucket, "")
    if status not in (200, 409):
        raise refusal(f"the bucket {bucket}", status, "")
    status = _put(url, keys, bucket, "cors", "", cors(origins))
    if status not in (200, 204):
        raise refusal(f"the CORS rules of {bucket}", status, "")


def _put(
    url: str, keys: Keys, bucket: str, subresource: str, key: str = "", body: bytes = b""
) -> int:
    """The status of the answer."""
    signer = S3Signer(Bucket(f"{url}/{bucket}", ENGINE_REGION))
    query = {subresource: ""} if subresource else {}
    headers = signer.headers(
        "PUT",
        key,
        query,
        {"content-length": str(len(body))},
        payload_sha256=hashlib.sha256(body).hexdigest(),
        keys=keys,
        at_ms=system_clock(),
    )
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=ANSWER_TIMEOUT_S)
    try:
        target = signer.url(key, query).removeprefix(url)
        connection.request("PUT", target, body, headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()
