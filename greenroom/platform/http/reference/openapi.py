"""Generates the OpenAPI 3.1 document from the endpoints."""

from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

import msgspec

from greenroom.kernel.errors import (
    Forbidden,
    Internal,
    InvalidRequest,
    NotFound,
    PayloadTooLarge,
    Problem,
    Unauthenticated,
    Unavailable,
    UnsupportedType,
)
from greenroom.platform.http.endpoint import Endpoint, Who
from greenroom.platform.http.problems import CONTENT_TYPE

Schema = dict[str, Any]

_REF = "#/components/schemas/{name}"
_NULL: Schema = {"type": "null"}
_ADMITTED: dict[Who, tuple[str, ...]] = {
    Who.ANYONE: (),
    Who.PERSON: ("person",),
    Who.BACKEND: ("backend",),
    Who.PERSON_OR_BACKEND: ("person", "backend"),
}
_SECURITY_SCHEMES: Schema = {
    "person": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "A token that the marketplace's backend signs for one person.",
    },
    "backend": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "API key",
        "description": "An API key of the marketplace's backend, `grk_…`, with the scope that the "
        "call names.",
    },
}
_IDEMPOTENCY_KEY: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Makes the call safe to repeat: the same key and body get the first answer.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


def openapi_document(
    endpoints: Sequence[Endpoint],
    *,
    title: str,
    version: str,
    problems: Iterable[type[Problem]],
) -> Schema:
    _check_operation_ids(endpoints)
    schemas = _Schemas(endpoints)
    known = list(problems)
    paths: Schema = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(each.tag for each in endpoints)],
        "paths": paths,
        "components": {
            "schemas": {**schemas.components, "Problem": _problem_schema(known)},
            "securitySchemes": _SECURITY_SCHEMES,
        },
        "x-problems": _problem_list(known),
    }


def _check_operation_ids(endpoints: Sequence[Endpoint]) -> None:
    seen: set[str] = set()
    for endpoint in endpoints:
        if endpoint.operation_id in seen:
            raise ValueError(f"two handlers are called {endpoint.operation_id}")
        seen.add(endpoint.operation_id)


class _Schemas:
    """JSON schemas of all types that the endpoints use, by type."""

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        types = list(dict.fromkeys(_types(endpoints)))
        found, self.components = msgspec.json.schema_components(
            types, schema_hook=_schema_of_custom_type, ref_template=_REF
        )
        self._by_type: dict[Any, Schema] = dict(zip(types, found, strict=True))
        # Queries are documented as parameters, so their structs are not listed as components.
        self._queries: dict[Any, Schema] = {}
        for query in dict.fromkeys(each.query for each in endpoints if each.query is not None):
            name = self._by_type[query]["$ref"].rpartition("/")[2]
            self._queries[query] = self.components.pop(name)
        for component in self.components.values():
            _drop_null_defaults(component)

    def of(self, kind: Any) -> Schema:
        return self._by_type[kind]

    def query_parameters(self, struct: Any) -> list[Schema]:
        schema = self._queries[struct]
        required = set(schema.get("required", ()))
        return [
            _query_parameter(name, field, required=name in required)
            for name, field in schema["properties"].items()
        ]


def _types(endpoints: Sequence[Endpoint]) -> Iterable[Any]:
    for endpoint in endpoints:
        mentioned = [endpoint.body, endpoint.query, *endpoint.answers.values()]
        yield from (each for each in mentioned if each is not None)


def _schema_of_custom_type(kind: type) -> Schema:
    if kind is object:
        return {}
    raise NotImplementedError(f"{kind} has no JSON schema")


def _drop_null_defaults(schema: Schema) -> None:
    """Removes `default: null`: that a field is optional is already in `required`."""
    for field in schema.get("properties", {}).values():
        if field.get("default", ...) is None:
            del field["default"]


def _query_parameter(name: str, field: Schema, *, required: bool) -> Schema:
    """Removes null from query parameters: it is expressed by leaving the parameter out."""
    schema = dict(field)
    description = schema.pop("description", None)
    if schema.get("default", ...) is None:
        del schema["default"]
    if "anyOf" in schema:
        rest = [each for each in schema["anyOf"] if each != _NULL]
        if len(rest) == 1:
            del schema["anyOf"]
            schema = {**rest[0], **schema}
        else:
            schema["anyOf"] = rest
    described = {"description": description} if description else {}
    return {"name": name, "in": "query", "required": required, **described, "schema": schema}


def _operation(endpoint: Endpoint, schemas: _Schemas) -> Schema:
    operation: Schema = {
        "operationId": endpoint.operation_id,
        "summary": endpoint.summary,
        "tags": [endpoint.tag],
        "security": _security(endpoint),
        "responses": {**_answers(endpoint, schemas), **_refusals(endpoint)},
    }
    if endpoint.description:
        operation["description"] = endpoint.description
    parameters = _parameters(endpoint, schemas)
    if parameters:
        operation["parameters"] = parameters
    if endpoint.body is not None:
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas.of(endpoint.body)}},
        }
    elif endpoint.streamed_bytes is not None:
        operation["requestBody"] = {"required": True, "content": {"*/*": {}}}
    return operation


def _security(endpoint: Endpoint) -> list[dict[str, list[str]]]:
    """A backend's key needs the scope in the list."""
    scopes = {"backend": [endpoint.scope] if endpoint.scope else []}
    return [{scheme: list(scopes.get(scheme, []))} for scheme in _ADMITTED[endpoint.who]]


def _parameters(endpoint: Endpoint, schemas: _Schemas) -> list[Schema]:
    parameters: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in endpoint.param_names
    ]
    if endpoint.query is not None:
        parameters += schemas.query_parameters(endpoint.query)
    if endpoint.once:
        parameters.append(_IDEMPOTENCY_KEY)
    return parameters


def _answers(endpoint: Endpoint, schemas: _Schemas) -> Schema:
    answers: Schema = {}
    for status, kind in endpoint.answers.items():
        answer: Schema = {"description": HTTPStatus(status).phrase}
        if kind is not None:
            answer["content"] = {endpoint.media: {"schema": schemas.of(kind)}}
        answers[str(status)] = answer
    return answers


def _refusals(endpoint: Endpoint) -> Schema:
    codes: dict[int, list[str]] = {}
    for problem in sorted(possible_problems(endpoint), key=lambda each: each.status):
        listed = codes.setdefault(problem.status, [])
        if problem.code not in listed:
            listed.append(problem.code)
    return {
        str(status): {
            "description": ", ".join(f"`{code}`" for code in listed),
            "content": {CONTENT_TYPE: {"schema": {"$ref": _REF.format(name="Problem")}}},
        }
        for status, listed in codes.items()
    }


def possible_problems(endpoint: Endpoint) -> list[type[Problem]]:
    """The endpoint's own problems and those that every call of its kind can get."""
    possible: list[type[Problem]] = [*endpoint.errors, Internal, Unavailable]
    if not endpoint.plain:
        possible.append(InvalidRequest)
    if endpoint.who is not Who.ANYONE:
        possible += [Unauthenticated, Forbidden]
    if endpoint.param_names:
        possible.append(NotFound)
    if endpoint.method in _WITH_BODY:
        possible.append(PayloadTooLarge)
    if endpoint.body is not None:
        possible.append(UnsupportedType)
    return list(dict.fromkeys(possible))


def _problem_schema(problems: list[type[Problem]]) -> Schema:
    codes = sorted({each.code for each in problems})
    text: Schema = {"type": "string"}
    return {
        "title": "Problem",
        "type": "object",
        "description": "What went wrong, as in RFC 9457.",
        "required": ["type", "title", "status", "code", "detail", "hint", "corr_id"],
        "properties": {
            "type": text,
            "title": text,
            "status": {"type": "integer"},
            "code": {"type": "string", "enum": codes},
            "detail": text,
            "hint": text,
            "corr_id": text,
        },
        "additionalProperties": True,
    }


def _problem_list(problems: list[type[Problem]]) -> list[Schema]:
    """What each error code means; a code that several problems share lists all of them."""
    listed = {
        (each.code, each.status, each.title()): {
            "code": each.code,
            "status": each.status,
            "title": each.title(),
            "hint": each.hint,
        }
        for each in problems
    }
    return [listed[key] for key in sorted(listed)]
