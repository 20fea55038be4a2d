"""Files between people: upload, process, send, fetch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import asyncpg
import httpx

from tests.support.api import Api, Json, Person, answered

TEXT = b"Call sheet: 9:00 make-up, 10:00 first set."


@dataclass
class FileStage:
    """Ann and Bob talk; Carl has nothing to do with it."""

    api: Api
    pool: asyncpg.Pool
    ann: Person
    bob: Person
    carl: Person
    thread_id: str

    @classmethod
    async def open(cls, api: Api, pool: asyncpg.Pool) -> FileStage:
        ann, bob, carl = await api.people("ann", "bob", "carl")
        return cls(api, pool, ann, bob, carl, await ann.thread_with(bob))

    @property
    def blobs(self) -> Any:
        return self.api.rooms.files.blobs

    def request(self, data: bytes = TEXT, **more: Any) -> Json:
        asked = {"thread_id": self.thread_id, "name": "call sheet.txt", "mime": "text/plain"}
        return {**asked, "bytes": len(data), "purpose": "attachment", **more}

    async def begin(self, data: bytes = TEXT, by: Person | None = None, **more: Any) -> Json:
        answer = await (by or self.ann).post("/v1/uploads", self.request(data, **more))
        upload: Json = answered(answer, 201)["upload"]
        return upload

    async def put(self, signed: Json, data: bytes) -> httpx.Response:
        """Do exactly that request."""
        return await self.api.http.request(
            signed["method"], signed["url"], headers=signed["headers"], content=data
        )

    async def complete(self, upload: Json, by: Person | None = None) -> Json:
        answer = await (by or self.ann).post(f"/v1/uploads/{upload['id']}/complete", None)
        file: Json = answered(answer, 200)["file"]
        return file

    async def upload(self, data: bytes = TEXT, by: Person | None = None, **more: Any) -> Json:
        """A completed upload, still to be processed."""
        upload = await self.begin(data, by, **more)
        assert (await self.put(upload, data)).status_code == 204
        return await self.complete(upload, by)

    async def work(self) -> None:
        """Let the worker do all that there is to do."""
        await self.api.rooms.contract.worker.run_until_idle()

    async def file(self, file: Json | str, viewer: Person | None = None) -> Json:
        file_id = file if isinstance(file, str) else file["id"]
        found = answered(await (viewer or self.ann).get(f"/v1/files/{file_id}"), 200)
        shown: Json = found["file"]
        return shown

    async def ready(self, data: bytes = TEXT, by: Person | None = None, **more: Any) -> Json:
        file = await self.upload(data, by, **more)
        await self.work()
        return await self.file(file, by)

    async def send(self, *files: Json, by: Person | None = None, body: str = "") -> Json:
        ids = [{"file_id": each["id"]} for each in files]
        return await (by or self.ann).send(self.thread_id, body, attachments=ids)

    async def fetch(self, rendition: Json, **headers: str) -> httpx.Response:
        return await self.api.http.get(rendition["url"], headers=headers)
