"""Legs as iCalendar (RFC 5545). Pure: the same leg gives the same bytes."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from greenroom.bookings.model import Leg, LegState

CONTENT_TYPE = "text/calendar; charset=utf-8"
LINE_OCTETS = 75

_ESCAPES = str.maketrans({"\\": "\\\\", ";": "\\;", ",": "\\,", "\n": "\\n"})


def write_calendar(legs: Sequence[Leg]) -> bytes:
    return b"".join(fold(line) + b"\r\n" for line in _lines(legs))


def _lines(legs: Iterable[Leg]) -> Iterator[str]:
    yield from (
        "BEGIN:VCALENDAR",
        "VERSION:2.0",
        "PRODID:-//Greenroom//Bookings//EN",
        "CALSCALE:GREGORIAN",
        "METHOD:PUBLISH",
    )
    for leg in legs:
        yield from _event(leg)
    yield "END:VCALENDAR"


def _event(leg: Leg) -> Iterator[str]:
    """Contains no names of people, because a calendar's address is easily passed on."""
    is_cancelled = leg.state is LegState.CANCELLED
    yield "BEGIN:VEVENT"
    yield f"UID:{leg.leg_id}@greenroom"
    yield f"DTSTAMP:{_utc(leg.updated_at_ms)}"
    yield f"LAST-MODIFIED:{_utc(leg.updated_at_ms)}"
    yield f"SEQUENCE:{leg.sequence}"
    yield f"STATUS:{'CANCELLED' if is_cancelled else 'CONFIRMED'}"
    yield f"DTSTART:{_utc(leg.start_ms)}"
    # Rounded up: an event must not end in the second in which it starts.
    yield f"DTEND:{_utc(leg.end_ms + 999)}"
    yield f"SUMMARY:{leg.title.translate(_ESCAPES)}"
    yield "END:VEVENT"


def _utc(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y%m%dT%H%M%SZ}"


def fold(line: str) -> bytes:
    """Split a line into pieces of at most 75 octets, each further piece beginning with a space. No
    character is cut in two."""
    pieces: list[bytes] = []
    piece = b""
    for character in line:
        octets = character.encode()
        if len(piece) + len(octets) > LINE_OCTETS:
            pieces.append(piece)
            piece = b" "
        piece += octets
    return b"\r\n".join([*pieces, piece])
