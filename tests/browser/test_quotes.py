"""A reply quotes the text of its message in the same form as the inbox."""

from playwright.async_api import expect

from tools.demo import Demo

from .people import People
from .starting import start_thread

SAID = "**Both** of:\n\n3. [the board](https://a.example)\n4. ![img](https://a.example/i.png)"
WORDS = "Both of: 3. the board 4. img"


async def test_a_reply_quotes_words_and_no_marks(people: People, demo: Demo) -> None:
    thread_id = start_thread(demo, SAID)
    [said] = demo.call("theo", "GET", f"/v1/threads/{thread_id}/messages")["items"]
    reply = {"client_id": f"reply-{thread_id}", "body": "The first", "reply_to": said["id"]}
    demo.call("theo", "POST", f"/v1/threads/{thread_id}/messages", reply)
    maya = await people.open("maya", f"/app/threads/{thread_id}")
    quote = maya.page.get_by_role("article").filter(has_text="The first").get_by_role("button")
    await expect(quote.filter(has_text=WORDS)).to_be_visible()
    numbers = maya.page.locator("ol")
    await expect(numbers.first).to_have_js_property("start", 3)
