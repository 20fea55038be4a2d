"""The `greenroom` command in real processes: output and exit codes."""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx
import jwt
import pytest

from greenroom import __version__, cli
from greenroom.commands.running import find
from greenroom.doctor import Finding, examine
from greenroom.kernel.limits import Limits
from greenroom.platform.embedded.postgres import EmbeddedPostgres
from greenroom.platform.postgres import migrations
from greenroom.settings import SETTINGS, limit_variable, load_settings
from tests.support import REPOSITORY, command
from tests.support.command import Result
from tests.support.databases import new_home
from tests.support.waiting import PATIENCE_S

PASSWORD = "hunter2"
SECRET = "a secret for tests that is long enough"
UNREACHABLE = f"postgresql://greenroom:{PASSWORD}@127.0.0.1:1/greenroom"


@dataclass
class Greenroom:
    """The command with a home of its own; keyword arguments set `GREENROOM_…` variables."""

    home: Path
    variables: dict[str, str] = field(default_factory=dict)
    prefix: list[str] = field(default_factory=list)
    started: list[command.Process] = field(default_factory=list)

    def run(self, *argv: str, **variables: str) -> Result:
        given = self._given(variables)
        if not self.prefix:
            return command.run(*argv, given=given)
        done = subprocess.run(
            [*self.prefix, *command.PROGRAM, *argv],
            cwd=REPOSITORY,
            env=command.environment(given),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert "Traceback" not in done.stderr
        return Result(done.returncode, done.stdout, done.stderr)

    def serve(self, *argv: str, **variables: str) -> "Server":
        return Server(self.start("serve", "--port", "0", *argv, **variables))

    def start(self, *argv: str, **variables: str) -> command.Process:
        self.started.append(command.start(*argv, given=self._given(variables)))
        return self.started[-1]

    def _given(self, variables: dict[str, str]) -> dict[str, str]:
        ours = {"HOME": str(self.home), **self.variables, **variables}
        return {f"GREENROOM_{name}": value for name, value in ours.items()}


class Server:
    """A server that listens: its log says on which port."""

    def __init__(self, process: command.Process) -> None:
        self.process = process
        self.port = self._read_port()

    def _read_port(self) -> int:
        assert self.process.stderr is not None
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            if line.startswith("{") and json.loads(line)["message"] == "listening":
                port: int = json.loads(line)["port"]
                return port
        raise AssertionError("".join(lines))

    def call(self, method: str, path: str, bearer: str, body: Any = None) -> httpx.Response:
        return httpx.request(
            method,
            f"http://127.0.0.1:{self.port}{path}",
            headers={"Authorization": f"Bearer {bearer}"},
            json=body,
            timeout=PATIENCE_S,
        )

    def stop(self, which: int = signal.SIGTERM) -> int:
        self.process.send_signal(which)
        self.process.communicate(timeout=PATIENCE_S)
        return self.process.wait()


@pytest.fixture
def street() -> Iterator[Path]:
    """A folder everybody may enter; pytest's own tmp_path is for its owner only."""
    folder = new_home()
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def greenroom(street: Path) -> Iterator[Greenroom]:
    made = Greenroom(street / "home")
    yield made
    for process in made.started:
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    EmbeddedPostgres(made.home).stop()


@pytest.fixture
def with_database(greenroom: Greenroom, database_url: str) -> Greenroom:
    """The command on a database that runs already and has its tables."""
    greenroom.variables["DATABASE_URL"] = database_url
    return greenroom


def leaf_commands(
    parser: argparse.ArgumentParser, *names: str
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command, and the name of what does it."""
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    if not groups:
        yield names, parser.get_default("command")
    for group in groups:
        for name, below in group.choices.items():
            yield from leaf_commands(below, *names, name)


COMMANDS = dict(leaf_commands(cli._parser()))


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(
    names: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert callable(find(COMMANDS[names]))
    with pytest.raises(SystemExit) as ended:
        cli.main([*names, "--help"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: greenroom {' '.join(names)}")


def test_the_overview_names_every_command(greenroom: Greenroom) -> None:
    shown = greenroom.run("--help")
    assert shown.code == 0
    assert {names[0] for names in COMMANDS} <= set(shown.out.split())


def test_help_does_not_load_the_server() -> None:
    script = (
        "import sys\nfrom greenroom.cli import main\n"
        "try:\n    main(['--help'])\nfinally:\n    print(*sys.modules, sep='\\n')"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "greenroom.cli" in loaded
    assert not {"greenroom.bootstrap", "asyncpg", "jwt", "uvicorn"} & set(loaded)


def test_the_program_starts_by_its_name_and_as_a_module() -> None:
    """All other tests here fork a process that has loaded it."""
    for program in ([Path(sys.executable).with_name("greenroom")], command.PROGRAM):
        done = subprocess.run([*program, "version"], capture_output=True, text=True, check=True)
        assert (done.stdout, done.stderr) == (f"greenroom {__version__}\n", "")


def test_version(greenroom: Greenroom) -> None:
    assert greenroom.run("version") == Result(0, f"greenroom {__version__}\n", "")
    assert greenroom.run("version", "--json").json() == {"version": __version__}


def test_config_lists_every_variable_and_shows_no_secret(greenroom: Greenroom) -> None:
    given = {"DATABASE_URL": UNREACHABLE, "JWT_SECRET": SECRET, "LIMIT_PAGE": "77"}
    shown = greenroom.run("config", **given)
    as_json = greenroom.run("config", "--json", **given)
    rows = {row["name"]: row["value"] for row in as_json.json()}
    limits = {limit_variable(each.name) for each in fields(Limits)}
    assert rows.keys() == {each.name for each in SETTINGS} | limits
    assert [line.split()[0] for line in shown.out.splitlines()] == list(rows)
    assert rows["GREENROOM_DATABASE_URL"] == rows["GREENROOM_JWT_SECRET"] == "(set)"
    assert rows["GREENROOM_LIMIT_PAGE"] == "77"
    for text in (shown.out, as_json.out):
        assert PASSWORD not in text
        assert SECRET not in text


@pytest.mark.parametrize(
    ("argv", "variables", "hints"),
    [
        ("", {}, ["usage: greenroom"]),
        ("nonsense", {}, ["invalid choice", "serve"]),
        ("config", {"LIMIT_X": "1"}, ["GREENROOM_LIMIT_X is not a limit", "greenroom config"]),
        ("config", {"LIMIT_PAGES": "1"}, ["Did you mean GREENROOM_LIMIT_PAGE?"]),
        ("config", {"PORTT": "1"}, ["GREENROOM_PORTT is not", "Did you mean GREENROOM_PORT?"]),
        ("serve", {"PORT": "http"}, ["GREENROOM_PORT takes a whole number from 0 to 65535"]),
        ("serve --port 65536", {}, ["--port", "takes a whole number from 0 to 65535"]),
        ("serve --workers 0", {}, ["--workers", "takes a whole number from 1 to 64"]),
        ("serve", {"DATABASE_URL": f"mysql://u:{PASSWORD}@h/d"}, ["postgresql://user:password@"]),
        ("serve", {"DATABASE_URL": f"postgresql://u:{PASSWORD}[@h/d"}, ["postgresql://user:"]),
        ("serve", {"JWT_SECRET": "hunter22"}, ["at least 32 bytes", "openssl rand"]),
        ("serve", {"JWKS_URL": "http://example.com"}, ["GREENROOM_JWKS_URL", "https://"]),
        ("serve --host no.such.host.invalid", {}, ["Cannot listen on no.such", "--host"]),
        ("token not/an/id", {}, ["1 to 64 characters"]),
        ("token maya --desk boss", {}, ["--desk", "support"]),
        ("token maya --hours 0", {}, ["--hours", "from 1 to 8784"]),
    ],
)
def test_wrong_usage_is_explained(
    greenroom: Greenroom, argv: str, variables: dict[str, str], hints: list[str]
) -> None:
    result = greenroom.run(*argv.split(), **variables)
    assert (result.code, result.out) == (2, "")
    for hint in hints:
        assert hint in result.err
    assert PASSWORD not in result.err
    assert not greenroom.home.exists()


@pytest.mark.parametrize("argv", ["serve --port 0", "migrate", "keys list"])
def test_an_unreachable_database_is_explained(greenroom: Greenroom, argv: str) -> None:
    result = greenroom.run(*argv.split(), DATABASE_URL=UNREACHABLE)
    assert (result.code, result.out) == (1, "")
    assert "cannot be reached" in result.err
    assert "GREENROOM_DATABASE_URL" in result.err
    assert PASSWORD not in result.err


def test_an_unknown_database_parameter_is_explained(greenroom: Greenroom) -> None:
    result = greenroom.run("migrate", DATABASE_URL=f"{UNREACHABLE}?sslmode=perhaps")
    assert result.code == 1
    assert "`sslmode` parameter must be one of" in result.err
    assert "GREENROOM_DATABASE_URL" in result.err
    assert PASSWORD not in result.err


@pytest.fixture
async def read_only_database(postgres_url: str) -> AsyncIterator[str]:
    name = f"greenroom_read_only_{os.getpid()}"
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    yield urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    await connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await connection.close()


def test_a_database_without_the_right_to_write_is_explained(
    greenroom: Greenroom, read_only_database: str
) -> None:
    result = greenroom.run("migrate", DATABASE_URL=read_only_database)
    assert result.code == 1
    assert "read-only transaction" in result.err
    assert "must own the database" in result.err


@pytest.mark.parametrize("argv", ["serve --port 0", "demo --port 0", "token maya"])
def test_a_secret_that_others_can_read_is_refused(greenroom: Greenroom, argv: str) -> None:
    greenroom.home.mkdir()
    file = greenroom.home / "jwt-secret"
    file.write_text(SECRET)
    file.chmod(0o644)
    result = greenroom.run(*argv.split())
    assert (result.code, result.out) == (1, "")
    assert f"chmod 600 {file}" in result.err


def test_a_damaged_secret_is_explained(greenroom: Greenroom) -> None:
    greenroom.home.mkdir()
    (greenroom.home / "jwt-secret").touch(mode=0o600)
    result = greenroom.run("serve", "--port", "0")
    assert result.code == 1
    assert "Delete the file" in result.err


@pytest.mark.parametrize("argv", ["serve --port 0", "db start", "token maya"])
def test_a_home_that_is_a_file_is_explained(greenroom: Greenroom, street: Path, argv: str) -> None:
    (street / "file").touch()
    result = greenroom.run(*argv.split(), HOME=str(street / "file/home"))
    assert (result.code, result.out) == (1, "")
    assert "Not a directory" in result.err
    assert "GREENROOM_" in result.err
    doctor = greenroom.run("doctor", HOME=str(street / "file/home"))
    assert doctor.code == 1
    assert f"{street}/file is not a folder that you may write to; set GREENROOM_HOME" in doctor.out


@pytest.mark.parametrize("argv", ["token maya", "db start", "serve --port 0", "doctor"])
def test_a_home_that_cannot_be_written_is_explained(
    greenroom: Greenroom, street: Path, argv: str
) -> None:
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root can write anywhere, and there is no setpriv to take that away")
        greenroom.prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    street.chmod(0o555)
    result = greenroom.run(*argv.split())
    assert result.code == 1
    assert "GREENROOM_HOME" in result.out + result.err


def test_a_taken_port_is_told_before_anything_starts(greenroom: Greenroom) -> None:
    with socket.create_server(("127.0.0.1", 0)) as squatter:
        port = str(squatter.getsockname()[1])
        for workers in ("1", "2"):
            result = greenroom.run("serve", "--port", port, "--workers", workers)
            assert (result.code, result.out) == (2, "")
            assert f"Port {port} of 127.0.0.1 is taken" in result.err
            assert "or use --port" in result.err
        doctor = greenroom.run("doctor", PORT=port)
    assert not (greenroom.home / "postgres").exists()
    assert doctor.code == 0
    assert "Is Greenroom running already?" in doctor.out


def test_tokens_are_taken_by_the_server(with_database: Greenroom) -> None:
    plain = with_database.run("token", "maya").out.strip()
    desk = with_database.run("token", "omar", "--desk", "support", "--hours", "2").out.strip()
    server = with_database.serve()
    assert server.call("GET", "/v1/me", plain).json()["user"]["user_id"] == "maya"
    assert server.call("GET", "/v1/me", desk).json()["user"]["user_id"] == "omar"
    assert server.call("GET", "/v1/me", plain[:-8] + "AAAAAAAA").status_code == 401
    secret = (with_database.home / "jwt-secret").read_text().strip()
    claims = jwt.decode(desk, secret, algorithms=["HS256"])
    assert claims["desk"] == "support"
    assert claims["exp"] - claims["iat"] == 2 * 3600
    assert server.stop() == 0


def test_no_token_is_signed_that_the_server_would_refuse(greenroom: Greenroom) -> None:
    for argv in (["token", "maya"], ["demo", "--port", "0"]):
        result = greenroom.run(*argv, JWKS_URL="https://example.com/keys")
        assert result.code == 1
        assert "Set GREENROOM_JWT_SECRET too" in result.err
    assert not greenroom.home.exists()


def test_a_key_works_until_it_is_revoked(with_database: Greenroom) -> None:
    text = with_database.run("keys", "create", "shop").out.splitlines()[0]
    new = with_database.run("keys", "create", "--json", "other shop").json()
    with_database.run("keys", "create", "for later", "--scopes", "write,read")
    server = with_database.serve()
    user = {"display_name": "Theo"}
    assert server.call("PUT", "/v1/users/theo", text, user).status_code == 201
    assert server.call("PUT", "/v1/users/theo", new["key"], user).status_code == 200

    revoked = with_database.run("keys", "revoke", new["key_id"])
    assert revoked == Result(0, f"{new['key_id']} is revoked\n", "")
    assert server.call("PUT", "/v1/users/theo", new["key"], user).status_code == 401
    assert server.call("PUT", "/v1/users/theo", text, user).status_code == 200
    listed = {row["name"]: row for row in with_database.run("keys", "list", "--json").json()}
    assert listed["other shop"]["revoked_at"] is not None
    assert listed["shop"]["revoked_at"] is None
    assert listed["shop"]["last_used_at"] is not None
    assert listed["shop"]["scopes"] == ["read", "write", "bookings", "users"]
    shown = with_database.run("keys", "list").out
    every = "read,write,bookings,users"
    assert re.search(rf" revoked  last used 2\S+ +{every} +other shop$", shown, re.MULTILINE)
    assert re.search(r" active   never used +read,write +for later$", shown, re.MULTILINE)
    assert text not in shown


def test_keys_that_are_not_there_or_have_no_name(with_database: Greenroom) -> None:
    unknown = with_database.run("keys", "revoke", "key_unknown")
    assert unknown.code == 1
    assert "There is no API key key_unknown. `greenroom keys list`" in unknown.err
    unnamed = with_database.run("keys", "create", "")
    assert unnamed.code == 2
    assert "name has 1 to" in unnamed.err
    beyond = with_database.run("keys", "create", "shop", "--scopes", "read,everything")
    assert beyond.code == 2
    assert "one or more of read,write,bookings,users" in beyond.err


def test_doctor_finds_nothing_missing(with_database: Greenroom) -> None:
    with_database.run("token", "maya")
    findings = with_database.run("doctor", "--json", PORT="0")
    assert findings.code == 0
    fine = (
        *("python", "home", "tokens", "database", "conversations", "bus", "cards", "tls", "port"),
        *("pictures", "video", "webhooks", "eventbridge"),
    )
    verdicts = {row["subject"]: row["verdict"] for row in findings.json()}
    # Whether the web app is built here is not this test's matter.
    assert verdicts.pop("web app") in ("ok", "note")
    notes = ("files", "payments", "virus scan")
    assert verdicts == {**dict.fromkeys(fine, "ok"), **dict.fromkeys(notes, "note")}


def test_doctor_changes_nothing(greenroom: Greenroom) -> None:
    result = greenroom.run("doctor", PORT="0")
    assert result.code == 0
    assert "embedded, not running; `serve` starts it" in result.out
    assert not greenroom.home.exists()


def test_doctor_says_what_to_do_about_an_unreachable_database(greenroom: Greenroom) -> None:
    for url in (UNREACHABLE, f"{UNREACHABLE}?sslmode=perhaps"):
        result = greenroom.run("doctor", DATABASE_URL=url)
        assert result.code == 1
        line = next(each for each in result.out.splitlines() if each.startswith("missing"))
        assert "heck GREENROOM_DATABASE_URL" in line
        assert PASSWORD not in result.out + result.err


async def test_doctor_refuses_an_old_server(
    street: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "OLDEST_SERVER", 99)
    settings = load_settings({"GREENROOM_HOME": str(street / "home")})
    findings = {
        each.subject: each for each in await examine(replace(settings, database_url=database_url))
    }
    assert findings["database"].verdict == "missing"
    assert "needs PostgreSQL 99 or newer: upgrade it, or unset" in findings["database"].text
    assert isinstance(findings["home"], Finding)


async def test_the_embedded_database_from_start_to_stop(greenroom: Greenroom) -> None:
    asleep = greenroom.run("db", "url")
    assert asleep.code == 1
    assert "`greenroom db start`" in asleep.err
    assert greenroom.run("db", "status", "--json").code == 1

    assert "`greenroom db stop` ends it" in greenroom.run("db", "start").out
    status = greenroom.run("db", "status", "--json")
    assert status.code == 0
    assert (status.json()["running"], status.json()["pinned"]) == (True, True)
    connection = await asyncpg.connect(greenroom.run("db", "url").out.strip())
    await connection.close()

    assert "changes to apply to tables and functions" in greenroom.run("doctor").out
    assert "migrated 001_" in greenroom.run("migrate").out
    assert greenroom.run("migrate").out == "nothing to do: tables and functions are up to date\n"
    assert greenroom.run("migrate", "--json").json() == {"applied": []}
    assert "tables and functions up to date" in greenroom.run("doctor").out

    assert greenroom.run("db", "stop") == Result(0, "stopped\n", "")
    assert greenroom.run("db", "status").out.startswith("running: False")


def test_two_workers_answer(with_database: Greenroom) -> None:
    token = with_database.run("token", "maya").out.strip()
    server = with_database.serve("--workers", "2")
    assert server.call("GET", "/v1/me", token).json()["user"]["user_id"] == "maya"
    assert server.stop() == 0


def test_the_last_server_stops_the_embedded_database(greenroom: Greenroom) -> None:
    first = greenroom.serve()
    second = greenroom.serve()
    assert first.stop(signal.SIGTERM) == 0
    assert EmbeddedPostgres(greenroom.home).status().running
    assert httpx.get(f"http://127.0.0.1:{second.port}/readyz").json() == {"status": "ready"}
    assert second.stop(signal.SIGINT) == 0
    assert not EmbeddedPostgres(greenroom.home).status().running


async def test_ended_while_it_starts_it_lets_go_of_the_database(greenroom: Greenroom) -> None:
    postgres = EmbeddedPostgres(greenroom.home)
    connection = await asyncpg.connect(postgres.start())
    await connection.execute("SELECT pg_advisory_lock($1)", migrations.ADVISORY_LOCK)
    process = greenroom.start("serve", "--port", "0")
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    await wait_for(connection, waiting)
    # No longer pinned: whoever leaves last, and nobody but the server is a user, stops it.
    (greenroom.home / "postgres/pinned").unlink()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert "Traceback" not in err
    assert not postgres.status().running
    connection.terminate()


async def wait_for(connection: asyncpg.Connection, count: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while await connection.fetchval(count) == 0:
        assert time.monotonic() < deadline, "waited in vain"
