"""An event bus on this machine that takes PutEvents as AWS does: it checks the signature with AWS's
own library and the request against AWS's own description of the service."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch

import botocore.session  # type: ignore[import-untyped]
from aiohttp import web
from botocore.auth import SigV4Auth  # type: ignore[import-untyped]
from botocore.awsrequest import AWSRequest  # type: ignore[import-untyped]
from botocore.credentials import Credentials  # type: ignore[import-untyped]
from botocore.validate import ParamValidator  # type: ignore[import-untyped]

from greenroom.platform.aws.signing import Keys

KEYS = Keys("AKIAEXAMPLE", "an example of a secret")
REGION = "eu-central-1"
BUS = "arn:aws:events:eu-central-1:123456789012:event-bus/marketplace"
MOST_BYTES = 262_144
OPERATION = botocore.session.Session().get_service_model("events").operation_model("PutEvents")

Json = dict[str, Any]
Refuses = Callable[[Json], str | None]
"""The error code of an entry, None to take it."""


@dataclass
class FakeBus:
    url: str = ""
    taken: list[Json] = field(default_factory=list)
    """The details that were taken, in order."""
    sizes: list[int] = field(default_factory=list)
    """How many bytes the entries of each request had."""
    outages: deque[web.Response | None] = field(default_factory=deque)
    """The answers to the next requests, whose entries are not taken; None: the connection ends."""
    refuses: Refuses = lambda _: None

    @property
    def event_ids(self) -> list[str]:
        return [each["data"]["event_id"] for each in self.taken]

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.read()
        _check_signature(request, body)
        entries = _check_entries(body)
        self.sizes.append(sum(map(_size, entries)))
        if self.outages:
            outage = self.outages.popleft()
            if outage is None:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            return outage
        answers = [self._take(each) for each in entries]
        failed = sum("ErrorCode" in each for each in answers)
        return web.json_response({"FailedEntryCount": failed, "Entries": answers})

    def _take(self, entry: Json) -> Json:
        detail = json.loads(entry["Detail"])
        code = self.refuses(detail)
        if code is not None:
            return {"ErrorCode": code, "ErrorMessage": "Not now."}
        assert entry["DetailType"] == detail["type"]
        self.taken.append(detail)
        return {"EventId": f"aws-{len(self.taken)}"}


def throttled() -> web.Response:
    said = {"__type": "ThrottlingException", "message": "Rate exceeded"}
    return web.json_response(said, status=400)


def _check_signature(request: web.Request, body: bytes) -> None:
    headers = request.headers
    again = AWSRequest(
        "POST",
        str(request.url),
        headers={name: headers[name] for name in ("Content-Type", "X-Amz-Target")},
        data=body,
    )
    moment = datetime.strptime(headers["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    with patch("botocore.auth.get_current_datetime", lambda: moment):
        SigV4Auth(Credentials(*KEYS), "events", REGION).add_auth(again)
    assert headers["Authorization"] == again.headers["Authorization"]
    metadata = OPERATION.service_model.metadata
    assert headers["X-Amz-Target"] == f"{metadata['targetPrefix']}.{OPERATION.name}"
    assert headers["Content-Type"] == f"application/x-amz-json-{metadata['jsonVersion']}"


def _check_entries(body: bytes) -> list[Json]:
    asked = json.loads(body)
    report = ParamValidator().validate(asked, OPERATION.input_shape)
    assert not report.has_errors(), report.generate_report()
    entries: list[Json] = asked["Entries"]
    assert 1 <= len(entries) <= 10
    assert sum(map(_size, entries)) <= MOST_BYTES
    for each in entries:
        assert (each["Source"], each["EventBusName"]) == ("greenroom", BUS)
    return entries


def _size(entry: Json) -> int:
    """As EventBridge counts; 14 for the time."""
    texts = (entry["Source"], entry["DetailType"], entry["Detail"])
    return 14 + sum(len(text.encode()) for text in texts)


@asynccontextmanager
async def running_bus() -> AsyncIterator[FakeBus]:
    bus = FakeBus()
    app = web.Application(client_max_size=4 * MOST_BYTES)
    app.router.add_post("/", bus.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    bus.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield bus
    finally:
        await runner.cleanup()
