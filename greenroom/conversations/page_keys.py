"""Encodes the key of a list's next page as the opaque `cursor` that clients send back."""

import base64
import binascii
import re

from greenroom.conversations.inbox import InboxKey
from greenroom.conversations.store import BlockKey
from greenroom.kernel.errors import InvalidRequest

_INBOX_KEY = re.compile(r"([01])\.([0-9a-f]{1,11})\.([ -~]{1,64})")
_BLOCK_KEY = re.compile(r"([0-9a-f]{1,11})\.([ -~]{1,64})")


def encode_page_key(key: InboxKey | None) -> str | None:
    return None if key is None else _encode(f"{key.pinned:d}.{key.at_ms:x}.{key.thread_id}")


def decode_page_key(text: str | None) -> InboxKey | None:
    if text is None:
        return None
    match = _decode(text, _INBOX_KEY)
    return InboxKey(match[1] == "1", int(match[2], 16), match[3])


def encode_block_key(key: BlockKey | None) -> str | None:
    return None if key is None else _encode(f"{key.at_ms:x}.{key.user_id}")


def decode_block_key(text: str | None) -> BlockKey | None:
    if text is None:
        return None
    match = _decode(text, _BLOCK_KEY)
    return BlockKey(int(match[1], 16), match[2])


def _encode(plain: str) -> str:
    return base64.urlsafe_b64encode(plain.encode()).decode().rstrip("=")


def _decode(text: str, form: re.Pattern[str]) -> re.Match[str]:
    try:
        padded = text + "=" * (-len(text) % 4)
        plain = base64.b64decode(padded, b"-_", validate=True).decode()
    except (ValueError, binascii.Error):
        plain = ""
    match = form.fullmatch(plain)
    if match is None:
        raise InvalidRequest("cursor is not one of ours; leave it out to start over")
    return match
