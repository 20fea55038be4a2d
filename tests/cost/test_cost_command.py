"""`greenroom cost` as people meet it: real processes, their output and exit codes."""

import json

import pytest

from greenroom import cli
from greenroom.cost.simple_estimate import SIMPLE_LINES
from tests.support import command


def cost(*options: str) -> command.Result:
    return command.run("cost", *options, given={})


def test_the_bill_stands_beside_the_simple_estimate_line_by_line() -> None:
    done = cost("--messages-per-day", "1000", "--conversations", "100", "--files-per-day", "100")
    assert done.code == 0
    text = " ".join(done.out.split())
    for line in SIMPLE_LINES:
        assert f"{line.name}: " in text
        assert line.origin in text
    assert "as of 2025-11-14" in text
    assert "free tier not applied" in text
    assert "≈ $3.00" in text
    assert "1,000,000,000" in text
    assert "10^9 messages/day" in text


def test_json_has_every_line_and_adds_up() -> None:
    document = json.loads(cost("--json").out)
    lines = document["lines"]
    assert sum(line["usd"] for line in lines) == pytest.approx(document["total_usd"])
    simple = {line["name"]: line["simple_usd"] for line in lines if line["simple_usd"] is not None}
    assert simple == {line.name: line.usd for line in SIMPLE_LINES}
    assert all(line["reason"] for line in lines)
    assert [point["messages_per_day"] for point in document["curve"]] == [
        10.0**n for n in range(3, 10)
    ]
    assert [each["how"] for each in document["waiting"]] == ["polling", "WebSocket"]


def test_markdown_is_tables() -> None:
    text = cost("--markdown", "--streaming-share", "1").out
    for line in SIMPLE_LINES:
        assert f"\n| {line.name} | " in text
    assert text.count("| --- |") >= 4


def test_every_assumption_is_an_option_with_its_default() -> None:
    shown = " ".join(cost("--help").out.split())
    for option in ("--messages-per-day N messages sent a day (1000)", "--free-tier", "--markdown"):
        assert option in shown


def test_more_messages_cost_more() -> None:
    few, many = (json.loads(cost("--json", "--messages-per-day", n).out) for n in ("1000", "1e6"))
    assert many["total_usd"] > few["total_usd"]
    assert many["assumptions"]["messages_per_day"] == 1_000_000


@pytest.mark.parametrize("text", ["nan", "inf", "-1", "many", "1e13", ""])
def test_a_number_that_is_none_is_refused_and_the_bounds_are_told(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli._parser().parse_args(["cost", f"--messages-per-day={text}"])
    told = capsys.readouterr().err
    assert "--messages-per-day: takes a number from 0 to 1e+12" in told


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--active-minutes", "1440", "--idle-minutes", "1"], "together at most 1440"),
        (["--messages-per-day", "0"], "at least one message a day"),
        (["--json", "--markdown"], "not allowed with"),
        (["--streaming-share", "1.1"], "from 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(options: list[str], told: str) -> None:
    done = cost(*options)
    assert done.code == 2
    assert told in done.err
