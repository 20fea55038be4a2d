"""People's tokens: JWTs that the marketplace's backend signs and this server only verifies.

Which key may check a token follows from our configuration, never from the token: HS256 is checked
with the shared secret alone, RS256, ES256 and EdDSA with the published keys (JWKS) alone. Headers
that carry or point to a key (`jwk`, `jku`, `x5u`) are not read.
"""

import asyncio
import contextlib
import http.client
import logging
import os
import re
import secrets
import urllib.request
from collections import OrderedDict
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jwt
import msgspec
from jwt.api_jws import PyJWS

from greenroom.kernel.clock import Clock
from greenroom.kernel.desk import DESKS, Desk
from greenroom.kernel.errors import Unauthenticated, Unavailable

USER_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

SECRET_MIN_BYTES = 32
TOKEN_MAX_CHARACTERS = 8192
EXPIRY_LEEWAY_S = 5
START_LEEWAY_S = 60
# A token is checked again after this time, so that one whose key was withdrawn ends soon.
VERIFIED_KEPT_S = 300

KEYS_FRESH_S = 600
KEYS_RETRY_S = 30
KEYS_MAX_BYTES = 256 * 1024
KEYS_MAX = 100
FETCH_TIMEOUT_S = 5
YEAR_9999_S = 253_402_300_799

log = logging.getLogger(__name__)


def is_user_id(value: str) -> bool:
    return USER_ID.fullmatch(value) is not None


def is_loopback(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host or "").is_loopback
    except ValueError:
        return False


class Claims(msgspec.Struct, frozen=True):
    """What a verified token says. `expires_at` is in milliseconds, as every clock here."""

    user_id: str
    desk: Desk | None
    expires_at: int


class _Payload(msgspec.Struct):
    sub: str
    exp: int | float
    nbf: int | float | None = None
    iat: int | float | None = None
    aud: str | list[str] | None = None
    iss: str | None = None
    desk: Desk | None = None


class _Verified(msgspec.Struct):
    claims: Claims
    until_ms: int


_payloads = msgspec.json.Decoder(_Payload)
_signatures = PyJWS(options={"enforce_minimum_key_length": True})


class TokenVerifier:
    """Answers who a token is for, or raises `Unauthenticated` with a detail that helps."""

    def __init__(
        self,
        *,
        secret: bytes | None,
        jwks_url: str | None,
        audience: str | None,
        issuer: str | None,
        clock: Clock,
        cache_size: int,
    ) -> None:
        self._secret_key = _secret_key(secret) if secret is not None else None
        self._published = PublishedKeys(jwks_url, clock) if jwks_url else None
        self._audience = audience
        self._issuer = issuer
        self._clock = clock
        self._cache_size = cache_size
        self._verified: OrderedDict[str, _Verified] = OrderedDict()

    async def verify(self, token: str) -> Claims:
        """Raises `Unauthenticated`; `Unavailable` while the key set was never reachable."""
        now_ms = self._clock()
        known = self._verified.get(token)
        if known is not None and now_ms < known.until_ms:
            self._verified.move_to_end(token)
            return known.claims
        claims = self._check_claims(await self._check_signature(token), now_ms)
        self._remember(token, claims, now_ms)
        return claims

    async def _check_signature(self, token: str) -> bytes:
        if len(token) > TOKEN_MAX_CHARACTERS or not token.isascii():
            raise Unauthenticated("This is not a token: it is too long or not ASCII.")
        try:
            key = await self._key_for(jwt.get_unverified_header(token))
            verified = _signatures.decode_complete(token, key, algorithms=[key.algorithm_name])
        except jwt.InvalidSignatureError:
            raise Unauthenticated("The token's signature does not match our key.") from None
        except jwt.PyJWTError:
            raise Unauthenticated("This is not a well-formed signed JWT.") from None
        payload: bytes = verified["payload"]
        return payload

    async def _key_for(self, header: dict[str, Any]) -> jwt.PyJWK:
        if "crit" in header:
            raise Unauthenticated("The token's header names an extension that is not taken here.")
        algorithm = header.get("alg")
        if algorithm == "HS256" and self._secret_key is not None:
            return self._secret_key
        if self._published is not None and algorithm in list(PUBLISHED_ALGORITHMS):
            return await self._published.find(algorithm, header.get("kid"))
        raise Unauthenticated("The token's algorithm is not one that this server takes.")

    def _check_claims(self, payload: bytes, now_ms: int) -> Claims:
        try:
            claims = _payloads.decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as wrong:
            raise Unauthenticated(f"The token's claims are not usable: {wrong}.") from None
        self._check_times(claims, now_ms)
        audiences = [claims.aud] if isinstance(claims.aud, str) else claims.aud or []
        if self._audience is not None and self._audience not in audiences:
            raise Unauthenticated("The token is for another audience (`aud`).")
        if self._issuer is not None and claims.iss != self._issuer:
            raise Unauthenticated("The token is from another issuer (`iss`).")
        if not is_user_id(claims.sub):
            raise Unauthenticated(
                "The token's subject (`sub`) is not a user id: 1 to 64 of A-Z a-z 0-9 _ . : -"
                " (an e-mail address is not a user id)."
            )
        return Claims(claims.sub, claims.desk, int(claims.exp * 1000))

    def _check_times(self, claims: _Payload, now_ms: int) -> None:
        if not 0 <= claims.exp <= YEAR_9999_S:
            raise Unauthenticated("The token's `exp` is not a time in seconds since 1970.")
        if now_ms >= (claims.exp + EXPIRY_LEEWAY_S) * 1000:
            raise Unauthenticated("The token has expired.")
        latest_start_s = now_ms / 1000 + START_LEEWAY_S
        if (claims.nbf or 0) > latest_start_s or (claims.iat or 0) > latest_start_s:
            raise Unauthenticated("The token is not valid yet (`nbf` or `iat` in the future).")

    def _remember(self, token: str, claims: Claims, now_ms: int) -> None:
        expired_ms = claims.expires_at + EXPIRY_LEEWAY_S * 1000
        until_ms = min(expired_ms, now_ms + VERIFIED_KEPT_S * 1000)
        self._verified[token] = _Verified(claims, until_ms)
        self._verified.move_to_end(token)
        while len(self._verified) > self._cache_size:
            self._verified.popitem(last=False)


def _secret_key(secret: bytes) -> jwt.PyJWK:
    check_secret(secret)
    encoded = jwt.utils.base64url_encode(secret).decode()
    return jwt.PyJWK({"kty": "oct", "k": encoded}, "HS256")


def check_secret(secret: bytes) -> None:
    if len(secret) < SECRET_MIN_BYTES:
        raise ValueError(f"The JWT secret needs at least {SECRET_MIN_BYTES} bytes.")


# One kind of key per algorithm: (kty, crv).
PUBLISHED_ALGORITHMS = {
    "RS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
}


class PublishedKeys:
    """The backend's key set: fetched in a thread, kept, and kept on when a fetch fails.

    Keys of a certain age are fetched again in the background; an unknown `kid` waits for a fetch.
    Neither asks more than once in `KEYS_RETRY_S`, so made-up `kid`s cannot turn us on the backend.
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
        """Waits for the fetch under way, or for a new one if the last is long enough ago."""
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
            async with asyncio.timeout(2 * FETCH_TIMEOUT_S):
                keys = _parse_keys(await asyncio.to_thread(_download, self._url))
        except (OSError, ValueError, http.client.HTTPException) as failure:
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


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A key set that has moved is configured anew: no one else's answer says where keys are."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _download(url: str) -> bytes:
    handlers: list[urllib.request.BaseHandler] = [_NoRedirects()]
    if is_loopback(urlsplit(url).hostname):
        handlers.append(urllib.request.ProxyHandler({}))
    with urllib.request.build_opener(*handlers).open(url, timeout=FETCH_TIMEOUT_S) as answer:
        content: bytes = answer.read(KEYS_MAX_BYTES + 1)
    if len(content) > KEYS_MAX_BYTES:
        raise ValueError(f"the key set is larger than {KEYS_MAX_BYTES} bytes")
    return content


class _KeySet(msgspec.Struct):
    keys: list[dict[str, Any]]


def _parse_keys(content: bytes) -> list[jwt.PyJWK]:
    """The keys that can check our algorithms; others of the same set are passed over."""
    published = msgspec.json.decode(content, type=_KeySet).keys[:KEYS_MAX]
    keys = [key for jwk in published if (key := _parse_key(jwk)) is not None]
    if not keys:
        raise ValueError("the key set has no key for " + ", ".join(PUBLISHED_ALGORITHMS))
    return keys


def _parse_key(jwk: dict[str, Any]) -> jwt.PyJWK | None:
    kind = (jwk.get("kty"), jwk.get("crv"))
    for algorithm, wanted in PUBLISHED_ALGORITHMS.items():
        if kind != wanted or jwk.get("alg", algorithm) != algorithm:
            continue
        if jwk.get("use", "sig") != "sig" or "d" in jwk:
            continue
        with contextlib.suppress(jwt.PyJWTError, ValueError, TypeError):
            key = jwt.PyJWK(jwk, algorithm)
            too_short = key.Algorithm.check_key_length(key.key)
            return None if too_short else key
    return None


def sign_token(
    secret: bytes,
    user_id: str,
    *,
    clock: Clock,
    ttl_s: int,
    desk: str | None = None,
    audience: str | None = None,
    issuer: str | None = None,
) -> str:
    """A token as the marketplace's backend would sign it, for the command line and the demo."""
    check_secret(secret)
    if not is_user_id(user_id):
        raise ValueError(f"Not a user id (1 to 64 of A-Z a-z 0-9 _ . : -): {user_id!r}")
    if desk is not None and desk not in DESKS:
        raise ValueError(f"The desk is one of {', '.join(DESKS)}, not {desk!r}")
    now_s = clock() // 1000
    claims = {"sub": user_id, "iat": now_s, "exp": now_s + ttl_s}
    optional = {"desk": desk, "aud": audience, "iss": issuer}
    given = {name: value for name, value in optional.items() if value is not None}
    return jwt.encode({**claims, **given}, secret, algorithm="HS256")


def load_or_create_secret(path: Path) -> bytes:
    """The secret in this file, made when there is none; processes that race agree on one."""
    if not path.exists():
        _create_secret(path)
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise PermissionError(f"Others can read a secret: run `chmod 600 {path}`.")
        secret = file.read().strip()
    check_secret(secret)
    return secret


def _create_secret(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(SECRET_MIN_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        # A link appears whole or not at all, and never replaces the file of a faster process.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
