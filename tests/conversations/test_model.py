"""What a text becomes before it is stored, and other rules that need no database."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from greenroom.conversations.inbox import InboxKey
from greenroom.conversations.model import (
    AttachmentRef,
    Cursor,
    Draft,
    InboxRow,
    Message,
    derive_state,
    normalise_body,
    normalise_label,
    normalise_text,
)
from greenroom.conversations.page_keys import decode_page_key, encode_page_key
from greenroom.conversations.previews import preview
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest, MsgEmpty, MsgTooLong
from greenroom.kernel.ids import id_time_ms, make_id, system_randomness
from greenroom.kernel.limits import Limits

LIMITS = Limits()
DAY_MS = 86_400_000
same_every_time = settings(derandomize=True)
texts = st.text(st.characters(codec="utf-8"), max_size=60)


def message(author: str | None, body: str = "Hello") -> Message:
    return Message("msg_1", "thr_1", 1, author, "text", body, None, None, None, None, 0)


def row(*, awaits_reply: bool = False, **more: Any) -> InboxRow:
    flags: dict[str, Any] = {"pinned": False, "starred": False, "needs_action": False, **more}
    return InboxRow(
        thread_id="thr_1",
        thread_kind="inquiry",
        placement="inbox",
        unread_count=0,
        awaits_reply=awaits_reply,
        muted_until_ms=None,
        last_read=None,
        last_message=None,
        last_activity_ms=0,
        **flags,
    )


class TestBody:
    @same_every_time
    @given(texts)
    def test_normalising_twice_is_once(self, text: str) -> None:
        try:
            body = normalise_body(text, LIMITS)
        except MsgEmpty:
            assume(False)
            raise
        assert normalise_body(body, LIMITS) == body
        assert unicodedata.is_normalized("NFC", body)
        assert not any(unicodedata.category(c) == "Cc" and c not in "\t\n" for c in body)
        assert body == body.strip()

    @pytest.mark.parametrize(
        ("text", "stored"),
        [
            ("a\r\nb\rc\u2028d\u2029e\u0085f", "a\nb\nc\nd\ne\nf"),
            ("a\x00b\x07c\x1bd\x7fe\x9ff", "abcdef"),
            ("a\tb", "a\tb"),
            ("in\u202evoice\u2066.exe\u2069", "invoice.exe"),
            ("Cafe\u0301", "Caf\u00e9"),
            ("a\ud800b", "ab"),
            ("👩\u200d🎨", "👩\u200d🎨"),
            ("  two  words  ", "two  words"),
        ],
    )
    def test_body_is_stored_as_people_meant_it(self, text: str, stored: str) -> None:
        assert normalise_body(text, LIMITS) == stored

    @same_every_time
    @given(st.integers(0, 4000))
    def test_length_is_refused_never_cut(self, length: int) -> None:
        text = "x" * length
        if length == 0:
            with pytest.raises(MsgEmpty):
                normalise_body(text, LIMITS)
        elif length <= 2000:
            assert normalise_body(text, LIMITS) == text
        else:
            with pytest.raises(MsgTooLong):
                normalise_body(text, LIMITS)

    @pytest.mark.parametrize(
        "invisible",
        ["\u115f", "\u1160", "\uffa0", "\u2800", "\ufe0f", "\U000e0041", "\u206a", "\u17b4"],
    )
    def test_blank_looking_letters_are_no_body(self, invisible: str) -> None:
        with pytest.raises(MsgEmpty):
            normalise_body(invisible * 3, LIMITS)
        assert normalise_body(f"a{invisible}", LIMITS) == f"a{invisible}"


class TestLabel:
    @same_every_time
    @given(texts)
    def test_label_is_one_line_without_spare_spaces(self, text: str) -> None:
        label = normalise_label("subject", text, 200)
        if label is not None:
            assert label == " ".join(label.split())
            assert normalise_label("subject", label, 200) == label

    def test_label_too_long_names_itself(self) -> None:
        with pytest.raises(InvalidRequest, match="subject has 5 characters"):
            normalise_label("subject", "12345", 4)


class TestDraft:
    @same_every_time
    @given(texts, texts, st.none() | texts, st.none() | texts)
    def test_hash_tells_body_and_reply_apart(
        self, a: str, b: str, to_a: str | None, to_b: str | None
    ) -> None:
        same = (a, to_a or "") == (b, to_b or "")
        hashes = Draft("1", a, None, to_a).hash(), Draft("2", b, None, to_b).hash()
        assert (hashes[0] == hashes[1]) is same

    def test_text_cannot_move_between_body_and_reply(self) -> None:
        assert Draft("1", "a\nb", None, "c").hash() != Draft("1", "a", None, "b\nc").hash()

    def test_hash_of_a_text_is_the_one_that_earlier_versions_kept(self) -> None:
        assert Draft("1", "hello", None).hash().hex() == "ab59ea03af3f7569d6f03cdc1aaed1b4"
        with_reply = Draft("1", "hello", None, "msg_1")
        assert with_reply.hash().hex() == "19890936dd41696207d6a9eb227846f9"

    def test_hash_tells_files_and_their_order_apart(self) -> None:
        one, other = AttachmentRef("fil_1", "image"), AttachmentRef("fil_2", "image")
        drafts = [
            Draft("1", "a", None, attachments=files)
            for files in ((), (one,), (other,), (one, other), (other, one))
        ]
        assert len({draft.hash() for draft in drafts}) == len(drafts)
        as_file = Draft("2", "a", None, attachments=(AttachmentRef("fil_1", "other"),))
        assert as_file.hash() == drafts[1].hash()


class TestCursors:
    @same_every_time
    @given(st.text("0123456789abcdef", min_size=1, max_size=16), st.integers(0, 2**60 - 1))
    def test_cursor_reads_what_it_wrote(self, epoch: str, n: int) -> None:
        assert Cursor.parse(str(Cursor(epoch, n))) == Cursor(epoch, n)

    @same_every_time
    @given(st.text(max_size=30))
    def test_any_other_text_is_refused(self, text: str) -> None:
        assume("-" not in text)
        with pytest.raises(InvalidRequest):
            Cursor.parse(text)

    @same_every_time
    @given(
        st.builds(
            InboxKey,
            st.booleans(),
            st.integers(0, (1 << 44) - 1),
            st.from_regex(r"thr_[0-9a-z]{26}", fullmatch=True),
        )
    )
    def test_page_key_reads_what_it_wrote(self, key: InboxKey) -> None:
        assert decode_page_key(encode_page_key(key)) == key
        assert decode_page_key(encode_page_key(None)) is None

    @same_every_time
    @given(st.text(max_size=40))
    def test_page_key_of_any_text_is_a_key_or_refused(self, text: str) -> None:
        try:
            key = decode_page_key(text)
        except InvalidRequest:
            return
        assert key is not None
        assert 0 <= key.at_ms < 1 << 44


class TestIds:
    @same_every_time
    @given(st.integers(0, 16**12 - 1), st.integers(0, 16**12 - 1))
    def test_ids_sort_as_their_times(self, a: int, b: int) -> None:
        assume(a != b)
        first, second = (make_id("msg", each, system_randomness()) for each in (a, b))
        assert (first < second) is (a < b)
        assert id_time_ms(first) == a

    def test_times_on_the_wire_have_milliseconds(self) -> None:
        assert rfc3339(1_800_000_000_007) == "2027-01-15T08:00:00.007Z"


class TestState:
    def test_first_that_holds_wins(self) -> None:
        def state(kind: str, inbox: InboxRow | None, now_ms: int = 0) -> str:
            return derive_state(kind, inbox, now_ms, LIMITS)

        assert state("inquiry", row(awaits_reply=True)) == "awaiting_reply"
        assert state("inquiry", row()) == "open"
        assert state("project", row(awaits_reply=True)) == "confirmed"
        assert state("inquiry", row(awaits_reply=True), 180 * DAY_MS + 1) == "archived"
        assert state("inquiry", row(awaits_reply=True), 180 * DAY_MS) == "awaiting_reply"
        assert state("inquiry", None) == "open"

    def test_the_contract_comes_before_who_wrote_last(self) -> None:
        def state(**more: Any) -> str:
            return derive_state("project", row(awaits_reply=True, **more), 0, LIMITS)

        assert state(stage="disputed", open_cards=1) == "disputed"
        assert state(stage="completed", open_cards=1) == "pending_decision"
        assert state(stage="completed") == "completed"
        assert state(stage="confirmed") == "confirmed"
        assert state(stage="cancelled") == "awaiting_reply"
        assert derive_state("project", None, 0, LIMITS, stage="completed") == "completed"
        assert derive_state("inquiry", None, 0, LIMITS, open_cards=1) == "pending_decision"
        # What nobody has touched for long is put away, whatever it was.
        late = derive_state("project", row(stage="disputed"), 180 * DAY_MS + 1, LIMITS)
        assert late == "archived"


class TestPreview:
    @same_every_time
    @given(texts)
    def test_preview_is_one_short_line(self, text: str) -> None:
        shown = preview(message("ann", text * 4))
        assert len(shown) <= 140
        assert "\n" not in shown

    @same_every_time
    @given(texts)
    def test_line_breaks_are_unified(self, text: str) -> None:
        assert not set("\r\u0085\u2028\u2029") & set(normalise_text(text))
