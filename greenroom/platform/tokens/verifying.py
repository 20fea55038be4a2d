"""Verifies people's tokens: JWTs that the marketplace's backend signs.

The configuration decides which key may verify a token, never the token itself: HS256 only with the
shared secret; RS256, ES256 and EdDSA only with the published keys (JWKS). Headers that contain or
point to a key (`jwk`, `jku`, `x5u`) are ignored.
"""

import base64
import contextlib
import os
import re
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import Any, TypeVar

import jwt
import msgspec

from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Unauthenticated
from greenroom.kernel.operator_roles import OPERATOR_ROLES, OperatorRole
from greenroom.platform.tokens.jwks import PUBLISHED_ALGORITHMS, PublishedKeys

USER_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")

SECRET_MIN_BYTES = 32
TOKEN_MAX_CHARACTERS = 8192
EXPIRY_LEEWAY_S = 5
START_LEEWAY_S = 60
# After this time a cached token is verified again, so that a withdrawn key takes effect soon.
VERIFIED_KEPT_S = 300
YEAR_9999_S = 253_402_300_799


def is_user_id(value: str) -> bool:
    return USER_ID.fullmatch(value) is not None


class Claims(msgspec.Struct, frozen=True):
    """The claims of a verified token. `expires_at` is in milliseconds."""

    user_id: str
    operator_role: OperatorRole | None
    expires_at: int


class _Header(msgspec.Struct):
    alg: Any = None
    kid: str | msgspec.UnsetType = msgspec.UNSET
    crit: Any = msgspec.UNSET


class _Payload(msgspec.Struct):
    sub: str
    exp: int | float
    nbf: int | float | None = None
    iat: int | float | None = None
    aud: str | list[str] | None = None
    iss: str | None = None
    desk: OperatorRole | None = None


class _Verified(msgspec.Struct):
    claims: Claims
    until_ms: int


_headers = msgspec.json.Decoder(_Header)
_payloads = msgspec.json.Decoder(_Payload)


class TokenVerifier:
    """Returns the claims of a valid token, or raises `Unauthenticated` with the reason."""

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
        """Raises `Unauthenticated`; `Unavailable` if the key set could never be fetched."""
        now_ms = self._clock()
        known = self._verified.get(token)
        if known is not None and now_ms < known.until_ms:
            self._verified.move_to_end(token)
            return known.claims
        claims = self._check_claims(await self._check_signature(token), now_ms)
        self._remember(token, claims, now_ms)
        return claims

    async def _check_signature(self, token: str) -> bytes:
        """The payload of the token, after its signature was verified."""
        if len(token) > TOKEN_MAX_CHARACTERS or not token.isascii():
            raise Unauthenticated("This is not a token: it is too long or not ASCII.")
        try:
            header, payload, signature = map(_decode_part, token.split("."))
            named = _decode_json(_headers, header)
        except (ValueError, RecursionError):
            raise Unauthenticated("This is not a well-formed signed JWT.") from None
        key = await self._key_for(named)
        signed = token.rpartition(".")[0].encode("ascii")
        if not key.Algorithm.verify(signed, key.key, signature):
            raise Unauthenticated("The token's signature does not match our key.")
        return payload

    async def _key_for(self, header: _Header) -> jwt.PyJWK:
        if header.crit is not msgspec.UNSET:
            raise Unauthenticated(
                "The token's header has a critical extension that is not supported."
            )
        if header.alg == "HS256" and self._secret_key is not None:
            return self._secret_key
        if self._published is not None and header.alg in list(PUBLISHED_ALGORITHMS):
            kid = header.kid if isinstance(header.kid, str) else None
            return await self._published.find(header.alg, kid)
        raise Unauthenticated("The token's algorithm is not one that this server accepts.")

    def _check_claims(self, payload: bytes, now_ms: int) -> Claims:
        try:
            claims = _decode_json(_payloads, payload)
        except RecursionError:
            raise Unauthenticated("The token's claims are nested too deeply.") from None
        except ValueError as wrong:
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


def _decode_part(part: str) -> bytes:
    """Decodes base64url in its canonical form. Raises ValueError for any other form."""
    raw = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    if base64.urlsafe_b64encode(raw).rstrip(b"=") != part.encode("ascii"):
        raise ValueError("not base64url without padding")
    return raw


T = TypeVar("T")


def _decode_json(decoder: msgspec.json.Decoder[T], raw: bytes) -> T:
    """Validates UTF-8 first, because msgspec does not do so in fields that it ignores."""
    raw.decode("utf-8")
    return decoder.decode(raw)


def _secret_key(secret: bytes) -> jwt.PyJWK:
    check_secret(secret)
    encoded = jwt.utils.base64url_encode(secret).decode()
    return jwt.PyJWK({"kty": "oct", "k": encoded}, "HS256")


def check_secret(secret: bytes) -> None:
    if len(secret) < SECRET_MIN_BYTES:
        raise ValueError(f"The JWT secret needs at least {SECRET_MIN_BYTES} bytes.")


def sign_token(
    secret: bytes,
    user_id: str,
    *,
    clock: Clock,
    ttl_s: int,
    operator_role: str | None = None,
    audience: str | None = None,
    issuer: str | None = None,
) -> str:
    """Signs a token as the marketplace's backend would, for the command line and the demo."""
    check_secret(secret)
    if not is_user_id(user_id):
        raise ValueError(f"Not a user id (1 to 64 of A-Z a-z 0-9 _ . : -): {user_id!r}")
    if operator_role is not None and operator_role not in OPERATOR_ROLES:
        known = ", ".join(OPERATOR_ROLES)
        raise ValueError(f"The operator role (`desk`) is one of {known}, not {operator_role!r}")
    now_s = clock() // 1000
    claims = {"sub": user_id, "iat": now_s, "exp": now_s + ttl_s}
    optional = {"desk": operator_role, "aud": audience, "iss": issuer}
    given = {name: value for name, value in optional.items() if value is not None}
    return jwt.encode({**claims, **given}, secret, algorithm="HS256")


def load_or_create_secret(path: Path) -> bytes:
    """The secret in this file, created if missing. Concurrent processes get the same one."""
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
        # Creating a link is atomic, and fails if another process has created the file.
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
