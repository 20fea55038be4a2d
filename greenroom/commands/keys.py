"""`greenroom token` for people, and `greenroom keys` for backends."""

import argparse
from collections.abc import Callable
from typing import Any

from greenroom.accounts.model import ApiKey
from greenroom.bootstrap import Rooms, database
from greenroom.commands.failures import UsageError
from greenroom.commands.output import show
from greenroom.doctor import MissingError, signing_secret
from greenroom.kernel.clock import rfc3339, system_clock
from greenroom.kernel.errors import NotFound
from greenroom.platform.postgres.migrations import migrate
from greenroom.platform.processes.termination import run_until_sigterm
from greenroom.platform.tokens.verifying import is_user_id, sign_token
from greenroom.settings import Settings


def token(args: argparse.Namespace, settings: Settings) -> int:
    if not is_user_id(args.user):
        raise UsageError(
            "a user id has 1 to 64 characters of A-Z a-z 0-9 _ . : - (an e-mail address is none); "
            "give the id that your marketplace has for the person."
        )
    print(
        sign_token(
            signing_secret(settings),
            args.user,
            clock=system_clock,
            ttl_s=args.hours * 3600,
            operator_role=args.desk,
            audience=settings.jwt_audience,
            issuer=settings.jwt_issuer,
        )
    )
    return 0


def create(args: argparse.Namespace, settings: Settings) -> int:
    new = _with_rooms(settings, lambda rooms: rooms.accounts.create_key(args.name, args.scopes))
    may = ", ".join(new.key.scopes)
    lines = [
        new.text,
        f"({new.key.key_id}, scopes: {may}. It is shown this once; only its hash is kept.)",
    ]
    return show(args, {**_key_row(new.key), "key": new.text}, lines)


def list_all(args: argparse.Namespace, settings: Settings) -> int:
    keys = _with_rooms(settings, lambda rooms: rooms.accounts.list_keys())
    lines = [_key_line(key) for key in keys]
    return show(args, [_key_row(key) for key in keys], lines or ["there are no keys"])


def _key_line(key: ApiKey) -> str:
    state = "revoked" if key.revoked_at else "active "
    used = "never used" if key.last_used_at is None else f"last used {rfc3339(key.last_used_at)}"
    return f"{key.key_id}  {state}  {used:34}  {','.join(key.scopes):25}  {key.name}"


def revoke(args: argparse.Namespace, settings: Settings) -> int:
    try:
        key = _with_rooms(settings, lambda rooms: rooms.accounts.revoke_key(args.key_id))
    except NotFound as problem:
        raise MissingError(f"{problem} `greenroom keys list` shows what there is.") from problem
    return show(args, _key_row(key), [f"{key.key_id} is revoked"])


def _with_rooms(settings: Settings, work: Callable[[Rooms], Any]) -> Any:
    with database(settings) as url:

        async def run() -> Any:
            await migrate(url)
            async with Rooms(settings, url) as rooms:
                return await work(rooms)

        return run_until_sigterm(run())


def _key_row(key: ApiKey) -> dict[str, Any]:
    times = ((name, getattr(key, name)) for name in ("created_at", "revoked_at", "last_used_at"))
    shown = {name: None if at_ms is None else rfc3339(at_ms) for name, at_ms in times}
    return {"key_id": key.key_id, "name": key.name, "scopes": list(key.scopes), **shown}
