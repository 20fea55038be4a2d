"""Turns settings into access to DynamoDB. Importing this says how to install missing packages."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED, EmbeddedDynamoDb

try:
    from greenroom.platform.dynamodb.credentials import Access, aws_access, embedded_access
    from greenroom.platform.dynamodb.transport import open_client
except ModuleNotFoundError as error:
    raise DynamoDbError(
        f"DynamoDB needs the package {error.name}, which is not installed. Run "
        "`pip install 'greenroom[dynamodb]'`, or unset GREENROOM_CONVERSATIONS."
    ) from error

__all__ = ["Access", "open_client", "reaching", "running_access"]


@contextmanager
def reaching(home: Path, endpoint: str | None, region: str | None) -> Iterator[Access]:
    """Access to DynamoDB; if it is the embedded engine, it runs inside this context."""
    if endpoint != EMBEDDED:
        yield aws_access(endpoint, region)
        return
    with EmbeddedDynamoDb(home).using() as url:
        yield embedded_access(url)


def running_access(home: Path, endpoint: str | None, region: str | None) -> Access:
    """Access to DynamoDB that is already running, embedded or elsewhere."""
    if endpoint == EMBEDDED:
        return embedded_access(EmbeddedDynamoDb(home).url())
    return aws_access(endpoint, region)
