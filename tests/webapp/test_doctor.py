"""`greenroom doctor` says whether there is a web app."""

from pathlib import Path

import pytest

from greenroom import doctor
from greenroom.settings import load_settings


@pytest.mark.parametrize(
    ("is_built", "verdict", "text"),
    [(True, "ok", "served at /app"), (False, "note", "run `make web`")],
)
async def test_doctor_says_whether_the_web_app_is_built(
    monkeypatch: pytest.MonkeyPatch,
    built: Path,
    tmp_path: Path,
    is_built: bool,
    verdict: str,
    text: str,
) -> None:
    monkeypatch.setattr(doctor, "BUILT", built if is_built else tmp_path / "absent")
    home = {"GREENROOM_HOME": str(tmp_path / "home"), "GREENROOM_PORT": "0"}
    findings = await doctor.examine(load_settings(home))
    [found] = [each for each in findings if each.subject == "web app"]
    assert found.verdict == verdict
    assert text in found.text
