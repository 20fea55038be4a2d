"""The conversation store as plain Python that anybody can check by reading: slow, small, in memory.

It shares nothing with an adapter. Each message remembers who could see it when it was written; all
that a viewer may see or has unread is counted anew from that whenever it is asked for.
"""

from dataclasses import dataclass, field

from greenroom.kernel import errors

PARTIES = ("buyer", "seller")
EDIT_WINDOW_MS = 15 * 60 * 1000


@dataclass
class Said:
    author: str | None
    body: str
    audience: frozenset[str] | None = None
    """Who was to see it, None for everyone; once said, who did."""
    code: str | None = None
    client_id: str | None = None
    sent_body: str = ""
    files: tuple[str, ...] = ()
    sent_files: tuple[str, ...] = ()
    is_edited: bool = False
    is_deleted: bool = False
    created_at_ms: int | None = None


@dataclass
class Seat:
    role: str
    is_active: bool = True
    knows: bool = False
    """Whether the thread exists for them: they opened it, were brought in, or heard something."""
    blind_until: int = 0
    read_until: int = 0
    is_archived: bool = False
    is_pinned: bool = False
    is_starred: bool = False
    muted_until_ms: int | None = None


@dataclass
class Talk:
    kind: str
    seats: dict[str, Seat]
    said: list[Said] = field(default_factory=list)
    booking: tuple[str | None, str | None] = (None, None)

    def active(self) -> list[str]:
        return [user for user, seat in self.seats.items() if seat.is_active]


Refusal = type[errors.Problem]


class Refused(Exception):  # noqa: N818 (it is no error of the model's)
    def __init__(self, because: Refusal) -> None:
        super().__init__(because.__name__)
        self.because = because


@dataclass(frozen=True)
class Place:
    thread_id: str
    seq: int


class Model:
    def __init__(self, most_participants: int) -> None:
        self.talks: dict[str, Talk] = {}
        self.blocks: set[tuple[str, str]] = set()
        self.sent: dict[tuple[str, str], Place] = {}
        self._most_participants = most_participants

    # What viewers see.

    def visible_threads(self, viewer: str) -> list[str]:
        return [thread_id for thread_id in self.talks if self.seat(viewer, thread_id) is not None]

    def visible(self, viewer: str, thread_id: str) -> list[int]:
        """The seqs of what this viewer finds in the thread."""
        seat = self.seat(viewer, thread_id)
        if seat is None:
            return []
        return [
            seq
            for seq, said in enumerate(self.talks[thread_id].said, start=1)
            if seq > seat.blind_until and viewer in (said.audience or ())
        ]

    def unread(self, viewer: str, thread_id: str) -> int:
        seat, talk = self.seat(viewer, thread_id), self.talks[thread_id]
        if seat is None:
            return 0
        seqs = [seq for seq in self.visible(viewer, thread_id) if seq > seat.read_until]
        after = [talk.said[seq - 1] for seq in seqs]
        return sum(said.author != viewer and not said.is_deleted for said in after)

    def has_files(self, viewer: str, thread_id: str) -> bool:
        said = self.talks[thread_id].said
        return any(said[seq - 1].files for seq in self.visible(viewer, thread_id))

    def seat(self, user: str, thread_id: str) -> Seat | None:
        talk = self.talks.get(thread_id)
        seat = talk.seats.get(user) if talk is not None else None
        return seat if seat is not None and seat.is_active and seat.knows else None

    def is_between(self, one: str, other: str) -> bool:
        return (one, other) in self.blocks or (other, one) in self.blocks

    # What people do. Each raises `Refused` or happens.

    def start(self, thread_id: str, kind: str, opener: str, others: list[str], said: Said) -> Place:
        assert said.client_id is not None
        before = self.sent.get((opener, said.client_id))
        if before is not None:
            first = self.talks[before.thread_id].said[before.seq - 1]
            is_seen = before.seq in self.visible(opener, before.thread_id)
            is_same = (first.sent_body, first.sent_files) == (said.body, said.files)
            if not is_same or before.seq != 1 or not is_seen:
                raise Refused(errors.IdempotencyMismatch)
            return before
        if all((opener, other) in self.blocks for other in others):
            raise Refused(errors.MsgBlockedByUser)
        seats = {opener: Seat("buyer", knows=True)}
        seats.update({other: Seat("seller") for other in others})
        self.talks[thread_id] = Talk(kind, seats)
        return self._say(thread_id, said)

    def send(self, thread_id: str, said: Said) -> tuple[Place, bool]:
        """Where it stands and whether it did before."""
        assert said.author is not None
        assert said.client_id is not None
        if self.seat(said.author, thread_id) is None:
            raise Refused(errors.ThreadNotFound)
        before = self.sent.get((said.author, said.client_id))
        if before is not None:
            first = self.talks[before.thread_id].said[before.seq - 1]
            is_same = (first.sent_body, first.sent_files) == (said.body, said.files)
            if before.thread_id != thread_id or not is_same:
                raise Refused(errors.IdempotencyMismatch)
            if before.seq not in self.visible(said.author, thread_id):
                raise Refused(errors.ThreadNotFound)
            return before, True
        others = [user for user in self.talks[thread_id].active() if user != said.author]
        if len(others) == 1 and (said.author, others[0]) in self.blocks:
            raise Refused(errors.MsgBlockedByUser)
        return self._say(thread_id, said), False

    def _say(self, thread_id: str, said: Said) -> Place:
        talk, author = self.talks[thread_id], said.author
        said.sent_body, said.sent_files = said.body, said.files
        said.audience = frozenset(
            user
            for user in talk.active()
            if (said.audience is None or user in said.audience)
            and (user == author or author is None or not self.is_between(user, author))
        )
        for user in said.audience:
            talk.seats[user].knows = True
            if user != author:
                talk.seats[user].is_archived = False
        talk.said.append(said)
        place = Place(thread_id, len(talk.said))
        if author is not None and said.client_id is not None:
            self.sent[author, said.client_id] = place
        return place

    def _announce(self, thread_id: str, code: str, by: str | None) -> None:
        self._say(thread_id, Said(by, "", code=code))

    def _own(self, author: str, place: Place) -> Said:
        if self.seat(author, place.thread_id) is None:
            raise Refused(errors.ThreadNotFound)
        if place.seq not in self.visible(author, place.thread_id):
            raise Refused(errors.NotFound)
        said = self.talks[place.thread_id].said[place.seq - 1]
        if said.author != author or said.code is not None:
            raise Refused(errors.Forbidden)
        return said

    def edit(self, author: str, place: Place, body: str, now_ms: int) -> None:
        said = self._own(author, place)
        if said.is_deleted:
            raise Refused(errors.NotFound)
        if not body and not said.files:
            raise Refused(errors.MsgEmpty)
        if said.body == body:
            return
        if said.created_at_ms is not None and now_ms - said.created_at_ms > EDIT_WINDOW_MS:
            raise Refused(errors.EditWindowClosed)
        others = [user for user in self._readers(place) if user != author]
        if any((author, other) in self.blocks for other in others):
            raise Refused(errors.MsgBlockedByUser)
        if any((other, author) in self.blocks for other in others):
            raise Refused(errors.EditWindowClosed)
        said.body, said.is_edited = body, True

    def _readers(self, place: Place) -> list[str]:
        users = self.talks[place.thread_id].active()
        return [user for user in users if place.seq in self.visible(user, place.thread_id)]

    def delete(self, author: str, place: Place) -> None:
        said = self._own(author, place)
        said.body, said.files, said.is_deleted = "", (), True

    def read(self, reader: str, place: Place) -> None:
        seat = self.seat(reader, place.thread_id)
        if seat is None:
            raise Refused(errors.ThreadNotFound)
        if place.seq not in self.visible(reader, place.thread_id):
            raise Refused(errors.NotFound)
        seat.read_until = max(seat.read_until, place.seq)

    def arrange(
        self,
        user: str,
        thread_id: str,
        archived: bool | None,
        pinned: bool | None,
        starred: bool | None,
    ) -> None:
        seat = self.seat(user, thread_id)
        if seat is None:
            raise Refused(errors.ThreadNotFound)
        seat.is_archived = seat.is_archived if archived is None else archived
        seat.is_pinned = seat.is_pinned if pinned is None else pinned
        seat.is_starred = seat.is_starred if starred is None else starred

    def mute(self, user: str, thread_id: str, until_ms: int | None) -> None:
        seat = self.seat(user, thread_id)
        if seat is None:
            raise Refused(errors.ThreadNotFound)
        seat.muted_until_ms = until_ms

    def add(self, by: str | None, thread_id: str, user: str, role: str) -> None:
        talk = self.talks[thread_id]
        if by is not None:
            seat = self.seat(by, thread_id)
            if seat is None:
                raise Refused(errors.ThreadNotFound)
            if seat.role not in PARTIES:
                raise Refused(errors.Forbidden)
            if (by, user) in self.blocks:
                raise Refused(errors.MsgBlockedByUser)
        if user in talk.active():
            return
        if len(talk.active()) >= self._most_participants:
            raise Refused(errors.ActionInvalidState)
        last = len(talk.said)
        talk.seats[user] = Seat(role, blind_until=last, read_until=last)
        talk.seats[user].knows = by is None or not self.is_between(by, user)
        self._announce(thread_id, "participant.added", by)

    def remove(self, by: str | None, thread_id: str, user: str) -> None:
        talk = self.talks[thread_id]
        actor = None if by is None else self.seat(by, thread_id)
        if by is not None and actor is None:
            raise Refused(errors.ThreadNotFound)
        if user not in talk.active():
            raise Refused(errors.UserNotFound)
        if actor is not None and by != user:
            is_allowed = actor.role in PARTIES and talk.seats[user].role not in PARTIES
            if not is_allowed:
                raise Refused(errors.Forbidden)
        talk.seats[user].is_active = False
        talk.seats[user].knows = False
        code = "participant.left" if by == user else "participant.removed"
        self._announce(thread_id, code, by)

    def promote(self, thread_id: str, booking: tuple[str | None, str | None]) -> None:
        talk = self.talks[thread_id]
        if talk.kind == "project":
            if talk.booking != booking:
                raise Refused(errors.ActionInvalidState)
            return
        talk.kind, talk.booking = "project", booking
        self._announce(thread_id, "thread.promoted", None)
