"""The example in docs/client.md and in the client's README does what it says."""

import asyncio
import re
from typing import Any

import pytest

from tests.support import REPOSITORY
from tests.support.server_process import token_of

from .pair import Pair, read_messages


def example(page: str = "docs/client.md") -> str:
    [code] = re.findall(r"```python\n(.*?)```", (REPOSITORY / page).read_text(), re.DOTALL)
    return str(code)


def test_both_pages_show_the_same_example() -> None:
    assert example("clients/python/README.md") == example()


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_the_example_answers_every_message(pair: Pair) -> None:
    [thread_id] = await pair.start()
    known: dict[str, Any] = {}
    exec(example(), known)  # noqa: S102 (it is ours)
    bot = asyncio.create_task(known["echo"](pair.server.url, token_of(pair.ben)))
    async with pair.client(pair.ada) as ada:
        await ada.load()
        await ada.watch([thread_id])
        async for event in ada.events():
            if event["type"] == "presence" and event["online"]:
                break
        for body in ("Hello?", "Is this an echo?"):
            await ada.send(thread_id, body)
            asked, answered = await read_messages(ada, 2)
            assert (asked["author_id"], answered["author_id"]) == (pair.ada, pair.ben)
            assert asked["body"] == answered["body"] == body
    bot.cancel()
    await asyncio.gather(bot, return_exceptions=True)


def test_the_example_is_ten_lines_below_its_import() -> None:
    imported, _, rest = example().partition("\n\n\n")
    assert imported == "from greenroom_client import Client"
    assert len(rest.splitlines()) <= 10
