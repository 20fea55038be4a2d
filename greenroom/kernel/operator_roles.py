"""Operator roles: the values of a token's claim `desk`, which opens operator routes."""

from typing import Literal, get_args

OperatorRole = Literal["support", "trust", "finance", "admin"]
OPERATOR_ROLES: tuple[str, ...] = get_args(OperatorRole)
