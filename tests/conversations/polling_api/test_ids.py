"""How the simple API names conversations and moments: pure, without a server."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from greenroom.conversations.polling_api.wire import conversation_id, id_after, others_named
from greenroom.kernel.errors import InvalidRequest
from greenroom.kernel.ids import make_id

user_ids = st.text("ax_.", min_size=1, max_size=6)
THREAD = "thr_019e33c9ac00zzzzzzzzzzzzzz"


class TestConversationIds:
    def test_both_people_get_the_same_sorted_name(self) -> None:
        assert conversation_id("bob", "ann", THREAD) == "conv_ann_bob"
        assert conversation_id("ann", "bob", THREAD) == "conv_ann_bob"

    def test_other_threads_go_by_their_own_id(self) -> None:
        assert conversation_id("ann", None, THREAD) == THREAD

    def test_underscores_are_read_relative_to_the_viewer(self) -> None:
        assert others_named("a_b", "conv_a_b_c") == ["c"]
        assert others_named("b_c", "conv_a_b_c") == ["a"]
        assert others_named("c", "conv_a_b_c") == ["a_b"]
        assert others_named("d", "conv_a_b_c") == []

    def test_the_unsorted_form_is_understood_too(self) -> None:
        assert others_named("ann", "conv_bob_ann") == ["bob"]

    def test_where_the_sorted_form_fits_two_only_one_pair_carries_it(self) -> None:
        name = "conv_a_x_a_x_a"
        assert set(others_named("a_x_a", name)) == {"x_a", "a_x"}
        given_out = {other: conversation_id("a_x_a", other, THREAD) for other in ("x_a", "a_x")}
        assert sorted(given_out.values()) == [name, THREAD]
        assert given_out[others_named("a_x_a", name)[0]] == name

    @given(user_ids, user_ids)
    def test_a_name_given_out_is_read_back_by_both(self, one: str, other: str) -> None:
        assume(one != other)
        for viewer, whom in ((one, other), (other, one)):
            name = conversation_id(viewer, whom, THREAD)
            assert name == THREAD or others_named(viewer, name)[0] == whom


class TestMoments:
    @pytest.mark.parametrize(
        "since",
        [
            "1800000000123",
            "2027-01-15T08:00:00.123Z",
            "2027-01-15T08:00:00.123",
            "2027-01-15T08:00:00.123999Z",
            "2027-01-15T10:00:00.123+02:00",
        ],
    )
    def test_one_moment_in_every_form(self, since: str) -> None:
        bound = id_after(since)
        assert make_id("msg", 1_800_000_000_123, "z" * 14) < bound
        assert bound < make_id("msg", 1_800_000_000_124, "0" * 14)

    @pytest.mark.parametrize("since", ["0", "1969-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"])
    def test_the_past_is_before_everything(self, since: str) -> None:
        assert id_after(since) < make_id("msg", 1, "0" * 14)

    @pytest.mark.parametrize("since", ["9" * 16, "9999-12-31T23:59:59-14:00"])
    def test_the_far_future_is_after_everything(self, since: str) -> None:
        assert id_after(since) > make_id("msg", 4_000_000_000_000, "z" * 14)

    @pytest.mark.parametrize("since", ["", "yesterday", "-1", "1e3", "9" * 17, "٣", "2027-13-01"])
    def test_anything_else_is_refused(self, since: str) -> None:
        with pytest.raises(InvalidRequest):
            id_after(since)

    @given(st.integers(0, (1 << 47) - 1), st.integers(0, (1 << 47) - 1))
    def test_strictly_after_and_nothing_else(self, since_ms: int, at_ms: int) -> None:
        message_id = make_id("msg", at_ms, "0" * 14)
        assert (message_id > id_after(str(since_ms))) == (at_ms > since_ms)
