"""Calls about users: the backend registers them, people read profiles and get tickets."""

from msgspec import Struct

from greenroom.accounts.actions import Accounts
from greenroom.accounts.model import PreferenceChanges, Preferences, User, UserChanges
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


class UserOnly(Struct, frozen=True):
    user: UserView


class PublicUserView(Struct, frozen=True):
    """What everybody with a token may know of a person."""

    user_id: str
    display_name: str
    avatar_url: str | None
    roles: list[str]
    verified: bool


class PublicUserOnly(Struct, frozen=True):
    user: PublicUserView


class PreferencesOnly(Struct, frozen=True):
    preferences: Preferences


class PreferencesEdit(Struct, frozen=True, forbid_unknown_fields=True):
    preferences: PreferenceChanges


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
                {200: UserOnly, 201: UserOnly},
                "Users",
                description=(
                    "A field that is left out keeps its value; null clears `avatar_url`, "
                    "`timezone` and `locale`."
                ),
                body=UserChanges,
                errors=(InvalidRequest,),
                scope="users",
            ),
            Endpoint(
                "GET",
                "/v1/users/{user_id}",
                self.get_user,
                "A person's profile card",
                Who.PERSON_OR_BACKEND,
                {200: PublicUserOnly},
                "Users",
                description=(
                    "For everybody with a token, whether or not they share a thread, also for "
                    "people whom the person has blocked. Erased people are not found."
                ),
                errors=(UserNotFound,),
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/me",
                self.get_me,
                "The person whose token this is",
                Who.PERSON,
                {200: UserOnly},
                "Users",
                errors=(UserNotFound,),
            ),
            Endpoint(
                "GET",
                "/v1/me/preferences",
                self.get_preferences,
                "What you have chosen for yourself",
                Who.PERSON,
                {200: PreferencesOnly},
                "Users",
                errors=(UserNotFound,),
            ),
            Endpoint(
                "PUT",
                "/v1/me/preferences",
                self.put_preferences,
                "Choose for yourself",
                Who.PERSON,
                {200: PreferencesOnly},
                "Users",
                description=(
                    "A field that is left out keeps its value. `safe_mode` is on for everybody who "
                    "has not switched it off. In a thread with `safe_mode_required` it is on for "
                    "all."
                ),
                body=PreferencesEdit,
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
                    "For WebSocket and SSE clients that cannot set headers: send it as `?ticket=`, "
                    "once, within 30 seconds, from the same origin."
                ),
            ),
        ]

    async def put_user(self, call: Call) -> Answer:
        user, created = await self._accounts.put_user(call.params["user_id"], call.body)
        return Answer(201 if created else 200, _answer(user))

    async def get_user(self, call: Call) -> Answer:
        user = await self._accounts.access_profile(call.params["user_id"])
        shown = {name: getattr(user, name) for name in PublicUserView.__struct_fields__}
        return Answer(200, PublicUserOnly(PublicUserView(**shown)))

    async def get_preferences(self, call: Call) -> Answer:
        return Answer(200, PreferencesOnly(await self._accounts.access_preferences(call.caller)))

    async def put_preferences(self, call: Call) -> Answer:
        changed = await self._accounts.change_preferences(call.caller, call.body.preferences)
        return Answer(200, PreferencesOnly(changed))

    async def issue_ticket(self, call: Call) -> Answer:
        ticket, expires_at = await self._accounts.issue_ticket(call.caller, call.header("origin"))
        return Answer(201, TicketView(ticket, rfc3339(expires_at)))

    async def get_me(self, call: Call) -> Answer:
        return Answer(200, _answer(await self._accounts.access_own_user(call.caller)))


def _answer(user: User) -> UserOnly:
    shown = {name: getattr(user, name) for name in User.__struct_fields__}
    times = {name: rfc3339(shown[name]) for name in ("created_at", "updated_at")}
    return UserOnly(UserView(**{**shown, **times}))
