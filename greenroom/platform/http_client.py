"""Requests to other servers: the payment provider, the published keys, webhooks.

The address comes from the configuration, so redirects are not followed: nobody else may say where a
request goes. There are no cookies, and answers are bounded in time and size.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


class HttpError(Exception):
    """There is no answer, or none that can be read; whether anything was done is unknown."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    """By their names in lower case."""


async def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout_s: float,
    limit_bytes: int,
    use_proxy: bool = False,
    trusted: ssl.SSLContext | None = None,
) -> Reply:
    """The answer's status and body. Raises HttpError when there is none within the time, or more of
    it than the limit.

    `use_proxy` goes through the proxy that the environment names. `trusted` says whose certificates
    are accepted, by default those that the system trusts.
    """
    # Most programs make no request, and loading this takes a while.
    import aiohttp  # noqa: PLC0415
    from yarl import URL  # noqa: PLC0415

    # A password in the address is none of the server's, and would replace our own credentials.
    address = URL(url).with_user(None)
    try:
        async with (
            aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(ssl=trusted or True, force_close=True),
                timeout=aiohttp.ClientTimeout(total=timeout_s),
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                skip_auto_headers=("Accept-Encoding",),
                trust_env=use_proxy,
            ) as session,
            session.request(
                method, address, data=body, headers=headers, allow_redirects=False
            ) as answer,
        ):
            head = {name.lower(): value for name, value in answer.headers.items()}
            return Reply(answer.status, await _read(answer.content, limit_bytes), head)
    except TimeoutError as error:
        raise HttpError(f"there was no answer within {timeout_s} s") from error
    except (aiohttp.ClientError, OSError) as error:
        # Its text can repeat the address, and that can hold a secret.
        raise HttpError(f"the connection failed ({type(error).__name__})") from error


async def _read(content: "aiohttp.StreamReader", limit_bytes: int) -> bytes:
    received = bytearray()
    async for part in content.iter_any():
        received += part
        if len(received) > limit_bytes:
            raise HttpError(f"the answer is longer than {limit_bytes} bytes")
    return bytes(received)
