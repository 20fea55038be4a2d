"""Several tabs of one browser: signed in once, signed out once."""

from playwright.async_api import Page, expect

from tools.demo import Demo

from .people import People, Person
from .starting import start_thread
from .talking import Talk
from .waiting import becomes

# Tastes are the browser's; all else that is kept belongs to the person.
LEFT = """
async () => {
  const keys = [...Object.keys(localStorage), ...Object.keys(sessionStorage)];
  const bases = (await indexedDB.databases()).map(({ name }) => name);
  const tastes = ['greenroom.locale', 'greenroom.theme', 'greenroom.single-keys'];
  return [...keys, ...bases].filter((each) => !tastes.includes(each));
}
"""


async def another_tab(person: Person, url: str) -> Page:
    tab = await person.context.new_page()
    await tab.goto(url)
    return tab


async def is_signed_in(page: Page, name: str) -> None:
    await expect(page.get_by_role("button", name=f"Menu of {name}")).to_be_visible()


async def is_signed_out(page: Page) -> None:
    await expect(page.get_by_role("heading", name="Who are you today?")).to_be_visible()
    await expect(page.get_by_text("You are signed out.")).to_be_visible()


async def choose(page: Page, name: str) -> None:
    await page.get_by_role("button", name=f"Continue as {name}").click()
    await is_signed_in(page, name)


async def sign_out(page: Page, name: str) -> None:
    await page.get_by_role("button", name=f"Menu of {name}").click()
    await page.get_by_role("button", name="Sign out").click()
    await is_signed_out(page)


async def test_a_second_tab_is_signed_in(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, "From the first tab")
    maya = await people.open("maya")
    await is_signed_in(maya.page, "Maya Lindqvist")
    tab = await another_tab(maya, f"{demo.url}/app/threads/{thread_id}")
    await expect(tab.get_by_text("From the first tab").first).to_be_visible()
    assert "token" not in tab.url
    assert "token" not in maya.page.url


async def test_signing_out_in_one_tab_signs_out_the_other_and_leaves_nothing(
    people: People, demo: Demo
) -> None:
    thread_id = start_thread(demo, "To be forgotten")
    maya = await people.open("maya", f"/app/threads/{thread_id}")
    tab = await another_tab(maya, f"{demo.url}/app/threads/{thread_id}")
    await Talk(maya).sees("To be forgotten")
    draft = tab.get_by_role("textbox", name="Write a message")
    await draft.fill("A draft that nobody may find")
    await sign_out(maya.page, "Maya Lindqvist")
    await is_signed_out(tab)

    async def look() -> object:
        return await tab.evaluate(LEFT)

    await becomes(tab, [], look)
    third = await another_tab(maya, f"{demo.url}/app")
    await expect(third.get_by_role("heading", name="Who are you today?")).to_be_visible()


async def test_two_windows_can_still_be_two_people(people: People, demo: Demo) -> None:
    browser = await people.meet("visitor")
    await browser.page.goto(f"{demo.url}/app")
    await choose(browser.page, "Maya Lindqvist")
    second = await another_tab(browser, f"{demo.url}/app/sign-in")
    await choose(second, "Theo Adeyemi")
    await second.reload()
    await is_signed_in(second, "Theo Adeyemi")
    await is_signed_in(browser.page, "Maya Lindqvist")
    await sign_out(second, "Theo Adeyemi")
    await browser.page.reload()
    await is_signed_in(browser.page, "Maya Lindqvist")


async def test_a_tab_follows_when_the_marketplace_hands_over_somebody_else(
    people: People, demo: Demo
) -> None:
    maya = await people.open("maya")
    await is_signed_in(maya.page, "Maya Lindqvist")
    tab = await another_tab(maya, f"{demo.url}/app#token={demo.token('theo')}")
    for page in (tab, maya.page):
        await is_signed_in(page, "Theo Adeyemi")


async def test_a_window_that_waits_at_the_sign_in_is_not_taken_along(
    people: People, demo: Demo
) -> None:
    browser = await people.meet("visitor")
    await browser.page.goto(f"{demo.url}/app")
    waiting = await another_tab(browser, f"{demo.url}/app/sign-in")
    await choose(browser.page, "Maya Lindqvist")
    await choose(waiting, "Theo Adeyemi")
    await is_signed_in(browser.page, "Maya Lindqvist")
