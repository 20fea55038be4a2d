"""Calendar files, read by another program."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from icalendar import Calendar

from greenroom.bookings.calendars.ics import LINE_OCTETS, fold, write_calendar
from greenroom.bookings.legs import move_leg
from greenroom.bookings.model import Group, Leg, LegState
from greenroom.bookings.transactions import ContractTransaction
from greenroom.conversations.model import normalise_label
from greenroom.kernel.errors import NotFound
from tests.support.clock import HOUR_MS

from .stage import Stage

LEG = Leg(
    "leg_1", "lbg_1", 0, "talent", "bob", "Shoot", LegState.CONFIRMED, 1_800_000_000_000,
    1_800_003_600_000, "Europe/Vienna", 100, 0, True, 3, 2, None, "none", None, 0,
    1_799_000_000_500,
)  # fmt: skip


def _events(written: bytes) -> Any:
    """As another program reads them; its types are of every property that there is."""
    return Calendar.from_ical(written).walk("VEVENT")


titles = st.text(min_size=1, max_size=200).filter(lambda text: normalise_label("t", text, 200))


@given(titles, st.sampled_from(list(LegState)), st.integers(0, 99))
def test_a_leg_reads_back_as_it_was_written(title: str, state: LegState, sequence: int) -> None:
    title = normalise_label("title", title, 200) or ""
    leg = replace(LEG, title=title, state=state, sequence=sequence)
    written = write_calendar([leg])
    assert written == write_calendar([leg])
    assert all(len(line) <= LINE_OCTETS for line in written.split(b"\r\n"))
    calendar: Any = Calendar.from_ical(written)
    assert (calendar["METHOD"], calendar["VERSION"]) == ("PUBLISH", "2.0")
    [event] = _events(written)
    assert str(event["SUMMARY"]) == title
    assert str(event["UID"]) == "leg_1@greenroom"
    assert event["SEQUENCE"] == sequence
    assert event["STATUS"] == ("CANCELLED" if state is LegState.CANCELLED else "CONFIRMED")
    assert event["DTSTART"].dt == datetime.fromtimestamp(1_800_000_000, UTC)
    assert event["DTEND"].dt == datetime.fromtimestamp(1_800_003_600, UTC)
    assert event["DTSTAMP"].dt == datetime.fromtimestamp(1_799_000_000, UTC)
    assert event["LAST-MODIFIED"].dt == event["DTSTAMP"].dt


@given(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=300))
def test_folding_cuts_no_character_and_loses_none(line: str) -> None:
    pieces = fold(line).split(b"\r\n")
    assert all(len(piece) <= LINE_OCTETS for piece in pieces)
    assert all(piece.startswith(b" ") for piece in pieces[1:])
    texts = [piece.decode() for piece in pieces]
    assert texts[0] + "".join(text[1:] for text in texts[1:]) == line


def test_the_shortest_leg_still_ends_after_it_begins() -> None:
    written = write_calendar([replace(LEG, end_ms=LEG.start_ms + 1)])
    [event] = _events(written)
    assert event["DTEND"].dt > event["DTSTART"].dt


async def test_a_leg_has_a_file_for_its_parties_once_it_is_confirmed(stage: Stage) -> None:
    ann, bob, eve = await stage.people("ann", "bob", "eve")
    group = await stage.propose(ann, stage.leg(bob, title="Shoot; day 1, Vienna"))
    name = f"{group.legs[0].leg_id}.ics"
    for viewer in (ann, bob, None):
        with pytest.raises(NotFound):
            await stage.bookings.calendars.leg_file(viewer, name)
    await stage.confirm(group)
    files = {await stage.bookings.calendars.leg_file(viewer, name) for viewer in (ann, bob, None)}
    [written] = files
    [event] = _events(written)
    assert str(event["SUMMARY"]) == "Shoot; day 1, Vienna"
    assert ann.encode() not in written
    assert bob.encode() not in written
    for viewer, other in ((eve, name), (ann, group.legs[0].leg_id), (ann, "leg_x.ics")):
        with pytest.raises(NotFound):
            await stage.bookings.calendars.leg_file(viewer, other)


async def test_a_moved_or_cancelled_leg_tells_calendars_so(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    name = f"{leg.leg_id}.ics"

    async def move(tx: ContractTransaction, group: Group, leg: Leg) -> Leg:
        times = leg.start_ms + HOUR_MS, leg.end_ms + HOUR_MS
        return await move_leg(tx, leg, *times, actor=None, role="server", act="move")

    async def event() -> tuple[int, str]:
        written = await stage.bookings.calendars.leg_file(leg.seller, name)
        [found] = _events(written)
        return found["SEQUENCE"], str(found["STATUS"])

    assert await event() == (0, "CONFIRMED")
    await stage.with_leg(leg.leg_id, move)
    assert await event() == (1, "CONFIRMED")
    await stage.bookings.cancel(group.group_id, None)
    assert await event() == (2, "CANCELLED")


async def test_a_person_has_one_secret_address_for_all_that_is_booked(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    shown = [
        await stage.confirm(await stage.propose(ann, stage.leg(bob, in_hours=hours)))
        for hours in (24, 24 * 399, -24 * 89)
    ]
    await stage.bookings.cancel(shown[1].group_id, None)
    for hours in (24 * 401, -24 * 91):
        await stage.confirm(await stage.propose(ann, stage.leg(bob, in_hours=hours)))
    proposed = await stage.propose(ann, stage.leg(bob, in_hours=300))
    await stage.bookings.cancel(proposed.group_id, None)

    calendars = stage.bookings.calendars
    addresses = [await calendars.new_address(ann), await calendars.new_address(bob)]
    for address in addresses:
        assert address.startswith("https://greenroom.example/v1/calendar/")
        written = await calendars.feed(address.rsplit("/", 1)[1])
        events = _events(written)
        expected = [f"{shown[n].legs[0].leg_id}@greenroom" for n in (2, 0, 1)]
        assert [str(event["UID"]) for event in events] == expected

    old = addresses[0].rsplit("/", 1)[1]
    new = (await calendars.new_address(ann)).rsplit("/", 1)[1]
    assert len(await calendars.feed(new)) > 100
    for wrong in (old, "x.ics", new.removesuffix(".ics")):
        with pytest.raises(NotFound):
            await calendars.feed(wrong)


async def test_only_the_hash_of_a_calendars_secret_is_kept(stage: Stage) -> None:
    [ann] = await stage.people("ann")
    address = await stage.bookings.calendars.new_address(ann)
    secret = address.rsplit("/", 1)[1].removesuffix(".ics")
    kept = await stage.pool.fetchval(
        "select secret_hash from calendar_feed where user_id = $1", ann
    )
    assert kept == hashlib.sha256(secret.encode()).digest()
    assert len(secret) >= 26
