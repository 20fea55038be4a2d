"""The calls that polling clients make, answered from memory: for tests that count requests."""

import base64
import itertools
import json
from collections.abc import Callable
from typing import Any

import httpx

Json = dict[str, Any]

Refusal = Callable[[httpx.Request], httpx.Response | None]


class FakeServer:
    """`refuse` is asked first; what it answers is what the client gets."""

    def __init__(self, refuse: Refusal = lambda _request: None) -> None:
        self.refuse = refuse
        self.requests: list[tuple[str, str]] = []
        self.events: list[Json] = []
        self.messages: dict[str, Json] = {}
        self.acks: list[str] = []
        self.limits = {"watched_threads": 50}
        self._ids = itertools.count(1)

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def count(self, method: str) -> int:
        return sum(made == method for made, _ in self.requests)

    def bodies(self, thread_id: str) -> list[str]:
        """What was written in a thread, in order."""
        return [each["body"] for each in self.messages.values() if each["thread_id"] == thread_id]

    def tell(self, event: Json) -> None:
        self.events.append({**event, "cursor": f"e-{len(self.events) + 1}"})

    def _answer(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        self.requests.append((request.method, path))
        refusal = self.refuse(request)
        if refusal is not None:
            return refusal
        if path == "/v1/sync":
            return self._sync(request)
        if path == "/v1/limits":
            return httpx.Response(200, json={"limits": self.limits})
        if path == "/v1/sync/ack":
            self.acks.append(json.loads(request.content)["cursor"])
            return httpx.Response(204)
        if path.endswith("/messages"):
            return self._send(path.split("/")[3], json.loads(request.content))
        return httpx.Response(200, json={})

    def _sync(self, request: httpx.Request) -> httpx.Response:
        since = request.url.params.get("since", "e-0")
        limit = int(request.url.params.get("limit", "100"))
        start = int(since.removeprefix("e-"))
        page = self.events[start : start + limit]
        cursor = page[-1]["cursor"] if page else since
        has_more = start + limit < len(self.events)
        return httpx.Response(200, json={"events": page, "cursor": cursor, "has_more": has_more})

    def _send(self, thread_id: str, new: Json) -> httpx.Response:
        known = self.messages.get(new["client_id"])
        if known is not None:
            return httpx.Response(200, json=known)
        number = next(self._ids)
        message = {"id": f"msg_{number}", "seq": number, "thread_id": thread_id, **new}
        message["author_id"] = "ada"
        self.messages[new["client_id"]] = message
        self.tell({"type": "message.new", "thread_id": thread_id, "message": message})
        return httpx.Response(201, json=message)


def problem(status: int, code: str, *, retry_after_s: float | None = None) -> httpx.Response:
    headers = {"content-type": "application/problem+json"}
    if retry_after_s is not None:
        headers["retry-after"] = f"{retry_after_s:g}"
    document = {"status": status, "code": code, "title": code.title(), "detail": f"It is {code}."}
    more = {"hint": "Try again.", "corr_id": "cor_1"}
    return httpx.Response(status, headers=headers, content=json.dumps({**document, **more}))


def jwt(expires_s: float) -> str:
    """A token as a client reads it; nobody here verifies it."""
    claims = json.dumps({"sub": "ada", "exp": expires_s}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c2ln"
