"""Sample people and a thread, so that a first look has something to look at."""

from dataclasses import dataclass

from greenroom.accounts.model import UserChanges
from greenroom.bootstrap import Rooms, jwt_secret
from greenroom.conversations.model import ThreadKind
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import Internal
from greenroom.platform.auth import sign_token
from greenroom.platform.idempotency import Kept
from greenroom.settings import Settings

BUYER, SELLER = "maya", "theo"
TOKEN_TTL_S = 30 * 24 * 60 * 60

OPENER = (
    "Hi Theo, I'm planning a small **lookbook shoot** in Leeds on the last weekend of the month. "
    "Are you free for half a day?"
)
REPLY = "Hi Maya, Saturday is still open. Studio or outdoors?"


@dataclass(frozen=True, slots=True)
class Sample:
    thread_id: str
    tokens: dict[str, str]


async def load_sample(settings: Settings, database_url: str) -> Sample:
    """Two people and their thread. Loading it again changes nothing."""
    async with Rooms(settings, database_url) as rooms:
        thread_id = await _load_thread(rooms)
        tokens = {who: _token(settings, who, rooms.clock) for who in (BUYER, SELLER)}
    return Sample(thread_id, tokens)


async def _load_thread(rooms: Rooms) -> str:
    await rooms.accounts.put_user(
        BUYER, UserChanges(display_name="Maya Lindqvist", roles=["buyer"], verified=True)
    )
    await rooms.accounts.put_user(
        SELLER, UserChanges(display_name="Theo Adeyemi", roles=["photographer"], verified=True)
    )
    started = await rooms.conversations.start_thread(
        BUYER,
        kind=ThreadKind.INQUIRY,
        to=[SELLER],
        client_id="sample-1",
        body=OPENER,
        subject="Lookbook shoot in Leeds",
        role_context="photographer",
    )
    if isinstance(started, Kept):
        raise Internal
    thread_id = started.thread.id
    await rooms.conversations.send(SELLER, thread_id, client_id="sample-2", body=REPLY)
    return thread_id


def _token(settings: Settings, user_id: str, clock: Clock) -> str:
    return sign_token(
        jwt_secret(settings),
        user_id,
        clock=clock,
        ttl_s=TOKEN_TTL_S,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
    )


def welcome(sample: Sample, host: str, port: int) -> str:
    """What `greenroom demo` prints when it is ready. The curl lines work as pasted."""
    server_url = _server_url(host, port)
    thread_url = f"{server_url}/v1/threads/{sample.thread_id}/messages"
    lines = [
        "Greenroom is ready.",
        "",
        f"  API       {server_url}/v1",
        f"  Reference {server_url}/docs",
        f"  Health    {server_url}/readyz",
        "",
        "Maya (buyer) and Theo (photographer) have a thread. Their tokens, good for 30 days:",
        "",
        *(f"  {who.upper()}={token}" for who, token in sample.tokens.items()),
        "",
        "Say something as Maya:",
        "",
        f"  curl -s {thread_url} -H 'Content-Type: application/json' \\",
        f"    -H 'Authorization: Bearer {sample.tokens[BUYER]}' \\",
        """    -d '{"client_id": "'$(date +%s%N)'", "body": "Outdoors, if the weather holds."}'""",
        "",
        "See it arrive for Theo:",
        "",
        f"  curl -s {server_url}/v1/sync -H 'Authorization: Bearer {sample.tokens[SELLER]}'",
        "",
        "Ctrl-C stops the server; the data stays.",
    ]
    rule = "─" * 78
    return "\n".join((rule, *lines, rule))


def _server_url(host: str, port: int) -> str:
    """Where this machine reaches a server that listens on `host`."""
    if host in ("0.0.0.0", "::"):  # noqa: S104 (compared only)
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
