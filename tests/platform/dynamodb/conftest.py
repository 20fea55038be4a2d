"""This module's table, and the same behind a connection that fails."""

import secrets
from collections.abc import AsyncIterator

import pytest

from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import Table
from greenroom.platform.dynamodb.transport import open_client

from .faults import FaultyTable


@pytest.fixture(scope="module")
def meter() -> Meter:
    return Meter()


@pytest.fixture(scope="module")
async def table(dynamodb_access: Access, dynamodb_table: str, meter: Meter) -> AsyncIterator[Table]:
    opened = Table(open_client(dynamodb_access), dynamodb_table, meter)
    yield opened
    await opened.close()


@pytest.fixture
async def faulty(dynamodb_access: Access, dynamodb_table: str) -> AsyncIterator[FaultyTable]:
    """The module's table behind a connection that fails as it is told to."""
    made = FaultyTable(dynamodb_access, dynamodb_table)
    yield made
    await made.table.close()


@pytest.fixture
def pk() -> str:
    """A partition that nobody has written to."""
    return f"P#{secrets.token_hex(6)}"
