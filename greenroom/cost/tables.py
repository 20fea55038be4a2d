"""Reads `prices.json` (dated prices) and `units.json` (measured capacity units per operation).

Both are read strictly: a misspelt or missing operation, or a negative price, is an error, because
otherwise the bill would be wrong without notice.
"""

from functools import cache
from importlib.resources import files
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

Amount = Annotated[float, Meta(ge=0)]
Positive = Annotated[float, Meta(gt=0)]


class TableError(Exception):
    """A table cannot be read; the message says which one and where it is wrong."""


class PriceTier(Struct, frozen=True, forbid_unknown_fields=True):
    """From this amount on, further units of the month have another price."""

    amount: Positive
    usd: Amount


class Price(Struct, frozen=True, forbid_unknown_fields=True):
    unit: str
    usd: Amount
    per: Positive = 1
    free: Amount = 0
    """The free monthly allowance of every account."""
    beyond: tuple[PriceTier, ...] = ()
    """Cheaper tiers, in the order of their amounts."""

    def cost(self, amount: float, *, free_tier: bool) -> float:
        """Dollars for this many units in one month."""
        left = max(0.0, amount - self.free) if free_tier else amount
        total, usd, start = 0.0, self.usd, 0.0
        for tier in self.beyond:
            total += max(0.0, min(left, tier.amount) - start) * usd
            usd, start = tier.usd, tier.amount
        return (total + max(0.0, left - start) * usd) / self.per


class Prices(Struct, frozen=True, forbid_unknown_fields=True):
    dynamodb_write: Price
    dynamodb_read: Price
    dynamodb_storage: Price
    dynamodb_recovery: Price
    s3_storage: Price
    s3_put: Price
    s3_get: Price
    lambda_request: Price
    lambda_compute: Price
    gateway_request: Price
    transfer_out: Price
    server_vcpu: Price
    server_memory: Price
    postgres_smallest: Price
    postgres_vcpu: Price
    postgres_storage: Price


class PriceTable(Struct, frozen=True, forbid_unknown_fields=True):
    as_of: Annotated[str, Meta(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    region: str
    note: str
    prices: Prices


class Units(Struct, frozen=True, forbid_unknown_fields=True):
    """What one operation consumes between two people, its indexes and outbox included."""

    read: Amount
    write: Amount
    bytes_stored: Annotated[int, Meta(ge=0)]
    """Bytes that are kept as long as the message or the thread: with copies in indexes and
    DynamoDB's 100 bytes per item, without feed entries, which expire after a week."""


class Operations(Struct, frozen=True, forbid_unknown_fields=True):
    append: Units
    thread_page: Units
    inbox: Units
    sync_nothing_new: Units
    sync_one_message: Units
    mark_read: Units
    acknowledge: Units
    start_thread: Units
    edit: Units
    delete: Units
    typing: Units
    presence: Units
    """One refresh of one person's presence."""
    recheck: Units
    """The server's periodic read of the head of one open feed."""
    look: Units
    """The server's periodic read of typing and presence in one watched thread."""


class UnitTable(Struct, frozen=True, forbid_unknown_fields=True):
    measured_at_version: str
    message_bytes: Annotated[int, Meta(gt=0)]
    """The length of the text that was sent while measuring."""
    operations: Operations
    further: dict[str, Units] = {}
    """Measured too, but not part of the bill."""


def read_prices(text: bytes) -> PriceTable:
    try:
        return msgspec.json.decode(text, type=PriceTable)
    except msgspec.MsgspecError as error:
        raise TableError(f"prices.json: {error}") from error


def read_units(text: bytes) -> UnitTable:
    try:
        return msgspec.json.decode(text, type=UnitTable)
    except msgspec.MsgspecError as error:
        raise TableError(f"units.json: {error}") from error


@cache
def prices() -> PriceTable:
    return read_prices(_bytes("prices.json"))


@cache
def units() -> UnitTable:
    return read_units(_bytes("units.json"))


def _bytes(name: str) -> bytes:
    return files(__package__).joinpath(name).read_bytes()
