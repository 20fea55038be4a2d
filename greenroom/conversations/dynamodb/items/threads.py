"""A thread's main item: everything that a change of the thread must check.

The item says who is in the thread, how far they have read, who has blocked whom, and which number
the next message gets. Its version grows with every change, and every change is conditional on the
version: this is the lock of the thread.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from greenroom.conversations.dynamodb.items.keys import booking_partition, job_partition, thread_key
from greenroom.conversations.model import (
    BookingRef,
    InboxRow,
    Participant,
    ReadMark,
    Thread,
    ThreadKind,
)
from greenroom.conversations.people import NO_PROFILE, Profile
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.kept import reads_kept
from greenroom.platform.dynamodb.values import Item

MOST_PEOPLE_IN_A_ROW = 4
"""Threads with more members are not copied into inbox rows, because each send would write all the
copies."""


@dataclass(frozen=True, slots=True)
class Member:
    role: str
    status: str
    knows: bool
    """Whether they see the thread. False while a block hides it from them."""
    joined_ms: int
    floor: str = ""
    """They do not see messages up to this id, which were written before they joined."""
    read_id: str = ""
    read_ms: int | None = None
    shown_id: str = ""
    """The read mark that others see. It does not move while a block is between them."""
    shown_ms: int | None = None
    arrived_id: str = ""
    arrived_ms: int | None = None
    blocked_until_ms: int | None = None
    ver: int = 0
    """The last version of the thread that concerned them. Their row must reach it before it takes
    the next change."""

    @property
    def is_active(self) -> bool:
        return self.status == "active"


class StoredStanding(msgspec.Struct, frozen=True, array_like=True):
    """The `Standing` of a thread as it is stored; `waits_for` is sorted."""

    stage: str | None = None
    open_cards: int = 0
    waits_for: tuple[str, ...] = ()


NO_STANDING = StoredStanding()


@dataclass(frozen=True, slots=True)
class StoredThread:
    id: str
    ver: int
    kind: str
    opened_by: str
    created_at_ms: int
    updated_at_ms: int
    subject: str | None = None
    role_context: str | None = None
    job_id: str | None = None
    group_id: str | None = None
    leg_id: str | None = None
    city: str | None = None
    safe_mode_required: bool = False
    locked: bool = False
    request_state: str = "none"
    last_seq: int = 0
    last_message_ms: int = 0
    last_message_id: str = ""
    started_n: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    blocks: frozenset[tuple[str, str]] = frozenset()
    tats: dict[str, int] = field(default_factory=dict)
    """The send limit of recent authors: GCRA's theoretical arrival time."""
    hold_ms: int | None = None
    hold_reason: str | None = None
    pruned_seq: int = 0
    kept_from_ms: int | None = None
    rewritten_ms: int | None = None
    """When one of its messages was last edited, deleted or erased."""
    standing: StoredStanding = NO_STANDING
    bookings: tuple[BookingRef, ...] = ()
    """Bookings before the current one, oldest first."""
    external_key: str | None = None
    """The marketplace's own key of the thread."""

    def active(self) -> list[str]:
        return [user for user, member in self.members.items() if member.is_active]

    def sees(self, user: str) -> bool:
        member = self.members.get(user)
        return member is not None and member.is_active and member.knows

    def viewers(self) -> list[str]:
        return [user for user in self.members if self.sees(user)]

    def is_between(self, one: str, other: str) -> bool:
        return (one, other) in self.blocks or (other, one) in self.blocks

    def pair(self) -> tuple[str, str] | None:
        """The two members, if only two people have ever been in the thread and both still are."""
        if len(self.members) != 2 or len(self.active()) != 2:
            return None
        one, other = sorted(self.members)
        return one, other

    def with_member(self, user: str, **changes: Any) -> "StoredThread":
        members = {**self.members, user: replace(self.members[user], **changes)}
        return replace(self, members=members)


# The item. Default values are not stored.

_LABELS = {
    "subject": "subject",
    "roleContext": "role_context",
    "jobId": "job_id",
    "lbgId": "group_id",
    "legId": "leg_id",
    "city": "city",
    "holdAt": "hold_ms",
    "holdReason": "hold_reason",
    "keptFrom": "kept_from_ms",
    "rewrittenAt": "rewritten_ms",
    "externalKey": "external_key",
}
_MEMBER = {
    "f": "floor",
    "ri": "read_id",
    "ra": "read_ms",
    "si": "shown_id",
    "sa": "shown_ms",
    "di": "arrived_id",
    "da": "arrived_ms",
    "bu": "blocked_until_ms",
    "v": "ver",
}


def state_item(state: StoredThread) -> Item:
    pk, sk = thread_key(state.id)
    item: Item = {
        "pk": pk,
        "sk": sk,
        "ver": state.ver,
        "kind": state.kind,
        "openedBy": state.opened_by,
        "createdAt": state.created_at_ms,
        "updatedAt": state.updated_at_ms,
        "lastSeq": state.last_seq,
        "lastMessageAt": state.last_message_ms,
        "lastMessageId": state.last_message_id,
        "startedN": state.started_n,
        "members": {user: _member_item(member) for user, member in state.members.items()},
    }
    for name, attribute in _LABELS.items():
        value = getattr(state, attribute)
        if value is not None:
            item[name] = value
    if state.safe_mode_required:
        item["safeModeRequired"] = True
    if state.locked:
        item["locked"] = True
    if state.request_state != "none":
        item["requestState"] = state.request_state
    if state.blocks:
        item["blocks"] = sorted(f"{one} {other}" for one, other in state.blocks)
    if state.tats:
        item["tats"] = dict(state.tats)
    if state.pruned_seq:
        item["prunedSeq"] = state.pruned_seq
    item |= _standing_item(state.standing)
    if state.bookings:
        item["bookings"] = [_booking_item(each) for each in state.bookings]
    if state.kind == ThreadKind.PROJECT:
        item["gsi2pk"] = booking_partition(state.group_id, state.leg_id)
        item["gsi2sk"] = rfc3339(state.created_at_ms)
    if state.job_id is not None:
        item["gsi1pk"], item["gsi1sk"] = job_partition(state.job_id), state.id
    return item


def _booking_item(booking: BookingRef) -> Item:
    given = {"lbgId": booking.group_id, "legId": booking.leg_id}
    return {name: value for name, value in given.items() if value is not None}


def _standing_item(standing: StoredStanding) -> Item:
    given = {
        "stage": standing.stage,
        "openCards": standing.open_cards,
        "waitsFor": list(standing.waits_for),
    }
    return {name: value for name, value in given.items() if value}


def _member_item(member: Member) -> Item:
    item: Item = {"r": member.role, "s": member.status, "j": member.joined_ms}
    if member.knows:
        item["k"] = True
    for name, attribute in _MEMBER.items():
        value = getattr(member, attribute)
        if value or (value == 0 and name in ("ra", "sa", "da", "bu")):
            item[name] = value
    return item


@reads_kept
def state_from(item: Item) -> StoredThread:
    return StoredThread(
        id=item["pk"].partition("#")[2],
        ver=item["ver"],
        kind=item["kind"],
        opened_by=item["openedBy"],
        created_at_ms=item["createdAt"],
        updated_at_ms=item["updatedAt"],
        safe_mode_required=item.get("safeModeRequired", False),
        locked=item.get("locked", False),
        request_state=item.get("requestState", "none"),
        last_seq=item["lastSeq"],
        last_message_ms=item["lastMessageAt"],
        last_message_id=item["lastMessageId"],
        started_n=item["startedN"],
        members={user: _member_from(member) for user, member in item["members"].items()},
        blocks=frozenset(_pair(text) for text in item.get("blocks", ())),
        tats=item.get("tats", {}),
        pruned_seq=item.get("prunedSeq", 0),
        bookings=tuple(
            BookingRef(each.get("lbgId"), each.get("legId")) for each in item.get("bookings", ())
        ),
        standing=StoredStanding(
            item.get("stage"), item.get("openCards", 0), tuple(item.get("waitsFor", ()))
        ),
        **{attribute: item.get(name) for name, attribute in _LABELS.items()},
    )


def _member_from(item: Item) -> Member:
    given = {attribute: item[name] for name, attribute in _MEMBER.items() if name in item}
    return Member(item["r"], item["s"], item.get("k", False), item["j"], **given)


def _pair(text: str) -> tuple[str, str]:
    one, _, other = text.partition(" ")
    return one, other


# The thread as viewers see it.


class PublicMember(msgspec.Struct, frozen=True, array_like=True):
    user_id: str
    role: str
    status: str
    joined_ms: int
    read_id: str
    read_ms: int | None
    arrived_id: str
    arrived_ms: int | None


class PublicThread(msgspec.Struct, frozen=True, array_like=True):
    """What all viewers see alike. Copied into inbox rows, and stored there by position: add new
    fields at the end."""

    kind: str
    opened_by: str
    created_at_ms: int
    updated_at_ms: int
    subject: str | None
    role_context: str | None
    job_id: str | None
    group_id: str | None
    leg_id: str | None
    city: str | None
    safe_mode_required: bool
    locked: bool
    request_state: str
    started_n: int
    members: tuple[PublicMember, ...]
    bookings: tuple[BookingRef, ...] = ()


def public_thread(state: StoredThread) -> PublicThread:
    return PublicThread(
        state.kind,
        state.opened_by,
        state.created_at_ms,
        state.updated_at_ms,
        state.subject,
        state.role_context,
        state.job_id,
        state.group_id,
        state.leg_id,
        state.city,
        state.safe_mode_required,
        state.locked,
        state.request_state,
        state.started_n,
        tuple(
            PublicMember(
                *(user, member.role, member.status, member.joined_ms),
                *(member.shown_id, member.shown_ms, member.arrived_id, member.arrived_ms),
            )
            for user, member in _by_joining(state.members.items())
        ),
        state.bookings,
    )


def _by_joining(members: Iterable[tuple[str, Member]]) -> list[tuple[str, Member]]:
    return sorted(members, key=lambda each: (each[1].joined_ms, each[0]))


def row_copy(state: StoredThread) -> PublicThread | None:
    """The copy of the thread in inbox rows; None: it is too large, and the inbox reads the thread's
    own item."""
    return public_thread(state) if len(state.members) <= MOST_PEOPLE_IN_A_ROW else None


@reads_kept
def thread_for(
    thread_id: str,
    public: PublicThread,
    profiles: Mapping[str, Profile],
    *,
    viewer: str | None,
    inbox: InboxRow | None,
    floor: str = "",
    standing: StoredStanding = NO_STANDING,
    external_key: str | None = None,
) -> Thread:
    """`standing` is used without an inbox row, which has its own copy. `external_key` is for the
    backend only."""

    def mark(message_id: str, at_ms: int | None) -> ReadMark | None:
        # A mark must not name a message that was written before the viewer joined.
        return ReadMark(message_id, at_ms) if message_id > floor and at_ms is not None else None

    def participant(member: PublicMember) -> Participant:
        is_own = member.user_id == viewer
        profile = profiles.get(member.user_id, NO_PROFILE)
        return Participant(
            *(member.user_id, *profile, member.role, member.status, member.joined_ms),
            # The mark that others see stops at a block; to show it to oneself would reveal the
            # block. One's own delivery mark is not shown: the clients know what they have.
            inbox.last_read if is_own and inbox else mark(member.read_id, member.read_ms),
            None if is_own else mark(member.arrived_id, member.arrived_ms),
        )

    return Thread(
        id=thread_id,
        kind=public.kind,
        locked=public.locked,
        subject=public.subject,
        role_context=public.role_context,
        job_id=public.job_id,
        group_id=public.group_id,
        leg_id=public.leg_id,
        city=public.city,
        safe_mode_required=public.safe_mode_required,
        request_state=public.request_state,
        opened_by=public.opened_by,
        created_at_ms=public.created_at_ms,
        updated_at_ms=public.updated_at_ms,
        bookings=public.bookings,
        participants=tuple(participant(member) for member in public.members),
        inbox=inbox,
        stage=inbox.stage if inbox else standing.stage,
        open_cards=inbox.open_cards if inbox else standing.open_cards,
        external_key=external_key,
    )
