"""What the sandbox provider remembers: operations by key and the webhooks it owes, in SQLite.

One file, written through to the disk before anything is answered, so that it survives a kill at any
moment. Several processes may share it. Ids count up: the same calls make the same ids.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from greenroom.bookings.money.provider import OperationName, Status

DECLINED_CENTS = 13
BUSY_TIMEOUT_S = 30.0
LISTED = 10_000

SCHEMA = """
create table if not exists operation (
    number integer primary key autoincrement,
    key text not null unique,
    operation text not null,
    account text not null,
    amount_cents integer not null,
    currency text not null,
    source text,
    reference text not null,
    status text not null,
    failure_code text,
    times integer not null default 1
);
create index if not exists operation_source on operation (source) where source is not null;
create table if not exists webhook (
    number integer primary key autoincrement,
    body blob not null,
    copies integer not null,
    is_sent integer not null default 0
);
create index if not exists webhook_owed on webhook (number) where not is_sent;
"""

FIND = "select * from operation where key = ?"
COUNT_REPEAT = "update operation set times = times + 1 where key = ?"
ADD = """
insert into operation (key, operation, account, amount_cents, currency, source, reference, status,
                       failure_code)
values (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
# What has been taken from a charge or hold, or is about to be.
TAKEN = """
select coalesce(sum(amount_cents), 0) as cents,
    coalesce(sum(operation = 'release'), 0) as releases
from operation where source = ? and status in ('succeeded', 'pending')
"""
PENDING = "select * from operation where status = 'pending' and (?1 is null or key = ?1)"
SETTLE = "update operation set status = ?, failure_code = ? where number = ?"
ALL = "select * from operation order by number limit ?"
OWE = "insert into webhook (body, copies) values (?, ?)"
OWED = "select number, body, copies from webhook where not is_sent order by number limit ?"
SENT = "update webhook set is_sent = 1 where number = ?"


class Asked(msgspec.Struct, frozen=True):
    operation: OperationName
    account: str
    amount_cents: int
    currency: str
    source: str | None
    reference: str


class Shown(msgspec.Struct, frozen=True):
    """An operation as callers see it."""

    id: str
    key: str
    status: Status
    failure_code: str | None


@dataclass(frozen=True, slots=True)
class Will:
    """What is to become of an operation, as far as the rules allow it."""

    status: Status = "succeeded"
    failure_code: str | None = None
    webhooks: int = 1
    """How often the webhook for it is delivered; 0 where nobody listens."""


@dataclass(frozen=True, slots=True)
class Owed:
    number: int
    body: bytes
    copies: int


class KeyMismatchError(Exception):
    """The key was used for something else."""


class SandboxState:
    """Used by one thread at a time."""

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(
            file, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
        )
        self._db.row_factory = sqlite3.Row
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        self._db.close()

    def find(self, key: str) -> Shown | None:
        row = self._db.execute(FIND, (key,)).fetchone()
        return None if row is None else _shown(row)

    def carry_out(self, key: str, asked: Asked, will: Will) -> Shown:
        """The operation under this key, done now if it was not before."""
        with self._change():
            row = self._db.execute(FIND, (key,)).fetchone()
            if row is not None:
                if any(row[name] != value for name, value in _columns(asked).items()):
                    raise KeyMismatchError
                self._db.execute(COUNT_REPEAT, (key,))
                return _shown(row)
            return self._do(key, asked, will)

    @contextmanager
    def _change(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def _do(self, key: str, asked: Asked, will: Will) -> Shown:
        refusal = self._refusal(asked)
        status: Status = "failed" if refusal else will.status
        code = refusal or will.failure_code
        self._db.execute(ADD, (key, *_columns(asked).values(), status, code))
        shown = _shown(self._db.execute(FIND, (key,)).fetchone())
        self._owe(shown, will.webhooks)
        return shown

    def _refusal(self, asked: Asked) -> str | None:
        """Why a provider would not do it, by its own rules."""
        if asked.operation in ("charge", "hold"):
            is_declined = asked.amount_cents % 100 == DECLINED_CENTS
            return "card_declined" if is_declined else None
        if asked.operation == "payout":
            return None
        source = self._source(asked)
        if source is None:
            return "no_such_source"
        if source["currency"] != asked.currency:
            return "wrong_currency"
        taken = self._db.execute(TAKEN, (asked.source,)).fetchone()
        if taken["releases"]:
            return "already_released"
        if taken["cents"] + asked.amount_cents > source["amount_cents"]:
            return f"{asked.operation}_exceeds_{source['operation']}"
        return None

    def _source(self, asked: Asked) -> sqlite3.Row | None:
        """The charge or capture that is refunded, or the hold that is captured or released."""
        allowed = ("charge", "capture") if asked.operation == "refund" else ("hold",)
        operation, _, number = (asked.source or "").removeprefix("sbx_").partition("_")
        if operation not in allowed or not number.isascii() or not number.isdigit():
            return None
        row: sqlite3.Row | None = self._db.execute(
            "select * from operation where number = ? and operation = ? and status = 'succeeded'",
            (int(number[:18]), operation),
        ).fetchone()
        return row

    def settle(
        self, key: str | None, status: Literal["succeeded", "failed"], code: str | None, copies: int
    ) -> list[Shown]:
        """Decide what is pending: the one with this key, or all."""
        with self._change():
            settled = []
            for row in self._db.execute(PENDING, (key,)).fetchall():
                self._db.execute(SETTLE, (status, code, row["number"]))
                shown = _shown(self._db.execute(FIND, (row["key"],)).fetchone())
                self._owe(shown, copies)
                settled.append(shown)
            return settled

    def _owe(self, shown: Shown, copies: int) -> None:
        if not copies or shown.status == "pending":
            return
        # Not counted: after a new beginning, the first event must not look like the first of old.
        event_id = f"evt_{hashlib.sha256(shown.key.encode()).hexdigest()[:24]}"
        event = {"id": event_id, "type": f"operation.{shown.status}", "operation": shown}
        self._db.execute(OWE, (msgspec.json.encode(event), copies))

    def owed(self) -> list[Owed]:
        """Webhooks that have not been delivered, in the order in which they were made."""
        rows = self._db.execute(OWED, (LISTED,)).fetchall()
        return [Owed(row["number"], row["body"], row["copies"]) for row in rows]

    def sent(self, number: int) -> None:
        self._db.execute(SENT, (number,))

    def all(self) -> list[dict[str, Any]]:
        """Every operation, how often its key came in, and whether money moved."""
        return [
            {
                **{name: row[name] for name in (*Asked.__struct_fields__, "times")},
                **msgspec.structs.asdict(_shown(row)),
                "moved": row["status"] == "succeeded",
            }
            for row in self._db.execute(ALL, (LISTED,))
        ]


def _columns(asked: Asked) -> dict[str, Any]:
    return msgspec.structs.asdict(asked)


def _shown(row: sqlite3.Row) -> Shown:
    provider_id = f"sbx_{row['operation']}_{row['number']}"
    return Shown(provider_id, row["key"], row["status"], row["failure_code"])
