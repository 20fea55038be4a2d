"""The catalogue refuses invalid types with a message that says how to correct them."""

from __future__ import annotations

from pathlib import Path

import pytest

from greenroom.cards.catalogue.loading import BUILT_IN, Catalogue, CatalogueError, load_catalogue
from greenroom.kernel.errors import CardInvalid

GOOD = """
type = "wave"
title = { en = "A wave" }
threads = ["inquiry"]
create = ["buyer"]
initial = "pending"

[payload]
type = "object"
additionalProperties = false
[payload.properties]
note = { type = "string", maxLength = 100 }

[states.pending]
label = { en = "Waiting" }
open = true
turn = ["other"]
[states.done]
label = { en = "Done" }
final = true

[[transitions]]
from = ["pending"]
action = "accept"
by = ["other"]
to = "done"
label = { en = "Wave back" }
"""


def load(folder: Path, text: str, name: str = "wave.toml") -> Catalogue:
    (folder / name).write_text(text, encoding="utf-8")
    return load_catalogue(folder)


def test_the_built_in_types_are_all_there_in_two_languages(catalogue: Catalogue) -> None:
    assert sorted(catalogue.types) == sorted(path.stem for path in BUILT_IN.glob("*.toml"))
    for each in catalogue.types.values():
        labels = [each.title, *(state.label for state in each.states.values())]
        labels += [step.label for step in each.transitions if step.by != {"server"}]
        assert all(label.keys() >= {"en", "de"} for label in labels), each.name


def test_a_type_of_ones_own_stands_beside_the_built_in_ones(tmp_path: Path) -> None:
    found = load(tmp_path, GOOD)
    assert found.type("wave").title["en"] == "A wave"
    assert found.type("extras").needs_leg
    with pytest.raises(CardInvalid):
        found.type("no_such_type")


LATE = 'label = { en = "Wave back" }\n[timers.late]\naction = "accept"\nfrom = ["pending"]\n'
FAULTS = [
    ('title = { en = "A wave" }', 'title = { en = "A wave" }\nnonsense = 1', "nonsense"),
    ('title = { en = "A wave" }', 'title = { de = "Ein Wink" }', "no English text"),
    ('initial = "pending"', 'initial = "nowhere"', "which is not a state"),
    ('threads = ["inquiry"]', 'threads = ["cinema"]', "cinema"),
    ('create = ["buyer"]', "create = []", "create"),
    ('to = "done"', 'to = "gone"', "add [states.gone]"),
    ('to = "done"', 'to = "pending"', "cannot be reached"),
    ("open = true", "open = true\nfinal = true", "which is final"),
    ("final = true", "final = false", "nothing leads out of state `done`"),
    ("final = true", "final = true\nopen = true", "can neither be open"),
    ('to = "done"', 'to = "done"\nguard = "no_such_guard"', "there is no guard `no_such_guard`"),
    ('to = "done"', 'to = "done"\neffects = ["no_such"]', "there is no effect `no_such`"),
    ('to = "done"', 'to = "done"\nwhen = "no_such"', "there is no predicate `no_such`"),
    ('by = ["other"]', 'by = ["stranger"]', "stranger"),
    ('label = { en = "Wave back" }', "", "has no English label"),
    (", maxLength = 100", "", "payload.note has no limit: give it `maxLength`"),
    ("additionalProperties = false", "", "additionalProperties = false"),
    ('note = { type = "string", maxLength = 100 }', 'note = { type = "number" }', "an integer"),
    ("maxLength = 100", "maxLength = 100, default = 1", "`default`, which is not for type string"),
    ("maxLength = 100", 'maxLength = 100, pattern = "("', "not a JSON Schema"),
    ('type = "wave"', 'type = "hello"', "name the file hello.toml"),
    ('type = "wave"', 'type = "', "correct it"),
    ('to = "done"', 'to = "done"\neffects = ["charge"]', "set needs_leg = true"),
    ('label = { en = "Wave back" }', LATE + "after = 5", "where the server cannot"),
    ('label = { en = "Wave back" }', LATE, "has no time"),
    ('label = { en = "Wave back" }', LATE + 'at = "note"', "not a time in the payload"),
]

ANOTHER = """
[[transitions]]
from = ["pending"]
action = "accept"
by = ["{role}"]
to = "done"
label = {{ en = "Nod" }}
{when}
"""


@pytest.mark.parametrize(("old", "new", "complaint"), FAULTS)
def test_a_fault_is_refused_with_its_file_and_its_mend(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    assert old in GOOD
    with pytest.raises(CatalogueError) as refused:
        load(tmp_path, GOOD.replace(old, new, 1))
    assert complaint in str(refused.value)
    assert str(refused.value).startswith(f"{tmp_path}/")


@pytest.mark.parametrize("role", ["other", "buyer", "signer"])
def test_two_transitions_that_could_both_apply_are_refused(tmp_path: Path, role: str) -> None:
    with pytest.raises(CatalogueError, match="could both be `accept` in state `pending`"):
        load(tmp_path, GOOD + ANOTHER.format(role=role, when=""))


@pytest.mark.parametrize("role", ["creator", "server"])
def test_the_same_action_of_different_people_is_not_ambiguous(tmp_path: Path, role: str) -> None:
    found = load(tmp_path, GOOD + ANOTHER.format(role=role, when=""))
    assert len(found.type("wave").transitions_from["pending", "accept"]) == 2


def test_opposite_conditions_choose_between_two_transitions(tmp_path: Path) -> None:
    first = GOOD.replace('action = "accept"', 'action = "accept"\nwhen = "has_minutes"')
    both = first + ANOTHER.format(role="other", when='when = "not has_minutes"')
    assert len(load(tmp_path, both).type("wave").transitions_from["pending", "accept"]) == 2
    same = first + ANOTHER.format(role="other", when='when = "is_buyer_payable"')
    with pytest.raises(CatalogueError, match="could both be"):
        load(tmp_path, same)


def test_what_waits_for_a_payment_has_a_way_out(tmp_path: Path) -> None:
    text = GOOD.replace("create =", "needs_leg = true\ncreate =", 1)
    text = text.replace('to = "done"', 'to = "done"\neffects = ["charge"]')
    with pytest.raises(CatalogueError, match=r'add a transition from there .*"succeeded"'):
        load(tmp_path, text)


def test_a_built_in_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="there is a type `extras` already: rename"):
        load(tmp_path, GOOD.replace('"wave"', '"extras"'), "extras.toml")


def test_ones_own_effects_can_be_used_and_take_no_name_that_is_taken(tmp_path: Path) -> None:
    (tmp_path / "effects.py").write_text(
        "from greenroom.cards.context import EffectContext\n"
        "from greenroom.cards.registry import effect\n"
        '@effect("cheer")\n'
        "async def cheer(ctx: EffectContext) -> None:\n"
        "    ctx.set_totals(cheered=True)\n",
        encoding="utf-8",
    )
    text = GOOD.replace('to = "done"', 'to = "done"\neffects = ["cheer"]')
    assert load(tmp_path, text).type("wave").transitions[0].effects == ("cheer",)
    with pytest.raises(CatalogueError, match="no effect `cheer`"):
        load(_empty(tmp_path), text)

    taken = (tmp_path / "effects.py").read_text(encoding="utf-8").replace('"cheer"', '"charge"')
    (tmp_path / "effects.py").write_text(taken, encoding="utf-8")
    with pytest.raises(CatalogueError, match="the name `charge` is taken"):
        load(tmp_path, text)
    (tmp_path / "effects.py").write_text("nonsense(", encoding="utf-8")
    with pytest.raises(CatalogueError, match=r"effects\.py: SyntaxError"):
        load(tmp_path, text)


def _empty(folder: Path) -> Path:
    other = folder / "other"
    other.mkdir()
    return other


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CatalogueError, match="not a folder"):
        load_catalogue(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("payload", "complaint"),
    [
        ({}, "items"),
        ({"items": []}, "items"),
        ({"items": [{"title": "Lamp", "qty": 0, "unit_cents": 5}]}, "qty"),
        (
            {"items": [{"title": "Lamp", "qty": 1, "unit_cents": 5, "total": 1}]},
            "the schema does not",
        ),
        ({"items": [{"title": "Lamp", "qty": True, "unit_cents": 5}]}, "qty"),
        ({"items": [{"title": "x" * 121, "qty": 1, "unit_cents": 5}]}, "title"),
        ({"items": [{"title": "Lamp", "qty": 1, "unit_cents": 5}] * 21}, "items"),
    ],
)
def test_a_payload_is_what_the_schema_says(
    catalogue: Catalogue, payload: dict[str, object], complaint: str
) -> None:
    with pytest.raises(CardInvalid) as refused:
        catalogue.type("extras").payload.check(payload)
    assert (refused.value.detail or "").startswith("payload")
    assert complaint in (refused.value.detail or "")
