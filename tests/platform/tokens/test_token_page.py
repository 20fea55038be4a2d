"""The programs in docs/authentication.md sign tokens that the server takes, as they are printed."""

import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from greenroom.bootstrap import token_verifier
from greenroom.kernel.clock import system_clock
from greenroom.settings import load_settings
from tests.support import REPOSITORY

PAGE = REPOSITORY / "docs" / "authentication.md"
SECRET = "a secret of a marketplace, long enough: +/= äöü"
HOUR_MS = 3_600_000

BIN = Path(sys.executable).parent
LANGUAGES = {
    "python": (str(BIN / "python"), ".py"),
    "javascript": (str(BIN / "node"), ".mjs"),
    "ruby": ("ruby", ".rb"),
    "php": ("php", ".php"),
}


def programs() -> dict[str, str]:
    return dict(re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL))


def test_there_is_a_program_for_each_language() -> None:
    assert set(programs()) == {*LANGUAGES, "mjs"}


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_server_takes_what_the_program_signs(language: str, tmp_path: Path) -> None:
    interpreter, ending = LANGUAGES[language]
    if shutil.which(interpreter) is None:
        pytest.skip(f"{interpreter} is not installed here")
    program = tmp_path / f"token{ending}"
    program.write_text(programs()[language])
    before_ms = system_clock()
    token = run(interpreter, program)
    after_ms = system_clock()
    settings = load_settings({"GREENROOM_HOME": str(tmp_path), "GREENROOM_JWT_SECRET": SECRET})
    claims = await token_verifier(settings, system_clock).verify(token)
    assert (claims.user_id, claims.operator_role) == ("maya", None)
    # It counts in whole seconds.
    assert before_ms - 1000 < claims.expires_at - HOUR_MS <= after_ms


async def test_the_server_takes_tokens_of_the_published_key(tmp_path: Path) -> None:
    program = tmp_path / "token.mjs"
    program.write_text(programs()["mjs"])
    key_set, token = run(LANGUAGES["javascript"][0], program).splitlines()

    class Published(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(key_set.encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Published) as server:
        threading.Thread(target=server.serve_forever).start()
        url = f"http://127.0.0.1:{server.server_port}/jwks.json"
        environ = {"GREENROOM_HOME": str(tmp_path), "GREENROOM_JWKS_URL": url}
        claims = await token_verifier(load_settings(environ), system_clock).verify(token)
        server.shutdown()
    assert claims.user_id == "maya"


def run(interpreter: str, program: Path) -> str:
    done = subprocess.run(
        [interpreter, program],
        env={**os.environ, "GREENROOM_JWT_SECRET": SECRET},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_the_readme_leads_to_it() -> None:
    assert "(docs/authentication.md)" in (PAGE.parents[1] / "README.md").read_text()
