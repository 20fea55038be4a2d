"""A site of somebody else, on a port of its own: one page, and a backend that gives tokens."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from urllib.parse import urlsplit

KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css"}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A site</title>
<link rel="icon" href="/icon.svg" type="image/svg+xml">
<script type="module" crossorigin src="{server}/embed.js"></script>
</head>
<body>
<nav aria-label="ForeignSite">
<a href="/">Messages <greenroom-unread {attributes}></greenroom-unread></a>
</nav>
<main>
<greenroom-inbox for="thread"></greenroom-inbox>
<greenroom-thread id="thread" for="panel"></greenroom-thread>
<greenroom-panel id="panel" hidden></greenroom-panel>
</main>
</body>
</html>
"""
OWN_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>A page</title>
<script type="module" crossorigin src="{server}/embed.js"></script>
<style>{style}</style>
<main>{body}</main>
"""
# What docs/embed.md lists, and nothing besides: all that is not named is forbidden.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' {server}",
        "connect-src 'self' {server} {sockets}",
        "img-src 'self' {server} blob:",
        "media-src {server} blob:",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html greenroom",
    )
)


class ForeignSite:
    """`/` has the elements with a token address, `/signed-out` has them without one. `pages` are
    others, which have no policy."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.server_url = ""
        self.token: Callable[[], str | None] = lambda: None
        """Of whoever is signed in at this site; None for nobody."""
        self.pages: dict[str, bytes] = {}

    def answer(self, path: str) -> tuple[int, str, str]:
        if path in ("/chat-token", "/my/token"):
            token = self.token()
            return (200, "text/plain", token) if token else (401, "text/plain", "Sign in first.")
        if path in ("/icon.svg", "/favicon.ico"):
            return 200, "image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg"/>'
        if path not in ("/", "/signed-out"):
            return 404, "text/plain", ""
        attributes = 'token-url="/chat-token"' if path == "/" else ""
        page = PAGE.format(server=self.server_url, attributes=attributes)
        return 200, "text/html; charset=utf-8", page

    def policy(self) -> str:
        sockets = self.server_url.replace("http", "ws", 1)
        return POLICY.format(server=self.server_url, sockets=sockets)


@contextmanager
def open_foreign_site() -> Iterator[ForeignSite]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            page = site.pages.get(path)
            if page is not None:
                kind = KINDS.get(PurePosixPath(path).suffix, KINDS[".html"])
                return self.reply(200, kind, page, {})
            status, kind, text = site.answer(path)
            policy = {"content-security-policy": site.policy()}
            return self.reply(status, kind, text.encode(), policy)

        def do_POST(self) -> None:
            self.do_GET()

        def reply(self, status: int, kind: str, body: bytes, more: dict[str, str]) -> None:
            self.send_response(status)
            for name, text in {"content-type": kind, **more}.items():
                self.send_header(name, text)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests have nobody who reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = ForeignSite(server.server_port)
    thread = threading.Thread(target=server.serve_forever, name="site")
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def page_with(site: ForeignSite, body: str, style: str = "") -> str:
    """Its address. The same path each time: one page is enough for one test."""
    text = OWN_PAGE.format(server=site.server_url, style=style, body=body)
    site.pages["/page"] = text.encode()
    return f"{site.url}/page"
