"""Configuration: environment variables, all named `GREENROOM_…`, each with a default."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from greenroom.bookings.model import parse_policy
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.limits import WORKERS, Limits
from greenroom.kernel.text import as_whole
from greenroom.platform.auth import SECRET_MIN_BYTES, check_jwks_url
from greenroom.platform.dynamodb.embedded import EMBEDDED

LIMIT_PREFIX = "GREENROOM_LIMIT_"
STORES = ("postgres", "dynamodb")


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
    Setting("GREENROOM_CONVERSATIONS", "Where they are kept: postgres or dynamodb", "postgres"),
    Setting(
        "GREENROOM_DYNAMODB_ENDPOINT",
        "Address of DynamoDB, or embedded: on this machine; unset: AWS",
        "",
    ),
    Setting("GREENROOM_DYNAMODB_TABLE", "Its table", "greenroom"),
    Setting("GREENROOM_DYNAMODB_REGION", "AWS region; unset: as other AWS programs find it", ""),
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
    Setting(
        "GREENROOM_NATS_URL",
        "NATS for wake-ups between servers; unset: PostgreSQL's NOTIFY",
        "",
        secret=True,
    ),
    Setting("GREENROOM_REQUIRE_JOB", "1: new threads need a registered job", "0"),
    Setting("GREENROOM_CARDS", "A folder with card types of your own; unset: none", ""),
    Setting(
        "GREENROOM_PAYMENTS_URL",
        "Your payment gateway; unset: the built-in sandbox, no money moves",
        "",
    ),
    Setting(
        "GREENROOM_PAYMENTS_SECRET",
        "Shared with the gateway; unset: made in GREENROOM_HOME/payments-secret",
        "",
        secret=True,
    ),
    Setting(
        "GREENROOM_CANCELLATION_POLICY",
        "hours of notice:percent refunded, comma-separated, for bookings that bring none",
        "168:100,48:50,0:0",
    ),
    Setting("GREENROOM_WORKER", "0: `serve` does no background work; run `greenroom worker`", "1"),
    Setting("GREENROOM_PUBLIC_URL", "Where people reach the server; unset: its own address", ""),
    Setting("GREENROOM_ALLOWED_ORIGINS", "Sites whose pages may call, comma-separated", ""),
    Setting("GREENROOM_ACCESS_LOG", "1: log every request, not only failed and slow ones", "0"),
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
    require_job: bool = False
    nats_url: str | None = field(default=None, repr=False)
    conversations: str = "postgres"
    dynamodb_endpoint: str | None = None
    dynamodb_table: str = "greenroom"
    dynamodb_region: str | None = None
    cards: Path | None = None
    payments_url: str | None = None
    payments_secret: str | None = field(default=None, repr=False)
    cancellation_policy: str = "168:100,48:50,0:0"
    worker: bool = True
    public_url: str | None = None
    limits: Limits = field(default_factory=Limits)


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    values = {each.name: environ.get(each.name) or each.default for each in SETTINGS}
    _refuse_unknown(environ)
    return Settings(
        home=Path(values["GREENROOM_HOME"]).absolute(),
        host=values["GREENROOM_HOST"],
        port=_number("GREENROOM_PORT", values["GREENROOM_PORT"], least=0, most=65535),
        workers=_number("GREENROOM_WORKERS", values["GREENROOM_WORKERS"], least=1, most=WORKERS),
        database_url=_database_url(values["GREENROOM_DATABASE_URL"]),
        jwt_secret=_jwt_secret(values["GREENROOM_JWT_SECRET"]),
        jwks_url=_jwks_url(values["GREENROOM_JWKS_URL"]),
        jwt_audience=values["GREENROOM_JWT_AUDIENCE"] or None,
        jwt_issuer=values["GREENROOM_JWT_ISSUER"] or None,
        allowed_origins=tuple(
            _origin(origin.strip())
            for origin in values["GREENROOM_ALLOWED_ORIGINS"].split(",")
            if origin.strip()
        ),
        access_log=_switch("GREENROOM_ACCESS_LOG", values["GREENROOM_ACCESS_LOG"]),
        require_job=_switch("GREENROOM_REQUIRE_JOB", values["GREENROOM_REQUIRE_JOB"]),
        nats_url=_nats_url(values["GREENROOM_NATS_URL"]),
        conversations=_conversations(values["GREENROOM_CONVERSATIONS"]),
        dynamodb_endpoint=_dynamodb_endpoint(values["GREENROOM_DYNAMODB_ENDPOINT"]),
        dynamodb_table=_dynamodb_table(values["GREENROOM_DYNAMODB_TABLE"]),
        dynamodb_region=_dynamodb_region(values["GREENROOM_DYNAMODB_REGION"]),
        cards=_folder("GREENROOM_CARDS", values["GREENROOM_CARDS"]),
        payments_url=_web_address("GREENROOM_PAYMENTS_URL", values["GREENROOM_PAYMENTS_URL"]),
        payments_secret=_payments_secret(values["GREENROOM_PAYMENTS_SECRET"]),
        cancellation_policy=_cancellation_policy(values["GREENROOM_CANCELLATION_POLICY"]),
        worker=_switch("GREENROOM_WORKER", values["GREENROOM_WORKER"]),
        public_url=_web_address("GREENROOM_PUBLIC_URL", values["GREENROOM_PUBLIC_URL"]),
        limits=_limits(environ),
    )


def describe(environ: Mapping[str, str] = os.environ) -> list[dict[str, str]]:
    """Every variable with its `name`, the `value` in effect and a `description`; no secrets."""
    rows = []
    for each in SETTINGS:
        value = environ.get(each.name) or each.default
        shown = "(set)" if each.secret and value else value
        rows.append({"name": each.name, "value": shown, "description": each.description})
    limits = _limits(environ)
    for limit in fields(Limits):
        value = str(getattr(limits, limit.name))
        rows.append({"name": limit_variable(limit.name), "value": value, "description": "limit"})
    return rows


def limit_variable(name: str) -> str:
    return LIMIT_PREFIX + name.upper()


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """A misspelt limit that changes nothing would be found out too late."""
    known = [limit_variable(each.name) for each in fields(Limits)]
    for name in environ:
        if name.startswith(LIMIT_PREFIX) and name not in known:
            close = get_close_matches(name, known, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            raise SettingsError(
                f"{name} is not a limit.{meant} Unset it; `greenroom config` then lists all."
            )


def _limits(environ: Mapping[str, str]) -> Limits:
    given = {}
    for each in fields(Limits):
        name = limit_variable(each.name)
        if environ.get(name):
            given[each.name] = _number(name, environ[name], least=1, most=10**12)
    return Limits(**given)


def _number(name: str, text: str, *, least: int, most: int) -> int:
    number = as_whole(text, least=least, most=most)
    if number is None:
        raise SettingsError(
            f"{name} takes a whole number from {least} to {most}, not {text[:40]!r}."
        )
    return number


def _switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise SettingsError(f"{name} takes 1 or 0, not {text[:40]!r}.")
    return text == "1"


def _database_url(text: str) -> str | None:
    """Checked here, because what others say about a wrong address can quote its password."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        # Several hosts, as of a primary and its standby, are separated by commas.
        for host in parts.netloc.rpartition("@")[2].split(","):
            _ = urlsplit(f"//{host}").port
        parse_qs(parts.query, strict_parsing=bool(parts.query))
        right = parts.scheme in ("postgresql", "postgres") and text.startswith(f"{parts.scheme}://")
    except ValueError:
        right = False
    if not right:
        raise SettingsError(
            "GREENROOM_DATABASE_URL takes postgresql://user:password@host:port/database, with "
            "special characters of the password written as %40 and the like; unset it to use "
            "the embedded PostgreSQL."
        )
    return text


def _nats_url(text: str) -> str | None:
    """One address or several with commas between them; a password in it is never repeated."""
    for each in filter(None, (part.strip() for part in text.split(","))):
        try:
            parts = urlsplit(each)
            right = parts.scheme in ("nats", "tls", "ws", "wss") and bool(parts.hostname)
            _ = parts.port
        except ValueError:
            right = False
        if not right:
            raise SettingsError(
                "GREENROOM_NATS_URL takes nats://user:password@host:4222 or tls://…, several "
                "separated by commas; unset it to use PostgreSQL's NOTIFY."
            )
    return text or None


def _conversations(text: str) -> str:
    if text not in STORES:
        raise SettingsError(
            f"GREENROOM_CONVERSATIONS takes {' or '.join(STORES)}, not {text[:40]!r}."
        )
    return text


def _dynamodb_endpoint(text: str) -> str | None:
    if text in ("", EMBEDDED):
        return text or None
    address = text.rstrip("/")
    try:
        parts = urlsplit(address)
        _ = parts.port
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        right = False
    else:
        # A path would not be signed, and credentials come from AWS's own places.
        right = right and address == f"{parts.scheme}://{parts.netloc}" and "@" not in address
    if not right:
        raise SettingsError(
            "GREENROOM_DYNAMODB_ENDPOINT takes http://host:port, https://host or embedded; unset "
            "it to use AWS."
        )
    return address


def _dynamodb_table(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise SettingsError(
            "GREENROOM_DYNAMODB_TABLE takes 3 to 255 characters of A-Z a-z 0-9 _ . -, not "
            f"{text[:40]!r}."
        )
    return text


def _dynamodb_region(text: str) -> str | None:
    if not re.fullmatch(r"[a-z0-9-]{0,40}", text):
        raise SettingsError(
            f"GREENROOM_DYNAMODB_REGION takes a region such as eu-central-1, not {text[:40]!r}."
        )
    return text or None


def _folder(name: str, text: str) -> Path | None:
    if not text:
        return None
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise SettingsError(f"{name} takes a folder; there is none at {text[:80]!r}.")
    return folder


def _web_address(name: str, text: str) -> str | None:
    address = text.rstrip("/")
    try:
        parts = urlsplit(address)
        _ = parts.port
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
        # Paths are put behind it, and a password in it would be shown.
        right = right and address.isprintable() and not set(address) & set("@?# ")
    except ValueError:
        right = False
    if text and not right:
        raise SettingsError(f"{name} takes an address such as https://example.com.")
    return address or None


def _payments_secret(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_PAYMENTS_SECRET takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32` and give it to the gateway too."
        )
    return text or None


def _cancellation_policy(text: str) -> str:
    try:
        parse_policy(text)
    except InvalidRequest as problem:
        raise SettingsError(f"GREENROOM_CANCELLATION_POLICY: {problem}") from None
    return text


def _jwt_secret(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_JWT_SECRET takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32` and give it to your backend too."
        )
    return text or None


def _jwks_url(text: str) -> str | None:
    if not text:
        return None
    try:
        check_jwks_url(text)
    except ValueError:
        raise SettingsError(
            "GREENROOM_JWKS_URL takes an https:// address, or http:// on this machine."
        ) from None
    return text


def _origin(text: str) -> str:
    """As browsers send it, or it would never match: scheme, host, and a port if unusual."""
    origin = text.rstrip("/")
    scheme, separator, host = origin.partition("://")
    plain = origin.isascii() and origin == origin.lower() and not set(host) & set("/?#@ ")
    if scheme not in ("http", "https") or not separator or not host or not plain:
        raise SettingsError(
            "GREENROOM_ALLOWED_ORIGINS takes origins such as https://www.example.com, separated "
            f"by commas, not {text[:80]!r}."
        )
    return origin
