"""`make test-clock` tries the same kinds of moments on whatever day it is run."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from tests.support import REPOSITORY
from tools.moments import PARTS, every_moment

DAYS = ("2026-11-18T03:04", "2028-02-29T12:00", "2028-12-31T23:59", "2029-03-25T00:59")


@pytest.mark.parametrize("today", DAYS)
def test_the_moments_are_the_next_ones(today: str) -> None:
    now = datetime.fromisoformat(today).replace(tzinfo=UTC)
    moments = {each.name: each for each in every_moment(now)}
    assert all(each.at >= now for each in moments.values())
    hours = {f"{moments[name].at:%H:%M}" for name in ("00:01", "03:00", "09:59", "12:00", "23:59")}
    assert hours == {"00:01", "03:00", "09:59", "12:00", "23:59"}
    assert f"{moments['29-february'].at:%m-%d}" == "02-29"
    assert f"{moments['31-december'].at:%m-%d}" == "12-31"
    for city in ("berlin", "los-angeles"):
        for name in ("forward", "back"):
            moment = moments[f"{city}-{name}"]
            zone = ZoneInfo(moment.zone)
            soon = (moment.at + timedelta(minutes=2)).astimezone(zone)
            assert moment.at.astimezone(zone).utcoffset() != soon.utcoffset()
            assert f"{soon:%A}" == "Sunday"


def test_what_is_tried_is_there() -> None:
    assert [part for part in PARTS if not (REPOSITORY / part).is_file()] == []
