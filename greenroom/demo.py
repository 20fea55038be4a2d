"""Sample people and a thread, so that a first look has something to look at."""

from dataclasses import dataclass

from greenroom.accounts.model import UserChanges
from greenroom.bootstrap import Rooms, jwt_secret
from greenroom.conversations.model import ThreadKind
from greenroom.conversations.store import Kept
from greenroom.kernel.errors import Internal
from greenroom.platform.auth import sign_token
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


async def load_sample(rooms: Rooms) -> Sample:
    """Two people and their thread. Loading it again changes nothing."""
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
    return Sample(thread_id, {who: _token(rooms, who) for who in (BUYER, SELLER)})


def _token(rooms: Rooms, user_id: str) -> str:
    return sample_token(rooms.settings, user_id, rooms.clock())


def sample_token(settings: Settings, user_id: str, now_ms: int) -> str:
    return sign_token(
        jwt_secret(settings),
        user_id,
        clock=lambda: now_ms,
        ttl_s=TOKEN_TTL_S,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
    )


def welcome(sample: Sample, base_url: str) -> str:
    """What `greenroom demo` prints when it is ready. The curl lines work as pasted."""
    thread_url = f"{base_url}/v1/threads/{sample.thread_id}/messages"
    lines = [
        "Greenroom is ready.",
        "",
        f"  API       {base_url}/v1",
        f"  Reference {base_url}/docs",
        f"  Health    {base_url}/readyz",
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
        f"  curl -s {base_url}/v1/sync -H 'Authorization: Bearer {sample.tokens[SELLER]}'",
        "",
        "Ctrl-C stops the server; the data stays.",
    ]
    rule = "─" * 78
    return "\n".join((rule, *lines, rule))
