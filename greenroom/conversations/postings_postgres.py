"""What the contract shows in threads that are in its own database: part of its own transaction."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from asyncpg import Record

from greenroom.conversations import sql_postgres as sql
from greenroom.conversations.changes_postgres import PostgresTelling, noting_told
from greenroom.conversations.model import Message, Role
from greenroom.conversations.postings import Posted, Posting, Shadow, Standing, ThreadFacts
from greenroom.conversations.sends_postgres import SEND_WINDOW, refusal
from greenroom.kernel.errors import ThreadNotFound
from greenroom.platform.postgres import Session

_UNCHANGED = Standing(None)


class PostgresPostings(PostgresTelling):
    """`Postings` on the caller's own connection."""

    async def access(
        self, conn: Session, thread_id: str, viewer: str | None, *, to_write: bool = False
    ) -> ThreadFacts:
        row = await conn.fetchrow(sql.ACCESS, self._clock(), thread_id, viewer, to_write)
        if row is None:
            raise ThreadNotFound
        refused = refusal(row["verdict"], row["until"])
        if refused is not None:
            raise refused
        roles = (Role(role) for role in row["roles"] or ())
        return ThreadFacts(
            id=thread_id,
            kind=row["kind"],
            locked=row["locked"],
            group_id=row["group_id"],
            leg_id=row["leg_id"],
            people=dict(zip(row["people"] or (), roles, strict=True)),
            unseen_by=frozenset(row["unseen"] or ()),
        )

    async def post(self, conn: Session, posting: Posting) -> Posted:
        with noting_told() as told:
            is_told = posting.promotes is not None and await self._promote(
                conn, posting.thread_id, posting.promotes.group_id, posting.promotes.leg_id
            )
            now_ms = self._clock()
            args = self._arguments(posting, now_ms, is_told=is_told)
            row = await conn.fetchrow(sql.POST, *args)
            if row is None:
                raise ThreadNotFound
            refused = refusal(row["verdict"], row["until"])
            if refused is not None:
                raise refused
            told.update(row["told"])
        if posting.changed_card is not None:
            posting = replace(posting, message_id=row["message_id"])
        return Posted(posting, _message(posting, row), told=frozenset(told))

    def _arguments(self, posting: Posting, now_ms: int, *, is_told: bool) -> tuple[Any, ...]:
        """In the order in which the function in the database takes them."""
        new, card = posting.new_card, posting.new_card or posting.changed_card
        said = ["system"] * len(posting.notices)
        systems = [_json({"code": each.code, "params": each.params}) for each in posting.notices]
        audiences: list[str | None] = [None] * len(posting.notices)
        if new is not None:
            said, systems = ["card", *said], [None, *systems]
            audiences.insert(0, _audience(new))
        standing = posting.standing or _UNCHANGED
        return (
            now_ms,
            SEND_WINDOW,
            posting.thread_id,
            posting.actor,
            said,
            systems,
            audiences,
            [self._randomness() for _ in said],
            None if card is None else card.card_id,
            None if card is None else card.type,
            None if card is None else _json(card.card),
            is_told,
            posting.standing is not None,
            standing.stage,
            standing.open_cards,
            sorted(standing.waits_for),
        )

    async def show(self, posted: Sequence[Posted]) -> None:
        told = frozenset[str]().union(*(each.told for each in posted))
        if told:
            self._wake(told)


def _audience(card: Shadow) -> str | None:
    return None if card.visible_to is None else ",".join(sorted(card.visible_to))


def _message(posting: Posting, row: Record) -> Message | None:
    new = posting.new_card
    if new is None:
        return None
    return Message(
        id=row["message_id"],
        thread_id=posting.thread_id,
        seq=row["seq"],
        author_id=posting.actor,
        kind="card",
        body="",
        body_html=None,
        system=None,
        reply_to=None,
        client_id=None,
        created_at_ms=row["created_at"],
        card=new.card,
    )


def _json(value: object) -> str | None:
    return msgspec.json.encode(value).decode()
