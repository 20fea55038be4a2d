"""Every error a client can see: a class with a status, a code and a hint.

The docstring's first line is the title that people read. A class is raised where its rule is;
`platform/http` turns it into an RFC 9457 problem document in one place.
"""

from collections.abc import Mapping
from typing import Any, ClassVar


class Problem(Exception):  # noqa: N818 (RFC 9457 calls it a problem)
    """Something went wrong on our side"""

    status: ClassVar[int] = 500
    code: ClassVar[str] = "INTERNAL"
    hint: str = "Try again; if it stays, report the corr_id."

    def __init__(
        self,
        detail: str | None = None,
        *,
        hint: str | None = None,
        retry_after_s: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """`hint` replaces the class's hint where this case has a better one."""
        super().__init__(detail or self.title())
        self.detail = detail
        self.hint = hint or self.hint
        self.retry_after_s = retry_after_s
        self.extra = extra or {}

    @classmethod
    def title(cls) -> str:
        return (cls.__doc__ or cls.__name__).strip().splitlines()[0]


class Internal(Problem):
    """Something went wrong on our side"""


class Unreadable(Problem):
    """Something that is kept for you cannot be read"""

    status = 500
    code = "INTERNAL"
    hint = (
        "Trying again does not help. Give the corr_id to whoever runs this server: the log says "
        "what it is, and `greenroom check --repair` mends what it can."
    )


class InvalidRequest(Problem):
    """The request is not of the form this call takes"""

    status = 400
    code = "INVALID_REQUEST"
    hint = "See /docs for the call's parameters and body."


class Unauthenticated(Problem):
    """This call needs a valid token"""

    status = 401
    code = "UNAUTHENTICATED"
    hint = "Send `Authorization: Bearer <token>` with a token that has not expired."


class Forbidden(Problem):
    """This token may not make this call"""

    status = 403
    code = "FORBIDDEN"
    hint = "Backend calls need an API key, a person's calls need their own token."


class NotFound(Problem):
    """There is nothing here"""

    status = 404
    code = "NOT_FOUND"
    hint = "Check the address and the id."


class ThreadNotFound(Problem):
    """There is no such thread"""

    status = 404
    code = "THREAD_NOT_FOUND"
    hint = "It does not exist, or you are not in it."


class UserNotFound(Problem):
    """There is no such user"""

    status = 404
    code = "USER_NOT_FOUND"
    hint = "Your backend registers people with PUT /v1/users/{id} before others write to them."


class MethodNotAllowed(Problem):
    """This address does not take this method"""

    status = 405
    code = "INVALID_REQUEST"
    hint = "The Allow header lists the methods that it takes."


class PayloadTooLarge(Problem):
    """The request is larger than this call takes"""

    status = 413
    code = "PAYLOAD_TOO_LARGE"
    hint = "Send less at once."


class AttachmentTooLarge(Problem):
    """This file is larger than what is taken"""

    status = 413
    code = "ATTACHMENT_TOO_LARGE"
    hint = "Make the file smaller, or send several. docs/limits.md has the limit."


class UnsupportedType(Problem):
    """This content type is not taken here"""

    status = 415
    code = "UNSUPPORTED_TYPE"
    hint = "Send `Content-Type: application/json`."


class UploadQuarantined(Problem):
    """This file cannot be sent"""

    status = 409
    code = "UPLOAD_QUARANTINED"
    hint = "Send the message without it, or with another file."


class SafeModeBlocked(Problem):
    """Safe-Mode does not show this to you"""

    status = 403
    code = "SAFE_MODE_BLOCKED"
    hint = "It needs a proof of age and Safe-Mode switched off, in a thread that allows that."


class MsgTooLong(Problem):
    """The message is too long"""

    status = 422
    code = "MSG_TOO_LONG"
    hint = "Shorten it or send it as several messages; nothing was cut."


class MsgEmpty(Problem):
    """The message is empty"""

    status = 422
    code = "MSG_EMPTY"
    hint = "Send a body with at least one visible character."


class ThreadLocked(Problem):
    """An operator has locked this thread"""

    status = 403
    code = "THREAD_LOCKED"
    hint = "You can read it; write to support if you think this is a mistake."


class ThreadReadOnly(Problem):
    """Only the marketplace writes in this thread"""

    status = 403
    code = "THREAD_READ_ONLY"
    hint = "It has notices for one person. To ask about one, write to support."


class ParticipantMuted(Problem):
    """An operator has muted you in this thread for a time"""

    status = 403
    code = "FORBIDDEN"
    hint = "The detail says until when; you can still read."


class MsgBlockedByUser(Problem):
    """You have blocked this person"""

    status = 403
    code = "MSG_BLOCKED_BY_USER"
    hint = "Unblock them with DELETE /v1/blocks/{user} to write to them."


class EditWindowClosed(Problem):
    """This message can no longer be edited"""

    status = 409
    code = "EDIT_WINDOW_CLOSED"
    hint = "The time in which a message can be edited is over; send a new one instead."


class ActionInvalidState(Problem):
    """This is not possible in the present state"""

    status = 409
    code = "ACTION_INVALID_STATE"
    hint = "Load it again and look at its state."


class ActionConflict(Problem):
    """Something else stands in the way of this"""

    status = 409
    code = "ACTION_CONFLICT"
    hint = "The detail says what; choose another time or amount, or wait. Nothing has changed."


class ActionStaleVersion(Problem):
    """This card has changed since you saw it"""

    status = 409
    code = "ACTION_STALE_VERSION"
    hint = "`card` is how it is now; look at it and act on its version."


class CardExpired(Problem):
    """This card's time is over"""

    status = 409
    code = "CARD_EXPIRED"
    hint = "Make a new one."


class CardInvalid(Problem):
    """This is not what a card of this type takes"""

    status = 422
    code = "CARD_INVALID"
    hint = "GET /v1/cards/catalogue has the schema of every type, and where it may be used."


class IdempotencyMismatch(Problem):
    """This key was used for another request"""

    status = 422
    code = "IDEMPOTENCY_MISMATCH"
    hint = "Use a new key or client_id for a new request; repeat one only unchanged."


class RateLimited(Problem):
    """Too many requests in a short time"""

    status = 429
    code = "RATE_LIMITED"
    hint = "Wait for the seconds in Retry-After, then try again."


class NotImplementedYet(Problem):
    """This part is not built yet"""

    status = 501
    code = "NOT_IMPLEMENTED"
    hint = "See CHANGELOG.md for what this version does."


class Unavailable(Problem):
    """The server cannot take this just now"""

    status = 503
    code = "UNAVAILABLE"
    hint = "Nothing was lost: repeat the same request after the seconds in Retry-After."

    def __init__(
        self, detail: str | None = None, *, hint: str | None = None, retry_after_s: float = 1
    ) -> None:
        super().__init__(detail, hint=hint, retry_after_s=retry_after_s)
