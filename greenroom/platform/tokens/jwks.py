"""Fetches and caches the backend's published keys (JWKS), which verify tokens."""

import asyncio
import contextlib
import logging
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

import jwt
import msgspec
from prometheus_client import Counter

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unauthenticated, Unavailable
from greenroom.platform.http_client import send

KEYS_FRESH_S = 600
KEYS_RETRY_S = 30
KEYS_MAX_BYTES = 256 * 1024
KEYS_MAX = 100
FETCH_TIMEOUT_S = 5

FETCH_FAILURES = Counter(
    "greenroom_jwks_failures", "Fetches of the published keys that brought none"
)

log = logging.getLogger(__name__)

# One kind of key per algorithm: (kty, crv).
PUBLISHED_ALGORITHMS = {
    "RS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}


class PublishedKeys:
    """The backend's key set: fetched when it is needed, and kept when a later fetch fails.

    Keys older than `KEYS_FRESH_S` are fetched again in the background; a token with an unknown
    `kid` waits for a fetch. There is at most one fetch in `KEYS_RETRY_S`, so that tokens with
    made-up `kid`s cannot make us flood the backend.
    """

    def __init__(self, url: str, clock: Clock) -> None:
        check_jwks_url(url)
        self._url = url
        self._clock = clock
        self._keys: list[jwt.PyJWK] = []
        self._fetched_ms: int | None = None
        self._asked_ms: int | None = None
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, algorithm: str, kid: str | None) -> jwt.PyJWK:
        key = self._pick(algorithm, kid)
        if key is None:
            await self._fetch_once()
            key = self._pick(algorithm, kid)
        elif self._age_ms(self._fetched_ms) >= KEYS_FRESH_S * 1000:
            self._start_fetch()
        if self._fetched_ms is None:
            raise Unavailable("The keys that check tokens cannot be fetched just now.")
        if key is None:
            raise Unauthenticated("The token names no key (`kid`) of the published key set.")
        return key

    def _pick(self, algorithm: str, kid: str | None) -> jwt.PyJWK | None:
        if kid is None and len(self._keys) > 1:
            return None
        for key in self._keys:
            if key.algorithm_name == algorithm and kid in (None, key.key_id):
                return key
        return None

    def _age_ms(self, at_ms: int | None) -> float:
        return float("inf") if at_ms is None else self._clock() - at_ms

    async def _fetch_once(self) -> None:
        """Wait for the running fetch, or for a new one if the last is long enough ago."""
        task = self._start_fetch()
        if task is not None:
            await asyncio.shield(task)

    def _start_fetch(self) -> asyncio.Task[None] | None:
        running = self._fetching is not None and not self._fetching.done()
        if not running and self._age_ms(self._asked_ms) >= KEYS_RETRY_S * 1000:
            self._asked_ms = self._clock()
            self._fetching = asyncio.create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        try:
            keys = _parse_keys(await _download(self._url))
        except Exception as failure:  # noqa: BLE001 - whatever is published, the last keys stay
            FETCH_FAILURES.inc()
            log.warning("JWKS not fetched, the last keys stay: %s", failure)
            return
        self._keys = keys
        self._fetched_ms = self._clock()


def check_jwks_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and is_loopback(parts.hostname):
        return
    raise ValueError(f"The JWKS address must be https (or http on this machine): {url}")


async def _download(url: str) -> bytes:
    reply = await send(
        "GET",
        url,
        timeout_s=FETCH_TIMEOUT_S,
        limit_bytes=KEYS_MAX_BYTES,
        use_proxy=not is_loopback(urlsplit(url).hostname),
    )
    if reply.status != 200:
        raise ValueError(f"the backend answered with status {reply.status}")
    return reply.body


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


def _parse_keys(content: bytes) -> list[jwt.PyJWK]:
    """The keys for the algorithms that we accept; others in the set are ignored."""
    # msgspec does not validate the UTF-8 of fields that it ignores.
    content.decode("utf-8")
    published = msgspec.json.decode(content, type=_KeySet).keys[:KEYS_MAX]
    keys = [key for jwk in published if (key := _parse_key(jwk)) is not None]
    if not keys:
        raise ValueError("the key set has no key for " + ", ".join(PUBLISHED_ALGORITHMS))
    return keys


def _parse_key(jwk: dict[str, Any]) -> jwt.PyJWK | None:
    kind = (jwk.get("kty"), jwk.get("crv"))
    for algorithm, wanted in PUBLISHED_ALGORITHMS.items():
        if kind != wanted or not _may_verify(jwk, algorithm):
            continue
        # A key that cannot be parsed is ignored; the others stay usable.
        with contextlib.suppress(Exception):
            key = jwt.PyJWK(jwk, algorithm)
            too_short = key.Algorithm.check_key_length(key.key)
            return None if too_short else key
    return None


def _may_verify(jwk: dict[str, Any], algorithm: str) -> bool:
    """RFC 7517: `use`, `key_ops` and `alg` say what a key is for; each is optional."""
    operations = jwk.get("key_ops", ["verify"])
    return (
        jwk.get("alg", algorithm) == algorithm
        and jwk.get("use", "sig") == "sig"
        and isinstance(operations, list)
        and "verify" in operations
        and "d" not in jwk
    )


def is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False
