"""Forged, modified, foreign and revoked tokens and keys are refused."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from greenroom.bootstrap import Rooms, http_app
from greenroom.settings import Settings
from tests.support.clock import FakeClock

from .key_server import KeyServer

SECRET = "a secret that is long enough for tests"
AUDIENCE, ISSUER = "greenroom", "https://marketplace.test"
Json = dict[str, Any]

RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC = ec.generate_private_key(ec.SECP256R1())
ED = ed25519.Ed25519PrivateKey.generate()

pytestmark = pytest.mark.parametrize("conversations", ["postgres"], indirect=True, scope="module")


def jwk(key: Any, kid: str) -> Json:
    public = key.public_key()
    kinds: list[tuple[Any, Any]] = [
        (rsa.RSAPublicKey, jwt.algorithms.RSAAlgorithm),
        (ec.EllipticCurvePublicKey, jwt.algorithms.ECAlgorithm),
        (ed25519.Ed25519PublicKey, jwt.algorithms.OKPAlgorithm),
    ]
    algorithm = next(each for kind, each in kinds if isinstance(public, kind))
    return {**algorithm.to_jwk(public, as_dict=True), "kid": kid}


KEY_SET: Json = {"keys": [jwk(RSA, "rsa-1"), jwk(EC, "ec-1"), jwk(ED, "ed-1")]}


@pytest.fixture(scope="module")
def backend_site() -> Iterator[KeyServer]:
    keys = KeyServer(KEY_SET)
    yield keys
    keys.close()


@pytest.fixture(scope="module")
def attacker() -> Iterator[KeyServer]:
    keys = KeyServer({"keys": [jwk(OTHER_RSA, "rsa-1")]})
    yield keys
    keys.close()


class Doors:
    """Three servers on one database: one with both kinds of keys, its twin, one without secret."""

    def __init__(self, rooms: list[Rooms], clients: list[httpx.AsyncClient]) -> None:
        self.rooms = rooms
        self.clients = clients

    async def knock(
        self, token: str | bytes, path: str = "/v1/me", method: str = "GET", body: Any = None
    ) -> set[int]:
        """What the doors answer to this credential."""
        raw = token.encode() if isinstance(token, str) else token
        headers = {b"authorization": b"Bearer " + raw}
        answers = [
            await client.request(method, path, headers=headers, json=body)
            for client in self.clients
        ]
        for answer in answers:
            if answer.status_code >= 400:
                assert answer.headers["content-type"] == "application/problem+json"
                assert answer.json()["code"] in ("UNAUTHENTICATED", "FORBIDDEN", "INVALID_REQUEST")
        return {answer.status_code for answer in answers}


@pytest.fixture(scope="module")
async def doors(
    settings: Settings, database_url: str, clock: FakeClock, backend_site: KeyServer
) -> AsyncIterator[Doors]:
    asymmetric = replace(
        settings, jwks_url=backend_site.url, jwt_audience=AUDIENCE, jwt_issuer=ISSUER
    )
    both = replace(asymmetric, jwt_secret=SECRET)
    async with AsyncExitStack() as stack:
        rooms = [
            await stack.enter_async_context(Rooms(each, database_url, clock=clock))
            for each in (both, both, asymmetric)
        ]
        clients = []
        for each in rooms:
            transport = httpx.ASGITransport(app=http_app(each))
            client = httpx.AsyncClient(transport=transport, base_url="http://greenroom.test")
            clients.append(await stack.enter_async_context(client))
        yield Doors(rooms, clients)


Claims = Callable[..., Json]


@pytest.fixture
def claims(clock: FakeClock) -> Claims:
    def make(**changes: Any) -> Json:
        now_s = clock() // 1000
        good = {"sub": "ann", "exp": now_s + 600, "iat": now_s, "aud": AUDIENCE, "iss": ISSUER}
        return {name: text for name, text in {**good, **changes}.items() if text is not None}

    return make


def sign(claims: Json, key: Any = RSA, alg: str = "RS256", **header: Any) -> str:
    return jwt.encode(claims, key, algorithm=alg, headers={"kid": "rsa-1", **header})


def part(value: Any) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def hs256(header: Json, claims: Json, key: bytes) -> str:
    signed = f"{part(header)}.{part(claims)}"
    return f"{signed}.{part(hmac.digest(key, signed.encode(), hashlib.sha256))}"


async def test_good_tokens_get_in(doors: Doors, claims: Claims) -> None:
    """Or the rest of this file would prove nothing."""
    assert await doors.knock(sign(claims())) == {200}
    assert await doors.knock(sign(claims(), EC, "ES256", kid="ec-1")) == {200}
    assert await doors.knock(sign(claims(), ED, "EdDSA", kid="ed-1")) == {200}
    assert await doors.knock(jwt.encode(claims(), SECRET, algorithm="HS256")) == {200, 401}


async def test_no_algorithm(doors: Doors, claims: Claims) -> None:
    for letters in itertools.product("nN", "oO", "nN", "eE"):
        for signature in ("", part(b"x"), part(b"x" * 32)):
            token = f"{part({'alg': ''.join(letters)})}.{part(claims())}.{signature}"
            assert await doors.knock(token) == {401}


@pytest.mark.parametrize("alg", ["", None, 1, [], {}, "hs256", "HS256 ", "HS384", "HS512", "RS512"])
async def test_other_algorithms(doors: Doors, claims: Claims, alg: Any) -> None:
    """Also when the secret is right: one algorithm per key."""
    header = {"alg": alg, "typ": "JWT", "kid": "rsa-1"}
    assert await doors.knock(hs256(header, claims(), SECRET.encode())) == {401}


@pytest.mark.parametrize("key", [RSA, EC, ED], ids=["rsa", "ec", "ed"])
async def test_a_public_key_is_no_secret(doors: Doors, claims: Claims, key: Any) -> None:
    public = key.public_key()
    forms = [
        public.public_bytes(encoding, kind)
        for encoding in (serialization.Encoding.PEM, serialization.Encoding.DER)
        for kind in (serialization.PublicFormat.SubjectPublicKeyInfo,)
    ]
    forms += [json.dumps(each).encode() for each in (KEY_SET, *KEY_SET["keys"])]
    forms += [form.strip() for form in forms]
    for form in forms:
        for kid in ("rsa-1", "ec-1", "ed-1"):
            header = {"alg": "HS256", "typ": "JWT", "kid": kid}
            assert await doors.knock(hs256(header, claims(), form)) == {401}


@pytest.mark.parametrize(
    "kid",
    [
        "",
        "rsa-2",
        "../../../../dev/null",
        "/dev/null",
        "' or 1=1 --",
        "rsa-1\x00",
        "ed-1",
        "x" * 999,
    ],
)
async def test_a_key_that_was_not_published(doors: Doors, claims: Claims, kid: str) -> None:
    for signer in (RSA, OTHER_RSA):
        assert await doors.knock(sign(claims(), signer, kid=kid)) == {401}
    empty = {"alg": "HS256", "kid": kid}
    assert await doors.knock(hs256(empty, claims(), b"")) == {401}


async def test_made_up_keys_do_not_turn_us_on_the_backend(
    doors: Doors, claims: Claims, backend_site: KeyServer
) -> None:
    before = len(backend_site.asked)
    for number in range(50):
        assert await doors.knock(sign(claims(), OTHER_RSA, kid=f"k{number}")) == {401}
    assert len(backend_site.asked) - before <= len(doors.clients)


async def test_keys_that_the_token_brings_along(
    doors: Doors, claims: Claims, attacker: KeyServer
) -> None:
    theirs = jwk(OTHER_RSA, "rsa-1")
    for header in (
        {"jku": attacker.url},
        {"x5u": attacker.url},
        {"jwk": theirs},
        {"x5c": [part(b"certificate")]},
        {"jku": attacker.url, "jwk": theirs, "kid": attacker.url},
        {"crit": ["exp"], "exp": 1},
        {"b64": False, "crit": ["b64"]},
    ):
        assert await doors.knock(sign(claims(), OTHER_RSA, **header)) == {401}
    assert attacker.asked == []


async def test_wrong_claims(doors: Doors, claims: Claims, clock: FakeClock) -> None:
    now_s = clock() // 1000
    for changes in (
        {"aud": "elsewhere"},
        {"aud": None},
        {"aud": ["a", "b"]},
        {"aud": AUDIENCE.upper()},
        {"iss": "https://elsewhere.test"},
        {"iss": None},
        {"iss": ISSUER + "/"},
        {"exp": now_s - 60},
        {"exp": None},
        {"exp": 0},
        {"exp": -1},
        {"exp": 10**30},
        {"nbf": now_s + 3600},
        {"iat": now_s + 3600},
        {"sub": None},
        {"sub": ""},
        {"sub": "a b"},
        {"sub": "ann\n"},
        {"sub": "аnn"},
        {"sub": "x" * 65},
        {"sub": "ann@example.com"},
        {"desk": "root"},
        {"desk": ["admin"]},
    ):
        assert await doors.knock(sign(claims(**changes))) == {401}, changes
    raw = hs256({"alg": "HS256"}, {**claims(), "exp": str(now_s + 60)}, SECRET.encode())
    assert await doors.knock(raw) == {401}
    for odd in (b"[]", b"null", b"1", b"{", b'{"sub":"ann"', b"\xff", b'{"sub":"ann","exp":NaN}'):
        signed = f"{part({'alg': 'HS256'})}.{part(odd)}"
        mac = part(hmac.digest(SECRET.encode(), signed.encode(), hashlib.sha256))
        assert await doors.knock(f"{signed}.{mac}") == {401}


async def test_claims_and_headers_that_are_no_json_in_utf_8(doors: Doors, claims: Claims) -> None:
    """Signed with the right secret, so nothing but their form keeps them out."""
    header, good = b'{"alg":"HS256"}', json.dumps(claims()).encode()
    deep = b"[" * 2900 + b"]" * 2900
    for raw_header, raw_claims in (
        (header.decode().encode("utf-16"), good),
        (b"\xef\xbb\xbf" + header, good),
        (header[:-1] + b',"x":"\xff"}', good),
        (header[:-1] + b',"x":' + deep + b"}", good[:-1] + b"}"),
        (header, good.decode().encode("utf-16")),
        (header, b"\xef\xbb\xbf" + good),
        (header, good[:-1] + b',"x":"\xff"}'),
        (header, good[:-1] + b',"x":' + deep + b"}"),
    ):
        signed = f"{part(raw_header)}.{part(raw_claims)}"
        mac = part(hmac.digest(SECRET.encode(), signed.encode(), hashlib.sha256))
        assert await doors.knock(f"{signed}.{mac}") == {401}, raw_header[:20]
    assert await doors.knock(jwt.encode(claims(), SECRET, algorithm="HS256") + "=") == {401}


async def test_an_expired_token_is_not_remembered_as_good(
    doors: Doors, claims: Claims, clock: FakeClock
) -> None:
    token = sign(claims())
    assert await doors.knock(token) == {200}
    clock.advance(seconds=606)
    assert await doors.knock(token) == {401}


async def test_changed_tokens(doors: Doors, claims: Claims) -> None:
    token = sign(claims())
    head, body, signature = token.split(".")
    assert await doors.knock(token) == {200}
    for changed in (
        f"{head}.{part(claims(sub='bob'))}.{signature}",
        f"{head}.{part(claims(desk='admin'))}.{signature}",
        f"{part({'alg': 'RS256', 'kid': 'rsa-1', 'x': 1})}.{body}.{signature}",
        f"{head}.{body}.",
        f"{head}.{body}",
        f"{head}..{signature}",
        f".{body}.{signature}",
        f"{token}..",
        f"{token}.x.y",
        f"{head}.{body}.{body}.{signature}",
        "..",
        ".",
        "x",
        f"{head}.{body}.{signature[:-8]}",
        f"{head}.{body}.{signature}AAAA",
        f"{head}.{body}.{signature[::-1]}",
        token.swapcase(),
        f"{token} {token}",
        f'"{token}"',
    ):
        assert await doors.knock(changed) == {401}, changed
    for place in range(0, len(signature) - 2, 9):
        other = "A" if signature[place] != "A" else "B"
        flipped = f"{head}.{body}.{signature[:place]}{other}{signature[place + 1 :]}"
        assert await doors.knock(flipped) == {401}


async def test_tokens_that_are_no_text_or_too_much(doors: Doors, claims: Claims) -> None:
    good = sign(claims())
    started_s = time.process_time()
    for token in (
        good.encode() + "ü".encode(),
        "ﬁ".encode() + good.encode(),
        b"\xff\xfe",
        b"\x80." * 2000,
        b"A" * 100_000,
        b"." * 100_000,
        b"A.A.A" * 20_000,
        sign(claims(extra="x" * 100_000)).encode(),
        part({"alg": "HS256", "x": [[]] * 3000}).encode() + b".e30.x",
        part(b"[" * 4000).encode() + b".e30.x",
        part(b'{"alg":' * 800).encode() + b".e30.x",
    ):
        assert await doors.knock(token) == {401}
    assert time.process_time() - started_s < 5


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Basic {}", "Token {}", "{}", "Bearer\t{}", "Bearer,{}"]
)
async def test_other_ways_to_send_it(doors: Doors, claims: Claims, header: str) -> None:
    headers = {"authorization": header.format(sign(claims()))}
    for client in doors.clients:
        answer = await client.get("/v1/me", headers=headers)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"


async def test_each_kind_of_caller_at_the_other_kinds_door(doors: Doors, claims: Claims) -> None:
    key = await doors.rooms[0].accounts.create_key("other door")
    person = sign(claims(desk="admin"))
    assert await doors.knock(key.text) == {403}
    assert await doors.knock(key.text, "/v1/inbox") == {403}
    put = ("/v1/users/ann", "PUT", {"verified": True})
    assert await doors.knock(person, *put) == {403}
    thread = "/v1/threads/thr_000000000000zzzzzzzzzzzzzz/promote"
    assert await doors.knock(person, thread, "POST", {"leg_id": "leg_1"}) == {403}
    assert await doors.knock(key.text, *put) <= {200, 201}


async def test_a_revoked_key_ends_everywhere_at_once(doors: Doors) -> None:
    key = await doors.rooms[0].accounts.create_key("short life")
    put = ("/v1/users/kim", "PUT", {"display_name": "Kim"})
    assert await doors.knock(key.text, *put) <= {200, 201}
    await doors.rooms[0].accounts.revoke_key(key.key.key_id)
    assert await doors.knock(key.text, *put) == {401}


async def test_changed_keys(doors: Doors) -> None:
    put = ("/v1/users/kim", "PUT", {"display_name": "Kim"})
    key = await doors.rooms[0].accounts.create_key("one")
    other = await doors.rooms[0].accounts.create_key("two")
    for place in range(4, len(key.text), 5):
        digit = "0" if key.text[place] != "0" else "1"
        changed = key.text[:place] + digit + key.text[place + 1 :]
        assert await doors.knock(changed, *put) == {401}
    body, theirs = key.text.removeprefix("grk_"), other.text.removeprefix("grk_")
    for changed in (
        f"grk_{theirs[:26]}{body[26:]}",
        f"grk_{body[:26]}{theirs[26:]}",
        key.text.upper(),
        f"GRK_{body}",
        key.text[:-1],
        key.text + "0",
        key.text[:30],
        "grk_",
        f"grk_{body[:26]}" + "0" * 64,
        f"grk_%{body[1:]}",
        f"grk_{'_' * 26}{body[26:]}",
    ):
        assert await doors.knock(changed, *put) == {401}, changed
