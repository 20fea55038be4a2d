"""Computes from its messages what a thread and its inbox rows should contain."""

from dataclasses import dataclass, replace

from greenroom.conversations.dynamodb.items.keys import message_sort
from greenroom.conversations.dynamodb.items.rows import Packed, Recounted, is_visible, message_from
from greenroom.conversations.dynamodb.items.threads import StoredThread
from greenroom.conversations.dynamodb.reads.paging import id_of
from greenroom.conversations.previews import as_last_message
from greenroom.conversations.upkeep import Fault
from greenroom.kernel.ids import id_time_ms
from greenroom.platform.dynamodb.values import Item

FAULTS_AT_ONCE = 1000


@dataclass(slots=True)
class Tally:
    """One person's counts over the messages so far."""

    unread: int = 0
    file_messages: int = 0
    last: Item | None = None


class Recount:
    """Takes a thread's messages one by one, in the order of their keys. Keeps only the last."""

    def __init__(self, state: StoredThread) -> None:
        self.state = state
        self.faults: list[Fault] = []
        self._before: Item | None = None
        self._newest: Item | None = None
        self._tallies = {user: Tally() for user in state.active()}

    def add(self, item: Item) -> None:
        if message_sort(id_of(item)) is None:
            self._report("created_at_id", item["sk"], "an id with a time")
            return
        self._check_place(item)
        self._before, self._newest = item, _newer(self._newest, item)
        is_live = "deletedAt" not in item
        for user, tally in self._tallies.items():
            member = self.state.members[user]
            if not is_visible(item, user, member.floor):
                continue
            tally.last = _newer(tally.last, item)
            is_new = id_of(item) > member.read_id and item.get("authorUserId") != user
            tally.unread += is_live and is_new
            tally.file_messages += is_live and "files" in item

    def _check_place(self, item: Item) -> None:
        """Number and time must follow the message before; the time must be the one in the id."""
        before, message_id = self._before, id_of(item)
        right_seq = (self.state.pruned_seq if before is None else before["seq"]) + 1
        if item["seq"] != right_seq:
            self._report("seq", f"{message_id} {item['seq']}", str(right_seq))
        if item["sk"] != message_sort(message_id):
            self._report("created_at_id", item["sk"], "the time in the id")
        if before is not None and _time(item) <= _time(before):
            self._report("created_at_order", message_id, f"after {id_of(before)}")

    def _report(self, kind: str, found: str, right: str) -> None:
        if len(self.faults) < FAULTS_AT_ONCE:
            self.faults.append(Fault(kind, self.state.id, None, found, right))

    def sees_any(self, user: str) -> bool:
        return user in self._tallies and self._tallies[user].last is not None

    def corrected(self) -> StoredThread:
        """The thread with the counters of its last message. Without messages it keeps its time."""
        if self._newest is None:
            return replace(self.state, last_seq=self.state.pruned_seq)
        return replace(
            self.state,
            last_seq=self._newest["seq"],
            last_message_ms=_time(self._newest),
            last_message_id=id_of(self._newest),
        )

    def row(self, user: str, packed: Packed) -> Recounted:
        """If the viewer sees no message, there is no last one and the last activity stays."""
        tally = self._tallies[user]
        if tally.last is None:
            return Recounted(0, packed.activity_ms, awaits_reply=False, last=None)
        last = as_last_message(message_from(tally.last))
        awaits_reply = last.kind != "system" and last.author_id != user
        return Recounted(tally.unread, last.created_at_ms, awaits_reply, last, tally.file_messages)


def _newer(before: Item | None, item: Item) -> Item:
    """Compared by id, because the sort keys may be what is wrong."""
    return item if before is None or id_of(item) > id_of(before) else before


def _time(item: Item) -> int:
    return id_time_ms(id_of(item))
