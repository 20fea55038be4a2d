"""The example in docs/client.md does what it says."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from greenroom.client import Client

from .site import Pair, read_messages, token_of

DOCUMENT = Path(__file__).parents[2] / "docs" / "client.md"


def example() -> str:
    [code] = re.findall(r"```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    return str(code)


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_the_example_answers_every_message(pair: Pair) -> None:
    [thread_id] = await pair.start()
    known: dict[str, Any] = {"Client": Client}
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


def test_the_example_is_ten_lines() -> None:
    assert len(example().splitlines()) <= 10
