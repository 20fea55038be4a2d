"""The lines of an import: their fields, and what they become. Pure."""

import hashlib
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from greenroom.conversations import markdown
from greenroom.conversations.backend_store import MarketplaceNotice
from greenroom.conversations.history_store import PastMark, PastMessage, PastThread
from greenroom.conversations.model import (
    Role,
    ThreadDraft,
    ThreadKind,
    normalise_body,
    normalise_label,
)
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import Problem
from greenroom.kernel.ids import RANDOM_BITS, encode_random, make_id
from greenroom.kernel.limits import Limits

RoleName = Literal["buyer", "seller", "host", "support", "admin"]
UserId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.:-]{1,64}$")]
IMPORTED = "imported"
"""The code of a notice whose line gives none."""


class Refused(Exception):  # noqa: N818 (an answer that callers expect)
    """A line cannot be imported; the message says why."""


class PersonLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="person"):
    id: UserId
    display_name: str = ""
    avatar_url: str | None = None
    roles: list[str] = []
    timezone: str | None = None
    locale: str | None = None
    verified: bool = False


class NamedParticipant(Struct, frozen=True, forbid_unknown_fields=True):
    user: UserId
    role: RoleName


class ThreadLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="thread"):
    """The first participant counts as the one who opened it."""

    id: str
    created_at: str
    participants: list[NamedParticipant]
    kind: Literal["inquiry", "invite", "support", "system"] = "inquiry"
    subject: str | None = None
    role_context: str | None = None
    job_id: str | None = None
    city: str | None = None


class ParticipantLine(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="participant"
):
    thread: str
    user: UserId
    role: RoleName
    joined_at: str
    left: bool = False


class MessageLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="message"):
    """`author` null: a notice of the marketplace, with `code`."""

    thread: str
    id: str
    author: UserId | None
    created_at: str
    body: str = ""
    code: str | None = None
    reply_to: str | None = None
    edited_at: str | None = None
    deleted_at: str | None = None


class ReadLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="read"):
    """`user` has read up to `message`."""

    thread: str
    user: UserId
    message: str
    at: str


Line = PersonLine | ThreadLine | ParticipantLine | MessageLine | ReadLine
_decoder: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def parse_line(text: bytes) -> Line:
    try:
        return _decoder.decode(text)
    except msgspec.MsgspecError as error:
        raise Refused(str(error)) from error


class Reader:
    """Turns lines into what the store takes. Raises `Refused`."""

    def __init__(self, limits: Limits, now_ms: int) -> None:
        self._limits = limits
        self._now_ms = now_ms

    def thread(self, line: ThreadLine) -> PastThread:
        members = {each.user: Role(each.role) for each in line.participants}
        if len(members) != len(line.participants):
            raise Refused("participants names somebody twice")
        fits = len(members) == 1 if line.kind == "system" else len(members) >= 2
        if not fits or len(members) > self._limits.participants:
            raise Refused(
                f"a thread has 2–{self._limits.participants} participants, one of kind system has 1"
            )
        created_at_ms = self._time("created_at", line.created_at)
        key = self.external_id("id", line.id)
        draft = ThreadDraft(
            id=make_id("thr", created_at_ms, random_of(key)),
            kind=ThreadKind(line.kind),
            opened_by=next(iter(members)),
            members=members,
            subject=self._label("subject", line.subject, self._limits.subject_characters),
            role_context=self._label("role_context", line.role_context),
            job_id=self._label("job_id", line.job_id),
            city=self._label("city", line.city),
        )
        return PastThread(key, draft, created_at_ms)

    def joined_at_ms(self, line: ParticipantLine) -> int:
        return self._time("joined_at", line.joined_at)

    def message(self, line: MessageLine) -> PastMessage:
        external_id = self.external_id("id", line.id)
        deleted_at_ms = self._maybe_time("deleted_at", line.deleted_at)
        body, html = self._body(line, is_deleted=deleted_at_ms is not None)
        notice = None
        if line.author is None:
            code = self._label("code", line.code) or IMPORTED
            notice = MarketplaceNotice(code, body, html).system
        return PastMessage(
            external_id=external_id,
            author=line.author,
            body=body,
            html=html,
            created_at_ms=self._time("created_at", line.created_at),
            random=random_of(f"{line.thread}\n{external_id}"),
            reply_to=line.reply_to,
            edited_at_ms=self._maybe_time("edited_at", line.edited_at),
            deleted_at_ms=deleted_at_ms,
            system=notice,
        )

    def mark(self, line: ReadLine) -> PastMark:
        return PastMark(line.user, line.message, self._time("at", line.at))

    def external_id(self, name: str, text: str) -> str:
        most = self._limits.external_key_characters
        if self._label(name, text, most) != text:
            raise Refused(f"{name} takes 1–{most} characters, without line breaks")
        return text

    def _body(self, line: MessageLine, *, is_deleted: bool) -> tuple[str, str | None]:
        if is_deleted:
            return "", None
        try:
            body = normalise_body(line.body, self._limits)
        except Problem as problem:
            raise Refused(str(problem)) from problem
        return body, markdown.render(body)

    def _label(self, name: str, text: str | None, most: int | None = None) -> str | None:
        try:
            return normalise_label(name, text, most or self._limits.label_characters)
        except Problem as problem:
            raise Refused(str(problem)) from problem

    def _maybe_time(self, name: str, text: str | None) -> int | None:
        return None if text is None else self._time(name, text)

    def _time(self, name: str, text: str) -> int:
        try:
            at_ms = parse_rfc3339(text, name)
        except Problem as problem:
            raise Refused(str(problem)) from problem
        if at_ms > self._now_ms:
            raise Refused(f"{name} lies in the future")
        return at_ms


def random_of(text: str) -> str:
    """The random part of an id that is the same in every run."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=9).digest()
    return encode_random(int.from_bytes(digest) & ((1 << RANDOM_BITS) - 1))
