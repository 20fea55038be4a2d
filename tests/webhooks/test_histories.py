"""Whatever fails and whenever: everything arrives, and first arrivals of a thread are in order."""

import asyncio
import random

import asyncpg

from greenroom.webhooks.actions import Changes
from tests.support import IS_FULL
from tests.webhooks.stage import Post, Stage, new_stage

HISTORIES = 200 if IS_FULL else 3
STEPS = 60 if IS_FULL else 15


async def test_every_history_ends_complete_and_in_order(
    pool: asyncpg.Pool, seed: random.Random
) -> None:
    for _ in range(HISTORIES):
        stage = await new_stage(pool, webhook_posts=seed.choice([1, 4, 16]), webhook_batch=5)
        await live(stage, seed)


async def live(stage: Stage, seed: random.Random) -> None:
    threads = [f"thr_{n}" for n in range(seed.randint(1, 5))]
    webhooks = [await stage.add(f"shop{n}") for n in range(2)]
    # Each with a share of failures, and workers that come and go.
    share = {each.url: seed.choice([0.0, 0.3, 0.8]) for each in webhooks}
    happened: list[tuple[str | None, str]] = []

    def answer(post: Post) -> int:
        return seed.choice([0, 302, 500, 503]) if seed.random() < share[post.url] else 200

    stage.receiver.answer = answer
    for _ in range(STEPS):
        for _ in range(seed.randint(0, 4)):
            thread = seed.choice([*threads, None])
            happened.append((thread, await stage.happen(thread)))
        kind = seed.random()
        if kind < 0.1:
            await stage.webhooks.rotate(seed.choice(webhooks).webhook_id)
        elif kind < 0.2:
            enabled = Changes(enabled=seed.random() < 0.5)
            await stage.webhooks.change(seed.choice(webhooks).webhook_id, enabled)
        workers = [stage.new_runner() for _ in range(seed.randint(1, 3))]
        await asyncio.gather(*(each.drain() for each in workers))
        stage.clock.advance(seconds=seed.choice([1, 30, 600, 3 * 3600]))
        if seed.random() < 0.1:
            # Failures of more than three days would end deliveries; success keeps them going.
            share = dict.fromkeys(share, 0.0)
    share = dict.fromkeys(share, 0.0)
    for each in webhooks:
        await stage.webhooks.change(each.webhook_id, Changes(enabled=True))
    await stage.advance(hours=12, step_minutes=180)
    check(stage, [each.url for each in webhooks], happened)
    assert await stage.pool.fetchval("select count(*) from webhook_lane") == 0


def check(stage: Stage, urls: list[str], happened: list[tuple[str | None, str]]) -> None:
    for url in urls:
        arrived = list(
            dict.fromkeys(each.id for each in stage.receiver.accepted if each.url == url)
        )
        assert sorted(arrived) == sorted(event_id for _, event_id in happened)
        place = {event_id: n for n, event_id in enumerate(arrived)}
        for thread in {thread for thread, _ in happened if thread is not None}:
            in_order = [place[event_id] for of, event_id in happened if of == thread]
            assert in_order == sorted(in_order)
