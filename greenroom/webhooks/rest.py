"""The calls about webhooks, for the marketplace's backend."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from greenroom.kernel.clock import parse_rfc3339, rfc3339
from greenroom.kernel.errors import (
    ActionInvalidState,
    IdempotencyMismatch,
    InvalidRequest,
    NotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import answer_once
from greenroom.webhooks.actions import Changes, Replay, Webhooks
from greenroom.webhooks.model import Delivery, DeliveryState, DisabledReason, Webhook

TAG = "Webhooks"
DELIVERY_PREFIX = "whd_"

Name = Annotated[str, Meta(min_length=1, max_length=64)]
Names = Annotated[list[Name], Meta(min_length=1, max_length=200)]
Address = Annotated[str, Meta(min_length=1, max_length=4000)]


class NewWebhook(Struct, frozen=True, forbid_unknown_fields=True):
    """`events`: names of events, or `["*"]` for all. `include_content`: whether the texts that
    people wrote are part of the data."""

    url: Address
    events: Names
    include_content: bool = False
    description: Annotated[str, Meta(max_length=1000)] = ""


class WebhookEdit(Struct, frozen=True, forbid_unknown_fields=True):
    """A field that is left out keeps its value."""

    url: Address | UnsetType = UNSET
    events: Names | UnsetType = UNSET
    include_content: bool | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET


class ReplayRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """One of: `event_id`; `since`; `from` and `to`. Times are when the event was logged, soon after
    it happened."""

    event_id: Annotated[str, Meta(max_length=64)] | None = None
    since: Annotated[str, Meta(max_length=40)] | None = None
    from_: Annotated[str, Meta(max_length=40)] | None = msgspec.field(default=None, name="from")
    to: Annotated[str, Meta(max_length=40)] | None = None


class WebhookView(Struct, frozen=True):
    """`secret` is in the answers of the calls that make it, and null everywhere else.
    `previous_secret_until`: until then each delivery has a signature of the secret before, too.
    `failing_since`: no delivery has succeeded since."""

    id: str
    url: str
    events: list[str]
    include_content: bool
    description: str
    enabled: bool
    disabled_reason: DisabledReason | None
    disabled_at: str | None
    failing_since: str | None
    secret: str | None
    secret_version: int
    previous_secret_until: str | None
    created_at: str


class WebhookOnly(Struct, frozen=True):
    webhook: WebhookView


class WebhookList(Struct, frozen=True):
    items: list[WebhookView]


class WebhookDeliveryView(Struct, frozen=True):
    """`status`, `duration_ms`, `error` and `excerpt` are of the last attempt; `excerpt` is the
    beginning of an answer that was no success. `next_attempt_at` is null before the first attempt,
    also while an earlier event of the same thread is tried, and after the last."""

    id: str
    event_id: str
    type: str
    thread_id: str | None
    state: DeliveryState
    attempts: int
    queued_at: str
    last_attempt_at: str | None
    next_attempt_at: str | None
    status: int | None
    duration_ms: int | None
    error: str | None
    excerpt: str | None


class DeliveryOnly(Struct, frozen=True):
    delivery: WebhookDeliveryView


class DeliveryList(Struct, frozen=True):
    items: list[WebhookDeliveryView]
    next_cursor: str | None


class ReplayView(Struct, frozen=True):
    """`events`: how many are posted again. `next_since` is the `since` or `from` of the next call
    when there were more than one call takes."""

    events: int
    next_since: str | None


class ReplayOnly(Struct, frozen=True):
    replay: ReplayView


class DeliveriesQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """`cursor` is the `next_cursor` of the last page."""

    state: Literal["waiting", "delivered", "failed"] | None = None
    cursor: Annotated[str, Meta(max_length=40)] = ""
    limit: Annotated[int, Meta(ge=1, le=100)] = 50


class WebhooksRest:
    def __init__(self, webhooks: Webhooks) -> None:
        self._webhooks = webhooks

    def endpoints(self) -> list[Endpoint]:
        return [*self._of_webhooks(), *self._of_deliveries()]

    def _of_webhooks(self) -> list[Endpoint]:
        one = "/v1/webhooks/{webhook_id}"
        return [
            Endpoint(
                "POST",
                "/v1/webhooks",
                self.add_webhook,
                "Have events posted to an address",
                Who.BACKEND,
                {201: WebhookOnly},
                TAG,
                scope="read",
                description=(
                    "The address gets what happens from now on. The answer has the secret that "
                    "signs deliveries. No later call shows it."
                ),
                body=NewWebhook,
                errors=(ActionInvalidState, IdempotencyMismatch),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/webhooks",
                self.list_webhooks,
                "All webhooks",
                Who.BACKEND,
                {200: WebhookList},
                TAG,
                scope="read",
            ),
            Endpoint(
                "GET",
                one,
                self.get_webhook,
                "A webhook",
                Who.BACKEND,
                {200: WebhookOnly},
                TAG,
                scope="read",
                errors=(NotFound,),
            ),
            Endpoint(
                "PATCH",
                one,
                self.edit_webhook,
                "Change, disable or enable a webhook",
                Who.BACKEND,
                {200: WebhookOnly},
                TAG,
                scope="read",
                description=(
                    "A webhook that is enabled again goes on where it stopped: first what waits, "
                    "then the events since, as far as the log still has them."
                ),
                body=WebhookEdit,
                errors=(NotFound,),
            ),
            Endpoint(
                "DELETE",
                one,
                self.remove_webhook,
                "Remove a webhook and everything that waits for it",
                Who.BACKEND,
                {204: None},
                TAG,
                scope="read",
                errors=(NotFound,),
            ),
            Endpoint(
                "POST",
                f"{one}/rotate",
                self.rotate_webhook,
                "Change the secret of a webhook",
                Who.BACKEND,
                {200: WebhookOnly},
                TAG,
                scope="read",
                description=(
                    "The secret before signs too for 24 hours, so that receivers can change over. "
                    "Rotating again within that time ends the one before the last."
                ),
                errors=(NotFound, IdempotencyMismatch),
                once=True,
            ),
        ]

    def _of_deliveries(self) -> list[Endpoint]:
        one = "/v1/webhooks/{webhook_id}"
        refusals = (NotFound, ActionInvalidState, IdempotencyMismatch)
        return [
            Endpoint(
                "POST",
                f"{one}/test",
                self.test_webhook,
                "Post a test event",
                Who.BACKEND,
                {202: DeliveryOnly},
                TAG,
                scope="read",
                description=(
                    "Of the type `webhook.test`, tried once. `GET …/deliveries` shows the outcome."
                ),
                errors=refusals,
                once=True,
            ),
            Endpoint(
                "POST",
                f"{one}/replay",
                self.replay_webhook,
                "Post events again",
                Who.BACKEND,
                {202: ReplayOnly},
                TAG,
                scope="read",
                description=(
                    "They have the same ids as before. Those of a span of time are the ones that "
                    "the webhook takes; an `event_id` is posted whatever its type."
                ),
                body=ReplayRequest,
                errors=refusals,
                once=True,
            ),
            Endpoint(
                "GET",
                f"{one}/deliveries",
                self.list_deliveries,
                "What was posted, and what came of it",
                Who.BACKEND,
                {200: DeliveryList},
                TAG,
                scope="read",
                description="The newest first. Those that have ended are listed for 30 days.",
                query=DeliveriesQuery,
                errors=(NotFound,),
            ),
        ]

    async def add_webhook(self, call: Call) -> Answer:
        new: NewWebhook = call.body
        answer = await answer_once(
            call,
            self._webhooks.transactions,
            lambda webhook: Answer(201, WebhookOnly(webhook_view(webhook))),
            lambda once: self._webhooks.add(
                new.url,
                new.events,
                include_content=new.include_content,
                description=new.description,
                once=once,
            ),
        )
        return await self._with_secret(answer)

    async def rotate_webhook(self, call: Call) -> Answer:
        answer = await answer_once(
            call,
            self._webhooks.transactions,
            lambda webhook: Answer(200, WebhookOnly(webhook_view(webhook))),
            lambda once: self._webhooks.rotate(call.params["webhook_id"], once),
        )
        return await self._with_secret(answer)

    async def _with_secret(self, answer: Answer) -> Answer:
        """The secret is put in afterwards: kept answers are stored, and must not contain it."""
        if answer.status >= 400:
            return answer
        body = answer.body
        if isinstance(body, bytes):
            body = msgspec.json.decode(body, type=WebhookOnly)
        assert isinstance(body, WebhookOnly)  # noqa: S101 (for the types)
        shown = body.webhook
        secret = await self._webhooks.reveal(shown.id, shown.secret_version)
        webhook = msgspec.structs.replace(shown, secret=secret)
        return Answer(answer.status, WebhookOnly(webhook))

    async def list_webhooks(self, _: Call) -> Answer:
        found = await self._webhooks.list_all()
        return Answer(200, WebhookList([webhook_view(each) for each in found]))

    async def get_webhook(self, call: Call) -> Answer:
        found = await self._webhooks.access(call.params["webhook_id"])
        return Answer(200, WebhookOnly(webhook_view(found)))

    async def edit_webhook(self, call: Call) -> Answer:
        edit: WebhookEdit = call.body
        given = {
            name: value
            for name in WebhookEdit.__struct_fields__
            if (value := getattr(edit, name)) is not UNSET
        }
        changed = await self._webhooks.change(call.params["webhook_id"], Changes(**given))
        return Answer(200, WebhookOnly(webhook_view(changed)))

    async def remove_webhook(self, call: Call) -> Answer:
        await self._webhooks.remove(call.params["webhook_id"])
        return Answer(204)

    async def test_webhook(self, call: Call) -> Answer:
        return await answer_once(
            call,
            self._webhooks.transactions,
            lambda delivery: Answer(202, DeliveryOnly(delivery_view(delivery))),
            lambda once: self._webhooks.test(call.params["webhook_id"], once),
        )

    async def replay_webhook(self, call: Call) -> Answer:
        asked: ReplayRequest = call.body
        webhook_id = call.params["webhook_id"]
        given = [name for name in asked.__struct_fields__ if getattr(asked, name) is not None]
        if given not in (["event_id"], ["since"], ["from_", "to"]):
            raise InvalidRequest("Give `event_id`, or `since`, or `from` and `to`.")
        if asked.event_id is not None:
            event_id = asked.event_id
            return await answer_once(
                call,
                self._webhooks.transactions,
                lambda replay: Answer(202, ReplayOnly(replay_view(replay))),
                lambda once: self._webhooks.replay_event(webhook_id, event_id, once),
            )
        from_ms = parse_rfc3339(asked.since or asked.from_ or "", "`since` or `from`")
        to_ms = None if asked.to is None else parse_rfc3339(asked.to, "`to`")
        if to_ms is not None and to_ms < from_ms:
            raise InvalidRequest("`to` must not be earlier than `from`.")
        return await answer_once(
            call,
            self._webhooks.transactions,
            lambda replay: Answer(202, ReplayOnly(replay_view(replay))),
            lambda once: self._webhooks.replay_span(webhook_id, from_ms, to_ms, once),
        )

    async def list_deliveries(self, call: Call) -> Answer:
        query: DeliveriesQuery = call.query
        found = await self._webhooks.deliveries(
            call.params["webhook_id"], query.state, _before(query.cursor), query.limit + 1
        )
        page = [delivery_view(each) for each in found[: query.limit]]
        next_cursor = page[-1].id if len(found) > query.limit else None
        return Answer(200, DeliveryList(page, next_cursor))


def _before(cursor: str) -> int | None:
    if not cursor:
        return None
    digits = cursor.removeprefix(DELIVERY_PREFIX)
    if digits == cursor or not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise InvalidRequest("`cursor` is the `next_cursor` of the last page.")
    return int(digits)


def webhook_view(webhook: Webhook) -> WebhookView:
    return WebhookView(
        id=webhook.webhook_id,
        url=webhook.url,
        events=list(webhook.events),
        include_content=webhook.include_content,
        description=webhook.description,
        enabled=webhook.disabled_at_ms is None,
        disabled_reason=webhook.disabled_reason,
        disabled_at=_time(webhook.disabled_at_ms),
        failing_since=_time(webhook.failing_since_ms),
        secret=None,
        secret_version=webhook.secret_version,
        previous_secret_until=_time(webhook.previous_until_ms),
        created_at=rfc3339(webhook.created_at_ms),
    )


def delivery_view(delivery: Delivery) -> WebhookDeliveryView:
    return WebhookDeliveryView(
        id=f"{DELIVERY_PREFIX}{delivery.delivery_id}",
        event_id=delivery.event_id,
        type=delivery.type,
        thread_id=delivery.thread_id,
        state=delivery.state,
        attempts=delivery.attempts,
        queued_at=rfc3339(delivery.queued_at_ms),
        last_attempt_at=_time(delivery.tried_at_ms),
        next_attempt_at=_time(delivery.next_at_ms),
        status=delivery.status,
        duration_ms=delivery.duration_ms,
        error=delivery.error,
        excerpt=delivery.excerpt,
    )


def replay_view(replay: Replay) -> ReplayView:
    return ReplayView(replay.events, _time(replay.next_since_ms))


def _time(at_ms: int | None) -> str | None:
    return None if at_ms is None else rfc3339(at_ms)
