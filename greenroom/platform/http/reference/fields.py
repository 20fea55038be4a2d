"""Renders JSON schemas as HTML: the type in words, the fields as a table."""

from html import escape
from typing import Any

Schema = dict[str, Any]

_BOUNDS = (
    ("maxLength", "at most {} characters"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
)


class Fields:
    """Resolves references against the document's components."""

    def __init__(self, components: dict[str, Schema]) -> None:
        self._components = components

    def resolve(self, schema: Schema) -> Schema:
        return self._components[_name(schema)] if "$ref" in schema else schema

    def words(self, schema: Schema) -> str:
        """The type in a few words, as HTML."""
        if "$ref" in schema:
            target = self.resolve(schema)
            is_enum = "enum" in target
            return self.words(target) if is_enum else f"<code>{escape(_name(schema))}</code>"
        if "anyOf" in schema or "oneOf" in schema:
            options = schema.get("anyOf") or schema["oneOf"]
            return " or ".join(self.words(each) for each in options)
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            return " ".join(f"<code>{escape(str(each))}</code>" for each in values)
        return self._plain_words(schema)

    def _plain_words(self, schema: Schema) -> str:
        kind = schema.get("type", "any value")
        if kind == "array":
            items = schema.get("items")
            return f"list of {self.words(items)}" if items else "list"
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"object of {self.words(schema['additionalProperties'])}"
        return escape(str(schema.get("format", kind)))

    def notes(self, schema: Schema, *, required: bool) -> str:
        """Everything about a field beyond its type, as HTML."""
        notes = ["required"] if required else []
        bounded = _without_null(schema)
        notes += ["not empty"] if bounded.get("minLength") == 1 else []
        notes += [words.format(bounded[key]) for key, words in _BOUNDS if key in bounded]
        default = schema.get("default")
        if default not in (None, "", [], {}):
            notes.append(f"default {str(default).lower() if default is True else default}")
        text = escape("; ".join(notes))
        description = escape(schema.get("description", ""))
        return f"{description} <span class=quiet>{text}</span>".strip()

    def table(self, schema: Schema) -> str:
        """A table of a struct's fields; a single line for any other type."""
        target = self.resolve(schema)
        properties = target.get("properties")
        if not properties:
            return f"<p>{self.words(schema)}</p>"
        required = set(target.get("required", ()))
        rows = [
            (name, self.words(field), self.notes(field, required=name in required))
            for name, field in properties.items()
        ]
        return table(("Field", "Type", "Notes"), rows)

    def mentioned(self, schema: Schema) -> list[str]:
        """The structs inside this one, each once, in order of appearance."""
        found: dict[str, None] = {}
        self._collect(self.resolve(schema), found)
        return [name for name in found if "properties" in self._components[name]]

    def _collect(self, node: Any, found: dict[str, None]) -> None:
        if isinstance(node, list):
            for each in node:
                self._collect(each, found)
        elif isinstance(node, dict):
            name = _name(node) if isinstance(node.get("$ref"), str) else None
            if name is not None and name not in found:
                found[name] = None
                self._collect(self._components[name], found)
            for key, value in node.items():
                if key not in {"discriminator", "default", "enum"}:
                    self._collect(value, found)


def _name(reference: Schema) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _without_null(schema: Schema) -> Schema:
    options = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    return options[0] if len(options) == 1 else schema


def table(head: tuple[str, str, str], rows: list[tuple[str, str, str]]) -> str:
    """Escapes the names; the other cells are HTML already."""
    labels = "".join(f"<th scope=col>{label}" for label in head)
    body = "".join(
        f"<tr><td><code>{escape(name)}</code><td>{words}<td>{notes}" for name, words, notes in rows
    )
    return f"<div class=scroll><table><thead><tr>{labels}<tbody>{body}</table></div>"
