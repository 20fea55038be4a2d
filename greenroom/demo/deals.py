"""Plays the steps of the sample about bookings, cards, documents and manifests.

Every step has an Idempotency-Key of its own, so that a load that continues after a crash finds what
it has already made.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable
from datetime import date
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from greenroom.bookings.documents.actions import NewDocument
from greenroom.bookings.documents.manifests import Item
from greenroom.bookings.model import LegKind
from greenroom.bookings.proposals import LegProposal, Proposal, check_proposal
from greenroom.bootstrap_contract import ContractRooms
from greenroom.demo.cues import Cue
from greenroom.demo.once import CALLER, do_once
from greenroom.demo.script import ACTIONS, with_dates
from greenroom.demo.uploads import SampleUploads
from greenroom.files.model import Purpose
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import ActionConflict
from greenroom.platform.idempotency import Kept, Once

T = TypeVar("T")

LAST_STEP = "select max(created_at) from idempotency_key where caller = $1 and route = $2"
NEXT_TIMER = "select min(due_at) from task where kind = 'timer' and not is_dead"

# Verbs after which payments are carried out.
_PAID_FOR = ("books", *ACTIONS)

_NAME = re.compile(r"\{((?:leg|man|doc)\d+(?:\.sha256)?|fil:[a-z0-9-]+)\}")


class LegBelow(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    start: str
    end: str
    price_cents: int
    deposit_cents: int = 0
    seller: str | None = None
    """None: the person with whom the thread was opened."""


class BookingBelow(Struct, frozen=True, forbid_unknown_fields=True):
    currency: str
    legs: list[LegBelow]


class DocumentBelow(Struct, frozen=True, forbid_unknown_fields=True):
    title: str
    url: str
    bytes: int
    signers: list[str]


class FileBelow(Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    bytes: int
    url: str


class ManifestBelow(Struct, frozen=True, forbid_unknown_fields=True):
    items: list[FileBelow]


class Deals:
    def __init__(
        self, contract: ContractRooms, uploads: SampleUploads, where: str, last_day: date
    ) -> None:
        """`where` is the name of the conversation store; it is part of the idempotency keys."""
        self._contract = contract
        self._uploads = uploads
        self._where = where
        self._last_day = last_day
        self._resumes_ms = 0
        self._timer_ms: int | None = None
        self._is_timer_known = False
        self._groups: dict[str, str] = {}
        self._cards: dict[tuple[str, int], str] = {}
        self._names: dict[tuple[str, str], str] = {}
        self._left_out: set[str] = set()

    async def take_up(self) -> None:
        """Find out how far an interrupted load came."""
        pool = self._contract.transactions.pool
        self._resumes_ms = await pool.fetchval(LAST_STEP, CALLER, self._where) or 0

    async def next_timer_ms(self) -> int | None:
        """When the next timer is due. Only the steps played here change that."""
        if self._is_timer_known:
            return self._timer_ms
        self._timer_ms = await self._contract.transactions.pool.fetchval(NEXT_TIMER)
        self._is_timer_known = True
        return self._timer_ms

    async def run_worker(self) -> None:
        self._is_timer_known = False
        await self._contract.worker.run_until_idle()

    async def play(self, cue: Cue, thread_id: str) -> None:
        if cue.scene.key in self._left_out:
            return
        if cue.step.verb == "books":
            await self._book(cue, thread_id)
        elif cue.step.verb == "documents":
            await self._add_document(cue)
        elif cue.step.verb == "lists":
            await self._list_files(cue, thread_id)
        elif cue.step.verb == "uploads":
            await self._upload(cue, thread_id)
        elif cue.step.verb == "cards":
            await self._make_card(cue, thread_id)
        else:
            await self._act(cue)
        self._is_timer_known = False

    def may_pay(self, cue: Cue) -> bool:
        """Whether payments are carried out after this step. A load that continues carries out none
        before the point of its interruption, because they would get a time that is too early."""
        return cue.step.verb in _PAID_FOR and cue.at_ms >= self._resumes_ms

    async def _book(self, cue: Cue, thread_id: str) -> None:
        """Propose and confirm a booking. If a seller is not free, the sample was loaded into
        another store before: the booking is there, and this thread goes without one."""
        bookings, key = self._contract.bookings, cue.scene.key
        proposal = self._proposal(cue, thread_id)
        try:
            group_id = await self._once(
                cue,
                "proposed",
                lambda once: bookings.create(proposal, once),
                lambda booking: booking.group.group_id,
            )
            await self._once(
                cue, "confirmed", lambda once: bookings.confirm(group_id, once), lambda _: group_id
            )
        except ActionConflict:
            self._left_out.add(key)
            return
        self._groups[key] = group_id
        booking = await bookings.access_booking(None, group_id)
        for leg in booking.group.legs:
            self._names[key, f"leg{leg.place + 1}"] = leg.leg_id

    def _proposal(self, cue: Cue, thread_id: str) -> Proposal:
        scene, given = cue.scene, msgspec.json.decode(self._below(cue), type=BookingBelow)
        kind: LegKind = "studio" if scene.role_context == "studio" else "talent"
        legs = [
            LegProposal(
                kind,
                leg.seller or scene.to,
                leg.title,
                parse_rfc3339(leg.start),
                parse_rfc3339(leg.end),
                scene.place.key,
                leg.price_cents,
                leg.deposit_cents,
            )
            for leg in given.legs
        ]
        return check_proposal(
            buyer=scene.opener,
            currency=given.currency,
            legs=legs,
            policy=self._contract.bookings.policy,
            thread_id=thread_id,
            now_ms=cue.at_ms,
        )

    async def _add_document(self, cue: Cue) -> None:
        given = msgspec.json.decode(self._below(cue), type=DocumentBelow)
        sha256 = _hash(given.url)
        new = NewDocument(given.title, sha256, given.signers, url=given.url, bytes=given.bytes)
        group_id, add = self._groups[cue.scene.key], self._contract.bookings.documents.add
        document_id = await self._once(
            cue,
            "added",
            lambda once: add(group_id, new, once),
            lambda document: document.document_id,
        )
        self._name(cue, "doc", document_id, sha256)

    async def _list_files(self, cue: Cue, thread_id: str) -> None:
        given = msgspec.json.decode(self._below(cue), type=ManifestBelow)
        items = [Item(file.name, file.bytes, _hash(file.url), file.url) for file in given.items]
        who, add = cue.step.who or "", self._contract.bookings.manifests.add
        manifest_id = await self._once(
            cue,
            "listed",
            lambda once: add(who, thread_id, items, once=once),
            lambda manifest: manifest.manifest_id,
        )
        self._name(cue, "man", manifest_id)

    async def _upload(self, cue: Cue, thread_id: str) -> None:
        purpose, *names = cue.step.args
        for name in names:
            file_id = await self._uploads.upload(
                cue, thread_id, name, msgspec.convert(purpose, Purpose)
            )
            self._names[cue.scene.key, f"fil:{name}"] = file_id

    async def _make_card(self, cue: Cue, thread_id: str) -> None:
        who, (type_name,) = cue.step.who or "", cue.step.args
        payload = self._input(cue)
        cards = self._contract.cards
        card_id = await self._once(
            cue,
            "made",
            lambda once: cards.create(who, thread_id, type_name, payload, once),
            lambda made: made.card.id,
        )
        number = 1 + sum(key == cue.scene.key for key, _ in self._cards)
        self._cards[cue.scene.key, number] = card_id

    async def _act(self, cue: Cue) -> None:
        who, (number,) = cue.step.who or "", cue.step.args
        card_id = self._cards[cue.scene.key, int(number)]
        cards, action, given = self._contract.cards, ACTIONS[cue.step.verb], self._input(cue)
        card, _ = await cards.access(None, card_id)
        await self._once(
            cue,
            action,
            lambda once: cards.act(who, card_id, action, card.version, given, once),
            lambda card: card.id,
        )

    async def _once(
        self,
        cue: Cue,
        what: str,
        work: Callable[[Once], Awaitable[T | Kept]],
        id_of: Callable[[T], str],
    ) -> str:
        """The id of what the work has created, now or in an interrupted load before."""
        return await do_once(self._where, f"{cue.key}-{what}", work, id_of)

    def _name(self, cue: Cue, kind: str, made_id: str, sha256: str = "") -> None:
        key = cue.scene.key
        number = 1 + sum(
            scene == key and name.startswith(kind) and "." not in name
            for scene, name in self._names
        )
        self._names[key, f"{kind}{number}"] = made_id
        self._names[key, f"{kind}{number}.sha256"] = sha256

    def _input(self, cue: Cue) -> dict[str, Any]:
        text = self._below(cue)
        return msgspec.json.decode(text, type=dict[str, Any]) if text else {}

    def _below(self, cue: Cue) -> str:
        """The JSON below a step, with dates and ids filled in."""
        text = with_dates(cue.step.text, self._last_day, cue.scene.place)
        return _NAME.sub(lambda match: self._names[cue.scene.key, match[1]], text)


def _hash(url: str) -> str:
    """The sample has no real files, so the hash is that of the address."""
    return hashlib.sha256(url.encode()).hexdigest()
