"""A shell as people use it: with a terminal, into which a block of text is pasted."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE_S = 240.0
PASTE_BEGINS, PASTE_ENDS = b"\x1b[200~", b"\x1b[201~"
"""What a terminal puts around pasted text, so that a shell takes it as one."""
PROMPTS = b"\x1b[?2004h"
"""What a shell asks the terminal for when it waits for people: to mark what they paste."""
COMMANDS = re.compile(rb"\x1b\[[?0-9;]*[A-Za-z]")
"""To the terminal: colours, places, ways to paste."""


class Shell:
    def __init__(self, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self._terminal, inner = pty.openpty()
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**env, "TERM": "xterm", "PS1": "$ "},
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
        )
        os.close(inner)
        self._read_until(PROMPTS)

    def paste(self, text: str) -> str:
        """What the terminal shows until all of it has run."""
        os.write(self._terminal, PASTE_BEGINS + text.encode() + PASTE_ENDS + b"\r")
        return COMMANDS.sub(b"", self._read_until(PROMPTS)).decode().replace("\r", "\n")

    def _read_until(self, wanted: bytes) -> bytes:
        seen = b""
        deadline_s = time.monotonic() + PATIENCE_S
        while wanted not in seen:
            left_s = deadline_s - time.monotonic()
            if left_s <= 0 or not select.select([self._terminal], [], [], left_s)[0]:
                raise AssertionError(f"{wanted!r} did not come:\n{seen.decode(errors='replace')}")
            seen += os.read(self._terminal, 65536)
        return seen

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)
