"""Checks the values of the variables `GREENROOM_…` and turns them into what `Settings` holds.

Each function takes the text of a variable and raises SettingsError, which says what it takes. No
message contains a secret.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from greenroom.bookings.cancellation_policy import parse_policy
from greenroom.files.media.clamav import parse_url
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.text import as_whole
from greenroom.platform.blobs.place import S3Place, parse_place
from greenroom.platform.egress import Egress, parse_egress
from greenroom.platform.embedded.shared_engine import EMBEDDED
from greenroom.platform.tokens.jwks import check_jwks_url, is_loopback
from greenroom.platform.tokens.verifying import SECRET_MIN_BYTES

STORES = ("postgres", "dynamodb")
PAYMENTS = ("sandbox", "gateway", "stripe")


class SettingsError(Exception):
    """A variable has a value that cannot be used; the message says which and what it takes."""


def parse_number(name: str, text: str, *, least: int, most: int) -> int:
    number = as_whole(text, least=least, most=most)
    if number is None:
        raise SettingsError(
            f"{name} takes a whole number from {least} to {most}, not {text[:40]!r}."
        )
    return number


def parse_days(name: str, text: str) -> int | None:
    return parse_number(name, text, least=1, most=36_500) if text else None


def parse_switch(name: str, text: str) -> bool:
    if text not in ("0", "1"):
        raise SettingsError(f"{name} takes 1 or 0, not {text[:40]!r}.")
    return text == "1"


def parse_database_url(text: str) -> str | None:
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


def parse_nats_url(text: str) -> str | None:
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


def parse_conversations(text: str) -> str:
    if text not in STORES:
        raise SettingsError(
            f"GREENROOM_CONVERSATIONS takes {' or '.join(STORES)}, not {text[:40]!r}."
        )
    return text


def parse_blobs(text: str) -> Path | S3Place | None:
    try:
        return parse_place(text) if text else None
    except ValueError:
        raise SettingsError(
            "GREENROOM_BLOBS takes a folder, or s3://bucket or s3://bucket/prefix with names of "
            f"A-Z a-z 0-9 . _ -, not {text[:80]!r}."
        ) from None


def parse_endpoint(name: str, text: str) -> str | None:
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


def parse_event_bus(text: str) -> str | None:
    arn = r"arn:aws[a-z-]*:events:[a-z0-9-]+:[0-9]{12}:event-bus/"
    if text and not re.fullmatch(rf"({arn})?[A-Za-z0-9_./-]{{1,256}}", text):
        raise SettingsError(
            "GREENROOM_EVENTBRIDGE_BUS takes the name of an event bus, or its ARN such as "
            f"arn:aws:events:eu-central-1:123456789012:event-bus/marketplace, not {text[:80]!r}."
        )
    return text or None


def parse_dynamodb_table(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", text):
        raise SettingsError(
            "GREENROOM_DYNAMODB_TABLE takes 3 to 255 characters of A-Z a-z 0-9 _ . -, not "
            f"{text[:40]!r}."
        )
    return text


def parse_region(name: str, text: str) -> str | None:
    if not re.fullmatch(r"[a-z0-9-]{0,40}", text):
        raise SettingsError(f"{name} takes a region such as eu-central-1, not {text[:40]!r}.")
    return text or None


def parse_file(text: str) -> Path | None:
    """Read when the server starts, because commands that only look at the database need none."""
    return Path(text).absolute() if text else None


def parse_folder(name: str, text: str) -> Path | None:
    if not text:
        return None
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise SettingsError(f"{name} takes a folder; there is none at {text[:80]!r}.")
    return folder


def parse_web_address(name: str, text: str) -> str | None:
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


def parse_clamav_url(text: str) -> str | None:
    try:
        if text:
            parse_url(text)
    except ValueError as error:
        raise SettingsError(f"GREENROOM_CLAMAV_URL {error}, not {text[:40]!r}.") from None
    return text or None


def parse_payments_secret(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_PAYMENTS_SECRET takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32` and give it to the gateway too."
        )
    return text or None


def parse_webhook_key(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_WEBHOOK_KEY takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32`; every server and worker needs the same."
        )
    return text or None


def parse_egress_exceptions(text: str) -> Egress:
    try:
        return parse_egress(text)
    except ValueError as error:
        raise SettingsError(
            "GREENROOM_EGRESS_ALLOW takes addresses, networks and host:port, separated by commas, "
            f"such as 10.1.2.3, 10.0.0.0/8 or hooks.internal:8443: {str(error)[:80]!r} is none."
        ) from None


def parse_payments(values: Mapping[str, str]) -> str | None:
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


def parse_stripe_api_key(text: str) -> str | None:
    """Messages never contain it."""
    if text and not re.fullmatch(r"(sk|rk)_(test|live)_[A-Za-z0-9_]{8,255}", text):
        raise SettingsError(
            "GREENROOM_STRIPE_API_KEY takes a secret or restricted key of Stripe: sk_test_…, "
            "sk_live_…, rk_test_… or rk_live_…. A key that begins with pk_ is public and is not it."
        )
    return text or None


def parse_stripe_webhook_secret(text: str) -> str | None:
    if text and not re.fullmatch(r"whsec_[A-Za-z0-9+/=_-]{8,255}", text):
        raise SettingsError(
            "GREENROOM_STRIPE_WEBHOOK_SECRET takes the signing secret of the webhook endpoint, "
            "whsec_…."
        )
    return text or None


def parse_stripe_url(text: str) -> str | None:
    """The key is sent there, so that it is https or stays on this machine."""
    address = parse_web_address("GREENROOM_STRIPE_URL", text)
    if address is not None:
        parts = urlsplit(address)
        if parts.scheme != "https" and not is_loopback(parts.hostname):
            raise SettingsError(
                "GREENROOM_STRIPE_URL takes an https:// address, or http:// on this machine."
            )
    return address


def parse_cancellation_policy(text: str) -> str:
    try:
        parse_policy(text)
    except InvalidRequest as problem:
        raise SettingsError(f"GREENROOM_CANCELLATION_POLICY: {problem}") from None
    return text


def parse_jwt_secret(text: str) -> str | None:
    if text and len(text.encode()) < SECRET_MIN_BYTES:
        raise SettingsError(
            f"GREENROOM_JWT_SECRET takes at least {SECRET_MIN_BYTES} bytes. "
            "Make one with `openssl rand -hex 32` and give it to your backend too."
        )
    return text or None


def parse_jwks_url(text: str) -> str | None:
    if not text:
        return None
    try:
        check_jwks_url(text)
    except ValueError:
        raise SettingsError(
            "GREENROOM_JWKS_URL takes an https:// address, or http:// on this machine."
        ) from None
    return text


def parse_origin(text: str) -> str:
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
