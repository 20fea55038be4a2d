"""Payments over HTTP: the protocol that the built-in sandbox speaks, at a configured address.

    POST /v1/operations
    Authorization: Bearer <secret>
    Idempotency-Key: <key>
    {operation, account, amount_cents, currency, source, reference}

    200 {id, key, status, failure_code}

A bridge to a payment company answers the same call and posts the same webhooks.
"""

import logging
import ssl

import msgspec

from greenroom.bookings.money.provider import Operation, Outcome, ProviderUnavailable, Status
from greenroom.platform.http_client import HttpError, Reply, send

TIMEOUT_S = 20.0
ANSWER_BYTES = 64 * 1024
SENT_FIELDS = ("operation", "account", "amount_cents", "currency", "source", "reference")
REFUSED = "provider_refused"

# Refusals that say nothing about the operation: our key is wrong or not let in, the same key is
# just being worked on or was used for something else, too much at once.
OPEN_REFUSALS = frozenset({401, 403, 407, 408, 409, 421, 422, 425, 429})

log = logging.getLogger("greenroom.payments")


class _Answer(msgspec.Struct):
    id: str
    key: str
    status: Status
    failure_code: str | None = None


class HttpPayments:
    def __init__(
        self,
        url: str,
        secret: str,
        *,
        timeout_s: float = TIMEOUT_S,
        trusted: ssl.SSLContext | None = None,
    ) -> None:
        self._url = url.rstrip("/") + "/v1/operations"
        self._secret = secret
        self._timeout_s = timeout_s
        self._trusted = trusted

    async def carry_out(self, operation: Operation) -> Outcome:
        asked = {name: getattr(operation, name) for name in SENT_FIELDS}
        try:
            reply = await send(
                "POST",
                self._url,
                headers={
                    "authorization": f"Bearer {self._secret}",
                    "content-type": "application/json",
                    "idempotency-key": operation.key,
                },
                body=msgspec.json.encode(asked),
                timeout_s=self._timeout_s,
                limit_bytes=ANSWER_BYTES,
                trusted=self._trusted,
            )
        except HttpError as error:
            raise ProviderUnavailable(f"The payment provider: {error}.") from error
        return _outcome(operation, reply)


def _outcome(operation: Operation, reply: Reply) -> Outcome:
    if reply.status == 200:
        return _read(operation, reply.body)
    if 400 <= reply.status < 500 and reply.status not in OPEN_REFUSALS:
        told = {"subject": operation.reference, "status": reply.status}
        log.error("the payment provider refused an operation", extra=told)
        return Outcome("failed", failure_code=REFUSED)
    raise ProviderUnavailable(f"The payment provider answered with status {reply.status}.")


def _read(operation: Operation, body: bytes) -> Outcome:
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except ValueError as error:
        raise ProviderUnavailable("The payment provider's answer cannot be read.") from error
    if answer.key != operation.key:
        raise ProviderUnavailable("The payment provider answered for another key.")
    return Outcome(answer.status, answer.id, answer.failure_code)
