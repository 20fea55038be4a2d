"""What is there before a test begins: threads and cards, made as people's apps make them."""

import itertools
import secrets
from datetime import UTC, datetime, timedelta

import httpx
from playwright.async_api import FilePayload

from tools.demo import Demo, Json

PANEL_TABS = (
    "actions",
    "booking",
    "expenses",
    "docs",
    "brief",
    "moodboard",
    "shotlist",
    "files",
)

_numbers = itertools.count(1)


def booked_thread(demo: Demo) -> str:
    """Of Maya in the sample: with a booking, cards of many kinds, and much text."""
    rows: list[Json] = demo.call("maya", "GET", "/v1/inbox?folder=bookings")["items"]
    found: str = next(
        each["thread"]["id"] for each in rows if "studio day" in each["thread"]["subject"]
    )
    return found


def start_thread(demo: Demo, first: str, *, subject: str = "Talk") -> str:
    """From Maya to Theo. Returns the thread's id."""
    message = {"client_id": f"start-{next(_numbers)}", "body": first}
    new = {"kind": "inquiry", "to": ["theo"], "subject": subject, "first_message": message}
    thread_id: str = demo.call("maya", "POST", "/v1/threads", new)["thread"]["id"]
    return thread_id


def say(demo: Demo, user_id: str, thread_id: str, text: str) -> None:
    message = {"client_id": f"said-{next(_numbers)}", "body": text}
    demo.call(user_id, "POST", f"/v1/threads/{thread_id}/messages", message)


def texts(demo: Demo, user_id: str, thread_id: str) -> list[str]:
    """All that was said in a thread, the oldest first, as the server keeps it."""
    page = demo.call(user_id, "GET", f"/v1/threads/{thread_id}/messages")
    return [each["body"] for each in sorted(page["items"], key=lambda each: str(each["id"]))]


def upload(demo: Demo, user_id: str, thread_id: str, file: FilePayload, purpose: str) -> str:
    """The id of a file that the server has from this person."""
    data = file["buffer"]
    new = {"thread_id": thread_id, "name": file["name"], "mime": file["mimeType"]}
    made = demo.call(
        user_id, "POST", "/v1/uploads", {**new, "bytes": len(data), "purpose": purpose}
    )["upload"]
    # The server may listen on a port that it was not told.
    path = made["url"].partition("/blobs/")[2]
    answer = httpx.put(f"{demo.url}/blobs/{path}", content=data, headers=made["headers"])
    answer.raise_for_status()
    demo.call(user_id, "POST", f"/v1/uploads/{made['id']}/complete")
    file_id: str = made["id"]
    return file_id


def propose_time(demo: Demo, user_id: str, thread_id: str) -> None:
    """A card that the other person has to answer."""
    start = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) + timedelta(days=9)
    payload = {
        "start": start.isoformat(),
        "end": (start + timedelta(hours=3)).isoformat(),
        "timezone": "Europe/London",
        "note": "The light is best then",
    }
    httpx.post(
        f"{demo.url}/v1/threads/{thread_id}/cards",
        json={"type": "propose_time", "payload": payload},
        headers={
            "authorization": f"Bearer {demo.token(user_id)}",
            "idempotency-key": secrets.token_hex(8),
        },
    ).raise_for_status()
