"""What a process keeps of files is bounded, and shown only as it stands now."""

from __future__ import annotations

from dataclasses import replace

from greenroom.conversations.attachments import FileUse
from greenroom.files.made_views import MadeViews
from greenroom.files.model import File
from greenroom.files.postgres.read_rows import ReadRows
from greenroom.files.views import file_view

FILE = File(
    id="fil_1",
    thread_id="thr_1",
    owner="ann",
    purpose="attachment",
    name="a.jpg",
    mime="image/jpeg",
    bytes=1,
    sha256=None,
    state="ready",
    media="image",
    created_at_ms=0,
)
VIEW = file_view(
    FILE,
    viewer="bob",
    visibility="clear",
    band=0,
    can_reveal=False,
    address=None,
    expires_at_ms=None,
)


def use(file_id: str, stamp: str | None) -> FileUse:
    return FileUse(file_id, "thr_1", "msg_1", None if stamp is None else f"{file_id}:{stamp}")


def test_a_row_is_found_under_its_version_only() -> None:
    rows = ReadRows(10)
    assert rows.find(use("fil_1", "7:t:f")) is None
    rows.keep(FILE, "7")
    assert rows.find(use("fil_1", "7:t:f")) == (FILE, "msg_1", False, True)
    assert rows.find(use("fil_1", "7:f:t")) == (FILE, "msg_1", True, False)
    assert rows.find(use("fil_1", "8:t:f")) is None
    assert rows.find(use("fil_1", None)) is None


def test_rows_of_files_that_are_not_ready_are_not_kept() -> None:
    rows = ReadRows(10)
    rows.keep(replace(FILE, state="processing"), "7")
    assert rows.find(use("fil_1", "7:t:f")) is None


def test_the_rows_that_were_looked_at_last_are_kept() -> None:
    rows = ReadRows(2)
    for name in ("fil_1", "fil_2"):
        rows.keep(replace(FILE, id=name), "7")
    rows.find(use("fil_1", "7:t:f"))
    rows.keep(replace(FILE, id="fil_3"), "7")
    found = [rows.find(use(f"fil_{number}", "7:t:f")) is not None for number in (1, 2, 3)]
    assert found == [True, False, True]


def test_a_view_is_found_for_its_viewer_file_visibility_and_time_only() -> None:
    views = MadeViews(10)
    views.keep("bob", FILE, "clear", 1000, VIEW)
    assert views.find("bob", FILE, "clear", 1000) is VIEW
    assert views.find("ann", FILE, "clear", 1000) is None
    assert views.find("bob", replace(FILE, alt="changed"), "clear", 1000) is None
    assert views.find("bob", FILE, "blurred", 1000) is None
    assert views.find("bob", FILE, "clear", 2000) is None


def test_the_views_that_were_shown_last_are_kept() -> None:
    views = MadeViews(2)
    for viewer in ("ann", "bob"):
        views.keep(viewer, FILE, "clear", 1000, VIEW)
    views.find("ann", FILE, "clear", 1000)
    views.keep("eve", FILE, "clear", 1000, VIEW)
    found = [views.find(viewer, FILE, "clear", 1000) for viewer in ("ann", "bob", "eve")]
    assert found == [VIEW, None, VIEW]
