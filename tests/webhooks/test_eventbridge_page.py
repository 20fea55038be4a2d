"""What docs/eventbridge.md prints to be copied is right."""

import json
import re
from typing import Any

from greenroom.platform.aws.eventbridge import SERVICE
from greenroom.webhooks.catalogue import EVENT_TYPES
from greenroom.webhooks.catalogue.loading import load_events
from greenroom.webhooks.eventbridge import SOURCE
from tests.support import REPOSITORY
from tests.webhooks.event_bus import BUS, OPERATION

PAGE = (REPOSITORY / "docs" / "eventbridge.md").read_text()
POLICY, BOOKINGS, REFUNDS = map(json.loads, re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL))


def matches(pattern: Any, value: Any) -> bool:
    """As EventBridge matches: every field by one of the values that its list names."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            name in value and matches(each, value[name]) for name, each in pattern.items()
        )
    return any(
        value.startswith(each["prefix"]) if isinstance(each, dict) else value == each
        for each in pattern
    )


def matched(pattern: Any, examples: dict[str, Any]) -> set[str]:
    return {
        name
        for name, example in examples.items()
        if matches(pattern, {"source": SOURCE, "detail-type": name, "detail": example})
    }


def test_the_rules_match_what_the_page_says() -> None:
    examples = {each.name: each.example for each in load_events().values()}
    bookings = {each for each in EVENT_TYPES if each.startswith(("lbg.", "leg."))}
    assert matched(BOOKINGS, examples) == {*bookings, "payment.intent.failed"}
    name = "action.state_change"
    refund = json.loads(json.dumps(examples[name]).replace('"extras"', '"refund"'))
    assert matched(REFUNDS, {**examples, name: refund}) == {name}
    assert matched(REFUNDS, examples) == set()


def test_the_policy_allows_what_is_done() -> None:
    [statement] = POLICY["Statement"]
    assert statement["Action"] == f"{SERVICE}:{OPERATION.name}"
    assert statement["Resource"] == BUS
