"""Every transition of every type, by every role that may make it, on a real database."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import pytest

from greenroom.cards.model import Card, CardType, Facts, Json, Transition
from greenroom.kernel.errors import ActionInvalidState

from .stage import SHA256, Project, Stage

TYPES = [
    "propose_time",
    "reschedule",
    "extras",
    "overtime",
    "proofs",
    "deliverable",
    "complete",
    "cancel",
    "refund",
    "location",
    "expense",
]
BEGUN = ("overtime", "complete")
"""Types that are for a booked time that has begun."""
UNCONFIRMED = ("propose_time",)
"""Types that are for a booking before it is confirmed."""


@pytest.fixture(scope="module", params=["postgres", "dynamodb"])
def conversations(request: pytest.FixtureRequest) -> str:
    kept: str = request.param
    return kept


@dataclass(frozen=True)
class Variant:
    """One way to make a card of a type."""

    creator: str
    payload: Json


async def payloads(stage: Stage, project: Project, type_name: str) -> list[Json]:
    times = {"start": stage.at(48), "end": stage.at(50)}
    if type_name == "deliverable":
        return [{"manifest_id": await stage.manifest(project)}]
    if type_name == "proofs":
        gallery = await stage.gallery(project)
        return [{"gallery": gallery}, {"gallery": gallery, "allow_selections": True}]
    found: dict[str, list[Json]] = {
        "propose_time": [{**times, "timezone": "Europe/Vienna"}],
        "reschedule": [{"options": [times], "reason": "Rain"}],
        "extras": [{"items": [{"title": "Lamp", "qty": 2, "unit_cents": 500}]}],
        "overtime": [
            {"rate_cents_per_hour": 6000, "minutes": 30},
            {"rate_cents_per_hour": 6000},
        ],
        "complete": [{"kind": "time_based"}],
        "cancel": [{"reason": "Ill"}],
        "refund": [{"reason": "Too dark", "amount_cents": 100}],
        "location": [{"lat": 48.2, "lon": 16.4, "until": stage.at(2)}],
        "expense": [
            {
                "amount_cents": 900,
                "merchant": "Taxi",
                "date": "2027-01-10",
                "buyer_payable": payable,
            }
            for payable in (True, False)
        ],
    }
    return found[type_name]


async def given(stage: Stage, project: Project, card: Card, step: Transition) -> Json:
    if step.input is None:
        return {}
    times = {"start": stage.at(72), "end": stage.at(74)}
    if (card.type, step.action) == ("proofs", "resubmit"):
        return {"gallery": await stage.gallery(project)}
    if (card.type, step.action) == ("proofs", "approve"):
        return {"selections": card.payload["gallery"][:2]}
    if step.action == "resubmit":
        return {"manifest_id": await stage.manifest(project)}
    found: dict[tuple[str, str], Json] = {
        ("propose_time", "counter"): {**times, "timezone": "Europe/Vienna"},
        ("reschedule", "accept"): {"option": 0},
        ("reschedule", "counter"): {"options": [times]},
        ("proofs", "request_revision"): {"notes": "Warmer"},
        ("deliverable", "request_revision"): {"notes": "Brighter"},
        ("complete", "dispute"): {"reason": "Not done"},
    }
    return found[card.type, step.action]


def path_to(card_type: CardType, state: str, payload: Json) -> list[Transition] | None:
    """The shortest way to a state, for a card with this payload. None: there is none."""
    facts = Facts(card_type.name, "", "", "", "", payload, {})
    waiting: deque[tuple[str, list[Transition]]] = deque([(card_type.initial, [])])
    seen = {card_type.initial}
    while waiting:
        here, path = waiting.popleft()
        if here == state:
            return path
        for step in card_type.exits[here]:
            if step.to not in seen and applies(step, facts):
                seen.add(step.to)
                waiting.append((step.to, [*path, step]))
    return None


def applies(step: Transition, facts: Facts) -> bool:
    return all(each.holds(facts) is each.expected for each in step.when)


def person_for(role: str, project: Project, creator: str) -> str | None:
    """Who has a role; None is the server."""
    if role == "server":
        return None
    if role in ("buyer", "seller"):
        return project.person(role)
    is_creator = role == "creator"
    return project.person(creator if is_creator else {"buyer": "seller"}.get(creator, "buyer"))


async def take(stage: Stage, project: Project, card: Card, step: Transition, role: str) -> Card:
    person = person_for(role, project, "buyer" if card.created_by == project.buyer else "seller")
    if person is not None:
        more = await given(stage, project, card, step)
        return await stage.act(person, card, step.action, **more)
    if step.action in ("succeeded", "failed"):
        stage.bank.refuses = {"charge", "refund"} if step.action == "failed" else set()
        await stage.run_payments()
        stage.bank.refuses = set()
        return await stage.card(card)
    card_type = stage.cards.catalogue.type(card.type)
    [timer] = [
        each
        for each in card_type.timers
        if each.action == step.action and card.state in each.states
    ]
    return await stage.run_timer(card, timer.name)


@pytest.mark.parametrize("type_name", TYPES)
async def test_every_legal_transition_happens_and_is_written_down(
    stage: Stage, type_name: str
) -> None:
    card_type = stage.cards.catalogue.type(type_name)
    begun = type_name in BEGUN
    confirm = type_name not in UNCONFIRMED
    project = await stage.project(begun=begun, confirm=confirm)
    count = len(await payloads(stage, project, type_name))
    done = set()
    for place, creator in [(n, side) for n in range(count) for side in sorted(card_type.create)]:
        for step in card_type.transitions:
            for source in step.sources:
                for role in sorted(step.by):
                    project = await stage.project(begun=begun, confirm=confirm)
                    payload = (await payloads(stage, project, type_name))[place]
                    way = path_to(card_type, source, payload)
                    facts = Facts(type_name, "", "", "", "", payload, {})
                    if way is None or not applies(step, facts):
                        continue
                    card = await stage.make(
                        project.person(creator), project.thread_id, type_name, payload
                    )
                    for earlier in way:
                        card = await take(stage, project, card, earlier, min(earlier.by))
                    assert card.state == source
                    after = await take(stage, project, card, step, role)
                    assert (after.state, after.version) == (step.to, card.version + 1)
                    _, history = await stage.cards.access(None, card.id)
                    assert [row.version for row in history] == list(range(1, after.version + 1))
                    last = history[-1]
                    assert (last.act, last.from_state, last.to_state) == (
                        step.action,
                        source,
                        step.to,
                    )
                    await stage.check_history(card)
                    done.add((source, step.action, role, step.to))
    assert done == {
        (source, step.action, role, step.to)
        for step in card_type.transitions
        for source in step.sources
        for role in step.by
    }


@pytest.mark.parametrize("type_name", TYPES)
async def test_what_is_not_legal_is_refused_and_changes_nothing(
    stage: Stage, type_name: str
) -> None:
    card_type = stage.cards.catalogue.type(type_name)
    confirm = type_name not in UNCONFIRMED
    project = await stage.project(begun=type_name in BEGUN, confirm=confirm)
    [payload, *_] = await payloads(stage, project, type_name)
    for creator in sorted(card_type.create):
        card = await stage.make(project.person(creator), project.thread_id, type_name, payload)
        for action in sorted({step.action for step in card_type.transitions} | {"dance"}):
            for side in ("buyer", "seller"):
                person = project.person(side)
                shown = stage.cards.renderer.render_card(card, person)
                if action in [each.action for each in shown.available_actions]:
                    continue
                with pytest.raises(ActionInvalidState):
                    await stage.act(person, card, action)
        assert await stage.card(card) == card


@pytest.mark.parametrize(
    ("count", "path"),
    [
        (1, "sign:signed"),
        (2, "sign:partly_signed sign:signed"),
        (3, "sign:partly_signed sign:partly_signed sign:signed"),
        (2, "sign:partly_signed decline:declined"),
        (2, "decline:declined"),
        (2, "sign:partly_signed expire:expired"),
        (2, "expire:expired"),
        (2, "withdraw:withdrawn"),
    ],
)
async def test_a_document_is_signed_by_all_or_it_is_not(
    stage: Stage, count: int, path: str
) -> None:
    project = await stage.project(sellers=2)
    signers = [project.buyer, *project.sellers][:count]
    document_id = await stage.document(project, signers)
    payload = {"document_id": document_id, "leg_id": project.leg.leg_id}
    card = await stage.make(project.buyer, project.thread_id, "sign", payload)
    assert card.waits_for == tuple(sorted(signers))
    waiting = list(signers)
    for word in path.split():
        action, state = word.split(":")
        if action == "expire":
            card = await stage.run_timer(card, "expire")
        elif action == "withdraw":
            card = await stage.act(project.buyer, card, action)
        else:
            more = {"sha256": SHA256} if action == "sign" else {}
            card = await stage.act(waiting.pop(0), card, action, **more)
        assert card.state == state
    document = await stage.bookings.documents.access(None, document_id)
    assert document.state == ("pending" if card.state == "withdrawn" else card.state)
