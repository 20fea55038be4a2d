"""Creates the table with its keys, indexes, TTL and backups. Running it again changes nothing.

`deploy/dynamodb.yaml` describes the same table for CloudFormation; a test compares the two.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping

from greenroom.platform.dynamodb.client import Client, Json
from greenroom.platform.dynamodb.errors import ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.metering import Meter
from greenroom.platform.dynamodb.table import EPOCH_KEY, UNLESS_THERE, Put, Table

KEYS = ("pk", "sk")
INDEXES: dict[str, tuple[tuple[str, str], Json]] = {
    # Only what the inbox shows, because each change of a projected attribute costs another write.
    "GSI1": (
        ("gsi1pk", "gsi1sk"),
        {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["row", "n"]},
    ),
    "GSI2": (("gsi2pk", "gsi2sk"), {"ProjectionType": "KEYS_ONLY"}),
}
TTL_ATTRIBUTE = "ttl"
TAGS = {"app": "greenroom"}

PATIENCE = 120
POLL_S = 1.0

Sleep = Callable[[float], Awaitable[None]]


def definition(name: str, tags: Mapping[str, str], *, protected: bool) -> Json:
    """The request of CreateTable."""
    attributes = [*KEYS, *(key for keys, _ in INDEXES.values() for key in keys)]
    return {
        "TableName": name,
        "AttributeDefinitions": [
            {"AttributeName": each, "AttributeType": "S"} for each in attributes
        ],
        "KeySchema": _key_schema(KEYS),
        "GlobalSecondaryIndexes": [
            {
                "IndexName": index,
                "KeySchema": _key_schema(keys),
                "Projection": projection,
            }
            for index, (keys, projection) in INDEXES.items()
        ],
        "BillingMode": "PAY_PER_REQUEST",
        "DeletionProtectionEnabled": protected,
        "Tags": _wire_tags(tags),
    }


def _key_schema(keys: tuple[str, str]) -> list[Json]:
    return [
        {"AttributeName": keys[0], "KeyType": "HASH"},
        {"AttributeName": keys[1], "KeyType": "RANGE"},
    ]


def _wire_tags(tags: Mapping[str, str]) -> list[Json]:
    return [{"Key": name, "Value": value} for name, value in tags.items()]


async def create_table(
    client: Client,
    name: str,
    *,
    tags: Mapping[str, str] | None = None,
    protected: bool = False,
    sleep: Sleep = asyncio.sleep,
) -> list[str]:
    """Create the table with all it needs, or add what an existing one lacks.

    Returns what was done, in sentences. Raises `DynamoDbError` for a table with other keys or
    indexes, and leaves it as it is. `protected` switches on deletion protection.
    """
    wanted = {**TAGS, **(tags or {})}
    there = await _describe(client, name) is not None
    if not there:
        await _create(client, definition(name, wanted, protected=protected))
    table = await _wait_until_active(client, name, sleep)
    _check_shape(name, table)
    if there:
        await _adopt(client, table, wanted, protected=protected)
    return [
        f"The table {name} was there already." if there else f"The table {name} was created.",
        await _let_expire(client, name),
        await _keep_history(client, name, sleep),
        await _ensure_epoch(Table(client, name, Meter())),
    ]


async def new_epoch(client: Client, name: str) -> str:
    """Start a new epoch of the feeds: every client gets a reset. Needed after a restore."""
    epoch = _make_epoch()
    await Table(client, name, Meter()).write(Put(_epoch_item(epoch), "attribute_exists(pk)"))
    return epoch


async def _describe(client: Client, name: str) -> Json | None:
    try:
        table: Json = (await client.call("DescribeTable", {"TableName": name}))["Table"]
    except DynamoDbError as error:
        if error.code == "ResourceNotFoundException":
            return None
        raise
    return table


async def _create(client: Client, request: Json) -> None:
    try:
        await client.call("CreateTable", request)
    except DynamoDbError as error:
        # Another process has created it, or this one has and the response was lost.
        if error.code != "ResourceInUseException":
            raise


async def _wait_until_active(client: Client, name: str, sleep: Sleep) -> Json:
    for _ in range(PATIENCE):
        table = await _describe(client, name)
        if table is not None:
            indexes = table.get("GlobalSecondaryIndexes") or []
            states = {table["TableStatus"], *(index["IndexStatus"] for index in indexes)}
            if states == {"ACTIVE"}:
                return table
        await sleep(POLL_S)
    raise DynamoDbError(
        f"The table {name} is not ready after {PATIENCE * POLL_S:.0f} s. Look at it in the AWS "
        "console, and run this again when it is active."
    )


def _check_shape(name: str, table: Json) -> None:
    found = {each["IndexName"]: each for each in table.get("GlobalSecondaryIndexes") or []}
    types = {each["AttributeName"]: each["AttributeType"] for each in table["AttributeDefinitions"]}
    faults = []
    if _keys_of(table) != KEYS:
        faults.append(f"its keys are {', '.join(_keys_of(table))} instead of {', '.join(KEYS)}")
    for index, (keys, projection) in INDEXES.items():
        if index not in found:
            faults.append(f"the index {index} is missing")
        elif _keys_of(found[index]) != keys:
            faults.append(f"the keys of {index} are not {', '.join(keys)}")
        elif _projected(found[index]["Projection"]) != _projected(projection):
            faults.append(f"{index} does not project {', '.join(_projected(projection))}")
    faults += [f"{key} is no string" for key in types if types[key] != "S" and _is_ours(key)]
    if faults:
        raise DynamoDbError(
            f"The table {name} is not Greenroom's: {'; '.join(faults)}. Set "
            "GREENROOM_DYNAMODB_TABLE to another name; nothing was changed."
        )


def _keys_of(described: Json) -> tuple[str, ...]:
    # HASH (the partition key) sorts before RANGE.
    keys = sorted(described["KeySchema"], key=lambda each: str(each["KeyType"]))
    return tuple(each["AttributeName"] for each in keys)


def _projected(projection: Json) -> list[str]:
    return [projection["ProjectionType"], *sorted(projection.get("NonKeyAttributes") or ())]


def _is_ours(key: str) -> bool:
    return key in KEYS or any(key in keys for keys, _ in INDEXES.values())


async def _adopt(client: Client, table: Json, tags: Mapping[str, str], *, protected: bool) -> None:
    request = {"ResourceArn": table["TableArn"], "Tags": _wire_tags(tags)}
    await client.call("TagResource", request)
    if protected and not table.get("DeletionProtectionEnabled"):
        request = {"TableName": table["TableName"], "DeletionProtectionEnabled": True}
        await client.call("UpdateTable", request)


async def _let_expire(client: Client, name: str) -> str:
    answer = await client.call("DescribeTimeToLive", {"TableName": name})
    found = answer["TimeToLiveDescription"]
    # AWS refuses to enable it a second time.
    if found["TimeToLiveStatus"] in ("ENABLED", "ENABLING"):
        if found["AttributeName"] != TTL_ATTRIBUTE:
            raise DynamoDbError(
                f"Items of {name} expire by {found['AttributeName']} instead of {TTL_ATTRIBUTE}. "
                "Switch its time to live off in the AWS console, wait an hour, and run this again."
            )
    else:
        setting = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        request = {"TableName": name, "TimeToLiveSpecification": setting}
        await client.call("UpdateTimeToLive", request)
    return f"Items expire by their attribute {TTL_ATTRIBUTE}."


async def _keep_history(client: Client, name: str, sleep: Sleep) -> str:
    """Enable point-in-time recovery, which engines other than AWS may not have."""
    request = {
        "TableName": name,
        "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": True},
    }
    for _ in range(PATIENCE):
        try:
            await client.call("UpdateContinuousBackups", request)
        except DynamoDbError as error:
            if error.code == "UnknownOperationException":
                return "This engine has no point-in-time recovery; AWS has."
            # Raised for some seconds after a table was created.
            if error.code != "ContinuousBackupsUnavailableException":
                raise
        else:
            return "It can be restored to any second of the last 35 days."
        await sleep(POLL_S)
    raise DynamoDbError(
        f"Point-in-time recovery of {name} cannot be switched on yet. Run this again in some "
        "minutes; everything else is done."
    )


async def _ensure_epoch(table: Table) -> str:
    try:
        await table.write(Put(_epoch_item(_make_epoch()), UNLESS_THERE))
    except ConditionFailed as found:
        return f"The epoch of its feeds is {(found.item or {}).get('epoch')}, as before."
    return "The epoch of its feeds begins."


def _make_epoch() -> str:
    return secrets.token_hex(4)


def _epoch_item(epoch: str) -> Json:
    return {"pk": EPOCH_KEY[0], "sk": EPOCH_KEY[1], "epoch": epoch}
