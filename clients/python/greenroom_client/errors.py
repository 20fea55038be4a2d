"""What can go wrong, as exceptions that an application can tell apart."""

import json
from collections.abc import Mapping
from typing import Any, Self

AWAY = frozenset({502, 503, 504})
"""Statuses that say: nobody is there to answer just now."""

MAY_CHANGE = frozenset({401, 408, 425, 429})
"""The refusals that the same request may not meet again."""


class GreenroomError(Exception):
    """Whatever this client raises on purpose."""


class Problem(GreenroomError):  # noqa: N818 (RFC 9457 calls it a problem)
    """The server's answer to what it does not do. `code` is empty if something else answered."""

    def __init__(
        self,
        status: int,
        code: str = "",
        detail: str | None = None,
        *,
        title: str = "",
        hint: str | None = None,
        corr_id: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(" ".join(each for each in (str(status), code, detail or title) if each))
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.hint = hint
        self.corr_id = corr_id
        self.retry_after_s = retry_after_s

    @classmethod
    def of_answer(cls, status: int, headers: Mapping[str, str], content: bytes) -> Self:
        """From an HTTP answer: a problem document, or whatever a proxy says in its place."""
        document: Any = None
        if headers.get("content-type", "").startswith("application/problem+json"):
            try:
                document = json.loads(content)
            except ValueError:
                document = None
        fields = document if isinstance(document, dict) else {}
        wait_s = _seconds(headers.get("retry-after"))
        return cls.of_fields({**fields, "status": status, "retry_after_s": wait_s})

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> Self:
        return cls(
            int(fields.get("status", 500)),
            str(fields.get("code", "")),
            fields.get("detail"),
            title=str(fields.get("title", "")),
            hint=fields.get("hint"),
            corr_id=fields.get("corr_id"),
            retry_after_s=fields.get("retry_after_s"),
        )

    @property
    def is_away(self) -> bool:
        return self.status in AWAY

    @property
    def is_final(self) -> bool:
        """Whether the same request would only meet the same refusal."""
        return 400 <= self.status < 500 and self.status not in MAY_CHANGE


class UnreachableError(GreenroomError):
    """Nothing answers."""


class BrokenOffError(UnreachableError):
    """Something took the connection, and no whole answer came."""


class NotOpenedError(GreenroomError):
    """The server answers, but this transport does not open."""


class ClosedError(GreenroomError):
    """The client is closed, or the server told it not to come back (`code`)."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason if code is None else f"{code} {reason}".rstrip())
        self.code = code
        self.reason = reason


class QueueFullError(GreenroomError):
    """As many sends are waiting as the queue holds."""


def _seconds(text: str | None) -> float | None:
    """Retry-After in seconds; a date, which our server never sends, counts as none."""
    try:
        return None if text is None else max(0.0, float(text))
    except ValueError:
        return None
