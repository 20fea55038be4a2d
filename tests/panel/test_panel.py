"""The panel's tabs agree with the ledger, and only participants see them."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from greenroom.kernel.clock import rfc3339
from greenroom.panel import expenses
from tests.support.api import Api, Json, Person

SHA256 = "ab" * 32
TABS = ("expenses", "files", "docs", "actions")
SHOWN = ("", *(f"/{tab}" for tab in TABS))
READ_ONLY = {"version": None, "updated_by": None, "updated_at": None}
LATER = ("brief", "moodboard", "shotlist")

LEDGER = """
select
    coalesce(sum(amount_cents) filter (where account = 'escrow:' || $1), 0)::bigint as escrow,
    coalesce(sum(amount_cents) filter (where account = 'deposit:' || $1), 0)::bigint as deposit,
    coalesce(sum(amount_cents) filter (where account = 'escrow:' || $1
        and kind in ('charge', 'capture')), 0)::bigint as came_in,
    coalesce(sum(amount_cents) filter (where account = 'escrow:' || $1
        and kind = 'refund'), 0)::bigint as refunded
from money_posting join money_entry using (entry_id)
"""
ENTRIES = "select entry_id from money_entry where leg_id = $1 order by at, entry_id"


class Project:
    """Ann has booked Bob, and Sue where there are two legs."""

    def __init__(self, api: Api, pool: asyncpg.Pool, people: list[Person], booking: Json) -> None:
        self.api = api
        self.pool = pool
        self.ann, self.bob, self.sue, self.carl = people
        self.booking_id: str = booking["id"]
        self.thread_id: str = booking["thread_id"]
        self.legs: list[str] = [leg["id"] for leg in booking["legs"]]

    @classmethod
    async def proposed(cls, api: Api, pool: asyncpg.Pool, *legs: Json) -> Project:
        people = await api.people("ann", "bob", "sue", "carl")
        ann, *sellers, _ = people
        time = {
            "start": "2027-06-01T10:00:00Z",
            "end": "2027-06-01T12:00:00Z",
            "timezone": "UTC",
            "title": "A shoot",
        }
        wanted = [{**time, "seller": sellers[n].id, **leg} for n, leg in enumerate(legs)]
        new = {"buyer": ann.id, "currency": "EUR", "legs": wanted}
        answer = await api.backend.post("/v1/bookings", new)
        assert answer.status_code == 201, answer.text
        return cls(api, pool, people, answer.json()["booking"])

    @classmethod
    async def confirmed(cls, api: Api, pool: asyncpg.Pool, *legs: Json) -> Project:
        project = await cls.proposed(api, pool, *legs)
        path = f"/v1/bookings/{project.booking_id}/confirm"
        answer = await api.backend.call("POST", path)
        assert answer.json()["booking"]["state"] == "confirmed", answer.text
        return project

    async def tab(self, viewer: Person, name: str) -> Json:
        answer = await viewer.get(f"/v1/threads/{self.thread_id}/panel/{name}")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()
        data: Json = body.pop("data")
        assert body == {"tab": name, **READ_ONLY}
        return data

    async def panel(self, viewer: Person) -> Json:
        answer = await viewer.get(f"/v1/threads/{self.thread_id}/panel")
        assert answer.status_code == 200, answer.text
        body: Json = answer.json()["panel"]
        return body

    async def make(self, person: Person, type_name: str, **payload: Any) -> Json:
        self.api.clock.advance(seconds=3)
        new = {"type": type_name, "payload": payload}
        answer = await person.post(f"/v1/threads/{self.thread_id}/cards", new)
        assert answer.status_code == 201, answer.text
        card: Json = answer.json()["card"]
        return card

    async def act(self, person: Person, card: Json, action: str, **given: Any) -> Json:
        path = f"/v1/cards/{card['id']}/{action}"
        answer = await person.post(path, {"version": card["version"], **given})
        assert answer.status_code == 200, answer.text
        await self.api.rooms.contract.worker.run_until_idle()
        now: Json = (await person.get(f"/v1/cards/{card['id']}")).json()["card"]
        return now

    async def check_expenses(self) -> Json:
        """Every number against the postings themselves, for both sides alike."""
        shown = await self.tab(self.ann, "expenses")
        assert shown == await self.tab(self.bob, "expenses")
        totals = dict.fromkeys(shown["sums"], 0)
        for leg in shown["legs"]:
            [row] = await self.pool.fetch(LEDGER, leg["leg_id"])
            cents = {name: money["amount_cents"] for name, money in leg["sums"].items()}
            assert cents["paid"] == -row["came_in"]
            assert cents["refunded"] == row["refunded"]
            assert cents["kept"] == -row["escrow"]
            assert cents["held"] == -row["deposit"]
            assert cents["agreed"] == cents["paid"] + cents["pending"] + cents["open"]
            assert cents["paid"] == cents["refunded"] + cents["kept"] + cents["paid_out"]
            entries = await self.pool.fetch(ENTRIES, leg["leg_id"])
            assert [each["entry_id"] for each in leg["receipts"]] == [row[0] for row in entries]
            assert all(each["provider_id"] for each in leg["receipts"])
            totals = {name: totals[name] + cents[name] for name in totals}
        assert {name: each["amount_cents"] for name, each in shown["sums"].items()} == totals
        return shown


async def test_every_tab_is_empty_before_there_is_a_booking(api: Api, pool: asyncpg.Pool) -> None:
    ann, bob = await api.people("ann", "bob")
    thread_id = await ann.thread_with(bob)
    for name, empty in (
        ("expenses", {"sums": None, "legs": []}),
        (
            "files",
            {"proofs": [], "finals": [], "attachments": {"items": [], "next_cursor": None}},
        ),
        ("docs", {"documents": []}),
        ("actions", {"cards": []}),
    ):
        answer = await bob.get(f"/v1/threads/{thread_id}/panel/{name}")
        assert answer.json() == {"tab": name, "data": empty, **READ_ONLY}
    proposed = await Project.proposed(api, pool, {"price_cents": 10_000})
    assert await proposed.tab(proposed.ann, "expenses") == {"sums": None, "legs": []}


async def test_outsiders_have_no_panel(api: Api, pool: asyncpg.Pool) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 0})
    for rest in SHOWN:
        path = f"/v1/threads/{project.thread_id}/panel{rest}"
        assert await project.carl.refusal("GET", path) == (404, "THREAD_NOT_FOUND")
        assert await api.anonymous.refusal("GET", path) == (401, "UNAUTHENTICATED")
        assert await api.backend.refusal("GET", path) == (403, "FORBIDDEN")


async def test_expenses_are_what_the_ledger_says_at_every_step(
    api: Api, pool: asyncpg.Pool
) -> None:
    start_ms = api.clock() + 3_600_000
    times = {"start": rfc3339(start_ms), "end": rfc3339(start_ms + 3_600_000)}
    leg = {"kind": "studio", "price_cents": 20_000, "deposit_cents": 5_000, **times}
    project = await Project.confirmed(api, pool, leg)
    ann, bob = project.ann, project.bob
    shown = await project.check_expenses()
    # The two are asked for at once, and either may be known first.
    assert {each["kind"] for each in shown["legs"][0]["receipts"]} == {"charge", "hold"}

    items = [{"title": "Lights", "qty": 2, "unit_cents": 1_500}]
    extras = await project.make(bob, "extras", items=items)
    assert (await project.act(ann, extras, "accept"))["state"] == "paid"
    shown = await project.check_expenses()
    [amendment] = shown["legs"][0]["amendments"]
    assert (amendment["state"], amendment["amount"]["amount_cents"]) == ("paid", 3_000)
    assert amendment["card_id"] == extras["id"]

    api.clock.advance(hours=1)
    overtime = await project.make(bob, "overtime", rate_cents_per_hour=6_000, minutes=60)
    assert (await project.act(ann, overtime, "accept"))["state"] == "paid"
    shown = await project.check_expenses()
    deposit = shown["legs"][0]["deposit"]
    assert (deposit["captured"]["amount_cents"], deposit["held"]["amount_cents"]) == (5_000, 0)
    assert shown["sums"]["paid"]["amount_cents"] == 20_000 + 3_000 + 6_000
    assert shown["sums"]["agreed"]["amount_cents"] == 20_000 + 9_000

    refund = await project.make(ann, "refund", amount_cents=500, reason="One lamp was broken")
    assert (await project.act(bob, refund, "accept"))["state"] == "refunded"
    shown = await project.check_expenses()
    assert [each["state"] for each in shown["legs"][0]["refunds"]] == ["refunded"]

    done = await project.make(bob, "complete", kind="time_based")
    assert (await project.act(ann, done, "accept"))["state"] == "accepted"
    shown = await project.check_expenses()
    assert (shown["legs"][0]["state"], shown["legs"][0]["payout"]) == ("completed", "paid")
    assert shown["sums"]["kept"]["amount_cents"] == 0


async def test_a_declined_charge_shows_and_moves_nothing(api: Api, pool: asyncpg.Pool) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    # The sandbox declines amounts that end in 13.
    items = [{"title": "Props", "qty": 1, "unit_cents": 1_013}]
    extras = await project.make(project.bob, "extras", items=items)
    failed = await project.act(project.ann, extras, "accept")
    assert failed["state"] == "failed"
    shown = await project.check_expenses()
    assert [each["state"] for each in shown["legs"][0]["amendments"]] == ["failed"]
    cents = {name: each["amount_cents"] for name, each in shown["sums"].items()}
    assert (cents["agreed"], cents["paid"], cents["failed"]) == (10_000, 10_000, 1_013)
    assert (await project.act(project.ann, failed, "decline"))["state"] == "declined"
    shown = await project.check_expenses()
    assert [each["state"] for each in shown["legs"][0]["amendments"]] == ["void"]
    assert shown["sums"]["failed"]["amount_cents"] == 0


async def test_each_leg_has_its_own_money(api: Api, pool: asyncpg.Pool) -> None:
    legs = {"price_cents": 10_000}, {"price_cents": 7_000, "deposit_cents": 1_000}
    project = await Project.confirmed(api, pool, *legs)
    shown = await project.check_expenses()
    assert [leg["leg_id"] for leg in shown["legs"]] == project.legs
    assert [leg["sums"]["paid"]["amount_cents"] for leg in shown["legs"]] == [10_000, 7_000]
    cancel = await project.make(project.sue, "cancel", reason="Ill", leg_id=project.legs[1])
    assert (await project.act(project.ann, cancel, "accept"))["state"] == "accepted"
    shown = await project.check_expenses()
    first, second = shown["legs"]
    assert (first["state"], second["state"]) == ("confirmed", "cancelled")
    assert second["sums"]["refunded"]["amount_cents"] == 7_000
    assert second["deposit"]["state"] == "released"
    assert await project.tab(project.sue, "expenses") == shown


async def test_sums_count_also_what_is_not_shown(
    api: Api, pool: asyncpg.Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    for _ in range(2):
        items = [{"title": "Lights", "qty": 1, "unit_cents": 1_500}]
        extras = await project.make(project.bob, "extras", items=items)
        await project.act(project.ann, extras, "accept")
    whole = await project.check_expenses()
    monkeypatch.setattr(expenses, "ROWS_SHOWN", 1)
    short = await project.tab(project.ann, "expenses")
    assert len(short["legs"][0]["receipts"]) == len(short["legs"][0]["amendments"]) == 1
    assert short["sums"] == whole["sums"]
    assert short["legs"][0]["sums"] == whole["legs"][0]["sums"]


async def test_documents_show_who_has_signed_and_where_that_is_asked(
    api: Api, pool: asyncpg.Pool
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 0})
    ann, bob = project.ann, project.bob
    new = {"title": "Model release", "sha256": SHA256, "signers": [ann.id, bob.id]}
    answer = await api.backend.post(f"/v1/bookings/{project.booking_id}/documents", new)
    document_id = answer.json()["document"]["id"]

    async def shown() -> tuple[str, list[str], str | None, bool]:
        mine, theirs = await project.tab(ann, "docs"), await project.tab(bob, "docs")
        assert mine == theirs
        [row] = mine["documents"]
        assert (row["id"], row["sha256"]) == (document_id, SHA256)
        states = [signer["state"] for signer in row["signers"]]
        return row["state"], states, row["card_id"], row["can_ask"]

    assert await shown() == ("pending", ["pending", "pending"], None, True)
    card = await project.make(bob, "sign", document_id=document_id)
    assert await shown() == ("pending", ["pending", "pending"], card["id"], False)
    card = await project.act(ann, card, "sign", sha256=SHA256)
    assert await shown() == ("partly_signed", ["signed", "pending"], card["id"], False)
    await project.act(bob, card, "sign", sha256=SHA256)
    assert await shown() == ("signed", ["signed", "signed"], None, False)


async def test_actions_are_the_open_cards_with_what_each_viewer_can_do(
    api: Api, pool: asyncpg.Pool
) -> None:
    project = await Project.confirmed(api, pool, {"price_cents": 10_000})
    ann, bob = project.ann, project.bob
    options = [{"start": "2027-07-01T10:00:00Z", "end": "2027-07-01T12:00:00Z"}]
    first = await project.make(bob, "reschedule", options=options)
    second = await project.make(ann, "refund", reason="Rain")

    async def offered(viewer: Person) -> list[tuple[str, list[str]]]:
        cards = (await project.tab(viewer, "actions"))["cards"]
        return [
            (card["id"], [each["action"] for each in card["available_actions"]]) for card in cards
        ]

    assert await offered(ann) == [
        (first["id"], ["accept", "counter", "decline"]),
        (second["id"], ["escalate", "withdraw"]),
    ]
    assert await offered(bob) == [
        (first["id"], ["withdraw"]),
        (second["id"], ["accept", "decline"]),
    ]
    await project.act(ann, first, "decline")
    assert [card_id for card_id, _ in await offered(bob)] == [second["id"]]
    await project.act(ann, second, "withdraw")
    assert await offered(ann) == await offered(bob) == []
