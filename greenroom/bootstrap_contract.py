"""The composition root of bookings, payments, cards, the panel and the worker."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack
from typing import Protocol

from asyncpg import Pool

from greenroom.accounts.store import AccountStore
from greenroom.bookings.actions import BookingDependencies, Bookings
from greenroom.bookings.cancellation_policy import parse_policy
from greenroom.bookings.disputes import PaymentDisputes
from greenroom.bookings.money.confirmations import Confirmations
from greenroom.bookings.money.payment_accounts import PaymentAccounts
from greenroom.bookings.money.provider import (
    ConfirmsPayments,
    Operation,
    Outcome,
    PaymentProvider,
)
from greenroom.bookings.money.provider_http import HttpPayments
from greenroom.bookings.money.retrying import Retrying
from greenroom.bookings.money.running import PaymentRunner, ProviderEvents
from greenroom.bookings.money.settling import Settling
from greenroom.bookings.rest.bookings import BookingsRest
from greenroom.bookings.rest.payment_accounts import PaymentAccountsRest
from greenroom.bookings.rest.payment_webhook import WebhookRest
from greenroom.bookings.rest.payments import PaymentsRest
from greenroom.bookings.rest.stripe_webhook import StripeWebhookRest
from greenroom.bookings.sandbox.provider import Sandbox
from greenroom.bookings.stripe.events import StripeEvents
from greenroom.bookings.threads import BookingThreads
from greenroom.bookings.timers import in_transaction
from greenroom.bookings.transactions import PAYMENT, ContractTransactions
from greenroom.cards.actions import Cards
from greenroom.cards.card_files import CardFiles
from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.rest import CardsRest
from greenroom.cards.upkeep import ContractUpkeep
from greenroom.conversations.store import ConversationStore
from greenroom.conversations.thread_updates import ThreadUpdates
from greenroom.events.log import EventLog
from greenroom.kernel.clock import Clock
from greenroom.kernel.ids import Randomness
from greenroom.kernel.startup import StartupError
from greenroom.panel.files import ThreadFiles
from greenroom.panel.rest import PanelRest
from greenroom.platform.backoff import Backoff
from greenroom.platform.http.endpoint import Endpoint
from greenroom.platform.postgres.pool import unavailable_on_failure
from greenroom.platform.tasks.runner import TaskRunner
from greenroom.platform.tasks.table import enqueue
from greenroom.platform.tokens.verifying import load_or_create_secret
from greenroom.settings import Settings, server_url
from greenroom.worker import Worker

SANDBOX_FILE = "payments-sandbox.db"
STRIPE = "stripe"
NO_STRIPE = (
    "GREENROOM_PAYMENTS=stripe needs Stripe's library. Install it: pip install 'greenroom[stripe]'"
)


class ContractRooms:
    """Bookings, payments, cards and the panel, wired together."""

    def __init__(
        self,
        settings: Settings,
        pool: Pool,
        catalogue: Catalogue,
        thread_updates: ThreadUpdates,
        store: ConversationStore,
        people: AccountStore,
        card_files: CardFiles,
        files: ThreadFiles,
        *,
        clock: Clock,
        randomness: Randomness,
        events: EventLog,
        wake_collector: Callable[[], None],
    ) -> None:
        limits = settings.limits
        self._settings = settings
        self._pool = pool
        self._people = people
        self._files = files
        self._clock = clock
        stripe = _stripe(settings, clock)
        self._provider = stripe or _Provider(settings)
        self.confirmations = Confirmations(pool, stripe)
        self.transactions = ContractTransactions(
            pool,
            thread_updates,
            clock=clock,
            randomness=randomness,
            wake_collector=wake_collector,
        )
        self.settling = Settling(self.transactions)
        self.runner = PaymentRunner(pool, self._provider, self.settling)
        self.provider_events = ProviderEvents(pool, self.settling)
        self.disputes = PaymentDisputes(self.transactions)
        self.stripe_events = StripeEvents(
            pool, self.provider_events, self.settling, self.disputes, self._look_again
        )
        threads = BookingThreads(store, clock=clock, randomness=randomness, limits=limits)
        self.bookings = Bookings(
            self.transactions,
            self.settling,
            BookingDependencies(self._exists, threads.open, threads.show, self._run_now),
            policy=parse_policy(settings.cancellation_policy),
            public_url=settings.public_url or server_url(settings, settings.port),
            randomness=randomness,
        )
        self.cards = Cards(self.transactions, catalogue, self.settling, limits, card_files)
        self.retrying = Retrying(self.transactions)
        self.retrying.register("card", self.cards.retry_payment)
        self.upkeep = ContractUpkeep(self.transactions)
        self.worker = Worker(
            pool,
            TaskRunner(
                pool,
                clock=clock,
                backoff=Backoff(attempts=limits.job_attempts),
                concurrency=limits.jobs_at_once,
            ),
            self.runner,
            events,
            timers={
                "crd_": self.cards.run_timer,
                "leg_": in_transaction(self.transactions, self.bookings.run_timer),
            },
            clock=clock,
            limits=limits,
            at_start=self.cards.close_left_open,
        )

    async def close(self) -> None:
        await self.runner.close()
        if isinstance(self._provider, _Provider):
            await self._provider.close()

    def endpoints(self) -> list[Endpoint]:
        secret = payments_secret(self._settings)
        return [
            *BookingsRest(self.bookings).endpoints(),
            *PaymentsRest(self.retrying).endpoints(),
            *WebhookRest(self.provider_events, secret=secret, clock=self._clock).endpoints(),
            *self._stripe_rest().endpoints(),
            *self._payment_accounts_rest().endpoints(),
            *self._cards_rest().endpoints(),
            *PanelRest(self.transactions, self.cards, self._files).endpoints(),
        ]

    def _stripe_rest(self) -> StripeWebhookRest:
        secret = self._settings.stripe_webhook_secret
        return StripeWebhookRest(self.stripe_events, secret=secret, clock=self._clock)

    def _payment_accounts_rest(self) -> PaymentAccountsRest:
        return PaymentAccountsRest(
            PaymentAccounts(self._pool, self._people.missing_users, clock=self._clock),
            self.confirmations,
            self.disputes,
            confirm_url=self._settings.payment_confirm_url,
        )

    def _cards_rest(self) -> CardsRest:
        limits = self._settings.limits
        return CardsRest(self.cards, self._files, clock=self._clock, limits=limits)

    async def _exists(self, user_ids: Sequence[str]) -> Collection[str]:
        missing = await self._people.missing_users(user_ids)
        return set(user_ids) - set(missing)

    async def _run_now(self, payment_ids: Sequence[str]) -> None:
        await self.worker.run_payments(payment_ids)

    async def _look_again(self, payment_ids: Sequence[str]) -> None:
        async with unavailable_on_failure(), self._pool.acquire() as conn:
            for payment_id in payment_ids:
                await enqueue(conn, PAYMENT, payment_id, due_ms=self._clock())
        await self.worker.run_payments(payment_ids)


class _Stripe(PaymentProvider, ConfirmsPayments, Protocol): ...


def _stripe(settings: Settings, clock: Clock) -> _Stripe | None:
    if settings.payment_provider != STRIPE:
        return None
    # Imported here, because it needs the optional packages of the extra `stripe`.
    try:
        from greenroom.bookings.stripe.client import StripeApi  # noqa: PLC0415
        from greenroom.bookings.stripe.payments import StripePayments  # noqa: PLC0415
    except ImportError as error:
        raise StartupError(NO_STRIPE) from error
    timeout_s = settings.limits.provider_timeout_s
    key = settings.stripe_api_key or ""
    return StripePayments(
        StripeApi(key, url=settings.stripe_url, timeout_s=timeout_s),
        timeout_s=timeout_s,
        confirmation_hours=settings.limits.payment_confirmation_hours,
        clock=clock,
    )


class _Provider:
    """The configured payment gateway, or the sandbox. Connects at the first payment, because most
    programs never make one."""

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
        if url is None or settings.payment_provider == "sandbox":
            sandbox = Sandbox(settings.home / SANDBOX_FILE, secret=secret)
            url = (await self._open.enter_async_context(sandbox)).url
        return HttpPayments(url, secret, timeout_s=settings.limits.provider_timeout_s)


def payments_secret(settings: Settings) -> str:
    if settings.payments_secret is not None:
        return settings.payments_secret
    settings.home.mkdir(parents=True, exist_ok=True)
    return load_or_create_secret(settings.home / "payments-secret").decode()
