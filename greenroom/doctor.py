"""`greenroom doctor`: what works, what is missing, and what to do about it."""

import os
import sys
from dataclasses import dataclass
from typing import Literal

import asyncpg

from greenroom.bootstrap import jwt_secret
from greenroom.platform.embedded_postgres import EmbeddedPostgres, EmbeddedPostgresError
from greenroom.platform.migrations import MigrationError, pending
from greenroom.server import bind
from greenroom.settings import Settings


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
        _port(settings),
    ]


def _home(settings: Settings) -> Finding:
    home = settings.home
    parent = next(each for each in (home, *home.parents) if each.exists())
    if not os.access(parent, os.W_OK):
        return Finding("home", "missing", f"{parent} cannot be written; set GREENROOM_HOME")
    return Finding("home", "ok", str(home))


def _tokens(settings: Settings) -> Finding:
    if settings.jwks_url is not None:
        return Finding("tokens", "ok", "checked with published keys")
    if settings.jwt_secret is None and not (settings.home / "jwt-secret").exists():
        return Finding("tokens", "note", "a secret will be made at the first start")
    try:
        jwt_secret(settings)
    except (OSError, ValueError) as error:
        return Finding("tokens", "missing", str(error))
    return Finding("tokens", "ok", "checked with the shared secret")


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
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, ValueError) as error:
        name = type(error).__name__
        return Finding("database", "missing", f"not reached ({name}); check the URL and server")
    if waiting:
        text = f"{len(waiting)} migrations to apply; run `greenroom migrate`"
        return Finding("database", "note", text)
    return Finding("database", "ok", "reached, tables up to date")


def _port(settings: Settings) -> Finding:
    try:
        bind(settings.host, settings.port).close()
    except OSError as error:
        text = f"{settings.host}:{settings.port} {error.strerror}; running already?"
        return Finding("port", "note", text)
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")
