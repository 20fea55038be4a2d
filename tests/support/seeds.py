"""Where the choices of generated tests come from.

`make test` makes the same choices every time, so that a failure belongs to the change that is being
tested. `make torture` makes new ones. `GREENROOM_SEED=N` replays a failure, and
`GREENROOM_SEED=new` makes new choices in any run.
"""

import os
import random
import zlib

from hypothesis import settings

from tests.support import IS_FULL

_GIVEN = os.environ.get("GREENROOM_SEED")
_MAKES_NEW = _GIVEN == "new" or (IS_FULL and not _GIVEN)


def chosen_seed(test: str) -> int:
    """For a test, by its name."""
    if _MAKES_NEW:
        return random.SystemRandom().randrange(1 << 32)
    return int(_GIVEN) if _GIVEN else zlib.crc32(test.encode())


def repeat_generated_examples() -> None:
    """Hypothesis, too, makes the same choices every time, except in `make torture`."""
    settings.register_profile("greenroom", derandomize=not _MAKES_NEW)
    settings.load_profile("greenroom")
