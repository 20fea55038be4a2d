"""Structured logs with the standard library: one JSON line per record, plain text on a terminal.

Logs must not contain what people write. So only the extra fields in `FIELDS` are written, and of an
exception its type and stack. Exception messages often quote input, so they are written only for
types whose messages come from Python or the operating system. To log a new field, add it to
`FIELDS`.
"""

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import TextIO

import msgspec

FIELDS = (
    "corr_id",
    "method",
    "route",
    "status",
    "ms",
    "caller",
    "code",
    "job",
    "subject",
    "event",
    "count",
    "host",
    "port",
    "pid",
    "exit_code",
    "worker",
    "delay_s",
)
SLOW_MS = 1000

_SAFE_MESSAGE_TYPES = (OSError, ImportError, NameError, AttributeError, TypeError)

access_log = logging.getLogger("greenroom.access")


def configure_logging(level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Send all logs of this process to stderr. Call it once, before anything logs."""
    target = sys.stderr if stream is None else stream
    handler = logging.StreamHandler(target)
    handler.setFormatter(TextFormatter() if target.isatty() else JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # uvicorn logs each start and stop in several lines; we log the same in one.
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = describe(record.exc_info[1])
        try:
            return msgspec.json.encode(line, enc_hook=str).decode()
        except UnicodeEncodeError:  # a lone surrogate must not lose the line
            return msgspec.json.encode(ascii(line)).decode()


class TextFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        text = f"{_time(record)} {record.levelname:<7} {record.getMessage()}{fields}"
        if record.exc_info and record.exc_info[1] is not None:
            text += "\n" + describe(record.exc_info[1])
        return text


def _time(record: logging.LogRecord) -> str:
    moment = datetime.fromtimestamp(record.created, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


def _fields(record: logging.LogRecord) -> dict[str, object]:
    given = record.__dict__
    return {name: given[name] for name in FIELDS if given.get(name) is not None}


def describe(error: BaseException) -> str:
    """Type and stack of an error and of its causes, without messages that may quote input."""
    parts: list[str] = []
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        stack = "".join(traceback.format_tb(current.__traceback__))
        parts.append(f"{stack}{_name(current)}")
        current = current.__cause__ or (
            None if current.__suppress_context__ else current.__context__
        )
    return "\ncaused by\n".join(parts)


def _name(error: BaseException) -> str:
    name = type(error).__qualname__
    return f"{name}: {error}" if isinstance(error, _SAFE_MESSAGE_TYPES) else name


def log_access(
    *, method: str, route: str, status: int, ms: float, corr_id: str, caller: str
) -> None:
    """Log one request: the route template, never the actual path, query or body."""
    notable = status >= 500 or ms > SLOW_MS
    access_log.log(
        logging.WARNING if notable else logging.INFO,
        "request",
        extra={
            "method": method,
            "route": route,
            "status": status,
            "ms": round(ms, 1),
            "corr_id": corr_id,
            "caller": caller,
        },
    )
