"""Input is cut into pieces of at most one request each, however the bytes arrive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from greenroom.kernel.errors import InvalidRequest
from greenroom.platform.http.connections.request_splitter import PIECE_BYTES, RequestSplitter

GET = b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n"
BARE = b"GET /y HTTP/1.0\r\n\r\n"
CHUNKED_HEAD = b"POST /z HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKS = b"2\r\n{}\r\n0\r\n\r\n"


def counted(length: int) -> tuple[bytes, bytes]:
    return b"POST /z HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % length, b"b" * length


class Reader:
    """Stands for the parser: it knows the requests, and what each one's head announces."""

    def __init__(self, requests: list[tuple[bytes, bytes]]) -> None:
        self.splitter = RequestSplitter()
        self._requests = requests
        self._read = b""
        self.done = 0

    def take_all(self) -> None:
        while piece := self.splitter.take():
            self._read += piece
            head, body = self._requests[self.done]
            assert (head + body).startswith(self._read), "a piece of more than one request"
            if self._read == head and body == CHUNKS:
                self.splitter.expect_chunks()
            elif self._read == head and body:
                self.splitter.expect_body(len(body))
            if self._read == head + body:
                self.splitter.expect_request()
                self._read = b""
                self.done += 1


REQUESTS = st.lists(
    st.sampled_from(
        [(GET, b""), (BARE, b""), (CHUNKED_HEAD, CHUNKS), counted(1), counted(PIECE_BYTES * 2 + 5)]
    ),
    min_size=1,
    max_size=5,
)


@given(requests=REQUESTS, sizes=st.lists(st.integers(1, 70), min_size=1, max_size=5))
def test_requests_are_parted_wherever_the_bytes_are_split(
    requests: list[tuple[bytes, bytes]], sizes: list[int]
) -> None:
    data = b"\r\n".join(head + body for head, body in requests)
    reader, number = Reader(requests), 0
    while data:
        size = sizes[number % len(sizes)] if number < 400 else len(data)
        reader.splitter.put(data[:size])
        data, number = data[size:], number + 1
        reader.take_all()
    assert reader.done == len(requests)
    assert not reader.splitter.has_more


def test_what_is_not_taken_waits() -> None:
    splitter = RequestSplitter()
    splitter.put(GET + BARE)
    assert splitter.take() == GET
    assert splitter.has_more
    splitter.put(GET)
    splitter.expect_request()
    assert splitter.take() == BARE


@pytest.mark.parametrize(
    "line", [b"GET  /x HTTP/1.1", b"GET /x  HTTP/1.1", b"GET /x RTSP/1.0", b"get /x HTTP/1.1", b"/"]
)
@pytest.mark.parametrize("size", [1, 100])
def test_a_request_line_that_is_none(line: bytes, size: int) -> None:
    splitter, data = RequestSplitter(), line + b"\r\n"
    for at in range(0, len(data) - size, size):
        splitter.put(data[at : at + size])
        splitter.take()
    splitter.put(data[-size:])
    with pytest.raises(InvalidRequest):
        splitter.take()
