"""Message text to HTML: a few marks, and nothing that a browser would run."""

from __future__ import annotations

from html.parser import HTMLParser
from urllib.parse import urlsplit

import nh3
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from greenroom.conversations.markdown import (
    _MARKDOWN,
    _SCHEMES,
    _TAGS,
    is_plain,
    render,
    render_plain,
)
from greenroom.conversations.model import normalise_text

REL = 'rel="noopener noreferrer nofollow ugc"'
ALLOWED_ATTRIBUTES = {"a": {"href", "rel"}, "ol": {"start"}}
ALLOWED_TAGS = {"p", "br", "strong", "em", "code", "pre", "a", "ul", "ol", "li", "blockquote"}

ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<body onload=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<details open ontoggle=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<style>@import 'https://evil.example'</style>",
    "<link rel=stylesheet href=//evil.example>",
    "<base href=//evil.example/>",
    "<form action=//evil.example><button>x",
    "<object data=javascript:alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x](<javascript:alert(1)>)",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](data:image/svg+xml;base64,PHN2Zy8+)",
    "[x](file:///etc/passwd)",
    "[x](blob:https://evil.example/1)",
    "[x](ftp://evil.example)",
    "[x](/v1/blocks)",
    "[x](//evil.example)",
    "[x](tel:123)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    '[x](https://ok.example "onmouseover=alert(1)")',
    '[x](https://ok.example" onmouseover="alert(1))',
    "[<img src=x onerror=alert(1)>](https://ok.example)",
    "![x](https://evil.example/pixel.png)",
    "![x](javascript:alert(1))",
    "`<img src=x onerror=alert(1)>`",
    "```<script>\nalert(1)\n</script>",
    '```"><script>alert(1)</script>\nx\n```',
    "> <script>alert(1)</script>",
    "- <img src=x onerror=alert(1)>",
    "**<b onclick=alert(1)>x</b>**",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "\\<script\\>alert(1)\\</script\\>",
    "https://ok.example/<script>alert(1)</script>",
    "https://ok.example/\"onmouseover='alert(1)'",
    "<!--><img src=x onerror=alert(1)>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "[x]: javascript:alert(1)\n\n[x]",
    "<?xml version='1.0'?><x/>",
]


class Page(HTMLParser):
    """What a browser would make of it."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(f"a declaration: {decl}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"a processing instruction: {data}")


def shown(body: str) -> str:
    rendered = render(body)
    return render_plain(body) if rendered is None else rendered


def check_harmless(html: str) -> None:
    for tag, attributes in Page(html).tags:
        assert tag in ALLOWED_TAGS
        assert set(attributes) <= ALLOWED_ATTRIBUTES.get(tag, set())
        if "href" in attributes:
            assert urlsplit(attributes["href"] or "").scheme in {"http", "https", "mailto"}
            assert set((attributes["rel"] or "").split()) >= {"noopener", "noreferrer", "nofollow"}


class TestSafety:
    @pytest.mark.parametrize("title", ['"call 555 0100"', "'call 555 0100'", "(call 555 0100)"])
    @pytest.mark.parametrize("address", ["https://x.test", "<https://x.test>", "mailto:a@x.test"])
    @pytest.mark.parametrize("mark", ["", "!"])
    def test_titles_of_links_are_dropped(self, mark: str, address: str, title: str) -> None:
        html = shown(f"{mark}[words]({address} {title})")
        assert "call" not in html
        check_harmless(html)

    @pytest.mark.parametrize("body", ATTACKS)
    def test_attack_is_only_text(self, body: str) -> None:
        check_harmless(shown(body))

    @settings(max_examples=300, derandomize=True)
    @given(
        st.lists(
            st.sampled_from(
                [*ATTACKS, "*", "_", "`", "[", "](", ")", "<", ">", "\n", "a", " ", '"']
            )
            | st.text(max_size=5),
            max_size=8,
        ).map("".join)
    )
    def test_no_mixture_is_more_than_text(self, body: str) -> None:
        check_harmless(shown(normalise_text(body)))

    @pytest.mark.parametrize(
        "link", ["https://a.example/x?y=1&z=2", "http://a.example", "mailto:ann@a.example"]
    )
    def test_links_lead_to_the_web_or_to_mail(self, link: str) -> None:
        for body in (f"[x]({link})", f"<{link}>"):
            [_, (tag, attributes)] = Page(shown(body)).tags
            assert (tag, attributes["href"]) == ("a", link)

    @pytest.mark.parametrize(
        "body",
        ["[x](ftp://a.example)", "[x](javascript:1)", "[x](/docs)", "[x](data:,x)", "[x](tel:1)",
         "[x](sms:1)", "[x](#y)", "[x](ws://a.example)"],
    )  # fmt: skip
    def test_nothing_else_is_a_link(self, body: str) -> None:
        assert all("href" not in attributes for _, attributes in Page(shown(body)).tags)


class TestSubset:
    @pytest.mark.parametrize(
        ("body", "html"),
        [
            ("**bold** *italic* `code`",
             "<p><strong>bold</strong> <em>italic</em> <code>code</code></p>"),
            ("one\ntwo", "<p>one<br>\ntwo</p>"),
            ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
            ("1. a", "<ol>\n<li>a</li>\n</ol>"),
            ("3. Mai", '<ol start="3">\n<li>Mai</li>\n</ol>'),
            ("![a](https://a.example/i)", f'<p><a href="https://a.example/i" {REL}>a</a></p>'),
            ("> said", "<blockquote>\n<p>said</p>\n</blockquote>"),
            ("# no heading", "<p># no heading</p>"),
            ("a | b\n--|--", "<p>a | b<br>\n--|--</p>"),
            ("see example.com", "<p>see example.com</p>"),
            ("1 < 2 & 3", "<p>1 &lt; 2 &amp; 3</p>"),
            ("<https://a.example>", f'<p><a href="https://a.example" {REL}>https://a.example</a></p>'),
        ],
    )  # fmt: skip
    def test_marks_that_people_use(self, body: str, html: str) -> None:
        assert shown(body) == html


WORDS = st.text(
    st.sampled_from("abzÄß’'\",.!?…;/€$£% \n0129mailtowwhp_-:@") | st.characters(codec="utf-8"),
    max_size=40,
)


class TestPlain:
    @settings(max_examples=500, derandomize=True)
    @given(WORDS)
    @example('He said "no"; 50% of €100, ok?')
    @example("One\nTwo 1. three")
    @example("Www and http and mailto")
    @example("See //a.example for more")
    @example("See www.a.example for more")
    def test_shortcut_says_what_the_parser_says(self, text: str) -> None:
        body = normalise_text(text).strip()
        assume(is_plain(body))
        parsed = nh3.clean(
            _MARKDOWN.render(body),
            tags=_TAGS,
            attributes={"a": {"href"}},
            url_schemes=_SCHEMES,
        ).strip()
        assert render_plain(body) == parsed
        assert render(body) is None

    @settings(max_examples=300, derandomize=True)
    @given(
        st.from_regex(
            r"[^\W\d_][\w '’,.!?…;/€$£%\"]{0,30}(\n[^\W\d_][\w ',.!?]{0,9})?", fullmatch=True
        )
    )
    def test_shortcut_holds_for_all_that_it_takes(self, text: str) -> None:
        body = normalise_text(text).strip()
        assume(is_plain(body))
        assert render_plain(body) == nh3.clean(_MARKDOWN.render(body), tags=_TAGS).strip()

    @pytest.mark.parametrize("body", ["*a*", "a_b_", "`a`", "- a", "1. a", "> a", "a  b", "<a>"])
    def test_marks_are_not_plain(self, body: str) -> None:
        assert not is_plain(body)
