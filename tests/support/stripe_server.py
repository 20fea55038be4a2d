"""A server that speaks as much of Stripe's API as the product uses, on this machine.

It honours idempotency keys, answers errors in Stripe's form, signs webhooks, and can be told to
decline, to ask for 3-D Secure, to hang up, to be slow, and to hold webhooks back. The steps of its
script are those of the sandbox (`greenroom/bookings/sandbox/provider.py`), with `requires_action`
beside them. People are known as `cus_<user id>` and `acct_<user id>`.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import httpx
import msgspec

from greenroom.bookings.money.webhook_signatures import sign
from greenroom.bookings.sandbox.listener import Request, Response, SandboxServer
from greenroom.kernel.clock import Clock

Json = dict[str, Any]

API_KEY = "sk_test_of_the_tests_only"
WEBHOOK_SECRET = "whsec_of_the_tests_only"
DAY_S = 86_400
HOST = "127.0.0.1"
BASIC_ERRORS = {
    401: "invalid_request_error",
    409: "invalid_request_error",
    429: "rate_limit_error",
}


class ApiError(Exception):
    def __init__(self, status: int, error: Json) -> None:
        super().__init__(error.get("code"))
        self.status = status
        self.error = error


class StripeServer:
    def __init__(self, clock: Clock) -> None:
        self.url = ""
        self.webhook_url: str | None = None
        self.calls: Counter[str] = Counter()
        self.intents: dict[str, Json] = {}
        self.refunds: dict[str, Json] = {}
        self.transfers: dict[str, Json] = {}
        self.moved: list[Json] = []
        self.owed: list[Json] = []
        self.events: list[Json] = []
        self.steps: list[Json] = []
        self.is_holding = False
        self._clock = clock
        self._numbers = itertools.count(1)
        self._kept: dict[str, tuple[int, str, int, Json]] = {}
        self._server = SandboxServer(self._answer, host=HOST, port=0)
        self._sending: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self.url = f"http://{HOST}:{await self._server.open()}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._server.close()
        for task in list(self._sending):
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)

    # Requests.

    async def _answer(self, request: Request) -> Response | None:
        if request.headers.get("authorization") != f"Bearer {API_KEY}":
            return _response(401, {"error": {"type": "invalid_request_error"}})
        split = urlsplit(request.path)
        given = dict(parse_qsl(request.body.decode() if request.body else split.query))
        path = split.path.removeprefix("/v1/").split("/")
        self.calls[f"{request.method} {'/'.join(path[::2])}"] += 1
        if request.method == "GET":
            return _response(200, self._read(path, given))
        operation = self._operation(path, given)
        key = request.headers["idempotency-key"]
        told = f"{split.path} {sorted(given.items())}"
        kept = self._kept_answer(key, told)
        step = self._take_step(operation, is_repeat=kept is not None)
        do = None if step is None else step["do"]
        if do == "timeout_before":
            return None
        if step is not None and do == "error":
            kind = BASIC_ERRORS.get(step["status"], "api_error")
            return _response(step["status"], {"error": {"type": kind, "message": "As told."}})
        if step is not None and do == "delay":
            await asyncio.sleep(step["ms"] / 1000)
        if kept is None:
            kept = self._do(path, given, step)
            self._kept[key] = (self._now_s, told, *kept)
        await self.send_owed(times=2 if do == "answer_twice" else 1)
        return None if do == "timeout_after" else _response(*kept)

    def _kept_answer(self, key: str, told: str) -> tuple[int, Json] | None:
        """Stripe forgets keys after a day."""
        found = self._kept.get(key)
        if found is None or self._now_s - found[0] > DAY_S:
            return None
        if found[1] != told:
            error = {"type": "idempotency_error", "message": "The key was used for something else."}
            return 400, {"error": error}
        return found[2], found[3]

    @property
    def _now_s(self) -> int:
        return self._clock() // 1000

    def _operation(self, path: list[str], given: Json) -> str:
        if path == ["payment_intents"]:
            return "hold" if given.get("capture_method") == "manual" else "charge"
        if path[0] == "payment_intents" and path[2] == "cancel":
            held = self.intents.get(path[1], {}).get("status") == "requires_capture"
            return "release" if held else "cancel"
        return {"refunds": "refund", "transfers": "payout"}.get(path[0], path[-1])

    def _take_step(self, operation: str, *, is_repeat: bool) -> Json | None:
        outcomes = ("fail", "pending", "requires_action", "answer_twice")
        for place, step in enumerate(self.steps):
            is_for_it = step.get("operation") in (None, operation)
            if is_for_it and not (is_repeat and step["do"] in outcomes):
                return self.steps.pop(place)
        return None

    def _read(self, path: list[str], given: Json) -> Json:
        if path == ["balance"]:
            return {"object": "balance", "available": []}
        objects = {
            "payment_intents": self.intents,
            "refunds": self.refunds,
            "transfers": self.transfers,
        }[path[0]]
        if len(path) == 2:
            return objects[path[1]]
        names = ("customer", "payment_intent", "transfer_group")
        wanted = {name: given[name] for name in names if name in given}
        since_s = int(given.get("created[gte]", 0))
        found = [
            each
            for each in reversed(objects.values())
            if each["created"] >= since_s and wanted.items() <= each.items()
        ]
        ids = [each["id"] for each in found]
        begin = ids.index(given["starting_after"]) + 1 if "starting_after" in given else 0
        page = found[begin : begin + int(given["limit"])]
        more = begin + len(page) < len(found)
        return {"object": "list", "data": page, "has_more": more, "url": "/v1"}

    def _do(self, path: list[str], given: Json, step: Json | None) -> tuple[int, Json]:
        try:
            if path == ["payment_intents"]:
                return 200, dict(self._create_intent(given, step))
            if path[0] == "payment_intents":
                acts = {"capture": self._capture, "cancel": self._cancel}
                return 200, dict(acts[path[2]](self._intent(path[1]), given))
            create = {"refunds": self._create_refund, "transfers": self._create_transfer}
            return 200, dict(create[path[0]](given, step))
        except ApiError as error:
            return error.status, {"error": error.error}

    # PaymentIntents.

    def _create_intent(self, given: Json, step: Json | None) -> Json:
        for name, start in (("customer", "cus_"), ("payment_method", "pm_")):
            if not given.get(name, "").startswith(start):
                raise _missing(name)
        assert given["confirm"] == given["off_session"] == "true", given
        intent = {
            **self._new("payment_intent", "pi", given),
            "customer": given["customer"],
            "payment_method": given["payment_method"],
            "capture_method": given.get("capture_method", "automatic"),
            "status": "processing",
            "amount_received": 0,
            "last_payment_error": None,
            "cancellation_reason": None,
            "latest_charge": None,
        }
        intent["client_secret"] = f"{intent['id']}_secret_{next(self._numbers)}"
        self.intents[intent["id"]] = intent
        do = None if step is None else step["do"]
        if step is not None and do == "fail":
            self._decline(intent, step.get("code", "card_declined"))
        elif do == "requires_action":
            self._decline(intent, "authentication_required")
        elif do != "pending":
            self._succeed(intent)
        if intent["last_payment_error"] is not None:
            raise ApiError(402, {**intent["last_payment_error"], "payment_intent": dict(intent)})
        return intent

    def _succeed(self, intent: Json) -> None:
        intent["last_payment_error"] = None
        if intent["capture_method"] == "manual":
            intent["status"] = "requires_capture"
            self._note("hold", intent["customer"], intent["amount"])
            self._owe("payment_intent.amount_capturable_updated", intent)
            return
        intent |= {"status": "succeeded", "amount_received": intent["amount"]}
        intent["latest_charge"] = f"ch_{intent['id']}"
        operation = "charge"
        self._note(operation, intent["customer"], intent["amount"])
        self._owe("payment_intent.succeeded", intent)

    def _decline(self, intent: Json, code: str) -> None:
        is_basic = code in ("card_declined", "authentication_required")
        method = {"id": intent["payment_method"], "object": "payment_method"}
        intent["last_payment_error"] = {
            "type": "card_error",
            "code": code if is_basic else "card_declined",
            "decline_code": "generic_decline" if code == "card_declined" else code,
            "message": "Your card was declined.",
            "payment_method": method,
        }
        intent |= {"status": "requires_payment_method", "payment_method": None}
        self._owe("payment_intent.payment_failed", intent)

    def _capture(self, intent: Json, given: Json) -> Json:
        if intent["status"] != "requires_capture":
            raise _unexpected_state(intent)
        cents = int(given["amount_to_capture"])
        if cents > intent["amount"]:
            raise ApiError(400, {"type": "invalid_request_error", "code": "amount_too_large"})
        intent |= {"status": "succeeded", "amount_received": cents}
        intent["latest_charge"] = f"ch_{intent['id']}"
        intent["metadata"] = {**intent["metadata"], **_metadata(given)}
        self._note("capture", intent["customer"], cents)
        self._owe("payment_intent.succeeded", intent)
        return intent

    def _cancel(self, intent: Json, _: Json) -> Json:
        if intent["status"] in ("succeeded", "canceled", "processing"):
            raise _unexpected_state(intent)
        if intent["status"] == "requires_capture":
            self._note("release", intent["customer"], intent["amount"])
        intent["status"] = "canceled"
        self._owe("payment_intent.canceled", intent)
        return intent

    def _intent(self, intent_id: str) -> Json:
        if intent_id not in self.intents:
            raise _missing("intent")
        return self.intents[intent_id]

    # Refunds and transfers.

    def _create_refund(self, given: Json, step: Json | None) -> Json:
        intent = self._intent(given["payment_intent"])
        cents = int(given["amount"])
        refunded = sum(
            each["amount"]
            for each in self.refunds.values()
            if each["payment_intent"] == intent["id"] and each["status"] != "failed"
        )
        if refunded + cents > intent["amount_received"]:
            code = "charge_already_refunded"
            raise ApiError(400, {"type": "invalid_request_error", "code": code})
        refund = {
            **self._new("refund", "re", given),
            "payment_intent": intent["id"],
            "status": "pending",
        }
        self.refunds[refund["id"]] = refund
        self._owe("refund.created", refund)
        do = None if step is None else step["do"]
        if do != "pending":
            self.settle_refund(refund["id"], "failed" if do == "fail" else "succeeded")
        return refund

    def settle_refund(self, refund_id: str, status: str) -> None:
        refund = self.refunds[refund_id]
        refund["status"] = status
        if status == "failed":
            refund["failure_reason"] = "expired_or_canceled_card"
            self._owe("refund.failed", refund)
            return
        intent = self.intents[refund["payment_intent"]]
        self._note("refund", intent["customer"], refund["amount"])
        self._owe("refund.updated", refund)
        self._owe(
            "charge.refunded", {"id": intent["latest_charge"], "payment_intent": intent["id"]}
        )

    def _create_transfer(self, given: Json, step: Json | None) -> Json:
        if not given.get("destination", "").startswith("acct_"):
            raise _missing("destination")
        if step is not None and step["do"] == "fail":
            code = step.get("code", "balance_insufficient")
            raise ApiError(400, {"type": "invalid_request_error", "code": code})
        transfer = {
            **self._new("transfer", "tr", given),
            "destination": given["destination"],
            "transfer_group": given["transfer_group"],
            "reversed": False,
        }
        self.transfers[transfer["id"]] = transfer
        self._note("payout", transfer["destination"], transfer["amount"])
        self._owe("transfer.created", transfer)
        return transfer

    def _new(self, kind: str, prefix: str, given: Json) -> Json:
        return {
            "id": f"{prefix}_{next(self._numbers)}",
            "object": kind,
            "amount": int(given["amount"]),
            "currency": given.get("currency", "eur"),
            "created": self._now_s,
            "metadata": _metadata(given),
        }

    def _note(self, operation: str, party: str, amount_cents: int) -> None:
        account = party.removeprefix("cus_").removeprefix("acct_")
        self.moved.append({"operation": operation, "account": account, "cents": amount_cents})

    # What a payer, a bank or an operator does.

    async def settle(self, status: str = "succeeded", code: str = "card_declined") -> None:
        """Decide every intent that is being processed or waits for its payer."""
        for intent in self.intents.values():
            if is_waiting(intent):
                if status == "succeeded":
                    self._succeed(intent)
                else:
                    intent["payment_method"] = intent["payment_method"] or "pm_of_the_payer"
                    self._decline(intent, code)
        await self.send_owed()

    def dispute(self, intent_id: str, kind: str, status: str, dispute_id: str = "dp_1") -> Json:
        intent = self.intents[intent_id]
        dispute = {
            "id": dispute_id,
            "object": "dispute",
            "amount": intent["amount"],
            "currency": intent["currency"],
            "payment_intent": intent_id,
            "reason": "fraudulent",
            "status": status,
        }
        return self._owe(f"charge.dispute.{kind}", dispute)

    def owe(self, kind: str, about: Json) -> Json:
        return self._owe(kind, about)

    # Webhooks.

    def _owe(self, kind: str, about: Json) -> Json:
        event = {
            "id": f"evt_{next(self._numbers)}_{id(self)}",
            "object": "event",
            "api_version": "2026-10-28.endive",
            "type": kind,
            "created": self._now_s,
            "data": {"object": dict(about)},
        }
        self.owed.append(event)
        self.events.append(event)
        return event

    async def send_owed(self, *, times: int = 1) -> None:
        """In the background: the answer to a call does not wait for them."""
        if self.is_holding:
            return
        owed, self.owed = self.owed, []
        if self.webhook_url is not None and owed:
            task = asyncio.create_task(self._post_all(owed * times))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _post_all(self, events: list[Json]) -> None:
        for event in events:
            await self.post(event)

    async def deliver(self, order: str = "as_made", times: int = 1) -> list[int]:
        """Send what was held back; the statuses that were answered."""
        owed, self.owed = self.owed, []
        if order == "reversed":
            owed.reverse()
        return [await self.post(event) for event in owed for _ in range(times)]

    async def post(self, event: Json) -> int:
        assert self.webhook_url is not None
        body = msgspec.json.encode(event)
        async with httpx.AsyncClient() as http:
            answer = await http.post(self.webhook_url, content=body, headers=self.signed(body))
        return answer.status_code

    def signed(self, body: bytes) -> dict[str, str]:
        signature = sign(WEBHOOK_SECRET, body, at_s=self._now_s)
        return {"content-type": "application/json", "stripe-signature": signature}


def is_waiting(intent: Json) -> bool:
    error = intent["last_payment_error"] or {}
    return intent["status"] == "processing" or (
        intent["status"] == "requires_payment_method"
        and error.get("code") == "authentication_required"
    )


def _metadata(given: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix("metadata[").removesuffix("]"): value
        for name, value in given.items()
        if name.startswith("metadata[")
    }


def _missing(param: str) -> ApiError:
    code = "resource_missing"
    return ApiError(404, {"type": "invalid_request_error", "code": code, "param": param})


def _unexpected_state(intent: Json) -> ApiError:
    code = "payment_intent_unexpected_state"
    error = {"type": "invalid_request_error", "code": code, "payment_intent": dict(intent)}
    return ApiError(400, error)


def _response(status: int, body: Json) -> Response:
    return Response(status, msgspec.json.encode(body))
