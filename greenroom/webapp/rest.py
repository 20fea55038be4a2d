"""The pages of the web app, and the script that puts its elements into other sites."""

from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Handler, Who
from greenroom.webapp.answering import (
    CHECK_EACH_TIME,
    SHARED,
    answer_asset,
    answer_file,
    find_file,
)
from greenroom.webapp.files import Files

TAG = "Web app"
EMBED_KEPT = "public, max-age=300"
"""The embed's name never changes, so a new one must arrive soon."""

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # WebSockets of this host are 'self' too.
        "connect-src 'self'",
        # People's pictures are wherever their marketplace keeps them, but never in the clear.
        "img-src 'self' https:",
        "font-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types lit-html greenroom",
    )
)
_PAGE_HEADERS = {
    "cache-control": CHECK_EACH_TIME,
    "content-security-policy": CONTENT_SECURITY_POLICY,
    # Whether pages of an allowed origin may read it depends on the origin, as for every call.
    "vary": "Accept-Encoding, Origin",
}


class WebAppRest:
    def __init__(self, files: Files) -> None:
        self._files = files

    def endpoints(self) -> list[Endpoint]:
        return [
            _page("/app", self.show_app, "The inbox"),
            _page("/app/sign-in", self.show_sign_in, "Who are you?"),
            _page("/app/threads/{thread_id}", self.show_thread_page, "A thread"),
            _page("/app/assets/{file}", self.get_app_asset, "What the pages are made of"),
            _page("/embed.js", self.get_embed, "The elements, for pages of any site"),
        ]

    async def show_app(self, call: Call) -> Answer:
        return self._index(call)

    async def show_sign_in(self, call: Call) -> Answer:
        return self._index(call)

    async def show_thread_page(self, call: Call) -> Answer:
        """For every id: whether there is such a thread is told to those who have a token."""
        return self._index(call)

    def _index(self, call: Call) -> Answer:
        return answer_file(call, find_file(self._files, "index.html"), _PAGE_HEADERS)

    async def get_app_asset(self, call: Call) -> Answer:
        return answer_asset(call, self._files)

    async def get_embed(self, call: Call) -> Answer:
        file = find_file(self._files, "embed.js")
        return answer_file(call, file, {**SHARED, "cache-control": EMBED_KEPT})


def _page(path: str, handler: Handler, summary: str) -> Endpoint:
    return Endpoint("GET", path, handler, summary, Who.ANYONE, {200: str}, TAG, plain=True)
