"""The desk's roles: which operator routes a token opens."""

from typing import Literal, get_args

Desk = Literal["support", "trust", "finance", "admin"]
DESKS: tuple[str, ...] = get_args(Desk)
