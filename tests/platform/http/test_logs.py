"""Log lines: structured, and free of what people sent."""

import io
import json
import logging
import sys

import pytest

from greenroom.platform.logs import (
    JsonFormatter,
    TextFormatter,
    configure_logging,
    log_access,
)


def record(message: str = "hello", **extra: object) -> logging.LogRecord:
    made = logging.makeLogRecord({"name": "greenroom.x", "levelname": "INFO", "msg": message})
    made.created = 1_700_000_000.1239
    made.__dict__.update(extra)
    return made


def failed(error: Exception) -> logging.LogRecord:
    try:
        raise error
    except type(error):
        return record(exc_info=sys.exc_info())


def test_a_line_is_json_with_utc_milliseconds() -> None:
    line = JsonFormatter().format(record("two\nlines", status=200))
    assert "\n" not in line
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.123Z",
        "level": "info",
        "logger": "greenroom.x",
        "message": "two\nlines",
        "status": 200,
    }


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_only_listed_fields_are_written(formatter: logging.Formatter) -> None:
    line = formatter.format(record(corr_id="cor_1", token="hunter2", body="hunter2"))
    assert "cor_1" in line
    assert "hunter2" not in line


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_an_exception_shows_its_stack_but_not_its_message(formatter: logging.Formatter) -> None:
    line = formatter.format(failed(ValueError("hunter2")))
    assert "ValueError" in line
    assert "in failed" in line
    assert "hunter2" not in line


def test_messages_of_the_operating_system_are_kept() -> None:
    assert "Connection refused" in JsonFormatter().format(
        failed(ConnectionRefusedError(111, "Connection refused"))
    )


def test_causes_are_shown() -> None:
    error = RuntimeError()
    error.__cause__ = KeyError("hunter2")
    line = JsonFormatter().format(failed(error))
    assert "KeyError" in line
    assert "hunter2" not in line


def test_a_lone_surrogate_does_not_cost_the_line() -> None:
    assert "surrogate" in JsonFormatter().format(record("surrogate \ud800"))


def test_an_access_line_has_the_template_only() -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    try:
        configure_logging(stream=stream)
        log_access(
            method="GET", route="/v1/{id}", status=503, ms=1.26, corr_id="cor_1", caller="anyone"
        )
    finally:
        root.handlers[:] = before
        root.setLevel(level)
    line = json.loads(stream.getvalue())
    assert line["level"] == "warning"
    assert (line["route"], line["status"], line["ms"]) == ("/v1/{id}", 503, 1.3)
