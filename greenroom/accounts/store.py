"""The port to the storage of users, tickets and API keys."""

from collections.abc import Sequence
from typing import Protocol

from greenroom.accounts.model import (
    ApiKey,
    PreferenceChanges,
    Preferences,
    Ticket,
    User,
    UserChanges,
    ViewingChoices,
)


class AccountStore(Protocol):
    """Guarantees: each call is atomic and on disk when it returns.

    Many processes may call at the same time. If the store cannot be reached, every call raises
    `Unavailable`, and a write may or may not have happened; all writes but `add_key` can be
    repeated. Callers pass validated values.
    """

    async def ensure_users(self, user_ids: Sequence[str], at: int) -> set[str]:
        """Creates the users that do not exist, with only their ids. Returns those who were erased;
        they are not changed."""

    async def put_user(
        self, user_id: str, changes: UserChanges, at: int
    ) -> tuple[User, bool] | None:
        """Creates the user or changes the given fields; says whether it was created.

        Two puts at the same time both take effect; on a field that both give, either may win.
        `updated_at` never decreases. Returns None and does nothing for an erased person.
        """

    async def find_user(self, user_id: str) -> User | None: ...

    async def find_users(self, user_ids: Sequence[str]) -> list[User]:
        """Those of the ids that are users, also erased ones, in no particular order."""

    async def missing_users(self, user_ids: Sequence[str]) -> list[str]:
        """Those of the ids that are not users, or were erased, sorted."""

    async def erase_user(self, user_id: str, at: int) -> bool:
        """Clears the profile for good; the id stays taken. False if there is no such user. A repeat
        keeps the time of the first erasure."""

    async def preferences(self, user_id: str) -> Preferences | None:
        """None if there is no such user."""

    async def change_preferences(
        self, user_id: str, changes: PreferenceChanges, at: int
    ) -> Preferences | None:
        """Changes the given fields. None if there is no such user, or they were erased."""

    async def viewing_choices(self, user_id: str) -> ViewingChoices | None: ...

    async def add_ticket(self, ticket: Ticket, digest: bytes) -> None:
        """Need not be on disk: after a crash clients ask for a new ticket."""

    async def take_ticket(self, digest: bytes) -> Ticket | None:
        """Returns the ticket to exactly one of several concurrent callers, and removes it."""

    async def prune_tickets(self, before: int, limit: int) -> int: ...

    async def add_key(self, key: ApiKey, digest: bytes) -> None: ...

    async def find_key(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        """The key, revoked or not, and its hash. It reflects every finished `revoke_key`."""

    async def list_keys(self, limit: int) -> list[ApiKey]:
        """The newest first, revoked ones too."""

    async def revoke_key(self, key_id: str, at: int) -> ApiKey | None:
        """A repeat keeps the time of the first revocation. None if there is no such key."""

    async def note_key_used(self, key_id: str, at: int) -> None:
        """`last_used_at` never decreases."""
