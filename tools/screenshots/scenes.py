"""The list of pictures. A page has four: desktop and phone, light and dark."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from playwright.async_api import Page

from tools.screenshots import poses

DESKTOP, PHONE = "desktop", "phone"
LIGHT, DARK = "light", "dark"
EVERYWHERE = ((DESKTOP, LIGHT), (DESKTOP, DARK), (PHONE, LIGHT), (PHONE, DARK))
ON_A_DESK, IN_THE_HAND = ((DESKTOP, LIGHT),), ((PHONE, LIGHT),)
NOBODY = ""

Look = tuple[str, str]
Pose = Callable[[Page], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scene:
    name: str
    who: str = "maya"
    subject: str | None = None
    """The subject of the thread that is open."""
    query: dict[str, str] = field(default_factory=dict)
    pose: Pose = poses.stand
    card: str | None = None
    """The type of card that the picture shows. None: the whole window."""
    looks: tuple[Look, ...] = EVERYWHERE
    locale: str = "en-GB"
    page: str = "app"

    def path(self, thread_id: str | None) -> str:
        place = "/app" if thread_id is None else f"/app/threads/{thread_id}"
        return "/app/sign-in" if self.page == "sign-in" else place


LOOKBOOK = "Lookbook shoot in Leeds"
KNITWEAR = "Model for the knitwear lookbook"
CAMPAIGN = "Autumn campaign: studio day"

PAGES = [
    Scene("sign-in", NOBODY, page="sign-in", pose=poses.wait_for_people),
    Scene("inbox", pose=poses.wait_for_rows),
    Scene("thread", subject=LOOKBOOK, pose=poses.wait_for_messages),
    Scene("cards", subject=KNITWEAR, pose=poses.wait_for_cards),
    Scene("project", subject=CAMPAIGN, query={"panel": "booking"}, pose=poses.wait_for_panel),
    Scene("host-page", page="host", pose=poses.wait_for_embed),
]

# If possible a person who can answer the card.
CARDS = {
    "propose_time": ("maya", LOOKBOOK),
    "location": ("theo", LOOKBOOK),
    "extras": ("emil", "Built-in wardrobe, Grünerløkka"),
    "overtime": ("jun", "Two hours of green screen"),
    "complete": ("amara", "New portfolio, one afternoon"),
    "sign": ("maya", KNITWEAR),
    "expense": ("maya", KNITWEAR),
    "cancel": ("loft", "Evening for the winter menu"),
    "refund": ("loft", "Two hours of green screen"),
    "deliverable": ("rosa", "Wedding in Sintra"),
    "reschedule": ("jun", "Cyclorama for a music video"),
}
"""By type of card: the viewer, and the subject of the thread."""

FOLDERS = ("action", "bookings", "offers", "requests", "archived", "spam")
TABS = {
    "actions": KNITWEAR,
    "expenses": CAMPAIGN,
    "docs": KNITWEAR,
    **dict.fromkeys(("brief", "moodboard", "shotlist", "files"), CAMPAIGN),
}
"""By tab: the subject of a thread that has something there."""


def states() -> list[Scene]:
    thread = Scene("thread", subject=LOOKBOOK, pose=poses.wait_for_messages)
    project = Scene("project", subject=CAMPAIGN, pose=poses.wait_for_panel)
    return [
        Scene("empty-all", "newcomer", pose=poses.wait_for_emptiness, looks=IN_THE_HAND),
        *(
            Scene(
                *(f"empty-{folder}", "newcomer"),
                query={"folder": folder},
                pose=poses.wait_for_emptiness,
                looks=IN_THE_HAND,
            )
            for folder in FOLDERS
        ),
        *(
            Scene(
                *(f"card-{kind.replace('_', '-')}", who, subject),
                pose=poses.wait_for_cards,
                card=kind,
                looks=ON_A_DESK,
            )
            for kind, (who, subject) in CARDS.items()
        ),
        *(
            replace(project, name=f"panel-{tab}", subject=subject, query={"panel": tab})
            for tab, subject in TABS.items()
        ),
        replace(thread, name="new-card", subject=KNITWEAR, pose=poses.choose_card, looks=ON_A_DESK),
        replace(thread, name="form", pose=poses.fill_form, looks=(*ON_A_DESK, *IN_THE_HAND)),
        replace(thread, name="history", pose=poses.open_history, looks=ON_A_DESK),
        replace(thread, name="offline", pose=poses.write_offline, looks=IN_THE_HAND),
        replace(thread, name="search", pose=poses.search, looks=ON_A_DESK),
        replace(thread, name="shortcuts", pose=poses.open_shortcuts, looks=ON_A_DESK),
        replace(thread, name="german", locale="de-DE", looks=(*ON_A_DESK, *IN_THE_HAND)),
        replace(thread, name="right-to-left", query={"dir": "rtl"}, looks=ON_A_DESK),
    ]


SCENES = [*PAGES, *states()]
