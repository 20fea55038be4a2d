"""The sample and its crowds are the same wherever conversations are kept."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from greenroom.accounts.model import UserChanges
from greenroom.bootstrap import Rooms
from greenroom.conversations.inbox import Folder, InboxFilter
from greenroom.conversations.model import Cursor, EventType, ThreadKind
from greenroom.conversations.previews import as_last_message
from greenroom.conversations.store import Started
from greenroom.demo.bulk import load_bulk
from greenroom.demo.crowd import Bulk, user_id
from greenroom.demo.opening import open_loading
from greenroom.demo.people import PEOPLE
from greenroom.demo.sample import load_sample
from greenroom.demo.welcome import describe_sample

from .conftest import NewDatabase
from .places import DAY_MS, NOW_MS, NewPlace, Place, clock, numbered, seen_by, without_chance

STORES = ("postgres", "dynamodb")
CROWD = Bulk(1, 3000, 80)

Loaded = dict[str, Place]


async def on_both(new_place: NewPlace, load: Callable[[Place], Awaitable[object]]) -> Loaded:
    places = {store: await new_place(store) for store in STORES}
    for place in places.values():
        assert await load(place)
    return places


@pytest.fixture(scope="module")
async def samples(new_place: NewPlace) -> Loaded:
    """Loaded once for all tests that only look."""
    return await on_both(new_place, lambda at: load_sample(at.settings, at.url, clock=clock))


@pytest.fixture(scope="module")
async def crowds(new_place: NewPlace) -> Loaded:
    return await on_both(new_place, lambda at: load_bulk(at.settings, at.url, CROWD, clock=clock))


def rooms_of(place: Place) -> Rooms:
    return Rooms(place.settings, place.url, clock=clock)


async def test_everybody_sees_the_same_sample(samples: Loaded) -> None:
    async with rooms_of(samples["postgres"]) as one, rooms_of(samples["dynamodb"]) as other:
        for person in PEOPLE:
            expected, found = await seen_by(one, person), await seen_by(other, person)
            for what in ("threads", "unread", "messages"):
                assert without_chance(found[what]) == without_chance(expected[what]), (person, what)
            # There the city is a change like any other, which here no verb makes.
            told = [
                [entry[1:] for entry in numbered(seen["events"]) if entry[1] != "thread.changed"]
                for seen in (found, expected)
            ]
            assert without_chance(told[0]) == without_chance(told[1]), person


@pytest.mark.parametrize("store", STORES)
async def test_people_see_the_sample_as_they_would_see_their_own(
    samples: Loaded, store: str
) -> None:
    async with rooms_of(samples[store]) as rooms:
        for person in PEOPLE:
            page = await rooms.conversations.inbox(person, InboxFilter(), after=None, limit=50)
            assert page.items, person
            unread = [row.inbox for row in page.items if row.inbox and row.inbox.unread_count]
            assert page.counts["all"] == len(unread)  # type: ignore[index]
            changes = await rooms.conversations.changes(person, None, 100)
            said = [event for event in changes.events if event.type == EventType.MESSAGE_NEW]
            newest = page.items[0].inbox
            assert newest is not None
            assert newest.last_message is not None
            if newest.last_activity_ms > NOW_MS - 7 * DAY_MS:
                assert newest.last_message in [
                    as_last_message(event.message) for event in said if event.message
                ]
            old = Cursor(changes.cursor.epoch, 0)
            [reset] = (await rooms.conversations.changes(person, old, 100)).events[:1]
            assert reset.type in (EventType.RESET, EventType.THREAD_CHANGED)


async def test_the_box_counts_the_same(samples: Loaded) -> None:
    told = []
    for place in samples.values():
        sample = await describe_sample(place.settings, place.url)
        told.append(replace(sample, thread_id="", tokens={}))
    assert told[0] == told[1]
    assert told[0].bookings > 10
    assert told[0].open_cards > 10


OPEN_CARDS = "select distinct type from card where is_open"
STATES = "select type, state from card"
BOOKED = "select state from leg union select state from booking_group"
WAITING = """
select distinct u.role from (
    select case when c.buyer = any (c.waits_for) then 'buyer' else 'seller' end as role
    from card c where c.is_open) u
"""
UNDONE = """
select payment_id from payment where state = 'queued'
union all select key from task
where kind <> 'timer' or is_dead or due_at <= to_timestamp({now})
"""
UNBALANCED = "select currency from money_entry e join money_posting p using (entry_id) \
group by currency having sum(p.amount_cents) <> 0"
DECIDED = {
    ("extras", "paid"),
    ("overtime", "paid"),
    ("expense", "failed"),
    ("reschedule", "declined"),
    ("propose_time", "accepted"),
    ("propose_time", "countered"),
    ("deliverable", "approved"),
    ("deliverable", "revision_requested"),
    ("complete", "accepted"),
    ("complete", "auto_accepted"),
    ("cancel", "accepted"),
    ("sign", "partly_signed"),
    ("sign", "signed"),
    ("location", "ended"),
}


@pytest.mark.parametrize("store", STORES)
async def test_there_is_a_card_of_every_type_to_decide_and_many_that_are_decided(
    samples: Loaded, store: str
) -> None:
    place = samples[store]
    async with rooms_of(place) as rooms:
        types = {
            name
            for name, each in rooms.contract.cards.catalogue.types.items()
            if any(state.is_open for state in each.states.values())
        }
    assert {name for (name,) in await place.rows(OPEN_CARDS)} == types
    assert set(await place.rows(STATES)) >= DECIDED
    assert {role for (role,) in await place.rows(WAITING)} == {"buyer", "seller"}
    states = {state for (state,) in await place.rows(BOOKED)}
    assert states == {"confirmed", "in_progress", "completed", "cancelled"}


@pytest.mark.parametrize("store", STORES)
async def test_nothing_of_the_sample_is_left_undone(samples: Loaded, store: str) -> None:
    place = samples[store]
    assert await place.rows(UNDONE.format(now=NOW_MS / 1000)) == []
    assert await place.rows(UNBALANCED) == []
    assert (
        await place.rows("select type from card where type = 'location' and payload <> '{}'") == []
    )
    paid = {payout for (payout,) in await place.rows("select payout from leg")}
    assert paid == {"none", "paid"}


async def test_a_second_store_has_the_same_talks_beside_the_first_ones_contracts(
    samples: Loaded, new_place: NewPlace, new_database: NewDatabase
) -> None:
    """As `make run` and then `make run STORE=dynamodb` do in one home."""
    one = replace(samples["postgres"], url=await new_database(samples["postgres"].url))
    other = replace(await new_place("dynamodb"), url=one.url)
    bookings = "select * from booking_group where state = 'confirmed' order by 1"
    before = await one.rows(bookings)
    assert await load_sample(other.settings, other.url, clock=clock)
    assert await one.rows(bookings) == before
    assert not await load_sample(one.settings, one.url, clock=clock)
    async with rooms_of(one) as first, rooms_of(other) as second:
        for rooms in (first, second):
            page = await rooms.conversations.inbox("maya", InboxFilter(), after=None, limit=50)
            assert len(page.items) == 4
            check = rooms.upkeep.check(repair=False, progress=lambda *_: None)
            assert [fault async for fault in check] == []


@pytest.mark.parametrize("store", STORES)
async def test_what_was_said_since_is_counted(new_place: NewPlace, store: str) -> None:
    place = await new_place(store)
    await load_bulk(place.settings, place.url, Bulk(4, 90, 6), clock=clock)
    async with rooms_of(place) as rooms:
        for person in ("pia", "quentin"):
            await rooms.accounts.put_user(person, UserChanges(display_name=person.title()))
        started = await rooms.conversations.start_thread(
            "pia", kind=ThreadKind.INQUIRY, to=["quentin"], client_id="1", body="Hello"
        )
        assert isinstance(started, Started)
        await rooms.conversations.send("quentin", started.thread.id, client_id="1", body="Hi!")
    async with open_loading(place.settings, place.url) as loading:
        assert await loading.count() == (6 + 1, 90 + 2)
        assert await loading.thread_of("pia", "1") == started.thread.id
        assert await loading.thread_of("pia", "2") is None


async def test_loading_again_changes_nothing_on_dynamodb(samples: Loaded, crowds: Loaded) -> None:
    def later() -> int:
        return NOW_MS + 3 * DAY_MS

    sample, crowd = samples["dynamodb"], crowds["dynamodb"]
    before = await sample.contents(), await crowd.contents()
    assert not await load_sample(sample.settings, sample.url, seed=5, clock=later)
    assert not await load_bulk(crowd.settings, crowd.url, CROWD, clock=later)
    assert (await sample.contents(), await crowd.contents()) == before


async def test_everybody_sees_the_same_crowd(crowds: Loaded) -> None:
    people = [user_id(CROWD.seed, number) for number in range(CROWD.threads // 5)]
    async with rooms_of(crowds["postgres"]) as one, rooms_of(crowds["dynamodb"]) as other:
        for person in people:
            expected, found = await seen_by(one, person), await seen_by(other, person)
            for what in ("threads", "unread", "messages"):
                assert found[what] == expected[what], (person, what)
            assert numbered(found["events"]) == numbered(expected["events"]), person
            spoken = [await each.store.conversations(person, 50) for each in (one, other)]
            assert spoken[0] == spoken[1], person


async def test_what_a_crowd_has_sent_is_known_by_its_client_ids(crowds: Loaded) -> None:
    async with rooms_of(crowds["dynamodb"]) as rooms:
        verbs, person = rooms.conversations, user_id(CROWD.seed, 0)
        page = await verbs.inbox(person, InboxFilter(), after=None, limit=1)
        messages = (await verbs.access_messages(person, page.items[0].id, limit=50)).items
        own = [message for message in messages if message.author_id == person]
        assert own
        for message in own:
            assert message.client_id is not None
            sent = await verbs.send(
                person, message.thread_id, client_id=message.client_id, body=message.body
            )
            assert (sent.message, sent.is_repeat) == (message, True)


async def test_a_crowd_that_talks_in_one_store_can_talk_in_the_other(new_place: NewPlace) -> None:
    """Its people are among the accounts by then."""
    one, other = await new_place("dynamodb"), await new_place("postgres")
    few, more = Bulk(2, 20, 10), Bulk(2, 60, 30)
    assert await load_bulk(one.settings, one.url, few, clock=clock)
    assert await load_bulk(other.settings, one.url, more, clock=clock)
    async with Rooms(other.settings, one.url, clock=clock) as rooms:
        await rooms.accounts.require_users([user_id(2, number) for number in range(6)])


@pytest.mark.parametrize("store", STORES)
async def test_all_that_is_derived_agrees(samples: Loaded, crowds: Loaded, store: str) -> None:
    for place in (samples[store], crowds[store]):
        async with rooms_of(place) as rooms:
            check = rooms.upkeep.check(repair=False, progress=lambda *_: None)
            assert [fault async for fault in check] == []


@pytest.mark.parametrize("store", STORES)
async def test_people_go_on_talking_where_a_crowd_stopped(new_place: NewPlace, store: str) -> None:
    place = await new_place(store)
    await load_bulk(place.settings, place.url, Bulk(1, 600, 12), clock=clock)
    async with rooms_of(place) as rooms:
        verbs = rooms.conversations
        for person in (user_id(1, 0), user_id(1, 1)):
            page = await verbs.inbox(person, InboxFilter(), after=None, limit=50)
            for thread in page.items:
                [other] = [e.user_id for e in thread.participants if e.user_id != person]
                sent = await verbs.send(person, thread.id, client_id=thread.id, body="Still there?")
                before_it, newest = (await verbs.access_messages(other, thread.id, limit=2)).items
                assert newest == sent.message
                assert newest.seq == before_it.seq + 1
                shown, cursor = await verbs.access_thread(other, thread.id)
                assert shown.inbox is not None
                assert shown.inbox.last_message == as_last_message(sent.message)
                before = Cursor(cursor.epoch, cursor.n - 1)
                [event] = (await verbs.changes(other, before, 10)).events
                assert event.message == sent.message
                read = await verbs.mark_read(other, thread.id, sent.message.id)
                assert read.inbox.unread_count == 0  # type: ignore[union-attr]


@pytest.mark.parametrize("store", STORES)
async def test_people_answer_the_samples_cards(samples: Loaded, store: str) -> None:
    """What the buttons do. The last test here, as it changes what the others look at."""
    place = samples[store]
    async with rooms_of(place) as rooms:
        for person in ("maya", "loft"):
            page = await rooms.conversations.inbox(
                person, InboxFilter(Folder.ACTION), after=None, limit=50
            )
            assert page.items, person
        cards = rooms.contract.cards
        [(card_id, buyer, version)] = await place.rows(
            "select card_id, buyer, version from card where type = 'overtime' and is_open"
        )
        await cards.act(buyer, card_id, "accept", version, {})
        await rooms.contract.worker.run_until_idle()
        card, _ = await cards.access(buyer, card_id)
        assert card.state == "paid"
