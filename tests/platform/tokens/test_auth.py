"""Tokens: which ones are taken, and every known way to forge one."""

import hmac
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from hypothesis import given
from hypothesis import strategies as st
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm
from jwt.utils import base64url_encode

from greenroom.kernel.errors import Unauthenticated, Unavailable
from greenroom.platform.tokens.jwks import FETCH_FAILURES
from greenroom.platform.tokens.verifying import TokenVerifier, load_or_create_secret, sign_token

SECRET = b"a secret that only the backend knows"
NOW_S = 1_800_000_000

RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()
EC_JWK = {**ECAlgorithm.to_jwk(EC_KEY.public_key(), as_dict=True), "kid": "e1"}
ED_JWK = {**OKPAlgorithm.to_jwk(ED_KEY.public_key(), as_dict=True), "kid": "d1"}


class Time:
    def __init__(self) -> None:
        self.now_ms = NOW_S * 1000

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


class Keys:
    """A real HTTP server that publishes what it is told to."""

    def __init__(self) -> None:
        self.status = 200
        self.content = b""
        self.location = ""
        self.requests = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.requests += 1
                self.send_response(server.status)
                self.send_header("Location", server.location)
                self.end_headers()
                self.wfile.write(server.content)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def publish(self, *keys: dict[str, Any]) -> None:
        self.status, self.location = 200, ""
        self.content = json.dumps({"keys": keys}).encode()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def keys() -> Iterator[Keys]:
    server = Keys()
    yield server
    server.close()


def verifier(clock: Time, **settings: Any) -> TokenVerifier:
    """One that takes our secret and nothing else, unless told otherwise."""
    usual = {"secret": SECRET, "jwks_url": None, "audience": None, "issuer": None}
    return TokenVerifier(**{**usual, "cache_size": 100, **settings}, clock=clock)


def public_keys(clock: Time, keys: Keys) -> TokenVerifier:
    return verifier(clock, secret=None, jwks_url=keys.url)


def claims(**changes: Any) -> dict[str, Any]:
    """Valid claims with some changed; a claim set to None is left out."""
    whole = {"sub": "ada", "iat": NOW_S, "exp": NOW_S + 3600, **changes}
    return {name: value for name, value in whole.items() if value is not None}


def signed(**changes: Any) -> str:
    return jwt.encode(claims(**changes), SECRET, algorithm="HS256")


def signed_rs(key: rsa.RSAPrivateKey = RSA_KEY, **header: Any) -> str:
    headers = {"kid": "r1", **header}
    given = {name: value for name, value in headers.items() if value is not None}
    return jwt.encode(claims(), key, algorithm="RS256", headers=given)


def segment(content: Any) -> str:
    return base64url_encode(json.dumps(content).encode()).decode()


def signed_by_hand(header: dict[str, Any], key: bytes) -> str:
    """HS256 for headers and keys that PyJWT itself refuses to sign with."""
    unsigned = f"{segment(header)}.{segment(claims())}"
    signature = hmac.digest(key, unsigned.encode(), "sha256")
    return f"{unsigned}.{base64url_encode(signature).decode()}"


def signed_raw(header: bytes, payload: bytes) -> str:
    """HS256 with our secret over whatever bytes."""
    unsigned = b".".join(map(base64url_encode, (header, payload)))
    signature = hmac.digest(SECRET, unsigned, "sha256")
    return (unsigned + b"." + base64url_encode(signature)).decode()


def rsa_jwk(key: rsa.RSAPrivateKey = RSA_KEY, **fields: Any) -> dict[str, Any]:
    return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "r1", **fields}


async def refused(tokens: TokenVerifier, token: str) -> str:
    with pytest.raises(Unauthenticated) as problem:
        await tokens.verify(token)
    return problem.value.detail or ""


class TestSharedSecret:
    async def test_a_signed_token_names_its_person(self, clock: Time) -> None:
        token = sign_token(SECRET, "ada:7", clock=clock, ttl_s=60, operator_role="trust")
        found = await verifier(clock).verify(token)
        assert (found.user_id, found.operator_role) == ("ada:7", "trust")
        assert found.expires_at == clock.now_ms + 60_000

    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"exp": None}, "exp"),
            ({"exp": "1900000000"}, "exp"),
            ({"exp": 1e300}, "exp"),
            ({"exp": float("nan")}, "not usable"),
            ({"exp": True}, "exp"),
            ({"exp": NOW_S - 6}, "expired"),
            ({"nbf": NOW_S + 61}, "not valid yet"),
            ({"iat": NOW_S + 61}, "not valid yet"),
            ({"sub": None}, "sub"),
            ({"sub": ""}, "sub"),
            ({"sub": "a" * 65}, "sub"),
            ({"sub": "ada\n"}, "sub"),
            ({"sub": "ada@example.org"}, "e-mail"),
            ({"desk": "root"}, "desk"),
            ({"note": "x" * 9000}, "too long"),
        ],
    )
    async def test_claims_that_are_refused(
        self, clock: Time, changes: dict[str, Any], told: str
    ) -> None:
        payload = json.dumps(claims(**changes)).encode()
        token = jwt.api_jws.encode(payload, SECRET, algorithm="HS256")
        assert told in await refused(verifier(clock), token)

    @pytest.mark.parametrize(
        "changes", [{"exp": NOW_S - 4}, {"nbf": NOW_S + 59}, {"iat": NOW_S + 59}, {"exp": 1.9e9}]
    )
    async def test_clocks_may_differ_a_little(self, clock: Time, changes: dict[str, Any]) -> None:
        assert (await verifier(clock).verify(signed(**changes))).user_id == "ada"

    @pytest.mark.parametrize(
        ("aud", "taken"),
        [("chat", True), (["shop", "chat"], True), ("shop", False), (None, False), ([], False)],
    )
    async def test_the_audience_counts_when_configured(
        self, clock: Time, aud: object, taken: bool
    ) -> None:
        tokens = verifier(clock, audience="chat")
        if taken:
            assert (await tokens.verify(signed(aud=aud))).user_id == "ada"
        else:
            assert "audience" in await refused(tokens, signed(aud=aud))
        assert (await verifier(clock).verify(signed(aud=aud))).user_id == "ada"

    async def test_the_issuer_counts_when_configured(self, clock: Time) -> None:
        tokens = verifier(clock, issuer="shop")
        assert (await tokens.verify(signed(iss="shop"))).user_id == "ada"
        assert "issuer" in await refused(tokens, signed(iss="else"))
        assert "issuer" in await refused(tokens, signed())
        await tokens.verify(sign_token(SECRET, "ada", clock=clock, ttl_s=9, issuer="shop"))

    def test_neither_strangers_nor_short_secrets_sign(self, clock: Time) -> None:
        with pytest.raises(ValueError, match="user id"):
            sign_token(SECRET, "ada@example.org", clock=clock, ttl_s=9)
        with pytest.raises(ValueError, match="desk"):
            sign_token(SECRET, "ada", clock=clock, ttl_s=9, operator_role="root")
        with pytest.raises(ValueError, match="32 bytes"):
            verifier(clock, secret=b"short")


class TestForgeries:
    @pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, ["HS256"], 5])
    async def test_unsigned_tokens(self, clock: Time, algorithm: object) -> None:
        header = segment({"alg": algorithm, "typ": "JWT"})
        assert "algorithm" in await refused(verifier(clock), f"{header}.{segment(claims())}.")

    async def test_changed_claims_and_other_secrets(self, clock: Time) -> None:
        header, _, signature = signed().split(".")
        forged = f"{header}.{segment(claims(sub='bob'))}.{signature}"
        assert "signature" in await refused(verifier(clock), forged)
        other = verifier(clock, secret=b"some other secret of thirty-two bytes")
        assert "signature" in await refused(other, signed())

    async def test_other_algorithms_with_the_right_secret(self, clock: Time) -> None:
        tokens = verifier(clock, secret=SECRET * 2)
        for algorithm in ("HS384", "HS512"):
            token = jwt.encode(claims(), SECRET * 2, algorithm=algorithm)
            assert "algorithm" in await refused(tokens, token)

    async def test_a_public_key_is_not_a_secret(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk())
        pem = RSA_KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        token = signed_by_hand({"alg": "HS256", "kid": "r1"}, pem)
        assert "algorithm" in await refused(public_keys(clock, keys), token)
        both = verifier(clock, jwks_url=keys.url)
        assert "signature" in await refused(both, token)

    async def test_a_published_symmetric_key_is_passed_over(self, clock: Time, keys: Keys) -> None:
        oct_key = base64url_encode(SECRET).decode()
        keys.publish(rsa_jwk(), {"kty": "oct", "k": oct_key, "kid": "o1", "alg": "HS256"})
        token = jwt.encode(claims(), SECRET, algorithm="HS256", headers={"kid": "o1"})
        assert "algorithm" in await refused(public_keys(clock, keys), token)

    async def test_keys_that_the_token_brings_along(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk())
        theirs = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        tokens = public_keys(clock, keys)
        brought = {"jwk": rsa_jwk(theirs), "jku": keys.url + "?theirs", "x5u": keys.url}
        for name, value in brought.items():
            assert "signature" in await refused(tokens, signed_rs(theirs, **{name: value}))
        assert keys.requests == 1

    async def test_critical_extensions(self, clock: Time) -> None:
        for extension in ("x", "b64"):
            header = {"alg": "HS256", "crit": [extension], extension: True}
            await refused(verifier(clock), signed_by_hand(header, SECRET))

    @pytest.mark.parametrize(
        "header",
        [
            '{"alg":"HS256"}'.encode("utf-16"),
            '{"alg":"HS256"}'.encode("utf-16-le"),
            '{"alg":"HS256"}'.encode("utf-32"),
            b"\xef\xbb\xbf" + b'{"alg":"HS256"}',
            b'{"alg":"HS256","x":"\xff"}',
            b'{"alg":"HS256","x":"\xed\xa0\x80"}',
            b'{"alg":"HS256","x":' + b"[" * 2900 + b"]" * 2900 + b"}",
            b'{"alg":"HS256"}{}',
            b'["HS256"]',
            b'{"alg":"HS256","kid":1}',
            b'{"alg":"HS256","kid":null}',
        ],
    )
    async def test_headers_that_are_not_an_object_in_utf_8(
        self, clock: Time, header: bytes
    ) -> None:
        await refused(verifier(clock), signed_raw(header, json.dumps(claims()).encode()))

    @pytest.mark.parametrize(
        "member",
        [
            b'"x":"\xff"',
            b'"x":["\xc3\x28"]',
            b'"x\xff":1',
            b'"x":"\xed\xa0\x80"',
            b'"x":' + b"[" * 2900 + b"]" * 2900,
            b'"x":' + b'{"a":' * 1000 + b"1" + b"}" * 1000,
            b'"sub":' + b"[" * 2900 + b"]" * 2900,
        ],
        ids=lambda member: repr(member[:12]),
    )
    async def test_claims_that_nobody_asked_for_are_checked_too(
        self, clock: Time, member: bytes
    ) -> None:
        good = json.dumps(claims()).encode()
        await verifier(clock).verify(signed_raw(b'{"alg":"HS256"}', good))
        odd = good[:-1] + b"," + member + b"}"
        await refused(verifier(clock), signed_raw(b'{"alg":"HS256"}', odd))
        for text in (b"\xef\xbb\xbf" + good, good.decode().encode("utf-16")):
            await refused(verifier(clock), signed_raw(b'{"alg":"HS256"}', text))

    async def test_a_token_has_one_spelling(self, clock: Time) -> None:
        header, body, signature = signed().split(".")
        last = "BCDEFGHIJKLMNOP"
        for other in (
            f"{header}.{body}.{signature}=",
            f"{header}.{body}.{signature}==",
            f"{header}.{body}=.{signature}",
            f"{header}=.{body}.{signature}",
            f"{header}.{body}.{signature}\n",
            f"{header}.{body}.{signature[:5]}!{signature[5:]}",
            f"{header}.{body}.{signature[:5]} {signature[5:]}",
            *(f"{header}.{body}.{signature[:-1]}{each}" for each in last if each != signature[-1]),
        ):
            await refused(verifier(clock), other)

    @given(text=st.text(max_size=200) | st.from_regex(r"[\w-]+\.[\w-]+\.[\w-]*", fullmatch=True))
    async def test_any_text_is_refused_politely(self, text: str) -> None:
        await refused(verifier(Time()), text)


class TestVerifiedTokens:
    async def test_a_known_token_is_looked_up_and_still_expires(self, clock: Time) -> None:
        tokens, token = verifier(clock), signed(exp=NOW_S + 60)
        claimed = await tokens.verify(token)
        clock.advance(64)
        assert await tokens.verify(token) is claimed
        clock.advance(1)
        assert "expired" in await refused(tokens, token)

    async def test_memory_is_bounded(self, clock: Time) -> None:
        tokens = verifier(clock, cache_size=3)
        for number in range(10):
            await tokens.verify(signed(sub=f"user{number}"))
        assert len(tokens._verified) == 3

    async def test_a_withdrawn_key_ends_its_tokens(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk(), EC_JWK)
        tokens = public_keys(clock, keys)
        token = signed_rs()
        await tokens.verify(token)
        keys.publish(EC_JWK)
        clock.advance(601)
        await tokens.verify(token)
        assert tokens._published is not None
        assert tokens._published._fetching is not None
        await tokens._published._fetching
        clock.advance(301)
        assert "kid" in await refused(tokens, token)


class TestPublishedKeys:
    async def test_each_kind_of_key(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk(), EC_JWK, ED_JWK)
        tokens = public_keys(clock, keys)
        signers: dict[str, Any] = {"RS256": RSA_KEY, "ES256": EC_KEY, "EdDSA": ED_KEY}
        for kid, (algorithm, key) in zip(("r1", "e1", "d1"), signers.items(), strict=True):
            token = jwt.encode(claims(), key, algorithm=algorithm, headers={"kid": kid})
            assert (await tokens.verify(token)).user_id == "ada"
        assert keys.requests == 1

    async def test_only_a_single_key_needs_no_name(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk())
        await public_keys(clock, keys).verify(signed_rs(kid=None))
        keys.publish(rsa_jwk(), EC_JWK)
        assert "kid" in await refused(public_keys(clock, keys), signed_rs(kid=None))

    async def test_unknown_names_ask_once_in_a_while(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk())
        tokens = public_keys(clock, keys)
        for number in range(5):
            assert "kid" in await refused(tokens, signed_rs(kid=f"made-up-{number}"))
        assert keys.requests == 1
        clock.advance(30)
        await refused(tokens, signed_rs(kid="made-up"))
        assert keys.requests == 2

    async def test_a_new_key_is_found(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk())
        tokens = public_keys(clock, keys)
        await tokens.verify(signed_rs())
        new = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        keys.publish(rsa_jwk(), rsa_jwk(new, kid="r2"))
        clock.advance(30)
        assert (await tokens.verify(signed_rs(new, kid="r2"))).user_id == "ada"

    @pytest.mark.parametrize(
        "unfit",
        [
            *(rsa_jwk(use="enc"), rsa_jwk(alg="RS512"), rsa_jwk(d="AQAB")),
            *(rsa_jwk(key_ops=["encrypt"]), rsa_jwk(key_ops=[]), rsa_jwk(key_ops="verify")),
            *(
                rsa_jwk(use="sig", key_ops=["wrapKey", "sign"]),
                rsa_jwk(use="enc", key_ops=["verify"]),
            ),
            *(rsa_jwk(use=None), rsa_jwk(key_ops=None), rsa_jwk(alg=None), rsa_jwk(alg=["RS256"])),
            *(rsa_jwk(n=[1]), rsa_jwk(e={}), rsa_jwk(e="AQ"), rsa_jwk(n=None), rsa_jwk(e=5)),
            *(rsa_jwk(n="!"), rsa_jwk(n="AQAB"), {**EC_JWK, "crv": "P-384"}),
        ],
    )
    async def test_unfit_keys_are_passed_over(
        self, clock: Time, keys: Keys, unfit: dict[str, Any]
    ) -> None:
        keys.publish(unfit, ED_JWK)
        tokens = public_keys(clock, keys)
        await tokens.verify(jwt.encode(claims(), ED_KEY, algorithm="EdDSA"))
        assert "kid" in await refused(tokens, signed_rs())

    async def test_keys_that_say_that_they_verify(self, clock: Time, keys: Keys) -> None:
        keys.publish(rsa_jwk(use="sig", alg="RS256", key_ops=["verify"]), ED_JWK)
        assert (await public_keys(clock, keys).verify(signed_rs())).user_id == "ada"

    @pytest.mark.parametrize(
        "content",
        [
            b'{"keys":[],"x":' + b"[" * 2000 + b"]" * 2000 + b"}",
            b'{"keys":[{"x":' + b"[" * 2000 + b"]" * 2000 + b"}]}",
            b'{"keys":[{"kty":"RSA","x":"\xff"}]}',
            b'\xef\xbb\xbf{"keys":[]}',
            b'{"keys":[1]}',
            b'{"keys":{}}',
            b"[]",
            b"",
        ],
        ids=lambda content: repr(content[:20]),
    )
    async def test_the_last_keys_stay_when_the_set_cannot_be_read(
        self, clock: Time, keys: Keys, content: bytes
    ) -> None:
        keys.publish(rsa_jwk())
        tokens = public_keys(clock, keys)
        await tokens.verify(signed_rs())
        failures = FETCH_FAILURES._value.get()
        keys.content = content
        clock.advance(60)
        assert "kid" in await refused(tokens, signed_rs(kid="r2"))
        assert FETCH_FAILURES._value.get() == failures + 1
        assert (await tokens.verify(signed_rs(typ="at+jwt"))).user_id == "ada"
        with pytest.raises(Unavailable):
            await public_keys(clock, keys).verify(signed_rs())

    async def test_without_any_keys_nobody_can_be_told(self, clock: Time, keys: Keys) -> None:
        answers = [
            (500, b"", ""),
            (200, b"not json", ""),
            (200, b'{"keys": []}', ""),
            (200, b" " * 300_000, ""),
            (302, b"", "file:///etc/passwd"),
            (302, b"", keys.url),
        ]
        for keys.status, keys.content, keys.location in answers:
            with pytest.raises(Unavailable):
                await public_keys(clock, keys).verify(signed_rs())
        assert keys.requests == len(answers)

    async def test_the_last_keys_stay_when_the_server_is_down(self, clock: Time) -> None:
        keys = Keys()
        keys.publish(rsa_jwk())
        tokens = public_keys(clock, keys)
        await tokens.verify(signed_rs())
        keys.close()
        clock.advance(60)
        assert "kid" in await refused(tokens, signed_rs(kid="r2"))
        assert (await tokens.verify(signed_rs(typ="at+jwt"))).user_id == "ada"

    @pytest.mark.parametrize(
        "url", ["http://example.org/jwks", "file:///etc/passwd", "ftp://127.0.0.1/", "https://"]
    )
    def test_addresses_that_others_could_answer(self, clock: Time, url: str) -> None:
        with pytest.raises(ValueError, match="https"):
            verifier(clock, secret=None, jwks_url=url)


class TestSecretFile:
    def test_it_is_made_once_and_private(self, tmp_path: Path) -> None:
        path = tmp_path / "home" / "jwt_secret"
        secret = load_or_create_secret(path)
        assert load_or_create_secret(path) == secret
        assert len(secret) == 64
        assert path.stat().st_mode & 0o777 == 0o600
        assert [file.name for file in path.parent.iterdir()] == ["jwt_secret"]

    def test_those_who_race_agree(self, tmp_path: Path) -> None:
        path = tmp_path / "jwt_secret"
        with ThreadPoolExecutor(8) as many:
            assert len(set(many.map(lambda _: load_or_create_secret(path), range(32)))) == 1

    def test_one_that_others_can_read_or_an_empty_one_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "jwt_secret"
        load_or_create_secret(path)
        path.chmod(0o644)
        with pytest.raises(PermissionError, match="chmod 600"):
            load_or_create_secret(path)
        path.chmod(0o600)
        path.write_text("")
        with pytest.raises(ValueError, match="32 bytes"):
            load_or_create_secret(path)
