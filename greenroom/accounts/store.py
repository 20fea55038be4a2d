"""Where people and API keys are kept."""

from collections.abc import Sequence
from typing import Protocol

from greenroom.accounts.model import ApiKey, Ticket, User, UserChanges


class AccountStore(Protocol):
    """Each call is atomic by itself and on disk when it returns.

    Calls may run at the same time from many processes. When the store cannot be reached every
    call raises `Unavailable`, and a write may or may not have happened; all writes but `add_key`
    can be repeated. Values arrive validated.
    """

    async def ensure_users(self, user_ids: Sequence[str], at: int) -> set[str]:
        """Creates the users with nothing but their ids; existing ones are not touched. Returns
        those who were erased, with whom nothing is done."""

    async def put_user(
        self, user_id: str, changes: UserChanges, at: int
    ) -> tuple[User, bool] | None:
        """Creates the user or changes the given fields; says whether it was created.

        Two puts at the same time both take effect; on a field that both give, either may win.
        `updated_at` never goes back. None, and nothing done, for someone who was erased.
        """

    async def find_user(self, user_id: str) -> User | None: ...

    async def find_users(self, user_ids: Sequence[str]) -> list[User]:
        """Those of them who are users, also erased ones, in no order."""

    async def missing_users(self, user_ids: Sequence[str]) -> list[str]:
        """Those of the ids that are no users, or erased ones, sorted."""

    async def erase_user(self, user_id: str, at: int) -> bool:
        """Clears the profile for good; the id stays taken. False if there is no such user; a
        repeat keeps the first time."""

    async def add_ticket(self, ticket: Ticket, digest: bytes) -> None:
        """Not on disk: one that a crash takes is asked for again."""

    async def take_ticket(self, digest: bytes) -> Ticket | None:
        """The ticket, once, however many ask at the same moment."""

    async def prune_tickets(self, before: int, limit: int) -> int: ...

    async def add_key(self, key: ApiKey, digest: bytes) -> None: ...

    async def find_key(self, key_id: str) -> tuple[ApiKey, bytes] | None:
        """The key, revoked or not, and its hash; a revocation that has returned is seen."""

    async def list_keys(self, limit: int) -> list[ApiKey]:
        """The newest first, revoked ones too."""

    async def revoke_key(self, key_id: str, at: int) -> ApiKey | None:
        """A repeat keeps the first time. None if there is no such key."""

    async def note_key_used(self, key_id: str, at: int) -> None:
        """`last_used_at` never goes back."""
