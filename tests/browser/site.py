"""A site of somebody else, on a port of its own: one page, and a backend that gives tokens."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

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
<nav aria-label="Site">
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
# What docs/embed.md lists, and nothing besides: all that is not named is forbidden.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self' {server}",
        "connect-src 'self' {server} {sockets}",
        "img-src 'self' {server}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html greenroom",
    )
)


class Site:
    """`/` has the elements with a token address, `/signed-out` has them without one."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.server_url = ""
        self.token: Callable[[], str | None] = lambda: None
        """Of whoever is signed in at this site; None for nobody."""

    def answer(self, path: str) -> tuple[int, str, str]:
        if path == "/chat-token":
            token = self.token()
            return (200, "text/plain", token) if token else (401, "text/plain", "Sign in first.")
        if path == "/icon.svg":
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
def open_site() -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, text = site.answer(self.path)
            body = text.encode()
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.send_header("content-security-policy", site.policy())
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests have nobody who reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = Site(server.server_port)
    thread = threading.Thread(target=server.serve_forever, name="site")
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
