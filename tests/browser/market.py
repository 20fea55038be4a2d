"""What the marketplace's own backend does, with an API key: people, bookings, documents."""

import itertools
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tests.support import command
from tests.support.waiting import PATIENCE_S
from tools.demo import Demo

Json = dict[str, Any]

CURRENCY = "GBP"
SHA256 = "ab" * 32


@dataclass(frozen=True, slots=True)
class Project:
    """A confirmed booking of one leg, and the thread in which its two people talk."""

    thread_id: str
    booking_id: str
    buyer: str
    seller: str
    legs: tuple[str, ...]

    @property
    def path(self) -> str:
        return f"/app/threads/{self.thread_id}"


class Market:
    _numbers = itertools.count(1)

    def __init__(self, demo: Demo, database_url: str) -> None:
        self._demo = demo
        self._key = _new_key(demo, database_url)

    def call(self, method: str, path: str, body: Json | None = None) -> Json:
        answer = httpx.request(
            method,
            self._demo.url + path,
            json=body,
            headers={"authorization": f"Bearer {self._key}"},
            timeout=PATIENCE_S,
        )
        found: Json = answer.raise_for_status().json()
        return found

    def person(self, display_name: str, **more: Any) -> str:
        """Somebody whom nobody knows yet."""
        user_id = f"{display_name.split(maxsplit=1)[0].lower()}-{next(self._numbers)}"
        self.describe(user_id, display_name=display_name, **more)
        return user_id

    def describe(self, user_id: str, **changes: Any) -> None:
        self.call("PUT", f"/v1/users/{user_id}", changes)

    def book(
        self,
        *starts: datetime,
        price_cents: int = 30_000,
        title: str = "Portraits in the garden",
        is_confirmed: bool = True,
    ) -> Project:
        """Ann Field has booked Ben Moor for two hours in thirty days, or for two hours from each of
        these. Both are new here, so that nothing else is in their inboxes or their calendars."""
        buyer, seller = self.person("Ann Field"), self.person("Ben Moor")
        legs = [
            {
                "seller": seller,
                "title": title,
                "start": start.isoformat(),
                "end": (start + timedelta(hours=2)).isoformat(),
                "timezone": "Europe/London",
                "price_cents": price_cents,
            }
            for start in starts or (in_days(30),)
        ]
        new = {"buyer": buyer, "currency": CURRENCY, "legs": legs}
        booking = self.call("POST", "/v1/bookings", new)["booking"]
        booking_id = booking["id"]
        if is_confirmed:
            booking = self.call("POST", f"/v1/bookings/{booking_id}/confirm")["booking"]
            assert booking["state"] == "confirmed", booking
        legs_made = tuple(leg["id"] for leg in booking["legs"])
        return Project(booking["thread_id"], booking_id, buyer, seller, legs_made)

    def add_document(self, project: Project, title: str) -> None:
        """Both sign it."""
        draft = {"title": title, "sha256": SHA256, "signers": [project.buyer, project.seller]}
        self.call("POST", f"/v1/bookings/{project.booking_id}/documents", draft)


def in_days(days: int) -> datetime:
    """At ten in the morning, far from where clocks are put forward."""
    day = datetime.now(UTC) + timedelta(days=days)
    return day.replace(hour=10, minute=0, second=0, microsecond=0)


def in_hours(hours: int) -> datetime:
    """So many hours from now, whatever the hour is: some things may last a day at most."""
    return datetime.now(UTC) + timedelta(hours=hours)


def _new_key(demo: Demo, database_url: str) -> str:
    where = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_HOME": str(demo.settings.home)}
    made = command.run("keys", "create", "browser tests", "--json", given=where)
    key: str = made.json()["key"]
    return key
