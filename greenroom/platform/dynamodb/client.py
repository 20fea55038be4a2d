"""Calls DynamoDB and retries after temporary failures: throttling, conflicts, lost connections.

A call whose response was lost may have been executed, and is repeated all the same. That is
harmless for reads, puts, deletes, and transactions with a token. A conditional write that finds its
own first attempt ends in `ConditionFailed` with the item, which the caller compares.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from greenroom.kernel.errors import Unavailable
from greenroom.platform.backoff import Backoff
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed, DynamoDbError, Reason
from greenroom.platform.dynamodb.metering import THROTTLED
from greenroom.platform.dynamodb.values import from_wire

Json = dict[str, Any]
Send = Callable[[str, bytes], Awaitable[tuple[int, bytes]]]
"""Sends one request (action and body) and returns status and body of the response.

Raises OSError (which includes TimeoutError) when there is no complete response.
"""

ATTEMPTS = 6
BACKOFF = Backoff(base_ms=25, cap_ms=1000, attempts=ATTEMPTS, floor_ms=0)
RETRY_AFTER_S = 2

_THROTTLING = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        # These two are the reasons of single items of a transaction.
        "ProvisionedThroughputExceeded",
        "ThrottlingError",
    }
)
_RETRYABLE = frozenset(
    {
        "InternalServerError",
        "ServiceUnavailable",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
_CREDENTIALS = frozenset(
    {
        "ExpiredTokenException",
        "IncompleteSignatureException",
        "InvalidSignatureException",
        "MissingAuthenticationTokenException",
        "UnrecognizedClientException",
    }
)


async def _nothing() -> None:
    """The default `close`, for a transport without connections."""


class Client:
    def __init__(
        self,
        send: Send,
        *,
        close: Callable[[], Awaitable[None]] = _nothing,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._send = send
        self._sleep = sleep
        self._chance = chance
        self.close = close

    async def call(self, action: str, request: Mapping[str, Any]) -> Json:
        """The response. Raises `ConditionFailed`, `Cancelled`, `DynamoDbError` or `Unavailable`."""
        body = msgspec.json.encode(request)
        last: Exception | None = None
        for attempt in range(ATTEMPTS):
            if attempt:
                await self.pause(attempt)
            try:
                status, answer = await self._send(action, body)
                return _read(action, status, answer)
            except (OSError, _Retryable) as failure:
                last = failure
        raise Unavailable(
            "The database does not answer just now.", retry_after_s=RETRY_AFTER_S
        ) from last

    async def pause(self, attempt: int) -> None:
        """Wait before another attempt (the first repeat is 1): exponential backoff with jitter."""
        await BACKOFF.pause(attempt - 1, sleep=self._sleep, chance=self._chance)


class _Retryable(Exception):  # noqa: N818 (a failure that a repeat may fix)
    """A response that means: try again."""


def _read(action: str, status: int, body: bytes) -> Json:
    try:
        answer: Json = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        # A response of a proxy, or half a response.
        if status >= 500 or status == 200:
            raise _Retryable(f"status {status} without a body of JSON") from error
        raise DynamoDbError(
            f"The address does not answer as DynamoDB does (status {status}). "
            "Check GREENROOM_DYNAMODB_ENDPOINT."
        ) from error
    if status == 200:
        return answer
    raise _failure(action, status, answer)


def _failure(action: str, status: int, answer: Json) -> Exception:
    code = str(answer.get("__type", "")).rpartition("#")[2]
    message = str(answer.get("message") or answer.get("Message") or "")
    if code == "ConditionalCheckFailedException":
        return ConditionFailed(_item(answer))
    if code == "TransactionCanceledException":
        return _cancellation(answer.get("CancellationReasons") or [])
    if code in _THROTTLING:
        THROTTLED.inc()
        return _Retryable(code)
    if code in _RETRYABLE or status >= 500:
        return _Retryable(f"status {status} {code}")
    return DynamoDbError(_explain(action, code, message), code=code)


def _cancellation(told: list[Json]) -> Exception:
    reasons = [
        Reason(each.get("Code") or "None", _item(each), each.get("Message")) for each in told
    ]
    if {reason.code for reason in reasons} - {"None"} <= _THROTTLING:
        THROTTLED.inc()
        return _Retryable("throttled transaction")
    return Cancelled(reasons)


def _item(told: Json) -> Json | None:
    return from_wire(told["Item"]) if told.get("Item") else None


def _explain(action: str, code: str, message: str) -> str:
    said = f"DynamoDB refused {action}: {code or 'no reason'}"
    said = f"{said}: {message.rstrip('.')}." if message else f"{said}."
    if code == "ResourceNotFoundException":
        return (
            f"{said} Check GREENROOM_DYNAMODB_TABLE and GREENROOM_DYNAMODB_REGION, or make the "
            "table with `greenroom dynamodb create-table`."
        )
    if code == "AccessDeniedException":
        return f"{said} Allow dynamodb:{action} on the table and its indexes to this role."
    if code in _CREDENTIALS:
        return (
            f"{said} Check the AWS credentials (`aws sts get-caller-identity` shows whose they "
            "are) and this machine's clock."
        )
    return said
