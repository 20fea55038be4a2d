"""Files between two people: attached, sent, seen, heard and chosen, also on a bad network."""

import base64
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest
from playwright.async_api import Browser, FilePayload, Locator, Page, Route, expect

from tests.support.databases import run_sql
from tools.chromium import find_chromium, open_chromium
from tools.demo import Demo

from .axe import axe
from .dealing import Deal
from .looking import targets_below, wider_than_the_screen
from .market import Market
from .people import PHONE, People, Person
from .pictures import document, large_picture, picture, pretender
from .starting import say, start_thread
from .talking import Talk, open_dialog
from .waiting import becomes

FINGER_PX = 44
PART_BYTES = 5 * 1024 * 1024
SPEAKING = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
WATCH_SHIFTS = """
globalThis.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().map(({ value }) => value)))
  .observe({ type: 'layout-shift', buffered: true });
"""
# As a paste or a drop by hand: the browser fills in the files.
HAND_OVER = """
(target, { type, name, mime, data }) => {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  const given = new DataTransfer();
  given.items.add(new File([bytes], name, { type: mime }));
  const how = { bubbles: true, composed: true, cancelable: true };
  const event = type === 'paste'
    ? new ClipboardEvent('paste', { ...how, clipboardData: given })
    : new DragEvent(type, { ...how, dataTransfer: given });
  target.dispatchEvent(event);
}
"""


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """With a microphone that hears a tone."""
    async with open_chromium(await find_chromium(), SPEAKING) as opened:
        yield opened


class Sharing(Talk):
    """A thread in which files are sent."""

    def __init__(self, person: Person) -> None:
        super().__init__(person)
        self.tray = self.page.get_by_role("list", name="Files to send")
        self.send_button = self.page.get_by_role("button", name="Send", exact=True)

    async def attach(self, *files: FilePayload) -> None:
        await expect(self.page.get_by_role("button", name="Attach files")).to_be_visible()
        await self.page.locator("greenroom-attach input").set_input_files(list(files))

    async def hand_over(self, target: Locator, kind: str, file: FilePayload) -> None:
        given = {
            "type": kind,
            "name": file["name"],
            "mime": file["mimeType"],
            "data": base64.b64encode(file["buffer"]).decode(),
        }
        await target.evaluate(HAND_OVER, given)

    def tile(self, name: str) -> Locator:
        return self.tray.get_by_role("listitem", name=re.compile(re.escape(name)))

    async def names(self) -> list[str]:
        found = await self.tray.get_by_role("listitem").evaluate_all(
            "(tiles) => tiles.map((tile) => tile.getAttribute('aria-label').split(', ')[0])"
        )
        return list(found)

    async def sees_pictures(self, *labels: str) -> None:
        """Each is drawn, not only its place."""
        for label in labels:
            shown = self.page.get_by_role("button", name=re.compile(rf"^Open {label}"))
            await expect(shown.last).to_be_visible()
        drawn = "(all) => all.every((img) => img.complete && img.naturalWidth > 0)"

        async def look() -> object:
            images = self.page.locator("greenroom-attachments greenroom-picture img")
            return await images.count() >= len(labels) and await images.evaluate_all(drawn)

        await becomes(self.page, True, look)


async def meet(people: People, demo: Demo, **options: Any) -> tuple[Sharing, Sharing, str]:
    """Maya and Theo in a new thread; the options are for Theo."""
    thread_id = start_thread(demo, "Look what I have")
    path = f"/app/threads/{thread_id}"
    maya = Sharing(await people.open("maya", path))
    theo = Sharing(await people.open("theo", path, **options))
    await maya.sees("Look what I have")
    await theo.sees("Look what I have")
    # An address ends at once when its viewer may no longer see it, also while it is being fetched.
    for each in (maya, theo):
        each.person.expect_error("status of 404")
    return maya, theo, thread_id


def files_of(demo: Demo, user_id: str, thread_id: str) -> list[dict[str, Any]]:
    page = demo.call(user_id, "GET", f"/v1/threads/{thread_id}/messages")
    return [each["file"] for item in page["items"] for each in item["attachments"]]


async def rate(database_url: str, file_id: str, band: int) -> None:
    """As if the classifier had found it so."""
    await run_sql(database_url, f"UPDATE file SET band = {band} WHERE file_id = '{file_id}'")  # noqa: S608


async def are_ready(page: Page, demo: Demo, user_id: str, thread_id: str, count: int) -> None:
    async def look() -> object:
        await page.wait_for_timeout(100)
        return [each["state"] for each in files_of(demo, user_id, thread_id)]

    await becomes(page, ["ready"] * count, look)


async def are_processed(page: Page, database_url: str, thread_id: str) -> None:
    """Also those that are in no message yet."""
    left = "select count(*) from file where thread_id = $1 and state = 'processing'"
    conn = await asyncpg.connect(database_url)
    try:
        await becomes(page, 0, lambda: conn.fetchval(left, thread_id))
    finally:
        await conn.close()


async def test_a_picture_arrives_and_nothing_moves(people: People, demo: Demo) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.attach(picture(width=900, height=500))
    await expect(maya.tile("roof.jpg")).to_be_visible()
    await maya.composer.fill("From the roof")
    await maya.send_button.click()
    await maya.sees("From the roof")
    await theo.sees("From the roof")
    await theo.page.evaluate(WATCH_SHIFTS)
    await theo.page.evaluate("shifts.length = 0")
    box = await theo.page.locator("greenroom-attachments").bounding_box()
    await are_ready(theo.page, demo, "theo", thread_id, 1)
    await theo.sees_pictures("Photo")
    assert await theo.page.locator("greenroom-attachments").bounding_box() == box
    assert await theo.page.evaluate("shifts.filter((value) => value > 0.0005)") == []
    await maya.composer.fill("And this")
    await maya.attach(picture("second.jpg", width=500, height=900))
    await maya.send_button.click()
    row = maya.page.locator("greenroom-inbox-rows li").first
    await expect(row).to_contain_text("You: And this")


async def test_layout_does_not_shift_when_a_thread_with_pictures_opens(
    people: People, demo: Demo
) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.attach(picture("a.jpg"), picture("b.jpg", 400, 700), picture("c.png", 640, 480))
    await maya.send_button.click()
    await theo.sees_pictures("Photo 1 of 3")
    await are_ready(theo.page, demo, "theo", thread_id, 3)
    visitor = Sharing(await people.meet("theo"))
    await visitor.person.context.add_init_script(WATCH_SHIFTS)
    token = demo.token("theo")
    await visitor.page.goto(f"{demo.url}/app/threads/{thread_id}#token={token}")
    await visitor.sees_pictures("Photo 1 of 3", "Photo 2 of 3", "Photo 3 of 3")
    thread_shifts = await visitor.page.evaluate("shifts.filter((value) => value > 0.001)")
    assert thread_shifts == []


async def test_several_files_are_put_in_order_by_keyboard_and_sent_with_words(
    people: People, demo: Demo
) -> None:
    maya, theo, _ = await meet(people, demo)
    await maya.attach(picture("one.jpg"), picture("two.jpg"), picture("three.png"), document())
    await expect(maya.tray.get_by_role("listitem")).to_have_count(4)
    await maya.tile("three.png").press("ArrowLeft")
    await maya.tile("three.png").press("ArrowLeft")
    assert await maya.names() == ["three.png", "one.jpg", "two.jpg", "plan.pdf"]
    await maya.tile("one.jpg").press("Delete")
    await expect(maya.tile("two.jpg")).to_be_focused()
    await maya.composer.fill("Two views and the plan")
    await maya.composer.press("Enter")
    await theo.sees("Two views and the plan")
    await theo.sees_pictures("Photo 1 of 2", "Photo 2 of 2")
    row = theo.page.get_by_role("link", name=re.compile("^Download plan.pdf"))
    await expect(row).to_be_visible()
    async with theo.page.expect_download() as started:
        await row.click()
    assert (await started.value).suggested_filename == "plan.pdf"


async def test_a_picture_is_looked_at_closely_with_keys_alone(people: People, demo: Demo) -> None:
    maya, theo, _ = await meet(people, demo)
    await maya.attach(picture("one.jpg"), picture("two.jpg"))
    await maya.send_button.click()
    await theo.sees_pictures("Photo 1 of 2", "Photo 2 of 2")
    first = theo.page.get_by_role("button", name="Open Photo 1 of 2")
    await first.press("Enter")
    viewer = theo.page.get_by_role("dialog", name="Pictures")
    await expect(viewer).to_contain_text("1 / 2")
    await theo.page.keyboard.press("ArrowRight")
    await expect(viewer).to_contain_text("2 / 2")
    await theo.page.keyboard.press("+")
    await expect(viewer.get_by_role("button", name="Zoom out")).to_be_visible()
    await expect(viewer.get_by_role("link", name="Download two.jpg")).to_be_visible()
    assert await axe(theo.page) == []
    await theo.page.keyboard.press("Escape")
    await expect(viewer).to_have_count(0)
    await expect(first).to_be_focused()


async def test_a_voice_note_is_recorded_seen_and_played(people: People, demo: Demo) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.page.get_by_role("button", name="Record a voice message").click()
    recording = maya.page.get_by_role("group", name="Recording")
    await expect(recording.get_by_role("timer")).to_have_text("0:02")
    await recording.get_by_role("button", name="Send voice message").click()
    await expect(maya.composer).to_be_visible()
    await are_ready(theo.page, demo, "theo", thread_id, 1)
    sound = theo.page.get_by_role("group", name=re.compile("^Voice message, 0:0"))
    await sound.get_by_role("button", name="Speed 1×").click()
    await expect(sound.get_by_role("button", name="Speed 1.5×")).to_be_visible()
    await sound.get_by_role("button", name="Play").click()
    await expect(sound.get_by_role("button", name="Pause")).to_be_visible()
    row = theo.page.locator("greenroom-inbox-rows li").first
    await expect(row).to_contain_text("Voice message")


async def test_a_recording_can_be_thrown_away(people: People, demo: Demo) -> None:
    maya, _, thread_id = await meet(people, demo)
    await maya.page.get_by_role("button", name="Record a voice message").click()
    await maya.page.get_by_role("button", name="Discard recording").click()
    await expect(maya.composer).to_be_visible()
    assert files_of(demo, "maya", thread_id) == []


@pytest.mark.parametrize("way", ["paste", "drop"])
async def test_files_are_pasted_and_dropped(people: People, demo: Demo, way: str) -> None:
    maya, theo, _ = await meet(people, demo)
    await expect(maya.page.get_by_role("button", name="Attach files")).to_be_visible()
    target = maya.composer if way == "paste" else maya.page.locator("greenroom-timeline")
    if way == "drop":
        await maya.hand_over(target, "dragover", picture())
        await expect(maya.page.locator(".dropping")).to_be_visible()
    await maya.hand_over(target, way, picture())
    await expect(maya.tile("roof.jpg")).to_be_visible()
    await maya.send_button.click()
    await theo.sees_pictures("Photo")


async def test_what_cannot_be_sent_is_told_by_name(people: People, demo: Demo) -> None:
    maya, theo, _ = await meet(people, demo)
    empty: FilePayload = {"name": "empty.txt", "mimeType": "text/plain", "buffer": b""}
    await maya.attach(empty)
    await expect(maya.page.get_by_role("alert")).to_have_text("empty.txt is empty.")
    await maya.attach(*(picture(f"{number}.jpg", 60, 60) for number in range(11)))
    await expect(maya.page.get_by_role("alert")).to_have_text("A message takes at most 10 files.")
    await expect(maya.tray.get_by_role("listitem")).to_have_count(10)
    await maya.send_button.click()
    await theo.sees_pictures("Photo 10 of 10")


async def test_a_message_waits_until_a_file_that_is_not_taken_is_removed(
    people: People, demo: Demo
) -> None:
    maya, theo, _ = await meet(people, demo)
    maya.person.expect_error("status of 4")
    page: FilePayload = {"name": "page.html", "mimeType": "text/html", "buffer": b"<b>Hello</b>"}
    await maya.attach(picture("garden.jpg"), page)
    await maya.composer.fill("From the garden")
    await expect(maya.page.get_by_text("Remove the file that is not taken")).to_be_visible()
    await expect(maya.send_button).to_be_disabled()
    await maya.composer.press("Enter")
    await expect(maya.composer).to_have_value("From the garden")
    await maya.tile("page.html").get_by_role("button", name=re.compile("Remove")).click()
    await expect(maya.send_button).to_be_enabled()
    await maya.composer.press("Enter")
    await theo.sees("From the garden")
    await theo.sees_pictures("Photo")


async def test_a_message_goes_without_the_file_that_was_refused_at_the_last_moment(
    people: People, demo: Demo, database_url: str
) -> None:
    maya, theo, thread_id = await meet(people, demo)
    maya.person.expect_error("status of 4")
    await maya.attach(picture("garden.jpg"), document("plan.pdf"))
    await expect(maya.tray.get_by_role("listitem", name=re.compile("Uploaded"))).to_have_count(2)
    await are_processed(maya.page, database_url, thread_id)
    # Events come in order: whoever has this one has heard that both files are ready.
    say(demo, "theo", thread_id, "Is it coming?")
    await maya.sees("Is it coming?")
    refused = "UPDATE file SET state = 'refused', reason = 'virus' WHERE name = 'plan.pdf'"
    await run_sql(database_url, refused)
    await maya.composer.fill("The garden")
    await maya.send_button.click()
    bubble = maya.message("The garden")
    await expect(bubble).to_contain_text("plan.pdf: Held back by a check")
    await expect(bubble.locator("greenroom-picture, greenroom-file-row")).to_have_count(2)
    await bubble.get_by_role("button", name="Send without it").click()
    await theo.sees("The garden")
    await theo.sees_pictures("Photo")
    await expect(maya.message("The garden").locator("greenroom-file-row")).to_have_count(0)

    # The words to it are changed where they stand.
    message = maya.message("The garden")
    await message.focus()
    await message.press("e")
    await maya.page.get_by_role("textbox", name="Edit the words to the files").fill("The park")
    await maya.page.keyboard.press("Enter")
    await theo.sees("The park")
    await theo.sees_pictures("Photo")


async def test_a_pretender_is_refused_with_its_reason_for_the_sender_only(
    people: People, demo: Demo, database_url: str
) -> None:
    maya, theo, thread_id = await meet(people, demo)
    note = "Its content is not what its name says."
    await maya.attach(pretender())
    await expect(maya.tray.get_by_role("listitem", name=re.compile(note))).to_be_visible()
    await expect(maya.send_button).to_be_disabled()
    await maya.tray.get_by_role("button", name=re.compile("^Remove")).click()

    # Whoever is quicker than the check has sent it.
    await maya.attach(picture("beach.jpg"))
    await maya.composer.fill("My holiday")
    await maya.send_button.click()
    await theo.sees_pictures("Photo")
    await are_ready(maya.page, demo, "maya", thread_id, 1)
    [file] = files_of(demo, "maya", thread_id)
    refused = "UPDATE file SET state = 'refused', reason = 'type_mismatch', renditions = '[]'"
    await run_sql(database_url, f"{refused} WHERE file_id = '{file['id']}'")
    for each in (maya, theo):
        await each.page.reload()
        await each.sees("My holiday")
    await expect(maya.message("My holiday")).to_contain_text(note)
    await expect(theo.message("My holiday")).to_contain_text("This file is not available.")
    await expect(theo.message("My holiday")).not_to_contain_text(note)


async def test_a_picture_is_described_for_those_who_listen(people: People, demo: Demo) -> None:
    maya, theo, _ = await meet(people, demo)
    await maya.attach(picture())
    await maya.page.get_by_role("button", name="Describe: roof.jpg").click()
    dialog = open_dialog(maya.page, "What does the picture show?")
    await dialog.get_by_role("textbox", name="Description").fill("A flat roof with a view")
    await dialog.get_by_role("button", name="Save").click()
    await expect(maya.tray).to_contain_text("Described")
    await maya.send_button.click()
    label = "Open Photo: A flat roof with a view"
    await expect(theo.page.get_by_role("button", name=label)).to_be_visible()


async def test_what_may_be_sensitive_is_blurred_until_somebody_wants_to_see_it(
    people: People, demo: Demo, database_url: str
) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.attach(picture())
    await maya.send_button.click()
    await are_ready(theo.page, demo, "theo", thread_id, 1)
    [file] = files_of(demo, "theo", thread_id)
    await rate(database_url, file["id"], 1)
    await theo.page.reload()
    await expect(theo.page.get_by_text("This may be sensitive")).to_be_visible()
    assert await axe(theo.page) == []
    await theo.page.get_by_role("button", name="Show Photo").click()
    await theo.sees_pictures("Photo")
    await rate(database_url, file["id"], 2)
    await theo.page.reload()
    await expect(theo.page.get_by_role("img", name="Photo, Hidden by Safe-Mode")).to_be_visible()


async def test_safe_mode_is_switched_off_in_the_preferences(
    people: People, demo: Demo, database_url: str
) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.attach(picture())
    await maya.send_button.click()
    await are_ready(theo.page, demo, "theo", thread_id, 1)
    [file] = files_of(demo, "theo", thread_id)
    await rate(database_url, file["id"], 1)
    await theo.page.reload()
    await expect(theo.page.get_by_text("This may be sensitive")).to_be_visible()
    await theo.page.get_by_role("button", name=re.compile("^Your account|Theo")).first.click()
    await theo.page.get_by_role("button", name="Preferences").click()
    safe_mode = theo.page.get_by_role("switch", name="Safe-Mode")
    await expect(safe_mode).to_be_checked()
    assert await axe(theo.page) == []
    await safe_mode.uncheck()
    await open_dialog(theo.page, "Preferences").get_by_role("button", name="Close").click()
    await theo.sees_pictures("Photo")
    demo.call("theo", "PUT", "/v1/me/preferences", {"preferences": {"safe_mode": True}})


async def slowed(route: Route) -> None:
    """The second part does not get through."""
    if "/parts/2" in route.request.url:
        await route.abort("internetdisconnected")
    else:
        await route.continue_()


async def test_an_upload_that_is_cut_goes_on_from_where_it_was(people: People, demo: Demo) -> None:
    maya, theo, thread_id = await meet(people, demo)
    maya.person.expect_error("net::ERR_INTERNET_DISCONNECTED")
    maya.person.expect_error("net::ERR_FAILED")
    puts: list[str] = []
    maya.page.on(
        "request",
        lambda request: puts.append(request.url.split("?")[0]) if request.method == "PUT" else None,
    )
    await maya.page.route("**/blobs/uploads/**", slowed)
    await maya.attach(large_picture("noise.png", PART_BYTES + 400_000))
    await expect(maya.tile("noise.png")).to_be_visible()
    await maya.composer.fill("A large one")
    await maya.send_button.click()
    await expect(maya.message("A large one")).to_have_accessible_name("You, Waiting to be sent")

    async def look() -> object:
        return any(each.endswith("/parts/2") for each in puts)

    await becomes(maya.page, True, look)
    await maya.person.go_offline()
    await maya.page.unroute("**/blobs/uploads/**")
    await maya.person.go_online()
    await theo.sees("A large one")
    await are_ready(theo.page, demo, "theo", thread_id, 1)
    first = [each for each in puts if each.endswith("/parts/1")]
    assert len(first) == 1
    assert len(files_of(demo, "theo", thread_id)) == 1


async def test_what_was_not_sent_is_offered_again_after_a_reload(
    people: People, demo: Demo
) -> None:
    maya, theo, _ = await meet(people, demo)
    maya.person.expect_error("net::ERR_FAILED")
    await maya.page.route("**/blobs/uploads/**", lambda route: route.abort())
    # What has begun to be sent is kept.
    async with maya.page.expect_event("requestfailed"):
        await maya.attach(picture("later.jpg"))
    await expect(maya.tile("later.jpg")).to_be_visible()
    await maya.page.unroute("**/blobs/uploads/**")
    await maya.page.reload()
    offer = maya.page.get_by_text("1 file from last time is not sent yet.")
    await expect(offer).to_be_visible()
    await expect(maya.tile("later.jpg, Paused")).to_be_visible()
    assert await axe(maya.page) == []
    await maya.page.get_by_role("button", name="Continue", exact=True).click()
    await expect(maya.tile("later.jpg, Uploaded")).to_be_visible()
    await maya.send_button.click()
    await theo.sees_pictures("Photo")
    await maya.page.reload()
    await maya.sees_pictures("Photo")
    await expect(maya.tray).to_have_count(0)


async def test_an_upload_is_paused_and_continued(people: People, demo: Demo) -> None:
    maya, _, _ = await meet(people, demo)
    held: list[Route] = []

    async def hold(route: Route) -> None:
        held.append(route)

    await maya.page.route("**/blobs/uploads/**", hold)
    await maya.attach(picture())
    await maya.page.get_by_role("button", name="Pause roof.jpg").click()
    await expect(maya.tile("roof.jpg, Paused")).to_be_visible()
    await maya.page.unroute("**/blobs/uploads/**")
    await maya.page.get_by_role("button", name="Continue roof.jpg").click()
    await expect(maya.tile("roof.jpg, Uploaded")).to_be_visible()
    await maya.page.get_by_role("button", name="Remove roof.jpg").click()
    await expect(maya.tray).to_have_count(0)


async def test_files_on_a_phone(people: People, demo: Demo) -> None:
    phone = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
    maya, theo, _ = await meet(people, demo, **phone)
    await maya.attach(picture("a.jpg"), picture("b.jpg"), picture("c.jpg"), document())
    await maya.send_button.click()
    await theo.sees_pictures("Photo 1 of 3")
    await becomes(theo.page, [], lambda: wider_than_the_screen(theo.page))
    assert await targets_below(theo.page, FINGER_PX) == []
    await theo.page.get_by_role("button", name="Attach files").tap()
    menu = theo.page.get_by_role("menu", name="Attach files")
    items: Sequence[str] = ["Photos and videos", "Take a photo", "File"]
    await expect(menu.get_by_role("menuitem")).to_have_text(items)
    async with theo.page.expect_file_chooser() as choosing:
        await menu.get_by_role("menuitem", name="Take a photo").tap()
    await (await choosing.value).set_files([picture("mine.jpg")])
    await expect(theo.tile("mine.jpg")).to_be_visible()
    await becomes(theo.page, [], lambda: wider_than_the_screen(theo.page))
    assert await axe(theo.page) == []
    await theo.send_button.tap()
    await maya.sees_pictures("Photo")


async def test_the_files_tab_has_all_that_was_sent(people: People, demo: Demo) -> None:
    maya, theo, thread_id = await meet(people, demo)
    await maya.attach(picture("a.jpg"), picture("b.jpg"), document())
    await maya.send_button.click()
    await are_ready(theo.page, demo, "theo", thread_id, 3)
    await theo.page.get_by_role("button", name="Details", exact=True).click()
    await theo.page.get_by_role("tab", name="Files").click()
    gallery = theo.page.locator("greenroom-gallery")
    await expect(gallery.get_by_role("button", name=re.compile("^Open Photo"))).to_have_count(2)
    await expect(gallery.get_by_role("link", name=re.compile("^Download plan"))).to_be_visible()
    assert await axe(theo.page) == []


async def test_the_inbox_finds_conversations_with_files(people: People, demo: Demo) -> None:
    maya, _, _ = await meet(people, demo)
    await maya.attach(picture())
    await maya.send_button.click()
    await maya.sees_pictures("Photo")
    await maya.page.get_by_role("button", name="Filter").click()
    await maya.page.get_by_role("checkbox", name="With files").check()
    await maya.page.get_by_role("button", name="Close").click()
    rows = maya.page.locator("greenroom-inbox-rows li")
    await expect(rows.filter(has_text="You: Photo").first).to_be_visible()


async def test_proofs_are_shown_chosen_and_approved(people: People, market: Market) -> None:
    project = market.book()
    seller = Deal(await people.open(project.seller, project.path))
    form = await seller.begin("Show proofs")
    field = form.dialog.locator("greenroom-file-field")
    await field.locator("input").set_input_files([picture("a.jpg"), picture("b.jpg")])
    await expect(field.get_by_role("listitem")).to_have_count(2)
    await form.dialog.get_by_role("checkbox", name=re.compile("selections", re.IGNORECASE)).check()
    await form.send()
    buyer = Deal(await people.open(project.buyer, project.path))
    card = buyer.card("Proofs")
    await card.press("Approve the selection")
    await card.says("Choose at least one picture first.")
    second = card.place.get_by_role("checkbox", name="Choose Proof 2 of 2")
    await second.press("Space")
    await expect(second).to_be_checked()
    await card.says("1 chosen")
    assert await axe(buyer.page) == []
    await buyer.page.reload()
    await expect(second).to_be_checked()
    form = await card.press_for_form("Ask for changes")
    await form.fill("Proof 2 of 2: what should change", "Warmer")
    await form.send("Ask for changes")
    await card.is_in("Changes were asked for")
    of_seller = seller.card("Proofs")
    await of_seller.says("Warmer")
    form = await of_seller.press_for_form("Show again")
    pictures = form.dialog.locator("greenroom-file-field").get_by_role("listitem")
    await expect(pictures).to_have_count(2)
    await form.press("Remove a.jpg")
    await form.send("Show again")
    await card.says("Round 2")
    await card.place.get_by_role("checkbox", name="Choose Proof 1 of 1").press("Space")
    await card.press_surely("Approve the selection", "Approve the selection")
    await card.is_in("Approved")
    await seller.card("Proofs").is_in("Approved")


async def test_an_expense_has_its_receipt(people: People, market: Market) -> None:
    project = market.book()
    seller = Deal(await people.open(project.seller, project.path))
    form = await seller.begin("Claim an expense")
    await form.fill("Amount", "12")
    await form.fill("Paid to", "Taxi")
    await form.dialog.locator("greenroom-file-field input").set_input_files([document("taxi.pdf")])
    await form.send()
    buyer = Deal(await people.open(project.buyer, project.path))
    row = buyer.card("Expense").place.get_by_role("link", name=re.compile("^Download taxi.pdf"))
    await expect(row).to_be_visible()
