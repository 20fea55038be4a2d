"""Calls that only the demo has: list the sample's people, sign in as one, and their pictures."""

from msgspec import Struct

from greenroom.demo.avatars import draw_avatar
from greenroom.demo.people import PEOPLE, SamplePerson
from greenroom.demo.welcome import person_token
from greenroom.kernel.clock import Clock
from greenroom.kernel.errors import NotFound, UserNotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.tokens.verifying import is_user_id
from greenroom.settings import Settings

TAG = "Demo"
SUFFIX = ".svg"
_AVATAR_HEADERS = {
    "cache-control": "public, max-age=86400",
    # An SVG could run scripts if it is opened as a page; this forbids everything.
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    # Pages of other origins embed the demo's threads, and show the pictures too.
    "cross-origin-resource-policy": "cross-origin",
}


class SamplePersonView(Struct, frozen=True):
    user_id: str
    display_name: str
    role: str
    city: str
    timezone: str
    avatar_url: str


class SamplePeople(Struct, frozen=True):
    items: list[SamplePersonView]


class SignIn(Struct, frozen=True, forbid_unknown_fields=True):
    user_id: str


class SignedIn(Struct, frozen=True):
    """`token` is as your backend would sign it."""

    token: str
    user: SamplePersonView


class DemoRest:
    """Never part of `serve`: these calls let anybody sign in as anybody of the sample."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/demo/people",
                self.list_sample_people,
                "The people of the sample",
                Who.ANYONE,
                {200: SamplePeople},
                TAG,
            ),
            Endpoint(
                "POST",
                "/demo/sign-in",
                self.sign_in_to_sample,
                "Be one of the sample's people",
                Who.ANYONE,
                {200: SignedIn},
                TAG,
                body=SignIn,
                errors=(UserNotFound,),
            ),
            Endpoint(
                "GET",
                "/demo/avatars/{file}",
                self.get_avatar,
                "A person's portrait",
                Who.ANYONE,
                {200: str},
                TAG,
                description="`file` is the user id and `.svg`.",
                errors=(NotFound,),
                plain=True,
                media="image/svg+xml",
            ),
        ]

    async def list_sample_people(self, _call: Call) -> Answer:
        return Answer(200, SamplePeople([_view(person) for person in PEOPLE.values()]))

    async def sign_in_to_sample(self, call: Call) -> Answer:
        person = PEOPLE.get(call.body.user_id)
        if person is None:
            raise UserNotFound("Only the sample's people can be signed in; see GET /demo/people.")
        token = person_token(self._settings, person.user_id, self._clock)
        return Answer(200, SignedIn(token, _view(person)))

    async def get_avatar(self, call: Call) -> Answer:
        file = call.params["file"]
        user_id = file.removesuffix(SUFFIX)
        if user_id == file or not is_user_id(user_id):
            raise NotFound
        return Answer(
            200, draw_avatar(user_id).encode(), _AVATAR_HEADERS, "image/svg+xml; charset=utf-8"
        )


def _view(person: SamplePerson) -> SamplePersonView:
    return SamplePersonView(
        person.user_id,
        person.display_name,
        person.role,
        person.city,
        person.timezone,
        person.avatar_url,
    )
