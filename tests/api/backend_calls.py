"""Calls of the marketplace's backend about threads, for the matrix."""

from __future__ import annotations

from .matrix import NOWHERE, Entry, Request, Scene, of_thread

NOTICE = {"code": "listing.sold", "text": "The listing is *sold*."}


def by_key(scene: Scene, role: str = "seller") -> Request:
    people = [
        {"user_id": scene.ann.id, "role": "buyer"},
        {"user_id": scene.bob.id, "role": role},
    ]
    body = {"kind": "inquiry", "participants": people, "first_notice": NOTICE}
    return Request({"key": f"listing 7/{scene.ann.id}"}, body)


async def open_by_key(scene: Scene) -> None:
    request = by_key(scene)
    path = f"/v1/threads/by/listing%207%2F{scene.ann.id}"
    assert (await scene.api.backend.put(path, request.json)).status_code == 201


def keyed(scene: Scene, **more: str) -> Request:
    return Request({"key": f"listing 7%2F{scene.ann.id}", **more})


BACKEND: dict[str, Entry] = {
    "put_thread_by_key": Entry(
        lambda s: Request(keyed(s).path, by_key(s).json),
        status=201,
        wrong=lambda s: Request(keyed(s).path, by_key(s, role="host").json),
        code="ACTION_CONFLICT",
        spoil=open_by_key,
    ),
    "get_thread_by_key": Entry(
        keyed,
        prepare=open_by_key,
        wrong=lambda _: Request({"key": "nothing"}),
        code="THREAD_NOT_FOUND",
    ),
    "add_notice": Entry(
        lambda s: of_thread(s, NOTICE),
        status=201,
        repeated=201,
        wrong=lambda s: of_thread(s, {**NOTICE, "text": " "}),
        code="MSG_EMPTY",
        other=lambda _: {"code": "listing.back"},
    ),
    "edit_thread": Entry(
        lambda s: of_thread(s, {"city": "Berlin", "safe_mode_required": True}),
        wrong=lambda _: Request({"thread_id": NOWHERE}, {"city": "Berlin"}),
        code="THREAD_NOT_FOUND",
    ),
    "list_user_threads": Entry(
        lambda s: Request({"user_id": s.bob.id}, query={"limit": 5}),
        wrong=lambda _: Request({"user_id": "nobody"}),
        code="USER_NOT_FOUND",
    ),
    "list_job_threads": Entry(
        lambda _: Request({"job_id": "job-1"}),
        wrong=lambda _: Request({"job_id": "job-1"}, query={"cursor": "guess"}),
        code="INVALID_REQUEST",
    ),
    "export_thread": Entry(
        of_thread, wrong=lambda _: Request({"thread_id": NOWHERE}), code="THREAD_NOT_FOUND"
    ),
    "list_bookings": Entry(
        lambda s: Request(query={"user_id": s.ann.id, "thread_id": s.thread_id}),
        wrong=lambda _: Request(query={"limit": 5}),
        code="INVALID_REQUEST",
    ),
}
