"""The async Python client. It stands alone: nothing of the server is imported here."""

from greenroom_client.choice import KINDS as TRANSPORTS
from greenroom_client.choice import Kind
from greenroom_client.client import Client
from greenroom_client.errors import (
    ClosedError,
    GreenroomError,
    Problem,
    QueueFullError,
    UnreachableError,
)
from greenroom_client.limits import ClientLimits
from greenroom_client.sending import QueuedSend
from greenroom_client.state import State
from greenroom_client.timing import Timing
from greenroom_client.webhooks import WebhookError, verify_webhook

__all__ = [
    "TRANSPORTS",
    "Client",
    "ClientLimits",
    "ClosedError",
    "GreenroomError",
    "Kind",
    "Problem",
    "QueueFullError",
    "QueuedSend",
    "State",
    "Timing",
    "UnreachableError",
    "WebhookError",
    "verify_webhook",
]
