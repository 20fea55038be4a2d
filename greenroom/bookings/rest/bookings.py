"""Calls about bookings, documents, manifests and calendars."""

from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import msgspec

from greenroom.bookings.actions import Bookings
from greenroom.bookings.calendars.ics import CONTENT_TYPE
from greenroom.bookings.documents.actions import Document, NewDocument
from greenroom.bookings.documents.manifests import Item, Manifest
from greenroom.bookings.reading import Booking
from greenroom.bookings.rest.wire import (
    BookingAndThread,
    BookingList,
    BookingMade,
    BookingOnly,
    BookingsQuery,
    CalendarOnly,
    CalendarView,
    Cancellation,
    DocumentDraft,
    DocumentOnly,
    ManifestList,
    ManifestOnly,
    ManifestsQuery,
    NewBooking,
    NewManifest,
    booking_view,
    document_view,
    manifest_view,
    read_proposal,
)
from greenroom.conversations.rest.base import person_of
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    Forbidden,
    IdempotencyMismatch,
    MsgBlockedByUser,
    NotFound,
    ParticipantMuted,
    ThreadLocked,
    ThreadNotFound,
    ThreadReadOnly,
    UserNotFound,
)
from greenroom.platform.http.endpoint import Answer, Call, Endpoint, Who
from greenroom.platform.idempotency import Kept, Once, answer_once

T = TypeVar("T")

_CALENDAR = "text/calendar"
_PRIVATE = {"cache-control": "private, no-cache"}


class BookingsRest:
    def __init__(self, bookings: Bookings) -> None:
        self._bookings = bookings

    def endpoints(self) -> list[Endpoint]:
        return [
            *self._booking_endpoints(),
            *self._document_endpoints(),
            *self._manifest_endpoints(),
            *self._calendar_endpoints(),
        ]

    def _booking_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/bookings",
                self.create_booking,
                "Propose a booking of one or several legs",
                Who.BACKEND,
                {201: BookingAndThread},
                "Bookings",
                description=(
                    "`thread_id` names an inquiry, invite or project of the buyer and all sellers. "
                    "If it has a booking already, every leg of that must be completed or "
                    "cancelled. A project shows its new booking at once, and lists the previous "
                    "one in the thread's `bookings`. Without `thread_id` a thread is opened."
                ),
                body=NewBooking,
                errors=(
                    ThreadNotFound,
                    UserNotFound,
                    ActionInvalidState,
                    ActionConflict,
                    IdempotencyMismatch,
                ),
                once=True,
                scope="bookings",
            ),
            Endpoint(
                "POST",
                "/v1/bookings/{booking_id}/confirm",
                self.confirm_booking,
                "Confirm a booking: take the times and the money",
                Who.BACKEND,
                {200: BookingAndThread},
                "Bookings",
                description=(
                    "Confirms all legs or none: ACTION_CONFLICT if a seller is not free. Waits for "
                    "the payment provider for a limited time; if that is not enough, the booking "
                    "is `confirming`. If a payment fails, it is `proposed` with a `failure_code`. "
                    "A repeat with the same Idempotency-Key charges nothing and returns the "
                    "current booking."
                ),
                errors=(NotFound, ActionInvalidState, ActionConflict, IdempotencyMismatch),
                once=True,
                waits=True,
                scope="bookings",
            ),
            Endpoint(
                "POST",
                "/v1/bookings/{booking_id}/cancel",
                self.cancel_booking,
                "Cancel all legs of a booking that are not completed",
                Who.BACKEND,
                {200: BookingAndThread},
                "Bookings",
                description=(
                    "`by` says who cancels. The buyer gets back what the booking's policy says; "
                    "if the seller cancels, or `by` is left out, everything is paid back. Also "
                    "ends a dispute, as long as the seller has not been paid."
                ),
                body=Cancellation,
                errors=(NotFound, ActionInvalidState, IdempotencyMismatch),
                once=True,
                scope="bookings",
            ),
            Endpoint(
                "POST",
                "/v1/bookings/{booking_id}/complete",
                self.complete_booking,
                "End a dispute in favour of the seller",
                Who.BACKEND,
                {200: BookingAndThread},
                "Bookings",
                description=(
                    "The disputed legs are completed, and the seller is paid what was held. Legs "
                    "that are not disputed stay as they are: people complete them by a card."
                ),
                errors=(NotFound, ActionInvalidState, IdempotencyMismatch),
                once=True,
                scope="bookings",
            ),
            Endpoint(
                "GET",
                "/v1/bookings",
                self.list_bookings,
                "Bookings of a thread or of a person, the newest first",
                Who.BACKEND,
                {200: BookingList},
                "Bookings",
                query=BookingsQuery,
                scope="read",
            ),
            Endpoint(
                "GET",
                "/v1/bookings/{booking_id}",
                self.get_booking,
                "A booking of yours",
                Who.PERSON_OR_BACKEND,
                {200: BookingOnly},
                "Bookings",
                errors=(NotFound,),
                scope="read",
            ),
        ]

    def _document_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/bookings/{booking_id}/documents",
                self.add_document,
                "Add a document to be signed",
                Who.BACKEND,
                {201: DocumentOnly},
                "Documents",
                body=DocumentDraft,
                errors=(NotFound, IdempotencyMismatch),
                once=True,
                scope="bookings",
            ),
            Endpoint(
                "GET",
                "/v1/documents/{document_id}",
                self.get_document,
                "A document and who has signed it",
                Who.PERSON_OR_BACKEND,
                {200: DocumentOnly},
                "Documents",
                errors=(NotFound,),
                scope="read",
            ),
        ]

    def _manifest_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "POST",
                "/v1/threads/{thread_id}/manifests",
                self.add_manifest,
                "List delivered files that are stored elsewhere",
                Who.PERSON,
                {201: ManifestOnly},
                "Manifests",
                description="For the buyer and the sellers of a project. A manifest never changes.",
                body=NewManifest,
                errors=(
                    ThreadNotFound,
                    NotFound,
                    ThreadLocked,
                    ThreadReadOnly,
                    ParticipantMuted,
                    MsgBlockedByUser,
                    Forbidden,
                    ActionInvalidState,
                    IdempotencyMismatch,
                ),
                once=True,
            ),
            Endpoint(
                "GET",
                "/v1/threads/{thread_id}/manifests",
                self.list_manifests,
                "The manifests of a thread, the newest first",
                Who.PERSON,
                {200: ManifestList},
                "Manifests",
                description="A `deliverable` card takes any of them, also one of an earlier card.",
                query=ManifestsQuery,
                errors=(ThreadNotFound,),
            ),
            Endpoint(
                "GET",
                "/v1/manifests/{manifest_id}",
                self.get_manifest,
                "A manifest of a thread of yours",
                Who.PERSON_OR_BACKEND,
                {200: ManifestOnly},
                "Manifests",
                errors=(NotFound,),
                scope="read",
            ),
        ]

    def _calendar_endpoints(self) -> list[Endpoint]:
        return [
            Endpoint(
                "GET",
                "/v1/legs/{leg_file}",
                self.get_leg_file,
                "A confirmed leg as a calendar file",
                Who.PERSON_OR_BACKEND,
                {200: str},
                "Calendars",
                description="`leg_file` is the leg's id and `.ics`.",
                errors=(NotFound,),
                media=_CALENDAR,
                scope="read",
            ),
            Endpoint(
                "POST",
                "/v1/me/calendar",
                self.make_calendar,
                "A new secret address of your calendar",
                Who.PERSON,
                {201: CalendarOnly},
                "Calendars",
                description="Your previous address stops working.",
            ),
            Endpoint(
                "GET",
                "/v1/calendar/{secret_file}",
                self.get_calendar,
                "Somebody's bookings, by their secret address",
                Who.ANYONE,
                {200: str},
                "Calendars",
                description="The last 90 and the next 400 days, at most 500 legs.",
                errors=(NotFound,),
                media=_CALENDAR,
            ),
        ]

    async def create_booking(self, call: Call) -> Answer:
        now_ms = self._bookings.clock()
        proposal = read_proposal(call.body, self._bookings.policy, now_ms)

        def made(booking: Booking) -> Answer:
            return Answer(201, BookingMade(booking.group.group_id))

        answer = await self._once(call, made, lambda once: self._bookings.create(proposal, once))
        if answer.status != 201:
            return answer
        kept = answer.body
        found = (
            kept
            if isinstance(kept, BookingMade)
            else msgspec.json.decode(cast("bytes", kept), type=BookingMade)
        )
        return await self._as_it_is_now(found.id, 201)

    async def confirm_booking(self, call: Call) -> Answer:
        booking_id = call.params["booking_id"]
        answer = await self._once(
            call, _done, lambda once: self._bookings.confirm(booking_id, once)
        )
        if answer.status != 200:
            return answer
        await self._bookings.run_payments_now(booking_id)
        return await self._as_it_is_now(booking_id)

    async def cancel_booking(self, call: Call) -> Answer:
        booking_id = call.params["booking_id"]
        answer = await self._once(
            call, _done, lambda once: self._bookings.cancel(booking_id, call.body.by, once)
        )
        return answer if answer.status != 200 else await self._as_it_is_now(booking_id)

    async def complete_booking(self, call: Call) -> Answer:
        booking_id = call.params["booking_id"]
        answer = await self._once(
            call, _done, lambda once: self._bookings.end_dispute(booking_id, once)
        )
        return answer if answer.status != 200 else await self._as_it_is_now(booking_id)

    async def _as_it_is_now(self, booking_id: str, status: int = 200) -> Answer:
        """A repeated request also gets the current state, which may have changed since the first
        answer."""
        booking = await self._bookings.access_booking(None, booking_id)
        thread = await self._bookings.show_thread(booking.group)
        view = booking_view(booking, self._bookings.clock())
        return Answer(status, BookingAndThread(view, thread))

    async def list_bookings(self, call: Call) -> Answer:
        query: BookingsQuery = call.query
        found = await self._bookings.bookings_of(
            thread_id=query.thread_id,
            user_id=query.user_id,
            before=query.cursor,
            limit=query.limit + 1,
        )
        page, now_ms = found[: query.limit], self._bookings.clock()
        next_cursor = page[-1].group.group_id if len(found) > query.limit else None
        return Answer(200, BookingList([booking_view(each, now_ms) for each in page], next_cursor))

    async def get_booking(self, call: Call) -> Answer:
        booking = await self._bookings.access_booking(
            call.caller.user_id, call.params["booking_id"]
        )
        return Answer(200, BookingOnly(booking_view(booking, self._bookings.clock())))

    async def add_document(self, call: Call) -> Answer:
        new = NewDocument(
            call.body.title,
            call.body.sha256,
            call.body.signers,
            call.body.leg_id,
            call.body.url,
            call.body.bytes,
        )

        def answer(document: Document) -> Answer:
            return Answer(201, DocumentOnly(document_view(document)))

        return await self._once(
            call,
            answer,
            lambda once: self._bookings.documents.add(call.params["booking_id"], new, once),
        )

    async def get_document(self, call: Call) -> Answer:
        document = await self._bookings.documents.access(
            call.caller.user_id, call.params["document_id"]
        )
        return Answer(200, DocumentOnly(document_view(document)))

    async def add_manifest(self, call: Call) -> Answer:
        creator = person_of(call)
        items = [Item(item.name, item.bytes, item.sha256, item.url) for item in call.body.items]

        def answer(manifest: Manifest) -> Answer:
            return Answer(201, ManifestOnly(manifest_view(manifest)))

        return await self._once(
            call,
            answer,
            lambda once: self._bookings.manifests.add(
                creator, call.params["thread_id"], items, call.body.leg_id, once
            ),
        )

    async def list_manifests(self, call: Call) -> Answer:
        query: ManifestsQuery = call.query
        found = await self._bookings.manifests.access_all(
            person_of(call), call.params["thread_id"], query.cursor, query.limit + 1
        )
        page = found[: query.limit]
        next_cursor = page[-1].manifest_id if len(found) > query.limit else None
        return Answer(200, ManifestList([manifest_view(each) for each in page], next_cursor))

    async def get_manifest(self, call: Call) -> Answer:
        manifest = await self._bookings.manifests.access(
            call.caller.user_id, call.params["manifest_id"]
        )
        return Answer(200, ManifestOnly(manifest_view(manifest)))

    async def get_leg_file(self, call: Call) -> Answer:
        written = await self._bookings.calendars.leg_file(
            call.caller.user_id, call.params["leg_file"]
        )
        return Answer(200, written, _PRIVATE, CONTENT_TYPE)

    async def make_calendar(self, call: Call) -> Answer:
        url = await self._bookings.calendars.new_address(person_of(call))
        return Answer(201, CalendarOnly(CalendarView(url)))

    async def get_calendar(self, call: Call) -> Answer:
        written = await self._bookings.calendars.feed(call.params["secret_file"])
        return Answer(200, written, _PRIVATE, CONTENT_TYPE)

    async def _once(
        self,
        call: Call,
        answer: Callable[[T], Answer],
        work: Callable[[Once | None], Awaitable[T | Kept]],
    ) -> Answer:
        return await answer_once(call, self._bookings.transactions, answer, work)


def _done(_: object) -> Answer:
    return Answer(200)
