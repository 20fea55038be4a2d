"""Threads from before pairs were known get their key and their order by the migration."""

from __future__ import annotations

import secrets
import shutil
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg

from greenroom.platform.postgres.migrations import default_folder, migrate
from tests.support.databases import drop_database

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = {
    "thr_b": {"ann": "active", "bob": "active"},
    "thr_a": {"bob": "active", "ann": "active"},
    "thr_left": {"ann": "active", "bob": "left"},
    "thr_three": {"ann": "active", "bob": "active", "carl": "left"},
    "thr_one": {"ann": "active"},
}


async def test_threads_of_before(postgres_url: str, tmp_path: Path) -> None:
    for name in ("migrations", "functions"):
        (tmp_path / name).mkdir()
    for path in sorted(default_folder().glob("migrations/00[1-4]_*.sql")):
        shutil.copy(path, tmp_path / "migrations")
    name = f"greenroom_backfill_{secrets.token_hex(4)}"
    server = await asyncpg.connect(postgres_url)
    await server.execute(f"create database {name}")
    url = urlsplit(postgres_url)._replace(path=f"/{name}").geturl()
    await migrate(url, folder=tmp_path)
    connection = await asyncpg.connect(url)
    try:
        for place, (thread_id, people) in enumerate(PEOPLE.items()):
            await connection.execute(
                "insert into thread (thread_id, kind, opened_by_user, last_msg_ts, created_at,"
                " updated_at)"
                " values ($1, 'inquiry', 'ann', now(), now() + $2 * interval '1 s', now())",
                *(thread_id, place),
            )
            for user_id, status in people.items():
                await connection.execute(
                    "insert into thread_participant (thread_id, user_id, role, status, joined_at)"
                    " values ($1, $2, 'host', $3, now())",
                    *(thread_id, user_id, status),
                )
        assert "005_pairs" in await migrate(url)
        rows = await connection.fetch(
            "insert into thread (thread_id, kind, opened_by_user, last_msg_ts, created_at,"
            " updated_at) values ('thr_new', 'inquiry', 'ann', now(), now(), now())"
            " returning started_n"
        )
        assert [row["started_n"] for row in rows] == [len(PEOPLE) + 1]
        rows = await connection.fetch("select thread_id, pair_key from thread order by started_n")
        assert [tuple(row) for row in rows] == [
            ("thr_b", "ann,bob"),
            ("thr_a", "ann,bob"),
            *((thread_id, None) for thread_id in ("thr_left", "thr_three", "thr_one", "thr_new")),
        ]
    finally:
        await connection.close()
        await drop_database(postgres_url, name)
        await server.close()
