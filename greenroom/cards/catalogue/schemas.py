"""JSON Schemas of payloads and inputs: a subset of draft 7 in which everything has a limit."""

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, get_args

import fastjsonschema

from greenroom.cards.card_files import NamedFile
from greenroom.cards.model import Json, Schema
from greenroom.conversations.model import normalise_text
from greenroom.files.model import Purpose
from greenroom.kernel.clock import parse_rfc3339
from greenroom.kernel.errors import CardInvalid, InvalidRequest

DRAFT = "http://json-schema.org/draft-07/schema#"
MOST_DEPTH = 6
MOST_DETAIL_CHARACTERS = 300

HIDDEN = "x-hidden"
"""A keyword of Greenroom: forms neither ask for such a value nor show it."""
FILE = "x-file"
"""A keyword of Greenroom: the value is the id of an uploaded file of this purpose."""
PURPOSES: tuple[str, ...] = get_args(Purpose)
_DESCRIBES = frozenset({"type", "title", "description", HIDDEN})
_KEYWORDS = {
    "object": _DESCRIBES | {"properties", "required", "additionalProperties"},
    "array": _DESCRIBES | {"items", "minItems", "maxItems", "uniqueItems"},
    "string": _DESCRIBES | {"minLength", "maxLength", "pattern", "format", "enum", FILE},
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
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_FIRST_YEAR = 1970
_SAID = {
    "must be date-time": "must be a time such as 2026-01-31T12:00:00Z, between 1970 and 9999",
    "must be date": "must be a date such as 2026-01-31, between 1970 and 9999",
}


def _is_time(text: str) -> bool:
    try:
        parse_rfc3339(text if _TIME.fullmatch(text) else "")
    except InvalidRequest:
        return False
    return True


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text if _DATE.fullmatch(text) else "").year >= _FIRST_YEAR
    except ValueError:
        return False


# Every time in a payload or an input must exist and be in a range that can be shown.
_FORMATS = {"date-time": _is_time, "date": _is_date}


class SchemaError(Exception):
    """Says what is wrong with a schema and how to correct it."""


def read_schema(document: Json, name: str, *, fractions: bool) -> Schema:
    """Check and compile a schema. `name` is `payload` or `input`, for messages. Raises SchemaError.

    Fractions are allowed only for payloads that are erased. Others are hashed for the history, and
    programming languages write the same fraction differently.
    """
    if document.get("type") != "object":
        raise SchemaError(f'{name} must be an object: give it type = "object"')
    _check(document, name, fractions, 0)
    try:
        compiled = fastjsonschema.compile(
            {"$schema": DRAFT, **document}, formats=_FORMATS, use_default=False
        )
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
    if schema.get(FILE, "proof") not in PURPOSES:
        raise SchemaError(f"{where} has an unknown `{FILE}`: use one of {', '.join(PURPOSES)}")
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


def files_in(schema: Json, value: Any) -> Iterator[NamedFile]:
    """The files that a value names, in order. The value may be of an earlier form of the schema."""
    if isinstance(value, str) and FILE in schema:
        yield NamedFile(value, schema[FILE])
    elif isinstance(value, list) and "items" in schema:
        for each in value:
            yield from files_in(schema["items"], each)
    elif isinstance(value, dict) and "properties" in schema:
        for name, inner in schema["properties"].items():
            if name in value:
                yield from files_in(inner, value[name])


def _checker(compiled: Callable[[Json], object], name: str) -> Callable[[Json], None]:
    def check(value: Json) -> None:
        try:
            compiled(value)
        except fastjsonschema.JsonSchemaValueException as error:
            raise CardInvalid(_say(str(error.message), name)) from None

    return check


def _say(message: str, name: str) -> str:
    """The compiler's message, without values that the client sent."""
    text = re.sub(r" must not contain \{.*\} properties", " has what the schema does not", message)
    for words, said in _SAID.items():
        if text.endswith(words):
            text = text.removesuffix(words) + said
    return re.sub(r"^data\b", name, text)[:MOST_DETAIL_CHARACTERS]


def normalised(value: Any, depth: int = 0) -> Any:
    """The value as it is stored: texts without control characters, whole numbers as integers, so
    that equal values are equal JSON. Raises CardInvalid if it is nested deeper than any schema."""
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
