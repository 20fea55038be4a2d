"""Events reach webhooks at least once, in order within a thread, whatever receivers do."""

import asyncio
import logging
import time
from typing import Any

import asyncpg
import pytest

from greenroom.kernel.errors import ActionInvalidState, NotFound
from greenroom.platform.http_client import Reply
from greenroom.webhooks.actions import Changes
from greenroom.webhooks.model import DAY_MS, HOUR_MS, Attempt, judge, next_attempt_ms
from greenroom.webhooks.signing import Sealer
from greenroom.webhooks.upkeep import WebhookUpkeep
from tests.support.waiting import PATIENCE_S, until
from tests.webhooks.stage import Post, Receiver, Stage, new_stage


def is_of(host: str, post: Post) -> bool:
    return post.url.startswith(f"https://{host}.")


async def test_events_of_a_thread_arrive_in_order(stage: Stage) -> None:
    await stage.add()
    happened = [await stage.happen(f"thr_{n % 3}") for n in range(30)]
    await stage.drain()
    assert sorted(stage.receiver.ids()) == sorted(happened)
    for thread in range(3):
        assert stage.receiver.ids(f"thr_{thread}") == happened[thread::3]


async def test_an_event_comes_with_type_timestamp_and_data(stage: Stage) -> None:
    await stage.add()
    event_id = await stage.happen("thr_1", "message.edit")
    stage.clock.advance(seconds=5)
    await stage.drain()
    [post] = stage.receiver.posts
    data = {"thread_id": "thr_1", "thread_number": 1, "n": 1}
    at = "2027-01-15T08:00:00.000Z"
    assert post.json == {"type": "message.edit", "timestamp": at, "data": data}
    assert post.headers["webhook-id"] == event_id
    assert post.headers["webhook-timestamp"] == str(stage.clock() // 1000)
    assert post.headers["webhook-signature"].startswith("v1,")
    assert post.headers["content-type"] == "application/json"


async def test_a_webhook_gets_the_events_that_it_asked_for_from_then_on(stage: Stage) -> None:
    await stage.happen("thr_1", "thread.create")
    await stage.add("all")
    await stage.add("some", "thread.create", "message.edit")
    happened = [
        await stage.happen("thr_1", each)
        for each in ("message.send", "thread.create", "message.send", "message.edit")
    ]
    await stage.drain()
    taken = {
        host: [p.id for p in stage.receiver.posts if is_of(host, p)] for host in ("all", "some")
    }
    assert taken == {"all": happened, "some": [happened[1], happened[3]]}


async def test_a_failing_event_holds_back_its_own_thread_at_that_webhook_only(
    stage: Stage,
) -> None:
    bad, good = await stage.add("bad"), await stage.add("good")
    first = await stage.happen("thr_1")
    stage.receiver.answer = lambda post: 500 if is_of("bad", post) and post.id == first else 200
    rest = [await stage.happen("thr_1"), await stage.happen("thr_2"), await stage.happen()]
    # A receiver that has failed is asked once at a time until it succeeds.
    await stage.drain()
    to_bad = [each.id for each in stage.receiver.accepted if is_of("bad", each)]
    assert sorted(to_bad) == sorted(rest[1:])
    assert len(await stage.listed(good, "delivered")) == 4
    [held, failed] = await stage.listed(bad, "waiting")
    assert (failed.event_id, failed.attempts, failed.status) == (first, 1, 500)
    assert failed.error == "status 500"
    assert failed.excerpt == "<h1>as I said</h1>"
    assert failed.next_at_ms is not None
    assert (held.event_id, held.attempts, held.next_at_ms) == (rest[0], 0, None)
    stage.receiver.answer = lambda _: 200
    await stage.advance(minutes=30)
    to_bad = [each.id for each in stage.receiver.accepted if is_of("bad", each)]
    assert to_bad[-2:] == [first, rest[0]]


async def test_a_receiver_that_was_down_for_a_day_gets_everything_in_order(stage: Stage) -> None:
    webhook = await stage.add()
    stage.receiver.answer = lambda _: 0
    happened: dict[str, list[str]] = {f"thr_{n}": [] for n in range(5)}
    for _ in range(24):
        for thread_id, ids in happened.items():
            ids.append(await stage.happen(thread_id))
        await stage.advance(hours=1)
    now = await stage.now(webhook)
    assert now.disabled_reason is None
    assert now.failing_since_ms is not None
    attempts = len(stage.receiver.posts)
    # With growing pauses, and one at a time.
    assert 24 < attempts < 5 * 40
    stage.receiver.answer = lambda _: 200
    # Pauses have grown to hours, but the first success brings everything forward.
    await stage.advance(hours=3)
    await stage.advance(minutes=2, step_minutes=1)
    assert {each: stage.receiver.ids(each) for each in happened} == happened
    assert (await stage.now(webhook)).failing_since_ms is None
    assert await stage.listed(webhook, "waiting") == []


async def test_what_fails_for_three_days_is_failed_and_the_thread_goes_on(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = await stage.add()
    bad, next_one = await stage.happen("thr_1"), await stage.happen("thr_1")
    stage.receiver.answer = lambda post: 500 if post.id == bad else 200
    await stage.advance(hours=71, step_minutes=60)
    assert [each.state for each in await stage.listed(webhook)] == ["waiting", "waiting"]
    with caplog.at_level(logging.ERROR):
        await stage.advance(hours=2)
    [later, failed] = await stage.listed(webhook)
    assert (failed.event_id, failed.state, failed.next_at_ms) == (bad, "failed", None)
    assert failed.attempts > 20
    assert (later.event_id, later.state) == (next_one, "delivered")
    assert "can be replayed" in caplog.text
    stage.receiver.answer = lambda _: 200
    await stage.webhooks.replay_event(webhook.webhook_id, bad)
    await stage.drain()
    assert stage.receiver.ids() == [next_one, bad]


async def test_gone_disables_at_once_and_nothing_is_lost(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = await stage.add()
    happened = [await stage.happen("thr_1") for _ in range(2)]
    stage.receiver.answer = lambda _: 410
    with caplog.at_level(logging.ERROR):
        await stage.drain()
    now = await stage.now(webhook)
    assert now.disabled_reason == "gone"
    assert "a webhook was disabled" in caplog.text
    happened.append(await stage.happen("thr_1"))
    await stage.advance(days=4, step_minutes=600)
    assert len(stage.receiver.posts) == 1
    stage.receiver.answer = lambda _: 200
    await stage.webhooks.change(webhook.webhook_id, Changes(enabled=True))
    await stage.drain()
    assert stage.receiver.ids("thr_1") == happened


async def test_a_webhook_that_fails_for_five_days_is_disabled(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = await stage.add()
    stage.receiver.answer = lambda _: 503
    for day in range(5):
        assert (await stage.now(webhook)).disabled_reason is None, day
        await stage.happen(f"thr_{day}")
        await stage.advance(days=1, step_minutes=120)
    await stage.happen("thr_5")
    with caplog.at_level(logging.ERROR):
        await stage.advance(hours=3)
    now = await stage.now(webhook)
    assert now.disabled_reason == "failing"
    assert now.disabled_at_ms is not None
    assert "a webhook was disabled" in caplog.text
    before = len(stage.receiver.posts)
    await stage.advance(days=1, step_minutes=120)
    assert len(stage.receiver.posts) == before


async def test_a_success_in_between_keeps_a_webhook_enabled(stage: Stage) -> None:
    webhook = await stage.add()
    bad = await stage.happen("thr_bad")
    stage.receiver.answer = lambda post: 500 if post.id == bad else 200
    for _ in range(7):
        await stage.happen("thr_good")
        await stage.advance(days=1, step_minutes=240)
    assert (await stage.now(webhook)).disabled_reason is None
    assert len(stage.receiver.ids("thr_good")) == 7


async def test_redirects_are_failures(stage: Stage) -> None:
    webhook = await stage.add()
    await stage.happen("thr_1")
    stage.receiver.answer = lambda _: 302
    await stage.drain()
    [delivery] = await stage.listed(webhook)
    assert (delivery.status, delivery.error) == (302, "redirects are not followed")


async def test_a_disabled_webhook_waits_and_goes_on(stage: Stage) -> None:
    webhook = await stage.add()
    await stage.webhooks.change(webhook.webhook_id, Changes(enabled=False))
    happened = [await stage.happen("thr_1") for _ in range(3)]
    await stage.advance(days=2, step_minutes=600)
    assert stage.receiver.posts == []
    with pytest.raises(ActionInvalidState):
        await stage.webhooks.test(webhook.webhook_id)
    await stage.webhooks.change(webhook.webhook_id, Changes(enabled=True))
    await stage.drain()
    assert stage.receiver.ids() == happened


async def test_events_that_the_log_no_longer_has_are_said_to_be_missing(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    webhook = await stage.add()
    await stage.happen("thr_1")
    await stage.runner._dispatcher.step()
    await stage.webhooks.change(webhook.webhook_id, Changes(enabled=False))
    await stage.happen("thr_1")
    await stage.pool.execute("delete from event_log")
    kept = await stage.happen("thr_1")
    await stage.webhooks.change(webhook.webhook_id, Changes(enabled=True))
    with caplog.at_level(logging.ERROR):
        await stage.drain()
    assert "events were deleted" in caplog.text
    assert stage.receiver.ids() == [kept]
    [_, lost] = await stage.listed(webhook)
    assert (lost.state, lost.error) == ("failed", "the event is no longer kept")
    assert (await stage.now(webhook)).failing_since_ms is None


async def test_both_secrets_sign_for_a_day_after_a_rotation(stage: Stage) -> None:
    webhook = await stage.add()
    await stage.webhooks.rotate(webhook.webhook_id)
    for _ in range(2):
        await stage.happen("thr_1")
        await stage.drain()
        stage.clock.advance(hours=24)
    signatures = [each.headers["webhook-signature"].split() for each in stage.receiver.posts]
    assert [len(each) for each in signatures] == [2, 1]


async def test_secrets_are_encrypted_in_the_database(stage: Stage) -> None:
    webhook = await stage.add()
    shown = await stage.webhooks.reveal(webhook.webhook_id, 1)
    assert shown is not None
    assert shown.startswith("whsec_")
    sealed = await stage.pool.fetchval("select secret from webhook")
    secret = stage.sealer.unseal(webhook.webhook_id, sealed)
    assert secret not in sealed
    # Another server with another key posts nothing unsigned, and says why.
    await stage.happen("thr_1")
    other = stage.new_runner(sealer=Sealer(b"another key"))
    await other.drain()
    assert stage.receiver.posts == []
    [delivery] = await stage.listed(webhook)
    assert "GREENROOM_WEBHOOK_KEY" in (delivery.error or "")


async def test_a_test_event_is_tried_once(stage: Stage) -> None:
    webhook = await stage.add("shop", "message.edit")
    await stage.webhooks.test(webhook.webhook_id)
    await stage.drain()
    [post] = stage.receiver.posts
    assert post.json["type"] == "webhook.test"
    assert post.json["data"] == {"webhook_id": webhook.webhook_id}
    stage.receiver.answer = lambda _: 500
    await stage.webhooks.test(webhook.webhook_id)
    await stage.drain()
    assert [each.state for each in await stage.listed(webhook)] == ["failed", "delivered"]


async def test_replays_come_with_the_same_ids_in_order(stage: Stage) -> None:
    webhook = await stage.add("shop", "message.send")
    happened = []
    for _ in range(6):
        happened.append(await stage.happen("thr_1"))
        await stage.happen("thr_1", "message.edit")
        stage.clock.advance(hours=1)
    await stage.drain()
    assert stage.receiver.ids() == happened
    start_ms = stage.clock() - 6 * HOUR_MS
    span = (start_ms + 2 * HOUR_MS, start_ms + 4 * HOUR_MS)
    await stage.webhooks.replay_span(webhook.webhook_id, *span)
    await stage.drain()
    assert stage.receiver.ids()[6:] == happened[2:4]
    await stage.webhooks.replay_span(webhook.webhook_id, start_ms + 5 * HOUR_MS, None)
    await stage.drain()
    assert stage.receiver.ids()[8:] == happened[5:]
    with pytest.raises(NotFound):
        await stage.webhooks.replay_event(webhook.webhook_id, "evt_none")


async def test_a_long_replay_says_where_to_go_on(pool: asyncpg.Pool) -> None:
    stage = await new_stage(pool, webhook_replay_events=4)
    webhook = await stage.add()
    start_ms = stage.clock()
    happened = []
    for _ in range(6):
        happened.append(await stage.happen("thr_1"))
        stage.clock.advance(minutes=1)
    await stage.drain()
    first = await stage.webhooks.replay_span(webhook.webhook_id, start_ms, None)
    assert first.next_since_ms == start_ms + 4 * 60_000  # type: ignore[union-attr]
    second = await stage.webhooks.replay_span(webhook.webhook_id, first.next_since_ms, None)  # type: ignore[union-attr]
    assert (first.events, second.events) == (4, 2)  # type: ignore[union-attr]
    await stage.drain()
    assert stage.receiver.ids()[6:] == happened


async def test_removing_a_webhook_ends_everything_of_it(stage: Stage) -> None:
    webhook = await stage.add()
    await stage.happen("thr_1")
    await stage.runner._dispatcher.step()
    await stage.webhooks.remove(webhook.webhook_id)
    await stage.drain()
    assert stage.receiver.posts == []
    left = """select (select count(*) from webhook_delivery) + (select count(*) from webhook_lane)
        + (select count(*) from event_cursor)"""
    assert await stage.pool.fetchval(left) == 0
    with pytest.raises(NotFound):
        await stage.webhooks.remove(webhook.webhook_id)


async def test_old_deliveries_are_deleted_and_waiting_ones_stay(stage: Stage) -> None:
    webhook = await stage.add()
    await stage.happen("thr_1")
    bad = await stage.happen("thr_2")
    stage.receiver.answer = lambda post: 500 if post.id == bad else 200
    await stage.drain()
    stage.clock.advance(days=31)
    upkeep = WebhookUpkeep(stage.pool, clock=stage.clock, limits=stage.limits)
    assert await upkeep.prune_deliveries() == {"webhook_delivery": 1}
    [left] = await stage.listed(webhook)
    assert left.event_id == bad


async def test_one_webhook_has_only_its_share_of_posts(pool: asyncpg.Pool) -> None:
    stage = await new_stage(pool, webhook_posts=6, webhook_posts_each=4)
    await stage.add("slow")
    await stage.add("quick")
    gate = asyncio.Event()
    at_once = most = 0

    class Slow(Receiver):
        async def send(self, method: str, url: str, **more: Any) -> Reply:
            nonlocal at_once, most
            if url.startswith("https://slow."):
                at_once += 1
                most = max(most, at_once)
                await gate.wait()
                at_once -= 1
            return await super().send(method, url, **more)

    slow = Slow()
    for n in range(20):
        await stage.happen(f"thr_{n}")
    work = asyncio.create_task(stage.new_runner(slow).drain())
    await until(lambda: len([p for p in slow.accepted if is_of("quick", p)]) == 20, "the quick one")
    gate.set()
    await work
    assert most == 4
    assert len(slow.accepted) == 40


async def test_two_workers_share_and_keep_the_order(stage: Stage) -> None:
    await stage.add()
    happened = [await stage.happen(f"thr_{n % 4}") for n in range(80)]
    others = [stage.new_runner() for _ in range(3)]
    await asyncio.gather(*(each.drain() for each in others))
    assert sorted(stage.receiver.ids()) == sorted(happened)
    for thread in range(4):
        assert stage.receiver.ids(f"thr_{thread}") == happened[thread::4]


async def test_what_a_dead_worker_held_is_posted_by_another(stage: Stage) -> None:
    await stage.add()
    first, second = await stage.happen("thr_1"), await stage.happen("thr_1")

    # It takes the first and dies. The hold is short here: 0.2 s.
    dying = stage.new_runner(margin_s=0.2 - stage.limits.webhook_timeout_s)
    await dying._dispatcher.step()
    due = await dying._sender._take()
    assert [each.event_id for each in due] == [first]
    assert stage.receiver.ids() == []
    deadline_s = time.monotonic() + PATIENCE_S
    while len(stage.receiver.ids()) < 2 and time.monotonic() < deadline_s:
        await stage.drain()
    assert stage.receiver.ids() == [first, second]
    # And what it says then about its post changes nothing.
    outcome = dying._sender._outcome(due[0], Attempt(500, "status 500"), 1)
    assert await dying._sender._outcomes.write([outcome]) == [False]


def test_pauses_grow_and_end_after_three_days() -> None:
    now_ms, attempts, pauses = 0, 0, []
    while True:
        attempts += 1
        next_ms = next_attempt_ms(
            now_ms=now_ms, since_ms=0, attempts=attempts, chance=1.0, retry_hours=72
        )
        if next_ms is None:
            break
        pauses.append(next_ms - now_ms)
        now_ms = next_ms
    assert now_ms == 3 * DAY_MS
    assert pauses[:3] == [5_000, 10_000, 20_000]
    assert max(pauses) == 3 * HOUR_MS
    assert 30 < attempts < 45


@pytest.mark.parametrize(
    ("retry_after", "pause_ms"),
    [("60", 60_000), ("1", 5_000), ("999999999", 3 * HOUR_MS), ("soon", 5_000), ("-1", 5_000)],
)
def test_a_receiver_that_asks_for_time_gets_it(retry_after: str, pause_ms: int) -> None:
    attempt = judge(503, b"", retry_after)
    next_ms = next_attempt_ms(
        now_ms=0, since_ms=0, attempts=1, chance=1.0, retry_hours=72, wait_ms=attempt.wait_ms
    )
    assert next_ms == pause_ms
