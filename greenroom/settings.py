"""The configuration: reads and checks the environment variables `GREENROOM_…`. Open this to add a
setting."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path

from greenroom.kernel.limits import WORKERS, Limits
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.egress import Egress
from greenroom.setting_values import (
    SettingsError,
    parse_blobs,
    parse_cancellation_policy,
    parse_clamav_url,
    parse_conversations,
    parse_database_url,
    parse_days,
    parse_dynamodb_table,
    parse_egress_exceptions,
    parse_endpoint,
    parse_event_bus,
    parse_file,
    parse_folder,
    parse_jwks_url,
    parse_jwt_secret,
    parse_nats_url,
    parse_number,
    parse_origin,
    parse_payments,
    parse_payments_secret,
    parse_region,
    parse_stripe_api_key,
    parse_stripe_url,
    parse_stripe_webhook_secret,
    parse_switch,
    parse_web_address,
    parse_webhook_key,
)

PREFIX = "GREENROOM_"
LIMIT_PREFIX = "GREENROOM_LIMIT_"


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
        port=parse_number("GREENROOM_PORT", values["GREENROOM_PORT"], least=0, most=65535),
        workers=parse_number(
            "GREENROOM_WORKERS", values["GREENROOM_WORKERS"], least=1, most=WORKERS
        ),
        database_url=parse_database_url(values["GREENROOM_DATABASE_URL"]),
        jwt_secret=parse_jwt_secret(values["GREENROOM_JWT_SECRET"]),
        jwks_url=parse_jwks_url(values["GREENROOM_JWKS_URL"]),
        jwt_audience=values["GREENROOM_JWT_AUDIENCE"] or None,
        jwt_issuer=values["GREENROOM_JWT_ISSUER"] or None,
        allowed_origins=tuple(
            parse_origin(origin.strip())
            for origin in values["GREENROOM_ALLOWED_ORIGINS"].split(",")
            if origin.strip()
        ),
        access_log=parse_switch("GREENROOM_ACCESS_LOG", values["GREENROOM_ACCESS_LOG"]),
        require_job=parse_switch("GREENROOM_REQUIRE_JOB", values["GREENROOM_REQUIRE_JOB"]),
        nats_url=parse_nats_url(values["GREENROOM_NATS_URL"]),
        conversations=parse_conversations(values["GREENROOM_CONVERSATIONS"]),
        dynamodb_endpoint=parse_endpoint(
            "GREENROOM_DYNAMODB_ENDPOINT", values["GREENROOM_DYNAMODB_ENDPOINT"]
        ),
        dynamodb_table=parse_dynamodb_table(values["GREENROOM_DYNAMODB_TABLE"]),
        dynamodb_region=parse_region(
            "GREENROOM_DYNAMODB_REGION", values["GREENROOM_DYNAMODB_REGION"]
        ),
        blobs=parse_blobs(values["GREENROOM_BLOBS"]),
        s3_endpoint=parse_endpoint("GREENROOM_S3_ENDPOINT", values["GREENROOM_S3_ENDPOINT"]),
        s3_region=parse_region("GREENROOM_S3_REGION", values["GREENROOM_S3_REGION"]),
        eventbridge_bus=parse_event_bus(values["GREENROOM_EVENTBRIDGE_BUS"]),
        eventbridge_endpoint=parse_web_address(
            "GREENROOM_EVENTBRIDGE_ENDPOINT", values["GREENROOM_EVENTBRIDGE_ENDPOINT"]
        ),
        eventbridge_region=parse_region(
            "GREENROOM_EVENTBRIDGE_REGION", values["GREENROOM_EVENTBRIDGE_REGION"]
        ),
        eventbridge_content=parse_switch(
            "GREENROOM_EVENTBRIDGE_CONTENT", values["GREENROOM_EVENTBRIDGE_CONTENT"]
        ),
        cards=parse_folder("GREENROOM_CARDS", values["GREENROOM_CARDS"]),
        payments_url=parse_web_address("GREENROOM_PAYMENTS_URL", values["GREENROOM_PAYMENTS_URL"]),
        payments_secret=parse_payments_secret(values["GREENROOM_PAYMENTS_SECRET"]),
        payments=parse_payments(values),
        stripe_api_key=parse_stripe_api_key(values["GREENROOM_STRIPE_API_KEY"]),
        stripe_webhook_secret=parse_stripe_webhook_secret(
            values["GREENROOM_STRIPE_WEBHOOK_SECRET"]
        ),
        stripe_url=parse_stripe_url(values["GREENROOM_STRIPE_URL"]),
        payment_confirm_url=parse_web_address(
            "GREENROOM_PAYMENT_CONFIRM_URL", values["GREENROOM_PAYMENT_CONFIRM_URL"]
        ),
        cancellation_policy=parse_cancellation_policy(values["GREENROOM_CANCELLATION_POLICY"]),
        clamav_url=parse_clamav_url(values["GREENROOM_CLAMAV_URL"]),
        unscanned_band=parse_number(
            "GREENROOM_UNSCANNED_BAND", values["GREENROOM_UNSCANNED_BAND"], least=0, most=2
        ),
        files_expire_days=parse_days(
            "GREENROOM_FILES_EXPIRE_DAYS", values["GREENROOM_FILES_EXPIRE_DAYS"]
        ),
        webhook_key=parse_webhook_key(values["GREENROOM_WEBHOOK_KEY"]),
        egress_allow=parse_egress_exceptions(values["GREENROOM_EGRESS_ALLOW"]),
        worker=parse_switch("GREENROOM_WORKER", values["GREENROOM_WORKER"]),
        public_url=parse_web_address("GREENROOM_PUBLIC_URL", values["GREENROOM_PUBLIC_URL"]),
        tls_cert=parse_file(values["GREENROOM_TLS_CERT"]),
        tls_key=parse_file(values["GREENROOM_TLS_KEY"]),
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
            given[each.name] = parse_number(name, environ[name], least=1, most=10**12)
    return Limits(**given)
