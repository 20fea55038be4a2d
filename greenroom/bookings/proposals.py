"""Checks the fields of a proposed booking. Pure; whether the people exist and are in the thread is
checked in `actions.py`."""

import zoneinfo
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from greenroom.bookings.cancellation_policy import Policy
from greenroom.bookings.model import LegKind
from greenroom.conversations.model import normalise_label
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.money import MOST_CENTS, check_cents, check_currency

MOST_LEGS = 20
LONGEST_LEG_DAYS = 30
FURTHEST_START_DAYS = 5 * 366
TITLE_CHARACTERS = 200

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class LegProposal:
    kind: LegKind
    seller: str
    title: str
    start_ms: int
    end_ms: int
    timezone: str
    price_cents: int
    deposit_cents: int


@dataclass(frozen=True, slots=True)
class Proposal:
    buyer: str
    currency: str
    legs: tuple[LegProposal, ...]
    policy: Policy
    thread_id: str | None

    @property
    def sellers(self) -> list[str]:
        """Each once, in the order of the legs."""
        return list(dict.fromkeys(leg.seller for leg in self.legs))


def check_proposal(
    *,
    buyer: str,
    currency: str,
    legs: Sequence[LegProposal],
    policy: Policy,
    thread_id: str | None,
    now_ms: int,
) -> Proposal:
    """Return the checked proposal. Raises InvalidRequest."""
    if not 1 <= len(legs) <= MOST_LEGS:
        raise InvalidRequest(f"a booking has 1 to {MOST_LEGS} legs")
    checked = tuple(_check_leg(leg, buyer, now_ms) for leg in legs)
    if sum(leg.price_cents for leg in checked) > MOST_CENTS:
        raise InvalidRequest(f"a booking costs at most {MOST_CENTS} cents")
    return Proposal(buyer, check_currency(currency), checked, policy, thread_id)


def _check_leg(leg: LegProposal, buyer: str, now_ms: int) -> LegProposal:
    title = check_title(leg.title)
    check_time(leg.start_ms, leg.end_ms, now_ms)
    check_timezone(leg.timezone)
    check_cents("price_cents", leg.price_cents)
    check_cents("deposit_cents", leg.deposit_cents)
    if leg.seller == buyer:
        raise InvalidRequest("the buyer of a booking is not one of its sellers")
    return LegProposal(
        leg.kind,
        leg.seller,
        title,
        leg.start_ms,
        leg.end_ms,
        leg.timezone,
        leg.price_cents,
        leg.deposit_cents,
    )


def check_title(text: str) -> str:
    title = normalise_label("title", text, TITLE_CHARACTERS)
    if title is None:
        raise InvalidRequest("title is empty")
    return title


def check_time(start_ms: int, end_ms: int, now_ms: int) -> None:
    if end_ms <= start_ms:
        raise InvalidRequest("end comes after start")
    if end_ms - start_ms > LONGEST_LEG_DAYS * _DAY_MS:
        raise InvalidRequest(f"a leg takes at most {LONGEST_LEG_DAYS} days")
    if start_ms > now_ms + FURTHEST_START_DAYS * _DAY_MS:
        raise InvalidRequest("start is at most five years ahead")
    if start_ms < 0:
        raise InvalidRequest("start is not before 1970")


def check_timezone(name: str) -> str:
    if name not in _timezones():
        raise InvalidRequest("timezone takes an IANA name, such as Europe/Vienna")
    return name


@cache
def _timezones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())
