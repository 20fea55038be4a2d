"""Endpoints of the web app's pages and assets, and of the embed script for other sites."""

from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Handler, Who
from greenroom.webapp.file_responses import (
    CHECK_EACH_TIME,
    SHARED,
    answer_asset,
    answer_file,
    find_file,
)
from greenroom.webapp.files import Files

TAG = "Web app"
EMBED_KEPT = "public, max-age=300"
"""Short, because the name of the embed script never changes and a new version must arrive soon."""


def content_security_policy(blobs_origin: str | None) -> str:
    """`blobs_origin` is where pages send and fetch files, if that is not this server."""
    here = "'self'" if blobs_origin is None else f"'self' {blobs_origin}"
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            # WebSockets of this host are 'self' too.
            f"connect-src {here}",
            # Avatars are on any host of the marketplace, but only over HTTPS. What somebody is
            # about to send is shown from the device itself.
            f"img-src {here} https: blob:",
            f"media-src {here} https: blob:",
            "font-src 'self'",
            "manifest-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types lit-html greenroom",
        )
    )


class WebAppRest:
    def __init__(self, files: Files, *, blobs_origin: str | None = None) -> None:
        self._files = files
        self._page_headers = {
            "cache-control": CHECK_EACH_TIME,
            "content-security-policy": content_security_policy(blobs_origin),
            # CORS headers depend on the origin, as for every call.
            "vary": "Accept-Encoding, Origin",
        }

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/",
                self.go_to_app,
                "To the inbox",
                Who.ANYONE,
                {302: None},
                TAG,
                plain=True,
            ),
            _page("/app", self.show_app, "The inbox"),
            _page("/app/sign-in", self.show_sign_in, "Who are you?"),
            _page("/app/threads/{thread_id}", self.show_thread_page, "A thread"),
            _page("/app/assets/{file}", self.get_app_asset, "What the pages are made of"),
            _page("/embed.js", self.get_embed, "The elements, for pages of any site"),
        ]

    async def go_to_app(self, _call: Call) -> Answer:
        """Not for good: another page may stand here one day. Where the web app is not built, there
        is nothing to go to."""
        find_file(self._files, "index.html")
        return Answer(302, headers={"location": "/app", "cache-control": CHECK_EACH_TIME})

    async def show_app(self, call: Call) -> Answer:
        return self._index(call)

    async def show_sign_in(self, call: Call) -> Answer:
        return self._index(call)

    async def show_thread_page(self, call: Call) -> Answer:
        """The same page for every id: only callers with a token learn whether the thread exists."""
        return self._index(call)

    def _index(self, call: Call) -> Answer:
        return answer_file(call, find_file(self._files, "index.html"), self._page_headers)

    async def get_app_asset(self, call: Call) -> Answer:
        return answer_asset(call, self._files)

    async def get_embed(self, call: Call) -> Answer:
        file = find_file(self._files, "embed.js")
        return answer_file(call, file, {**SHARED, "cache-control": EMBED_KEPT})


def _page(path: str, handler: Handler, summary: str) -> Endpoint:
    return Endpoint("GET", path, handler, summary, Who.ANYONE, {200: str}, TAG, plain=True)
