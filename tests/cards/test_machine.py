"""The state machine of every type, compared with an independent table of legal transitions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.machine import available, decide
from greenroom.cards.model import CardType, Circumstances, Facts, Json, people_of, roles_of
from greenroom.kernel.errors import ActionInvalidState

ROLES = ("creator", "other", "buyer", "seller", "signer", "operator", "server")

# state action role -> state, and the variant of the card for which it holds, if not for all.
LEGAL = {
    "propose_time": """
        pending accept other accepted
        pending counter other countered
        pending decline other declined
        pending withdraw creator withdrawn
        pending expire server expired
    """,
    "reschedule": """
        pending accept other accepted
        pending counter other countered
        pending decline other declined
        pending withdraw creator withdrawn
        pending expire server expired
    """,
    "extras": """
        pending accept other charging
        pending decline other declined
        pending withdraw creator withdrawn
        pending expire server expired
        charging succeeded server paid
        charging failed server failed
        failed retry buyer charging
        failed decline buyer declined
    """,
    "overtime": """
        pending accept other charging minutes
        pending accept other running clock
        pending decline other declined
        pending withdraw creator withdrawn
        running stop buyer stopped
        running stop seller stopped
        running run_out server ran_out
        ran_out confirm buyer charging
        ran_out decline buyer declined
        stopped confirm buyer charging
        stopped confirm server charging
        charging succeeded server paid
        charging failed server failed
        failed retry buyer charging
        failed decline buyer declined
    """,
    "proofs": """
        pending approve buyer approved
        pending request_revision buyer revision_requested
        pending withdraw creator withdrawn
        pending expire server expired
        revision_requested resubmit seller pending
        revision_requested withdraw creator withdrawn
    """,
    "deliverable": """
        pending approve buyer approved
        pending request_revision buyer revision_requested
        pending withdraw creator withdrawn
        revision_requested resubmit seller pending
    """,
    "complete": """
        pending accept buyer accepted
        pending auto_accept server auto_accepted
        pending dispute buyer disputed
        accepted dispute buyer disputed
        auto_accepted dispute buyer disputed
        pending withdraw creator withdrawn
    """,
    "cancel": """
        pending accept other accepted
        pending decline other declined
        pending withdraw creator withdrawn
    """,
    "refund": """
        pending accept seller refunding
        pending decline seller declined
        pending escalate buyer escalated
        pending withdraw creator withdrawn
        declined escalate buyer escalated
        refunding succeeded server refunded
        refunding failed server failed
        failed retry seller refunding
        failed decline seller declined
    """,
    "sign": """
        pending sign signer partly_signed two
        pending sign signer signed one
        partly_signed sign signer partly_signed two
        partly_signed sign signer signed one
        pending decline signer declined
        partly_signed decline signer declined
        pending withdraw creator withdrawn
        pending expire server expired
        partly_signed expire server expired
    """,
    "location": """
        active end creator ended
        active end server ended
    """,
    "expense": """
        pending accept buyer charging payable
        pending accept buyer accepted booked
        pending decline buyer declined
        pending withdraw creator withdrawn
        charging succeeded server paid
        charging failed server failed
        failed retry buyer charging
        failed decline buyer declined
    """,
}

SIGNERS = [{"user_id": user, "state": "pending"} for user in ("ann", "bob")]
VARIANTS: dict[str, dict[str, tuple[Json, Json]]] = {
    "overtime": {"minutes": ({"minutes": 30}, {}), "clock": ({}, {})},
    "sign": {"one": ({}, {"signers": SIGNERS[:1]}), "two": ({}, {"signers": SIGNERS})},
    "proofs": {"chosen": ({"allow_selections": True}, {}), "whole": ({}, {})},
    "expense": {
        "payable": ({"buyer_payable": True}, {}),
        "booked": ({"buyer_payable": False}, {}),
    },
}


def variants_of(type_name: str) -> dict[str, Facts]:
    variants = VARIANTS.get(type_name, {"": ({}, {})})
    return {
        name: Facts(type_name, "", "ann", "ann", "bob", payload, totals)
        for name, (payload, totals) in variants.items()
    }


def legal_targets(type_name: str, variant: str) -> dict[tuple[str, str, str], str]:
    targets = {}
    for line in LEGAL[type_name].split("\n"):
        if line.strip():
            state, action, role, to, *only = line.split()
            if not only or only == [variant]:
                targets[state, action, role] = to
    return targets


def test_the_table_knows_every_type(catalogue: Catalogue) -> None:
    assert catalogue.types.keys() == LEGAL.keys()


@pytest.mark.parametrize("type_name", LEGAL)
def test_a_type_takes_what_is_legal_and_nothing_else(catalogue: Catalogue, type_name: str) -> None:
    card_type = catalogue.type(type_name)
    actions = {step.action for each in catalogue.types.values() for step in each.transitions}
    taken = set()
    for variant, facts in variants_of(type_name).items():
        legal = legal_targets(type_name, variant)
        for state in card_type.states:
            card = replace(facts, state=state)
            for action in actions | {"no_such_action"}:
                for role in ROLES:
                    to = target(card_type, card, action, role)
                    assert to == legal.get((state, action, role)), (state, action, role, variant)
                    if to is not None:
                        taken.add((state, action, role, to))
    lines = {tuple(line.split()[:4]) for line in LEGAL[type_name].split("\n") if line.strip()}
    assert taken == lines


def target(card_type: CardType, card: Facts, action: str, role: str) -> str | None:
    try:
        return decide(card_type, card.state, action, frozenset({role}), card).to
    except ActionInvalidState:
        return None


@pytest.mark.parametrize("type_name", LEGAL)
def test_what_is_available_is_what_would_be_taken(catalogue: Catalogue, type_name: str) -> None:
    card_type = catalogue.type(type_name)
    for facts in variants_of(type_name).values():
        for state in card_type.states:
            card = replace(facts, state=state)
            for user in ("ann", "bob", "eve"):
                roles = roles_of(card, user)
                for step in available(card_type, card, roles, Circumstances(0)):
                    assert decide(card_type, state, step.action, roles, card) is step
                    assert step.by != {"server"}


def test_people_have_the_roles_that_they_have() -> None:
    card = Facts("sign", "pending", "bob", "ann", "bob", {}, {"signers": SIGNERS[:1]})
    assert roles_of(card, "ann") == {"buyer", "other", "signer"}
    assert roles_of(card, "bob") == {"seller", "creator"}
    assert roles_of(card, "eve") == frozenset()
    assert people_of(card, ("other", "operator")) == ("ann",)
    assert people_of(card, ("signer", "creator")) == ("ann", "bob")
