"""Calls about the panel and its tabs, for those who are in the thread."""

from greenroom.bookings.deeds import Deed, Deeds
from greenroom.cards.actions import Cards
from greenroom.cards.model import Card
from greenroom.conversations.actions import Conversations
from greenroom.conversations.model import Thread
from greenroom.conversations.rest_face import person_of
from greenroom.kernel.errors import ThreadNotFound
from greenroom.panel.docs import docs_of
from greenroom.panel.expenses import expenses_of
from greenroom.panel.overview import overview_of
from greenroom.panel.wire import ActionsTab, DocsTab, ExpensesTab, PanelView
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Handler, Who
from greenroom.platform.idempotency import Kept
from greenroom.platform.postgres import unavailable_on_failure


class PanelRest:
    def __init__(self, deeds: Deeds, conversations: Conversations, cards: Cards) -> None:
        self._deeds = deeds
        self._pool = deeds.pool
        self._conversations = conversations
        self._cards = cards

    def endpoints(self) -> list[Endpoint]:
        return [
            self._read(self.get_panel, "", "What the panel opens with", PanelView),
            self._tab(self.get_panel_expenses, "Money of the booking, per leg", ExpensesTab),
            self._tab(self.get_panel_docs, "Documents and who has signed them", DocsTab),
            self._tab(self.get_panel_actions, "Open cards, and what you can do", ActionsTab),
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

    @unavailable_on_failure()
    async def get_panel(self, call: Call) -> Answer:
        thread, viewer = await self._access(call)
        cards = await self._open_cards(thread)
        return Answer(
            200,
            await overview_of(
                self._pool, thread, viewer, cards, self._cards.catalogue, self._deeds.clock()
            ),
        )

    @unavailable_on_failure()
    async def get_panel_expenses(self, call: Call) -> Answer:
        thread, _ = await self._access(call)
        return Answer(200, await expenses_of(self._pool, thread.group_id, thread.leg_id))

    @unavailable_on_failure()
    async def get_panel_docs(self, call: Call) -> Answer:
        thread, _ = await self._access(call)
        return Answer(200, await docs_of(self._pool, thread.group_id, thread.leg_id, thread.id))

    @unavailable_on_failure()
    async def get_panel_actions(self, call: Call) -> Answer:
        thread, viewer = await self._access(call)
        cards = await self._open_cards(thread)
        return Answer(
            200, ActionsTab([self._cards.renderer.render_card(card, viewer) for card in cards])
        )

    async def _open_cards(self, thread: Thread) -> list[Card]:
        async def read(deed: Deed) -> list[Card]:
            return await self._cards.open_cards(deed, thread.id)

        cards = await self._deeds.do(read)
        return [] if isinstance(cards, Kept) else cards

    async def _access(self, call: Call) -> tuple[Thread, str]:
        viewer = person_of(call)
        thread, _ = await self._conversations.access_thread(viewer, call.params["thread_id"])
        return thread, viewer
