"""Message text to safe HTML, once, at write.

A Markdown subset: bold, italic, code, links, lists, quotes, line breaks. Raw HTML, images,
headings and tables stay text. nh3 cleans the result again, so a fault in the renderer is not a
hole in the page.
"""

import html
import re

import nh3
from markdown_it import MarkdownIt

_TAGS = {"p", "br", "strong", "em", "code", "pre", "a", "ul", "ol", "li", "blockquote"}
_SCHEMES = {"http", "https", "mailto"}

# Text in which Markdown has nothing to say: words, plain punctuation and single line breaks. It is
# what people mostly write, and skipping the parser for it saves more than the rest of a send costs.
_WORDS = r"[^\W\d_][\w '’,.!?…;/€$£%\"]*"
_PLAIN = re.compile(rf"{_WORDS}(?:\n{_WORDS})*")
_NEVER_PLAIN = re.compile(r"_|//|  |[ \t]\n|www\.|\.\.|\?\?|!!", re.IGNORECASE)


def _parser() -> MarkdownIt:
    parser = MarkdownIt("zero", {"breaks": True, "linkify": True, "html": False})
    parser.enable(
        ["emphasis", "backticks", "link", "autolink", "linkify", "list", "blockquote", "fence",
         "newline", "escape", "entity"]
    )  # fmt: skip
    if parser.linkify is not None:
        parser.linkify.set({"fuzzy_link": False, "fuzzy_email": False, "fuzzy_ip": False})
    return parser


_MARKDOWN = _parser()


def render(body: str) -> str | None:
    """The body's HTML, or None when `render_plain` says the same."""
    if is_plain(body):
        return None
    rendered = nh3.clean(
        _MARKDOWN.render(body),
        tags=_TAGS,
        attributes={"a": {"href"}},
        url_schemes=_SCHEMES,
        url_relative="deny",
        link_rel="noopener noreferrer nofollow ugc",
    ).strip()
    return None if rendered == render_plain(body) else rendered


def is_plain(body: str) -> bool:
    return _PLAIN.fullmatch(body) is not None and _NEVER_PLAIN.search(body) is None


def render_plain(body: str) -> str:
    return f"<p>{html.escape(body, quote=False).replace(chr(10), '<br>' + chr(10))}</p>"
