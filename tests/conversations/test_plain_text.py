"""Previews: the words that a message shows, without the marks of its formatting."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from greenroom.conversations.markdown import plain_text, render, render_plain
from greenroom.conversations.model import normalise_text
from tests.support.api import Api

CORPUS = [
    # Emphasis.
    ("*so* and _so_", "so and so"),
    ("**bold** and __bold__", "bold and bold"),
    ("***both*** of **it *in* it**", "both of it in it"),
    ("2 * 3 * 4 and snake_case_name", "2 * 3 * 4 and snake_case_name"),
    ("a**b**c", "abc"),
    ("** not bold **", "** not bold **"),
    ("cut off in the **midd", "cut off in the **midd"),
    ("not \\*marked\\*, \\[nor\\](this)", "not *marked*, [nor](this)"),
    # Code.
    ("`code` and ``a ` in it``", "code and a ` in it"),
    ("`**not bold**`", "**not bold**"),
    ("a ` alone", "a ` alone"),
    ("```js\nlet a = 1\n\nlet b\n```", "let a = 1 let b"),
    ("~~~\nx * y\n~~~\nafter", "x * y after"),
    ("```\nnever closed", "never closed"),
    # Links.
    ("[a link](https://a.example)", "a link"),
    ('[a link](https://a.example "a title") here', "a link here"),
    ("[a **bold** link](<https://a.example/x y>)", "a bold link"),
    ("[a (b)](https://a.example/c_(d))", "a (b)"),
    ("[](https://a.example)", "https://a.example"),
    ("<https://a.example/b>", "https://a.example/b"),
    ("<ann@a.example>", "ann@a.example"),
    ("see https://a.example/_b_ there", "see https://a.example/_b_ there"),
    ("[x](javascript:alert(1))", "[x](javascript:alert(1))"),
    ("[x](JaVaScRiPt:alert(1))", "[x](JaVaScRiPt:alert(1))"),
    ("[x](vbscript:y)", "[x](vbscript:y)"),
    ("[x](/v1/blocks)", "x"),
    ("[x] (https://a.example)", "[x] (https://a.example)"),
    ("[x][y]", "[x][y]"),
    # Images.
    ("![img](https://a.example/i.png)", "img"),
    ("look: ![a *fine* view](https://a.example/i.png)!", "look: a fine view!"),
    ("![](https://a.example/i.png)", "https://a.example/i.png"),
    ("[![logo](https://a.example/i.png)](https://a.example)", "logo"),
    ("![x](javascript:alert(1))", "![x](javascript:alert(1))"),
    ("wow! [a](https://a.example)", "wow! a"),
    # Lists.
    ("- one\n- two", "• one • two"),
    ("* one\n  * in one\n* two", "• one • in one • two"),
    ("1. one\n2. two", "1. one 2. two"),
    ("3. Mai passt", "3. Mai passt"),
    ("5) five", "5) five"),
    ("-5 degrees", "-5 degrees"),
    ("we met 1. in May", "we met 1. in May"),
    ("- **a**\n- [b](https://a.example)", "• a • b"),
    # Quotes.
    ("> said", "said"),
    ("> said\n> on\n\nmine", "said on mine"),
    ("> > deep", "deep"),
    ("5 > 3 - 1", "5 > 3 - 1"),
    # What stays text.
    ("# no heading", "# no heading"),
    ("a\n---\nb", "a --- b"),
    ("a | b\n--|--", "a | b --|--"),
    ("<b>raw</b> <script>alert(1)</script>", "<b>raw</b> <script>alert(1)</script>"),
    ("~~no~~", "~~no~~"),
    # Characters.
    ("&amp; &lt;b&gt; &#169; &nosuch;", "& <b> © &nosuch;"),
    ("one\ntwo\n\nthree", "one two three"),
    ("  many   spaces\t", "many spaces"),
    ("two  \nlines", "two lines"),
    ("👩‍🎤 **ok**", "👩‍🎤 ok"),
    ("مرحبا *بك*", "مرحبا بك"),
    ("plain words, nothing else.", "plain words, nothing else."),
    # Nothing to show: better the marks than an empty line.
    (">", ">"),
    ("", ""),
]


@pytest.mark.parametrize(("body", "words"), CORPUS)
def test_preview_has_the_words_and_no_marks(body: str, words: str) -> None:
    assert plain_text(body) == words


class Text(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self.feed(html)
        self.close()

    def handle_data(self, data: str) -> None:
        self.text += data


MARKS = ["*", "**", "_", "`", "```", "[", "](", "](https://a.example)", "![", ")", "<", ">", "&"]
PIECES = [
    *MARKS,
    "\\",
    "&amp;",
    "https://a.example",
    "\n",
    "\n\n",
    "> ",
    "# ",
    " ",
    "a",
    "b c",
    "ü",
]


@settings(max_examples=400, derandomize=True)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=10).map("".join))
def test_whatever_is_written_the_preview_says_what_the_message_shows(text: str) -> None:
    body = normalise_text(text).strip()
    html = render(body) or render_plain(body)
    shown = "".join(Text(html).text.split())
    # A list's marks are not in its HTML, and a link without words shows where it leads.
    assume(shown and "<li>" not in html and "></a>" not in html)
    assert "".join(plain_text(body).split()) == shown


@pytest.mark.parametrize("mark", ["*", "_", "`", "[", "![](", "> ", "\\", "- ", "1. ", "&", "<"])
def test_long_lines_of_marks_are_read(mark: str) -> None:
    assert len(plain_text((mark * 2000)[:2000])) <= 4000


async def test_every_list_shows_the_words(api: Api) -> None:
    ann, bob = await api.people("ann", "bob")
    started = await ann.start(bob, body="![img](https://a.example/i.png) is **mine**")
    thread_id, message = started["thread"]["id"], started["message"]

    async def previews() -> set[str]:
        """As the inbox, the feed and the simple API have it, for both."""
        found = set()
        for person in (ann, bob):
            [told] = [each for each in await person.sync() if each["type"] == "message.new"]
            found.add(told["inbox"]["last_message"]["preview"])
            found.add((await person.row(thread_id))["last_message"]["preview"])
            [listed] = (await person.get("/messages/conversations")).json()["conversations"]
            found.add(listed["lastMessage"])
        return found

    assert await previews() == {"img is mine"}
    await ann.edit(message, "[x](javascript:alert(1)) and `y`")
    assert await previews() == {"[x](javascript:alert(1)) and y"}
