"""Poll and long-poll: the same call, asked again and again."""

from typing import Any, NoReturn

from greenroom_client.activity import Activity
from greenroom_client.backoff import RetryBudget
from greenroom_client.calls import Calls
from greenroom_client.errors import NotOpenedError
from greenroom_client.limits import ClientLimits
from greenroom_client.timing import Timing
from greenroom_client.transport import Sink

Json = dict[str, Any]

# Answers without events that came long before the time was up: something does not let us wait.
HASTY_ANSWERS = 3


class Polling:
    """Asks for the next page when the application has taken the last one, and not before: asking
    tells the server that everything up to `since` has arrived."""

    def __init__(
        self,
        calls: Calls,
        activity: Activity,
        budget: RetryBudget,
        timing: Timing,
        limits: ClientLimits,
        *,
        wait_s: int = 0,
    ) -> None:
        self._calls = calls
        self._activity = activity
        self._budget = budget
        self._timing = timing
        self._limits = limits
        self._wait_s = wait_s

    async def run(self, since: str | None, sink: Sink) -> NoReturn:
        # The first is answered at once, so that one knows whether it works.
        asked_s = self._timing.now_s()
        page = await self._ask(since, wait_s=0)
        sink.opened(None)
        hasty = 0
        while True:
            for event in page["events"]:
                sink.deliver(event, event["cursor"])
            sink.deliver(None, page["cursor"])
            since = await sink.taken()
            if not self._wait_s and not page["has_more"]:
                await self._activity.pause(asked_s)
            asked_s = self._timing.now_s()
            page = await self._ask(since, wait_s=self._wait_s)
            if self._is_hasty(page, asked_s):
                hasty += 1
                await self._pause_hastily(hasty)
            else:
                hasty = 0

    async def _ask(self, since: str | None, *, wait_s: int) -> Json:
        params: Json = {}
        if since is not None:
            params["since"] = since
        if wait_s:
            params["wait"] = wait_s
        page: Json = await self._calls.call("GET", "/v1/sync", params=params, wait_s=wait_s)
        self._budget.note_success()
        return page

    def _is_hasty(self, page: Json, asked_s: float) -> bool:
        took_s = self._timing.now_s() - asked_s
        return not page["events"] and took_s < self._wait_s / 2

    async def _pause_hastily(self, hasty: int) -> None:
        if hasty >= HASTY_ANSWERS:
            raise NotOpenedError("long-polls are answered at once")
        await self._timing.sleep(self._limits.poll_open_s)
