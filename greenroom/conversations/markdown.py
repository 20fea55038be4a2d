"""Renders message text to safe HTML, once, when it is written; and to plain text for previews.

A Markdown subset: bold, italic, code, links, lists, quotes, line breaks. An image becomes a link.
Raw HTML, headings and tables stay text. nh3 sanitises the result again, so that a bug in the
renderer does not become a cross-site scripting hole.
"""

import html
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_TAGS = {"p", "br", "strong", "em", "code", "pre", "a", "ul", "ol", "li", "blockquote"}
_SCHEMES = {"http", "https", "mailto"}

# Text without any Markdown: words, plain punctuation and single line breaks. Most messages are like
# this, and the parser would take longer than the rest of a send, so they skip it.
_WORDS = r"[^\W\d_][\w '’,.!?…;/€$£%\"]*"
_PLAIN = re.compile(rf"{_WORDS}(?:\n{_WORDS})*")
_NEVER_PLAIN = re.compile(r"_|//|  |[ \t]\n|www\.|\.\.|\?\?|!!", re.IGNORECASE)


PLAIN_TEXTS_KEPT = 1024
"""Size of the preview cache: inbox pages are read repeatedly, mostly with the same messages."""


def _image_as_link(
    renderer: RendererHTML, tokens: Sequence[Token], place: int, options: Any, env: Any
) -> str:
    """A link instead of an image, so that reading a message loads nothing from other sites. Inside
    a link only the words, because links cannot be nested."""
    image = tokens[place]
    address = str(image.attrGet("src") or "")
    words = html.escape(renderer.renderInlineAsText(image.children, options, env) or address)
    kinds = [token.type for token in tokens[:place]]
    if kinds.count("link_open") > kinds.count("link_close"):
        return words
    return f'<a href="{html.escape(address)}">{words}</a>'


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"breaks": True, "linkify": True, "html": False})
    parser.enable(
        ["emphasis", "backticks", "link", "image", "autolink", "linkify", "list", "blockquote",
         "fence", "newline", "escape", "entity"]
    )  # fmt: skip
    parser.add_render_rule("image", _image_as_link)
    if parser.linkify is not None:
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


_MARKDOWN = _parser()


def render(body: str) -> str | None:
    """The body's HTML, or None when it equals `render_plain(body)`."""
    if is_plain(body):
        return None
    rendered = nh3.clean(
        _MARKDOWN.render(body),
        tags=_TAGS,
        # "*" means every tag. Without it nh3 allows `title` and `lang` everywhere, and a title is
        # text that only some readers of the message see.
        attributes={"a": {"href"}, "ol": {"start"}, "*": set()},
        url_schemes=_SCHEMES,
        url_relative="deny",
        link_rel="noopener noreferrer nofollow ugc",
    ).strip()
    return None if rendered == render_plain(body) else rendered


def is_plain(body: str) -> bool:
    return _PLAIN.fullmatch(body) is not None and _NEVER_PLAIN.search(body) is None


def render_plain(body: str) -> str:
    return f"<p>{html.escape(body, quote=False).replace(chr(10), '<br>' + chr(10))}</p>"


@lru_cache(maxsize=PLAIN_TEXTS_KEPT)
def plain_text(body: str) -> str:
    """The text that the HTML shows, without formatting, in one line: for the inbox and quotes."""
    text = body if is_plain(body) else "".join(_words(_MARKDOWN.parse(body)))
    return " ".join(text.split()) or " ".join(body.split())


def _words(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield from _inline_words(token.children or [])
        elif token.type == "list_item_open":
            # Keep the number that the author wrote: it can be a date.
            yield f"{token.info}{token.markup} " if token.info else "• "
        else:
            yield token.content
        yield " "


def _inline_words(tokens: Sequence[Token]) -> Iterator[str]:
    address, is_empty = "", False
    for token in tokens:
        if token.type == "link_open":
            address, is_empty = str(token.attrGet("href") or ""), True
        elif token.type == "link_close" and is_empty:
            yield address
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
        elif token.type == "image":
            yield "".join(_inline_words(token.children or [])) or str(token.attrGet("src") or "")
            is_empty = False
        elif token.content:
            yield token.content
            is_empty = False
