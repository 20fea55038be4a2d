"""Errors of S3. Temporary failures are retried and then raised as `Unavailable`, not here."""

_CREDENTIALS = frozenset(
    {
        "ExpiredToken",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)


class S3Error(Exception):
    """A configuration or permission problem that no retry fixes; the message says what to do."""

    def __init__(self, message: str, *, status: int = 0, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def refusal(what: str, status: int, code: str) -> S3Error:
    return S3Error(_explain(what, status, code), status=status, code=code)


def _explain(what: str, status: int, code: str) -> str:
    said = f"S3 refused {what}: status {status} {code or 'without a reason'}."
    if code == "NoSuchBucket":
        return f"{said} Check the bucket in GREENROOM_BLOBS and the region in GREENROOM_S3_REGION."
    if code in ("PermanentRedirect", "AuthorizationHeaderMalformed") or status in (301, 307):
        return f"{said} The bucket lies in another region; set GREENROOM_S3_REGION to it."
    if code in _CREDENTIALS:
        return f"{said} Check the AWS credentials and this machine's clock."
    if status == 403:
        return f"{said} Allow this role what deploy/blobs.yaml allows it."
    if not code:
        return f"{said} Check that GREENROOM_S3_ENDPOINT is the address of S3."
    return said
