"""A PostgreSQL for each peer, with the engine and the settings of Greenroom's own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg

from greenroom.platform.embedded.postgres import EmbeddedPostgres

# Synapse insists on the C locale.
CREATE = (
    "create database {name} template template0 encoding 'UTF8' "
    "locale_provider libc lc_collate 'C' lc_ctype 'C'"
)


@dataclass(frozen=True, slots=True)
class Archive:
    host: str
    port: int
    user: str
    password: str
    database: str

    @property
    def url(self) -> str:
        return f"postgresql://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"

    async def count(self, query: str) -> int:
        connection = await asyncpg.connect(self.url)
        try:
            return int(await connection.fetchval(query))
        finally:
            await connection.close()


@contextmanager
def archive(folder: Path, name: str) -> Iterator[Archive]:
    """Run a server with an empty database."""
    with EmbeddedPostgres(folder).using() as url:
        asyncio.run(_create(url, name))
        parts = urlsplit(url)
        yield Archive(
            host=parts.hostname or "",
            port=parts.port or 0,
            user=parts.username or "",
            password=parts.password or "",
            database=name,
        )


async def _create(url: str, name: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            if await connection.fetchval(f"show {setting}") != "on":
                raise RuntimeError(f"{setting} is off: that would be another comparison")
        await connection.execute(CREATE.format(name=name))
    finally:
        await connection.close()
