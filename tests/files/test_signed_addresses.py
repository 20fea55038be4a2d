"""A signed address does what it was signed for, in time, and nothing else."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import httpx
import pytest

from tests.support.api import Json

from .stage import TEXT, FileStage

REFUSED = range(400, 500)


def changed(url: str, *, path: str | None = None, **query: Any) -> str:
    """The address with another path or other parameters; None leaves one out."""
    parts = urlsplit(url)
    given = {name: values[0] for name, values in parse_qs(parts.query).items()}
    left = {name: value for name, value in {**given, **query}.items() if value is not None}
    return urlunsplit(parts._replace(path=path or parts.path, query=urlencode(left)))


def parameter(url: str, name: str) -> str:
    return parse_qs(urlsplit(url).query)[name][0]


async def attempt(stage: FileStage, method: str, url: str, **more: Any) -> httpx.Response:
    return await stage.api.http.request(method, url, **more)


class TestUpload:
    @pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE", "GET"])
    async def test_another_method(self, stage: FileStage, method: str) -> None:
        upload = await stage.begin()
        answer = await attempt(
            stage, method, upload["url"], content=TEXT, headers=upload["headers"]
        )
        assert answer.status_code in REFUSED
        await self._nothing_arrived(stage, upload)

    @pytest.mark.parametrize("data", [TEXT + b".", TEXT[:-1], b""])
    async def test_another_length(self, stage: FileStage, data: bytes) -> None:
        upload = await stage.begin()
        assert (await stage.put(upload, data)).status_code in REFUSED
        await self._nothing_arrived(stage, upload)

    async def test_no_length(self, stage: FileStage) -> None:
        upload = await stage.begin()

        async def chunks() -> Any:
            yield TEXT

        answer = await attempt(
            stage, "PUT", upload["url"], content=chunks(), headers=upload["headers"]
        )
        assert answer.status_code in REFUSED
        await self._nothing_arrived(stage, upload)

    @pytest.mark.parametrize("mime", ["text/html", "text/plain; charset=utf-8", "TEXT/PLAIN", ""])
    async def test_another_type(self, stage: FileStage, mime: str) -> None:
        upload = await stage.begin()
        answer = await attempt(
            stage, "PUT", upload["url"], content=TEXT, headers={"Content-Type": mime}
        )
        assert answer.status_code in REFUSED
        await self._nothing_arrived(stage, upload)

    async def test_another_object(self, stage: FileStage) -> None:
        one, other = await stage.begin(), await stage.begin()
        url = changed(one["url"], path=urlsplit(other["url"]).path)
        answer = await attempt(stage, "PUT", url, content=TEXT, headers=one["headers"])
        assert answer.status_code in REFUSED
        await self._nothing_arrived(stage, other)

    async def test_a_part_is_no_whole_and_no_other_part(self, stage: FileStage) -> None:
        data = b"a" * 3000
        upload = await stage.begin(data, parts=True)
        first, second = upload["parts"][:2]
        for path in (
            urlsplit(second["url"]).path,
            f"/blobs/uploads/{upload['id']}",
            f"/blobs/uploads/{upload['id']}/parts/01",
            f"/blobs/uploads/{upload['id']}/parts/4",
        ):
            url = changed(first["url"], path=path)
            answer = await attempt(stage, "PUT", url, content=data[:1000], headers=first["headers"])
            assert answer.status_code in REFUSED
        await self._nothing_arrived(stage, upload)

    async def test_late(self, stage: FileStage) -> None:
        upload = await stage.begin()
        stage.api.clock.advance(seconds=600)
        assert (await stage.put(upload, TEXT)).status_code == 403
        later = int(parameter(upload["url"], "expires")) + 3600
        upload["url"] = changed(upload["url"], expires=later)
        assert (await stage.put(upload, TEXT)).status_code == 403

    async def test_in_the_last_second(self, stage: FileStage) -> None:
        upload = await stage.begin()
        stage.api.clock.advance(seconds=599)
        assert (await stage.put(upload, TEXT)).status_code == 204

    async def test_replayed(self, stage: FileStage) -> None:
        upload = await stage.begin()
        assert (await stage.put(upload, TEXT)).status_code == 204
        other = TEXT[::-1]
        assert (await stage.put(upload, other)).status_code == 409
        await stage.complete(upload)
        assert (await stage.put(upload, other)).status_code == 409
        await stage.work()
        [original] = (await stage.file(upload["id"]))["renditions"]
        assert (await stage.fetch(original)).content == TEXT
        assert (await stage.put(upload, other)).status_code == 409

    async def test_a_part_replayed(self, stage: FileStage) -> None:
        upload = await stage.begin(b"a" * 1500, parts=True)
        first = upload["parts"][0]
        assert (await stage.put(first, b"a" * 1000)).status_code == 204
        assert (await stage.put(first, b"b" * 1000)).status_code == 409

    async def test_cancelled(self, stage: FileStage) -> None:
        upload = await stage.begin()
        assert (await stage.ann.delete(f"/v1/uploads/{upload['id']}")).status_code == 204
        assert (await stage.put(upload, TEXT)).status_code == 404
        assert await stage.blobs.find(f"msg-quarantine/{upload['id']}/upload") is None

    @pytest.mark.parametrize("name", ["expires", "signature"])
    async def test_tampered(self, stage: FileStage, name: str) -> None:
        upload = await stage.begin()
        value = parameter(upload["url"], name)
        for tampered in (None, "", "0", value[:-1], value + "0", value[::-1], "ä" + value):
            url = changed(upload["url"], **{name: tampered})
            answer = await attempt(stage, "PUT", url, content=TEXT, headers=upload["headers"])
            assert answer.status_code in REFUSED, tampered
        await self._nothing_arrived(stage, upload)

    async def _nothing_arrived(self, stage: FileStage, upload: Json) -> None:
        path = f"/v1/uploads/{upload['id']}"
        found = (await stage.ann.get(path)).json()["upload"]
        assert not found["received"]
        assert not any(part["received"] for part in found["parts"] or ())


class TestDownload:
    async def _address(self, stage: FileStage) -> str:
        file = await stage.ready()
        await stage.send(file)
        [original] = (await stage.file(file, stage.bob))["renditions"]
        url: str = original["url"]
        return url

    async def test_as_signed(self, stage: FileStage) -> None:
        url = await self._address(stage)
        for method, content in (("GET", TEXT), ("HEAD", b"")):
            answer = await attempt(stage, method, url)
            assert (answer.status_code, answer.content) == (200, content)
            assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
            assert answer.headers["cache-control"].startswith("private, max-age=")
            assert answer.headers["content-disposition"].startswith("attachment; filename=")

    async def test_a_range(self, stage: FileStage) -> None:
        url = await self._address(stage)
        answer = await attempt(stage, "GET", url, headers={"Range": "bytes=5-9"})
        assert (answer.status_code, answer.content) == (206, TEXT[5:10])

    @pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH"])
    async def test_another_method(self, stage: FileStage, method: str) -> None:
        url = await self._address(stage)
        assert (await attempt(stage, method, url)).status_code in REFUSED

    async def test_another_object(self, stage: FileStage) -> None:
        one, other = await self._address(stage), await self._address(stage)
        url = changed(one, path=urlsplit(other).path)
        assert (await attempt(stage, "GET", url)).status_code == 403

    async def test_another_user(self, stage: FileStage) -> None:
        url = await self._address(stage)
        for viewer in (stage.ann.id, stage.carl.id, "", None, f"{stage.bob.id}\n"):
            tampered = changed(url, viewer=viewer)
            assert (await attempt(stage, "GET", tampered)).status_code in REFUSED

    async def test_another_rendition_and_tricks_with_paths(self, stage: FileStage) -> None:
        url = await self._address(stage)
        path = urlsplit(url).path
        file_id = path.split("/")[3]
        for trick in (
            f"/blobs/files/{file_id}/thumb.webp",
            f"/blobs/files/{file_id}/upload",
            f"/blobs/files/{file_id}/..%2foriginal",
            f"/blobs/files/{file_id}/%2e%2e/original",
            f"/blobs/files//{file_id}/original",
            f"/blobs/files/{file_id}/original/",
            f"/blobs/files/{file_id.upper()}/original",
            f"/blobs/files/{file_id}%00/original",
            f"/blobs/uploads/{file_id}",
            f"/blobs/msg-quarantine/{file_id}/upload",
            "/blobs/files/..%2f..%2f..%2fetc/passwd",
        ):
            answer = await attempt(stage, "GET", changed(url, path=trick))
            assert answer.status_code in REFUSED, trick

    async def test_late(self, stage: FileStage) -> None:
        url = await self._address(stage)
        stage.api.clock.advance(seconds=601)
        assert (await attempt(stage, "GET", url)).status_code == 403
        later = int(parameter(url, "expires")) + 3600
        forged = await attempt(stage, "GET", changed(url, expires=later))
        assert forged.status_code == 403
        assert forged.json()["title"] == "This address has expired or is not valid"
        assert "again" in forged.json()["hint"]

    @pytest.mark.parametrize("name", ["viewer", "expires", "signature"])
    async def test_tampered(self, stage: FileStage, name: str) -> None:
        url = await self._address(stage)
        value = parameter(url, name)
        for tampered in (None, "", "0", value[:-1], value + "0", value[::-1]):
            answer = await attempt(stage, "GET", changed(url, **{name: tampered}))
            assert answer.status_code in REFUSED, tampered

    async def test_an_upload_is_no_download(self, stage: FileStage) -> None:
        upload = await stage.begin()
        await stage.put(upload, TEXT)
        assert (await attempt(stage, "GET", upload["url"])).status_code in REFUSED
        query = urlsplit(upload["url"]).query
        url = f"/blobs/files/{upload['id']}/upload?{query}&viewer={stage.ann.id}"
        assert (await attempt(stage, "GET", url)).status_code == 403

    async def test_an_address_is_the_same_for_some_minutes(self, stage: FileStage) -> None:
        clock = stage.api.clock
        clock.now_ms = (clock.now_ms // 300_000 + 1) * 300_000
        file = await stage.ready()
        first = (await stage.file(file))["renditions"]
        clock.advance(seconds=299)
        assert (await stage.file(file))["renditions"] == first
        assert (await stage.fetch(first[0])).status_code == 200
        clock.advance(seconds=1)
        assert (await stage.file(file))["renditions"] != first
        clock.advance(seconds=299)
        assert (await stage.fetch(first[0])).status_code == 200
        clock.advance(seconds=1)
        assert (await stage.fetch(first[0])).status_code == 403
