"""The product as its callers meet it: people with tokens, the marketplace's backend, nobody."""

import itertools
from typing import Any

import httpx

from greenroom.accounts.model import UserChanges
from greenroom.bootstrap import Rooms, jwt_secret
from greenroom.platform.tokens.verifying import sign_token
from tests.support.clock import FakeClock

Json = dict[str, Any]


class Client:
    """A caller of the HTTP API: by itself nobody, with a header somebody."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    def authorization(self) -> str | None:
        return None

    async def call(
        self,
        method: str,
        path: str,
        json: Any = None,
        *,
        params: Json | None = None,
        key: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        given = {"authorization": self.authorization(), "idempotency-key": key, **(headers or {})}
        headers = {name: value for name, value in given.items() if value is not None}
        return await self._http.request(method, path, json=json, params=params, headers=headers)

    async def refusal(
        self, method: str, path: str, json: Any = None, **more: Any
    ) -> tuple[int, str]:
        """The status and code of the problem that a call meets."""
        answer = await self.call(method, path, json, **more)
        assert answer.headers["content-type"] == "application/problem+json", answer.text
        return answer.status_code, answer.json()["code"]

    async def get(self, path: str, **params: Any) -> httpx.Response:
        return await self.call("GET", path, params=params)

    async def post(self, path: str, json: Any, *, key: str | None = None) -> httpx.Response:
        return await self.call("POST", path, json, key=key)

    async def put(self, path: str, json: Any) -> httpx.Response:
        return await self.call("PUT", path, json)

    async def patch(self, path: str, json: Any) -> httpx.Response:
        return await self.call("PATCH", path, json)

    async def delete(self, path: str) -> httpx.Response:
        return await self.call("DELETE", path)


class Backend(Client):
    """The marketplace's backend, with an API key."""

    def __init__(self, http: httpx.AsyncClient, key: str) -> None:
        super().__init__(http)
        self._key = key

    def authorization(self) -> str:
        return f"Bearer {self._key}"

    async def add(self, thread_id: str, user_id: str, role: str) -> Json:
        path, body = f"/v1/threads/{thread_id}/participants", {"user_id": user_id, "role": role}
        return answered(await self.post(path, body), 200)


class Person(Client):
    """Someone with a token. The verbs here insist on success and return what was answered."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        user_id: str,
        secret: bytes,
        clock: FakeClock,
        operator_role: str | None = None,
    ) -> None:
        super().__init__(http)
        self._operator_role = operator_role
        self.id = user_id
        self._secret = secret
        self._clock = clock
        self._client_ids = itertools.count(1)

    def authorization(self) -> str:
        role = self._operator_role
        return "Bearer " + sign_token(
            self._secret, self.id, clock=self._clock, ttl_s=600, operator_role=role
        )

    def draft(self, body: str = "Hello", **more: Any) -> Json:
        """A message that was not sent before."""
        return {"client_id": f"c{next(self._client_ids)}", "body": body, **more}

    async def start(self, *others: "Person", body: str = "Hello", **more: Any) -> Json:
        to = [other.id for other in others]
        new = {"kind": "inquiry", "to": to, "first_message": self.draft(body), **more}
        return answered(await self.post("/v1/threads", new), 201)

    async def thread_with(self, *others: "Person") -> str:
        thread_id: str = (await self.start(*others))["thread"]["id"]
        return thread_id

    async def send(self, thread_id: str, body: str = "Hello", **more: Any) -> Json:
        path = f"/v1/threads/{thread_id}/messages"
        return answered(await self.post(path, self.draft(body, **more)), 201)

    async def edit(self, message: Json, body: str) -> Json:
        edited: Json = answered(await self.patch(path_of(message), {"body": body}), 200)["message"]
        return edited

    async def remove(self, message: Json) -> Json:
        tombstone: Json = answered(await self.delete(path_of(message)), 200)["message"]
        return tombstone

    async def read(self, thread_id: str, message_id: str) -> Json:
        path = f"/v1/threads/{thread_id}/read"
        inbox: Json = answered(await self.post(path, {"up_to": message_id}), 200)["inbox"]
        return inbox

    async def thread(self, thread_id: str) -> Json:
        return answered(await self.get(f"/v1/threads/{thread_id}"), 200)

    async def row(self, thread_id: str) -> Json:
        """This person's own line for the thread, as the inbox shows it."""
        [item] = [
            each for each in (await self.inbox())["items"] if each["thread"]["id"] == thread_id
        ]
        inbox: Json = item["inbox"]
        return inbox

    async def messages(self, thread_id: str, **params: Any) -> list[Json]:
        page = answered(await self.get(f"/v1/threads/{thread_id}/messages", **params), 200)
        items: list[Json] = page["items"]
        return items

    async def inbox(self, **params: Any) -> Json:
        return answered(await self.get("/v1/inbox", **params), 200)

    async def cursor(self) -> str:
        """Where this person's feed stands."""
        cursor: str = (await self.inbox())["sync_cursor"]
        return cursor

    async def sync(self, since: str | None = None) -> list[Json]:
        """Everything since a cursor; without one, everything that is kept."""
        events: list[Json] = []
        more = True
        while more:
            params = {} if since is None else {"since": since}
            page = answered(await self.get("/v1/sync", **params), 200)
            events += page["events"]
            since, more = page["cursor"], page["has_more"]
        return events

    async def block(self, other: "Person") -> None:
        answered(await self.post("/v1/blocks", {"user_id": other.id}), 204)

    async def unblock(self, other: "Person") -> None:
        answered(await self.delete(f"/v1/blocks/{other.id}"), 204)

    async def write_to(self, other: "Person", content: str = "Hello", **more: Any) -> Json:
        """A message by the simple API."""
        new = {"receiverId": other.id, "content": content, "type": "text", **more}
        message: Json = answered(await self.post("/messages/send", new), 201)["message"]
        return message

    async def poll(self, conversation_id: str, **params: Any) -> list[Json]:
        """A page of the simple API."""
        params = {"conversationId": conversation_id, **params}
        messages: list[Json] = answered(await self.get("/messages/list", **params), 200)["messages"]
        return messages

    async def conversations(self) -> list[Json]:
        """The simple API's list."""
        found: list[Json] = answered(await self.get("/messages/conversations"), 200)[
            "conversations"
        ]
        return found

    async def leave(self, thread_id: str) -> None:
        answered(await self.delete(f"/v1/threads/{thread_id}/participants/me"), 204)


class Api:
    """The running product, and who may call it."""

    _numbers = itertools.count(1)

    def __init__(self, rooms: Rooms, http: httpx.AsyncClient, clock: FakeClock, key: str) -> None:
        self.rooms = rooms
        self.clock = clock
        self.backend = Backend(http, key)
        self.anonymous = Client(http)
        self.http = http
        self._secret = jwt_secret(rooms.settings)

    def person(self, user_id: str, *, operator_role: str | None = None) -> Person:
        return Person(self.http, user_id, self._secret, self.clock, operator_role)

    async def people(self, *names: str, verified: bool = False) -> list[Person]:
        """New people whom nobody has met before."""
        number = next(self._numbers)
        found = [self.person(f"{name}.{number}") for name in names]
        for each, name in zip(found, names, strict=True):
            changes = UserChanges(display_name=name.title(), verified=verified)
            await self.rooms.accounts.put_user(each.id, changes)
        return found


def answered(answer: httpx.Response, status: int) -> Json:
    """The answer's body, after a look at its status."""
    assert answer.status_code == status, answer.text
    body: Json = answer.json() if answer.content else {}
    return body


def path_of(message: Json) -> str:
    return f"/v1/threads/{message['thread_id']}/messages/{message['id']}"
