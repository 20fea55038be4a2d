"""Close codes of connections, and what the client should do after each. See docs/realtime.md."""

from enum import IntEnum


class CloseCode(IntEnum):
    RESTART = 1012
    BAD_FRAME = 4400
    TOKEN_ENDED = 4401
    NOT_WELCOME = 4403
    TOO_SLOW = 4408
    REPLACED = 4409
    TOO_MANY_FRAMES = 4429
    UNREADABLE = 4500

    @property
    def reason(self) -> str:
        return _REASONS[self]

    @property
    def reconnect(self) -> bool:
        """Whether the client should reconnect by itself."""
        return self not in (CloseCode.BAD_FRAME, CloseCode.NOT_WELCOME, CloseCode.REPLACED)

    @property
    def retry_most_ms(self) -> int:
        """The client waits a random time up to this before it reconnects."""
        return _RETRY_MOST_MS.get(self, 1000)


_REASONS = {
    CloseCode.RESTART: "The server restarts; come back from your cursor.",
    CloseCode.BAD_FRAME: "A frame is a JSON object in text.",
    CloseCode.TOKEN_ENDED: "The token has ended; come back from your cursor with a fresh one.",
    CloseCode.NOT_WELCOME: "This person may no longer connect.",
    CloseCode.TOO_SLOW: "You read too slowly; reconnect from your cursor.",
    CloseCode.REPLACED: "A newer connection of this person took the place.",
    CloseCode.TOO_MANY_FRAMES: "Too many frames; come back after ten seconds.",
    CloseCode.UNREADABLE: "The next event cannot be read; come back from your cursor in a minute.",
}
_RETRY_MOST_MS = {
    CloseCode.RESTART: 5000,
    CloseCode.TOO_MANY_FRAMES: 10_000,
    CloseCode.UNREADABLE: 60_000,
}
