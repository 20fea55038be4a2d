"""Calls about people: the backend describes them, a person reads their own entry."""

from msgspec import Struct

from greenroom.accounts.actions import Accounts
from greenroom.accounts.model import User, UserChanges
from greenroom.kernel.clock import rfc3339
from greenroom.kernel.errors import InvalidRequest, UserNotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who


class UserView(Struct, frozen=True):
    """A person. Times are RFC 3339 in UTC with milliseconds."""

    user_id: str
    display_name: str
    avatar_url: str | None
    roles: list[str]
    timezone: str | None
    verified: bool
    age_verified: bool
    locale: str | None
    created_at: str
    updated_at: str


class TicketView(Struct, frozen=True):
    ticket: str
    expires_at: str


class AccountsRest:
    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "PUT",
                "/v1/users/{user_id}",
                self.put_user,
                "Create or change a person",
                Who.BACKEND,
                {200: UserView, 201: UserView},
                "Users",
                description=(
                    "A field that is left out keeps its value; null clears `avatar_url`, "
                    "`timezone` and `locale`."
                ),
                body=UserChanges,
                errors=(InvalidRequest,),
            ),
            Endpoint(
                "GET",
                "/v1/me",
                self.get_me,
                "The person whose token this is",
                Who.PERSON,
                {200: UserView},
                "Users",
                errors=(UserNotFound,),
            ),
            Endpoint(
                "POST",
                "/v1/tickets",
                self.issue_ticket,
                "A ticket to connect with",
                Who.PERSON,
                {201: TicketView},
                "Sync",
                description=(
                    "For WebSocket and SSE clients that cannot set headers: use it as `?ticket=`, "
                    "once, within 30 seconds, from the same origin."
                ),
            ),
        ]

    async def put_user(self, call: Call) -> Answer:
        user, created = await self._accounts.put_user(call.params["user_id"], call.body)
        return Answer(201 if created else 200, _view(user))

    async def issue_ticket(self, call: Call) -> Answer:
        ticket, expires_at = await self._accounts.issue_ticket(call.caller, call.header("origin"))
        return Answer(201, TicketView(ticket, rfc3339(expires_at)))

    async def get_me(self, call: Call) -> Answer:
        return Answer(200, _view(await self._accounts.access_own_user(call.caller)))


def _view(user: User) -> UserView:
    shown = {name: getattr(user, name) for name in User.__struct_fields__}
    times = {name: rfc3339(shown[name]) for name in ("created_at", "updated_at")}
    return UserView(**{**shown, **times})
