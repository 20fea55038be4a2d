"""The upkeep commands in real processes: output and exit codes."""

import json
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from tests.support import REPOSITORY, command
from tests.support.api import Api
from tests.support.command import Result

from .kept import Kept


class Greenroom:
    def __init__(self, home: Path, url: str, conversations: dict[str, str]) -> None:
        self._given = {
            "GREENROOM_HOME": str(home),
            "GREENROOM_DATABASE_URL": url,
            **conversations,
        }

    def run(self, *argv: str) -> Result:
        return command.run(*argv, given=self._given)

    def start(self, *argv: str) -> command.Process:
        return command.start(*argv, given=self._given)

    def run_with_little_room(self, *argv: str) -> Result:
        """In a process whose files may have 64 KiB."""
        done = subprocess.run(
            ["/bin/bash", "-c", 'ulimit -f 64; exec "$@"', "bash", *command.PROGRAM, *argv],
            cwd=REPOSITORY,
            env=command.environment(self._given),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=command.PATIENCE_S,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    def json(self, *argv: str) -> Any:
        return json.loads(self.run(*argv).out)


@pytest.fixture
def greenroom(
    tmp_path: Path, database_url: str, conversations_environment: dict[str, str]
) -> Greenroom:
    return Greenroom(tmp_path, database_url, conversations_environment)


async def test_check_tells_mends_and_is_content(
    greenroom: Greenroom, api: "Api", kept: Kept
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    assert greenroom.run("check") == Result(0, "everything agrees\n", "")
    await kept.set_unread(theo.id, 9)
    found = greenroom.run("check")
    assert found.code == 1
    assert f"unread_count: {thread_id} {theo.id}: 9, should be 1\n" in found.out
    assert "`greenroom check --repair`" in found.out
    assert greenroom.json("check", "--json")["counts"] == {"unread_count": 1}
    mended = greenroom.run("check", "--repair")
    assert (mended.code, mended.out.splitlines()[-1]) == (0, "1 faults, all mended")
    assert greenroom.json("check", "--json") == {"faults": [], "counts": {}, "left": 0}
    await kept.set_seq(thread_id, 5)
    assert greenroom.run("check", "--repair").code == 1
    await kept.set_seq(thread_id, 1)
    assert greenroom.run("check", "--repair").code == 0


async def test_export_to_a_file_and_to_standard_output(
    greenroom: Greenroom, api: "Api", tmp_path: Path
) -> None:
    maya, theo = await api.people("maya", "theo")
    await maya.start(theo, body="Grüße")
    file = tmp_path / "maya.json"
    told = greenroom.run("users", "export", maya.id, "--out", str(file))
    assert told == Result(0, f"{file}: 1 threads, 1 messages\n", "")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    exported = json.loads(file.read_text())
    assert exported["user"]["display_name"] == "Maya"
    assert [each["body"] for each in exported["messages"]] == ["Grüße"]
    assert exported["blocks"] == exported["earlier_versions"] == []
    assert greenroom.json("users", "export", maya.id) == exported
    [nothing] = await api.people("nothing")
    assert greenroom.json("users", "export", nothing.id)["threads"] == []
    unknown = greenroom.run("users", "export", "who.is.that")
    assert (unknown.code, unknown.out) == (1, "")
    assert "There is no user who.is.that" in unknown.err
    assert greenroom.run("users", "export", "not/an/id").code == 2


async def test_an_export_ends_with_its_reader(greenroom: Greenroom, api: "Api") -> None:
    writer = await writer_of_much(api)
    with greenroom.start("users", "export", writer) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == "{"
        process.stdout.close()
        assert process.wait(command.PATIENCE_S) == 128 + signal.SIGPIPE
        assert process.stderr is not None
        assert process.stderr.read() == ""


async def test_an_export_that_has_no_room_ends_and_says_so(
    greenroom: Greenroom, api: "Api", tmp_path: Path
) -> None:
    writer = await writer_of_much(api)
    file = tmp_path / "maya.json"
    ended = greenroom.run_with_little_room("users", "export", writer, "--out", str(file))
    assert ended.code == 1
    assert "File too large" in ended.err
    assert not file.exists()


async def writer_of_much(api: "Api") -> str:
    """Somebody whose messages are more than a pipe holds, and more than 64 KiB."""
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    for _ in range(150):
        await maya.send(thread_id, "x" * 2000)
    return maya.id


async def test_erase_asks_first_and_minds_a_hold(
    greenroom: Greenroom, api: "Api", rooms: Rooms
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    unsure = greenroom.run("users", "erase", maya.id)
    assert (unsure.code, unsure.out) == (2, "")
    assert "Add --yes" in unsure.err
    assert greenroom.run("threads", "hold", thread_id).code == 2
    assert greenroom.run("threads", "hold", thread_id, "--reason", " ").code == 2
    assert greenroom.run("threads", "hold", thread_id, "--reason", "case 7").code == 0
    held = greenroom.run("users", "erase", maya.id, "--yes")
    assert (held.code, held.out) == (1, "")
    assert "on legal hold (case 7)" in held.err
    assert f"`greenroom threads release {thread_id}`" in held.err
    assert (await rooms.accounts.find_user(maya.id)).display_name == "Maya"
    assert greenroom.run("threads", "release", thread_id).code == 0
    erased = greenroom.run("users", "erase", maya.id, "--yes")
    assert erased.code == 0
    assert erased.out.startswith(f"{maya.id} is erased: 1 messages in 1 threads, 0 files\n")
    assert greenroom.run("users", "erase", maya.id, "--yes").code == 0
    assert greenroom.run("users", "erase", "who.is.that", "--yes").code == 1
    missing = greenroom.run("threads", "release", "thr_unknown")
    assert missing.code == 1
    assert "There is no such thread" in missing.err


@pytest.mark.parametrize("conversations", ["postgres"], indirect=True)
async def test_backup_and_restore(
    greenroom: Greenroom, api: "Api", pool: asyncpg.Pool, tmp_path: Path
) -> None:
    await api.people("kept")
    file = tmp_path / "backup"
    kept = greenroom.run("backup", str(file))
    assert kept.code == 0
    assert "payments-secret apart" in kept.out
    assert "jwt-secret" in kept.out
    epoch = await pool.fetchval("select epoch from feed_epoch")
    await api.people("since")
    refused = greenroom.run("restore", str(file))
    assert (refused.code, refused.out) == (1, "")
    assert "The database is not empty" in refused.err
    assert "Add --yes" in refused.err
    count = "select count(*) from app_user where user_id like 'since.%'"
    assert await pool.fetchval(count) == 1

    restored = greenroom.run("restore", str(file), "--yes")
    assert restored.code == 0
    assert "every client will reload" in restored.out
    await pool.expire_connections()
    assert await pool.fetchval(count) == 0
    assert await pool.fetchval("select epoch from feed_epoch") != epoch
    assert greenroom.run("check").code == 0


@pytest.mark.parametrize("conversations", ["dynamodb"], indirect=True)
async def test_a_backup_without_conversations_says_where_these_are(
    greenroom: Greenroom, api: "Api", rooms: Rooms, tmp_path: Path
) -> None:
    maya, theo = await api.people("maya", "theo")
    thread_id = await maya.thread_with(theo)
    file = tmp_path / "backup"
    for told in (greenroom.run("backup", str(file)), greenroom.run("restore", str(file), "--yes")):
        assert told.code == 0
        assert f"in the table {rooms.settings.dynamodb_table} of DynamoDB" in told.out
        assert "point-in-time recovery" in told.out
        assert "`greenroom dynamodb new-epoch`" in told.out
        assert "every client will reload" not in told.out
    assert len(await theo.messages(thread_id)) == 1


def test_a_backup_beside_an_embedded_table_says_what_to_copy(
    tmp_path: Path, database_url: str
) -> None:
    embedded = {
        "GREENROOM_CONVERSATIONS": "dynamodb",
        "GREENROOM_DYNAMODB_ENDPOINT": "embedded",
    }
    told = Greenroom(tmp_path, database_url, embedded).run("backup", str(tmp_path / "backup"))
    assert told.code == 0
    assert f"they lie in {tmp_path / 'dynamodb'}; copy that" in told.out


def test_files_that_are_not_there_or_no_backup(greenroom: Greenroom, tmp_path: Path) -> None:
    missing = greenroom.run("restore", str(tmp_path / "none"))
    assert (missing.code, missing.out) == (1, "")
    assert f"{tmp_path / 'none'}: No such file or directory. Check the path." in missing.err
    (tmp_path / "text").write_text("hello")
    rubbish = greenroom.run("restore", str(tmp_path / "text"), "--yes")
    assert rubbish.code == 1
    assert "is not a backup of Greenroom. Nothing was changed." in rubbish.err
    nowhere = greenroom.run("backup", str(tmp_path / "no" / "folder"))
    assert nowhere.code == 1
    assert f"{tmp_path / 'no' / 'folder'}: No such file or directory. Check" in nowhere.err
