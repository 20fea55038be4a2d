"""Draws SVG portraits for the sample's people from their user ids.

The same id always gives the same picture. Studios get a room with their initials instead of a head.
The pictures have only shapes and fills: no scripts, no styles, nothing loaded from elsewhere.
"""

import random
from html import escape

from greenroom.demo.people import PEOPLE

SIZE = 96

# The colours of the background and of the shape on it.
_BACKDROPS = (
    ("#e9d8c3", "#dcbf9d"),
    ("#cfdcd2", "#aec7b5"),
    ("#d4dde6", "#b2c5d6"),
    ("#ead3cd", "#dcb1a6"),
    ("#ded6e4", "#c2b3cf"),
    ("#e6dfb8", "#d3c684"),
)
_CLOTHES = ("#2f4a4f", "#8a4b38", "#4b5d3a", "#3d4468", "#b07a2e", "#6d3f52", "#f2ebe0", "#54504b")
_SKIN = ("#f0c9a8", "#dfa981", "#c68a5e", "#a26a43", "#7d4d30", "#5c3724")
_HAIR = ("#1d1918", "#33251f", "#5d3d28", "#8c5f35", "#b98b4e", "#8b8680")


def draw_avatar(user_id: str) -> str:
    person = PEOPLE.get(user_id)
    dice = random.Random(f"avatar/{user_id}")  # noqa: S311 (a picture, not a secret)
    backdrop, shape = dice.choice(_BACKDROPS)
    if person is not None and person.role == "studio":
        figure = _room(dice, _initials(person.display_name))
    else:
        figure = _bust(dice, _LOOKS.get(user_id))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIZE} {SIZE}" '
        f'width="{SIZE}" height="{SIZE}" role="img">'
        f'<rect width="{SIZE}" height="{SIZE}" fill="{backdrop}"/>'
        f"{_ornament(dice, shape)}{figure}</svg>"
    )


def _ornament(dice: random.Random, fill: str) -> str:
    return dice.choice(
        (
            f'<circle cx="{dice.choice((22, 74))}" cy="26" r="30" fill="{fill}"/>',
            f'<path d="M0 96V40A56 56 0 0 1 56 96Z" fill="{fill}"/>',
            f'<path d="M96 96V30A66 66 0 0 0 30 96Z" fill="{fill}"/>',
            f'<path d="M0 58L96 24V96H0Z" fill="{fill}"/>',
            f'<rect x="14" y="10" width="68" height="86" rx="34" fill="{fill}"/>',
        )
    )


def _bust(dice: random.Random, look: tuple[int, int, int] | None) -> str:
    clothes, collar = dice.choice(_CLOTHES), dice.choice(_COLLARS)
    # Light hair colours are less frequent for darker skin.
    tone = dice.randrange(len(_SKIN))
    drawn = (tone, dice.randrange(len(_HAIR) - tone // 2), dice.randrange(len(_HAIRSTYLES)))
    tone, colour, style = look or drawn
    skin, hair = _SKIN[tone], _HAIR[colour]
    behind, front = _HAIRSTYLES[style]
    return (
        f'<g fill="{hair}">{behind}</g>'
        f'<path d="M12 96C12 78 26 70 48 70S84 78 84 96Z" fill="{clothes}"/>'
        f'<path d="M40 54h16v15a8 8 0 0 1-16 0Z" fill="{skin}"/>'
        f'<path d="M40 58c4 5 12 5 16 0v5c-4 4-12 4-16 0Z" fill="#000" fill-opacity=".14"/>'
        f'<g fill="{clothes}">{collar}</g>'
        f'<rect x="33" y="24" width="30" height="38" rx="15" fill="{skin}"/>'
        f'<g fill="{hair}">{front}</g>'
    )


# Each hairstyle has a part behind the head and a part in front of it.
_HAIRSTYLES = (
    # Short, parted.
    ("", '<path d="M32 42C29 22 42 16 52 18c10 1 15 9 12 24-2-8-7-12-14-13-6 5-14 6-18 13Z"/>'),
    # Cropped.
    ("", '<path d="M32 40C30 24 38 17 48 17s18 7 16 23c-2-8-4-11-16-11S34 32 32 40Z"/>'),
    # Long, straight.
    (
        '<path d="M28 42C26 22 36 15 48 15s22 7 20 27l2 34H26Z"/>',
        '<path d="M32 44c0-10 8-10 14-17 5 7 18 7 18 17C66 24 58 18 48 18S30 24 32 44Z"/>',
    ),
    # Bun.
    (
        '<circle cx="48" cy="13" r="9"/>',
        '<path d="M32 42C29 25 38 18 48 18s19 7 16 24c-3-9-8-13-16-13s-13 4-16 13Z"/>',
    ),
    # Curls.
    (
        "".join(
            f'<circle cx="{x}" cy="{y}" r="{r}"/><circle cx="{96 - x}" cy="{y}" r="{r}"/>'
            for x, y, r in ((33, 32, 11), (40, 21, 11), (29, 43, 8))
        ),
        '<path d="M33 36c2-9 9-12 15-12s13 3 15 12c-6-6-24-6-30 0Z"/>',
    ),
    # Bob.
    (
        '<path d="M27 60V38C27 22 37 15 48 15s21 7 21 23v22c0 4-6 4-8 0H35c-2 4-8 4-8 0Z"/>',
        '<path d="M32 42V36c2-9 8-13 16-13s14 4 16 13v6c-8-2-12-6-13-9-4 5-12 8-19 9Z"/>',
    ),
    # A cap of hair and a beard.
    (
        "",
        (
            '<path d="M32 40C30 24 38 17 48 17s18 7 16 23c-2-8-6-11-16-11s-14 3-16 11Z"/>'
            '<path d="M33 46c2 5 5 6 9 5h12c4 1 7 0 9-5v3c0 10-7 16-15 16s-15-6-15-16Z"/>'
        ),
    ),
    # A scarf around the head.
    (
        '<path d="M28 44C26 22 36 14 48 14s22 8 20 30c4 12 2 24-6 30H34c-8-6-10-18-6-30Z"/>',
        '<path d="M32 46C30 24 38 18 48 18s18 6 16 28c0-12-7-18-16-18s-16 6-16 18Z"/>',
    ),
)
_COLLARS = ("", "", '<rect x="37" y="63" width="22" height="20" rx="6"/>')

# Skin, hair colour and hairstyle of the sample's own people. For others the id decides.
_LOOKS = {
    "maya": (0, 4, 2),
    "theo": (4, 0, 1),
    "noor": (2, 0, 5),
    "ada": (0, 3, 3),
    "priya": (3, 0, 2),
    "kwame": (5, 0, 6),
    "amara": (4, 0, 4),
    "rosa": (1, 1, 4),
    "ines": (1, 2, 5),
    "sofia": (0, 1, 3),
    "jun": (1, 0, 0),
    "emil": (0, 2, 0),
    "lars": (0, 5, 6),
}


def _room(dice: random.Random, initials: str) -> str:
    wall, floor = dice.sample(("#2f4a4f", "#8a4b38", "#3d4468", "#6d3f52"), 2)
    return (
        f'<path d="M14 96V34a34 34 0 0 1 68 0v62Z" fill="{wall}"/>'
        f'<path d="M14 80c16-9 52-9 68 0v16H14Z" fill="{floor}"/>'
        '<text x="48" y="59" fill="#f7f1e6" font-size="27" font-weight="600" letter-spacing="1" '
        'text-anchor="middle" font-family="Avenir Next, Segoe UI, Helvetica, Arial, sans-serif">'
        f"{escape(initials)}</text>"
    )


def _initials(name: str) -> str:
    words = name.split()
    return (words[0][:1] + words[-1][:1]).upper()
