"""The largest that people can make it: every item stays far below DynamoDB's 400 KB, and every
transaction below its 4 MB."""

import asyncio
import itertools
import math
from dataclasses import replace

import msgspec
import pytest

from bench.units.watching import size_of
from greenroom.conversations.dynamodb.changes.sends import SENDS_AT_ONCE
from greenroom.conversations.dynamodb.items.threads import Member, StoredThread, state_item
from greenroom.conversations.markdown import render
from greenroom.conversations.model import Draft, Role, ThreadDraft, ThreadKind
from greenroom.conversations.store import ConversationStore, Send, Started
from greenroom.kernel.ids import make_id
from greenroom.kernel.limits import Limits
from greenroom.platform.dynamodb import client as dynamodb
from greenroom.platform.dynamodb.values import from_wire
from greenroom.platform.tokens.verifying import is_user_id

from .audit import differences, open_books
from .faults import Answer, FaultRig, Json, Process
from .world import START_MS, names, once, seeded_randomness

LIMITS = Limits()
MOST_ITEM_BYTES = 200_000
"""Half of what DynamoDB takes."""
MOST_ITEM_BYTES_EVER = 400 * 1024
MOST_TRANSACTION_BYTES = 4_000_000

LONGEST_ID = 64
_tags = names("")
_tails = seeded_randomness(1)


class Scales:
    """Weighs what is sent, and lets it pass."""

    def __init__(self) -> None:
        self.largest_item = 0
        self.largest_transaction = 0
        self.most_operations = 0

    async def __call__(self, send: dynamodb.Send, action: str, body: bytes) -> Answer:
        request: Json = msgspec.json.decode(body)
        if action == "TransactWriteItems":
            parts = [part for entry in request["TransactItems"] for part in entry.values()]
            sizes = [self._weigh(part) for part in parts]
            self.largest_transaction = max(self.largest_transaction, sum(sizes))
            self.most_operations = max(self.most_operations, len(sizes))
        elif action == "PutItem":
            self._weigh(request)
        return await send(action, body)

    def _weigh(self, part: Json) -> int:
        size = size_of(from_wire(part.get("Item") or part["Key"]))
        self.largest_item = max(self.largest_item, size)
        return size


def long_name() -> str:
    name = f"{'p' * LONGEST_ID}{next(_tags)}"[-LONGEST_ID:]
    assert is_user_id(name)
    assert not is_user_id(name + "p")
    return name


def long_bodies() -> list[str]:
    """Those that take most room as they are, and those whose rendering does."""
    most = LIMITS.body_characters
    units = ["😀", "<http:😀>", '<http:">', "http://😀 ", "[😀](http:😀)", "&"]
    return [(unit * math.ceil(most / len(unit)))[:most].strip() for unit in units]


def long_draft(body: str) -> Draft:
    client_id = f"{'c' * LIMITS.client_id_characters}{next(_tags)}"[-LIMITS.client_id_characters :]
    return Draft(client_id, body, render(body))


def long_send(thread_id: str, people: list[str], author: str, body: str, leaving_out: str) -> Send:
    key = f"{'k' * 255}{next(_tags)}"[-LIMITS.idempotency_key_characters :]
    hears = frozenset(people) - {leaving_out}
    return Send(thread_id, author, long_draft(body), 0, key, b"f" * 32, hears)


async def begin(store: ConversationStore, people: list[str]) -> Started:
    new = ThreadDraft(
        make_id("thr", START_MS, _tails()),
        ThreadKind.INQUIRY,
        people[0],
        dict.fromkeys(people, Role.SUPPORT),
        subject="😀" * LIMITS.subject_characters,
        role_context="😀" * LIMITS.label_characters,
        job_id="😀" * LIMITS.label_characters,
    )
    key = f"{'k' * 255}{next(_tags)}"[-LIMITS.idempotency_key_characters :]
    answer = await store.start_thread(new, long_draft(long_bodies()[0]), (), once(key))
    assert isinstance(answer, Started)
    return answer


@pytest.fixture
def scales() -> Scales:
    return Scales()


@pytest.fixture
def process(rig: FaultRig, scales: Scales) -> Process:
    opened = rig.process()
    opened.line.meet = scales
    return opened


async def test_the_longest_messages_to_the_most_people_fit(
    process: Process, scales: Scales
) -> None:
    """A full batch of them in one transaction, each to all but one of the people."""
    people = [long_name() for _ in range(LIMITS.participants)]
    thread = (await begin(process.store, people)).thread
    bodies = sorted(long_bodies(), key=lambda body: len(render(body) or ""))
    # The first few go one by one, the others wait for the last of those and go together.
    for author, body in zip(people, bodies, strict=False):
        await process.store.append(long_send(thread.id, people, author, body, people[-1]))
    sent = await asyncio.gather(
        *(
            process.store.append(
                long_send(thread.id, people, people[n], bodies[-1], leaving_out=people[n + 1])
            )
            for n in range(SENDS_AT_ONCE + 1)
        )
    )
    await process.store.mark_read(people[0], thread.id, sent[0].message.id)
    await process.rest()

    assert scales.most_operations == 2 + 3 * SENDS_AT_ONCE
    assert scales.largest_item < MOST_ITEM_BYTES
    assert scales.largest_transaction < MOST_TRANSACTION_BYTES
    books = await open_books(process.table, people)
    assert differences(books) == []


def test_a_thread_in_which_everybody_has_blocked_everybody_fits() -> None:
    people = [long_name() for _ in range(LIMITS.participants)]
    message_id = make_id("msg", START_MS, _tails())
    member = Member(
        *(Role.SUPPORT.value, "active", True, START_MS, message_id, message_id, START_MS),
        *(message_id, START_MS, message_id, START_MS, START_MS, 10**9),
    )
    thread = StoredThread(
        id=make_id("thr", START_MS, _tails()),
        ver=10**9,
        kind="inquiry",
        opened_by=people[0],
        created_at_ms=START_MS,
        updated_at_ms=START_MS,
        subject="😀" * LIMITS.subject_characters,
        members=dict.fromkeys(people, member),
        tats=dict.fromkeys(people, START_MS),
    )
    calm = size_of(state_item(thread))
    assert calm < MOST_ITEM_BYTES / 4
    worst = replace(thread, blocks=frozenset(itertools.permutations(people, 2)))
    assert size_of(state_item(worst)) < MOST_ITEM_BYTES_EVER
