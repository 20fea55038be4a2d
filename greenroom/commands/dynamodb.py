"""`greenroom dynamodb create-table` and `new-epoch`."""

import argparse
from collections.abc import Awaitable, Callable
from typing import TypeVar

from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.errors import ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.schema import create_table as make_table
from greenroom.platform.dynamodb.schema import new_epoch as begin_epoch
from greenroom.platform.embedded.dynamodb.shared import EMBEDDED
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.settings import Settings

T = TypeVar("T")

TAGS = 49


def create_table(args: argparse.Namespace, settings: Settings) -> int:
    tags = dict(args.tag)
    if len(tags) > TAGS:
        raise DynamoDbError(f"A table takes {TAGS} tags of yours, not {len(tags)}. Give fewer.")
    name = settings.dynamodb_table
    protected = settings.dynamodb_endpoint != EMBEDDED
    for line in _with_client(
        settings, lambda client: make_table(client, name, tags=tags, protected=protected)
    ):
        print(line)
    if settings.conversations != "dynamodb":
        print("Servers use it when GREENROOM_CONVERSATIONS is dynamodb.")
    return 0


def new_epoch(_: argparse.Namespace, settings: Settings) -> int:
    name = settings.dynamodb_table
    try:
        epoch = _with_client(settings, lambda client: begin_epoch(client, name))
    except ConditionFailed as error:
        raise DynamoDbError(
            f"The table {name} has no epoch yet. Run `greenroom dynamodb create-table`."
        ) from error
    print(f"{epoch}: every client will reload. Restart running servers.")
    return 0


def _with_client(settings: Settings, work: Callable[[Client], Awaitable[T]]) -> T:
    # Imported here, because it needs the optional packages of the extra `dynamodb`.
    from greenroom.platform.embedded.dynamodb.opening import open_client, reaching  # noqa: PLC0415

    place = (settings.home, settings.dynamodb_endpoint, settings.dynamodb_region)
    with reaching(*place) as access:

        async def run() -> T:
            client = open_client(access)
            try:
                return await work(client)
            finally:
                await client.close()

        return run_until_sigterm(run())
