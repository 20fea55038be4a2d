"""Users, tickets and API keys, and the checks of their fields."""

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.scopes import SCOPES
from greenroom.kernel.text import nfc
from greenroom.platform.tokens.jwks import is_loopback
from greenroom.platform.tokens.verifying import is_user_id

DISPLAY_NAME_CHARACTERS = 80
AVATAR_URL_CHARACTERS = 2048
ROLES = 10
KEY_NAME_CHARACTERS = 64
KEY_USE_NOTED_EVERY_MS = 60_000

ROLE = re.compile(r"[a-z0-9_-]{1,32}")
LOCALE = re.compile(r"(?=.{2,35}\Z)[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
KEY_TEXT = re.compile(r"grk_([0-9a-z]{26})[0-9a-f]{64}")

# They change the direction of text, also after the end of the name.
DIRECTION_CHARACTERS = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class User(Struct, frozen=True):
    user_id: str
    display_name: str
    avatar_url: str | None
    roles: list[str]
    timezone: str | None
    verified: bool
    age_verified: bool
    locale: str | None
    created_at: int
    updated_at: int


class UserChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """What to change; a field left out keeps its value, null clears it."""

    display_name: str | UnsetType = UNSET
    avatar_url: str | UnsetType | None = UNSET
    roles: list[str] | UnsetType = UNSET
    timezone: str | UnsetType | None = UNSET
    verified: bool | UnsetType = UNSET
    age_verified: bool | UnsetType = UNSET
    locale: str | UnsetType | None = UNSET


class ContactPreferences(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may write to you first. A later version adds choices."""


class NotifyPreferences(Struct, frozen=True, forbid_unknown_fields=True):
    """What you are notified of. A later version adds choices."""


class Preferences(Struct, frozen=True):
    """What a person has chosen for themselves. `safe_mode` blurs or hides pictures that are not
    safe for everybody; `telemetry` allows measurements of how the app is used."""

    safe_mode: bool = True
    contact: ContactPreferences = ContactPreferences()
    notify: NotifyPreferences = NotifyPreferences()
    telemetry: bool = True


class PreferenceChanges(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to change; a field left out keeps its value."""

    safe_mode: bool | UnsetType = UNSET
    contact: ContactPreferences | UnsetType = UNSET
    notify: NotifyPreferences | UnsetType = UNSET
    telemetry: bool | UnsetType = UNSET


class ViewingChoices(Struct, frozen=True):
    """What decides which pictures somebody sees clearly."""

    safe_mode: bool = True
    age_verified: bool = False


class Ticket(Struct, frozen=True):
    """Replaces a token once, for clients that cannot set headers."""

    user_id: str
    operator_role: str | None
    token_expires_at: int
    origin: str | None
    """The origin of the web page that asked for it. None: not a page, or one of this server."""
    expires_at: int


class ApiKey(Struct, frozen=True):
    key_id: str
    name: str
    created_at: int
    revoked_at: int | None = None
    last_used_at: int | None = None
    scopes: tuple[str, ...] = SCOPES
    """What it may do; in the order of `SCOPES`."""


class NewApiKey(Struct, frozen=True):
    """A key with its text, which is shown only once."""

    key: ApiKey
    text: str


def check_user_id(user_id: str) -> None:
    if not is_user_id(user_id):
        raise InvalidRequest(
            "A user id has 1 to 64 characters of A-Z a-z 0-9 _ . : - (an e-mail address is none)."
        )


def check_changes(changes: UserChanges) -> UserChanges:
    """The changes with their values cleaned. Raises `InvalidRequest` that names the field."""
    rules: dict[str, Callable[..., object]] = {
        "display_name": clean_display_name,
        "avatar_url": check_avatar_url,
        "roles": clean_roles,
        "timezone": check_timezone,
        "locale": check_locale,
    }
    given = {name: getattr(changes, name) for name in rules}
    cleaned = {
        name: rules[name](value)
        for name, value in given.items()
        if value is not UNSET and value is not None
    }
    return replace(changes, **cleaned)


def clean_display_name(value: str) -> str:
    name = clean_line(value)
    if len(name) > DISPLAY_NAME_CHARACTERS:
        raise InvalidRequest(f"display_name has more than {DISPLAY_NAME_CHARACTERS} characters.")
    return name


def clean_line(value: str) -> str:
    """One line of text in NFC, without control characters and without spaces at its ends."""
    # NFC last: a removed character may have stood between a letter and its accent.
    return nfc("".join(character for character in value if _is_visible(character))).strip()


def _is_visible(character: str) -> bool:
    unwanted = unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}
    return not unwanted and character not in DIRECTION_CHARACTERS


def check_avatar_url(value: str) -> str:
    try:
        parts = urlsplit(value)
        allowed = parts.scheme == "https" or (
            parts.scheme == "http" and is_loopback(parts.hostname)
        )
        plain = bool(parts.hostname) and parts.username is None and parts.port != 0
    except ValueError:
        allowed = plain = False
    clean = value.isprintable() and " " not in value and len(value) <= AVATAR_URL_CHARACTERS
    if not (allowed and plain and clean):
        raise InvalidRequest(
            f"avatar_url is not an https address of at most {AVATAR_URL_CHARACTERS} characters."
        )
    return value


def clean_roles(value: list[str]) -> list[str]:
    roles = list(dict.fromkeys(value))
    if len(roles) > ROLES or not all(ROLE.fullmatch(role) for role in roles):
        raise InvalidRequest(f"roles takes at most {ROLES} labels of 1 to 32 of a-z 0-9 _ -")
    return roles


def check_timezone(value: str) -> str:
    if value not in _timezones():
        raise InvalidRequest("timezone is not an IANA name such as Europe/Berlin.")
    return value


@cache
def _timezones() -> frozenset[str]:
    # These two entries are not places: the machine's own zone, and "not set".
    return frozenset(available_timezones() - {"localtime", "Factory"})


def check_locale(value: str) -> str:
    if not LOCALE.fullmatch(value):
        raise InvalidRequest("locale is not a language tag such as en or de-CH.")
    return value


def clean_key_name(value: str) -> str:
    name = clean_line(value)
    if not 1 <= len(name) <= KEY_NAME_CHARACTERS:
        raise InvalidRequest(f"A key's name has 1 to {KEY_NAME_CHARACTERS} characters.")
    return name


def check_scopes(scopes: Iterable[str]) -> tuple[str, ...]:
    """Each of them once, in the order of `SCOPES`. Raises `InvalidRequest`."""
    given = set(scopes)
    if not given or not given <= set(SCOPES):
        raise InvalidRequest(f"A key has one or more of the scopes {', '.join(SCOPES)}.")
    return tuple(scope for scope in SCOPES if scope in given)


def key_text(key_id: str, secret: bytes) -> str:
    """`grk_`, the id without its prefix, then the secret in hex."""
    return f"grk_{key_id.removeprefix('key_')}{secret.hex()}"


def key_id_of(text: str) -> str | None:
    """The id inside a key's text; None if it is not the text of a key."""
    match = KEY_TEXT.fullmatch(text)
    return f"key_{match[1]}" if match else None


def hash_key(text: str) -> bytes:
    """A plain hash is enough, because the secret has 256 random bits and cannot be guessed."""
    return hashlib.sha256(text.encode()).digest()


def is_use_worth_noting(key: ApiKey, now: int) -> bool:
    """`last_used_at` is written at most once a minute, so that not every call writes."""
    return key.last_used_at is None or now - key.last_used_at >= KEY_USE_NOTED_EVERY_MS
