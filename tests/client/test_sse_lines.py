"""Reading text/event-stream, in whatever pieces it arrives."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from greenroom_client.sse_lines import SseReader

STREAM = (
    "retry: 1200\n\n"
    'event: hello\ndata: {"stream": "str_1"}\n\n'
    ":\n\n"
    'id: e-1\ndata: {"type": "message.new", "body": "Schön, früh! 🌞"}\n\n'
    "id: e-2\n\n"
    "data: two\r\ndata: lines\r\n\r\n"
    "data:no space\r\r"
    "unknown: field\ndata\n\n"
    'event: close\ndata: {"code": 1012}\n\n'
    "data: never finished"
).encode()

EVENTS = [
    ("hello", None, '{"stream": "str_1"}'),
    ("", "e-1", '{"type": "message.new", "body": "Schön, früh! 🌞"}'),
    ("", "e-2", ""),
    ("", None, "two\nlines"),
    ("", None, "no space"),
    ("", None, ""),
    ("close", None, '{"code": 1012}'),
]


@given(st.lists(st.integers(min_value=1, max_value=len(STREAM) - 1)))
def test_the_same_events_whatever_the_pieces(cuts: list[int]) -> None:
    edges = [0, *sorted(set(cuts)), len(STREAM)]
    reader = SseReader()
    found = []
    for start, stop in itertools.pairwise(edges):
        found += reader.read(STREAM[start:stop])
    assert [(each.name, each.id, each.text) for each in found] == EVENTS
