"""Turns exports of other systems into lines of an import. docs/import.md has the mapping.

An export is one JSON object per conversation, with its people and messages: one per line, or all in
one list. Only one conversation of a file with lines is held at a time.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import IO, Any

import msgspec

Json = dict[str, Any]
Numbered = tuple[int, bytes]

NAMELESS = "A file"


def converted(file: IO[bytes], convert: Callable[[Json], Iterator[Json]]) -> Iterator[Numbered]:
    """The lines of an import, numbered. What is not of the expected form becomes a line that is
    refused with the reason."""
    number = 0
    for text in _conversations(file):
        try:
            lines = list(convert(msgspec.json.decode(text, type=dict[str, Any])))
        except (msgspec.MsgspecError, KeyError, TypeError, ValueError, AttributeError) as error:
            lines = [{"type": f"not a conversation of this system: {error!r}"}]
        for line in lines:
            number += 1
            yield number, msgspec.json.encode(line)


def _conversations(file: IO[bytes]) -> Iterator[bytes]:
    first = file.read(1)
    while first.isspace():
        first = file.read(1)
    if first == b"[":
        for each in msgspec.json.decode(first + file.read(), type=list[msgspec.Raw]):
            yield bytes(each)
        return
    yield first + file.readline()
    yield from (line for line in file if line.strip())


def talkjs(bundle: Json) -> Iterator[Json]:
    """`conversation`, `users` and `messages`, each as the REST API of TalkJS answers."""
    conversation, messages = bundle["conversation"], bundle["messages"]
    key, created_at = conversation["id"], _ms(conversation["createdAt"])
    for user in bundle.get("users", []):
        yield _person(user["id"], user.get("name"), user.get("photoUrl"))
    people = list(conversation["participants"])
    yield _thread(key, created_at, people, conversation.get("subject"))
    read: dict[str, Json] = {}
    for each in sorted(messages, key=lambda message: message["createdAt"]):
        attachment = each.get("attachment") or {}
        line = _message(key, each["id"], each.get("senderId"), _ms(each["createdAt"]))
        line["body"] = _with_links(each.get("text"), [(None, attachment.get("url"))])
        line["reply_to"] = each.get("referencedMessageId")
        if each.get("editedAt"):
            line["edited_at"] = _ms(each["editedAt"])
        read.update(dict.fromkeys(each.get("readBy", []), line))
        yield line
    yield from (_read(key, user, line, line["created_at"]) for user, line in read.items())


def stream(bundle: Json) -> Iterator[Json]:
    """A channel as Stream exports it: `channel`, `members`, `messages` and `read`."""
    channel = bundle["channel"]
    key, users = channel["cid"], [each["user"] for each in bundle["members"]]
    for user in users:
        yield _person(user["id"], user.get("name"), user.get("image"))
    opener = (channel.get("created_by") or {}).get("id")
    people = sorted((user["id"] for user in users), key=lambda user_id: user_id != opener)
    yield _thread(key, channel["created_at"], people, channel.get("name"))
    lines = []
    for each in sorted(bundle["messages"], key=lambda message: message["created_at"]):
        author = None if each.get("type") == "system" else each["user"]["id"]
        line = _message(key, each["id"], author, each["created_at"])
        links = [
            (
                file.get("title") or file.get("fallback"),
                file.get("asset_url") or file.get("image_url"),
            )
            for file in each.get("attachments") or []
        ]
        line["body"] = _with_links(each.get("text"), links)
        line["reply_to"] = each.get("quoted_message_id")
        line["deleted_at"] = each.get("deleted_at")
        lines.append(line)
    yield from lines
    for mark in bundle.get("read") or []:
        yield from _read_until(key, mark["user"]["id"], lines, mark["last_read"])


def sendbird(bundle: Json) -> Iterator[Json]:
    """`channel` (a group channel with `members`) and `messages` as Sendbird's Platform API answers
    with them."""
    channel = bundle["channel"]
    key, members = channel["channel_url"], channel["members"]
    for user in members:
        yield _person(user["user_id"], user.get("nickname"), user.get("profile_url"))
    people = [user["user_id"] for user in members]
    yield _thread(key, _ms(channel["created_at"] * 1000), people, channel.get("name"))
    lines = []
    for each in sorted(bundle["messages"], key=lambda message: message["created_at"]):
        author = None if each.get("type") == "ADMM" else each["user"]["user_id"]
        line = _message(key, str(each["message_id"]), author, _ms(each["created_at"]))
        file = each.get("file") or {}
        line["body"] = _with_links(each.get("message"), [(file.get("name"), file.get("url"))])
        if each.get("parent_message_id"):
            line["reply_to"] = str(each["parent_message_id"])
        if each.get("is_removed"):
            line["deleted_at"] = _ms(each.get("updated_at") or each["created_at"])
        lines.append(line)
    yield from lines
    for user, at_ms in (channel.get("read_receipt") or {}).items():
        yield from _read_until(key, user, lines, _ms(at_ms))


def _person(user_id: str, name: str | None, picture: str | None) -> Json:
    return {
        "type": "person",
        "id": user_id,
        "display_name": name or "",
        "avatar_url": picture or None,
    }


def _thread(key: str, created_at: str, people: list[str], subject: str | None) -> Json:
    """These systems know members only: the first counts as the buyer, the others as sellers."""
    roles = ["buyer", *["seller"] * (len(people) - 1)]
    participants = [{"user": user, "role": role} for user, role in zip(people, roles, strict=True)]
    thread = {"type": "thread", "id": key, "created_at": created_at, "participants": participants}
    return {**thread, "subject": subject}


def _message(key: str, message_id: str, author: str | None, created_at: str) -> Json:
    message = {"type": "message", "thread": key, "id": message_id, "author": author}
    return {**message, "created_at": created_at}


def _read(key: str, user: str, message: Json, at: str) -> Json:
    return {"type": "read", "thread": key, "user": user, "message": message["id"], "at": at}


def _read_until(key: str, user: str, messages: list[Json], at: str) -> Iterator[Json]:
    """A mark at the last message that was there at this time."""
    until = datetime.fromisoformat(at)
    seen = [each for each in messages if datetime.fromisoformat(each["created_at"]) <= until]
    if seen:
        yield _read(key, user, seen[-1], at)


def _with_links(text: str | None, links: list[tuple[str | None, str | None]]) -> str:
    parts = [f"[{name or NAMELESS}]({url})" for name, url in links if url]
    return "\n".join([text, *parts] if text else parts)


def _ms(at_ms: float) -> str:
    moment = datetime.fromtimestamp(int(at_ms) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


CONVERTERS = {"talkjs": talkjs, "stream": stream, "sendbird": sendbird}
