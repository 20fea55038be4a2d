"""Uploads as clients make them, for tests of what messages do with files."""

from typing import Any

from tests.support.api import Api, Json, Person, answered

TEXT = b"Call sheet: 9:00 make-up, 10:00 first set."


async def upload(
    api: Api,
    owner: Person,
    thread_id: str,
    data: bytes = TEXT,
    *,
    name: str = "call sheet.txt",
    mime: str = "text/plain",
    **more: Any,
) -> str:
    """The id of a completed upload, which is still to be processed."""
    asked = {"thread_id": thread_id, "name": name, "mime": mime, "bytes": len(data)}
    asked |= {"purpose": "attachment", **more}
    begun: Json = answered(await owner.post("/v1/uploads", asked), 201)["upload"]
    await put(api, begun["method"], begun["url"], begun["headers"], data)
    answered(await owner.post(f"/v1/uploads/{begun['id']}/complete", None), 200)
    file_id: str = begun["id"]
    return file_id


async def put(api: Api, method: str, url: str, headers: dict[str, str], data: bytes) -> None:
    answer = await api.http.request(method, url, headers=headers, content=data)
    assert answer.is_success, answer.text


async def process(api: Api) -> None:
    """Let the worker do all that there is to do."""
    await api.rooms.contract.worker.run_until_idle()


def attached(*file_ids: str) -> list[Json]:
    return [{"file_id": each} for each in file_ids]


def shown(message: Json) -> list[str]:
    """The ids of the files that a message shows."""
    return [each["file_id"] for each in message["attachments"]]
