"""Configuration: environment variables, all named `GREENROOM_…`, each with a default."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from greenroom.kernel.limits import Limits

LIMIT_PREFIX = "GREENROOM_LIMIT_"


class SettingsError(Exception):
    """A variable has a value that cannot be used; the message says which and what it takes."""


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    description: str
    default: str
    secret: bool = False


SETTINGS = (
    Setting("GREENROOM_HOME", "Where embedded engines and secrets live", "./.greenroom"),
    Setting("GREENROOM_DATABASE_URL", "PostgreSQL 15 or newer; unset: embedded", "", secret=True),
    Setting("GREENROOM_HOST", "Address that `serve` listens on", "127.0.0.1"),
    Setting("GREENROOM_PORT", "Port that `serve` listens on", "8000"),
    Setting("GREENROOM_WORKERS", "Server processes", "1"),
    Setting(
        "GREENROOM_JWT_SECRET",
        "HS256 secret shared with your backend; unset: made in GREENROOM_HOME/jwt-secret",
        "",
        secret=True,
    ),
    Setting("GREENROOM_JWKS_URL", "Public keys of RS256, ES256 and EdDSA tokens", ""),
    Setting("GREENROOM_JWT_AUDIENCE", "Required `aud` of tokens; unset: not checked", ""),
    Setting("GREENROOM_JWT_ISSUER", "Required `iss` of tokens; unset: not checked", ""),
    Setting("GREENROOM_ALLOWED_ORIGINS", "Sites whose pages may call, comma-separated", ""),
    Setting("GREENROOM_ACCESS_LOG", "1: log every request, not only failed and slow ones", ""),
)


@dataclass(frozen=True, slots=True)
class Settings:
    home: Path
    host: str
    port: int
    workers: int
    database_url: str | None = field(default=None, repr=False)
    jwt_secret: str | None = field(default=None, repr=False)
    jwks_url: str | None = None
    jwt_audience: str | None = None
    jwt_issuer: str | None = None
    allowed_origins: tuple[str, ...] = ()
    access_log: bool = False
    limits: Limits = field(default_factory=Limits)


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    values = {each.name: environ.get(each.name) or each.default for each in SETTINGS}
    _refuse_unknown(environ)
    return Settings(
        home=Path(values["GREENROOM_HOME"]).absolute(),
        host=values["GREENROOM_HOST"],
        port=_number("GREENROOM_PORT", values["GREENROOM_PORT"], least=0, most=65535),
        workers=_number("GREENROOM_WORKERS", values["GREENROOM_WORKERS"], least=1, most=64),
        database_url=values["GREENROOM_DATABASE_URL"] or None,
        jwt_secret=values["GREENROOM_JWT_SECRET"] or None,
        jwks_url=values["GREENROOM_JWKS_URL"] or None,
        jwt_audience=values["GREENROOM_JWT_AUDIENCE"] or None,
        jwt_issuer=values["GREENROOM_JWT_ISSUER"] or None,
        allowed_origins=tuple(
            origin.strip().rstrip("/")
            for origin in values["GREENROOM_ALLOWED_ORIGINS"].split(",")
            if origin.strip()
        ),
        access_log=values["GREENROOM_ACCESS_LOG"] == "1",
        limits=_limits(environ),
    )


def _limits(environ: Mapping[str, str]) -> Limits:
    given = {}
    for each in fields(Limits):
        name = limit_variable(each.name)
        if environ.get(name):
            given[each.name] = _number(name, environ[name], least=1, most=10**12)
    return Limits(**given)


def limit_variable(name: str) -> str:
    return LIMIT_PREFIX + name.upper()


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """A misspelt limit that changes nothing would be found out too late."""
    known = {limit_variable(each.name) for each in fields(Limits)}
    for name in environ:
        if name.startswith(LIMIT_PREFIX) and name not in known:
            raise SettingsError(f"{name} is not a limit; `greenroom config` lists them.")


def _number(name: str, text: str, *, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise SettingsError(f"{name} takes a whole number from {least} to {most}.")
    return int(text)
