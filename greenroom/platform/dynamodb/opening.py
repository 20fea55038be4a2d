"""From settings to a client. Importing this without the extra says how to install it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from greenroom.platform.dynamodb.embedded import EMBEDDED, EmbeddedDynamoDb
from greenroom.platform.dynamodb.errors import DynamoDbError

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
    """How DynamoDB is reached; the embedded engine runs while this is open."""
    if endpoint != EMBEDDED:
        yield aws_access(endpoint, region)
        return
    with EmbeddedDynamoDb(home).using() as url:
        yield embedded_access(url)


def running_access(home: Path, endpoint: str | None, region: str | None) -> Access:
    """How DynamoDB is reached when it runs already, embedded or elsewhere."""
    if endpoint == EMBEDDED:
        return embedded_access(EmbeddedDynamoDb(home).url())
    return aws_access(endpoint, region)
