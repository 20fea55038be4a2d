"""Rows of the table `file` as values of the model, and the other way round."""

from collections.abc import Sequence

import msgspec
from asyncpg import Record

from greenroom.files.model import File, Rendition
from greenroom.kernel.kept import reads_kept

_renditions = msgspec.json.Decoder(tuple[Rendition, ...])


@reads_kept
def read_file(row: Record) -> File:
    peaks = row["peaks"]
    return File(
        id=row["file_id"],
        thread_id=row["thread_id"],
        owner=row["owner_user"],
        purpose=row["purpose"],
        name=row["name"],
        mime=row["mime"],
        bytes=row["bytes"],
        sha256=row["sha256"],
        state=row["state"],
        media=row["media"],
        created_at_ms=row["created_at"],
        reason=row["reason"],
        content_mime=row["content_mime"],
        width=row["width"],
        height=row["height"],
        duration_ms=row["duration_ms"],
        peaks=None if peaks is None else tuple(peaks),
        alt=row["alt"],
        band=row["band"],
        band_source=row["band_source"],
        renditions=_renditions.decode(row["renditions"]),
        parts_handle=row["parts_handle"],
        watermark=row["watermark"],
        completed_at_ms=row["completed_at"],
        finished_at_ms=row["finished_at"],
        told_at_ms=row["told_at"],
        deleted_at_ms=row["deleted_at"],
    )


def write_renditions(renditions: Sequence[Rendition]) -> str:
    return msgspec.json.encode(list(renditions)).decode()
