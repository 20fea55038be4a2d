"""Checks that a webhook comes from your Greenroom server, as Standard Webhooks says."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

PREFIX = "whsec_"
TOLERANCE_S = 5 * 60


class WebhookError(Exception):
    """This is not an event of your server, or an old one that somebody sends again."""


def verify_webhook(
    secret: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    tolerance_s: int = TOLERANCE_S,
    now: Callable[[], float] = time.time,
) -> dict[str, Any]:
    """The event in `body`, which must be the request's bytes as they came. Raises WebhookError.

    `secret` is the `whsec_…` that adding the webhook showed. A repeat of an event has the same
    `webhook-id`: keep the ids for some days, and answer 200 to one that you have already.
    """
    given = {name.lower(): value for name, value in headers.items()}
    event_id, sent_at = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not event_id or not sent_at.isascii() or not sent_at.isdigit():
        raise WebhookError("a header of Standard Webhooks is missing")
    if abs(now() - int(sent_at)) > tolerance_s:
        raise WebhookError("the event was sent too long ago, or the clocks differ")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except binascii.Error:
        raise WebhookError("the secret is not one of a webhook") from None
    signed = b".".join((event_id.encode(), sent_at.encode(), body))
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
    signatures = [each.partition(",") for each in given.get("webhook-signature", "").split()]
    if not any(
        version == "v1" and hmac.compare_digest(signature.encode(), expected)
        for version, _, signature in signatures
    ):
        raise WebhookError("the signature is not of this event")
    event: dict[str, Any] = json.loads(body)
    return event
