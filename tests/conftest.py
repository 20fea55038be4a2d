"""PostgreSQL and DynamoDB for tests: one engine of each per run, one database or table per module.

And the product on top of them: `rooms`, and `api` to call it as people do. Test modules cannot
import each other, so what they share is here; for annotations they import it under TYPE_CHECKING.
"""

import itertools
import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import httpx
import pytest

from greenroom.accounts.model import UserChanges
from greenroom.bootstrap import Rooms, http_app, jwt_secret
from greenroom.kernel.limits import Limits
from greenroom.platform.auth import sign_token
from greenroom.platform.dynamodb.credentials import Access, embedded_access
from greenroom.platform.dynamodb.embedded import EmbeddedDynamoDb
from greenroom.platform.dynamodb.schema import create_table
from greenroom.platform.dynamodb.transport import open_client
from greenroom.platform.embedded_postgres import EmbeddedPostgres
from greenroom.platform.migrations import migrate
from greenroom.platform.postgres import open_pool
from greenroom.settings import Settings, load_settings

Json = dict[str, Any]

JANUARY_2027_MS = 1_800_000_000_000
SECOND_MS = 1000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS

DYNAMODB_TEST_BYTES = 1_000_000_000
POSTGRES_TEST_BYTES = 8_000_000_000
"""Far more than what tests write into one engine, logs included."""


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server on which databases may be created: the given one, or an embedded one."""
    given = os.environ.get("GREENROOM_TEST_DATABASE_URL")
    if given:
        yield given
        return
    # Not pytest's tmp_path: only root may enter that, and the server does not run as root.
    folder = memory_folder(POSTGRES_TEST_BYTES)
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir=folder))
    home.chmod(0o755)
    server = EmbeddedPostgres(home)
    try:
        yield server.acquire()
    finally:
        server.release()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def template_database(postgres_url: str) -> AsyncIterator[str]:
    """The name of a database with all migrations, to be copied."""
    name = f"greenroom_template_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name}")
    await migrate(database_at(postgres_url, name))
    yield name
    await drop_database(postgres_url, name)


@pytest.fixture(scope="module")
async def database_url(postgres_url: str, template_database: str) -> AsyncIterator[str]:
    """This module's own database: migrated, empty, dropped at the end."""
    name = f"greenroom_test_{secrets.token_hex(4)}"
    await run_sql(postgres_url, f"CREATE DATABASE {name} TEMPLATE {template_database}")
    yield database_at(postgres_url, name)
    await drop_database(postgres_url, name)


@pytest.fixture(scope="session")
def dynamodb_access() -> Iterator[Access]:
    """To a DynamoDB engine that runs until the end: the given one, or an embedded one."""
    given = os.environ.get("GREENROOM_DYNAMODB_TEST_URL")
    if given:
        yield embedded_access(given)
        return
    folder = memory_folder(DYNAMODB_TEST_BYTES)
    home = Path(tempfile.mkdtemp(prefix="greenroom-test-", dir=folder))
    try:
        with EmbeddedDynamoDb(home).using() as url:
            yield embedded_access(url)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def memory_folder(needed_bytes: int) -> Path | None:
    """Where an engine that writes through to its disk does not wait for one; None: nowhere. What
    was written survives the kill of any process here too."""
    folder = Path("/dev/shm")  # noqa: S108 (only its children are used, and they are ours)
    has_room = folder.is_dir() and shutil.disk_usage(folder).free > needed_bytes
    return folder if has_room else None


@pytest.fixture(scope="module")
async def dynamodb_table(dynamodb_access: Access) -> str:
    """The name of this module's own table."""
    name = f"test-{secrets.token_hex(4)}"
    client = open_client(dynamodb_access)
    await create_table(client, name)
    await client.close()
    return name


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    """Where they are kept: every test runs on both. What is about one of the two says so, a module
    by `parametrize("conversations", [one], indirect=True)`, a folder by a fixture of this name."""
    kept: str = request.param
    return kept


@pytest.fixture(scope="module")
def conversations_environment(
    request: pytest.FixtureRequest, conversations: str
) -> Iterator[dict[str, str]]:
    """The settings that say so, on this module's own table."""
    if conversations == "postgres":
        yield {}
        return
    access: Access = request.getfixturevalue("dynamodb_access")
    with pytest.MonkeyPatch.context() as patch:
        # The engine takes any keys, but some there must be, here and in servers that tests start.
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, os.environ.get(name) or "tests")
        yield {
            "GREENROOM_CONVERSATIONS": conversations,
            "GREENROOM_DYNAMODB_ENDPOINT": access.url,
            "GREENROOM_DYNAMODB_TABLE": request.getfixturevalue("dynamodb_table"),
        }


@pytest.fixture(scope="module")
async def pool(database_url: str) -> AsyncIterator[asyncpg.Pool]:
    opened = await open_pool(database_url, min_size=1, max_size=8, statement_timeout_ms=15_000)
    yield opened
    await opened.close()


async def run_sql(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def drop_database(server_url: str, name: str) -> None:
    try:
        await run_sql(server_url, f"DROP DATABASE {name} WITH (FORCE)")
    except asyncpg.InsufficientPrivilegeError:
        # Force may not end an autovacuum; without it PostgreSQL does so itself.
        await run_sql(server_url, f"DROP DATABASE {name}")


def database_at(server_url: str, name: str) -> str:
    return urlsplit(server_url)._replace(path=f"/{name}").geturl()


class FakeClock:
    """Stands still until told to move, in either direction."""

    def __init__(self) -> None:
        self.now_ms = JANUARY_2027_MS

    def __call__(self) -> int:
        return self.now_ms

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> None:
        moved = days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS
        self.now_ms += int(moved)


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
        self, http: httpx.AsyncClient, user_id: str, secret: bytes, clock: FakeClock
    ) -> None:
        super().__init__(http)
        self.id = user_id
        self._secret = secret
        self._clock = clock
        self._client_ids = itertools.count(1)

    def authorization(self) -> str:
        return "Bearer " + sign_token(self._secret, self.id, clock=self._clock, ttl_s=600)

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
        return answered(await self.patch(path_of(message), {"body": body}), 200)

    async def remove(self, message: Json) -> Json:
        return answered(await self.delete(path_of(message)), 200)

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
        self._http = http
        self._secret = jwt_secret(rooms.settings)

    def person(self, user_id: str) -> Person:
        return Person(self._http, user_id, self._secret, self.clock)

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


@pytest.fixture(scope="module")
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="module")
def limits() -> Limits:
    """Raised where an ordinary test would meet them; a module that tests limits has its own."""
    many = 100_000
    return Limits(
        sends_per_minute=60_000,
        simple_sends_per_minute=60_000,
        starts_per_hour=many,
        starts_per_day=many,
        send_connections=1,
        read_connections=2,
        feed_connections=1,
    )


@pytest.fixture(scope="module")
def settings(
    tmp_path_factory: pytest.TempPathFactory,
    limits: Limits,
    conversations_environment: dict[str, str],
) -> Settings:
    home = {"GREENROOM_HOME": str(tmp_path_factory.mktemp("home"))}
    return replace(load_settings({**home, **conversations_environment}), limits=limits)


@pytest.fixture(scope="module")
async def rooms(settings: Settings, database_url: str, clock: FakeClock) -> AsyncIterator[Rooms]:
    async with Rooms(settings, database_url, clock=clock) as opened:
        yield opened


@pytest.fixture(scope="module")
async def api(rooms: Rooms, clock: FakeClock) -> AsyncIterator[Api]:
    key = await rooms.accounts.create_key("tests")
    transport = httpx.ASGITransport(app=http_app(rooms))
    async with httpx.AsyncClient(transport=transport, base_url="http://greenroom.test") as http:
        yield Api(rooms, http, clock, key.text)
