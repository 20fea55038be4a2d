"""A table that records what each request consumed, and on which items.

DynamoDB returns units per request. The units of each item of a transaction are computed from its
size by DynamoDB's published rules, and every request checks that the two agree.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.metering import Meter, consumed
from greenroom.platform.dynamodb.table import Key, Table
from greenroom.platform.dynamodb.values import Item, from_wire

Json = dict[str, Any]

ITEM_OVERHEAD_BYTES = 100
"""What DynamoDB adds to every item, and to every copy in an index, when it bills storage."""

# By the prefix of the partition key, then of the sort key; the first match counts.
_KINDS = (
    ("THR#", "THR", "thread"),
    ("THR#", "PART#", "inbox row"),
    ("THR#", "MSG#", "message"),
    ("THR#", "AUD#", "original"),
    ("THR#", "CARD#", "card"),
    ("CRD#", "", "place of a card"),
    ("DEC#", "", "mark of a decision"),
    ("FEED#", "E#", "feed entry"),
    ("FEED#", "H", "feed head"),
    ("CID#", "", "client id"),
    ("KEY#", "", "kept answer"),
    ("OUTBOX#", "block#", "note of a block"),
    ("OUTBOX#", "", "record"),
    ("BLK#", "V", "version of blocks"),
    ("BLK#", "", "block"),
    ("USER#", "", "pointer"),
    ("PAIR#", "N", "lock of two"),
    ("PAIR#", "T#", "thread of two"),
    ("RATE#", "", "start limit"),
    ("TYP#", "", "typing"),
    ("DEV#", "", "typing device"),
    ("PRS#", "", "presence"),
    ("META", "", "epoch"),
)


def kind_of(key: Mapping[str, Any]) -> str:
    pk, sk = str(key["pk"]), str(key["sk"])
    return next(
        name for first, second, name in _KINDS if pk.startswith(first) and sk.startswith(second)
    )


def size_of(item: Mapping[str, Any]) -> int:
    """The size in bytes, by DynamoDB's rules."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Any) -> int:
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, int):
        return math.ceil(len(str(abs(value)).strip("0")) / 2) + 1 + (value < 0)
    if isinstance(value, str):
        return len(value.encode())
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, dict):
        return 3 + sum(1 + len(name.encode()) + _value_size(each) for name, each in value.items())
    return 3 + sum(1 + _value_size(each) for each in value)


@dataclass(frozen=True, slots=True)
class Request:
    action: str
    items: str
    """A description: which items, how many, and the units of each if there are several."""
    read: float
    write: float


class WatchedTable(Table):
    def __init__(self, client: Client, name: str, meter: Meter) -> None:
        super().__init__(client, name, meter)
        self.seen: list[Request] = []
        self.written: dict[Key, Item] = {}
        """The items that were put since the measurement began, in their last state."""
        self._sizes: dict[Key, int] = {}

    def watch(self) -> None:
        self.seen, self.written = [], {}

    async def _call(self, action: str, request: Json) -> Json:
        answer = await super()._call(action, request)
        read, write = consumed(action, answer)
        self.seen.append(Request(action, self._describe(action, request, answer), read, write))
        return answer

    def _describe(self, action: str, request: Json, answer: Json) -> str:
        if action == "TransactWriteItems":
            return self._transaction(request, consumed(action, answer)[1])
        if action == "BatchWriteItem":
            [entries] = request["RequestItems"].values()
            keys = [
                each["PutRequest"]["Item"] if "PutRequest" in each else each["DeleteRequest"]["Key"]
                for each in entries
            ]
            for each in entries:
                if "PutRequest" in each:
                    self._note(from_wire(each["PutRequest"]["Item"]))
            return _counted(map(from_wire, keys))
        if action == "BatchGetItem":
            [entries] = request["RequestItems"].values()
            return _counted(map(from_wire, entries["Keys"]))
        if action == "Query":
            where = f" in {request['IndexName']}" if "IndexName" in request else ""
            return (_counted(map(from_wire, answer["Items"])) or "nothing") + where
        if "Item" in request:
            self._note(from_wire(request["Item"]))
        return kind_of(from_wire(request.get("Key") or request["Item"])) + _indexes(answer)

    def _transaction(self, request: Json, told: float) -> str:
        parts, units = [], 0
        for entry in request["TransactItems"]:
            [(_, fields)] = entry.items()
            item = from_wire(fields.get("Item") or fields["Key"])
            # Replacing an item by a smaller one costs as much as the old one. Items that are only
            # checked or updated are small.
            size = max(size_of(item), self._sizes.get((item["pk"], item["sk"]), 0))
            each = 2 * math.ceil(size / 1024)
            units += each
            parts.append(f"{kind_of(item)} {each}")
            if "Item" in fields or "UpdateExpression" in fields:
                self._note(item)
        if units != told:
            raise AssertionError(f"{told:g} units were told, and by their sizes: {parts}")
        return ", ".join(f"{part} × {n}" if n > 1 else part for part, n in Counter(parts).items())

    def _note(self, item: Item) -> None:
        key = item["pk"], item["sk"]
        self.written[key] = item
        self._sizes[key] = size_of(item)


def _counted(keys: Iterable[Item]) -> str:
    counts = Counter(map(kind_of, keys))
    return ", ".join(f"{kind} × {n}" if n > 1 else kind for kind, n in counts.items())


def _indexes(answer: Json) -> str:
    """The units of a write that went to indexes."""
    told = (answer.get("ConsumedCapacity") or {}).get("GlobalSecondaryIndexes") or {}
    parts = [f"{name} {each['CapacityUnits']:g}" for name, each in sorted(told.items())]
    return f" (of which {', '.join(parts)})" if parts else ""


def stored_bytes(written: Mapping[Key, Item], kinds: Collection[str]) -> int:
    """The billed storage of these items, with their copies in indexes."""
    total = 0
    for item in written.values():
        if kind_of(item) in kinds:
            copies = [
                {"pk", "sk", f"{index}pk", f"{index}sk", *more} & item.keys()
                for index, more in (("gsi1", ("row", "n")), ("gsi2", ()))
                if f"{index}pk" in item
            ]
            for names in (item.keys(), *copies):
                total += size_of({name: item[name] for name in names}) + ITEM_OVERHEAD_BYTES
    return total
