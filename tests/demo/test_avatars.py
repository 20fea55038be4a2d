"""Portraits: well-formed, harmless, and always the same for the same person."""

from xml.etree import ElementTree

import pytest

from greenroom.demo.avatars import draw_avatar
from greenroom.demo.people import PEOPLE

SVG = "{http://www.w3.org/2000/svg}"
SHAPES = {f"{SVG}{name}" for name in ("svg", "g", "rect", "circle", "path", "text")}

GENERATED = [f"g1-{number:08d}" for number in range(40)]


@pytest.mark.parametrize("user_id", [*PEOPLE, *GENERATED, "a.b:c_d-e"])
def test_a_portrait_is_well_formed_and_nothing_but_shapes(user_id: str) -> None:
    drawn = draw_avatar(user_id)
    picture = ElementTree.fromstring(drawn)  # noqa: S314 (our own)
    assert picture.get("viewBox") == "0 0 96 96"
    for element in picture.iter():
        assert element.tag in SHAPES
        for name, value in element.attrib.items():
            assert not name.startswith("on")
            assert name not in ("href", "style", "{http://www.w3.org/1999/xlink}href")
            assert "url(" not in value
    assert len(drawn) < 3000


def test_the_same_person_always_looks_the_same_and_like_nobody_else() -> None:
    drawn = {user_id: draw_avatar(user_id) for user_id in PEOPLE}
    assert drawn == {user_id: draw_avatar(user_id) for user_id in PEOPLE}
    assert len(set(drawn.values())) == len(PEOPLE)
