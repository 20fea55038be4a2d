"""`GET /v1/limits`: the limits that clients have to know, as they are in effect on this server."""

from dataclasses import fields
from typing import Annotated

from msgspec import Meta, Struct, defstruct

from greenroom.kernel.limits import Audience, Limits
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who

_TOLD = [each for each in fields(Limits) if each.metadata["audience"] is Audience.CLIENTS]

LimitsView = defstruct(
    "LimitsView",
    [(each.name, Annotated[int, Meta(description=each.metadata["text"] + ".")]) for each in _TOLD],
    frozen=True,
    module=__name__,
)


class LimitsOnly(Struct, frozen=True):
    limits: LimitsView  # type: ignore[valid-type]  # made from the fields of Limits


def limits_endpoint(limits: Limits) -> Endpoint:
    answer = LimitsOnly(LimitsView(**{each.name: getattr(limits, each.name) for each in _TOLD}))

    async def get_limits(_call: Call) -> Answer:
        return Answer(body=answer)

    return Endpoint(
        "GET",
        "/v1/limits",
        get_limits,
        "The limits that a client has to know",
        Who.PERSON_OR_BACKEND,
        {200: LimitsOnly},
        "Operations",
        description=(
            "Ask once when a client starts. The operator of the server may have set each of them; "
            "docs/limits.md lists the defaults and the variables."
        ),
        scope="read",
    )
