"""The part of Matrix's client API that two people need to chat in a room."""

import asyncio
import hashlib
import hmac
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import msgspec

from bench import load
from bench.peers.arrivals import Arrivals
from bench.peers.http_connection import HttpConnection
from bench.peers.system import PAIRS, Send

CLIENT = "/_matrix/client/v3"
REGISTER = "/_synapse/admin/v1/register"
# The smallest filter for a client of one conversation.
FILTER: dict[str, Any] = {
    "presence": {"types": []},
    "account_data": {"types": []},
    "room": {
        "timeline": {"types": ["m.room.message"], "limit": 100},
        "state": {"types": []},
        "ephemeral": {"types": []},
        "account_data": {"types": []},
    },
}
WAIT_MS = 30_000


class Content(msgspec.Struct):
    body: str = ""


class Event(msgspec.Struct):
    content: Content


class Timeline(msgspec.Struct):
    events: list[Event] = []
    limited: bool = False


class Room(msgspec.Struct):
    timeline: Timeline


class Rooms(msgspec.Struct):
    join: dict[str, Room] = {}


class Sync(msgspec.Struct):
    next_batch: str
    rooms: Rooms = msgspec.field(default_factory=Rooms)


@dataclass(frozen=True, slots=True)
class Person:
    user_id: str
    token: str
    connection: HttpConnection

    async def call(self, method: str, path: str, body: Any = None) -> bytes:
        encoded = b"" if body is None else msgspec.json.encode(body)
        request = load.request(method, CLIENT + path, self.token, encoded)
        status, answer = await self.connection.ask(request)
        if status != 200:
            raise RuntimeError(f"{method} {path}: {status} {answer[:300]!r}")
        return answer


@asynccontextmanager
async def connect(port: int, secret: str, arrivals: Arrivals) -> AsyncIterator[list[Send]]:
    async with AsyncExitStack() as stack:
        sends: list[Send] = []
        for number in range(PAIRS):
            sender, receiver = [
                await _register(port, secret, f"u{2 * number + side}") for side in (0, 1)
            ]
            stack.callback(sender.connection.close)
            stack.callback(receiver.connection.close)
            room = await _room_of_two(sender, receiver)
            since = (await _sync(receiver, "")).next_batch
            listening = asyncio.create_task(_listen(receiver, since, arrivals))
            stack.push_async_callback(_cancel, listening)
            sends.append(_sender(sender, room))
        yield sends


async def _cancel(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.wait([task])


async def _register(port: int, secret: str, name: str) -> Person:
    """Register with the shared secret; the answer contains a token."""
    connection = HttpConnection(port)
    _, answer = await connection.ask(load.request("GET", REGISTER, ""))
    nonce = msgspec.json.decode(answer)["nonce"]
    parts = b"\0".join([nonce.encode(), name.encode(), b"secret", b"notadmin"])
    body = {
        "nonce": nonce,
        "username": name,
        "password": "secret",
        "admin": False,
        "mac": hmac.new(secret.encode(), parts, hashlib.sha1).hexdigest(),
    }
    request = load.request("POST", REGISTER, "", msgspec.json.encode(body))
    status, answer = await connection.ask(request)
    if status != 200:
        raise RuntimeError(f"registering {name}: {status} {answer[:300]!r}")
    account = msgspec.json.decode(answer)
    return Person(account["user_id"], account["access_token"], connection)


async def _room_of_two(sender: Person, receiver: Person) -> str:
    asked = {"preset": "trusted_private_chat", "is_direct": True, "invite": [receiver.user_id]}
    room_id = msgspec.json.decode(await sender.call("POST", "/createRoom", asked))["room_id"]
    room = quote(room_id, safe="")
    await receiver.call("POST", f"/rooms/{room}/join", {})
    return room


def _sender(sender: Person, room: str) -> Send:
    sent = 0

    async def send(text: str) -> None:
        nonlocal sent
        sent += 1
        path = f"/rooms/{room}/send/m.room.message/t{sent}"
        await sender.call("PUT", path, {"msgtype": "m.text", "body": text})

    return send


async def _listen(receiver: Person, since: str, arrivals: Arrivals) -> None:
    try:
        while True:
            answer = await _sync(receiver, since)
            since = answer.next_batch
            for room in answer.rooms.join.values():
                if room.timeline.limited:
                    raise RuntimeError("/sync left messages out")
                for event in room.timeline.events:
                    arrivals.arrived(event.content.body)
    except (RuntimeError, OSError, msgspec.DecodeError) as error:
        arrivals.broke(error)


async def _sync(receiver: Person, since: str) -> Sync:
    asked = quote(msgspec.json.encode(FILTER).decode(), safe="")
    path = f"/sync?filter={asked}&timeout={WAIT_MS if since else 0}"
    if since:
        path += f"&since={since}"
    return msgspec.json.decode(await receiver.call("GET", path), type=Sync)
