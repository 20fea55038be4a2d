"""The receivers in docs/webhooks.md take signed events and nothing else, as they are printed."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from greenroom.kernel.clock import system_clock
from greenroom.webhooks.signing import new_secret, secret_text, sign
from tests.support import REPOSITORY
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE_S

PAGE = (REPOSITORY / "docs" / "webhooks.md").read_text()
BIN = Path(sys.executable).parent
LANGUAGES = {"python": (str(BIN / "python"), ".py"), "javascript": (str(BIN / "node"), ".mjs")}
BODY = b'{"type":"message.send","timestamp":"2027-01-31T12:00:00.000Z","data":{"text":"\xc3\xa4"}}'


def program(language: str) -> str:
    [found] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(found)


def test_the_page_says_which_programs_are_not_run() -> None:
    run, _, not_run = PAGE.partition("The two below are not run by any test.")
    assert set(re.findall(r"```(\w+)", run)) == set(LANGUAGES)
    assert set(re.findall(r"```(\w+)", not_run)) == {"ruby", "php"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_receiver_takes_each_signed_event_once(language: str, tmp_path: Path) -> None:
    interpreter, ending = LANGUAGES[language]
    file, key, port = tmp_path / f"receiver{ending}", new_secret(), free_port()
    file.write_text(program(language))
    given = {"WEBHOOK_SECRET": secret_text(key), "PORT": str(port)}
    # In a group of its own, because `node` can be a script that starts the real one.
    process = await asyncio.to_thread(
        subprocess.Popen,
        [interpreter, str(file)],
        env={**os.environ, **given},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        now_s = system_clock() // 1000
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            sent = [
                await post(http, [new_secret(), key], "evt_1", now_s),
                await post(http, [key], "evt_1", now_s),
                await post(http, [key], "evt_2", now_s),
                await post(http, [new_secret()], "evt_3", now_s),
                await post(http, [key], "evt_4", now_s - 400),
                await post(http, [key], "evt_5", now_s, BODY + b" "),
            ]
        assert sent == [204, 204, 204, 400, 400, 400]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        out, _ = await asyncio.to_thread(process.communicate, timeout=PATIENCE_S)
    assert out.decode().splitlines() == ["message.send evt_1", "message.send evt_2"]


async def post(
    http: httpx.AsyncClient, keys: list[bytes], event_id: str, at_s: int, body: bytes = BODY
) -> int:
    headers = {
        "webhook-id": event_id,
        "webhook-timestamp": str(at_s),
        "webhook-signature": sign(keys, event_id, at_s, BODY),
    }
    for _ in range(int(PATIENCE_S / 0.1)):
        try:
            return (await http.post("/", content=body, headers=headers)).status_code
        except httpx.ConnectError:
            await asyncio.sleep(0.1)
    raise AssertionError("the receiver does not listen")
