"""`make limits`: docs/limits.md with every limit, its default and its variable."""

from collections.abc import Iterator
from dataclasses import Field, fields
from pathlib import Path
from typing import Any

from greenroom.kernel.limits import Audience, Limits
from greenroom.settings import limit_variable

PAGE = Path(__file__).resolve().parents[1] / "docs" / "limits.md"

HEAD = """\
# Limits

Every input, queue, page and rate has a limit. This page lists them all with their defaults. Each is
set by its environment variable, and `greenroom config` shows the values in effect. A caller who
exceeds one gets an error with a code (`RATE_LIMITED` with `Retry-After`, `PAYLOAD_TOO_LARGE`,
`MSG_TOO_LONG` …) and a hint; [errors](errors.md) lists them.

Clients do not repeat these numbers: `GET /v1/limits` answers with those of the first table, under
the names of their variables in small letters (`body_characters`, `edit_window_s` …), as they are
in effect. The web app and both client libraries ask for them, so that a changed variable changes
the counter under the message field and the time in which a message can be edited as well.

The limit that a new marketplace reaches first: a person who is not `verified` (`PUT /v1/users/…`)
may start {starts_per_hour} conversations an hour and {starts_per_day} a day, a verified person
{verified_starts_per_hour} and {verified_starts_per_day}. Messages in existing conversations do not
count. A limit per minute, hour or day is a bucket that refills evenly: it can be used up at once,
and then one comes back after each part of the time (3 an hour: one every 20 minutes).

This page is written by `make limits` from `greenroom/kernel/limits.py`.
"""

TITLES = (
    ("What clients are told", Audience.CLIENTS),
    ("What people and callers meet", Audience.CALLERS),
    ("Inside the server", Audience.OPERATORS),
)


def main() -> None:
    PAGE.write_text(page())
    print(f"wrote {PAGE}")


def page() -> str:
    defaults = {each.name: each.default for each in fields(Limits)}
    return "\n".join((HEAD.format(**defaults), *_tables()))


def _tables() -> Iterator[str]:
    for title, audience in TITLES:
        limits = [each for each in fields(Limits) if each.metadata["audience"] is audience]
        yield f"## {title}\n\n| limit | default | variable |\n|---|---|---|"
        yield from (_row(limit) for limit in limits)
        yield ""


def _row(limit: "Field[Any]") -> str:
    text = limit.metadata["text"]
    return f"| {text} | {limit.default:,} | `{limit_variable(limit.name)}` |"


if __name__ == "__main__":
    main()
