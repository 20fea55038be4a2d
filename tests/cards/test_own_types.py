"""A marketplace's own type, made from exactly what docs/cards.md tells people to write."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from greenroom.bootstrap import Rooms
from greenroom.cards.catalogue.loading import Catalogue, CatalogueError, load_catalogue
from greenroom.cards.wire import CardRenderer
from greenroom.kernel.errors import CardInvalid, Unavailable
from tests.support import REPOSITORY
from tests.support.clock import FakeClock

from .stage import Stage

DOCS = REPOSITORY / "docs" / "cards.md"


def block(language: str) -> str:
    """The page's one block in a language."""
    page = DOCS.read_text(encoding="utf-8")
    [text] = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    found: str = text
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tip.toml").write_text(block("toml"), encoding="utf-8")
    (tmp_path / "effects.py").write_text(block("python"), encoding="utf-8")
    return tmp_path


def test_a_fault_is_refused_as_the_page_says(folder: Path) -> None:
    text = block("toml").replace('by = ["creator", "server"]', 'by = ["creator"]')
    (folder / "tip.toml").write_text(text, encoding="utf-8")
    with pytest.raises(CatalogueError) as refused:
        load_catalogue(folder)
    assert str(refused.value) == f"{folder}/{block('text').strip()}"


async def test_a_tip_is_offered_accepted_and_paid(
    rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, folder: Path
) -> None:
    stage = Stage(rooms, pool, clock, load_catalogue(folder))
    project = await stage.project(price=12_000)
    card = await stage.make(project.buyer, project.thread_id, "tip", {"percent": 10})
    assert card.totals == {"total_cents": 1200, "currency": "EUR"}
    shown = stage.cards.renderer.render_card(card, project.seller, "de")
    assert shown.labels is not None
    assert (shown.labels.title, shown.labels.state) == ("Trinkgeld", "Angeboten")
    assert [(each.action, each.label) for each in shown.available_actions] == [
        ("accept", "Danke"),
        ("decline", "Nein, danke"),
    ]
    card = await stage.act(project.seller, card, "accept")
    await stage.run_payments()
    assert (await stage.card(card)).state == "paid"
    assert await stage.payments(card) == [("charge", 1200, "succeeded")]
    with pytest.raises(CardInvalid):
        await stage.make(project.buyer, project.thread_id, "tip", {"percent": 51})

    card = await stage.make(project.buyer, project.thread_id, "tip", {"percent": 5})
    assert (await stage.run_timer(card, "forget")).state == "withdrawn"
    await stage.check()


async def test_a_card_of_a_type_that_is_no_more_can_only_be_read(
    rooms: Rooms, pool: asyncpg.Pool, clock: FakeClock, folder: Path, catalogue: Catalogue
) -> None:
    stage = Stage(rooms, pool, clock, load_catalogue(folder))
    project = await stage.project()
    card = await stage.make(project.buyer, project.thread_id, "tip", {"percent": 10})
    later = Stage(rooms, pool, clock, catalogue)
    found, _ = await later.cards.access(project.seller, card.id)
    shown = CardRenderer(catalogue).render_card(found, project.seller)
    assert (shown.available_actions, shown.labels) == ([], None)
    with pytest.raises(CardInvalid):
        await later.act(project.seller, found, "accept")
    # Its timer waits for the folder to come back.
    clock.now_ms = found.expires_at_ms or 0
    with pytest.raises(Unavailable):
        await later.cards.run_timer(card.id, "forget")
    await stage.cards.run_timer(card.id, "forget")
    assert (await stage.card(card)).state == "withdrawn"


def test_the_page_names_everything_that_is_built_in(catalogue: Catalogue) -> None:
    text = DOCS.read_text(encoding="utf-8")
    registry = catalogue.registry
    for name in [
        *registry.effects,
        *registry.guards,
        *registry.predicates,
        *registry.rules,
    ]:
        assert f"`{name}`" in text, name
