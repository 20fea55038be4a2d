"""Any text there is: refused with a problem document, or read back everywhere as documented.

What is expected is worked out here from the documentation alone: NFC, line breaks as \\n, no other
control characters, no direction overrides, nothing around it.
"""

from __future__ import annotations

import itertools
import json
import time
import unicodedata
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from greenroom.conversations.markdown import plain_text
from greenroom.kernel.text import nfc
from tests.support import IS_FULL
from tests.support.api import Api, Person

DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u00ad\u061c\u180e")

NAUGHTY = {
    "override": "abc\u202edcba\u202c!",
    "isolates": "\u2066left\u2069 \u2067right\u2069",
    "right to left": "שלום עולם \u200eabc\u200f مرحبا",
    "zero width": "in\u200bvis\u200cible\u200d \u2060\ufeffend",
    "only zero width": "\u200b\u200c\u200d\u2060\ufeff",
    "only spaces": " \t\n\u00a0\u3000\u2003",
    "blanks that count as letters": "\u3164\u115f\u1160\uffa0\u2800",
    "byte order mark": "\ufeffstart and \ufeffmiddle",
    "combining flood": "a" + "\u0301" * 1999,
    "zalgo": "Z̸̡̛͖͈a̷̛̳l̸̰̓g̷̜̈o̶͇͐",
    "marks out of order": "q\u0307\u0323 d\u0323\u0307",
    "mark alone": "\u0301 first",
    "control between letter and mark": "e\x07\u0301",
    "bell and escape": "\x07\x1b[31mred\x1b[0m\x7f\x9b",
    "NUL": "a\x00b",
    "line breaks": "a\r\nb\rc\u2028d\u2029e\x85f\x0bg\x0ch",
    "lone high surrogate": "a\ud800b",
    "lone low surrogate": "a\udc00b",
    "surrogates the wrong way round": "\udc00\ud800",
    "family": "👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🇩🇪🇫🇷 1️⃣",
    "tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "variation selectors": "☺\ufe0e☺\ufe0f\U000e0100",
    "private use": "\ue000\uf8ff\U000f0000\U0010fffd",
    "unassigned": "\u0378\U0001fffe\U0010ffff\ufffe\uffff\ufdd0",
    "grows in NFC": "\u0958\u0f43\ufb2c\U0001d15e",
    "shrinks in NFC": "e\u0301 A\u030a \u1100\u1161\u11a8 \u03b1\u0313\u0300\u0345",
    "compatibility stays": "ﬁ ② ｆｕｌｌ ™ ℌ",
    "one thing in two forms": "Å Å Å",
    "mathematical": "𝕳𝖊𝖑𝖑𝖔",
    "upside down": "˙ɐnbᴉlɐ",
    "Turkish and German": "İıĞß ẞ ŉ",
    "SQL": "'; drop table message; -- \\",
    "markup": "<script>alert(1)</script><img src=x onerror=alert(1)>&amp;&#x0;",
    "markdown": "[x](javascript:alert(1)) ![y](z) `` ` ``",
    "formats": "%s %n {0} ${x} {{y}} \\u0000 \\x00",
    "replacement": "\ufffd",
    "interlinear": "\ufff9a\ufffab\ufffb",
    "Mongolian and Khmer": "\u180e\u17b4\u17b5\u034f",
    "soft hyphens": "\u00ad\u00adsoft\u00adhy\u00adphen",
    "Thai and Tibetan": "ก็็็็็ \u0f73\u0f75\u0f81",
    "2000 of four bytes": "😀" * 2000,
    "2001 of four bytes": "😀" * 2001,
    "2000 that shrink": "e\u0301" * 2000,
    "2001 that shrink": "e\u0301" * 2001,
    "2000 of three": "\u1100\u1161\u11a8" * 2000,
    "1000 that grow": "\u0958" * 1000,
    "1001 that grow": "\u0958" * 1001,
    "2000 and spaces around": " \n" * 500 + "x" * 2000 + "\u3000" * 500,
    "preview ends in a pair": "x" * 138 + "👩‍🚀" * 3,
}


def cleaned(text: str) -> str:
    for ending in ("\r\n", "\r", "\u2028", "\u2029", "\x85"):
        text = text.replace(ending, "\n")
    kept = [c for c in text if c in "\t\n" or unicodedata.category(c) not in ("Cc", "Cs")]
    return unicodedata.normalize("NFC", "".join(c for c in kept if c not in DIRECTION))


def has_something_to_see(text: str) -> bool:
    return any(unicodedata.category(c)[0] in "LNPS" and c not in BLANK for c in text)


def escaped(value: Any) -> bytes:
    """JSON in ASCII: every odd character as an escape, lone surrogates too."""
    return json.dumps(value).encode("ascii")


async def post(person: Person, path: str, body: bytes, method: str = "POST") -> httpx.Response:
    headers = {"authorization": person.authorization(), "content-type": "application/json"}
    return await person._http.request(method, path, content=body, headers=headers)


def check_refusal(answer: httpx.Response, text: str, limit: int) -> None:
    assert answer.headers["content-type"] == "application/problem+json"
    code = answer.json()["code"]
    if code == "MSG_TOO_LONG":
        assert len(cleaned(text).strip()) > limit
    elif code == "MSG_EMPTY":
        assert not has_something_to_see(cleaned(text))
    else:
        assert (answer.status_code, code) == (400, "INVALID_REQUEST")
        is_long = len(" ".join(cleaned(text).split())) > limit
        assert is_long or "\x00" in text or any("\ud800" <= c <= "\udfff" for c in text)


class Talk:
    """Ann and Bob in a thread; every text that Ann gets in must be the same wherever it shows."""

    def __init__(self, ann: Person, bob: Person, thread_id: str, cursor: str) -> None:
        self._ann, self._bob = ann, bob
        self._path = f"/v1/threads/{thread_id}"
        self._thread_id = thread_id
        self._cursor = cursor
        self._numbers = itertools.count(1)

    async def try_body(self, text: str) -> None:
        draft = {"client_id": f"u{next(self._numbers)}", "body": text}
        answer = await post(self._ann, f"{self._path}/messages", escaped(draft))
        if answer.status_code != 201:
            check_refusal(answer, text, 2000)
            return
        expected = cleaned(text).strip()
        assert answer.json()["body"] == expected
        assert 0 < len(expected) <= 2000
        for person in (self._ann, self._bob):
            page = await person.messages(self._thread_id, limit=1)
            assert page[0]["body"] == expected
        await self._check_news(expected)

    async def _check_news(self, expected: str) -> None:
        [event] = await self._bob.sync(self._cursor)
        self._cursor = event["cursor"]
        assert event["message"]["body"] == expected
        row = await self._bob.row(self._thread_id)
        line = " ".join(plain_text(expected).split())
        preview = row["last_message"]["preview"]
        assert preview == (line if len(line) <= 140 else line[:139] + "…")


@pytest.fixture(scope="module")
async def talk(api: Api) -> Talk:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    return Talk(ann, bob, thread_id, await bob.cursor())


@pytest.mark.parametrize("name", NAUGHTY)
async def test_as_body(talk: Talk, name: str) -> None:
    await talk.try_body(NAUGHTY[name])


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("2000 of four bytes", 201),
        ("2001 of four bytes", 422),
        ("2000 that shrink", 201),
        ("2001 that shrink", 422),
        ("2000 of three", 201),
        ("1000 that grow", 201),
        ("1001 that grow", 422),
        ("2000 and spaces around", 201),
        ("combining flood", 201),
        ("only zero width", 422),
        ("blanks that count as letters", 422),
        ("NUL", 400),
        ("control between letter and mark", 201),
    ],
)
async def test_what_is_taken(api: Api, name: str, status: int) -> None:
    ann, bob = await api.people("ann", "bob")
    path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
    answer = await post(ann, path, escaped({"client_id": "x", "body": NAUGHTY[name]}))
    assert answer.status_code == status


async def test_as_subject(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    for name, text in NAUGHTY.items():
        first = {"client_id": name.replace(" ", "-"), "body": "Hello"}
        new = {"kind": "inquiry", "to": bob.id, "subject": text, "first_message": first}
        answer = await post(ann, "/v1/threads", escaped(new))
        if answer.status_code != 201:
            check_refusal(answer, text, 200)
            continue
        expected = " ".join(cleaned(text).split()) or None
        thread = answer.json()["thread"]
        assert thread["subject"] == expected
        assert (await bob.thread(thread["id"]))["thread"]["subject"] == expected


async def test_as_client_id(api: Api) -> None:
    """Only printable ASCII names a send, so that no two ids look or compare alike."""
    ann, bob = await api.people("ann", "bob")
    path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
    for text in NAUGHTY.values():
        answer = await post(ann, path, escaped({"client_id": text, "body": "Hello"}))
        is_plain = text.isascii() and text.isprintable() and " " not in text and len(text) <= 64
        assert answer.status_code == (201 if is_plain else 400)


async def test_as_display_name(api: Api) -> None:
    [ann] = await api.people("ann")
    headers = {
        "authorization": api.backend.authorization(),
        "content-type": "application/json",
    }
    for text in NAUGHTY.values():
        answer = await ann._http.put(
            f"/v1/users/{ann.id}", content=escaped({"display_name": text}), headers=headers
        )
        if answer.status_code != 200:
            check_refusal(answer, text, 80)
            continue
        shown = answer.json()["user"]["display_name"]
        assert (await ann.get("/v1/me")).json()["user"]["display_name"] == shown
        assert unicodedata.is_normalized("NFC", shown)
        assert not any(unicodedata.category(c) in ("Cc", "Cs") or c in DIRECTION for c in shown)


@pytest.mark.parametrize(
    "raw",
    [
        b"\xff",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
        b"\x80",
        b"a\x00b",
        b"tab\tnewline\n",
        b"\\ud800",
        b"\\udfff\\ud800",
        b"\\ud83d",
        b"\\u1",
        b"\\x41",
        b"\\u0000",
        b"\\",
    ],
)
async def test_bytes_that_are_no_text(api: Api, raw: bytes) -> None:
    ann, bob = await api.people("ann", "bob")
    path = f"/v1/threads/{await ann.thread_with(bob)}/messages"
    for field in (b"body", b"client_id", b"reply_to"):
        good = {b"client_id": b"x", b"body": b"Hello"}
        pairs = {**good, field: b"ab" + raw + b"xy"}
        body = b"{" + b",".join(b'"%s":"%s"' % pair for pair in pairs.items()) + b"}"
        answer = await post(ann, path, body)
        assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_REQUEST")
    assert [each["body"] for each in await ann.messages(path.split("/")[3])] == ["Hello"]


@pytest.mark.parametrize("field", ["body", "subject", "display_name"])
async def test_text_made_to_be_slow_is_not(api: Api, field: str) -> None:
    """Marks in the worst order took Python half a minute to sort, with everybody else waiting."""
    ann, bob = await api.people("ann", "bob")
    text = "a" + "\u0301" * 60_000 + "\u0327" * 60_000
    started_s = time.process_time()
    if field == "display_name":
        answer = await api.backend.put(f"/v1/users/{ann.id}", {field: text})
    else:
        first = {"client_id": "slow", "body": text if field == "body" else "Hello"}
        more = {"subject": text} if field == "subject" else {}
        new = {"kind": "inquiry", "to": bob.id, "first_message": first, **more}
        answer = await ann.post("/v1/threads", new)
    assert answer.status_code in (400, 413, 422)
    assert time.process_time() - started_s < 3


MARKS = st.text(st.characters(categories=["Mn", "Mc", "Me"]), max_size=120)


@settings(derandomize=True, deadline=None)
@given(st.lists(MARKS | st.text(max_size=3), max_size=5).map("".join))
def test_our_nfc_is_unicodes(text: str) -> None:
    assert nfc(text) == unicodedata.normalize("NFC", text)


ANY_TEXT = st.one_of(
    st.text(max_size=300),
    st.text(st.characters(), max_size=50),
    st.text(st.characters(categories=["Mn", "Mc", "Cf", "Zs", "Cn", "Co", "Cc"]), max_size=100),
    st.lists(st.sampled_from(sorted(NAUGHTY.values(), key=len)[:35]), max_size=4).map("".join),
)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=150 if IS_FULL else 50,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(text=ANY_TEXT)
async def test_any_text(talk: Talk, text: str) -> None:
    await talk.try_body(text)
