"""REST endpoints of typing and presence, for clients without an open connection."""

from greenroom.kernel.errors import Forbidden, ThreadNotFound
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.presence.actions import Presence
from greenroom.presence.wire import PresenceAnswer, TypingNow, answer_of


class PresenceRest:
    def __init__(self, presence: Presence) -> None:
        self._presence = presence

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "PUT",
                "/v1/threads/{thread_id}/typing",
                self.set_typing,
                "Say that you are typing, or have stopped",
                Who.PERSON,
                {204: None},
                "Presence",
                description=(
                    "It ends by itself after 10 seconds, and when you send a message: repeat it "
                    "every few seconds while you type."
                ),
                body=TypingNow,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/presence",
                self.get_presence,
                "Who is online, and who is typing",
                Who.PERSON,
                {200: PresenceAnswer},
                "Presence",
                description="Open connections get the same as events, for the threads they watch.",
                errors=(ThreadNotFound,),
            ),
        ]

    async def set_typing(self, call: Call) -> Answer:
        await self._presence.set_typing(_person(call), call.params["thread_id"], call.body.on)
        return Answer(204)

    async def get_presence(self, call: Call) -> Answer:
        snapshot = await self._presence.access_presence(_person(call), call.params["thread_id"])
        return Answer(200, answer_of(snapshot))


def _person(call: Call) -> str:
    if call.caller.user_id is None:
        raise Forbidden
    return call.caller.user_id
