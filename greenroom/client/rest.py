"""Thin wrappers of the calls that a backend or a bot needs."""

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from greenroom.client.calls import Calls

Json = dict[str, Any]


class Rest:
    """Each makes one attempt and raises Problem or UnreachableError; nothing is queued or kept."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def me(self) -> Json:
        """Who the token says one is."""
        return await self._get("/v1/me", {})

    async def inbox(self, **filters: Any) -> Json:
        """`folder unread starred kind state q cursor limit`, as in `GET /v1/inbox`."""
        return await self._get("/v1/inbox", filters)

    async def thread(self, thread_id: str) -> Json:
        return await self._get(_path(thread_id), {})

    async def messages(
        self,
        thread_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> Json:
        params = {"before": before, "after": after, "limit": limit}
        return await self._get(f"{_path(thread_id)}/messages", params)

    async def start_thread(
        self,
        to: str | Iterable[str],
        body: str,
        *,
        kind: str = "inquiry",
        client_id: str | None = None,
        **more: Any,
    ) -> Json:
        """`more`: `role_context subject job_id`. With your own `client_id` it can be repeated."""
        first = {"client_id": client_id or secrets.token_hex(16), "body": body}
        people = to if isinstance(to, str) else list(to)
        new = {"kind": kind, "to": people, "first_message": first, **more}
        return await self._json("POST", "/v1/threads", new)

    async def edit(self, thread_id: str, message_id: str, body: str) -> Json:
        return await self._json("PATCH", _path(thread_id, message_id), {"body": body})

    async def delete(self, thread_id: str, message_id: str) -> Json:
        return await self._json("DELETE", _path(thread_id, message_id), None)

    async def mark_read(self, thread_id: str, up_to: str) -> Json:
        return await self._json("POST", f"{_path(thread_id)}/read", {"up_to": up_to})

    async def presence(self, thread_id: str) -> Json:
        return await self._get(f"{_path(thread_id)}/presence", {})

    async def _get(self, path: str, params: Json) -> Json:
        given = {name: value for name, value in params.items() if value is not None}
        answer: Json = await self._calls.call("GET", path, params=given)
        return answer

    async def _json(self, method: str, path: str, body: Json | None) -> Json:
        answer: Json = await self._calls.call(method, path, body=body)
        return answer


def _path(thread_id: str, message_id: str | None = None) -> str:
    path = f"/v1/threads/{quote(thread_id, safe='')}"
    return path if message_id is None else f"{path}/messages/{quote(message_id, safe='')}"
