"""Matrix Synapse from PyPI, in a virtual environment of its own, on PostgreSQL."""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bench.peers.archive import Archive, archive
from bench.peers.matrix import connect
from bench.peers.process import free_port, run_briefly, serving
from bench.peers.system import Running, System, UnavailableError

PACKAGE = "matrix-synapse[postgres]"
INSTALL_TIMEOUT_S = 900
VERSION = "import psycopg2, synapse; print(synapse.__version__)"
RATE = {"per_second": 1_000_000, "burst_count": 1_000_000}


def install() -> None:
    try:
        _version()
    except UnavailableError:
        run_briefly([sys.executable, "-m", "venv", _environment()], INSTALL_TIMEOUT_S)
        _pip_install()


def _pip_install() -> None:
    try:
        run_briefly([_python(), "-m", "pip", "install", "--quiet", PACKAGE], INSTALL_TIMEOUT_S)
        _version()
    except UnavailableError as error:
        raise UnavailableError(
            f"{error}\nIf psycopg2 was not built: it needs a C compiler, python3-dev and libpq-dev."
        ) from error


def _environment() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "greenroom-peers" / "synapse"


def _python() -> Path:
    return _environment() / "bin" / "python"


def _version() -> str:
    return run_briefly([_python(), "-c", VERSION], 60).strip()


@contextmanager
def start(folder: Path) -> Iterator[Running]:
    with archive(folder, "synapse") as stored_in:
        port, secret = free_port(), secrets.token_hex(16)
        config = folder / "homeserver.yaml"
        # JSON is YAML.
        config.write_bytes(msgspec.json.encode(_config(folder, port, secret, stored_in)))
        (folder / "log.yaml").write_bytes(msgspec.json.encode(_log_config()))
        homeserver: list[str | Path] = [_python(), "-m", "synapse.app.homeserver", "-c", config]
        run_briefly([*homeserver, "--generate-keys"], 60)
        with serving(homeserver, folder, port):
            yield Running(
                version=f"Synapse {_version()}",
                connect=partial(connect, port, secret),
                stored=partial(_stored, stored_in),
            )


def _config(folder: Path, port: int, secret: str, stored_in: Archive) -> dict[str, Any]:
    """Client API only, without federation and without effective rate limits."""
    return {
        "server_name": "localhost",
        "pid_file": str(folder / "homeserver.pid"),
        "signing_key_path": str(folder / "signing.key"),
        "media_store_path": str(folder / "media"),
        "log_config": str(folder / "log.yaml"),
        "listeners": [
            {
                "port": port,
                "type": "http",
                "bind_addresses": ["127.0.0.1"],
                "resources": [{"names": ["client"]}],
            }
        ],
        "database": {"name": "psycopg2", "args": _database_args(stored_in)},
        "registration_shared_secret": secret,
        "macaroon_secret_key": secret,
        "report_stats": False,
        "trusted_key_servers": [],
        "federation_domain_whitelist": [],
        "presence": {"enabled": False},
        "bcrypt_rounds": 4,
        **_no_rate_limits(),
    }


def _database_args(stored_in: Archive) -> dict[str, Any]:
    return {
        "user": stored_in.user,
        "password": stored_in.password,
        "dbname": stored_in.database,
        "host": stored_in.host,
        "port": stored_in.port,
        "cp_min": 5,
        "cp_max": 10,
    }


def _no_rate_limits() -> dict[str, Any]:
    return {
        "rc_message": RATE,
        "rc_registration": RATE,
        "rc_login": {"address": RATE, "account": RATE, "failed_attempts": RATE},
        "rc_joins": {"local": RATE, "remote": RATE},
        "rc_joins_per_room": RATE,
        "rc_invites": {"per_room": RATE, "per_user": RATE, "per_issuer": RATE},
        "rc_room_creation": RATE,
    }


def _log_config() -> dict[str, Any]:
    return {
        "version": 1,
        "handlers": {"console": {"class": "logging.StreamHandler"}},
        "root": {"level": "WARNING", "handlers": ["console"]},
        "disable_existing_loggers": False,
    }


async def _stored(stored_in: Archive) -> int:
    return await stored_in.count("select count(*) from events where type = 'm.room.message'")


SYNAPSE = System(
    name="Synapse",
    acknowledged="200 with an event_id to PUT /rooms/{room}/send",
    pushed="the answer to GET /sync, long-polled",
    install=install,
    start=start,
)
