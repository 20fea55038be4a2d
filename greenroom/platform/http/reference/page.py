"""Renders the OpenAPI document as one HTML page (`/docs`), without scripts or other requests."""

import base64
import functools
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from greenroom.platform.http.reference.fields import Fields, Schema, table

_PROBLEM_MEDIA = "application/problem+json"
_WHO = {
    (): "Anyone may call this.",
    ("person",): "For a person, with their own token.",
    ("backend",): "For your backend, with an API key.",
    ("person", "backend"): "For a person or your backend.",
}


@functools.cache
def _style() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def content_security_policy() -> str:
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True, slots=True)
class _Operation:
    method: str
    path: str
    spec: Schema

    @property
    def anchor(self) -> str:
        return str(self.spec["operationId"])


def render_docs(document: dict[str, Any]) -> bytes:
    groups = _groups(document)
    title = escape(document["info"]["title"])
    fields = Fields(document["components"]["schemas"])
    parts = [
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<style>{_style()}</style></head><body>",
        '<a class="skip" href="#content">Skip to the calls</a><div class="frame">',
        _navigation(groups),
        f'<main id="content" tabindex="-1">{_introduction(document)}',
        *(_group(tag, operations, fields) for tag, operations in groups.items()),
        _errors(document["x-problems"]),
        "</main></div></body></html>",
    ]
    return "".join(parts).encode()


def _groups(document: dict[str, Any]) -> dict[str, list[_Operation]]:
    groups: dict[str, list[_Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, spec in methods.items():
            groups[spec["tags"][0]].append(_Operation(method.upper(), path, spec))
    return groups


def _navigation(groups: dict[str, list[_Operation]]) -> str:
    """Collapsed above the content on a phone; on wide screens the stylesheet shows it beside."""
    lists = "".join(
        f"<h2>{escape(tag)}</h2><ul>{''.join(map(_link, operations))}</ul>"
        for tag, operations in groups.items()
    )
    return (
        '<div class="side"><nav aria-label="Calls"><details><summary>All calls</summary>'
        f'{lists}<h2>Errors</h2><ul><li><a href="#errors">All error codes</a></ul>'
        "</details></nav></div>"
    )


def _link(operation: _Operation) -> str:
    return f'<li><a href="#{operation.anchor}">{escape(operation.spec["summary"])}</a>'


def _introduction(document: dict[str, Any]) -> str:
    info = document["info"]
    return (
        f"<h1>{escape(info['title'])}</h1>"
        f'<p class="lead">Version {escape(info["version"])}. JSON in and out, times in UTC as '
        "RFC 3339, errors as RFC 9457 problems. The same reference for machines: "
        '<a href="/openapi.json">openapi.json</a>.</p>'
    )


def _group(tag: str, operations: list[_Operation], fields: Fields) -> str:
    articles = "".join(_article(each, fields) for each in operations)
    return f'<section><h2 class="group">{escape(tag)}</h2>{articles}</section>'


def _article(operation: _Operation, fields: Fields) -> str:
    spec = operation.spec
    schemes = tuple(name for option in spec["security"] for name in option)
    return "".join(
        [
            f'<article id="{operation.anchor}"><h3><a href="#{operation.anchor}">',
            f"{escape(spec['summary'])}</a></h3>",
            f'<p class="call"><span class="method">{operation.method}</span> ',
            f'<span class="path">{escape(operation.path)}</span></p>',
            f'<p class="quiet">{_WHO[schemes]}{_scope(spec["security"])}</p>',
            _prose(spec.get("description", "")),
            _parameters(spec.get("parameters", []), fields),
            _body(spec.get("requestBody"), fields),
            _answers(spec["responses"], fields),
            _refusals(spec["responses"]),
            "</article>",
        ]
    )


def _scope(security: list[dict[str, list[str]]]) -> str:
    """What a backend's key needs."""
    needed = [scope for option in security for scope in option.get("backend", ())]
    return f" The key needs the scope {_with_code(f'`{needed[0]}`')}." if needed else ""


def _prose(text: str) -> str:
    """Escaped text with `code` as the only markup."""
    if not text:
        return ""
    return f"<p>{_with_code(text)}</p>"


def _with_code(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _parameters(parameters: list[Schema], fields: Fields) -> str:
    if not parameters:
        return ""
    rows = []
    for each in parameters:
        described = {**each["schema"], "description": each.get("description", "")}
        notes = fields.notes(described, required=each["required"])
        words = f"{fields.words(each['schema'])} <span class=quiet>in {each['in']}</span>"
        rows.append((each["name"], words, notes))
    return f"<h4>Parameters</h4>{table(('Name', 'Type', 'Notes'), rows)}"


def _body(body: Schema | None, fields: Fields) -> str:
    if body is None:
        return ""
    schema = body["content"].get("application/json", {}).get("schema")
    if schema is None:
        return "<h4>Body</h4><p>Bytes, as they are.</p>"
    return f"<h4>Body</h4>{fields.table(schema)}{_inner_types(schema, fields)}"


def _inner_types(schema: Schema, fields: Fields) -> str:
    return "".join(
        f'<details class="type"><summary><code>{escape(name)}</code></summary>'
        f"{fields.table({'$ref': f'#/components/schemas/{name}'})}</details>"
        for name in fields.mentioned(schema)
    )


def _answers(responses: Schema, fields: Fields) -> str:
    return "<h4>Answers</h4>" + "".join(_answer_parts(responses, fields))


def _answer_parts(responses: Schema, fields: Fields) -> Iterator[str]:
    for status, response in _by_kind(responses, problems=False):
        heading = f"<strong>{status}</strong> {escape(response['description'])}"
        media, content = next(iter(response.get("content", {}).items()), ("", None))
        if content is None:
            yield f"<p>{heading}, without a body</p>"
        elif media != "application/json":
            yield f"<p>{heading}, {escape(media)}</p>"
        else:
            schema = content["schema"]
            yield (
                f'<details class="type"><summary>{heading}, {fields.words(schema)}</summary>'
                f"{fields.table(schema)}{_inner_types(schema, fields)}</details>"
            )


def _refusals(responses: Schema) -> str:
    listed = []
    for status, response in _by_kind(responses, problems=True):
        codes = re.findall(r"`(\w+)`", response["description"])
        links = ", ".join(f'<a href="#{code}"><code>{code}</code></a>' for code in codes)
        listed.append(f"{status} {links}")
    return f"<h4>Errors</h4><p>{'; '.join(listed)}</p>"


def _by_kind(responses: Schema, *, problems: bool) -> Iterable[tuple[str, Schema]]:
    for status, response in responses.items():
        if (_PROBLEM_MEDIA in response.get("content", {})) is problems:
            yield status, response


def _errors(problems: list[Schema]) -> str:
    by_code: dict[str, list[Schema]] = {}
    for problem in problems:
        by_code.setdefault(problem["code"], []).append(problem)
    items = "".join(_error(code, several) for code, several in by_code.items())
    return (
        '<section id="errors"><h2 class="group">Errors</h2><p class="lead">Each answer that is '
        "an error has one of these as its <code>code</code>, and a <code>corr_id</code> to quote "
        f"when you ask about it.</p><dl>{items}</dl></section>"
    )


def _error(code: str, problems: list[Schema]) -> str:
    meanings = "".join(
        f'<dd>{escape(each["title"])}. <span class="quiet">{each["status"]}. '
        f"{_with_code(each['hint'])}</span></dd>"
        for each in problems
    )
    return f'<dt id="{code}"><a href="#{code}"><code>{code}</code></a></dt>{meanings}'
