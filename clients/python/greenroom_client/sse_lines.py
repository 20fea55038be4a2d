"""The text/event-stream format, as far as bytes and lines go."""

import codecs
import re
from dataclasses import dataclass, field

_LINE_END = re.compile(r"\r\n|\n|\r")


@dataclass(slots=True)
class SseEvent:
    """Without data: only the place has moved, to `id`."""

    name: str = ""
    id: str | None = None
    data: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "\n".join(self.data)


class SseReader:
    """Takes chunks as they come and gives the events that are complete."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._event = SseEvent()

    def read(self, chunk: bytes) -> list[SseEvent]:
        text = self._rest + self._decoder.decode(chunk)
        # A CR at the end may be half of a CRLF: it waits for what follows.
        held = "\r" if text.endswith("\r") else ""
        lines = _LINE_END.split(text.removesuffix("\r") if held else text)
        self._rest = lines.pop() + held
        return [event for line in lines if (event := self._take(line)) is not None]

    def _take(self, line: str) -> SseEvent | None:
        if not line:
            done, self._event = self._event, SseEvent()
            return done if done.data or done.id is not None else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._event.name = value
        elif name == "id":
            self._event.id = value
        elif name == "data":
            self._event.data.append(value)
        return None
