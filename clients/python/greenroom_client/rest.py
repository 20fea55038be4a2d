"""Thin wrappers of the calls that a backend or a bot needs."""

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from greenroom_client.calls import Calls

Json = dict[str, Any]


class Rest:
    """Each makes one attempt and raises Problem or UnreachableError; nothing is queued or kept.

    Answers are as the server gives them: a single thing under its noun, a list under `items`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def me(self) -> Json:
        """Who the token says one is."""
        return await self._get("/v1/me", {})

    async def limits(self) -> Json:
        """What this server allows, such as `body_characters` and `edit_window_s`."""
        return await self._get("/v1/limits", {})

    async def inbox(self, **filters: Any) -> Json:
        """`folder unread starred kind state has_files q cursor limit`, as in `GET /v1/inbox`."""
        return await self._get("/v1/inbox", filters)

    async def thread(self, thread_id: str) -> Json:
        return await self._get(_path(thread_id), {})

    async def messages(
        self,
        thread_id: str,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
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
        """`more`: `role_context subject job_id listing_key`. With your own `client_id` it can be
        repeated; with a `listing_key` a thread that you began with this person under it gets the
        message."""
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

    async def user(self, user_id: str) -> Json:
        """Somebody's profile card."""
        return await self._get(f"/v1/users/{quote(user_id, safe='')}", {})

    async def blocks(self, *, cursor: str | None = None, limit: int | None = None) -> Json:
        """Whom one has blocked, the newest first."""
        return await self._get("/v1/me/blocks", {"cursor": cursor, "limit": limit})

    async def block(self, user_id: str) -> None:
        await self._calls.call("POST", "/v1/blocks", body={"user_id": user_id})

    async def unblock(self, user_id: str) -> None:
        await self._calls.call("DELETE", f"/v1/blocks/{quote(user_id, safe='')}")

    async def file(self, file_id: str) -> Json:
        """A file as one may see it now, with fresh addresses."""
        return await self._get(f"/v1/files/{quote(file_id, safe='')}", {})

    async def reveal(self, file_id: str) -> Json:
        """Show a blurred file to oneself from now on."""
        return await self._json("POST", f"/v1/files/{quote(file_id, safe='')}/reveal", None)

    async def preferences(self) -> Json:
        return await self._get("/v1/me/preferences", {})

    async def set_preferences(self, **changes: Any) -> Json:
        """`safe_mode telemetry`; what is left out stays."""
        return await self._json("PUT", "/v1/me/preferences", {"preferences": changes})

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
