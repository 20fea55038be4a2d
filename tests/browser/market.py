"""What the marketplace's own backend does, with an API key: people, bookings, documents."""

import itertools
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx

from tools.demo import Demo

Json = dict[str, Any]

PATIENCE_S = 60.0
CURRENCY = "GBP"
SHA256 = "ab" * 32


@dataclass(frozen=True, slots=True)
class Project:
    """A confirmed booking of one leg, and the thread in which its two people talk."""

    thread_id: str
    booking_id: str
    buyer: str
    seller: str

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

    def book(self, *, price_cents: int = 30_000, title: str = "Portraits in the garden") -> Project:
        """Ann Field has booked Ben Moor for two hours in thirty days. Both are new here, so that
        nothing else is in their inboxes or their calendars."""
        buyer, seller = self.person("Ann Field"), self.person("Ben Moor")
        start = in_days(30)
        leg = {
            "seller": seller,
            "title": title,
            "start": start.isoformat(),
            "end": (start + timedelta(hours=2)).isoformat(),
            "timezone": "Europe/London",
            "price_cents": price_cents,
        }
        new = {"buyer": buyer, "currency": CURRENCY, "legs": [leg]}
        booking_id = self.call("POST", "/v1/bookings", new)["booking"]["id"]
        booking = self.call("POST", f"/v1/bookings/{booking_id}/confirm")["booking"]
        assert booking["state"] == "confirmed", booking
        return Project(booking["thread_id"], booking_id, buyer, seller)

    def add_document(self, project: Project, title: str) -> None:
        """Both sign it."""
        draft = {"title": title, "sha256": SHA256, "signers": [project.buyer, project.seller]}
        self.call("POST", f"/v1/bookings/{project.booking_id}/documents", draft)


def in_days(days: int) -> datetime:
    """At ten in the morning, far from where clocks are put forward."""
    day = datetime.now(UTC) + timedelta(days=days)
    return day.replace(hour=10, minute=0, second=0, microsecond=0)


def _new_key(demo: Demo, database_url: str) -> str:
    others = {name: text for name, text in os.environ.items() if "GREENROOM" not in name}
    where = {"GREENROOM_DATABASE_URL": database_url, "GREENROOM_HOME": str(demo.settings.home)}
    made = subprocess.run(
        [sys.executable, "-m", "greenroom", "keys", "create", "browser tests", "--json"],
        env={**others, **where},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=True,
    )
    key: str = json.loads(made.stdout)["key"]
    return key
