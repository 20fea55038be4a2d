"""How streams end, and what to do then: the table of docs/realtime.md."""

from enum import Enum, auto

from greenroom_client.transport import BROKE_OFF, StreamEndedError

SERVER_RESTARTS = 1012
TOKEN_ENDED = 4401


class Return(Enum):
    """When to come back."""

    AT_ONCE = auto()
    WITH_BACKOFF = auto()
    AFTER_RESTART = auto()
    AFTER_MANY_FRAMES = auto()
    WHEN_MENDED = auto()
    WHEN_TOUCHED = auto()
    NEVER = auto()


_RETURNS = {
    1000: Return.WITH_BACKOFF,
    1001: Return.WITH_BACKOFF,
    BROKE_OFF: Return.WITH_BACKOFF,
    1009: Return.NEVER,
    1011: Return.WITH_BACKOFF,
    SERVER_RESTARTS: Return.AFTER_RESTART,
    4400: Return.NEVER,
    TOKEN_ENDED: Return.AT_ONCE,
    4403: Return.NEVER,
    4408: Return.AT_ONCE,
    4409: Return.WHEN_TOUCHED,
    4429: Return.AFTER_MANY_FRAMES,
    4500: Return.WHEN_MENDED,
}


def return_after(ending: StreamEndedError) -> Return:
    otherwise = Return.WITH_BACKOFF if ending.reconnect else Return.NEVER
    return _RETURNS.get(ending.code, otherwise)


def is_away_after(ending: StreamEndedError) -> bool:
    """Whether the server itself has gone, as far as one can tell."""
    return ending.code in (BROKE_OFF, SERVER_RESTARTS)
