"""Endpoints that every deployment needs: health, readiness, metrics, and the API reference."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from greenroom.kernel.errors import Problem, Unavailable
from greenroom.platform import metrics
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.http.problems import known_problems
from greenroom.platform.http.reference.openapi import openapi_document
from greenroom.platform.http.reference.page import content_security_policy, render_docs

TAG = "Operations"
_REFERENCE_KEPT = {"cache-control": "public, max-age=300"}


class Health(msgspec.Struct):
    status: str


def standard_endpoints(
    endpoints: Sequence[Endpoint],
    *,
    ready: Callable[[], Awaitable[None]],
    title: str,
    version: str,
    problems: Sequence[type[Problem]] | None = None,
) -> list[Endpoint]:
    """The standard endpoints; the reference describes them together with `endpoints`."""
    ours = [*_health_endpoints(ready), _metrics_endpoint(), *_reference_endpoints()]
    document = openapi_document(
        [*endpoints, *ours],
        title=title,
        version=version,
        problems=known_problems() if problems is None else problems,
    )
    return [*_health_endpoints(ready), _metrics_endpoint(), *_reference_endpoints(document)]


def _health_endpoints(ready: Callable[[], Awaitable[None]]) -> list[Endpoint]:
    async def get_healthz(_call: Call) -> Answer:
        return Answer(body=Health("ok"))

    async def get_readyz(_call: Call) -> Answer:
        try:
            await ready()
        except Problem:
            raise
        except Exception as error:
            raise Unavailable("Not ready yet.") from error
        return Answer(body=Health("ready"))

    return [
        Endpoint(
            "GET",
            "/healthz",
            get_healthz,
            "Is the process alive?",
            Who.ANYONE,
            {200: Health},
            TAG,
        ),
        Endpoint(
            "GET",
            "/readyz",
            get_readyz,
            "Can it serve?",
            Who.ANYONE,
            {200: Health},
            TAG,
            description=(
                "503 while the database cannot be reached, while the server shuts down, and when "
                "feeds are not being read: a connection has waited for a minute and no query has "
                "succeeded. Restart a process that stays like this."
            ),
        ),
    ]


def _metrics_endpoint() -> Endpoint:
    async def get_metrics(_call: Call) -> Answer:
        text = await asyncio.to_thread(metrics.render)
        return Answer(body=text, content_type=metrics.CONTENT_TYPE)

    return Endpoint(
        "GET",
        "/metrics",
        get_metrics,
        "Metrics for Prometheus",
        Who.ANYONE,
        {200: str},
        TAG,
        plain=True,
        media="text/plain",
    )


def _reference_endpoints(document: dict[str, Any] | None = None) -> list[Endpoint]:
    """First made without a document, so that the document can list these endpoints as well."""
    as_json = msgspec.json.encode(document)
    page = b"" if document is None else render_docs(document)
    page_headers = {**_REFERENCE_KEPT, "content-security-policy": content_security_policy()}

    async def get_openapi(_call: Call) -> Answer:
        return Answer(body=as_json, headers=_REFERENCE_KEPT)

    async def get_docs(_call: Call) -> Answer:
        return Answer(body=page, headers=page_headers, content_type="text/html; charset=utf-8")

    return [
        Endpoint(
            "GET",
            "/openapi.json",
            get_openapi,
            "This reference as OpenAPI 3.1",
            Who.ANYONE,
            {200: dict[str, Any]},
            TAG,
        ),
        Endpoint(
            *("GET", "/docs", get_docs, "This reference", Who.ANYONE, {200: str}, TAG),
            plain=True,
            media="text/html",
        ),
    ]
