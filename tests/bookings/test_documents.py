"""Documents and manifests: who may create, read and sign them."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable

import asyncpg
import msgspec
import pytest

from greenroom.bookings.documents.actions import (
    Document,
    NewDocument,
    decline_document,
    expire_document,
    sign_document,
)
from greenroom.bookings.documents.manifests import Item, check_items
from greenroom.bookings.model import Group
from greenroom.bookings.transactions import ContractTransaction
from greenroom.kernel.errors import (
    ActionConflict,
    ActionInvalidState,
    InvalidRequest,
    NotFound,
    ThreadNotFound,
)
from tests.support.bookings import made

from .stage import Stage

SHA = hashlib.sha256(b"contract").hexdigest()
ITEM = Item("final.zip", 1_000_000, SHA, "https://files.example.com/final.zip")


async def _added(stage: Stage) -> tuple[Group, Document]:
    group, leg = await stage.confirmed()
    new = NewDocument("Release form", SHA.upper(), [group.buyer, leg.seller], leg.leg_id)
    return group, made(await stage.bookings.documents.add(group.group_id, new))


def _sign(
    document: Document, user_id: str, sha256: str = SHA
) -> Callable[[ContractTransaction], Awaitable[Document]]:
    return lambda tx: sign_document(tx, document.document_id, user_id, sha256)


async def test_a_document_is_signed_when_all_its_signers_have_signed(stage: Stage) -> None:
    group, document = await _added(stage)
    buyer, seller = (signer.user_id for signer in document.signers)
    assert (document.state, document.sha256, document.version) == ("pending", SHA, 1)
    partly = await stage.do(_sign(document, seller))
    assert partly.state == "partly_signed"
    with pytest.raises(ActionInvalidState):
        await stage.do(_sign(document, seller))
    signed = await stage.do(_sign(document, buyer))
    assert signed.state == "signed"
    assert [signer.sha256 for signer in signed.signers] == [SHA, SHA]
    assert await stage.bookings.documents.access(buyer, document.document_id) == signed
    steps = [
        step[1:] for step in await stage.history(group.group_id) if step[0] == document.document_id
    ]
    assert steps == [
        (1, "create", None, "pending"),
        (2, "sign", "pending", "partly_signed"),
        (3, "sign", "partly_signed", "signed"),
    ]
    events = [event for event in await stage.events(group.group_id) if event.startswith("docs")]
    assert events == ["docs.pack.create", "docs.pack.partly_signed", "docs.pack.signed"]


async def test_a_signature_under_something_else_is_refused(stage: Stage) -> None:
    _, document = await _added(stage)
    buyer = document.signers[0].user_id
    with pytest.raises(ActionConflict):
        await stage.do(_sign(document, buyer, "0" * 64))
    with pytest.raises(ActionInvalidState):
        await stage.do(_sign(document, "somebody-else"))
    with pytest.raises(NotFound):
        await stage.do(lambda tx: sign_document(tx, "doc_x", buyer, SHA))


async def test_one_who_declines_ends_it_for_all(stage: Stage) -> None:
    _, document = await _added(stage)
    buyer, seller = (signer.user_id for signer in document.signers)
    declined = await stage.do(lambda tx: decline_document(tx, document.document_id, buyer))
    assert declined.state == "declined"
    with pytest.raises(ActionInvalidState):
        await stage.do(_sign(document, seller))
    expired = await stage.do(lambda tx: expire_document(tx, document.document_id))
    assert expired.state == "declined"


async def test_an_expired_document_is_not_signed(stage: Stage) -> None:
    _, document = await _added(stage)
    buyer, seller = (signer.user_id for signer in document.signers)
    await stage.do(_sign(document, buyer))
    expired = await stage.do(lambda tx: expire_document(tx, document.document_id))
    assert (expired.state, expired.version) == ("expired", 3)
    with pytest.raises(ActionInvalidState):
        await stage.do(_sign(document, seller))


async def test_only_parties_read_a_document(stage: Stage) -> None:
    ann, bob, sue, eve = await stage.people("ann", "bob", "sue", "eve")
    group = await stage.propose(ann, stage.leg(bob), stage.leg(sue))
    new = NewDocument("Release form", SHA, [bob])
    document = made(await stage.bookings.documents.add(group.group_id, new))
    for viewer in (ann, bob, sue, None):
        assert await stage.bookings.documents.access(viewer, document.document_id) == document
    with pytest.raises(NotFound):
        await stage.bookings.documents.access(eve, document.document_id)


@pytest.mark.parametrize(
    "change",
    [
        {"signers": []},
        {"signers": ["nobody-in-it"]},
        {"sha256": "abc"},
        {"title": " "},
        {"bytes": -1},
        {"url": "http://files.example.com/a.pdf"},
        {"url": "https://10.0.0.1/a.pdf"},
    ],
)
async def test_a_document_that_cannot_be_is_refused(
    stage: Stage, change: dict[str, object]
) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob))
    given = {"title": "Release form", "sha256": SHA, "signers": [ann], **change}
    with pytest.raises(InvalidRequest):
        await stage.bookings.documents.add(group.group_id, msgspec.convert(given, NewDocument))


async def test_a_document_is_signed_by_each_once_and_belongs_to_a_leg_of_its_booking(
    stage: Stage,
) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob))
    twice = NewDocument("Release form", SHA, [ann, ann])
    with pytest.raises(InvalidRequest):
        await stage.bookings.documents.add(group.group_id, twice)
    elsewhere = NewDocument("Release form", SHA, [ann], leg_id="leg_x")
    for booking_id in (group.group_id, "lbg_x"):
        with pytest.raises(NotFound):
            await stage.bookings.documents.add(booking_id, elsewhere)


async def test_a_manifest_is_made_by_a_party_of_a_project_and_read_by_its_thread(
    stage: Stage,
) -> None:
    group, leg = await stage.confirmed()
    assert group.thread_id is not None
    manifests = stage.bookings.manifests
    made_by_seller = made(await manifests.add(leg.seller, group.thread_id, [ITEM]))
    canonical = (
        f'[{{"bytes":1000000,"name":"final.zip","sha256":"{SHA}",'
        '"url":"https://files.example.com/final.zip"}]'
    )
    assert made_by_seller.sha256 == hashlib.sha256(canonical.encode()).hexdigest()
    assert (made_by_seller.group_id, made_by_seller.leg_id) == (group.group_id, leg.leg_id)
    for viewer in (group.buyer, leg.seller, None):
        assert await manifests.access(viewer, made_by_seller.manifest_id) == made_by_seller
    [eve] = await stage.people("eve")
    for viewer, manifest_id in ((eve, made_by_seller.manifest_id), (None, "man_x")):
        with pytest.raises(NotFound):
            await manifests.access(viewer, manifest_id)
    with pytest.raises(ThreadNotFound):
        await manifests.add(eve, group.thread_id, [ITEM])
    with pytest.raises(NotFound):
        await manifests.add(leg.seller, group.thread_id, [ITEM], "leg_x")
    assert "manifest.created" in await stage.events(group.group_id)


async def test_an_inquiry_has_no_deliverables(stage: Stage) -> None:
    ann, bob = await stage.people("ann", "bob")
    group = await stage.propose(ann, stage.leg(bob))
    assert group.thread_id is not None
    with pytest.raises(ActionInvalidState):
        await stage.bookings.manifests.add(bob, group.thread_id, [ITEM])


async def test_a_manifest_never_changes(stage: Stage) -> None:
    group, leg = await stage.confirmed()
    assert group.thread_id is not None
    await stage.bookings.manifests.add(leg.seller, group.thread_id, [ITEM])
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await stage.pool.execute("update manifest set items = '[]'")


@pytest.mark.parametrize(
    "items",
    [
        [],
        [ITEM] * 501,
        [Item("", 1, SHA, ITEM.url)],
        [Item("a", -1, SHA, ITEM.url)],
        [Item("a", 1, "x" * 64, ITEM.url)],
        [Item("a", 1, SHA, "https://localhost/a")],
        [Item("a" * 256, 1, SHA, ITEM.url)],
    ],
)
def test_a_list_that_cannot_be_is_refused(items: list[Item]) -> None:
    with pytest.raises(InvalidRequest):
        check_items(items)
