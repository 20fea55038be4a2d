"""`greenroom doctor` looks at how servers wake each other."""

from pathlib import Path

from greenroom.doctor import Finding, examine
from greenroom.settings import load_settings
from tests.support.nats_server import NatsServer


async def found(home: Path, **more: str) -> Finding:
    environ = {"GREENROOM_HOME": str(home), "GREENROOM_PORT": "0", **more}
    [bus] = [each for each in await examine(load_settings(environ)) if each.subject == "bus"]
    return bus


async def test_doctor_says_that_nats_answers(tmp_path: Path, nats_server: NatsServer) -> None:
    bus = await found(tmp_path, GREENROOM_NATS_URL=nats_server.url)
    assert (bus.verdict, bus.text) == ("ok", "NATS answers")


async def test_doctor_says_what_to_do_when_nats_does_not_answer(tmp_path: Path) -> None:
    bus = await found(tmp_path, GREENROOM_NATS_URL="nats://greenroom:hunter2@127.0.0.1:1")
    assert bus.verdict == "missing"
    assert "check GREENROOM_NATS_URL" in bus.text
    assert "hunter2" not in bus.text


async def test_without_nats_the_database_wakes(tmp_path: Path) -> None:
    assert (await found(tmp_path)).text == "through the database"
