"""What `greenroom demo` prints when it is ready. The curl lines work as pasted."""

from dataclasses import dataclass

from greenroom.bootstrap import jwt_secret
from greenroom.demo.accounts import count_people
from greenroom.demo.opening import open_loading
from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import NotFound
from greenroom.platform.tokens.verifying import sign_token
from greenroom.settings import Settings

BUYER, SELLER = "maya", "theo"
OPENER = "sample-lookbook-1"
# Bookings and cards are in PostgreSQL for every store.
COUNT_DEALS = """
select (select count(*) from booking_group where state = 'confirmed') as bookings,
    (select count(*) from card where is_open) as open_cards
"""
TOKEN_TTL_S = 30 * 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class Sample:
    thread_id: str
    tokens: dict[str, str]
    people: int
    threads: int
    messages: int
    bookings: int
    open_cards: int


async def describe_sample(
    settings: Settings, database_url: str, clock: Clock = system_clock
) -> Sample:
    """Counts of the loaded data, and tokens for two people who share a thread."""
    async with open_loading(settings, database_url) as loading:
        people = await count_people(loading.accounts)
        thread_id = await loading.thread_of(BUYER, OPENER)
        threads, messages = await loading.count()
        [(bookings, open_cards)] = await loading.accounts.fetch(COUNT_DEALS)
    if thread_id is None:
        raise NotFound(
            "The sample's first thread is no longer there. Set GREENROOM_HOME to another folder "
            "to have all of the sample again."
        )
    tokens = {who: person_token(settings, who, clock) for who in (BUYER, SELLER)}
    return Sample(thread_id, tokens, people, threads, messages, bookings, open_cards)


def person_token(settings: Settings, user_id: str, clock: Clock) -> str:
    return sign_token(
        jwt_secret(settings),
        user_id,
        clock=clock,
        ttl_s=TOKEN_TTL_S,
        audience=settings.jwt_audience,
        issuer=settings.jwt_issuer,
    )


def contents(sample: Sample) -> str:
    return f"{sample.people:,} people, {sample.threads:,} threads, {sample.messages:,} messages"


def welcome(sample: Sample, here: str, *, host_page: str | None, is_built: bool) -> str:
    """`here` is the server's address."""
    thread_url = f"{here}/v1/threads/{sample.thread_id}/messages"
    lines = [
        f"Greenroom is ready: {contents(sample)}.",
        f"{sample.bookings:,} bookings are made, {sample.open_cards:,} cards wait for an answer:",
        "a time, extras, overtime, a signature, a refund and more, for buyers and sellers.",
        "",
        *_pages(here, host_page, is_built=is_built),
        f"  API       {here}/v1",
        f"  Reference {here}/docs",
        f"  Health    {here}/readyz",
        f"  People    {here}/demo/people",
        "",
        "Maya (buyer) and Theo (photographer) have a thread. Their tokens, good for 30 days:",
        "",
        *(f"  {who.upper()}={token}" for who, token in sample.tokens.items()),
        "",
        "Say something as Maya:",
        "",
        f"  curl -s {thread_url} -H 'Content-Type: application/json' \\",
        f"    -H 'Authorization: Bearer {sample.tokens[BUYER]}' \\",
        """    -d '{"client_id": "'$(date +%s%N)'", "body": "Plan B, please. I know that sky."}'""",
        "",
        "See it arrive for Theo:",
        "",
        f"  curl -s {here}/v1/sync -H 'Authorization: Bearer {sample.tokens[SELLER]}'",
        "",
        "Be someone else (this sign-in exists in the demo only):",
        "",
        f"  curl -s {here}/demo/sign-in -H 'Content-Type: application/json' \\",
        """    -d '{"user_id": "noor"}'""",
        "",
        "Ctrl-C stops the server; the data stays.",
    ]
    rule = "─" * 78
    return "\n".join((rule, *lines, rule))


def _pages(here: str, host_page: str | None, *, is_built: bool) -> list[str]:
    if not is_built:
        return ["  App       is not built: run `make web`, then start again", ""]
    pages = [f"  App       {here}/app"]
    if host_page is not None:
        pages.append(f"  Host page {host_page}/")
    return [*pages, "            Choose a person; their menu opens a window for a second one.", ""]
