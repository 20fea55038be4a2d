"""Stored rows that cannot be decoded become the error `Unreadable` for the caller who asked."""

import zlib
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from greenroom.kernel.errors import Unreadable

P = ParamSpec("P")
T = TypeVar("T")

# What Python, msgspec and zlib raise if a value has an unexpected type or form.
NOT_UNDERSTOOD = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, zlib.error)


def reads_kept(function: Callable[P, T]) -> Callable[P, T]:
    """Decorates functions that decode a stored row. Not for what clients have sent: bad input is
    `InvalidRequest`."""

    @wraps(function)
    def read(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except NOT_UNDERSTOOD as failure:
            raise Unreadable from failure

    return read
