"""The queue's file is whole at every moment, and readable by its owner alone."""

import os
import stat
from pathlib import Path

import pytest

from greenroom_client.queue_file import Draft, QueueFile

DRAFTS = [
    Draft("c1", "thr_1", "Grüße 🌞\u2028"),
    Draft("c2", "thr_2", "two", "msg_1"),
    Draft("c3", "thr_2", "", attachments=("fil_1", "fil_2")),
]


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    file = QueueFile(tmp_path / "queue.json")
    assert file.load() == []
    file.save(DRAFTS)
    assert file.load() == DRAFTS
    file.save([])
    assert file.load() == []


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "queue.json"
    QueueFile(path).save(DRAFTS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_crash_while_writing_leaves_the_version_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "queue.json"
    file = QueueFile(path)
    file.save(DRAFTS[:1])

    def crash(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        file.save(DRAFTS)
    assert QueueFile(path).load() == DRAFTS[:1]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2, "sends": []}', "not a queue"])
def test_a_file_that_is_no_queue_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "queue.json"
    path.write_text(text)
    with pytest.raises(ValueError, match="no queue"):
        QueueFile(path).load()
    assert path.read_text() == text
