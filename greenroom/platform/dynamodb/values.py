"""Converts Python values to DynamoDB's JSON and back.

Only whole numbers: money, times and counters are integers here, and a float would come back as
another number. None values are left out of an item.
"""

from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Mapping
from typing import Any

Item = dict[str, Any]
Attribute = dict[str, Any]
"""One value with its type, such as `{"N": "12"}`."""


def to_wire(item: Mapping[str, Any]) -> dict[str, Attribute]:
    return {name: encode(value) for name, value in item.items() if value is not None}


def from_wire(attributes: Mapping[str, Attribute]) -> Item:
    return {name: decode(attribute) for name, attribute in attributes.items()}


def encode(value: Any) -> Attribute:
    encoder = _ENCODERS.get(type(value))
    return encoder(value) if encoder is not None else _encode_subclass(value)


def decode(attribute: Attribute) -> Any:
    ((kind, value),) = attribute.items()
    return value if kind in _AS_IS else _DECODERS[kind](value)


def _encode_subclass(value: Any) -> Attribute:
    """Enums of strings or numbers. Everything else is a bug of the caller."""
    if isinstance(value, str):
        return {"S": str(value)}
    if isinstance(value, int):
        return {"N": str(int(value))}
    raise TypeError(
        f"DynamoDB keeps no {type(value).__name__} here; give str, int, bool, bytes, list or dict."
    )


_ENCODERS: dict[type, Callable[[Any], Attribute]] = {
    str: lambda text: {"S": text},
    int: lambda number: {"N": str(number)},
    bool: lambda truth: {"BOOL": truth},
    bytes: lambda data: {"B": b2a_base64(data, newline=False).decode("ascii")},
    type(None): lambda _: {"NULL": True},
    list: lambda values: {"L": [encode(value) for value in values]},
    dict: lambda values: {"M": {name: encode(value) for name, value in values.items()}},
}

_AS_IS = frozenset({"S", "BOOL"})

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "N": int,
    "B": a2b_base64,
    "NULL": lambda _: None,
    "L": lambda values: [decode(value) for value in values],
    "M": from_wire,
}
