"""How long a recording is, from its container alone: for servers without FFmpeg."""

import io
import wave
from collections.abc import Iterator

_WAV_SAMPLE_BYTES = 2
_OGG_PAGE = b"OggS"
_OGG_HEAD_BYTES = 14
_OPUS_HZ = 48_000
# Elements of WebM.
_SEGMENT, _CLUSTER, _BLOCK_GROUP, _INFO = 0x18538067, 0x1F43B675, 0xA0, 0x1549A966
_TIMESTAMP, _SIMPLE_BLOCK, _BLOCK, _SCALE = 0xE7, 0xA3, 0xA1, 0x2AD7B1
_OPENED = {_SEGMENT, _CLUSTER, _BLOCK_GROUP, _INFO}
_USUAL_SCALE_NS = 1_000_000


def duration_ms(data: bytes, mime: str) -> int | None:
    """None: it is not known. What comes out is at most as right as the file is honest."""
    measure = {"audio/wav": _wav_ms, "audio/ogg": _ogg_ms, "audio/webm": _webm_ms}.get(mime)
    if measure is None:
        return None
    try:
        found = measure(data)
    except (wave.Error, EOFError, IndexError, ValueError, ZeroDivisionError):
        return None
    return found if found is not None and 0 < found < 2**31 else None


def wav_samples(data: bytes) -> bytes | None:
    """Samples of 16 bits, of all channels in turn. None: it has others."""
    try:
        with wave.open(io.BytesIO(data)) as sound:
            if sound.getsampwidth() != _WAV_SAMPLE_BYTES:
                return None
            samples: bytes = sound.readframes(sound.getnframes())
            return samples
    except (wave.Error, EOFError):
        return None


def _wav_ms(data: bytes) -> int:
    with wave.open(io.BytesIO(data)) as sound:
        frames, rate_hz = sound.getnframes(), sound.getframerate()
    return int(frames * 1000 // rate_hz)


def _ogg_ms(data: bytes) -> int | None:
    """The last page says how many samples there are up to its end."""
    at = data.rfind(_OGG_PAGE)
    if at < 0 or b"OpusHead" not in data[:100] or at + _OGG_HEAD_BYTES > len(data):
        return None
    granule = int.from_bytes(data[at + 6 : at + _OGG_HEAD_BYTES], "little", signed=True)
    return granule * 1000 // _OPUS_HZ


def _webm_ms(data: bytes) -> int | None:
    """The start of the last block. Recorders of browsers write no duration."""
    scale_ns, cluster_at, last = _USUAL_SCALE_NS, 0, 0
    for element, body in _webm_elements(data):
        if element == _SCALE:
            scale_ns = int.from_bytes(body, "big")
        elif element == _TIMESTAMP:
            cluster_at = int.from_bytes(body, "big")
        elif element in (_SIMPLE_BLOCK, _BLOCK):
            # After the number of the track, which has one byte in all that we meet.
            last = max(last, cluster_at + int.from_bytes(body[1:3], "big", signed=True))
    return last * scale_ns // 1_000_000


def _webm_elements(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Elements in their order. Those that hold others are opened, so that an unknown length of
    theirs does not matter."""
    at = 0
    while at < len(data):
        element, at = _webm_number(data, at, keeps_marker=True)
        length, at = _webm_number(data, at, keeps_marker=False)
        if element in _OPENED:
            continue
        yield element, data[at : at + min(length, 8)]
        at += length


def _webm_number(data: bytes, at: int, *, keeps_marker: bool) -> tuple[int, int]:
    """A number of one to eight bytes, and where it ends. Its first bits say how many."""
    size = 9 - data[at].bit_length()
    if size > 8:
        raise ValueError("no number")
    value = int.from_bytes(data[at : at + size], "big")
    return (value if keeps_marker else value & ((1 << 7 * size) - 1)), at + size
