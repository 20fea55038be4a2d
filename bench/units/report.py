"""The measured units, as Markdown for people and as units.json for the bill."""

import json
from collections import Counter
from collections.abc import Mapping

import msgspec

from bench.units.scenario import MESSAGE_BYTES, Measured
from greenroom import __version__
from greenroom.cost.tables import Operations, Units

BILLED = tuple(field.name for field in msgspec.structs.fields(Operations))


def units_of(measured: Measured) -> Units:
    return Units(measured.read, measured.write, measured.bytes_stored)


def as_markdown(measured: Mapping[str, Measured]) -> str:
    """Each operation with its requests, their items and units. Equal requests are listed once."""
    lines = [
        "| operation | request | items | read units | write units |",
        "|---|---|---|---|---|",
    ]
    for name, each in measured.items():
        lines.append(f"| **{name}** | | | **{each.read:g}** | **{each.write:g}** |")
        for request, times in Counter(each.requests).items():
            action = f"{request.action} × {times}" if times > 1 else request.action
            read, write = (_shown(times * units) for units in (request.read, request.write))
            lines.append(f"| | {action} | {request.items} | {read} | {write} |")
    return "\n".join(lines)


def _shown(units: float) -> str:
    return f"{units:g}" if units else ""


def as_table(measured: Mapping[str, Measured]) -> str:
    """greenroom/cost/units.json, a line for each operation."""

    def lines(names: list[str]) -> str:
        entries = []
        for name in names:
            units = msgspec.to_builtins(units_of(measured[name]))
            entries.append(f'    "{name}": {json.dumps(units)}')
        return ",\n".join(entries)

    further = [name for name in measured if name not in BILLED]
    return (
        "{\n"
        f'  "measured_at_version": "{__version__}",\n'
        f'  "message_bytes": {MESSAGE_BYTES},\n'
        f'  "operations": {{\n{lines(list(BILLED))}\n  }},\n'
        f'  "further": {{\n{lines(further)}\n  }}\n'
        "}\n"
    )
