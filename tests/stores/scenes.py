"""People in threads, and each thing that they do, so that it can be done again and again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from greenroom.conversations.inbox import InboxChanges
from greenroom.conversations.model import AttachmentRef, Cursor, Draft, Message, Role
from greenroom.conversations.store import ConversationStore, Send
from greenroom.conversations.wire import Views

from .audit import Books, differences, open_books
from .client import Client
from .faults import FaultRig, Process
from .world import draft, names, once, say, send_of, start, thread_draft

NAMES = ("ada", "ben", "cleo", "dan")
FILE = "fil_" + "0" * 26
Told = dict[str, list[str]]
"""The types of the events in people's feeds."""

_tags = names("t")


@dataclass
class Scene:
    """Three people in a thread, two of them in another one as well, and someone who is in none."""

    rig: FaultRig
    helper: Process
    """Lifetimes on, and sees nothing wrong with its line."""
    people: tuple[str, ...]
    threads: list[str]
    key: str = ""
    said: Message | None = None
    cursor: Cursor | None = None
    places: dict[str, int] = field(default_factory=dict)
    watching: tuple[str, Client] | None = None

    @classmethod
    async def new(cls, rig: FaultRig, helper: Process) -> "Scene":
        tag = next(_tags)
        people = ada, ben, cleo, _ = tuple(f"{name}.{tag}" for name in NAMES)
        first = await start(helper.store, ada, ben, cleo)
        second = await start(helper.store, ada, ben)
        return cls(rig, helper, people, [first.thread.id, second.thread.id])

    @property
    def thread_id(self) -> str:
        return self.threads[0]

    async def set(self, operation: "Operation", watcher: str | None = None) -> None:
        """Ready for the operation, which may have been done here before."""
        self.key = next(_tags)
        await operation.prepare(self.helper.store, self)
        await self.helper.rest()
        books = await self.books()
        self.places = books.heads
        if watcher is not None:
            client = self.client(watcher)
            await client.load()
            self.watching = watcher, client

    def client(self, user: str) -> Client:
        return Client(self.helper.store, user, self.views(user))

    def views(self, user: str) -> Views:
        return Views(user, self.rig.clock.now_ms, self.rig.limits)

    async def books(self) -> Books:
        """Those of all threads that anybody here has heard of."""
        return await open_books(self.helper.table, self.people)

    def told(self, books: Books, passing: str | None = None) -> Told:
        """What feeds have got since the scene was set, without what someone said in passing."""
        return {
            name: [
                item["t"]
                for item in books.after(user, self.places[user])
                if passing is None or item.get("m") != passing
            ]
            for name, user in zip(NAMES, self.people, strict=True)
        }


# The operations, and what must be so that they change something.

Act = Callable[[ConversationStore, Scene], Awaitable[object]]


async def nothing(_store: ConversationStore, _scene: Scene) -> None: ...


async def ada_speaks(store: ConversationStore, scene: Scene) -> None:
    scene.said = await say(store, scene.thread_id, scene.people[0], "so")


async def ada_shows(store: ConversationStore, scene: Scene) -> None:
    scene.said = (await store.append(a_picture(scene, next(_tags)))).message


async def ben_has_news(store: ConversationStore, scene: Scene) -> None:
    ben = scene.people[1]
    await store.acknowledge(ben, (await store.heads([ben]))[ben])
    await ada_speaks(store, scene)
    scene.cursor = (await store.heads([ben]))[ben]


async def dan_is_out(store: ConversationStore, scene: Scene) -> None:
    if await store.thread(scene.people[3], scene.thread_id) is not None:
        await store.remove_participant(None, scene.thread_id, scene.people[3])


async def cleo_is_in(store: ConversationStore, scene: Scene) -> None:
    await store.add_participant(None, scene.thread_id, scene.people[2], Role.SELLER)


async def nothing_is_pinned(store: ConversationStore, scene: Scene) -> None:
    await store.set_inbox_row(scene.people[0], scene.thread_id, InboxChanges(pinned=False))


def send(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.append(send_of(scene.thread_id, scene.people[0], "well", client_id=scene.key))


def a_picture(scene: Scene, client_id: str) -> Send:
    shown = Draft(client_id, "", None, attachments=(AttachmentRef(FILE, "image"),))
    return Send(scene.thread_id, scene.people[0], shown, cost_ms=0)


def send_picture(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.append(a_picture(scene, scene.key))


def change_picture(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    assert scene.said is not None
    return store.tell_file_changed(scene.thread_id, FILE, scene.people[0], scene.said.id)


def change_own_picture(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.tell_file_changed(None, FILE, scene.people[0], None)


def whisper(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    ada, _, cleo, _ = scene.people
    hears = frozenset({ada, cleo})
    new = Send(scene.thread_id, ada, draft("psst", scene.key), 0, scene.key, b"f", hears)
    return store.append(new)


def start_thread(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    new = thread_draft(*scene.people)
    return store.start_thread(new, draft("hi", scene.key), (), once(scene.key, to="start"))


def start_pair(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    _, _, cleo, dan = scene.people
    new = thread_draft(cleo, dan)
    return store.start_pair(new, Send(new.id, cleo, draft("hi", scene.key), cost_ms=0), ())


def mark_read(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    assert scene.said is not None
    key = once(scene.key, to="read")
    return store.mark_read(scene.people[1], scene.thread_id, scene.said.id, key)


def edit(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    assert scene.said is not None
    return store.edit_message(scene.people[0], scene.thread_id, scene.said.id, "sew", "<b>sew</b>")


def delete(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    assert scene.said is not None
    return store.delete_message(scene.people[0], scene.thread_id, scene.said.id)


def delete_picture(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return delete(store, scene)


def add(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    ada, _, _, dan = scene.people
    return store.add_participant(ada, scene.thread_id, dan, Role.HOST)


def add_to_two(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    _, ben, cleo, _ = scene.people
    return store.add_participant(ben, scene.threads[1], cleo, Role.HOST)


async def remove(store: ConversationStore, scene: Scene) -> None:
    if await store.thread(scene.people[2], scene.thread_id) is not None:
        await store.remove_participant(None, scene.thread_id, scene.people[2])


def promote(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.promote(scene.thread_id, group_id=None, leg_id="leg_1")


def pin(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.set_inbox_row(scene.people[0], scene.thread_id, InboxChanges(pinned=True))


def acknowledge(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    assert scene.cursor is not None
    return store.acknowledge(scene.people[1], scene.cursor)


def block(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.block(scene.people[1], scene.people[0], once(scene.key, to="block"))


def unblock(store: ConversationStore, scene: Scene) -> Awaitable[object]:
    return store.unblock(scene.people[1], scene.people[0])


@dataclass(frozen=True)
class Operation:
    do: Act
    prepare: Act = nothing
    is_in_thread: bool = True
    """Whoever comes to the scene's first thread comes upon it."""
    is_only_once: bool = False
    """In one scene."""

    @property
    def name(self) -> str:
        return self.do.__name__


OPERATIONS = [
    Operation(send),
    Operation(whisper),
    Operation(start_thread, is_in_thread=False, is_only_once=True),
    Operation(start_pair, is_in_thread=False, is_only_once=True),
    Operation(mark_read, ada_speaks),
    Operation(edit, ada_speaks),
    Operation(delete, ada_speaks),
    Operation(send_picture),
    Operation(delete_picture, ada_shows),
    Operation(add, dan_is_out),
    Operation(add_to_two, is_in_thread=False, is_only_once=True),
    Operation(remove, cleo_is_in),
    Operation(promote, is_only_once=True),
    Operation(pin, nothing_is_pinned),
    Operation(acknowledge, ben_has_news),
    Operation(block, unblock, is_in_thread=False),
    Operation(unblock, block, is_in_thread=False),
]


TELLING = [Operation(change_picture, ada_shows), Operation(change_own_picture, is_in_thread=False)]
"""A repeat tells once more."""


async def undisturbed(rig: FaultRig, helper: Process, operation: Operation) -> tuple[int, Told]:
    """How many writes it takes, and what it tells whom."""
    scene = await Scene.new(rig, helper)
    await scene.set(operation)
    process = rig.process()
    await operation.do(process.store, scene)
    await process.rest()
    books = await scene.books()
    assert differences(books) == []
    return process.line.writes, scene.told(books)
