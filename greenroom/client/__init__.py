"""The async Python client. It stands alone: nothing of the server is imported here."""

from greenroom.client.choice import KINDS as TRANSPORTS
from greenroom.client.choice import Kind
from greenroom.client.client import Client
from greenroom.client.errors import (
    ClosedError,
    GreenroomError,
    Problem,
    QueueFullError,
    UnreachableError,
)
from greenroom.client.limits import ClientLimits
from greenroom.client.sending import QueuedSend
from greenroom.client.state import State
from greenroom.client.timing import Timing

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
]
