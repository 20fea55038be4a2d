"""The contract's half of the composition root: bookings, money, cards and the worker."""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack

from asyncpg import Pool

from greenroom.accounts.store import AccountStore
from greenroom.bookings.actions import Bookings, Surroundings
from greenroom.bookings.deeds import Deeds
from greenroom.bookings.events import DeliverContract
from greenroom.bookings.model import parse_policy
from greenroom.bookings.payments import Operation, Outcome
from greenroom.bookings.payments_http import HttpPayments
from greenroom.bookings.payments_settling import Settling
from greenroom.bookings.rest import BookingsRest
from greenroom.bookings.running import PaymentRunner, ProviderEvents
from greenroom.bookings.sandbox import Sandbox
from greenroom.bookings.threads import BookingThreads
from greenroom.bookings.timers import in_deed
from greenroom.bookings.webhook_rest import WebhookRest
from greenroom.cards.actions import Cards
from greenroom.cards.catalogue import Catalogue
from greenroom.cards.rest import CardsRest
from greenroom.cards.upkeep import ContractUpkeep
from greenroom.conversations.actions import Conversations
from greenroom.conversations.postings import Postings
from greenroom.conversations.store import ConversationStore
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.panel.rest import PanelRest
from greenroom.platform.auth import load_or_create_secret
from greenroom.platform.backoff import Backoff
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.jobs import Jobs, enqueue
from greenroom.platform.postgres import Session
from greenroom.settings import Settings
from greenroom.worker import PAYMENT_JOB, Worker

SANDBOX_FILE = "payments-sandbox.db"


class Contract:
    """What people have agreed on, put together."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        catalogue: Catalogue,
        postings: Postings,
        store: ConversationStore,
        people: AccountStore,
        *,
        clock: Clock,
        randomness: Randomness,
        listeners: Sequence[DeliverContract] = (),
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._pool = pool
        self._people = people
        self._clock = clock
        self._provider = _Provider(settings)
        self.deeds = Deeds(pool, postings, _queue_payment, clock=clock, randomness=randomness)
        settling = Settling(self.deeds)
        self.runner = PaymentRunner(pool, self._provider, settling)
        self.provider_events = ProviderEvents(pool, settling)
        threads = BookingThreads(store, clock=clock, randomness=randomness, limits=limits)
        self.bookings = Bookings(
            self.deeds,
            settling,
            Surroundings(self._exists, threads.open, threads.show, self._run_now),
            policy=parse_policy(settings.cancellation_policy),
            public_url=settings.public_url or f"http://{settings.host}:{settings.port}",
            randomness=randomness,
        )
        self.cards = Cards(self.deeds, catalogue, settling, limits)
        self.upkeep = ContractUpkeep(self.deeds)
        self.worker = Worker(
            pool,
            Jobs(
                pool,
                backoff=Backoff(attempts=limits.job_attempts),
                concurrency=limits.jobs_at_once,
            ),
            self.runner,
            timers={
                "crd_": self.cards.run_timer,
                "leg_": in_deed(self.deeds, self.bookings.run_timer),
            },
            clock=clock,
            limits=limits,
            listeners=listeners,
        )

    async def close(self) -> None:
        await self.runner.close()
        await self._provider.close()

    def endpoints(self, conversations: Conversations) -> list[Endpoint]:
        secret = payments_secret(self._settings)
        return [
            *BookingsRest(self.bookings).endpoints(),
            *WebhookRest(self.provider_events, secret=secret, clock=self._clock).endpoints(),
            *CardsRest(self.cards, clock=self._clock, limits=self._settings.limits).endpoints(),
            *PanelRest(self.deeds, conversations, self.cards).endpoints(),
        ]

    async def _exists(self, user_ids: Sequence[str]) -> Collection[str]:
        missing = await self._people.missing_users(user_ids)
        return set(user_ids) - set(missing)

    async def _run_now(self, payment_ids: Sequence[str]) -> None:
        await self.worker.run_payments(payment_ids)


class _Provider:
    """The payment gateway that is configured; or the sandbox, which starts with the first payment:
    most programs never make one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._open = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._http: HttpPayments | None = None

    async def close(self) -> None:
        await self._open.aclose()
        self._http = None

    async def carry_out(self, operation: Operation) -> Outcome:
        async with self._opening:
            if self._http is None:
                self._http = await self._connect()
        return await self._http.carry_out(operation)

    async def _connect(self) -> HttpPayments:
        settings = self._settings
        url, secret = settings.payments_url, payments_secret(settings)
        if url is None:
            sandbox = Sandbox(settings.home / SANDBOX_FILE, secret=secret)
            url = (await self._open.enter_async_context(sandbox)).url
        return HttpPayments(url, secret, timeout_s=settings.limits.provider_timeout_s)


def payments_secret(settings: Settings) -> str:
    if settings.payments_secret is not None:
        return settings.payments_secret
    settings.home.mkdir(parents=True, exist_ok=True)
    return load_or_create_secret(settings.home / "payments-secret").decode()


async def _queue_payment(conn: Session, payment_id: str) -> None:
    await enqueue(conn, PAYMENT_JOB, payment_id)
