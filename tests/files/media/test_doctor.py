"""`greenroom doctor` says what looks at uploads, and what is missing for it."""

import asyncio
from pathlib import Path

import pytest

from greenroom import doctor
from greenroom.setting_values import SettingsError
from greenroom.settings import load_settings

from .clamd import LocalClamd


async def test_without_clamav_it_says_what_the_rules_do_not_find(tmp_path: Path) -> None:
    finding = await doctor._scanner(load_settings({"GREENROOM_HOME": str(tmp_path)}))
    assert finding.verdict == "note"
    assert "GREENROOM_CLAMAV_URL" in finding.text


async def test_clamav_that_answers_and_one_that_does_not(tmp_path: Path) -> None:
    path = tmp_path / "clamd.ctl"
    settings = load_settings({"GREENROOM_CLAMAV_URL": f"unix://{path}"})
    away = await doctor._scanner(settings)
    assert (away.verdict, "quarantined" in away.text) == ("missing", True)
    async with await asyncio.start_unix_server(LocalClamd().serve, path):
        there = await doctor._scanner(settings)
    assert (there.verdict, there.text) == ("ok", "ClamAV 1.4.3/27000/Tue")


def test_an_address_that_cannot_be_used_stops_the_command() -> None:
    with pytest.raises(SettingsError, match="GREENROOM_CLAMAV_URL takes tcp://"):
        load_settings({"GREENROOM_CLAMAV_URL": "http://clamav"})


async def test_the_classifier_is_asked_where_it_runs(tmp_path: Path) -> None:
    finding = await doctor._classifier(load_settings({"GREENROOM_HOME": str(tmp_path)}))
    assert finding.verdict == "ok"
    assert "measured" in finding.text


def test_ffmpeg_and_what_its_absence_means(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor._video().verdict == "ok"
    monkeypatch.setattr(doctor, "find_ffmpeg", lambda: None)
    missing = doctor._video()
    assert missing.verdict == "note"
    assert "metadata" in missing.text
