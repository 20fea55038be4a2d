"""Whatever people do, in whatever order and whatever the clock says: counts are exact, threads have
no holes, and a client that follows the feed sees what one that loads anew sees.

Hypothesis makes up the histories, a model in plain Python says what must hold after each step. A
failure prints the steps and a blob that replays them.
"""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from greenroom.conversations.inbox import Folder, InboxChanges, InboxFilter
from greenroom.conversations.model import AttachmentRef, Cursor, Message, Role, ThreadKind
from greenroom.conversations.store import Send, Sent, Started
from greenroom.conversations.wire import Views
from greenroom.kernel.ids import id_time_ms
from greenroom.kernel.limits import Limits

from .client import EVERY_FILE, Client
from .model import EDIT_WINDOW_MS, Model, Place, Refused, Said
from .world import IS_FULL, OpenStore, WildClock, draft, names, seeded_randomness, thread_draft

LIMITS = Limits(participants=4)
PEOPLE = 5
MOST_THREADS = 4
MOST_STASHED = 8
EXAMPLES = {"postgres": 10, "dynamodb": 4}
NOBODY = "msg_000000000000" + "0" * 14

people = st.integers(0, PEOPLE - 1)
mostly_members = st.integers(0, 5 * PEOPLE - 1)
picks = st.integers(0, 40)
bodies = st.sampled_from(["hello", "how much?", "**yes**", "on Monday", "late"])
roles = st.sampled_from([Role.BUYER, Role.SELLER, Role.HOST, Role.SUPPORT])
jumps = st.sampled_from([-86_400_000, -3_600_000, -60_000, -1, 1, 60_000, 400_000, 3_600_000])
client_ids = st.integers(0, 6)
file_counts = st.sampled_from([0, 0, 0, 1, 2])
audiences = st.none() | st.none() | st.sets(people, max_size=2)
maybe = st.none() | st.booleans()
rarely = st.integers(0, 9).map(lambda number: number == 0)


class History(RuleBasedStateMachine):
    loop: ClassVar[asyncio.AbstractEventLoop]
    open_store: ClassVar[OpenStore]
    numbers: ClassVar[Iterator[int]] = itertools.count(1)

    def __init__(self) -> None:
        super().__init__()
        self.clock = WildClock()
        self.model = Model(LIMITS.participants)
        self.ids: dict[Place, tuple[str, int]] = {}
        self.stashed: list[tuple[str, Client]] = []
        self.online: dict[str, Client] = {}
        fresh = names("u")
        self.people = [next(fresh) for _ in range(PEOPLE)]
        randomness = seeded_randomness(next(self.numbers))
        self.woken: set[str] = set()
        self.heads: dict[str, Cursor] = {}
        self.opening = type(self).open_store(
            clock=self.clock, randomness=randomness, limits=LIMITS, wake=self.woken.update
        )
        self.store = self.run(self.opening.__aenter__())
        self.touched: set[str] = set()

    def run(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        try:
            for viewer in self.people:
                self.replay(viewer, None)
                self.replay(viewer, self.online.get(viewer))
            for viewer, client in self.stashed:
                self.replay(viewer, client)
        finally:
            self.run(self.opening.__aexit__(None, None, None))

    # Picking.

    def who(self, number: int) -> str:
        return self.people[number % PEOPLE]

    def member(self, thread_id: str, number: int) -> str:
        """Mostly someone of the thread; what strangers do is soon told."""
        seated = self.model.talks[thread_id].active()
        return seated[number % len(seated)] if seated and number < 4 * PEOPLE else self.who(number)

    def thread(self, pick: int) -> str:
        return list(self.model.talks)[pick % len(self.model.talks)]

    def place(self, thread_id: str, pick: int) -> Place:
        """Mostly one of the last few."""
        count = len(self.model.talks[thread_id].said)
        return Place(thread_id, count - pick % min(count, 5) if pick < 32 else 1 + pick % count)

    def author(self, place: Place, number: int) -> str:
        """Mostly the author, who alone may."""
        author = self.model.talks[place.thread_id].said[place.seq - 1].author
        return author if author and number < 4 * PEOPLE else self.who(number)

    def id_of(self, place: Place) -> str:
        """A message that nobody could ever see has an id that nobody can name."""
        return self.ids[place][0] if place in self.ids else NOBODY

    # Doing: in the model, then in the store, with the same outcome.

    def both(self, model: Callable[[], Any], store: Callable[[], Awaitable[Any]]) -> Any:
        """What the two made of it, or None if both refused for the same reason."""
        expected, refusal = None, None
        try:
            expected = model()
        except Refused as refused:
            refusal = refused.because
        if refusal is None:
            return expected, self.run(store())
        with pytest.raises(refusal) as raised:
            self.run(store())
        assert type(raised.value) is refusal
        return None

    @initialize(kind=st.sampled_from([ThreadKind.INQUIRY, ThreadKind.INVITE]))
    def two_people_talk(self, kind: ThreadKind) -> None:
        self.begin(kind, 0, [1], "hello", 0)

    @precondition(lambda self: len(self.model.talks) < MOST_THREADS)
    @rule(opener=people, others=st.sets(people, min_size=1, max_size=3), body=bodies, n=client_ids)
    def start(self, opener: int, others: set[int], body: str, n: int) -> None:
        self.begin(ThreadKind.INQUIRY, opener, sorted(others - {opener}), body, n)

    def begin(self, kind: ThreadKind, opener: int, others: list[int], body: str, n: int) -> None:
        if not others:
            return
        to = [self.who(each) for each in others]
        first = draft(body, f"{self.who(opener)}-{n}")
        new = thread_draft(self.who(opener), *to, kind=kind)
        said = Said(self.who(opener), body, client_id=first.client_id)
        self.touched = {new.id}
        done = self.both(
            lambda: self.model.start(new.id, kind, self.who(opener), to, said),
            lambda: self.store.start_thread(new, first, ()),
        )
        if done is not None:
            place, started = done
            assert isinstance(started, Started)
            assert started.is_new == (place.thread_id == new.id)
            assert started.thread.id == place.thread_id
            self.note(place.thread_id, started.message)

    @rule(
        author=mostly_members,
        thread=picks,
        body=bodies,
        n=client_ids,
        again=rarely,
        to=audiences,
        count=file_counts,
    )
    def send(
        self,
        author: int,
        thread: int,
        body: str,
        n: int,
        again: bool,
        to: set[int] | None,
        count: int,
    ) -> None:
        """Under a client_id of its own, or under one that may have been used before."""
        thread_id = self.thread(thread)
        user = self.member(thread_id, author)
        client_id = f"{user}-{n if again else next(self.numbers) + 100}"
        audience = None if to is None else frozenset({user, *map(self.who, to)})
        files = tuple(f"fil_{number:026d}" for number in range(count))
        said = Said(user, body, audience, client_id=client_id, files=files)
        refs = tuple(AttachmentRef(each, "image") for each in files)
        what = replace(draft(body, client_id), attachments=refs)
        new = Send(thread_id, user, what, cost_ms=0, visible_to=audience)
        self.touched = {thread_id}
        done = self.both(
            lambda: self.model.send(thread_id, said),
            lambda: self.store.append(new),
        )
        if done is not None:
            (place, is_repeat), sent = done
            assert isinstance(sent, Sent)
            assert (sent.is_repeat, sent.message.seq) == (is_repeat, place.seq)
            self.note(thread_id, sent.message)

    @rule(user=mostly_members, thread=picks, archived=maybe, pinned=maybe, starred=maybe)
    def arrange(
        self,
        user: int,
        thread: int,
        archived: bool | None,
        pinned: bool | None,
        starred: bool | None,
    ) -> None:
        thread_id = self.thread(thread)
        who = self.member(thread_id, user)
        changes = InboxChanges(archived=archived, pinned=pinned, starred=starred)
        self.touched = {thread_id}
        self.both(
            lambda: self.model.arrange(who, thread_id, archived, pinned, starred),
            lambda: self.store.set_inbox_row(who, thread_id, changes),
        )

    @rule(user=mostly_members, thread=picks, until_ms=st.none() | st.integers(0, 10**13))
    def mute(self, user: int, thread: int, until_ms: int | None) -> None:
        thread_id = self.thread(thread)
        who = self.member(thread_id, user)
        changes = InboxChanges(sets_muted=True, muted_until_ms=until_ms)
        self.touched = {thread_id}
        self.both(
            lambda: self.model.mute(who, thread_id, until_ms),
            lambda: self.store.set_inbox_row(who, thread_id, changes),
        )

    @rule(thread=picks, message=picks)
    def change_file(self, thread: int, message: int) -> None:
        """The files of a message, if it has any, have been processed. No count changes."""
        thread_id = self.thread(thread)
        place = self.place(thread_id, message)
        said = self.model.talks[thread_id].said[place.seq - 1]
        self.touched = {thread_id}
        for file_id in said.files:
            self.run(
                self.store.tell_file_changed(
                    thread_id, file_id, said.author or "", self.id_of(place)
                )
            )

    @rule(user=people)
    def change_own_file(self, user: int) -> None:
        """One that no message has yet."""
        self.touched = set()
        self.run(self.store.tell_file_changed(None, "fil_own", self.who(user), None))

    @rule(author=mostly_members, thread=picks, message=picks, body=bodies | st.just(""))
    def edit(self, author: int, thread: int, message: int, body: str) -> None:
        thread_id = self.thread(thread)
        place = self.place(thread_id, message)
        user = self.author(place, author)
        said = self.model.talks[thread_id].said[place.seq - 1]
        now_ms = self.clock.now_ms
        if abs(now_ms - (said.created_at_ms or 0) - EDIT_WINDOW_MS) < 1000:
            return
        self.touched = {thread_id}
        self.both(
            lambda: self.model.edit(user, place, body, now_ms),
            lambda: self.store.edit_message(user, thread_id, self.id_of(place), body, None),
        )

    @rule(author=mostly_members, thread=picks, message=picks)
    def delete(self, author: int, thread: int, message: int) -> None:
        thread_id = self.thread(thread)
        place = self.place(thread_id, message)
        user = self.author(place, author)
        self.touched = {thread_id}
        self.both(
            lambda: self.model.delete(user, place),
            lambda: self.store.delete_message(user, thread_id, self.id_of(place)),
        )

    @rule(reader=mostly_members, thread=picks, message=picks)
    def read(self, reader: int, thread: int, message: int) -> None:
        thread_id = self.thread(thread)
        user = self.member(thread_id, reader)
        seen = self.model.visible(user, thread_id)
        place = self.place(thread_id, message)
        if seen and message < 36:
            place = Place(thread_id, seen[message % len(seen)])
        self.touched = {thread_id}
        self.both(
            lambda: self.model.read(user, place),
            lambda: self.store.mark_read(user, thread_id, self.id_of(place)),
        )

    @rule(user=people, back=st.sampled_from([-3, 0, 0, 0, 1, 2, 5]), is_foreign=rarely)
    def acknowledge(self, user: int, back: int, is_foreign: bool) -> None:
        """Up to the head, a bit less, ahead of it, or a place in another feed altogether."""
        viewer = self.who(user)
        head = self.heads.get(viewer)
        if head is not None:
            self.touched = set()
            up_to = Cursor("elsewhere" if is_foreign else head.epoch, max(0, head.n - back))
            self.run(self.store.acknowledge(viewer, up_to))

    @rule(by=st.none() | mostly_members, thread=picks, user=people, role=roles)
    def add(self, by: int | None, thread: int, user: int, role: Role) -> None:
        thread_id, whom = self.thread(thread), self.who(user)
        actor = None if by is None else self.member(thread_id, by)
        self.bring_in(actor, thread_id, whom, role)

    def bring_in(self, by: str | None, thread_id: str, user: str, role: Role) -> None:
        self.touched = {thread_id}
        self.both(
            lambda: self.model.add(by, thread_id, user, role),
            lambda: self.store.add_participant(by, thread_id, user, role),
        )

    @rule(by=st.none() | mostly_members, thread=picks, user=mostly_members)
    def remove(self, by: int | None, thread: int, user: int) -> None:
        thread_id = self.thread(thread)
        actor = None if by is None else self.member(thread_id, by)
        self.take_out(actor, thread_id, self.member(thread_id, user))

    @rule(thread=picks, user=mostly_members)
    def leave(self, thread: int, user: int) -> None:
        user_id = self.member(self.thread(thread), user)
        self.take_out(user_id, self.thread(thread), user_id)

    @rule(thread=picks, user=people, role=roles)
    def come_back(self, thread: int, user: int, role: Role) -> None:
        """Whoever was in the thread once."""
        seats = self.model.talks[self.thread(thread)].seats
        gone = sorted(each for each, seat in seats.items() if not seat.is_active)
        if gone:
            self.bring_in(None, self.thread(thread), gone[user % len(gone)], role)

    def take_out(self, by: str | None, thread_id: str, user: str) -> None:
        self.touched = {thread_id}
        self.both(
            lambda: self.model.remove(by, thread_id, user),
            lambda: self.store.remove_participant(by, thread_id, user),
        )

    @rule(thread=picks, leg=st.sampled_from(["leg_1", "leg_1", "leg_2"]))
    def promote(self, thread: int, leg: str) -> None:
        thread_id = self.thread(thread)
        self.touched = {thread_id}
        self.both(
            lambda: self.model.promote(thread_id, (None, leg)),
            lambda: self.store.promote(thread_id, group_id=None, leg_id=leg),
        )

    @rule(thread=picks, one=mostly_members, other=mostly_members)
    def block(self, thread: int, one: int, other: int) -> None:
        blocker, blocked = (self.member(self.thread(thread), each) for each in (one, other))
        if blocker != blocked:
            self.touched = set(self.model.talks)
            self.model.blocks.add((blocker, blocked))
            self.run(self.store.block(blocker, blocked))

    @precondition(lambda self: self.model.blocks)
    @rule(pick=picks)
    def unblock(self, pick: int) -> None:
        one, other = sorted(self.model.blocks)[pick % len(self.model.blocks)]
        self.touched = set(self.model.talks)
        self.model.blocks.discard((one, other))
        self.run(self.store.unblock(one, other))

    @rule(by_ms=jumps)
    def jump(self, by_ms: int) -> None:
        self.touched = set()
        self.clock.jump(by_ms)

    @rule(user=people)
    def catch_up(self, user: int) -> None:
        """A client that was there from the start and looks at the feed now and then."""
        self.touched = set()
        viewer = self.who(user)
        self.online[viewer] = self.replay(viewer, self.online.get(viewer))

    @precondition(lambda self: len(self.stashed) < MOST_STASHED)
    @rule(user=people)
    def go_offline(self, user: int) -> None:
        """A client that loads now, and will come back to the feed at the end."""
        self.touched = set()
        self.stashed.append((self.who(user), self.loaded(self.who(user))))

    # What must hold.

    @invariant()
    def whoever_has_news_was_woken(self) -> None:
        heads = self.run(self.store.heads(self.people))
        before = {user: self.heads[user].n if user in self.heads else 0 for user in heads}
        assert {user for user, head in heads.items() if head.n > before[user]} <= self.woken
        self.heads = heads
        self.woken.clear()

    @invariant()
    def everybody_sees_what_the_model_says(self) -> None:
        self.run(self.check_all())
        self.touched = set()

    async def check_all(self) -> None:
        await asyncio.gather(*(self.check_viewer(viewer) for viewer in self.people))

    async def check_viewer(self, viewer: str) -> None:
        threads = self.model.visible_threads(viewer)
        seats = {each: self.model.talks[each].seats[viewer] for each in threads}
        for folder, is_archived in ((Folder.ALL, False), (Folder.ARCHIVED, True)):
            page = await self.store.inbox(viewer, InboxFilter(folder), after=None, limit=100)
            rows = {thread.id: thread.inbox for thread in page.items}
            found = {each: row and row.unread_count for each, row in rows.items()}
            here = [each for each in threads if seats[each].is_archived is is_archived]
            expected = {each: self.model.unread(viewer, each) for each in here}
            assert found == expected
            muted = {each: row and row.muted_until_ms for each, row in rows.items()}
            assert muted == {each: seats[each].muted_until_ms for each in here}
            assert page.counts[folder] == sum(count > 0 for count in expected.values())
            assert [row and row.pinned for row in rows.values()] == sorted(
                (seats[each].is_pinned for each in here), reverse=True
            )
            shown = InboxFilter(folder, has_files=True)
            page = await self.store.inbox(viewer, shown, after=None, limit=100)
            assert {thread.id for thread in page.items} == {
                each for each in here if self.model.has_files(viewer, each)
            }
            starred = InboxFilter(folder, starred=True)
            page = await self.store.inbox(viewer, starred, after=None, limit=100)
            assert {thread.id for thread in page.items} == {
                each for each in here if seats[each].is_starred
            }
        for thread_id in sorted(self.touched):
            await self.check_thread(viewer, thread_id)

    async def check_thread(self, viewer: str, thread_id: str) -> None:
        page = await self.store.messages(viewer, thread_id, before=None, after=None, limit=1000)
        if self.model.seat(viewer, thread_id) is None:
            assert page is None
            return
        assert page is not None
        seqs = self.model.visible(viewer, thread_id)
        assert [message.seq for message in page.items] == seqs
        for message in page.items:
            self.note(thread_id, message)
            said = self.model.talks[thread_id].said[message.seq - 1]
            assert (message.author_id, message.body) == (said.author, said.body)
            assert (message.system or {}).get("code") == said.code
            assert tuple(each.file_id for each in message.attachments) == said.files
            assert (message.edited_at_ms is not None) == said.is_edited
            assert (message.deleted_at_ms is not None) == said.is_deleted

    def note(self, thread_id: str, message: Message) -> None:
        """A message keeps its id and time for good, and both grow with its seq."""
        place, known = Place(thread_id, message.seq), (message.id, message.created_at_ms)
        assert self.ids.setdefault(place, known) == known
        assert id_time_ms(message.id) == message.created_at_ms
        self.model.talks[thread_id].said[message.seq - 1].created_at_ms = message.created_at_ms
        here = sorted((p.seq, at) for p, (_, at) in self.ids.items() if p.thread_id == thread_id)
        assert all(before[1] < after[1] for before, after in itertools.pairwise(here))

    def loaded(self, viewer: str) -> Client:
        client = Client(self.store, viewer, self.views(viewer))
        self.run(client.load())
        assert list(client.threads) == [each["thread"]["id"] for each in client.shown()]
        return client

    def views(self, viewer: str) -> Views:
        return Views(viewer, self.clock.now_ms, LIMITS, files=EVERY_FILE)

    def replay(self, viewer: str, earlier: Client | None) -> Client:
        """From nothing, or from where a client stood, onto what is there now."""
        fresh = self.loaded(viewer)
        views = self.views(viewer)
        client = Client(self.store, viewer, views) if earlier is None else earlier.copy(views)
        self.run(client.follow())
        assert client.shown() == fresh.shown()
        assert client.cursor == fresh.cursor
        return client


def test_any_history(open_store: OpenStore, conversations: str) -> None:
    loop = asyncio.new_event_loop()
    machine = type("AnyHistory", (History,), {"loop": loop, "open_store": staticmethod(open_store)})
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=600 if IS_FULL else EXAMPLES[conversations],
                stateful_step_count=60 if IS_FULL else 40,
                deadline=None,
                # Making a failed history shorter takes minutes: only where there are minutes.
                phases=list(Phase) if IS_FULL else [Phase.reuse, Phase.generate],
                print_blob=True,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        loop.close()
