"""Prosody from Debian, its archive (mod_mam) on PostgreSQL, over plain XMPP streams."""

import asyncio
import os
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

from bench.peers.archive import Archive, archive
from bench.peers.arrivals import Arrivals
from bench.peers.process import free_port, run_briefly, serving
from bench.peers.system import PAIRS, Running, Send, System, UnavailableError
from bench.peers.xmpp import HOST, XmppSender, XmppStream, receive

PACKAGES = ("prosody", "lua-dbi-postgresql")
INSTALL_TIMEOUT_S = 600

# Only the modules that the comparison needs, and no rate limits (mod_limits).
CONFIG = """\
run_as_root = true
daemonize = false
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
log = {{ warn = "{folder}/prosody.log" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ }}
modules_enabled = {{ "roster", "saslauth", "disco", "smacks", "mam" }}
modules_disabled = {{ "s2s" }}
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
authentication = "internal_plain"
storage = {{ accounts = "internal" }}
default_storage = "sql"
sql = {{
    driver = "PostgreSQL", database = "{archive.database}", host = "{archive.host}",
    port = {archive.port}, username = "{archive.user}", password = "{archive.password}",
}}
archive_expires_after = "never"
default_archive_policy = true
VirtualHost "{host}"
"""


def install() -> None:
    if all(_version(package) for package in PACKAGES):
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise UnavailableError(f"on Debian, as root: apt-get install {' '.join(PACKAGES)}")
    run_briefly(
        ["apt-get", "install", "-y", "--no-install-recommends", *PACKAGES], INSTALL_TIMEOUT_S
    )


def _version(package: str) -> str:
    query = ["dpkg-query", "--show", "--showformat=${Version}", package]
    try:
        return subprocess.run(query, capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


@contextmanager
def start(folder: Path) -> Iterator[Running]:
    with archive(folder, "prosody") as stored_in:
        port, password = free_port(), secrets.token_hex(8)
        _write_accounts(folder / "data", password)
        config = folder / "prosody.cfg.lua"
        config.write_text(CONFIG.format(folder=folder, port=port, archive=stored_in, host=HOST))
        with serving(["prosody", "-F", "--config", config], folder, port):
            yield Running(
                version=f"Prosody {_version('prosody')}",
                connect=partial(_connect, port, password),
                stored=partial(_stored, stored_in),
            )


def _write_accounts(data: Path, password: str) -> None:
    """Write the files that `prosodyctl register` would write, without a process for each."""
    accounts = data / HOST / "accounts"
    accounts.mkdir(parents=True)
    for number in range(2 * PAIRS):
        (accounts / f"u{number}.dat").write_text(f'return {{ ["password"] = "{password}"; }};\n')


async def _stored(stored_in: Archive) -> int:
    """Each message is archived twice: for the sender and for the receiver."""
    return await stored_in.count("select count(*) / 2 from prosodyarchive")


@asynccontextmanager
async def _connect(port: int, password: str, arrivals: Arrivals) -> AsyncIterator[list[Send]]:
    with ExitStack() as stack:
        sends: list[Send] = []
        for number in range(PAIRS):
            sender, receiver = f"u{2 * number}", f"u{2 * number + 1}"
            hearing = await _logged_in(port, receiver, password)
            stack.callback(hearing.close)
            await receive(hearing, arrivals.arrived, arrivals.broke)
            speaking = await _logged_in(port, sender, password)
            stack.callback(speaking.close)
            end = XmppSender(speaking, receiver)
            await end.start()
            sends.append(end.send)
        yield sends


async def _logged_in(port: int, user: str, password: str) -> XmppStream:
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(XmppStream, "127.0.0.1", port)
    await stream.log_in(user, password)
    return stream


PROSODY = System(
    name="Prosody",
    acknowledged="stream management's <a/> (XEP-0198) after each message",
    pushed="the receiver's XMPP stream",
    install=install,
    start=start,
)
