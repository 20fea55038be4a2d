"""Scopes of API keys: what a key of the marketplace's backend may do."""

from typing import Literal, get_args

Scope = Literal["read", "write", "bookings", "users"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""In this order they are stored and shown."""
