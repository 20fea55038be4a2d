"""What a client says over a WebSocket, and what it hears in answer."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from tests.support.api import Api, Json

from .conftest import NewServer
from .server import Server, token_of

NOWHERE = "thr_019e33c9ac00zzzzzzzzzzzzzz"
BAD_FRAME = 4400
INVALID = (400, "INVALID_REQUEST")


class TestSend:
    async def test_is_answered_with_the_message_and_told_to_both(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        [first] = await ann.messages(thread_id)
        draft = {"thread_id": thread_id, "client_id": "mine", "body": "*Hi*"}
        async with (
            server.websocket(ann, since=await ann.cursor()) as hers,
            server.websocket(bob, since=await bob.cursor()) as his,
        ):
            answer = await hers.ask("send", **draft, reply_to=first["id"])
            message = answer["message"]
            assert answer == {"type": "sent", "ref": "1", "message": message, "repeat": False}
            assert (message["author_id"], message["seq"]) == (ann.id, 2)
            assert (message["reply_to"], message["client_id"]) == (first["id"], "mine")
            [*_, told] = await hers.hear_until(message)
            assert told["message"] == message
            [told] = await his.hear_until(message)
            assert told["message"]["body_html"] == message["body_html"]
        assert (await ann.messages(thread_id))[-1] == message

    async def test_is_answered_without_a_ref_too(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with server.websocket(ann, since=await ann.cursor()) as socket:
            await socket.say({"type": "send", "thread_id": thread_id, **ann.draft()})
            answer = await socket.hear_of("sent")
        assert answer.keys() == {"type", "message", "repeat"}

    async def test_repeated_happens_once(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        draft = ann.draft("Once")
        async with server.websocket(ann) as socket:
            first = await socket.ask("send", thread_id=thread_id, **draft)
            again = await socket.ask("send", thread_id=thread_id, **draft)
            assert again == {**first, "ref": again["ref"], "repeat": True}
            draft["body"] = "Something else"
            refusal = await socket.refusal("send", thread_id=thread_id, **draft)
            assert refusal == (422, "IDEMPOTENCY_MISMATCH")
        by_rest = await ann.post(f"/v1/threads/{thread_id}/messages", {**draft, "body": "Once"})
        assert (by_rest.status_code, by_rest.json()) == (200, first["message"])
        assert len(await ann.messages(thread_id)) == 2

    async def test_over_the_limit_says_when_to_come_back(
        self, api: Api, new_server: NewServer
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with new_server(sends_per_minute=1) as slow, slow.websocket(ann) as socket:
            answer: Json = {}
            while answer.get("type") != "error":
                answer = await socket.ask("send", thread_id=thread_id, **ann.draft())
            assert (answer["status"], answer["code"]) == (429, "RATE_LIMITED")
            assert 0 < answer["retry_after_s"] <= 60

    @pytest.mark.parametrize(
        ("change", "refusal"),
        [
            ({"body": "x" * 2001}, (422, "MSG_TOO_LONG")),
            ({"body": " \u200b "}, (422, "MSG_EMPTY")),
            ({"body": "a\0b"}, INVALID),
            ({"client_id": "a\0b"}, INVALID),
            ({"client_id": ""}, INVALID),
            ({"client_id": "x" * 65}, INVALID),
            ({"thread_id": NOWHERE}, (404, "THREAD_NOT_FOUND")),
            ({"thread_id": ""}, (404, "THREAD_NOT_FOUND")),
            ({"reply_to": "msg_019e33c9ac00zzzzzzzzzzzzzz"}, (404, "NOT_FOUND")),
        ],
    )
    async def test_is_refused_as_by_rest(
        self, api: Api, server: Server, change: Json, refusal: tuple[int, str]
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        frame = {"thread_id": thread_id, **ann.draft(), **change}
        async with server.websocket(ann) as socket:
            assert await socket.refusal("send", **frame) == refusal
            assert (await socket.ask("ping"))["type"] == "pong"
        assert len(await ann.messages(thread_id)) == 1


class TestOtherFrames:
    async def test_read_moves_the_mark_and_answers_with_the_row(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        last = await ann.send(thread_id)
        async with server.websocket(bob) as socket:
            answer = await socket.ask("read", thread_id=thread_id, up_to=last["id"])
            assert answer == {"type": "done", "ref": "1", "inbox": await bob.row(thread_id)}
            assert answer["inbox"]["unread_count"] == 0
            await socket.say({"type": "read", "thread_id": thread_id, "up_to": last["id"]})
            assert (await socket.hear_of("done"))["inbox"] == answer["inbox"]

    async def test_ack_typing_and_watch_are_answered_when_asked(
        self, api: Api, server: Server
    ) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        cursor = await bob.cursor()
        frames: list[Json] = [
            {"type": "ack", "cursor": cursor},
            {"type": "typing", "thread_id": thread_id, "on": True},
            {"type": "watch", "threads": []},
        ]
        async with server.websocket(bob, since=cursor) as socket:
            for frame in frames:
                await socket.say(frame)
            assert await socket.heard() == []
            for frame in frames:
                answer = await socket.ask(frame.pop("type"), **frame)
                assert answer == {"type": "done", "ref": answer["ref"]}

    async def test_auth_is_answered_with_the_new_end(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            answer = await socket.ask("auth", token=token_of(bob, ttl_s=3600))
            assert answer.keys() == {"type", "ref", "expires_at"}
            await socket.say({"type": "auth", "token": token_of(bob, ttl_s=60)})
            # An older token takes nothing away.
            again = await socket.hear_of("done")
            assert again == {"type": "done", "expires_at": answer["expires_at"]}

    async def test_ping_is_answered_with_its_ref_if_it_has_one(
        self, api: Api, server: Server
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say({"type": "ping"})
            assert await socket.hear() == {"type": "pong"}
            await socket.say({"type": "ping", "ref": "x" * 64})
            assert await socket.hear() == {"type": "pong", "ref": "x" * 64}


class TestWrongFrames:
    @pytest.mark.parametrize(
        "frame",
        [
            {"type": "shout"},
            {},
            {"type": None},
            {"type": "ping", "volume": 11},
            {"type": "read", "thread_id": NOWHERE},
            {"type": "typing", "thread_id": NOWHERE, "on": "yes"},
            {"type": "watch", "threads": NOWHERE},
            {"type": "watch", "threads": [f"thr_{number}" for number in range(51)]},
            {"type": "ack", "cursor": "yesterday"},
            {"type": "send", "thread_id": 1, "client_id": 2, "body": 3},
        ],
    )
    async def test_are_refused_under_their_ref_and_the_connection_stays(
        self, api: Api, server: Server, frame: Json
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say({**frame, "ref": "7"})
            answer = await socket.hear()
            assert (answer["type"], answer["ref"]) == ("error", "7")
            assert (answer["status"], answer["code"]) == INVALID
            assert answer["corr_id"].startswith("cor_")
            assert answer["title"]
            assert answer["detail"]
            assert answer["hint"]
            assert (await socket.ask("ping"))["type"] == "pong"

    @pytest.mark.parametrize("ref", ["x" * 65, 7, ["7"]])
    async def test_ref_that_cannot_be_repeated_is_left_out_of_the_refusal(
        self, api: Api, server: Server, ref: Any
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say({"type": "ping", "ref": ref})
            answer = await socket.hear()
            assert (answer["status"], answer["code"], "ref" in answer) == (*INVALID, False)

    @pytest.mark.parametrize(
        ("frame", "refusal"),
        [
            ({"type": "read", "thread_id": NOWHERE, "up_to": NOWHERE}, (404, "THREAD_NOT_FOUND")),
            ({"type": "typing", "thread_id": NOWHERE, "on": True}, (404, "THREAD_NOT_FOUND")),
            ({"type": "watch", "threads": [NOWHERE]}, (404, "THREAD_NOT_FOUND")),
            ({"type": "auth", "token": "no token"}, (401, "UNAUTHENTICATED")),
        ],
    )
    async def test_what_is_not_ones_own_is_not_there(
        self, api: Api, server: Server, frame: Json, refusal: tuple[int, str]
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            fields = {name: value for name, value in frame.items() if name != "type"}
            assert await socket.refusal(frame["type"], **fields) == refusal
            assert (await socket.ask("ping"))["type"] == "pong"

    @pytest.mark.parametrize(
        "raw",
        ["hello", "", "[]", '"ping"', "7", "null", "{", '{"type": "ping"', "{}{}", "\ufeff{}"],
    )
    async def test_what_is_no_json_object_ends_the_connection(
        self, api: Api, server: Server, raw: str
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say(raw)
            assert await socket.ended() == BAD_FRAME

    async def test_bytes_end_the_connection(self, api: Api, server: Server) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say(b'{"type": "ping"}')
            assert await socket.ended() == BAD_FRAME

    async def test_text_that_is_no_utf8_ends_the_connection_without_a_word_in_the_log(
        self, api: Api, server: Server, caplog: pytest.LogCaptureFixture
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            protocol = socket.connection.protocol
            protocol.send_frame(Frame(Opcode.TEXT, b'{"type": "\xff"}'))
            socket.connection.transport.write(b"".join(protocol.data_to_send()))
            assert await socket.ended() == BAD_FRAME
        assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []

    async def test_frame_of_64_kb_is_taken_and_a_larger_one_ends_the_connection(
        self, api: Api, server: Server
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            padding = 64 * 1024 - len(json.dumps({"type": "ping", "ref": ""}))
            frame = json.dumps({"type": "ping", "ref": "x" * padding})
            assert len(frame) == 64 * 1024
            await socket.say(frame)
            assert (await socket.hear())["status"] == 400
            await socket.say(frame + " ")
            assert await socket.ended() == 1009

    @pytest.mark.parametrize(
        "frame", ["%s", '{"type": "ping", "ref": "7", "x": %s}', '{"ref": %s, "type": "ping"}']
    )
    async def test_deep_nesting_ends_the_connection_without_a_word_in_the_log(
        self, api: Api, server: Server, caplog: pytest.LogCaptureFixture, frame: str
    ) -> None:
        [bob] = await api.people("bob")
        async with server.websocket(bob) as socket:
            await socket.say(frame % ("[" * 20_000 + "]" * 20_000))
            assert await socket.ended() == BAD_FRAME
        assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


class TestPace:
    async def test_frames_are_handled_in_order(self, api: Api, server: Server) -> None:
        ann, bob = await api.people("ann", "bob")
        thread_id = await ann.thread_with(bob)
        async with server.websocket(ann, since=await ann.cursor()) as socket:
            for number in range(20):
                frame = {"type": "send", "thread_id": thread_id, **ann.draft(f"{number}")}
                await socket.say({**frame, "ref": f"send {number}"})
                await socket.say({"type": "ping", "ref": f"ping {number}"})
            answers = [await socket.hear_of("sent", "pong") for _ in range(40)]
        refs = [f"{kind} {number}" for number in range(20) for kind in ("send", "ping")]
        assert [each["ref"] for each in answers] == refs
        bodies = [each["body"] for each in await bob.messages(thread_id)]
        assert bodies == ["Hello", *(f"{number}" for number in range(20))]

    async def test_flood_ends_the_connection(self, api: Api, new_server: NewServer) -> None:
        [bob] = await api.people("bob")
        async with new_server(frames_per_s=2) as slow, slow.websocket(bob) as socket:
            for _ in range(10):
                assert (await socket.ask("ping"))["type"] == "pong"
            for _ in range(10):
                await socket.say({"type": "ping"})
            assert await socket.ended() == 4429
