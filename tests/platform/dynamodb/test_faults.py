"""Temporary faults are retried for a bounded time; permanent ones are reported at once."""

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import replace

import pytest
from prometheus_client import REGISTRY

from greenroom.kernel.errors import Unavailable
from greenroom.platform.dynamodb.client import ATTEMPTS
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.errors import Cancelled, ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.table import UNLESS_THERE, Put, Update
from greenroom.platform.dynamodb.transport import HttpTransport, open_client

from .faults import (
    Fault,
    FaultyTable,
    answered,
    cancelled,
    lost_answer,
    refused,
    unreachable,
)

THROTTLED = refused("ProvisionedThroughputExceededException", message="slow down")


def throttled_total() -> float:
    return REGISTRY.get_sample_value("greenroom_dynamodb_throttled_total") or 0


@pytest.mark.parametrize(
    "fault",
    [
        THROTTLED,
        refused("ThrottlingException"),
        refused("RequestLimitExceeded"),
        refused("TransactionConflictException"),
        refused("TransactionInProgressException"),
        refused("InternalServerError", status=500),
        refused("ServiceUnavailable", status=503),
        answered(502, b"<html>Bad Gateway</html>"),
        answered(200, b'{"Ite'),
        unreachable,
        lost_answer,
    ],
)
async def test_what_passes_is_repeated(faulty: FaultyTable, pk: str, fault: Fault) -> None:
    faulty.meets(fault, fault)
    await faulty.table.write(Put({"pk": pk, "sk": "a"}))
    assert await faulty.table.get((pk, "a")) == {"pk": pk, "sk": "a"}
    assert [action for action, _ in faulty.sent] == ["PutItem"] * 3 + ["GetItem"]


@pytest.mark.parametrize("fault", [THROTTLED, unreachable, answered(500, b"")])
async def test_what_does_not_pass_ends_in_unavailable(
    faulty: FaultyTable, pk: str, fault: Fault
) -> None:
    faulty.meets(*[fault] * ATTEMPTS)
    with pytest.raises(Unavailable) as given_up:
        await faulty.table.get((pk, "a"))
    assert given_up.value.retry_after_s
    assert len(faulty.sent) == ATTEMPTS
    assert faulty.pauses_s == [0.025, 0.05, 0.1, 0.2, 0.4]


async def test_pauses_are_shortened_by_chance_and_never_long(faulty: FaultyTable) -> None:
    faulty.chance = 0.5
    for attempt in (1, 2, 6, 7, 100):
        await faulty.client.pause(attempt)
    assert faulty.pauses_s == [0.0125, 0.025, 0.4, 0.5, 0.5]


async def test_throttling_is_counted_and_nothing_else_is(faulty: FaultyTable, pk: str) -> None:
    before = throttled_total()
    faulty.meets(THROTTLED, unreachable, refused("TransactionConflictException"), THROTTLED)
    await faulty.table.get((pk, "a"))
    assert throttled_total() == before + 2


async def test_a_transaction_whose_answer_was_lost_happens_once(
    faulty: FaultyTable, pk: str
) -> None:
    faulty.meets(lost_answer, unreachable, lost_answer)
    await faulty.table.transact([Update((pk, "a"), "ADD n :one", values={":one": 1})])
    assert await faulty.table.get((pk, "a")) == {"pk": pk, "sk": "a", "n": 1}
    tokens = {request["ClientRequestToken"] for _, request in faulty.sent[:4]}
    assert len(tokens) == 1


async def test_a_conditional_write_meets_its_own_lost_attempt(faulty: FaultyTable, pk: str) -> None:
    mine = {"pk": pk, "sk": "a", "by": "me"}
    faulty.meets(lost_answer)
    with pytest.raises(ConditionFailed) as met:
        await faulty.table.write(Put(mine, UNLESS_THERE))
    assert met.value.item == mine


@pytest.mark.parametrize("codes", [["ThrottlingError"], ["None", "ProvisionedThroughputExceeded"]])
async def test_a_throttled_transaction_is_repeated(
    faulty: FaultyTable, pk: str, codes: Sequence[str]
) -> None:
    before = throttled_total()
    faulty.meets(cancelled(*codes))
    await faulty.table.transact([Put({"pk": pk, "sk": "a"})])
    assert await faulty.table.get((pk, "a")) is not None
    assert throttled_total() == before + 1


@pytest.mark.parametrize(
    ("codes", "failed"),
    [
        (["TransactionConflict"], []),
        (["ThrottlingError", "TransactionConflict"], []),
        (["ConditionalCheckFailed", "TransactionConflict"], [0]),
    ],
)
async def test_a_conflict_of_transactions_is_left_to_the_caller(
    faulty: FaultyTable, pk: str, codes: Sequence[str], failed: list[int]
) -> None:
    faulty.meets(cancelled(*codes))
    with pytest.raises(Cancelled) as stopped:
        await faulty.table.transact([Put({"pk": pk, "sk": "a"})])
    assert stopped.value.failed == failed
    assert len(faulty.sent) == 1


@pytest.mark.parametrize(
    ("fault", "advice"),
    [
        (refused("ResourceNotFoundException"), "greenroom dynamodb create-table"),
        (refused("AccessDeniedException", Message="no."), r"no\. Allow dynamodb:GetItem on"),
        (refused("UnrecognizedClientException"), "Check the AWS credentials"),
        (refused("ExpiredTokenException"), "Check the AWS credentials"),
        (refused("ValidationException", message="bad key"), "ValidationException: bad key"),
        (answered(403, b"<html>Forbidden</html>"), "Check GREENROOM_DYNAMODB_ENDPOINT"),
    ],
)
async def test_what_no_waiting_mends_is_told_at_once(
    faulty: FaultyTable, pk: str, fault: Fault, advice: str
) -> None:
    faulty.meets(fault)
    with pytest.raises(DynamoDbError, match=advice):
        await faulty.table.get((pk, "a"))
    assert len(faulty.sent) == 1


async def test_nobody_listens(dynamodb_access: Access) -> None:
    with socket.socket() as taken:
        # Bound and never listening: connections are refused, and nobody else gets the port.
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        transport = HttpTransport(replace(dynamodb_access, url=url))
        with pytest.raises(ConnectionError):
            await transport("ListTables", b"{}")
        await transport.close()


async def test_an_answer_that_never_comes_is_given_up(dynamodb_access: Access) -> None:
    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(swallow, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = HttpTransport(replace(dynamodb_access, url=url), timeout_s=0.05)
        with pytest.raises(TimeoutError):
            await transport("ListTables", b"{}")
        await transport.close()


async def test_half_an_answer_is_none(dynamodb_access: Access) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        transport = HttpTransport(replace(dynamodb_access, url=url))
        with pytest.raises(ConnectionError):
            await transport("ListTables", b"{}")
        await transport.close()


async def test_a_client_may_be_closed_before_it_was_used(dynamodb_access: Access) -> None:
    await open_client(dynamodb_access).close()


def test_an_address_needs_a_host(dynamodb_access: Access) -> None:
    with pytest.raises(ValueError, match="needs a host"):
        HttpTransport(replace(dynamodb_access, url="localhost"))
