"""Connecting to PostgreSQL when a program starts, and saying in one line why that fails."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from greenroom.kernel.startup import StartupError

CONNECT_TIMEOUT_S = 30
DEFAULT_PORT = 5432
VARIABLE = "GREENROOM_DATABASE_URL"


class UnreachableError(StartupError):
    """Why the database cannot be reached, and what to do next. Never contains the password."""


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    """One connection, closed at the end. Raises UnreachableError."""
    async with explained(url):
        connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT_S)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def explained(url: str) -> AsyncIterator[None]:
    """Turns a failure to connect into `UnreachableError`.

    A ValueError of asyncpg says that the address itself is malformed. It goes through: asyncpg
    names the wrong parameter.
    """
    try:
        yield
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        if isinstance(error, ValueError):
            raise
        raise UnreachableError(_explain(url, error)) from error


def _explain(url: str, error: Exception) -> str:
    at, user, name = _where(url), _user(url), _database(url)
    refused = f"The database at {at} cannot be reached"
    match error:
        case asyncpg.InvalidAuthorizationSpecificationError():
            return (
                f"{refused}: it does not let {user} in ({_said(error)}). "
                f"Check the user and the password in {VARIABLE}."
            )
        case asyncpg.InvalidCatalogNameError():
            return (
                f"{refused}: there is no database {name!r}. "
                f"Create it with `createdb {name}`, or check {VARIABLE}."
            )
        case asyncpg.TooManyConnectionsError():
            return (
                f"{refused}: all its connections are taken. Close some, or raise max_connections "
                "in its settings; `greenroom config` lists how many Greenroom opens."
            )
        case asyncpg.CannotConnectNowError():
            return f"{refused}: {_said(error)}. Try again in a moment."
        case socket.gaierror():
            return f"{refused}: no such host is known. Check the host in {VARIABLE}."
        case TimeoutError():
            return f"{refused}: it does not answer. Check the host in {VARIABLE}, and firewalls."
        case ConnectionRefusedError():
            return (
                f"{refused}: nothing listens there. Start PostgreSQL, check {VARIABLE}, "
                "or unset it to use the embedded PostgreSQL."
            )
        case _:
            return f"{refused}: {_said(error)}. Check {VARIABLE}."


def _said(error: Exception) -> str:
    """What the server or the operating system said, without the full stop."""
    reason = getattr(error, "strerror", None) or (str(error.args[0]) if error.args else "")
    return (reason or type(error).__name__).splitlines()[0].rstrip(".")


def _where(url: str) -> str:
    """The hosts with their ports. A host can also be a parameter of the address."""
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2] or parse_qs(parts.query).get("host", ["localhost"])[0]
    return ", ".join(
        host if ":" in host or host.startswith("/") else f"{host}:{DEFAULT_PORT}"
        for host in hosts.split(",")
    )


def _user(url: str) -> str:
    name = urlsplit(url).netloc.rpartition("@")[0].partition(":")[0]
    return f"the user {unquote(name)!r}" if name else "this user"


def _database(url: str) -> str:
    return unquote(urlsplit(url).path.lstrip("/")) or "postgres"
