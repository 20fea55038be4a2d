"""One TLS context for all HTTP clients of a test process."""

from functools import cache
from typing import Any

import httpx
from httpx._transports import default


@cache
def _usual_context() -> Any:
    return httpx.create_ssl_context()


def share_tls_context() -> None:
    """Whoever asks httpx for nothing special gets a context that exists. To read all certificates
    takes longer than most requests, and tests make thousands of clients for plain HTTP."""

    def create(verify: Any = True, cert: Any = None, trust_env: bool = True) -> Any:
        if verify is True and cert is None:
            return _usual_context()
        return httpx.create_ssl_context(verify, cert, trust_env)

    setattr(default, "create_ssl_context", create)  # noqa: B010 (a name that httpx does not export)
