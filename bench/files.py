"""What files add to a page of messages: the same page with pictures and without."""

import asyncio
import json
from collections.abc import Iterator

import asyncpg

from bench import fill, load
from bench.pages import medians
from bench.product import Product
from bench.report import Row, at_most, say
from bench.senders import BODY

MESSAGES = 50
EVERY = 5
"""One message in so many has a picture, as in a conversation about a shoot."""

# Pictures that are ready, with the renditions that processing makes of a photograph.
PICTURES = """
insert into file (file_id, thread_id, owner_user, purpose, name, mime, bytes, sha256, state, media,
                  content_mime, width, height, band, band_source, renditions, created_at,
                  completed_at, finished_at, told_at)
select 'fil_' || lpad(to_hex($3::bigint + i), 12, '0') || lpad(to_hex(i), 14, '0'), $1, $2,
    'attachment', 'IMG_' || i || '.jpg', 'image/jpeg', 4000000, repeat('ab', 32), 'ready', 'image',
    'image/jpeg', 4000, 3000, 0, 'classifier', (
        select jsonb_agg(jsonb_build_object('kind', kind, 'mime', mime, 'bytes', 50000,
            'width', 1600, 'height', 1200, 'key', 'msg-previews/' || $1 || '/' || i || '/' || name))
        from (values ('thumb', 'image/webp', 'thumb.webp'), ('thumb', 'image/jpeg', 'thumb.jpg'),
                     ('preview', 'image/webp', 'preview.webp'),
                     ('preview', 'image/jpeg', 'preview.jpg'),
                     ('blurred', 'image/jpeg', 'blurred.jpg')) r (kind, mime, name)),
    now(), now(), now(), now()
from generate_series(1, $4::int) i
returning file_id
"""
AN_ID_MS = 0x019E33C9AC00


def files(server: Product, calls: int, number: int) -> Iterator[Row]:
    """`number` is a thread for the page with pictures; the one after it has texts only."""
    say(f"pages of {MESSAGES} messages with and without pictures")
    pictures = asyncio.run(_add_pictures(server.database_url, number))
    for thread in (number, number + 1):
        load.run(server.port, list(_sends(server, thread, pictures)), 1).require(201)
        pictures = []

    def page(of: int) -> bytes:
        path = f"/v1/threads/{fill.thread_id(of)}/messages"
        return load.request("GET", path, server.token(fill.people(of)[1]))

    with_files, without = medians(server, [page(number), page(number + 1)], calls)
    yield at_most(
        f"thread page, {MESSAGES // EVERY} of {MESSAGES} with a picture / none",
        f"{with_files:.2f} / {without:.2f} ms",
        with_files / without,
        1.3,
    )

    def inbox(of: int) -> bytes:
        return load.request("GET", "/v1/inbox", server.token(fill.people(of)[1]))

    with_files, without = medians(server, [inbox(number), inbox(number + 1)], calls)
    yield at_most(
        "inbox page, last message a picture / a text",
        f"{with_files:.2f} / {without:.2f} ms",
        with_files / without,
        1.3,
    )


async def _add_pictures(url: str, number: int) -> list[str]:
    connection = await asyncpg.connect(url)
    try:
        of = (fill.thread_id(number), fill.people(number)[0])
        rows = await connection.fetch(PICTURES, *of, AN_ID_MS, MESSAGES // EVERY)
        return [row["file_id"] for row in rows]
    finally:
        await connection.close()


def _sends(server: Product, number: int, pictures: list[str]) -> Iterator[bytes]:
    """From the buyer. With pictures, the last message has one."""
    token = server.token(fill.people(number)[0])
    path = f"/v1/threads/{fill.thread_id(number)}/messages"
    for i in range(1, MESSAGES + 1):
        body: dict[str, object] = {"client_id": f"f{i}", "body": BODY}
        if pictures and i % EVERY == 0:
            body["attachments"] = [{"file_id": pictures[i // EVERY - 1]}]
        yield load.request("POST", path, token, json.dumps(body).encode())
