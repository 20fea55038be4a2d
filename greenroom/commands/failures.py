"""Turns expected errors of a command into a message and an exit code."""

import asyncpg

from greenroom.cards.catalogue.loading import CatalogueError
from greenroom.doctor import MissingError
from greenroom.kernel.errors import InvalidRequest, Problem
from greenroom.kernel.startup import StartupError
from greenroom.platform.aws.eventbridge import EventBridgeError
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded.postgres import EmbeddedPostgresError
from greenroom.platform.http.tls import TlsError
from greenroom.setting_values import SettingsError

FAILED = 1
WRONG_USAGE = 2

_SAYING_WHAT_TO_DO = (
    MissingError,
    CatalogueError,
    EmbeddedPostgresError,
    StartupError,
    DynamoDbError,
    EventBridgeError,
    S3Error,
    TlsError,
)


class UsageError(Exception):
    """The command was called with wrong or contradictory options."""


_WRONG_USE = (UsageError, SettingsError, InvalidRequest)
_DATABASE = (asyncpg.PostgresError, asyncpg.InterfaceError)
FORESEEN = (*_WRONG_USE, *_SAYING_WHAT_TO_DO, *_DATABASE, Problem, OSError)


def explain(error: Exception) -> tuple[str, int]:
    """The message and the exit code of an expected error."""
    if isinstance(error, _WRONG_USE):
        return str(error), WRONG_USAGE
    if isinstance(error, _SAYING_WHAT_TO_DO):
        return str(error), FAILED
    if isinstance(error, _DATABASE):
        hint = "Check GREENROOM_DATABASE_URL; the role in it must own the database."
        return f"the database cannot be used: {error.args[0]}. {hint}", FAILED
    stop = " " if isinstance(error, Problem) else ". "
    return f"{error}{stop}`greenroom doctor` says what is missing.", FAILED
