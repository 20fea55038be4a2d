"""Files that cards show, in the transactions of the cards."""

from collections.abc import Mapping, Sequence

from greenroom.files.model import File
from greenroom.files.postgres import sql
from greenroom.files.postgres.rows import read_file
from greenroom.platform.postgres.pool import Session


class PostgresCardFiles:
    async def use(
        self, conn: Session, file_ids: Sequence[str], place: str, at_ms: int
    ) -> Mapping[str, File]:
        """Note that these files are shown by the card `place`, and return those that exist."""
        rows = await conn.fetch(sql.LOCK_MANY, file_ids)
        found = {row["file_id"]: read_file(row) for row in rows}
        await conn.execute(sql.NOTE_PLACE, list(found), place, at_ms)
        return found
