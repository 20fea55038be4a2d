"""The configuration: reads and checks the environment variables `GREENROOM_…`. Open this to add a
setting."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from greenroom.bookings.cancellation_policy import parse_policy
from greenroom.files.media.clamav import parse_url
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.limits import WORKERS, Limits
from greenroom.kernel.text import as_whole
from greenroom.platform.blobs.place import S3Place, parse_place
from greenroom.platform.egress import Egress, parse_egress
from greenroom.platform.embedded.shared_engine import EMBEDDED
from greenroom.platform.tokens.jwks import check_jwks_url, is_loopback
from greenroom.platform.tokens.verifying import SECRET_MIN_BYTES

PREFIX = "GREENROOM_"
LIMIT_PREFIX = "GREENROOM_LIMIT_"
STORES = ("postgres", "dynamodb")
PAYMENTS = ("sandbox", "gateway", "stripe")


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
    Setting("GREENROOM_DYNAMODB_TABLE", "The table in DynamoDB", "greenroom"),
    Setting("GREENROOM_DYNAMODB_REGION", "AWS region; unset: from the AWS configuration", ""),
    Setting(
        "GREENROOM_BLOBS",
        "Where files are kept: a folder or s3://bucket/prefix; unset: GREENROOM_HOME/blobs",
        "",
    ),
    Setting("GREENROOM_S3_ENDPOINT", "Address of S3, or embedded: on this machine; unset: AWS", ""),
    Setting("GREENROOM_S3_REGION", "AWS region of the bucket; unset: from the configuration", ""),
    Setting("GREENROOM_EVENTBRIDGE_BUS", "Event bus by name or ARN; unset: no EventBridge", ""),
    Setting("GREENROOM_EVENTBRIDGE_ENDPOINT", "Address of EventBridge; unset: AWS", ""),
    Setting(
        "GREENROOM_EVENTBRIDGE_REGION",
        "AWS region of the bus; unset: from its ARN or the AWS configuration",
        "",
    ),
    Setting("GREENROOM_EVENTBRIDGE_CONTENT", "1: EventBridge gets the texts of people too", "0"),
    Setting("GREENROOM_HOST", "Address that `serve` listens on", "127.0.0.1"),
    Setting("GREENROOM_PORT", "Port that `serve` listens on", "8000"),
    Setting("GREENROOM_WORKERS", "Server processes", "1"),
    Setting("GREENROOM_TLS_CERT", "Certificate chain in PEM, to serve HTTPS; unset: HTTP", ""),
    Setting("GREENROOM_TLS_KEY", "Private key of the certificate, in PEM", ""),
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
        "GREENROOM_PAYMENTS",
        "Who moves the money: sandbox, gateway or stripe; unset: gateway if it has a URL",
        "",
    ),
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
    Setting("GREENROOM_STRIPE_API_KEY", "Stripe's secret or restricted key", "", secret=True),
    Setting(
        "GREENROOM_STRIPE_WEBHOOK_SECRET",
        "Signing secret of Stripe's webhook endpoint, whsec_…",
        "",
        secret=True,
    ),
    Setting("GREENROOM_STRIPE_URL", "Address of Stripe's API, for tests; unset: Stripe", ""),
    Setting(
        "GREENROOM_PAYMENT_CONFIRM_URL",
        "Your page on which buyers confirm a payment with their bank; unset: none",
        "",
    ),
    Setting(
        "GREENROOM_CANCELLATION_POLICY",
        "hours of notice:percent refunded, comma-separated, for bookings without their own",
        "168:100,48:50,0:0",
    ),
    Setting(
        "GREENROOM_UNSCANNED_BAND",
        "Safe-Mode band, 0 to 2, of pictures that no classifier has looked at",
        "1",
    ),
    Setting(
        "GREENROOM_CLAMAV_URL",
        "ClamAV that looks at uploads, tcp://host:3310 or unix:///path; unset: built-in rules only",
        "",
    ),
    Setting("GREENROOM_FILES_EXPIRE_DAYS", "Days after which files expire; unset: never", ""),
    Setting(
        "GREENROOM_WEBHOOK_KEY",
        "What secrets of webhooks are encrypted with; unset: made in GREENROOM_HOME/webhook-key",
        "",
        secret=True,
    ),
    Setting(
        "GREENROOM_EGRESS_ALLOW",
        "Addresses, networks and host:port that webhooks may reach though they are not public",
        "",
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
    blobs: Path | S3Place | None = None
    s3_endpoint: str | None = None
    s3_region: str | None = None
    eventbridge_bus: str | None = None
    eventbridge_endpoint: str | None = None
    eventbridge_region: str | None = None
    eventbridge_content: bool = False
    cards: Path | None = None
    payments_url: str | None = None
    payments_secret: str | None = field(default=None, repr=False)
    payments: str | None = None
    stripe_api_key: str | None = field(default=None, repr=False)
    stripe_webhook_secret: str | None = field(default=None, repr=False)
    stripe_url: str | None = None
    payment_confirm_url: str | None = None
    cancellation_policy: str = "168:100,48:50,0:0"
    unscanned_band: int = 1
    clamav_url: str | None = None
    files_expire_days: int | None = None
    webhook_key: str | None = field(default=None, repr=False)
    egress_allow: Egress = field(default_factory=Egress)
    worker: bool = True
    public_url: str | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def is_https(self) -> bool:
        return self.tls_cert is not None

    @property
    def payment_provider(self) -> str:
        """`sandbox`, `gateway` or `stripe`."""
        return self.payments or ("gateway" if self.payments_url else "sandbox")

    @property
    def blob_place(self) -> Path | S3Place:
        return self.blobs or self.home / "blobs"


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
        dynamodb_endpoint=_endpoint(
            "GREENROOM_DYNAMODB_ENDPOINT", values["GREENROOM_DYNAMODB_ENDPOINT"]
        ),
        dynamodb_table=_dynamodb_table(values["GREENROOM_DYNAMODB_TABLE"]),
        dynamodb_region=_region("GREENROOM_DYNAMODB_REGION", values["GREENROOM_DYNAMODB_REGION"]),
        blobs=_blobs(values["GREENROOM_BLOBS"]),
        s3_endpoint=_endpoint("GREENROOM_S3_ENDPOINT", values["GREENROOM_S3_ENDPOINT"]),
        s3_region=_region("GREENROOM_S3_REGION", values["GREENROOM_S3_REGION"]),
        eventbridge_bus=_event_bus(values["GREENROOM_EVENTBRIDGE_BUS"]),
        eventbridge_endpoint=_web_address(
            "GREENROOM_EVENTBRIDGE_ENDPOINT", values["GREENROOM_EVENTBRIDGE_ENDPOINT"]
        ),
        eventbridge_region=_region(
            "GREENROOM_EVENTBRIDGE_REGION", values["GREENROOM_EVENTBRIDGE_REGION"]
        ),
        eventbridge_content=_switch(
            "GREENROOM_EVENTBRIDGE_CONTENT", values["GREENROOM_EVENTBRIDGE_CONTENT"]
        ),
        cards=_folder("GREENROOM_CARDS", values["GREENROOM_CARDS"]),
        payments_url=_web_address("GREENROOM_PAYMENTS_URL", values["GREENROOM_PAYMENTS_URL"]),
        payments_secret=_payments_secret(values["GREENROOM_PAYMENTS_SECRET"]),
        payments=_payments(values),
        stripe_api_key=_stripe_api_key(values["GREENROOM_STRIPE_API_KEY"]),
        stripe_webhook_secret=_stripe_webhook_secret(values["GREENROOM_STRIPE_WEBHOOK_SECRET"]),
        stripe_url=_stripe_url(values["GREENROOM_STRIPE_URL"]),
        payment_confirm_url=_web_address(
            "GREENROOM_PAYMENT_CONFIRM_URL", values["GREENROOM_PAYMENT_CONFIRM_URL"]
        ),
        cancellation_policy=_cancellation_policy(values["GREENROOM_CANCELLATION_POLICY"]),
        clamav_url=_clamav_url(values["GREENROOM_CLAMAV_URL"]),
        unscanned_band=_number(
            "GREENROOM_UNSCANNED_BAND", values["GREENROOM_UNSCANNED_BAND"], least=0, most=2
        ),
        files_expire_days=_days(
            "GREENROOM_FILES_EXPIRE_DAYS", values["GREENROOM_FILES_EXPIRE_DAYS"]
        ),
        webhook_key=_webhook_key(values["GREENROOM_WEBHOOK_KEY"]),
        egress_allow=_egress(values["GREENROOM_EGRESS_ALLOW"]),
        worker=_switch("GREENROOM_WORKER", values["GREENROOM_WORKER"]),
        public_url=_web_address("GREENROOM_PUBLIC_URL", values["GREENROOM_PUBLIC_URL"]),
        tls_cert=_file(values["GREENROOM_TLS_CERT"]),
        tls_key=_file(values["GREENROOM_TLS_KEY"]),
        limits=_limits(environ),
    )


def server_url(settings: Settings, port: int) -> str:
    """Where this machine reaches the server that listens on `port`."""
    host = settings.host
    if host in ("0.0.0.0", "::"):  # noqa: S104 (compared only)
        host = "127.0.0.1"
    scheme = "https" if settings.is_https else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


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
        text = limit.metadata["text"]
        rows.append({"name": limit_variable(limit.name), "value": value, "description": text})
    return rows


def limit_variable(name: str) -> str:
    return LIMIT_PREFIX + name.upper()


def _refuse_unknown(environ: Mapping[str, str]) -> None:
    """Refuse misspelt variables, which would otherwise be ignored without notice. Variables of ours
    that resemble no setting are of other programs, such as the tests."""
    settings = {each.name.removeprefix(PREFIX): each.name for each in SETTINGS}
    for name in environ:
        rest = name.removeprefix(PREFIX)
        if name.startswith(LIMIT_PREFIX) or rest in (name, *settings):
            continue
        for meant in get_close_matches(rest, settings, n=1, cutoff=0.8):
            raise SettingsError(
                f"{name} is not a setting. Did you mean {settings[meant]}? Unset {name}."
            )
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


def _days(name: str, text: str) -> int | None:
    return _number(name, text, least=1, most=36_500) if text else None


def _switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise SettingsError(f"{name} takes 1 or 0, not {text[:40]!r}.")
    return text == "1"


def _database_url(text: str) -> str | None:
    """Checked here, because the driver's message about a wrong address can contain its password."""
    if not text:
        return None
    try:
        parts = urlsplit(text)
        # Several hosts, such as a primary and its standby, are separated by commas.
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
    """One address, or several separated by commas. Messages never contain its password."""
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


def _blobs(text: str) -> Path | S3Place | None:
    try:
        return parse_place(text) if text else None
    except ValueError:
        raise SettingsError(
            "GREENROOM_BLOBS takes a folder, or s3://bucket or s3://bucket/prefix with names of "
            f"A-Z a-z 0-9 . _ -, not {text[:80]!r}."
        ) from None


def _endpoint(name: str, text: str) -> str | None:
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
        # A path would not be signed, and credentials come from AWS's own configuration.
        right = right and address == f"{parts.scheme}://{parts.netloc}" and "@" not in address
    if not right:
        raise SettingsError(
            f"{name} takes http://host:port, https://host or embedded; unset it to use AWS."
        )
    return address


def _event_bus(text: str) -> str | None:
    arn = r"arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/"
    if text and not re.fullmatch(rf"({arn})?[A-Za-z0-9_./-]{{1,256}}", text):
        raise SettingsError(
            "GREENROOM_EVENTBRIDGE_BUS takes the name of an event bus, or its ARN such as "
            f"arn:aws:events:eu-central-1:123456789012:event-bus/marketplace, not {text[:80]!r}."
        )
    return text or None


def _dynamodb_table(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise SettingsError(
            "GREENROOM_DYNAMODB_TABLE takes 3 to 255 characters of A-Z a-z 0-9 _ . -, not "
            f"{text[:40]!r}."
        )
    return text


def _region(name: str, text: str) -> str | None:
    if not re.fullmatch(r"[a-z0-9-]{0,40}", text):
        raise SettingsError(f"{name} takes a region such as eu-central-1, not {text[:40]!r}.")
    return text or None


def _file(text: str) -> Path | None:
    """Read when the server starts, because commands that only look at the database need none."""
    return Path(text).absolute() if text else None


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
        # Paths are appended to it, and a password in it would be shown.
        right = right and address.isprintable() and not set(address) & set("@?# ")
    except ValueError:
        right = False
    if text and not right:
        raise SettingsError(f"{name} takes an address such as https://example.com.")
    return address or None


def _clamav_url(text: str) -> str | None:
    try:
        if text:
            parse_url(text)
    except ValueError as error:
        raise SettingsError(f"GREENROOM_CLAMAV_URL {error}, not {text[:40]!r}.") from None
    return text or None


def _payments_secret(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_PAYMENTS_SECRET takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32` and give it to the gateway too."
        )
    return text or None


def _webhook_key(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_WEBHOOK_KEY takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32`; every server and worker needs the same."
        )
    return text or None


def _egress(text: str) -> Egress:
    try:
        return parse_egress(text)
    except ValueError as error:
        raise SettingsError(
            "GREENROOM_EGRESS_ALLOW takes addresses, networks and host:port, separated by commas, "
            f"such as 10.1.2.3, 10.0.0.0/8 or hooks.internal:8443: {str(error)[:80]!r} is none."
        ) from None


def _payments(values: Mapping[str, str]) -> str | None:
    chosen = values["GREENROOM_PAYMENTS"]
    if chosen not in ("", *PAYMENTS):
        raise SettingsError(
            f"GREENROOM_PAYMENTS takes {', '.join(PAYMENTS[:-1])} or {PAYMENTS[-1]}, not "
            f"{chosen[:40]!r}."
        )
    needed = {
        "gateway": ("GREENROOM_PAYMENTS_URL",),
        "stripe": ("GREENROOM_STRIPE_API_KEY", "GREENROOM_STRIPE_WEBHOOK_SECRET"),
    }
    for name in needed.get(chosen, ()):
        if not values[name]:
            raise SettingsError(f"GREENROOM_PAYMENTS={chosen} also needs {name}.")
    return chosen or None


def _stripe_api_key(text: str) -> str | None:
    """Messages never contain it."""
    if text and not re.fullmatch(r"(sk|rk)_(test|live)_[A-Za-z0-9_]{8,255}", text):
        raise SettingsError(
            "GREENROOM_STRIPE_API_KEY takes a secret or restricted key of Stripe: sk_test_…, "
            "sk_live_…, rk_test_… or rk_live_…. A key that begins with pk_ is public and is not it."
        )
    return text or None


def _stripe_webhook_secret(text: str) -> str | None:
    if text and not re.fullmatch(r"whsec_[A-Za-z0-9+/=_-]{8,255}", text):
        raise SettingsError(
            "GREENROOM_STRIPE_WEBHOOK_SECRET takes the signing secret of the webhook endpoint, "
            "whsec_…."
        )
    return text or None


def _stripe_url(text: str) -> str | None:
    """The key is sent there, so that it is https or stays on this machine."""
    address = _web_address("GREENROOM_STRIPE_URL", text)
    if address is not None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not is_loopback(parts.hostname):
            raise SettingsError(
                "GREENROOM_STRIPE_URL takes an https:// address, or http:// on this machine."
            )
    return address


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
    """Scheme, host, and the port if it is not the default. It must be written as browsers send it,
    or it would never match."""
    origin = text.rstrip("/")
    scheme, separator, host = origin.partition("://")
    plain = origin.isascii() and origin == origin.lower() and not set(host) & set("/?#@ ")
    if scheme not in ("http", "https") or not separator or not host or not plain:
        raise SettingsError(
            "GREENROOM_ALLOWED_ORIGINS takes origins such as https://www.example.com, separated "
            f"by commas, not {text[:80]!r}."
        )
    return origin
