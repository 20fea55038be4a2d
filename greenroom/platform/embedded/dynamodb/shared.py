"""The embedded DynamoDB: dynoxide, shared by the processes of one GREENROOM_HOME.

All files are in `GREENROOM_HOME/dynamodb`. The engine listens on loopback only and has no password:
it is for development and tests.
"""

from pathlib import Path

from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded.dynamodb.engine import ensure_engine, find_engine, stop_engine
from greenroom.platform.embedded.shared_engine import EMBEDDED, SharedEngine

__all__ = ["EMBEDDED", "EmbeddedDynamoDb"]


class EmbeddedDynamoDb(SharedEngine):
    name = "DynamoDB"
    variable = "GREENROOM_DYNAMODB_ENDPOINT"
    error = DynamoDbError

    def __init__(self, home: Path) -> None:
        super().__init__(home.absolute() / "dynamodb")

    def _start(self) -> str:
        return ensure_engine(self._folder).url

    def _find(self) -> str | None:
        engine = find_engine(self._folder)
        return None if engine is None else engine.url

    def _stop(self) -> None:
        stop_engine(self._folder)
