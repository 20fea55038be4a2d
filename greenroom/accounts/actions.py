"""Authenticates callers, and manages users, tickets and API keys."""

import hmac
import secrets
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from greenroom.accounts.model import (
    ApiKey,
    NewApiKey,
    PreferenceChanges,
    Preferences,
    Ticket,
    User,
    UserChanges,
    ViewingChoices,
    check_changes,
    check_scopes,
    check_user_id,
    clean_key_name,
    hash_key,
    is_use_worth_noting,
    key_id_of,
    key_text,
)
from greenroom.accounts.store import AccountStore
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import (
    ActionInvalidState,
    Forbidden,
    NotFound,
    Unauthenticated,
    UserNotFound,
)
from greenroom.kernel.ids import Randomness, make_id
from greenroom.kernel.limits import Limits
from greenroom.kernel.scopes import SCOPES
from greenroom.platform.batching import Batching
from greenroom.platform.http.endpoint import Caller
from greenroom.platform.tokens.verifying import TokenVerifier, is_user_id

KEY_SECRET_BYTES = 32
TICKET_CHARACTERS = 64


class Accounts:
    def __init__(
        self,
        store: AccountStore,
        tokens: TokenVerifier,
        *,
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._clock = clock
        self._randomness = randomness
        self._limits = limits
        # After a restart all clients reconnect at once, so their users are written in batches.
        self._newcomers: Batching[str, bool] = Batching(
            self._ensure_users,
            lambda user_id: [user_id],
            writers=1,
            batch_limit=limits.page,
            queue_limit=limits.streams,
        )
        self._known = KnownUsers(limits.known_users, limits.known_user_s * 1000, clock)

    async def authenticate(self, authorization: str | None) -> Caller:
        """Who sent this `Authorization` header. Raises `Unauthenticated`."""
        scheme, _, credential = (authorization or "").strip().partition(" ")
        credential = credential.strip()
        if scheme.lower() != "bearer" or not credential:
            raise Unauthenticated("There is no `Authorization: Bearer …` header.")
        if credential.startswith("grk_"):
            return await self._authenticate_backend(credential)
        return await self._authenticate_person(credential)

    async def _authenticate_backend(self, text: str) -> Caller:
        """Asks the store each time, so that a revoked key stops working at once everywhere."""
        key_id = key_id_of(text)
        found = await self._store.find_key(key_id) if key_id else None
        if found is None or not hmac.compare_digest(found[1], hash_key(text)):
            raise Unauthenticated("There is no such API key.")
        key, now = found[0], self._clock()
        if key.revoked_at is not None:
            raise Unauthenticated("This API key has been revoked.")
        if is_use_worth_noting(key, now):
            await self._store.note_key_used(key.key_id, now)
        return Caller("backend", None, key_id=key.key_id, scopes=frozenset(key.scopes))

    async def _authenticate_person(self, token: str) -> Caller:
        claims = await self._tokens.verify(token)
        await self._welcome(claims.user_id)
        return Caller(
            "person",
            claims.user_id,
            operator_role=claims.operator_role,
            expires_at=claims.expires_at,
        )

    async def _welcome(self, user_id: str) -> None:
        """Register the owner of a valid token on first use. Raises for erased people."""
        if user_id not in self._known:
            if not await self._newcomers.submit(user_id):
                raise Unauthenticated("This person has been erased.")
            self._known.add(user_id)

    async def _ensure_users(self, user_ids: Sequence[str]) -> Sequence[bool]:
        erased = await self._store.ensure_users(user_ids, self._clock())
        return [user_id not in erased for user_id in user_ids]

    async def issue_ticket(self, caller: Caller, origin: str | None) -> tuple[str, int]:
        """Issue a ticket that replaces the caller's token once. Returns it and when it expires."""
        if caller.user_id is None or caller.expires_at is None:
            raise Forbidden
        expires_at = self._clock() + self._limits.ticket_s * 1000
        ticket = Ticket(
            caller.user_id, caller.operator_role, int(caller.expires_at), origin, expires_at
        )
        text = "grt_" + secrets.token_urlsafe(KEY_SECRET_BYTES)
        await self._store.add_ticket(ticket, hash_key(text))
        return text, expires_at

    async def redeem_ticket(self, text: str, origin: str | None) -> Caller:
        """The owner of the ticket, which is used up even if this raises `Unauthenticated`."""
        ticket = None
        if len(text) <= TICKET_CHARACTERS and text.isascii():
            ticket = await self._store.take_ticket(hash_key(text))
        # Also checked against the longest life, because a clock can be set back.
        life_ms = self._limits.ticket_s * 1000
        if ticket is None or not 0 < ticket.expires_at - self._clock() <= life_ms:
            raise Unauthenticated("This ticket is unknown, used or older than 30 seconds.")
        if origin is not None and ticket.origin is not None and origin != ticket.origin:
            raise Unauthenticated("This ticket was given to a page of another origin.")
        await self._welcome(ticket.user_id)
        return Caller(
            "person", ticket.user_id, ticket.operator_role, expires_at=ticket.token_expires_at
        )

    async def prune_tickets(self) -> int:
        return await self._store.prune_tickets(self._clock(), self._limits.maintenance_batch)

    async def gone(self, user_ids: Sequence[str]) -> list[str]:
        """Those of the people who do not exist or have been erased."""
        return await self._store.missing_users(user_ids)

    async def put_user(self, user_id: str, changes: UserChanges) -> tuple[User, bool]:
        """The user as it is now, and whether it is new."""
        check_user_id(user_id)
        now = self._clock()
        put = await self._store.put_user(user_id, check_changes(changes), now)
        if put is None:
            raise ActionInvalidState("This person has been erased; their id is not used again.")
        self._known.add(user_id)
        return put

    async def find_user(self, user_id: str) -> User:
        """Any user, also the rest of an erased one; for operators. Raises `UserNotFound`."""
        user = await self._store.find_user(user_id)
        if user is None:
            raise UserNotFound(f"There is no user {user_id}")
        return user

    async def erase_user(self, user_id: str) -> None:
        """Their token is refused from now on; by other processes within `known_user_s`."""
        if not await self._store.erase_user(user_id, self._clock()):
            raise UserNotFound(f"There is no user {user_id}")
        self._known.discard(user_id)

    async def access_own_user(self, caller: Caller) -> User:
        user = await self._store.find_user(caller.user_id) if caller.user_id else None
        if user is None:
            raise UserNotFound
        return user

    async def access_profile(self, user_id: str) -> User:
        """A profile, which everybody may see. Raises `UserNotFound`, also for erased people."""
        if not is_user_id(user_id) or await self._store.missing_users([user_id]):
            raise UserNotFound
        return await self.find_user(user_id)

    async def require_users(self, user_ids: Iterable[str]) -> None:
        """Raises `UserNotFound` unless each id is a user's."""
        unknown = {user_id for user_id in user_ids if user_id not in self._known}
        for user_id in unknown:
            if not is_user_id(user_id):
                raise UserNotFound("One of the ids is not of the form of a user id.")
        missing = await self._store.missing_users(sorted(unknown)) if unknown else []
        if missing:
            raise UserNotFound(f"There is no user {missing[0]}.")
        for user_id in unknown:
            self._known.add(user_id)

    async def is_verified(self, user_id: str) -> bool:
        user = await self._store.find_user(user_id)
        return user is not None and user.verified

    async def access_preferences(self, caller: Caller) -> Preferences:
        found = await self._store.preferences(caller.user_id) if caller.user_id else None
        if found is None:
            raise UserNotFound
        return found

    async def change_preferences(self, caller: Caller, changes: PreferenceChanges) -> Preferences:
        user_id, now = caller.user_id, self._clock()
        changed = await self._store.change_preferences(user_id, changes, now) if user_id else None
        if changed is None:
            raise UserNotFound
        return changed

    async def viewing_choices(self, user_id: str) -> ViewingChoices:
        """The strictest for somebody who is not known."""
        return await self._store.viewing_choices(user_id) or ViewingChoices()

    async def find_preferences(self, user_id: str) -> Preferences:
        """Of any user; for operators. Raises `UserNotFound`."""
        found = await self._store.preferences(user_id)
        if found is None:
            raise UserNotFound(f"There is no user {user_id}")
        return found

    async def create_key(self, name: str, scopes: Iterable[str] = SCOPES) -> NewApiKey:
        at_ms = self._clock()
        key_id = make_id("key", at_ms, self._randomness())
        key = ApiKey(key_id, clean_key_name(name), at_ms, scopes=check_scopes(scopes))
        # Not from the injected randomness: that of a test is predictable.
        text = key_text(key_id, secrets.token_bytes(KEY_SECRET_BYTES))
        await self._store.add_key(key, hash_key(text))
        return NewApiKey(key, text)

    async def list_keys(self) -> list[ApiKey]:
        return await self._store.list_keys(self._limits.page)

    async def revoke_key(self, key_id: str) -> ApiKey:
        key = await self._store.revoke_key(key_id, self._clock())
        if key is None:
            raise NotFound(f"There is no API key {key_id}.")
        return key


class KnownUsers:
    """A cache of ids that were in the store a short while ago, least recently used first to go.

    Users are never deleted, but they can be erased, so each entry expires after a while.
    """

    def __init__(self, size: int, life_ms: int, clock: Clock) -> None:
        self._size = size
        self._life_ms = life_ms
        self._clock = clock
        self._ids: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, user_id: str) -> bool:
        seen_at_ms = self._ids.get(user_id)
        # Not negative, because a clock can be set back.
        if seen_at_ms is None or not 0 <= self._clock() - seen_at_ms < self._life_ms:
            return False
        self._ids.move_to_end(user_id)
        return True

    def discard(self, user_id: str) -> None:
        self._ids.pop(user_id, None)

    def add(self, user_id: str) -> None:
        self._ids[user_id] = self._clock()
        self._ids.move_to_end(user_id)
        if len(self._ids) > self._size:
            self._ids.popitem(last=False)
