"""`greenroom doctor`: what works, what is missing, and what to do about it."""

import os
import sys
from dataclasses import dataclass
from typing import Literal

import asyncpg

from greenroom.bootstrap import jwt_secret
from greenroom.cards.catalogue import CatalogueError, load_catalogue
from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.embedded import EMBEDDED, EmbeddedDynamoDb
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from greenroom.platform.migrations import MigrationError, pending
from greenroom.server import bind
from greenroom.settings import Settings
from greenroom.webapp.files import BUILT, read_files


class MissingError(Exception):
    """What a command needs and does not have; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Finding:
    subject: str
    verdict: Literal["ok", "note", "missing"]
    text: str


async def examine(settings: Settings) -> list[Finding]:
    return [
        Finding("python", "ok", sys.version.split()[0]),
        _home(settings),
        _tokens(settings),
        await _database(settings),
        await _conversations(settings),
        _cards(settings),
        _payments(settings),
        _web_app(),
        _port(settings),
    ]


def _home(settings: Settings) -> Finding:
    home = settings.home
    try:
        nearest = next(each for each in (home, *home.parents) if each.exists())
        usable = nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
    except PermissionError:
        nearest, usable = home, False
    if not usable:
        text = f"{nearest} is no folder that you may write to; set GREENROOM_HOME to one"
        return Finding("home", "missing", text)
    return Finding("home", "ok", str(home))


def _tokens(settings: Settings) -> Finding:
    if settings.jwks_url is not None and settings.jwt_secret is None:
        return Finding("tokens", "ok", "checked with published keys")
    try:
        if settings.jwt_secret is None and not (settings.home / "jwt-secret").exists():
            return Finding("tokens", "note", "a secret will be made at the first start")
        signing_secret(settings)
    except (MissingError, OSError) as error:
        return Finding("tokens", "missing", str(error))
    also = " or with published keys" if settings.jwks_url else ""
    return Finding("tokens", "ok", f"checked with the shared secret{also}")


def signing_secret(settings: Settings) -> bytes:
    """The secret that this server checks tokens with, made if need be. Raises `MissingError`."""
    if settings.jwks_url is not None and settings.jwt_secret is None:
        raise MissingError(
            "With GREENROOM_JWKS_URL alone, only the owner of its keys can sign tokens. "
            "Set GREENROOM_JWT_SECRET too, or unset GREENROOM_JWKS_URL."
        )
    file = settings.home / "jwt-secret"
    try:
        return jwt_secret(settings)
    except ValueError as error:
        raise MissingError(
            f"{file}: {error} Delete the file, and a new one is made; tokens signed with the "
            "old one then end."
        ) from error
    except OSError as error:
        # Without an errno the error is one of ours, and says itself what to do.
        advice = f"{file}: {error.strerror}. Set GREENROOM_HOME to a folder of your own."
        raise MissingError(advice if error.errno else str(error)) from error


async def _database(settings: Settings) -> Finding:
    url = settings.database_url
    if url is None:
        embedded = EmbeddedPostgres(settings.home)
        try:
            if not embedded.status().running:
                return Finding("database", "note", "embedded, not running; `serve` starts it")
            url = embedded.url()
        except EmbeddedPostgresError as error:
            return Finding("database", "missing", str(error))
    try:
        waiting = await pending(url)
    except MigrationError as error:
        return Finding("database", "missing", str(error))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        text = f"{error}; check GREENROOM_DATABASE_URL and the rights of its role"
        return Finding("database", "missing", text)
    if waiting:
        text = f"{len(waiting)} migrations to apply; `serve` does, or run `greenroom migrate`"
        return Finding("database", "note", text)
    return Finding("database", "ok", "reached, tables up to date")


async def _conversations(settings: Settings) -> Finding:
    """Where they are kept: whether the table of DynamoDB can be read, if it is there."""
    if settings.conversations == "postgres":
        return Finding("conversations", "ok", "in the database")
    if settings.dynamodb_endpoint == EMBEDDED and not EmbeddedDynamoDb(settings.home).is_running():
        text = "embedded DynamoDB, not running; `serve` starts it"
        return Finding("conversations", "note", text)
    try:
        # Here, because the packages behind it are an extra that others do without.
        from greenroom.platform.dynamodb.opening import open_client, running_access  # noqa: PLC0415

        place = (settings.home, settings.dynamodb_endpoint, settings.dynamodb_region)
        client = open_client(running_access(*place))
        try:
            await Table(client, settings.dynamodb_table, Meter()).ping()
        finally:
            await client.close()
    except DynamoDbError as error:
        return Finding("conversations", "missing", str(error))
    except Unavailable:
        text = "DynamoDB does not answer; check GREENROOM_DYNAMODB_ENDPOINT and the network"
        return Finding("conversations", "missing", text)
    return Finding("conversations", "ok", f"in DynamoDB, table {settings.dynamodb_table}")


def _cards(settings: Settings) -> Finding:
    try:
        types = load_catalogue(settings.cards).types
    except CatalogueError as error:
        return Finding("cards", "missing", str(error))
    own = f", with those in {settings.cards}" if settings.cards else ""
    return Finding("cards", "ok", f"{len(types)} types{own}")


def _payments(settings: Settings) -> Finding:
    if settings.payments_url is None:
        text = "the built-in sandbox, no money moves; GREENROOM_PAYMENTS_URL names your gateway"
        return Finding("payments", "note", text)
    return Finding("payments", "ok", f"by {settings.payments_url}")


def _web_app() -> Finding:
    if "index.html" not in read_files(BUILT):
        text = "not built, so that /app and /embed.js answer 404; run `make web`"
        return Finding("web app", "note", text)
    return Finding("web app", "ok", "served at /app and /embed.js")


def _port(settings: Settings) -> Finding:
    complaint = address_complaint(settings)
    if complaint is not None:
        advice = "Is Greenroom running already? If not, set GREENROOM_PORT to another"
        return Finding("port", "note", f"{complaint} {advice}")
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")


def address_complaint(settings: Settings) -> str | None:
    """Why nobody can listen there just now; None if one can."""
    try:
        bind(settings.host, settings.port).close()
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"Cannot listen on {settings.host}, port {settings.port}: {reason}."
    return None
