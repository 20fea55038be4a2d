"""Calls about the panel and its tabs, for participants of the thread."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from greenroom.bookings.transactions import ContractSnapshot, ContractTransactions
from greenroom.cards.actions import Cards
from greenroom.cards.showing import CardShowing
from greenroom.conversations.rest.base import person_of
from greenroom.conversations.thread_updates import ThreadFacts
from greenroom.kernel.errors import ThreadNotFound
from greenroom.panel.docs import docs_of
from greenroom.panel.expenses import expenses_of, find_expenses
from greenroom.panel.files import ThreadFiles, files_of, shown_in
from greenroom.panel.overview import overview_of
from greenroom.panel.wire import Actions, ActionsTab, DocsTab, ExpensesTab, FilesTab, PanelOnly
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Handler, Who


class PanelRest:
    def __init__(
        self, transactions: ContractTransactions, cards: Cards, files: ThreadFiles
    ) -> None:
        self._transactions = transactions
        self._cards = cards
        self._files = files
        self._showing = CardShowing(cards.renderer, files)

    def endpoints(self) -> list[Endpoint]:
        return [
            self._read(self.get_panel, "", "The overview of the panel", PanelOnly),
            self._tab(self.get_panel_expenses, "Money of the booking, per leg", ExpensesTab),
            self._tab(self.get_panel_files, "Proofs, finals, and files of messages", FilesTab),
            self._tab(self.get_panel_docs, "Documents and who has signed them", DocsTab),
            self._tab(self.get_panel_actions, "Open cards, and your actions", ActionsTab),
        ]

    def _tab(self, handler: Handler, summary: str, answer: type) -> Endpoint:
        tab = handler.__name__.removeprefix("get_panel_")
        return self._read(handler, f"/{tab}", summary, answer)

    def _read(self, handler: Handler, rest: str, summary: str, answer: type) -> Endpoint:
        path = f"/v1/threads/{{thread_id}}/panel{rest}"
        shown = {200: answer}
        return Endpoint(
            "GET", path, handler, summary, Who.PERSON, shown, "Panel", errors=(ThreadNotFound,)
        )

    async def get_panel(self, call: Call) -> Answer:
        async with self._snapshot(call) as (snapshot, thread, viewer):
            cards = await self._cards.open_cards(snapshot, thread.id)
            shown = await overview_of(snapshot, thread, viewer, cards, self._cards.catalogue)
        return Answer(200, PanelOnly(shown))

    async def get_panel_expenses(self, call: Call) -> Answer:
        async with self._snapshot(call) as (snapshot, thread, viewer):
            found = await find_expenses(snapshot, thread)
        return Answer(200, ExpensesTab(data=await expenses_of(self._files, viewer, found)))

    async def get_panel_files(self, call: Call) -> Answer:
        async with self._snapshot(call) as (snapshot, thread, viewer):
            shown = await shown_in(snapshot, thread.id)
        data = await files_of(self._files, viewer, thread.id, shown)
        return Answer(200, FilesTab(data=data))

    async def get_panel_docs(self, call: Call) -> Answer:
        async with self._snapshot(call) as (snapshot, thread, _):
            return Answer(200, DocsTab(data=await docs_of(snapshot, thread)))

    async def get_panel_actions(self, call: Call) -> Answer:
        async with self._snapshot(call) as (snapshot, thread, viewer):
            cards = await self._cards.open_cards(snapshot, thread.id)
        shown = await self._showing.show(cards, viewer)
        return Answer(200, ActionsTab(data=Actions(shown)))

    @asynccontextmanager
    async def _snapshot(
        self, call: Call
    ) -> AsyncIterator[tuple[ContractSnapshot, ThreadFacts, str]]:
        """Check that the caller is in the thread, in the snapshot from which the panel is read."""
        viewer = person_of(call)
        async with self._transactions.snapshot() as snapshot:
            yield snapshot, await snapshot.access(call.params["thread_id"], viewer), viewer
