"""Every snippet that the documents print for a page, opened as printed in a browser."""

import asyncio
import subprocess
from pathlib import Path

import pytest
from playwright.async_api import ViewportSize

from tests.support import IS_FULL
from tools.demo import Demo
from tools.webapp import BIN, REPOSITORY, install_examples

from .foreign_site import ForeignSite
from .panes import PaneName, Panes
from .people import People
from .snippets import SERVER, Snippet, examples, read_snippets

WIDTHS = (1440, 1100, 820, 390)
FRAMEWORK_WIDTHS = WIDTHS if IS_FULL else (WIDTHS[0], WIDTHS[-1])
"""Of frameworks, which put the same tag into the page as a printed page does."""
HEIGHT = 900
VITE = REPOSITORY / "web/examples/node_modules/vite/bin/vite.js"
PATIENCE_S = 120

SNIPPETS = read_snippets()
PAGES = [each for each in SNIPPETS if each.page() is not None]
EXAMPLES = examples(SNIPPETS)


async def open_at(people: People, site: ForeignSite, path: str, width: int) -> Panes:
    viewport = ViewportSize(width=width, height=HEIGHT)
    maya = await people.meet("maya", viewport=viewport)
    await maya.page.goto(site.url + path)
    return Panes(maya.page)


async def is_right_for(panes: Panes, width: int) -> None:
    """One tag: three panes, two and a drawer, or one at a time."""
    if width < 704:
        await panes.shows("inbox")
        await panes.open_first()
        await panes.shows("thread")
        await panes.can_write()
        await panes.open_panel()
        await panes.shows("panel")
        await panes.close_panel()
        await panes.go_back()
        await panes.shows("inbox")
        return
    await panes.shows("inbox", "thread")
    await panes.open_first()
    await panes.shows("inbox", "thread")
    await panes.can_write()
    await panes.open_panel()
    await panes.shows("inbox", "thread", "panel")
    is_over = await panes.page.get_by_role("dialog", name="Project").count()
    assert is_over == (0 if width >= 1216 else 1)


async def parts_are_usable(panes: Panes, width: int) -> None:
    """As the page lays them out: what was opened is in sight without scrolling."""
    is_phone = width < 768
    beside: tuple[PaneName, ...] = () if is_phone else ("inbox",)
    await panes.shows("inbox", *(() if is_phone else ("thread",)))
    await panes.open_first()
    await panes.shows(*beside, "thread")
    await panes.can_write()
    await panes.open_panel()
    await panes.shows(*beside, *(("thread",) if width >= 1280 else ()), "panel")
    await panes.close_panel()
    await panes.shows(*beside, "thread")
    if is_phone:
        await panes.go_back()
        await panes.shows("inbox")


def test_every_snippet_for_a_page_is_one_that_is_opened_here() -> None:
    others = [each.name for each in SNIPPETS if each.page() is None and each.file is None]
    assert others == []
    assert len(PAGES) >= 4
    assert set(EXAMPLES) == {"React", "Vue"}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("snippet", PAGES, ids=lambda each: each.heading)
async def test_a_printed_page_is_usable_at_every_width(
    people: People, demo: Demo, site: ForeignSite, snippet: Snippet, width: int
) -> None:
    page = snippet.page()
    assert page is not None
    site.pages["/printed"] = page.replace(SERVER, demo.url).encode()
    panes = await open_at(people, site, "/printed", width)
    if "<greenroom-messages" in page:
        await is_right_for(panes, width)
    else:
        await parts_are_usable(panes, width)


@pytest.fixture(scope="module", params=sorted(EXAMPLES))
async def built(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    demo: Demo,
    site: ForeignSite,
) -> str:
    """The path of an example's page, built from the printed files and nothing else."""
    name: str = request.param
    folder = tmp_path_factory.mktemp(name)
    await asyncio.to_thread(install_examples)
    (folder / "node_modules").symlink_to(REPOSITORY / "web/examples/node_modules")
    for file, text in EXAMPLES[name].items():
        (folder / file).write_text(text.replace(SERVER, demo.url))
    await asyncio.to_thread(build, folder)
    for path in (folder / "dist").rglob("*.*"):
        site.pages[f"/{path.relative_to(folder / 'dist')}"] = path.read_bytes()
    return "/index.html"


def build(folder: Path) -> None:
    command = [str(BIN / "node"), str(VITE), "build", "--logLevel", "warn"]
    subprocess.run(command, cwd=folder, check=True, timeout=PATIENCE_S)


@pytest.mark.parametrize("width", FRAMEWORK_WIDTHS)
async def test_an_example_of_a_framework_is_built_and_usable_at_every_width(
    people: People, demo: Demo, site: ForeignSite, built: str, width: int
) -> None:
    panes = await open_at(people, site, built, width)
    said = panes.page.locator("p", has_text="onversation").first
    assert await said.inner_text() == "All conversations"
    await is_right_for(panes, width)
    messages = panes.page.locator("greenroom-messages")
    opened = await messages.get_attribute("thread-id")
    assert await said.inner_text() == (f"Conversation {opened}" if opened else "All conversations")
    assert (opened is None) == (width < 704)


async def test_an_address_opens_its_conversation(
    people: People, demo: Demo, site: ForeignSite
) -> None:
    snippet = next(each for each in PAGES if each.heading.startswith("An address"))
    site.pages["/printed"] = snippet.text.replace(SERVER, demo.url).encode()
    panes = await open_at(people, site, "/printed", 1440)
    await panes.open_first()
    address = panes.page.url
    assert "?thread=thr_" in address
    again = await open_at(people, site, address.removeprefix(site.url), 390)
    await again.shows("thread")
    await again.go_back()
    assert again.page.url == f"{site.url}/printed"
