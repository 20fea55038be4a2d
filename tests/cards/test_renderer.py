"""Rendering of cards for their viewers, fifty to a page."""

from __future__ import annotations

from typing import Any

from greenroom.cards.catalogue.loading import Catalogue
from greenroom.cards.wire import CardRenderer


def shadow(**more: Any) -> dict[str, Any]:
    return {
        "id": "crd_1",
        "thread_id": "thr_1",
        "type": "sign",
        "state": "pending",
        "version": 1,
        "payload": {"document_id": "doc_1"},
        "totals": {"title": "Release"},
        "created_by": "ann",
        "buyer": "ann",
        "seller": "bob",
        "group_id": "lbg_1",
        "leg_id": None,
        "answers_card": None,
        "waits_for": ["bob"],
        "expires_at": None,
        "created_at": "2027-01-15T08:00:00.000Z",
        "updated_at": "2027-01-15T08:00:00.000Z",
        "signers": [
            {"user_id": "ann", "state": "signed"},
            {"user_id": "bob", "state": "pending"},
        ],
        **more,
    }


def test_everybody_sees_their_own_buttons(catalogue: Catalogue) -> None:
    renderer = CardRenderer(catalogue)

    def actions(viewer: str | None) -> list[str]:
        return [each.action for each in renderer.render(shadow(), viewer).available_actions]

    assert actions("ann") == ["withdraw"]
    assert actions("bob") == ["sign", "decline"]
    assert actions("eve") == actions(None) == []


def test_labels_are_in_the_readers_language(catalogue: Catalogue) -> None:
    renderer = CardRenderer(catalogue)
    german, other = [renderer.render(shadow(), "bob", locale) for locale in ("de", "xx")]
    assert german.labels is not None
    assert german.labels.title == "Dokument zur Unterschrift"
    assert german.available_actions[0].label == "Unterschreiben"
    assert other.labels is not None
    assert other.labels.title == "Document to sign"
