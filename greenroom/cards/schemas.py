"""JSON Schemas of payloads and inputs: a part of draft 7 in which everything has a limit."""

import re
from collections.abc import Callable
from typing import Any

import fastjsonschema

from greenroom.cards.model import Json, Schema
from greenroom.conversations.model import normalise_text
from greenroom.kernel.errors import CardInvalid

DRAFT = "http://json-schema.org/draft-07/schema#"
MOST_DEPTH = 6
MOST_DETAIL_CHARACTERS = 300

_DESCRIBES = frozenset({"type", "title", "description"})
_KEYWORDS = {
    "object": _DESCRIBES | {"properties", "required", "additionalProperties"},
    "array": _DESCRIBES | {"items", "minItems", "maxItems", "uniqueItems"},
    "string": _DESCRIBES | {"minLength", "maxLength", "pattern", "format", "enum"},
    "integer": _DESCRIBES | {"minimum", "maximum", "enum"},
    "number": _DESCRIBES | {"minimum", "maximum"},
    "boolean": _DESCRIBES,
}
_LIMITS = {
    "object": ("properties",),
    "array": ("items", "maxItems"),
    "string": ("maxLength",),
    "integer": ("minimum", "maximum"),
    "number": ("minimum", "maximum"),
    "boolean": (),
}


class SchemaError(Exception):
    """Says what is wrong with a schema and how to mend it."""


def read_schema(document: Json, name: str, *, fractions: bool) -> Schema:
    """Checked and compiled. `name` is what people call it: payload, or input. Raises SchemaError.

    Fractions are only for what is erased: what the history keeps is hashed, and different
    languages write the same fraction differently.
    """
    if document.get("type") != "object":
        raise SchemaError(f'{name} must be an object: give it type = "object"')
    _check(document, name, fractions, 0)
    try:
        compiled = fastjsonschema.compile({"$schema": DRAFT, **document}, use_default=False)
    except (fastjsonschema.JsonSchemaDefinitionException, re.error) as error:
        raise SchemaError(f"{name} is not a JSON Schema of draft 7: {error}") from None
    return Schema(document, _checker(compiled, name))


def _check(schema: Any, where: str, fractions: bool, depth: int) -> None:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind not in _KEYWORDS:
        raise SchemaError(f"{where} needs a type: one of {', '.join(_KEYWORDS)}")
    if depth > MOST_DEPTH:
        raise SchemaError(f"{where} is nested deeper than {MOST_DEPTH} levels: make it flatter")
    if kind == "number" and not fractions:
        raise SchemaError(
            f"{where} is a number: make it an integer in a smaller unit, such as cents"
        )
    for keyword in schema.keys() - _KEYWORDS[kind]:
        raise SchemaError(f"{where} has `{keyword}`, which is not for type {kind}: remove it")
    if "enum" not in schema:
        for limit in _LIMITS[kind]:
            if limit not in schema:
                raise SchemaError(f"{where} has no limit: give it `{limit}`")
    if kind == "object":
        _check_object(schema, where, fractions, depth)
    if kind == "array":
        _check(schema["items"], f"{where}[]", fractions, depth + 1)


def _check_object(schema: Json, where: str, fractions: bool, depth: int) -> None:
    if schema.get("additionalProperties") is not False:
        raise SchemaError(f"{where} takes what it does not know: set additionalProperties = false")
    for name in schema.get("required", ()):
        if name not in schema["properties"]:
            raise SchemaError(f"{where} requires `{name}`: add it to properties")
    for name, inner in schema["properties"].items():
        _check(inner, f"{where}.{name}", fractions, depth + 1)


def _checker(compiled: Callable[[Json], object], name: str) -> Callable[[Json], None]:
    def check(value: Json) -> None:
        try:
            compiled(value)
        except fastjsonschema.JsonSchemaValueException as error:
            raise CardInvalid(_say(str(error.message), name)) from None

    return check


def _say(message: str, name: str) -> str:
    """The compiler's words, without anything that the client sent."""
    text = re.sub(r" must not contain \{.*\} properties", " has what the schema does not", message)
    return re.sub(r"^data\b", name, text)[:MOST_DETAIL_CHARACTERS]


def normalised(value: Any, depth: int = 0) -> Any:
    """As it will be kept: texts without control characters, whole numbers as integers, so that the
    same meaning is the same JSON. Raises CardInvalid for what is nested deeper than any schema."""
    if depth > MOST_DEPTH + 1:
        raise CardInvalid("This is nested deeper than any card takes.")
    if isinstance(value, str):
        return normalise_text(value).strip()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [normalised(each, depth + 1) for each in value]
    if isinstance(value, dict):
        return {name: normalised(each, depth + 1) for name, each in value.items()}
    return value
