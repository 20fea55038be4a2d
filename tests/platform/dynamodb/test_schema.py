"""The table is created once, checked at every start, and equal to the CloudFormation template."""

import secrets
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import msgspec
import pytest
from cfnlint.decode import decode  # type: ignore[import-untyped]

from greenroom.platform.dynamodb.client import Client, Json
from greenroom.platform.dynamodb.credentials import Access
from greenroom.platform.dynamodb.errors import ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.schema import (
    PATIENCE,
    TAGS,
    TTL_ATTRIBUTE,
    create_table,
    definition,
    new_epoch,
)
from greenroom.platform.dynamodb.table import EPOCH_KEY, Table
from greenroom.platform.dynamodb.transport import open_client
from tests.support import REPOSITORY

from .faults import Fault, FaultyTable, answered, refused

TEMPLATE = REPOSITORY / "deploy" / "dynamodb.yaml"


@pytest.fixture
async def client(dynamodb_access: Access) -> AsyncIterator[Client]:
    opened = open_client(dynamodb_access)
    yield opened
    await opened.close()


@pytest.fixture
def name() -> str:
    return f"schema-{secrets.token_hex(4)}"


async def epoch_of(client: Client, name: str) -> str:
    item = await Table(client, name, Meter()).get(EPOCH_KEY)
    assert item is not None
    epoch: str = item["epoch"]
    return epoch


async def described(client: Client, name: str) -> Json:
    found: Json = (await client.call("DescribeTable", {"TableName": name}))["Table"]
    return found


async def tags_of(client: Client, name: str) -> dict[str, str]:
    arn = (await described(client, name))["TableArn"]
    tags = (await client.call("ListTagsOfResource", {"ResourceArn": arn}))["Tags"]
    return {tag["Key"]: tag["Value"] for tag in tags}


async def test_a_table_is_made_with_all_it_needs(client: Client, name: str) -> None:
    said = await create_table(client, name, tags={"team": "messaging"}, protected=True)
    assert said[0] == f"The table {name} was created."
    assert any("no point-in-time recovery" in line for line in said)
    table = await described(client, name)
    assert table["DeletionProtectionEnabled"]
    assert table["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert await tags_of(client, name) == {"app": "greenroom", "team": "messaging"}
    expiry = await client.call("DescribeTimeToLive", {"TableName": name})
    assert expiry["TimeToLiveDescription"]["AttributeName"] == "ttl"
    epoch = await epoch_of(client, name)
    assert len(epoch) == 8
    assert int(epoch, 16) >= 0


async def test_making_it_again_keeps_rows_by_table_and_adds_what_is_not(
    client: Client, name: str
) -> None:
    await create_table(client, name)
    epoch = await epoch_of(client, name)
    assert not (await described(client, name))["DeletionProtectionEnabled"]
    said = await create_table(client, name, tags={"team": "messaging"}, protected=True)
    assert said[0] == f"The table {name} was there already."
    assert f"The epoch of its feeds is {epoch}, as before." in said
    assert await epoch_of(client, name) == epoch
    assert (await described(client, name))["DeletionProtectionEnabled"]
    assert await tags_of(client, name) == {"app": "greenroom", "team": "messaging"}


async def test_two_who_make_it_at_once_both_succeed(dynamodb_access: Access, name: str) -> None:
    faulty = FaultyTable(dynamodb_access, name)
    await create_table(faulty.client, name)
    # The second one saw no table when it looked, and is told that there is one.
    faulty.meets(refused("ResourceNotFoundException"))
    assert (await create_table(faulty.client, name))[0] == f"The table {name} was created."
    await faulty.table.close()


def without_an_index(new: Json) -> None:
    new["GlobalSecondaryIndexes"].pop(1)
    new["AttributeDefinitions"] = new["AttributeDefinitions"][:4]


def with_less_in_an_index(new: Json) -> None:
    new["GlobalSecondaryIndexes"][0]["Projection"] = {"ProjectionType": "KEYS_ONLY"}


def with_other_keys_in_an_index(new: Json) -> None:
    new["GlobalSecondaryIndexes"][1]["KeySchema"].pop(1)
    new["AttributeDefinitions"].pop()


def with_a_number_as_key(new: Json) -> None:
    new["AttributeDefinitions"][1]["AttributeType"] = "N"


def with_other_keys(new: Json) -> None:
    new["KeySchema"].pop(1)
    new["AttributeDefinitions"].pop(1)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (without_an_index, "the index GSI2 is missing"),
        (with_less_in_an_index, "GSI1 does not project INCLUDE"),
        (with_other_keys_in_an_index, "the keys of GSI2 are not gsi2pk, gsi2sk"),
        (with_a_number_as_key, "sk is no string"),
        (with_other_keys, "its keys are pk instead of pk, sk"),
    ],
)
async def test_a_table_of_another_shape_is_left_alone(
    client: Client, name: str, change: Callable[[Json], None], complaint: str
) -> None:
    other = definition(name, {}, protected=False)
    change(other)
    await client.call("CreateTable", other)
    before = await described(client, name)
    with pytest.raises(DynamoDbError, match=complaint) as refusal:
        await create_table(client, name)
    assert "Set GREENROOM_DYNAMODB_TABLE to another name" in str(refusal.value)
    assert await described(client, name) == before


async def test_a_table_whose_items_expire_by_something_else_is_told(
    client: Client, name: str
) -> None:
    await client.call("CreateTable", definition(name, {}, protected=False))
    other = {"Enabled": True, "AttributeName": "until"}
    await client.call("UpdateTimeToLive", {"TableName": name, "TimeToLiveSpecification": other})
    with pytest.raises(DynamoDbError, match="expire by until instead of ttl"):
        await create_table(client, name)


class Slow:
    """Stands for AWS, where a table takes its time; here it is ready at once."""

    def __init__(self, access: Access, name: str) -> None:
        self.faulty = FaultyTable(access, name)
        self.slept: list[float] = []

    async def create(self, name: str) -> list[str]:
        async def sleep(seconds: float) -> None:
            self.slept.append(seconds)

        return await create_table(self.faulty.client, name, sleep=sleep)


@pytest.fixture
async def slow(dynamodb_access: Access, client: Client, name: str) -> AsyncIterator[Slow]:
    await create_table(client, name)
    made = Slow(dynamodb_access, name)
    yield made
    await made.faulty.table.close()


def saying(status: str, index_status: str) -> Fault:
    index = {"IndexName": "GSI1", "IndexStatus": index_status}
    table = {"TableStatus": status, "GlobalSecondaryIndexes": [index]}
    return answered(200, msgspec.json.encode({"Table": table}))


async def test_it_waits_until_the_table_and_its_indexes_are_ready(slow: Slow, name: str) -> None:
    creating = saying("CREATING", "CREATING")
    indexing = saying("ACTIVE", "CREATING")
    # Right after it was made, AWS may not know it yet.
    slow.faulty.meets(creating, refused("ResourceNotFoundException"), creating, indexing)
    assert len(await slow.create(name)) == 4
    assert len(slow.slept) == 3


async def test_a_table_that_is_never_ready_is_told(slow: Slow, name: str) -> None:
    slow.faulty.meets(*[saying("CREATING", "CREATING")] * (1 + PATIENCE))
    with pytest.raises(DynamoDbError, match="run this again when it is active"):
        await slow.create(name)
    assert len(slow.slept) == PATIENCE


async def test_it_waits_until_recovery_can_be_switched_on(slow: Slow, name: str) -> None:
    wait = refused("ContinuousBackupsUnavailableException")
    slow.faulty.on("UpdateContinuousBackups", wait, wait, answered(200, b"{}"))
    assert "It can be restored to any second of the last 35 days." in await slow.create(name)
    assert len(slow.slept) == 2
    slow.faulty.on("UpdateContinuousBackups", *[wait] * PATIENCE)
    with pytest.raises(DynamoDbError, match="Run this again in some minutes"):
        await slow.create(name)


async def test_what_aws_does_not_allow_is_told(slow: Slow, name: str) -> None:
    for action in ("DescribeTable", "UpdateContinuousBackups"):
        slow.faulty.on(action, refused("AccessDeniedException"))
        with pytest.raises(DynamoDbError, match=f"Allow dynamodb:{action}"):
            await slow.create(name)
    slow.faulty.meets(refused("ResourceNotFoundException"), refused("LimitExceededException"))
    with pytest.raises(DynamoDbError, match="CreateTable: LimitExceededException"):
        await slow.create(name)


async def test_an_epoch_begins_when_it_is_told_to(client: Client, name: str) -> None:
    await create_table(client, name)
    before = await epoch_of(client, name)
    begun = await new_epoch(client, name)
    assert begun != before
    assert await epoch_of(client, name) == begun


async def test_an_epoch_needs_a_table_that_was_prepared(client: Client, name: str) -> None:
    await client.call("CreateTable", definition(name, {}, protected=False))
    with pytest.raises(ConditionFailed):
        await new_epoch(client, name)


def test_the_template_has_nothing_to_complain_about() -> None:
    linted = subprocess.run(
        [Path(sys.executable).with_name("cfn-lint"), "--include-checks", "I", "--", TEMPLATE],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (linted.returncode, linted.stdout) == (0, "")


def test_the_template_is_the_table_that_the_command_makes() -> None:
    document, _ = decode(str(TEMPLATE))
    table = document["Resources"]["Conversations"]
    properties = table["Properties"]
    made = definition("greenroom", TAGS, protected=True)
    for part in (
        *("KeySchema", "AttributeDefinitions", "GlobalSecondaryIndexes", "BillingMode"),
        "DeletionProtectionEnabled",
    ):
        assert properties[part] == made[part], part
    assert properties["TimeToLiveSpecification"] == {
        "AttributeName": TTL_ATTRIBUTE,
        "Enabled": True,
    }
    assert properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"]
    assert made["Tags"][0] in properties["Tags"]
    assert document["Parameters"]["TableName"]["Default"] == made["TableName"]
    assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain"
