"""The commands that prepare a table of DynamoDB: create-table, new-epoch."""

import argparse
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from greenroom.platform.dynamodb.client import Client
from greenroom.platform.dynamodb.embedded import EMBEDDED
from greenroom.platform.dynamodb.errors import ConditionFailed, DynamoDbError
from greenroom.platform.dynamodb.schema import create_table, new_epoch
from greenroom.platform.termination import run_until_sigterm
from greenroom.settings import Settings

T = TypeVar("T")

TAGS = 49
TAG_NAME_CHARACTERS = 128
TAG_VALUE_CHARACTERS = 256


def register(commands: Any, add: Callable[..., Any], add_group: Callable[..., Any]) -> None:
    """Add these commands to the parser of `greenroom`."""
    group = add_group(commands, "dynamodb", "the table in which conversations are kept")
    create = add(group, "create-table", _create_table, "make the table, or check the one there is")
    create.add_argument(
        "--tag",
        type=_tag,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="tag it, for bills and policies; may be repeated",
    )
    add(group, "new-epoch", _new_epoch, "let every client load anew, after a restore")


def _tag(text: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator or not 1 <= len(name) <= TAG_NAME_CHARACTERS:
        raise argparse.ArgumentTypeError("takes NAME=VALUE, such as team=messaging")
    if len(value) > TAG_VALUE_CHARACTERS:
        raise argparse.ArgumentTypeError(f"a value has at most {TAG_VALUE_CHARACTERS} characters")
    return name, value


def _create_table(args: argparse.Namespace, settings: Settings) -> int:
    tags = dict(args.tag)
    if len(tags) > TAGS:
        raise DynamoDbError(f"A table takes {TAGS} tags of yours, not {len(tags)}. Give fewer.")
    name = settings.dynamodb_table
    protected = settings.dynamodb_endpoint != EMBEDDED
    for line in _with_client(
        settings, lambda client: create_table(client, name, tags=tags, protected=protected)
    ):
        print(line)
    if settings.conversations != "dynamodb":
        print("Servers use it when GREENROOM_CONVERSATIONS is dynamodb.")
    return 0


def _new_epoch(_: argparse.Namespace, settings: Settings) -> int:
    name = settings.dynamodb_table
    try:
        epoch = _with_client(settings, lambda client: new_epoch(client, name))
    except ConditionFailed as error:
        raise DynamoDbError(
            f"The table {name} has no epoch yet. Run `greenroom dynamodb create-table`."
        ) from error
    print(f"{epoch}: every client will load anew. Restart servers that run.")
    return 0


def _with_client(settings: Settings, work: Callable[[Client], Awaitable[T]]) -> T:
    # Here, because the packages behind it are an extra that other commands do without.
    from greenroom.platform.dynamodb.opening import open_client, reaching  # noqa: PLC0415

    place = (settings.home, settings.dynamodb_endpoint, settings.dynamodb_region)
    with reaching(*place) as access:

        async def run() -> T:
            client = open_client(access)
            try:
                return await work(client)
            finally:
                await client.close()

        return run_until_sigterm(run())
