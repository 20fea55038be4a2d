"""Files over the polling API: ask where to upload, upload, send, list."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from tests.support.api import Api, Json, Person, answered
from tests.support.uploads import TEXT, process, put, shown

SIZE = len(TEXT)
UPLOAD = {"fileName": "call sheet.txt", "fileType": "text/plain", "fileSize": SIZE}


def pair(one: Person, other: Person) -> str:
    return "conv_" + "_".join(sorted((one.id, other.id)))


def with_file(to: Person, file_url: str, **more: Any) -> Json:
    return {"receiverId": to.id, "content": "", "type": "file", "fileUrl": file_url, **more}


def picture() -> bytes:
    kept = io.BytesIO()
    Image.new("RGB", (64, 48), "teal").save(kept, "PNG")
    return kept.getvalue()


async def begin(owner: Person, **more: Any) -> Json:
    return answered(await owner.post("/messages/uploadFile", {**UPLOAD, **more}), 201)


async def upload(api: Api, owner: Person, data: bytes = TEXT, **more: Any) -> str:
    """The `fileUrl` of an upload whose bytes have arrived."""
    begun = await begin(owner, fileSize=len(data), **more)
    await put(api, begun["method"], begun["uploadUrl"], begun["headers"], data)
    file_url: str = begun["fileUrl"]
    return file_url


async def send(author: Person, body: Json) -> Json:
    message: Json = answered(await author.post("/messages/send", body), 201)["message"]
    return message


class TestUploading:
    async def test_answer_says_what_to_do(self, api: Api) -> None:
        [ann] = await api.people("ann")
        begun = await begin(ann)
        assert begun.keys() == {"uploadUrl", "method", "headers", "fileUrl", "expiresAt"}
        assert "/v1/files/fil_" in begun["fileUrl"]

    @pytest.mark.parametrize(
        "given",
        [
            {"fileType": "image/png", "fileSize": 10 * 1024 * 1024},
            {"contentType": "image/png", "size": 1},
            {"contentType": "image/png", "fileSize": 1},
        ],
    )
    async def test_takes_both_names_of_type_and_size(self, api: Api, given: Json) -> None:
        [ann] = await api.people("ann")
        asked = {"fileName": "a.png", **given}
        assert (await ann.post("/messages/uploadFile", asked)).status_code == 201

    @pytest.mark.parametrize(
        ("wrong", "refusal"),
        [
            ({"fileSize": 10 * 1024 * 1024 + 1}, (413, "ATTACHMENT_TOO_LARGE")),
            ({"fileSize": 0}, (400, "INVALID_REQUEST")),
            ({"fileName": ""}, (400, "INVALID_REQUEST")),
            ({"size": 5}, (400, "INVALID_REQUEST")),
            ({"fileType": None}, (400, "INVALID_REQUEST")),
            ({"fileType": ""}, (400, "INVALID_REQUEST")),
            ({"fileSize": None}, (400, "INVALID_REQUEST")),
            ({"contentType": "image/png"}, (400, "INVALID_REQUEST")),
            ({"thread_id": "thr_1"}, (400, "INVALID_REQUEST")),
        ],
    )
    async def test_what_is_refused(self, api: Api, wrong: Json, refusal: tuple[int, str]) -> None:
        [ann] = await api.people("ann")
        asked = {**UPLOAD, **wrong}
        assert await ann.refusal("POST", "/messages/uploadFile", asked) == refusal

    async def test_is_for_people(self, api: Api) -> None:
        refusal = await api.anonymous.refusal("POST", "/messages/uploadFile", UPLOAD)
        assert refusal == (401, "UNAUTHENTICATED")


class TestSending:
    async def test_send_completes_the_upload_and_starts_the_thread(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        sent = await send(ann, with_file(bob, await upload(api, ann), content="As promised"))
        assert (sent["type"], sent["content"]) == ("file", "As promised")
        assert (sent["fileName"], sent["fileSize"]) == ("call sheet.txt", SIZE)
        assert "fileUrl" not in sent
        [seen] = await bob.poll(pair(ann, bob))
        assert (seen["id"], seen["type"], seen["fileSize"]) == (sent["id"], "file", SIZE)
        assert "fileUrl" not in seen

    async def test_lists_give_a_fresh_address_once_the_file_is_ready(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await send(ann, with_file(bob, await upload(api, ann)))
        await process(api)
        for viewer in (ann, bob):
            [listed] = await viewer.poll(pair(ann, bob))
            answer = await api.http.get(listed["fileUrl"])
            assert (answer.status_code, answer.content) == (200, TEXT)

    async def test_a_picture_is_an_image_that_every_client_can_show(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        data = picture()
        file_url = await upload(api, ann, data, fileName="a.png", fileType="image/png")
        sent = await send(ann, with_file(bob, file_url, type="image"))
        assert (sent["type"], sent["content"]) == ("image", "")
        await process(api)
        [listed] = await bob.poll(pair(ann, bob))
        answer = await api.http.get(listed["fileUrl"])
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")

    async def test_into_a_thread_that_is_there_and_seen_under_v1(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        file_url = await upload(api, ann)
        since = await bob.cursor()
        await send(ann, with_file(bob, file_url))
        [event] = await bob.sync(since)
        assert event["thread_id"] == thread_id
        assert event["message"]["kind"] == "asset"
        assert file_url.endswith(shown(event["message"])[0])
        since = await bob.cursor()
        await process(api)
        assert [each["type"] for each in await bob.sync(since)] == ["file.changed"]

    async def test_a_repeat_returns_the_message(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        body = with_file(bob, await upload(api, ann))
        first = await ann.post("/messages/send", body, key="file-key")
        again = await ann.post("/messages/send", body, key="file-key")
        assert (first.status_code, again.status_code) == (201, 200)
        assert again.json()["message"]["id"] == first.json()["message"]["id"]
        assert again.json()["message"]["fileName"] == "call sheet.txt"
        assert len(await bob.poll(pair(ann, bob))) == 1

    async def test_a_deleted_message_has_no_file(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        await send(ann, with_file(bob, await upload(api, ann)))
        await process(api)
        thread_id = (await ann.inbox())["items"][0]["thread"]["id"]
        await ann.remove((await ann.messages(thread_id))[-1])
        [listed] = await bob.poll(pair(ann, bob))
        assert listed["deleted"] is True
        assert listed.keys().isdisjoint({"fileUrl", "fileName", "fileSize"})
        [changed] = await bob.poll(pair(ann, bob), updatedSince="0")
        assert changed == listed


class TestRefusals:
    async def test_before_its_bytes_have_arrived(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        begun = await begin(ann)
        refusal = await ann.refusal("POST", "/messages/send", with_file(bob, begun["fileUrl"]))
        assert refusal == (404, "NOT_FOUND")
        assert await bob.conversations() == []
        await put(api, begun["method"], begun["uploadUrl"], begun["headers"], TEXT)
        await send(ann, with_file(bob, begun["fileUrl"]))

    async def test_of_somebody_else(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        body = with_file(ann, await upload(api, ann))
        assert await bob.refusal("POST", "/messages/send", body) == (404, "NOT_FOUND")

    async def test_one_that_is_in_another_thread(self, api: Api) -> None:
        ann, bob, cleo = await api.people("ann", "bob", "cleo")
        file_url = await upload(api, ann)
        await send(ann, with_file(bob, file_url))
        refusal = await ann.refusal("POST", "/messages/send", with_file(cleo, file_url))
        assert refusal == (404, "NOT_FOUND")
        assert await cleo.conversations() == []

    @pytest.mark.parametrize(
        "wrong",
        [
            {"fileUrl": None},
            {"fileUrl": "https://files.example/1"},
            {"fileUrl": "https://x/v1/files/fil_../etc/passwd"},
            {"type": "text"},
            {"type": "voice"},
        ],
    )
    async def test_what_is_of_another_form(self, api: Api, wrong: Json) -> None:
        ann, bob = await api.people("ann", "bob")
        body = {**with_file(bob, await upload(api, ann)), **wrong}
        assert await ann.refusal("POST", "/messages/send", body) == (400, "INVALID_REQUEST")

    async def test_an_unknown_file(self, api: Api) -> None:
        ann, bob = await api.people("ann", "bob")
        body = with_file(bob, "https://x/v1/files/fil_" + "0" * 26)
        assert await ann.refusal("POST", "/messages/send", body) == (404, "NOT_FOUND")


async def test_several_files_of_v1_show_the_first(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    asked = {"thread_id": thread_id, "mime": "text/plain", "bytes": SIZE, "purpose": "attachment"}
    ids = []
    for name in ("one.txt", "two.txt"):
        begun = answered(await ann.post("/v1/uploads", {**asked, "name": name}), 201)["upload"]
        await put(api, begun["method"], begun["url"], begun["headers"], TEXT)
        answered(await ann.post(f"/v1/uploads/{begun['id']}/complete", None), 200)
        ids.append({"file_id": begun["id"]})
    await ann.send(thread_id, "Both", attachments=ids)
    [listed] = [each for each in await bob.poll(pair(ann, bob)) if each["type"] != "text"]
    assert (listed["content"], listed["fileName"]) == ("Both", "one.txt")
