"""Finds, starts and stops the dynoxide process of a folder. The port is in its command line."""

import http.client
import secrets
import shutil
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from greenroom.platform.dynamodb.errors import DynamoDbError
from greenroom.platform.embedded import background_program
from greenroom.platform.embedded.background_program import POLL_S, is_free, listens, works_in
from greenroom.platform.embedded.postgres.files import write
from greenroom.platform.embedded.postgres.postmaster import PORTS

PROGRAM = "dynoxide"
START_ATTEMPTS = 3
START_TIMEOUT_S = 60
ANSWER_TIMEOUT_S = 5


@dataclass(frozen=True, slots=True)
class Engine:
    pid: int
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def find_engine(folder: Path) -> Engine | None:
    """The running engine whose working directory is this folder."""
    found = background_program.find_program(folder, PROGRAM)
    return None if found is None else _engine(*found)


def _engine(pid: int, words: list[str]) -> Engine | None:
    try:
        return Engine(pid, int(words[words.index("--port") + 1]))
    except (ValueError, IndexError):
        return None


def ensure_engine(folder: Path) -> Engine:
    """Start the engine unless it runs, and wait until it answers. The caller holds the lock."""
    for _ in range(START_ATTEMPTS):
        running = find_engine(folder)
        # If another program takes the port after we have checked it, the engine exits: try again.
        engine = _wait_until_it_answers(running.pid if running else _launch(folder), folder)
        if engine is not None:
            return engine
    raise DynamoDbError(
        f"The embedded DynamoDB did not start: {background_program.log_tail(folder)}\n"
        f"Its log is {folder / 'engine.log'}. Fix the cause and start again."
    )


def _launch(folder: Path) -> int:
    """Launch the engine. Returns its pid."""
    port = _choose_port(folder / "port")
    words = [
        *(str(find_program()), "serve", "--host", "127.0.0.1"),
        *("--port", str(port), "--db-path", "items.db"),
    ]
    return background_program.launch(folder, words, {})


def find_program() -> Path:
    installed = Path(sys.prefix, "engines/node_modules/@dynoxide/linux-x64", PROGRAM)
    if installed.exists():
        return installed
    found = shutil.which(PROGRAM)
    if found is None:
        raise DynamoDbError(
            "The embedded DynamoDB needs the program dynoxide. In a checkout run `make setup`; "
            "elsewhere run `npm install @dynoxide/linux-x64` and put its folder on PATH. Or set "
            "GREENROOM_DYNAMODB_ENDPOINT to an engine of your own, or unset it to use AWS."
        )
    return Path(found)


def _choose_port(remembered: Path) -> int:
    """The previous port if it is free, so that clients of a killed engine find the new one."""
    with suppress(FileNotFoundError, ValueError):
        port = int(remembered.read_text())
        if port in PORTS and is_free(port):
            return port
    for port in secrets.SystemRandom().sample(PORTS, 100):
        if is_free(port):
            write(remembered, f"{port}\n")
            return port
    raise DynamoDbError("No free port on 127.0.0.1 was found. Stop programs that use many ports.")


def _wait_until_it_answers(pid: int, folder: Path) -> Engine | None:
    """The engine when it answers; None if it has exited."""
    deadline = time.monotonic() + START_TIMEOUT_S
    while works_in(pid, folder):
        engine = _engine(pid, background_program.command_line(pid, PROGRAM))
        if engine is not None and listens(pid, engine.port) and _answers(engine):
            return engine
        if time.monotonic() > deadline:
            raise DynamoDbError(
                f"The embedded DynamoDB in {folder} runs but does not answer. End its process "
                f"{pid} and start again; its log is {folder / 'engine.log'}."
            )
        time.sleep(POLL_S)
    return None


def _answers(engine: Engine) -> bool:
    """Whether a real request succeeds."""
    connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=ANSWER_TIMEOUT_S)
    headers = {
        "Content-Type": "application/x-amz-json-1.0",
        "X-Amz-Target": "DynamoDB_20120810.ListTables",
        "X-Amz-Date": "20250101T000000Z",
        "Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/d/aws4_request, "
        "SignedHeaders=host, Signature=0",
    }
    try:
        connection.request("POST", "/", b'{"Limit":1}', headers)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def stop_engine(folder: Path) -> None:
    """Stop the engine of a folder, if one runs. All writes are on disk already."""
    background_program.stop_program(folder, PROGRAM)
