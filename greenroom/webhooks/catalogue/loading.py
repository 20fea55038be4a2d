"""Reads the catalogue: one file per type of event in `types/`, and the definitions they share."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

Json = dict[str, Any]

FOLDER = Path(__file__).parent
DEFINITIONS = FOLDER / "definitions.json"
TYPES = FOLDER / "types"


@dataclass(frozen=True, slots=True)
class EventType:
    """`schema` is that of a whole delivery, as JSON Schema 2020-12 that needs no other file."""

    name: str
    meaning: str
    when: str
    schema: Json
    example: Json

    @property
    def data(self) -> Json:
        """The schema of `data`."""
        data: Json = self.schema["properties"]["data"]
        return data


@cache
def load_definitions() -> Json:
    """The shared definitions by name."""
    definitions: Json = _bundled(msgspec.json.decode(DEFINITIONS.read_bytes()))["$defs"]
    return definitions


@cache
def load_events() -> dict[str, EventType]:
    """All types of events by name, in the order of their names."""
    return {path.stem: _load(path) for path in sorted(TYPES.glob("*.json"))}


def _load(path: Path) -> EventType:
    written = msgspec.json.decode(path.read_bytes())
    [example] = written.pop("examples")
    when = written.pop("x-when")
    schema = {**_bundled(written), "$defs": load_definitions()}
    return EventType(path.stem, written["description"], when, schema, example)


def _bundled(value: Any) -> Any:
    """References to the file of definitions as references inside the schema."""
    if isinstance(value, dict):
        return {
            name: each.removeprefix(DEFINITIONS.name) if name == "$ref" else _bundled(each)
            for name, each in value.items()
        }
    return [_bundled(each) for each in value] if isinstance(value, list) else value
