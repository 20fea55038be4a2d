"""What the application has been told so far: no input or output, no clock.

Everything here is the server's JSON; look at it, do not change it.
"""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_MESSAGE_CHANGES = ("message.edited", "message.deleted")
_SHOWN_BY_INBOX = ("state", "last_message_at", "last_sender_id")


@dataclass(slots=True)
class Known:
    """What is known of one thread. `messages` are the newest, by id, in `seq` order."""

    thread: Json | None = None
    inbox: Json | None = None
    messages: dict[str, Json] = field(default_factory=dict)
    changed: int = 0
    """The number of the last event about it."""


class State:
    """The newest messages, the threads and inbox rows of the most recently used threads."""

    def __init__(self, *, threads: int = 200, messages: int = 50) -> None:
        self._threads_limit = threads
        self._messages_limit = messages
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._typing: dict[str, set[str]] = {}
        self._online: dict[str, set[str]] = {}
        self._applied = 0

    def messages(self, thread_id: str) -> list[Json]:
        known = self._look_up(thread_id)
        return list(known.messages.values()) if known else []

    def thread(self, thread_id: str) -> Json | None:
        known = self._look_up(thread_id)
        return known.thread if known else None

    def inbox(self, thread_id: str) -> Json | None:
        """The person's own row for the thread."""
        known = self._look_up(thread_id)
        return known.inbox if known else None

    def thread_ids(self) -> list[str]:
        """The most recently used last."""
        return list(self._known)

    def typing(self, thread_id: str) -> list[str]:
        return sorted(self._typing.get(thread_id, ()))

    def online(self, thread_id: str) -> list[str]:
        return sorted(self._online.get(thread_id, ()))

    def _look_up(self, thread_id: str) -> Known | None:
        known = self._known.get(thread_id)
        if known is not None:
            self._known.move_to_end(thread_id)
        return known

    def apply(self, event: Json) -> None:
        """One event of the feed, in order. What it does not understand it leaves alone."""
        kind, thread_id = event["type"], event.get("thread_id")
        if kind == "reset":
            self.forget()
        elif kind == "typing":
            _set_member(self._typing, event["thread_id"], event["user_id"], is_in=event["on"])
        elif kind == "presence":
            _set_member(self._online, event["thread_id"], event["user_id"], is_in=event["online"])
        elif kind == "thread.changed" and event.get("thread") is None:
            self._forget_thread(event["thread_id"])
        elif thread_id is not None:
            self._apply_durable(event, thread_id)

    def _apply_durable(self, event: Json, thread_id: str) -> None:
        self._applied += 1
        known = self._open(thread_id)
        known.changed = self._applied
        if (thread := event.get("thread")) is not None:
            known.thread = thread
        if (message := event.get("message")) is not None:
            # An edit of what is not among the newest would stand there with a gap before it.
            if event["type"] not in _MESSAGE_CHANGES or message["id"] in known.messages:
                self._put(known, [message])
            _set_member(self._typing, thread_id, message["author_id"], is_in=False)
        if (card := event.get("card")) is not None:
            _show_card(known, card)
        if (inbox := event.get("inbox")) is not None:
            known.inbox = inbox
            _show_inbox(known)
        if (receipt := event.get("receipt")) is not None:
            _move_mark(known, receipt)

    def forget(self) -> None:
        self._known.clear()
        self.forget_ephemeral()

    def forget_ephemeral(self) -> None:
        """The connection that told who types and who is there has ended."""
        self._typing.clear()
        self._online.clear()

    def _forget_thread(self, thread_id: str) -> None:
        self._known.pop(thread_id, None)
        self._typing.pop(thread_id, None)
        self._online.pop(thread_id, None)

    def mark(self) -> int:
        """Take it before a load: what events change meanwhile is newer than the load's answer."""
        return self._applied

    def load_threads(self, items: Iterable[Json], mark: int) -> None:
        """Items of the inbox, in its order: the first is the most recent."""
        for item in reversed(list(items)):
            known = self._open(item["thread"]["id"])
            if known.changed <= mark:
                known.thread, known.inbox = item["thread"], item["inbox"]

    def load_messages(self, thread_id: str, messages: Iterable[Json], mark: int) -> None:
        """The newest page of a thread."""
        known = self._open(thread_id)
        has_changed = known.changed > mark
        self._put(known, [m for m in messages if not (has_changed and m["id"] in known.messages)])

    def note_sent(self, message: Json) -> None:
        """One's own message, which the feed tells of too: maybe later, maybe already, and newer."""
        known = self._open(message["thread_id"])
        if message["id"] not in known.messages:
            self._put(known, [message])

    def _open(self, thread_id: str) -> Known:
        known = self._known.setdefault(thread_id, Known())
        self._known.move_to_end(thread_id)
        while len(self._known) > self._threads_limit:
            self._known.popitem(last=False)
        return known

    def _put(self, known: Known, messages: Iterable[Json]) -> None:
        found = known.messages | {message["id"]: message for message in messages}
        in_order = sorted(found.values(), key=lambda message: int(message["seq"]))
        known.messages = {each["id"]: each for each in in_order[-self._messages_limit :]}


def _set_member(groups: dict[str, set[str]], thread_id: str, user_id: str, *, is_in: bool) -> None:
    group = groups.setdefault(thread_id, set())
    if is_in:
        group.add(user_id)
    else:
        group.discard(user_id)
    if not group:
        del groups[thread_id]


def _show_card(known: Known, card: Json) -> None:
    """A card is shown by its message; one that is not among the newest shows nowhere."""
    message = known.messages.get(card["message_id"])
    if message is not None:
        known.messages = {**known.messages, message["id"]: {**message, "card": card}}


def _show_inbox(known: Known) -> None:
    """What a thread shows of its last message comes from the viewer's own row."""
    if known.thread is not None and known.inbox is not None:
        shown = {name: known.inbox[name] for name in _SHOWN_BY_INBOX if name in known.inbox}
        known.thread = {**known.thread, **shown}


def _move_mark(known: Known, receipt: Json) -> None:
    if known.thread is None:
        return
    mark = {"message_id": receipt["message_id"], "at": receipt["at"]}
    known.thread = {
        **known.thread,
        "participants": [
            {**each, f"last_{receipt['kind']}": mark}
            if each["user_id"] == receipt["user_id"]
            else each
            for each in known.thread["participants"]
        ],
    }
