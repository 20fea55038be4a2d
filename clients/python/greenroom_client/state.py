"""What the application has been told so far: no input or output, no clock.

Everything here is the server's JSON; look at it, do not change it.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

_MESSAGE_CHANGES = ("message.edited", "message.deleted")
_EPHEMERAL = ("typing", "presence")
_SMALLEST = ("thumb", "poster", "blurred")
_SHOWN_BY_INBOX = ("state", "last_message_at", "last_sender_id")


@dataclass(slots=True)
class Known:
    """What is known of one thread. `messages` are the newest, by id, in `seq` order."""

    thread: Json | None = None
    inbox: Json | None = None
    messages: dict[str, Json] = field(default_factory=dict)


@dataclass(slots=True)
class Mark:
    """The moment at which something is asked for: what is told from then on is newer than it."""

    events: list[Json] = field(default_factory=list)

    def since(self, thread_id: str) -> list[Json] | None:
        """What was told of a thread, or None if it was left or everything was forgotten."""
        told = [each for each in self.events if each.get("thread_id") in (thread_id, None)]
        return None if any(_is_end(each) for each in told) else told


class State:
    """The newest messages, the threads and inbox rows of the most recently used threads."""

    def __init__(self, *, threads: int = 200, messages: int = 50) -> None:
        self._threads_limit = threads
        self._messages_limit = messages
        self._known: OrderedDict[str, Known] = OrderedDict()
        self._typing: dict[str, set[str]] = {}
        self._online: dict[str, set[str]] = {}
        self._marks: list[Mark] = []

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
        for mark in self._marks:
            mark.events.append(event)
        if kind == "reset":
            self.forget()
        elif kind == "typing":
            _set_member(self._typing, event["thread_id"], event["user_id"], is_in=event["on"])
        elif kind == "presence":
            _set_member(self._online, event["thread_id"], event["user_id"], is_in=event["online"])
        elif _is_end(event):
            self._forget_thread(event["thread_id"])
        elif thread_id is not None:
            self._apply_durable(event, thread_id)
            if (message := event.get("message")) is not None:
                _set_member(self._typing, thread_id, message["author_id"], is_in=False)

    def _apply_durable(self, event: Json, thread_id: str) -> None:
        known = self._open(thread_id)
        if (thread := event.get("thread")) is not None:
            known.thread = thread
        # An edit of what is not among the newest would stand there with a gap before it.
        if (message := event.get("message")) is not None and (
            event["type"] not in _MESSAGE_CHANGES or message["id"] in known.messages
        ):
            self._put(known, [message])
        if (card := event.get("card")) is not None:
            _show_card(known, card)
        if (file := event.get("file")) is not None:
            _show_file(known, event.get("message_id"), file)
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

    @contextlib.contextmanager
    def mark(self) -> Iterator[Mark]:
        """Around a request: what events tell meanwhile is newer than its answer."""
        mark = Mark()
        self._marks.append(mark)
        try:
            yield mark
        finally:
            self._marks.remove(mark)

    def load_threads(self, items: Iterable[Json], mark: Mark) -> None:
        """Items of the inbox, in its order: the first is the most recent."""
        for item in reversed(list(items)):
            thread_id = item["thread"]["id"]
            if (told := mark.since(thread_id)) is not None:
                known = self._open(thread_id)
                known.thread, known.inbox = item["thread"], item["inbox"]
                self._apply_again(told, thread_id)

    def load_messages(self, thread_id: str, messages: Iterable[Json], mark: Mark) -> None:
        """The newest page of a thread."""
        if (told := mark.since(thread_id)) is not None:
            self._put(self._open(thread_id), messages)
            self._apply_again(told, thread_id)

    def _apply_again(self, told: Iterable[Json], thread_id: str) -> None:
        for event in told:
            if event["type"] not in _EPHEMERAL and event.get("thread_id") == thread_id:
                self._apply_durable(event, thread_id)

    def note_sent(self, message: Json, mark: Mark) -> None:
        """One's own message, which the feed tells of too: maybe later, maybe already, and newer.

        A send that was made again may be answered with a message of long ago, and what came after
        that one need not be here: only what follows the newest is added.
        """
        thread_id = message["thread_id"]
        if mark.since(thread_id) is None:
            return
        known = self._open(thread_id)
        if all(int(each["seq"]) < int(message["seq"]) for each in known.messages.values()):
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


def _is_end(event: Json) -> bool:
    """Nothing of before it is worth anything: of the thread, or of all."""
    is_left = event["type"] == "thread.changed" and event.get("thread") is None
    return is_left or event["type"] == "reset"


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


def _show_file(known: Known, message_id: str | None, file: Json) -> None:
    """A file is shown by the message or the card that has it."""
    message = known.messages.get(message_id or "")
    if message is None:
        return
    card = message.get("card")
    if card is not None and card.get("files"):
        card = {
            **card,
            "files": [file if each["id"] == file["id"] else each for each in card["files"]],
        }
    attachments = [
        _attachment(each, file) if each["file_id"] == file["id"] else each
        for each in message["attachments"]
    ]
    shown = {**message, "card": card, "attachments": attachments}
    known.messages = {**known.messages, message["id"]: shown}


def _attachment(before: Json, file: Json) -> Json:
    """The attachment with what the file says now. `thumb` is its smallest form."""
    same = {name: file[name] for name in before if name in file and name != "kind"}
    small = (
        each["url"] for kind in _SMALLEST for each in file["renditions"] if each["kind"] == kind
    )
    return {**before, **same, "thumb": next(small, None), "file": file}


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
