"""A client written by the API's reference: it loads once, then follows the feed alone.

It speaks the wire's shapes and knows nothing else. Only for a thread that it has never heard of,
such as one that a block had hidden, does it load again.
"""

import copy
from typing import Any

import msgspec

from greenroom.conversations.attachments import FileView
from greenroom.conversations.inbox import Folder, InboxFilter
from greenroom.conversations.model import Cursor, Event, Message, Thread
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.wire import Views

Json = dict[str, Any]


class EveryFile(dict[str, FileView]):
    """What somebody sees for whom all files are ready: whichever is asked for is there."""

    def __contains__(self, _file_id: object) -> bool:
        return True

    def __bool__(self) -> bool:
        return True

    def get(self, file_id: str, default: Any = None) -> Any:  # noqa: ARG002
        return self[file_id]

    def __missing__(self, file_id: str) -> FileView:
        return FileView(
            id=file_id,
            thread_id=None,
            owner_id="",
            state="ready",
            reason=None,
            media="image",
            name=f"{file_id}.png",
            mime="image/png",
            bytes=1,
            sha256=None,
            width=1,
            height=1,
            duration_ms=None,
            peaks=None,
            alt=None,
            band=0,
            visibility="clear",
            can_reveal=False,
            renditions=[],
            created_at="",
            expires_at=None,
        )


EVERY_FILE = EveryFile()


class Client:
    def __init__(self, store: ConversationStore, viewer: str, views: Views) -> None:
        self._store = store
        self._viewer = viewer
        self._views = views
        self.cursor: Cursor | None = None
        self.threads: dict[str, Json] = {}

    def copy(self, views: Views) -> "Client":
        other = Client(self._store, self._viewer, views)
        other.cursor = self.cursor
        other.threads = copy.deepcopy(self.threads)
        return other

    # Loading.

    async def load(self) -> None:
        """The inbox, page by page, and every message of every thread in it."""
        self.cursor = (
            await self._store.inbox(self._viewer, InboxFilter(), after=None, limit=1)
        ).sync_cursor
        self.threads = {}
        for folder in (Folder.ALL, Folder.ARCHIVED):
            for thread in await self._load_folder(folder):
                await self._load_thread(thread.id)

    async def _load_folder(self, folder: Folder) -> list[Thread]:
        items: list[Thread] = []
        asked, after = InboxFilter(folder), None
        while True:
            page = await self._store.inbox(self._viewer, asked, after=after, limit=2)
            items += page.items
            after = page.next_key
            if after is None:
                return items

    async def _load_thread(self, thread_id: str) -> None:
        found = await self._store.thread(self._viewer, thread_id)
        if found is None:
            self.threads.pop(thread_id, None)
            return
        thread = found[0]
        assert thread.inbox is not None
        messages = await self._load_messages(thread_id)
        self.threads[thread_id] = {
            "thread": msgspec.to_builtins(self._views.thread(thread)),
            "inbox": msgspec.to_builtins(self._views.inbox(thread.inbox)),
            "messages": {message["id"]: message for message in messages},
        }

    async def _load_messages(self, thread_id: str) -> list[Json]:
        before = None
        messages: list[Message] = []
        while True:
            page = await self._store.messages(
                self._viewer, thread_id, before=before, after=None, limit=3
            )
            assert page is not None
            messages = [*page.items, *messages]
            if not page.has_more:
                return [msgspec.to_builtins(self._views.message(each)) for each in messages]
            before = page.items[0].id

    # Living on the feed.

    async def follow(self, page: int = 7) -> None:
        while True:
            changes = await self._store.changes(self._viewer, self.cursor, page)
            before = -1 if self.cursor is None else self.cursor.n
            for event in changes.events:
                assert before < event.cursor.n <= changes.cursor.n
                before = event.cursor.n
                await self._apply(event)
            self.cursor = changes.cursor
            if not changes.has_more:
                return

    async def _apply(self, event: Event) -> None:
        wire: Json = msgspec.to_builtins(self._views.event(event))
        if "thread_id" not in wire:
            assert wire["type"] == "file.changed"
            return
        thread_id: str = wire["thread_id"]
        if wire["type"] == "thread.changed" and "thread" not in wire:
            self.threads.pop(thread_id, None)
            return
        if thread_id not in self.threads:
            if wire["type"] != "thread.changed":
                await self._load_thread(thread_id)
                return
            self.threads[thread_id] = {"thread": None, "inbox": None, "messages": {}}
        known = self.threads[thread_id]
        for noun in ("thread", "inbox"):
            if noun in wire:
                known[noun] = wire[noun]
        if "message" in wire:
            known["messages"][wire["message"]["id"]] = wire["message"]
        if "card" in wire:
            known["messages"][wire["card"]["message_id"]]["card"] = wire["card"]
        if "receipt" in wire:
            self._apply_receipt(known["thread"], wire["receipt"])
        if known["inbox"] is not None:
            self._apply_inbox(known["thread"], known["inbox"])

    @staticmethod
    def _apply_receipt(thread: Json, receipt: Json) -> None:
        for each in thread["participants"]:
            if each["user_id"] == receipt["user_id"]:
                mark = "last_read" if receipt["kind"] == "read" else "last_delivered"
                each[mark] = {"message_id": receipt["message_id"], "at": receipt["at"]}

    def _apply_inbox(self, thread: Json, inbox: Json) -> None:
        """What the thread shows for this viewer comes from their inbox row."""
        for name in ("state", "last_message_at", "last_sender_id"):
            thread[name] = inbox[name]
        for each in thread["participants"]:
            if each["user_id"] == self._viewer:
                each["last_read"] = inbox["last_read"]

    # Comparing.

    def shown(self) -> list[Json]:
        """Everything, in the order of the inbox: what is archived last, what is pinned first."""
        return sorted(
            (
                {**each, "messages": sorted_by_seq(each["messages"])}
                for each in self.threads.values()
            ),
            key=lambda each: (
                each["inbox"]["placement"] == "inbox",
                each["inbox"]["pinned"],
                each["inbox"]["last_message_at"] or "",
                each["thread"]["id"],
            ),
            reverse=True,
        )


def sorted_by_seq(messages: dict[str, Json]) -> list[Json]:
    return sorted(messages.values(), key=lambda message: message["seq"])
