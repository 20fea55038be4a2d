"""One DynamoDB table: items by key, queries of a partition, conditional writes and transactions.

Generated expressions use the names `#p` and `#s`. Callers pass `names` for attributes that are
reserved words in DynamoDB, such as `last` or `view`.
"""

import secrets
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import ATTEMPTS, RETRY_AFTER_S, Client, Json
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed
from greenroom.platform.dynamodb.metering import THROTTLED, Meter, consumed
from greenroom.platform.dynamodb.values import Item, from_wire, to_wire

Key = tuple[str, str]
Index = Literal["GSI1", "GSI2"]

UNLESS_THERE = "attribute_not_exists(pk)"
EPOCH_KEY: Key = ("META", "EPOCH")

# DynamoDB's own limits.
KEYS_PER_GET = 100
ITEMS_PER_WRITE = 25
OPERATIONS_PER_TRANSACTION = 100

_KEYS_OF: dict[Index | None, dict[str, str]] = {
    None: {"#p": "pk", "#s": "sk"},
    "GSI1": {"#p": "gsi1pk", "#s": "gsi1sk"},
    "GSI2": {"#p": "gsi2pk", "#s": "gsi2sk"},
}


_BOUNDS = {
    "after": "#s > :a",
    "at_least": "#s >= :a",
    "before": "#s < :a",
    "prefix": "begins_with(#s, :a)",
    "between": "#s BETWEEN :a AND :b",
}


class QueryRange(TypedDict, total=False):
    """The range of a partition that a query reads: at most one of the five bounds.

    An index is eventually consistent: recent writes may be missing there.
    """

    after: str | None
    at_least: str | None
    before: str | None
    prefix: str | None
    between: tuple[str, str] | None
    """Both ends are included."""
    reverse: bool
    index: Index | None
    consistent: bool
    """Default True; never for an index."""


@dataclass(frozen=True, slots=True)
class Put:
    """Write the whole item. `condition` applies to the existing item."""

    item: Item
    condition: str | None = None
    values: dict[str, Any] | None = None
    names: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Change or create an item: `SET a = :a REMOVE b ADD c :one`."""

    key: Key
    expression: str
    condition: str | None = None
    values: dict[str, Any] | None = None
    names: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    key: Key
    condition: str | None = None
    values: dict[str, Any] | None = None
    names: dict[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """Cancels the transaction unless the condition holds. Changes nothing."""

    key: Key
    condition: str
    values: dict[str, Any] | None = None
    names: dict[str, str] | None = None


class Table:
    """Every method raises `Unavailable` when DynamoDB is unreachable or throttles for too long."""

    def __init__(self, client: Client, name: str, meter: Meter) -> None:
        self._client = client
        self._name = name
        self._meter = meter

    async def get(self, key: Key, *, consistent: bool = True) -> Item | None:
        request = {"TableName": self._name, "Key": _wire_key(key), "ConsistentRead": consistent}
        found = (await self._call("GetItem", request)).get("Item")
        return from_wire(found) if found else None

    async def get_many(self, keys: Collection[Key], *, consistent: bool = True) -> dict[Key, Item]:
        """The existing items among these keys."""
        found: dict[Key, Item] = {}
        for some in _chunks(list(dict.fromkeys(keys)), KEYS_PER_GET):
            wanted = {"Keys": [_wire_key(key) for key in some], "ConsistentRead": consistent}
            for answer in await self._batch("BatchGetItem", "UnprocessedKeys", wanted):
                for attributes in answer["Responses"].get(self._name, ()):
                    item = from_wire(attributes)
                    found[item["pk"], item["sk"]] = item
        return found

    async def query(
        self, pk: str, *, limit: int | None = None, **range_: Unpack[QueryRange]
    ) -> list[Item]:
        """Items of a partition in the order of their sort keys: `limit` of them, or all."""
        request = self._query_request(pk, range_)
        items: list[Item] = []
        start: Item | None = None
        while limit is None or len(items) < limit:
            left = None if limit is None else limit - len(items)
            page, start = await self._page("Query", request, left, start)
            items += page
            if start is None:
                break
        return items

    async def query_page(
        self,
        pk: str,
        *,
        limit: int | None = None,
        start: Item | None = None,
        **range_: Unpack[QueryRange],
    ) -> tuple[list[Item], Item | None]:
        """One page of `query`: items (perhaps none), and the start of the next page, if any."""
        return await self._page("Query", self._query_request(pk, range_), limit, start)

    async def scan(self, *, start: Item | None, limit: int) -> tuple[list[Item], Item | None]:
        """A page of the whole table, partition by partition in no useful order; consistent."""
        request = {"TableName": self._name, "ConsistentRead": True}
        return await self._page("Scan", request, limit, start)

    async def write(self, op: Put | Update | Delete) -> None:
        """Raises `ConditionFailed`. An `ADD` may be applied twice when the connection is lost; if
        that matters, use a condition or a transaction."""
        kind, fields = self._operation(op)
        await self._call(f"{kind}Item", fields)

    async def write_many(self, ops: Sequence[Put | Delete]) -> None:
        """Not atomic and without conditions: some may be written when this fails.

        Repeating all of it is harmless. No two may have the same key.
        """
        if any(op.condition is not None for op in ops):
            raise ValueError("write_many takes no conditions; use write or transact")
        for some in _chunks(ops, ITEMS_PER_WRITE):
            wanted = [_batched(op) for op in some]
            await self._batch("BatchWriteItem", "UnprocessedItems", wanted)

    async def transact(
        self, ops: Sequence[Put | Update | Delete | Check], *, token: str | None = None
    ) -> None:
        """All or nothing. Raises `Cancelled`.

        A repeat with the same token (at most 36 characters) within ten minutes changes nothing and
        succeeds; repeats after a lost connection are made here, with a token of their own if none
        is given. No two operations may have the same key.
        """
        if not 1 <= len(ops) <= OPERATIONS_PER_TRANSACTION:
            raise ValueError(f"a transaction takes 1 to 100 operations, not {len(ops)}")
        request = {
            "TransactItems": [dict([self._operation(op)]) for op in ops],
            "ClientRequestToken": token or secrets.token_hex(16),
        }
        await self._call("TransactWriteItems", request)

    async def ping(self) -> None:
        """Raises when the table cannot be read."""
        await self.get(EPOCH_KEY, consistent=False)

    async def close(self) -> None:
        await self._client.close()

    def _query_request(self, pk: str, range_: QueryRange) -> Json:
        """The request of a query."""
        index = range_.get("index")
        condition, values = _condition(pk, range_)
        names = _KEYS_OF[index]
        request: Json = {
            "TableName": self._name,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": names if ":a" in values else {"#p": names["#p"]},
            "ExpressionAttributeValues": to_wire(values),
            "ScanIndexForward": not range_.get("reverse", False),
        }
        if index is None:
            request["ConsistentRead"] = range_.get("consistent", True)
        else:
            request["IndexName"] = index
        return request

    async def _page(
        self, action: str, request: Json, limit: int | None, start: Item | None
    ) -> tuple[list[Item], Item | None]:
        asked = dict(request)
        if limit is not None:
            asked["Limit"] = limit
        if start is not None:
            asked["ExclusiveStartKey"] = to_wire(start)
        answer = await self._call(action, asked)
        items = [from_wire(attributes) for attributes in answer["Items"]]
        last = answer.get("LastEvaluatedKey")
        return items, from_wire(last) if last else None

    async def _batch(self, action: str, left: str, wanted: Any) -> list[Json]:
        """Repeats the request for the items that DynamoDB has left out because of throttling."""
        answers = []
        items = {self._name: wanted}
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._client.pause(attempt)
            answer = await self._call(action, {"RequestItems": items})
            answers.append(answer)
            items = answer.get(left) or {}
            if not items:
                return answers
            THROTTLED.inc()
        raise Unavailable("The database is too busy just now.", retry_after_s=RETRY_AFTER_S)

    def _operation(self, op: Put | Update | Delete | Check) -> tuple[str, Json]:
        """The operation's name and fields; the same for single writes and transactions."""
        fields: Json = {"TableName": self._name}
        if isinstance(op, Put):
            fields["Item"] = to_wire(op.item)
        else:
            fields["Key"] = _wire_key(op.key)
        if isinstance(op, Update):
            fields["UpdateExpression"] = op.expression
        if op.condition is not None:
            fields["ConditionExpression"] = op.condition
            fields["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        if op.values:
            fields["ExpressionAttributeValues"] = to_wire(op.values)
        if op.names:
            fields["ExpressionAttributeNames"] = op.names
        return _NAMES[type(op)], fields

    async def _call(self, action: str, request: Json) -> Json:
        try:
            answer = await self._client.call(
                action, {**request, "ReturnConsumedCapacity": "INDEXES"}
            )
        except (ConditionFailed, Cancelled):
            self._meter(action, 0, 0)
            raise
        self._meter(action, *consumed(action, answer))
        return answer


_NAMES: dict[type, str] = {
    Put: "Put",
    Update: "Update",
    Delete: "Delete",
    Check: "ConditionCheck",
}


def _wire_key(key: Key) -> Json:
    return {"pk": {"S": key[0]}, "sk": {"S": key[1]}}


def _condition(pk: str, range_: QueryRange) -> tuple[str, dict[str, str]]:
    given = [name for name in _BOUNDS if range_.get(name) is not None]
    if len(given) > 1:
        raise ValueError(f"a query takes one bound, not {' and '.join(given)}")
    values = {":p": pk}
    if not given:
        return "#p = :p", values
    bound: Any = range_.get(given[0])
    values[":a"], *more = bound if given[0] == "between" else [bound]
    if more:
        [values[":b"]] = more
    return f"#p = :p AND {_BOUNDS[given[0]]}", values


def _batched(op: Put | Delete) -> Json:
    if isinstance(op, Put):
        return {"PutRequest": {"Item": to_wire(op.item)}}
    return {"DeleteRequest": {"Key": _wire_key(op.key)}}


def _chunks(values: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    return (values[at : at + size] for at in range(0, len(values), size))
