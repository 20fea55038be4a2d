"""The state that a client builds from events."""

from typing import Any

import pytest

from greenroom_client import State
from greenroom_client.state import Mark

Json = dict[str, Any]


def message(seq: int, thread_id: str = "thr_1", **more: Any) -> Json:
    told = {"id": f"{thread_id}:{seq}", "thread_id": thread_id, "seq": seq, "author_id": "mia"}
    return {**told, "body": f"text {seq}", **more}


def told(kind: str, thread_id: str = "thr_1", **nouns: Any) -> Json:
    return {"type": kind, "cursor": "c", "at": "…", "thread_id": thread_id, **nouns}


def thread(thread_id: str = "thr_1", **more: Any) -> Json:
    people = [{"user_id": "mia", "last_read": None}, {"user_id": "tom", "last_read": None}]
    return {"id": thread_id, "participants": people, "state": "open", **more}


def seqs(state: State, thread_id: str = "thr_1") -> list[int]:
    return [each["seq"] for each in state.messages(thread_id)]


def test_the_last_fifty_messages_are_kept_in_order() -> None:
    state = State()
    for seq in range(1, 81):
        state.apply(told("message.new", message=message(seq)))
    assert seqs(state) == [*range(31, 81)]


def test_edits_and_tombstones_stand_in_their_place() -> None:
    state = State()
    for seq in (1, 2, 3):
        state.apply(told("message.new", message=message(seq)))
    state.apply(told("message.edited", message=message(2, body="better")))
    state.apply(told("message.deleted", message=message(1, body="", deleted_at="…")))
    assert [each["body"] for each in state.messages("thr_1")] == ["", "better", "text 3"]


def test_an_edit_of_what_is_not_known_leaves_no_hole() -> None:
    state = State()
    state.apply(told("message.new", message=message(60)))
    state.apply(told("message.edited", message=message(2)))
    assert seqs(state) == [60]


def test_inbox_rows_and_threads_are_kept_current() -> None:
    state = State()
    state.apply(told("thread.changed", thread=thread(subject="Shoot")))
    row = {"unread_count": 1, "state": "awaiting_reply", "last_sender_id": "mia"}
    state.apply(told("message.new", message=message(1), inbox=row))
    assert state.inbox("thr_1") == row
    known = state.thread("thr_1")
    assert known is not None
    assert (known["subject"], known["state"], known["last_sender_id"]) == (
        "Shoot",
        "awaiting_reply",
        "mia",
    )


def test_receipts_move_the_marks_of_one_participant() -> None:
    state = State()
    state.apply(told("thread.changed", thread=thread()))
    for kind in ("delivered", "read"):
        mark = {"user_id": "tom", "kind": kind, "message_id": "thr_1:1", "seq": 1, "at": "…"}
        state.apply(told("receipt", receipt=mark))
    known = state.thread("thr_1")
    assert known is not None
    mia, tom = known["participants"]
    assert tom["last_read"] == tom["last_delivered"] == {"message_id": "thr_1:1", "at": "…"}
    assert mia["last_read"] is None


def test_events_of_other_threads_and_receipts_without_a_thread_do_no_harm() -> None:
    state = State()
    mark = {"user_id": "tom", "kind": "read", "message_id": "thr_1:1", "seq": 1, "at": "…"}
    state.apply(told("receipt", receipt=mark))
    state.apply(told("something.new", thread_id="thr_2"))
    state.apply({"type": "something.else", "cursor": "c"})
    assert state.thread("thr_1") is None


def test_a_thread_that_one_left_is_forgotten() -> None:
    state = State()
    state.apply(told("message.new", message=message(1)))
    state.apply(told("thread.changed"))
    assert (seqs(state), state.thread_ids()) == ([], [])


def test_a_reset_forgets_everything() -> None:
    state = State()
    state.apply(told("message.new", message=message(1)))
    state.apply({"type": "typing", "thread_id": "thr_1", "user_id": "mia", "on": True})
    state.apply({"type": "reset", "cursor": "c", "at": "…"})
    assert (state.thread_ids(), state.typing("thr_1")) == ([], [])


def test_the_least_recently_used_threads_make_room() -> None:
    state = State(threads=2)
    for thread_id in ("thr_1", "thr_2"):
        state.apply(told("message.new", thread_id, message=message(1, thread_id)))
    assert seqs(state, "thr_1") == [1]
    state.apply(told("message.new", "thr_3", message=message(1, "thr_3")))
    assert state.thread_ids() == ["thr_1", "thr_3"]


def test_typing_ends_with_a_sign_with_the_message_or_with_the_connection() -> None:
    state = State()

    def type_now() -> None:
        state.apply({"type": "typing", "thread_id": "thr_1", "user_id": "mia", "on": True})
        assert state.typing("thr_1") == ["mia"]

    type_now()
    state.apply({"type": "typing", "thread_id": "thr_1", "user_id": "mia", "on": False})
    assert state.typing("thr_1") == []
    type_now()
    state.apply(told("message.new", message=message(1)))
    assert state.typing("thr_1") == []
    type_now()
    state.apply({"type": "presence", "thread_id": "thr_1", "user_id": "tom", "online": True})
    assert state.online("thr_1") == ["tom"]
    state.forget_ephemeral()
    assert (state.typing("thr_1"), state.online("thr_1")) == ([], [])


def test_a_load_does_not_undo_what_events_told_while_it_was_on_its_way() -> None:
    state = State()
    state.apply(told("message.new", message=message(1), inbox={"unread_count": 1}))
    with state.mark() as mark:
        newer = message(1, body="newer")
        state.apply(told("message.edited", message=newer, inbox={"unread_count": 0}))
        state.load_messages("thr_1", [message(1), message(2)], mark)
        state.load_threads([{"thread": thread(), "inbox": {"unread_count": 1}}], mark)
    assert [each["body"] for each in state.messages("thr_1")] == ["newer", "text 2"]
    assert state.inbox("thr_1") == {"unread_count": 0}


def test_a_load_replaces_what_no_event_touched_meanwhile() -> None:
    state = State()
    state.apply(told("message.new", message=message(1)))
    mark = Mark()
    state.load_messages("thr_1", [message(1, body="edited while away")], mark)
    items = [{"thread": thread(each), "inbox": {"unread_count": 0}} for each in ("thr_1", "thr_2")]
    state.load_threads(items, mark)
    assert [each["body"] for each in state.messages("thr_1")] == ["edited while away"]
    assert state.thread_ids() == ["thr_2", "thr_1"]


def test_ones_own_send_shows_at_once_and_only_once() -> None:
    state = State()
    state.note_sent(message(1), Mark())
    state.apply(told("message.new", message=message(1)))
    state.apply(told("message.edited", message=message(1, body="newer")))
    state.note_sent(message(1), Mark())
    assert [each["body"] for each in state.messages("thr_1")] == ["newer"]


def test_an_edit_of_what_is_still_loading_is_not_lost() -> None:
    state = State()
    with state.mark() as mark:
        state.apply(told("message.edited", message=message(1, body="newer")))
        state.load_messages("thr_1", [message(1), message(2)], mark)
    assert [each["body"] for each in state.messages("thr_1")] == ["newer", "text 2"]


def test_a_receipt_that_comes_before_its_thread_is_not_lost() -> None:
    state = State()
    receipt = {"user_id": "tom", "kind": "read", "message_id": "thr_1:1", "seq": 1, "at": "…"}
    with state.mark() as mark:
        state.apply(told("receipt", receipt=receipt))
        state.load_threads([{"thread": thread(), "inbox": {}}], mark)
    known = state.thread("thr_1")
    assert known is not None
    assert known["participants"][1]["last_read"]["message_id"] == "thr_1:1"


@pytest.mark.parametrize("end", [told("thread.changed"), {"type": "reset", "cursor": "c"}])
def test_an_answer_of_before_a_thread_was_left_brings_nothing_back(end: Json) -> None:
    state = State()
    with state.mark() as mark:
        state.apply(end)
        state.load_messages("thr_1", [message(1)], mark)
        state.load_threads([{"thread": thread(), "inbox": {}}], mark)
        state.note_sent(message(2), mark)
    assert state.thread_ids() == []


def test_a_send_that_is_answered_with_a_message_of_long_ago_leaves_no_gap() -> None:
    state = State()
    state.apply(told("message.new", message=message(9)))
    state.note_sent(message(3), Mark())
    assert seqs(state) == [9]


def test_a_changed_card_stands_in_its_messages_place() -> None:
    state = State()
    card = {"id": "crd_1", "message_id": "thr_1:2", "state": "pending", "version": 1}
    state.apply(told("message.new", message=message(1)))
    state.apply(told("message.new", message=message(2, kind="card", card=card)))
    state.apply(told("message.new", message=message(3)))
    paid = {**card, "state": "paid", "version": 2}
    row = {"unread_count": 2, "needs_action": False}
    state.apply(told("card.changed", card=paid, inbox=row))
    assert [each.get("card") for each in state.messages("thr_1")] == [None, paid, None]
    assert seqs(state) == [1, 2, 3]
    assert state.inbox("thr_1") == row


def test_a_changed_card_that_is_not_known_leaves_no_hole() -> None:
    state = State()
    state.apply(told("message.new", message=message(9)))
    state.apply(told("card.changed", card={"id": "crd_1", "message_id": "thr_1:2"}))
    assert seqs(state) == [9]


def picture(state: str, **more: Any) -> Json:
    urls = {"thumb": "https://x/thumb", "preview": "https://x/preview"} if state == "ready" else {}
    renditions = [{"kind": kind, "url": url} for kind, url in urls.items()]
    return {"id": "fil_1", "state": state, "width": None, "renditions": renditions, **more}


def attachment(file: Json) -> Json:
    own = {"kind": "preview", "file_id": file["id"], "width": file["width"], "thumb": None}
    return {**own, "file": file}


def test_a_file_becomes_what_it_is_in_the_message_that_shows_it() -> None:
    state = State()
    other = {**attachment(picture("processing")), "file_id": "fil_2"}
    shown = [attachment(picture("processing")), other]
    state.apply(told("message.new", message=message(1, attachments=shown)))
    ready = picture("ready", width=640)
    state.apply(told("file.changed", message_id="thr_1:1", file=ready))
    [after] = state.messages("thr_1")
    [first, second] = after["attachments"]
    assert (first["file"], first["width"], first["thumb"]) == (ready, 640, "https://x/thumb")
    assert (first["kind"], second) == ("preview", other)


def test_a_card_shows_its_files_as_they_are() -> None:
    state = State()
    card = {"id": "crd_1", "message_id": "thr_1:1", "files": [picture("processing")]}
    state.apply(told("message.new", message=message(1, card=card, attachments=[])))
    state.apply(told("file.changed", message_id="thr_1:1", file=picture("ready")))
    [after] = state.messages("thr_1")
    assert after["card"]["files"] == [picture("ready")]


@pytest.mark.parametrize("where", [{"message_id": "thr_1:9"}, {}])
def test_a_file_that_no_known_message_shows_changes_nothing(where: Json) -> None:
    state = State()
    state.apply(told("message.new", message=message(1, attachments=[])))
    before = state.messages("thr_1")
    state.apply(told("file.changed", file=picture("ready"), **where))
    state.apply({"type": "file.changed", "cursor": "c", "at": "…", "file": picture("ready")})
    assert state.messages("thr_1") == before
