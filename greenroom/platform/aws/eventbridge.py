"""PutEvents of Amazon EventBridge."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec

from greenroom.kernel.clock import Clock, system_clock
from greenroom.kernel.errors import Unavailable
from greenroom.platform.aws.access import find_access
from greenroom.platform.aws.json_signing import JsonSigner
from greenroom.platform.aws.signing import KeySource
from greenroom.platform.http_client import HttpError, send

SERVICE = "events"
TARGET = "AWSEvents."
CONTENT_TYPE = "application/x-amz-json-1.1"
ENGINE_REGION = "us-east-1"
"""The region for engines other than AWS, which have no regions."""

ENTRIES_PER_REQUEST = 10
BYTES_PER_REQUEST = 256 * 1024
"""All entries together, as EventBridge counts them."""
TIME_BYTES = 14
TIMEOUT_S = 10.0
ANSWER_BYTES = 64 * 1024
PASSING = ("Throttling", "TooManyRequests", "InternalException", "InternalFailure", "Unavailable")
"""Parts of the error codes that a later attempt does not get."""


class EventBridgeError(Exception):
    """A configuration or permission problem; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Entry:
    source: str
    detail_type: str
    detail: str
    at_ms: int

    @property
    def size(self) -> int:
        """Bytes, as EventBridge counts them."""
        texts = (self.source, self.detail_type, self.detail)
        return TIME_BYTES + sum(len(text.encode()) for text in texts)


class _Answered(msgspec.Struct):
    event_id: str | None = msgspec.field(default=None, name="EventId")
    code: str | None = msgspec.field(default=None, name="ErrorCode")


class _Answer(msgspec.Struct):
    entries: list[_Answered] = msgspec.field(name="Entries")


class _Refusal(msgspec.Struct):
    type: str = msgspec.field(default="", name="__type")
    message: str = ""


class EventBridge:
    """One event bus, by its name or ARN."""

    def __init__(
        self, url: str, region: str, bus: str, keys: KeySource, *, clock: Clock = system_clock
    ) -> None:
        self.url = url
        self._bus = bus
        self._keys = keys
        self._clock = clock
        self._signer = JsonSigner(
            region,
            urlsplit(url).netloc,
            service=SERVICE,
            target=TARGET,
            content_type=CONTENT_TYPE,
        )

    async def find_keys(self) -> None:
        """Raises EventBridgeError if there are no credentials to sign requests with."""
        await self._keys()

    async def put(self, entries: Sequence[Entry]) -> list[str | None]:
        """Publish at most 10 entries. For each, in order, None if it was taken, else the code of
        its error. Raises Unavailable if it is not known whether any was taken or a later attempt
        can succeed, and EventBridgeError if somebody has to correct something."""
        body = msgspec.json.encode({"Entries": [self._entry(each) for each in entries]})
        headers = self._signer.headers("PutEvents", body, await self._keys(), self._clock())
        try:
            reply = await send(
                "POST",
                self.url + "/",
                headers=headers,
                body=body,
                timeout_s=TIMEOUT_S,
                limit_bytes=ANSWER_BYTES,
            )
        except HttpError as failure:
            raise Unavailable(f"EventBridge does not answer: {failure}") from failure
        if reply.status != 200:
            raise _refusal(reply.status, reply.body)
        try:
            answer = msgspec.json.decode(reply.body, type=_Answer)
        except msgspec.DecodeError as failure:
            raise Unavailable("EventBridge's answer cannot be read.") from failure
        if len(answer.entries) != len(entries):
            raise Unavailable("EventBridge's answer has another number of entries.")
        return [None if each.event_id else each.code or "unknown" for each in answer.entries]

    def _entry(self, entry: Entry) -> dict[str, object]:
        return {
            "Time": entry.at_ms / 1000,
            "Source": entry.source,
            "DetailType": entry.detail_type,
            "Detail": entry.detail,
            "EventBusName": self._bus,
        }


def _refusal(status: int, body: bytes) -> Exception:
    try:
        refusal = msgspec.json.decode(body, type=_Refusal)
    except msgspec.DecodeError:
        refusal = _Refusal()
    code = refusal.type.rpartition("#")[2]
    if status >= 500 or status == 429 or any(part in code for part in PASSING):
        return Unavailable(f"EventBridge answers {status} {code}")
    return EventBridgeError(
        f"EventBridge refuses events: {status} {code} {refusal.message}. Check "
        "GREENROOM_EVENTBRIDGE_BUS, its region and the permission events:PutEvents."
    )


def open_event_bridge(
    bus: str, *, endpoint: str | None, region: str | None, clock: Clock = system_clock
) -> EventBridge:
    """The bus of this name or ARN. An ARN also says the region. Raises EventBridgeError when the
    configuration of AWS is not complete. Blocks, because it reads files."""
    parts = bus.split(":")
    region = region or (parts[3] if len(parts) > 3 and parts[0] == "arn" else None)
    region, keys = find_access(
        region,
        EventBridgeError,
        extra="eventbridge",
        setting="GREENROOM_EVENTBRIDGE_REGION",
        needs_region=endpoint is None,
    )
    region = region or ENGINE_REGION
    domain = "amazonaws.com.cn" if region.startswith("cn-") else "amazonaws.com"
    url = endpoint or f"https://events.{region}.{domain}"
    return EventBridge(url, region, bus, keys, clock=clock)
