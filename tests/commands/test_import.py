"""`greenroom import` as a program: its page, what it prints, and its death."""

import asyncio
import json
import re
from pathlib import Path

import asyncpg

from tests.support import REPOSITORY
from tests.support.command import Result, run, start
from tests.support.waiting import LOOK_S, PATIENCE_S

MESSAGES = 3000
PAGE = REPOSITORY / "docs/import.md"


def printed(language: str) -> str:
    [block] = re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return str(block)


def test_the_page_works_as_it_is_printed(tmp_path: Path, database_url: str) -> None:
    given = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_HOME": str(tmp_path)}
    (tmp_path / "history.ndjson").write_text(printed("json"))
    commands = [line.removeprefix("greenroom ").split() for line in printed("sh").splitlines()]

    def each(*more: str) -> list[Result]:
        return [run(*command, *more, given=given, folder=tmp_path) for command in commands]

    first = each()
    assert [result.code for result in first] == [0, 0], first
    assert "new: 3 message, 2 person, 1 read, 1 thread" in first[0].out
    assert first[0].out.endswith("7 lines checked, 0 refused\n")
    assert first[1].out.endswith("7 lines read, 0 refused\n")
    with (tmp_path / "history.ndjson").open("a") as file:
        file.write('{"type": "message"}\nnonsense\n')
    again = each("--json")[1]
    assert again.code == 1
    summary = again.json()
    assert (summary["new"], summary["known"]["message"], summary["refused"]) == ({}, 3, 2)
    report = [json.loads(line) for line in (tmp_path / "refused.ndjson").read_text().splitlines()]
    assert report == summary["refusals"]
    assert [each["line"] for each in report] == [8, 9]


async def test_a_killed_import_goes_on_when_it_is_run_again(
    tmp_path: Path, database_url: str, pool: asyncpg.Pool
) -> None:
    given = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_HOME": str(tmp_path)}
    file = tmp_path / "long.ndjson"
    people = [{"type": "person", "id": name} for name in ("kim", "lou")]
    pair = [{"user": "kim", "role": "buyer"}, {"user": "lou", "role": "seller"}]
    thread = {"type": "thread", "id": "long", "created_at": "2024-03-01T09:00:00Z"}
    said = {"type": "message", "thread": "long", "body": "Hello"}
    messages = [
        {**said, "id": f"m{n}", "author": "kim", "created_at": f"2024-03-01T1{n // 1000}:00:00Z"}
        for n in range(MESSAGES)
    ]
    lines = [*people, {**thread, "participants": pair}, *messages]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def imported() -> int:
        count: int = await pool.fetchval(
            "select count(*) from imported_message m "
            "join thread_key k on k.thread_id = m.thread_id where k.external_key = 'long'"
        )
        return count

    with start("import", str(file), given=given) as process:
        async with asyncio.timeout(PATIENCE_S):
            while not await imported():  # noqa: ASYNC110 (another process does it)
                await asyncio.sleep(LOOK_S)
        process.kill()
        process.communicate(60)
    before = await imported()
    summary = run("import", str(file), "--json", given=given).json()
    assert (summary["refused"], summary["known"].get("message", 0)) == (0, before)
    assert summary["new"].get("message", 0) == MESSAGES - before
    assert await imported() == MESSAGES
    [unread] = await pool.fetch("select unread_count from inbox_index where user_id = 'lou'")
    assert unread["unread_count"] == MESSAGES
