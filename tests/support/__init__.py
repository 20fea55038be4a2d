"""What tests of several folders share: servers, a bank, people, databases, ways to wait."""

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

IS_FULL = os.environ.get("GREENROOM_TORTURE") == "full"
"""Whether faults and generated histories come in the full counts of `make torture`."""

BEFORE_ALL = "msg_" + 26 * "0"
"""The id that sorts before every message: with `after` the first page of a thread."""
