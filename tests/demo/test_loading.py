"""What is in PostgreSQL after loading, by hand-written scenes and in bulk, recounted in SQL."""

import dataclasses
from collections.abc import Awaitable, Callable
from datetime import date
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from greenroom.bootstrap import Rooms
from greenroom.conversations.model import Cursor
from greenroom.conversations.previews import as_last_message
from greenroom.demo import cues as cues_module
from greenroom.demo import sample as sample_module
from greenroom.demo.bulk import load_bulk
from greenroom.demo.crowd import Bulk
from greenroom.demo.cues import cues, said_cues
from greenroom.demo.deals import Deals
from greenroom.demo.people import PEOPLE
from greenroom.demo.sample import load_sample
from greenroom.demo.script import latest_day, parse_scene, scenes, with_dates
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import Unavailable
from greenroom.kernel.limits import Limits
from greenroom.settings import Settings, load_settings

from .places import CONTRACT, DAY_MS, HOUR_MS, NOW_MS, Place, clock

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import NewDatabase

# Each returns the rows that break a promise of the store.
PROMISES = {
    "seq counts 1, 2, 3 … and the thread knows the last": """
        select t.thread_id, t.last_seq, count(m.*) from thread t
        left join message m using (thread_id) group by t.thread_id
        having count(m.*) <> t.last_seq or min(m.seq) <> 1 or max(m.seq) <> t.last_seq
            or count(distinct m.seq) <> count(m.*) or max(m.created_at) <> t.last_msg_ts
            or min(m.created_at) <> t.created_at""",
    "created_at grows with seq and is the time inside the id": """
        select * from (select thread_id, message_id, created_at,
            lag(created_at) over (partition by thread_id order by seq) as before from message) m
        where created_at <= before or message_id not like 'msg\\_%' or length(message_id) <> 30
            or substr(message_id, 5, 12) <> lpad(to_hex(
                (extract(epoch from created_at) * 1000)::bigint), 12, '0')""",
    "every thread's id carries its own time": """
        select thread_id from thread where length(thread_id) <> 30 or substr(thread_id, 5, 12) <>
            lpad(to_hex((extract(epoch from created_at) * 1000)::bigint), 12, '0')""",
    "unread is what came after last_read, from others, not deleted": """
        select i.user_id, i.thread_id, i.unread_count from inbox_index i
        join thread_participant p using (user_id, thread_id)
        where i.unread_count <> (select count(*) from message m
            where m.thread_id = i.thread_id and m.message_id > p.last_read_id
                and m.sender_user is distinct from i.user_id and m.deleted_at is null
                and (m.visible_to is null or i.user_id = any (m.visible_to)))""",
    "the inbox row shows the thread's last message, kind and whose turn it is": """
        select i.* from inbox_index i join thread t using (thread_id)
        left join message m on m.thread_id = i.thread_id and m.message_id = i.last_message_id
        where m.seq is distinct from t.last_seq or i.last_msg_ts <> t.last_msg_ts
            or i.kind <> t.kind or i.needs_action <> exists (select from card c
                where c.thread_id = i.thread_id and c.is_open and i.user_id = any (c.waits_for))
            or i.awaits_reply <> (m.kind <> 'system' and m.sender_user is distinct from i.user_id)
        """,
    "whoever is in a thread has one inbox row and one head": """
        select p.* from thread_participant p left join inbox_index i using (user_id, thread_id)
        left join feed_head h using (user_id) left join app_user u using (user_id)
        where i.user_id is null or h.user_id is null or u.user_id is null""",
    "no inbox row without a participant": """
        select user_id, thread_id from inbox_index
        except select user_id, thread_id from thread_participant""",
    "a read mark names a message of the thread, at a time after it": """
        select p.* from thread_participant p
        left join message m on m.thread_id = p.thread_id and m.message_id = p.last_read_id
        where p.last_read_id <> '' and p.last_read_id <> p.visible_after_id
            and (m.message_id is null or p.last_read_ts < m.created_at)""",
    "only people of the thread write in it": """
        select m.thread_id, m.message_id from message m where m.sender_user is not null
            and not exists (select 1 from thread_participant p
                where p.thread_id = m.thread_id and p.user_id = m.sender_user)""",
    "feed numbers have no gap between what was pruned and the head": """
        select h.* from feed_head h left join feed f using (user_id) group by h.user_id
        having count(f.n) <> h.last_n - h.pruned_n
            or min(f.n) <> h.pruned_n + 1 or max(f.n) <> h.last_n""",
    "a feed is in the order of time": """
        select * from (select user_id, n, at,
            lag(at) over (partition by user_id order by n) as before from feed) f
        where at < before""",
    "each kept day's message is in each participant's feed once": """
        select m.thread_id, m.message_id, p.user_id from message m
        join thread_participant p using (thread_id)
        where m.created_at >= {feed_from} and m.message_id > p.visible_after_id
            and 1 <> (select count(*) from feed f where f.user_id = p.user_id
                and f.type = 'message.new' and f.message_id = m.message_id)""",
    "no feed older than what is kept, none from the future": """
        select * from feed where at < {feed_from} or at > {now}""",
    "a project has a booking, others have none": """
        select thread_id from thread
        where (kind = 'project') <> (coalesce(leg_id, group_id) is not null)""",
    "every thread has a subject, a city, a profile and two people or more": """
        select t.thread_id from thread t join thread_participant p using (thread_id)
        group by t.thread_id having count(*) < 2 or t.subject is null or t.city is null
            or t.role_context is null or not bool_or(p.user_id = t.opened_by_user)""",
    "a pair is known by its key": """
        select thread_id, pair_key from thread t
        where pair_key is distinct from (select case when count(*) = 2 and
                bool_and(status = 'active') then string_agg(user_id, ',' order by user_id) end
            from thread_participant p where p.thread_id = t.thread_id)""",
}


@pytest.fixture
def settings(tmp_path: "Path") -> Settings:
    return load_settings({"GREENROOM_HOME": str(tmp_path)})


@pytest.fixture(scope="module")
async def whole_sample(
    tmp_path_factory: pytest.TempPathFactory, new_database: "NewDatabase"
) -> str:
    """The address of a database with the sample. Tests look at it, and change only copies."""
    settings = load_settings({"GREENROOM_HOME": str(tmp_path_factory.mktemp("home"))})
    url = await new_database()
    assert await load_sample(settings, url, clock=clock)
    return url


async def assert_promises(database: Any, feed_from_ms: int) -> None:
    moments = {"feed_from": feed_from_ms, "now": NOW_MS}
    times = {name: f"to_timestamp({at_ms / 1000})" for name, at_ms in moments.items()}
    for promise, query in PROMISES.items():
        assert await database.rows(query.format(**times)) == [], promise


async def test_the_sample_keeps_every_promise(
    whole_sample: str, look_into: Callable[[str], Any]
) -> None:
    async with look_into(whole_sample) as database:
        await assert_promises(database, NOW_MS - 7 * DAY_MS)
        kinds = dict(await database.rows("select kind, count(*) from thread group by 1"))
        assert set(kinds) == {"inquiry", "invite", "project"}
        [(members,)] = await database.rows(
            "select max(c) from (select count(*) as c from thread_participant group by thread_id) x"
        )
        assert members == 3
        [(newest,)] = await database.rows("select min(last_msg_ts) from thread")
        assert newest.timestamp() * 1000 < NOW_MS - 180 * DAY_MS
        for special in (
            "select 1 from message where edited_at is not null",
            "select 1 from message where deleted_at is not null and body_text = ''",
            "select 1 from message where reply_to is not null",
            "select 1 from message where body_html like '%<ol>%'",
            "select 1 from message where body_html like '%<a href%'",
            "select 1 from inbox_index where unread_count > 1",
            "select 1 from inbox_index where starred",
        ):
            assert await database.rows(special), special
        assert len(await database.rows("select distinct city from thread")) >= 6
        assert not await database.rows("select 1 from message where body_text like '%{%'")


async def test_the_same_seed_gives_the_same_rows(
    settings: Settings, new_database: "NewDatabase", whole_sample: str
) -> None:
    found = []
    for seed, loaded in ((1, whole_sample), (1, None), (2, None)):
        url = await new_database(loaded)
        assert await load_sample(settings, url, seed=seed, clock=clock) == (loaded is None)
        await load_bulk(settings, url, Bulk(seed, 500, 12), clock=clock)
        found.append(await Place(settings, url).contents())
    first, second, other = found
    assert first == second
    assert first["message"] != other["message"]


@pytest.mark.parametrize("later_ms", [0, 3 * DAY_MS + 5 * HOUR_MS])
async def test_loading_again_changes_nothing(
    settings: Settings, new_database: "NewDatabase", whole_sample: str, later_ms: int
) -> None:
    url = await new_database(whole_sample)
    bulk = Bulk(1, 300, 10)
    assert await load_bulk(settings, url, bulk, clock=clock)
    before = await Place(settings, url).contents()
    assert not await load_sample(settings, url, seed=5, clock=lambda: NOW_MS + later_ms)
    assert not await load_bulk(settings, url, bulk, clock=lambda: NOW_MS + later_ms)
    assert await Place(settings, url).contents() == before


@pytest.mark.parametrize("played", [1, 300])
async def test_a_load_that_was_cut_short_is_finished_by_the_next(
    settings: Settings,
    new_database: "NewDatabase",
    whole_sample: str,
    look_into: Callable[[str], Any],
    monkeypatch: pytest.MonkeyPatch,
    played: int,
) -> None:
    broken = await new_database()
    with monkeypatch.context() as patch:
        patch.setattr(sample_module, "cues", lambda *args: [*cues(*args)[:played], None])
        with pytest.raises(AttributeError):
            await load_sample(settings, broken, clock=clock)
    # A day later; but what was begun goes on at its own times.
    await load_sample(settings, broken, clock=lambda: NOW_MS + DAY_MS)
    said = "select message_id, body_text, created_at, edited_at, deleted_at from message order by 1"
    async with look_into(whole_sample) as expected, look_into(broken) as found:
        assert await found.rows(said) == await expected.rows(said)
        marks = "select thread_id, user_id, last_read_id from thread_participant order by 1, 2"
        assert await found.rows(marks) == await expected.rows(marks)
    found_there, wanted = [await Place(settings, url).contents() for url in (broken, whole_sample)]
    for what in CONTRACT:
        assert found_there[what] == wanted[what], what


@pytest.fixture
def few_scenes(monkeypatch: pytest.MonkeyPatch) -> None:
    few = [scene for scene in scenes() if scene.key in ("lookbook", "studio-day", "test-shoot")]
    monkeypatch.setattr(cues_module, "scenes", lambda: few)


@pytest.mark.usefixtures("few_scenes")
async def test_money_that_was_promised_when_a_load_was_cut_short_moves_at_its_time(
    settings: Settings, new_database: "NewDatabase", monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, broken = Place(settings, await new_database()), Place(settings, await new_database())
    assert await load_sample(settings, whole.url, clock=clock)
    for runs in (0, 1, 2, 1, 2, 1):
        with monkeypatch.context() as patch:
            patch.setattr(Deals, "run_worker", _dying_after(runs, Deals.run_worker))
            with pytest.raises(Unavailable):
                await load_sample(settings, broken.url, clock=clock)
    assert await load_sample(settings, broken.url, clock=clock)
    found, wanted = await broken.contents(), await whole.contents()
    for what in (*CONTRACT, "message"):
        assert found[what] == wanted[what], what


def _dying_after(
    runs: int, run_worker: Callable[[Deals], Awaitable[None]]
) -> Callable[[Deals], Awaitable[None]]:
    left = iter(range(runs))

    async def run(deals: Deals) -> None:
        if next(left, None) is None:
            raise Unavailable
        await run_worker(deals)

    return run


@pytest.mark.usefixtures("few_scenes")
async def test_a_place_is_shared_on_the_last_day_and_forgotten_after_it(
    settings: Settings, new_database: "NewDatabase"
) -> None:
    shared = "select state, payload::text from card where type = 'location' order by created_at"
    found = []
    for hours in (0, 2):
        place = Place(settings, await new_database())
        await load_sample(settings, place.url, clock=lambda: NOW_MS + hours * HOUR_MS)  # noqa: B023
        found.append(await place.rows(shared))
    ended = ("ended", "{}")
    assert found[0] == [ended, ended]
    assert found[1][0] == ended
    assert found[1][1][0] == "active"
    assert '"lat": 53.7936' in found[1][1][1]


async def test_tried_out_limits_do_not_stop_the_sample(
    settings: Settings, new_database: "NewDatabase"
) -> None:
    tight = dataclasses.replace(
        settings,
        limits=dataclasses.replace(Limits(), body_characters=5, verified_starts_per_day=1),
        require_job=True,
        payments_url="http://127.0.0.1:1",
        cancellation_policy="0:100",
    )
    assert await load_sample(tight, await new_database(), clock=clock)


@pytest.mark.parametrize(
    "bulk",
    [Bulk(1, 20_000, 500), Bulk(7, 400, 400), Bulk(3, 1, 1), Bulk(3, 3000, 1)],
    ids=["20000 messages", "one message per thread", "one message", "one long thread"],
)
async def test_bulk_keeps_every_promise(
    settings: Settings,
    new_database: "NewDatabase",
    look_into: Callable[[str], Any],
    bulk: Bulk,
) -> None:
    url = await new_database()
    assert await load_bulk(settings, url, bulk, clock=clock)
    async with look_into(url) as database:
        await assert_promises(database, NOW_MS - NOW_MS % HOUR_MS - 7 * DAY_MS)
        [counted] = await database.rows(
            "select (select count(*) from message), (select count(*) from thread)"
        )
        assert counted == (bulk.messages, bulk.threads)
        assert not await database.rows(
            "select sender_user, client_id from message where client_id is not null"
            " group by 1, 2 having count(*) > 1"
        )


async def test_people_go_on_talking_where_bulk_stopped(
    settings: Settings, new_database: "NewDatabase", look_into: Callable[[str], Any]
) -> None:
    url = await new_database()
    await load_bulk(settings, url, Bulk(1, 2000, 20), clock=clock)
    async with Rooms(settings, url, clock=clock) as rooms, look_into(url) as database:
        [(user_id, thread_id)] = await database.rows(
            "select opened_by_user, thread_id from thread order by last_msg_ts desc limit 1"
        )
        verbs = rooms.conversations
        sent = await verbs.send(user_id, thread_id, client_id="new", body="Still there?")
        thread, cursor = await verbs.access_thread(user_id, thread_id)
        assert thread.inbox is not None
        assert thread.inbox.last_message == as_last_message(sent.message)
        before = Cursor(cursor.epoch, cursor.n - 1)
        [event] = (await verbs.changes(user_id, before, 10)).events
        assert event.message == sent.message
        page = await verbs.access_messages(user_id, thread_id, limit=50)
        await verbs.mark_read(user_id, thread_id, page.items[-1].id)
        await assert_promises(database, NOW_MS - NOW_MS % HOUR_MS - 7 * DAY_MS)


TURNS = ("2027-03-14", "2027-03-28", "2027-10-31", "2027-11-07")
"""On which clocks are put forward or back, in America and in Europe."""
ENDS = ("2027-12-31", "2028-01-01", "2028-02-28", "2028-02-29", "2028-03-01", "2031-06-30")


@pytest.mark.parametrize("day", ["2027-01-15", *TURNS, *ENDS])
def test_scenes_are_played_in_the_order_of_time_and_never_ahead_of_it(day: str) -> None:
    midnight_ms = parse_rfc3339(f"{day}T00:00:00Z")
    for hours in range(0, 48, 5):
        now_ms = midnight_ms + hours * HOUR_MS
        times = [cue.at_ms for cue in cues(1, latest_day(now_ms))]
        assert times == sorted(times)
        assert now_ms - 2 * DAY_MS < times[-1] <= now_ms


def test_scenes_name_people_who_exist_and_give_each_of_them_something() -> None:
    cast = {scene.opener for scene in scenes()} | {scene.to for scene in scenes()}
    spoken = {step.who for scene in scenes() for step in scene.steps}
    assert spoken - {None} == set(PEOPLE)
    assert cast < set(PEOPLE)
    assert 12 <= len(scenes()) <= 20


def test_dates_in_what_people_say_are_real_dates() -> None:
    day = date(2027, 1, 15)
    rome = ZoneInfo("Europe/Rome")
    assert with_dates("On {+16} or {-1s}.", day, rome) == "On Sunday 31 January or Thu 14 Jan."
    assert with_dates('"{-1d}"', day, rome) == '"2027-01-14"'
    assert with_dates("{+200T07:30}", day, rome) == "2027-08-03T07:30:00+02:00"


HEAD = (
    "subject: S\nkind: inquiry\nfrom: maya\nto: theo\nrole_context: photographer\ncity: Leeds\n\n"
)


@pytest.mark.parametrize(
    "play",
    [
        "-1 10:00 maya\n",
        "-1 10:00 maya reads\n    what\n",
        "-1 10:00 maya shouts\n    HELLO\n",
        "-1 10:00 maya books\n    {}\n",
        "* -1 10:00 cards extras\n    {}\n",
        "-1 10:00 theo cards extras\n",
        "-1 10:00 theo cards extras\n    [1]\n",
        "-1 10:00 theo cards extras\n    {items}\n",
        "-1 10:00 theo accepts 1\n    yes\n",
        "1 10:00 theo\n    from the future\n",
    ],
)
def test_a_scene_that_cannot_be_played_is_refused_when_it_is_read(play: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (of JSON as well)
        parse_scene("scene", HEAD + play)


def test_the_last_that_happens_is_something_said() -> None:
    """By that the load knows that the sample is whole."""
    assert cues(1, latest_day(NOW_MS))[-1] == said_cues(1, latest_day(NOW_MS))[-1]
