"""The host page of the demo, "Lens & Co.": a marketplace on another origin that embeds the inbox.

A different port is a different origin for browsers, so the page needs what a real site needs: CORS,
its own Content-Security-Policy, and a backend of its own that signs tokens.
"""

from greenroom.demo.people import PEOPLE
from greenroom.demo.rest import SignIn
from greenroom.demo.welcome import person_token
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import UserNotFound
from greenroom.platform.blobs.place import S3Place
from greenroom.platform.embedded.shared_engine import EMBEDDED
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.settings import Settings
from greenroom.webapp.file_responses import CHECK_EACH_TIME, answer_asset, answer_file, find_file
from greenroom.webapp.files import File, Files, new_file

TAG = "Host page"
PAGE = "host.html"
PLACEHOLDER = b"__GREENROOM_SERVER__"
"""Replaced by the server's origin in the built page."""


class HostRest:
    """The marketplace's own backend: serves its page, and signs tokens for its visitors."""

    def __init__(self, files: Files, settings: Settings, clock: Clock, server_url: str) -> None:
        self._files = files
        self._settings = settings
        self._clock = clock
        self._page = _pointed_at(server_url, files)
        self._page_headers = {
            "cache-control": CHECK_EACH_TIME,
            "content-security-policy": content_security_policy(server_url, _files_source(settings)),
            "vary": "Accept-Encoding",
        }

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                *("GET", "/", self.show_host_page, "The marketplace's page"),
                *(Who.ANYONE, {200: str}, TAG),
                plain=True,
            ),
            Endpoint(
                *("GET", "/app/assets/{file}", self.get_host_asset, "What the page is made of"),
                *(Who.ANYONE, {200: str}, TAG),
                plain=True,
            ),
            Endpoint(
                *("POST", "/chat-token", self.sign_chat_token, "A token for one of the sample"),
                *(Who.ANYONE, {200: str}, TAG),
                body=SignIn,
            ),
        ]

    async def show_host_page(self, call: Call) -> Answer:
        page = self._page or find_file(self._files, PAGE)
        return answer_file(call, page, self._page_headers)

    async def get_host_asset(self, call: Call) -> Answer:
        return answer_asset(call, self._files)

    async def sign_chat_token(self, call: Call) -> Answer:
        """A real backend takes the person from its own session, never from the request."""
        person = PEOPLE.get(call.body.user_id)
        if person is None:
            raise UserNotFound("Only the sample's people can be signed in.")
        token = person_token(self._settings, person.user_id, self._clock)
        return Answer(200, token.encode(), content_type="text/plain; charset=utf-8")


def _pointed_at(server_url: str, files: Files) -> File | None:
    """None if the page is not built."""
    page = files.get(PAGE)
    if page is None:
        return None
    return new_file(page.plain.body.replace(PLACEHOLDER, server_url.encode()), ".html")


def _files_source(settings: Settings) -> str:
    """Where files come from besides the server; empty if from nowhere else. The embedded S3 chooses
    its port when it starts, which is after this."""
    if not isinstance(settings.blobs, S3Place):
        return ""
    if settings.s3_endpoint == EMBEDDED:
        return " http://127.0.0.1:*"
    return f" {settings.s3_endpoint or 'https://*.amazonaws.com'}"


def content_security_policy(server_url: str, files_source: str = "") -> str:
    """A strict policy that allows the embed: only the server's origin is added, and that of its
    files."""
    sockets_url = server_url.replace("http", "ws", 1)
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src 'self' {server_url}",
            "style-src 'self'",
            f"connect-src 'self' {server_url} {sockets_url}{files_source}",
            f"img-src 'self' {server_url}{files_source} blob:",
            f"media-src {server_url}{files_source} blob:",
            f"font-src 'self' {server_url}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types lit-html greenroom",
        )
    )
