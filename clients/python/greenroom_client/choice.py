"""Which transport to use: the best that opens."""

from collections.abc import Sequence
from typing import Literal, get_args

from greenroom_client.limits import ClientLimits

Kind = Literal["ws", "sse", "long-poll", "poll"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Best first."""


class Choice:
    """Goes a step down when a transport repeatedly does not open although the server answers.

    `climb_wait_s` later the better ones are tried again, beside the one in use; each time in vain
    doubles that wait. A forced transport is used whatever happens.
    """

    def __init__(self, kinds: Sequence[Kind], limits: ClientLimits) -> None:
        self._kinds = [kind for kind in KINDS if kind in kinds]
        if not self._kinds or len(self._kinds) != len(kinds):
            raise ValueError(f"transports are one or more of {', '.join(KINDS)}, each once")
        self._limits = limits
        self._step = 0
        self._failures = 0
        self._forced: Kind | None = None
        self.climb_wait_s = limits.climb_after_s

    @property
    def kind(self) -> Kind:
        return self._forced or self._kinds[self._step]

    def force(self, kind: Kind | None) -> None:
        """None gives the choice back."""
        if kind is not None and kind not in KINDS:
            raise ValueError(f"a transport is one of {', '.join(KINDS)}")
        self._forced = kind
        self._failures = 0

    def better(self) -> list[Kind]:
        """What is worth another try, best first."""
        return [] if self._forced else self._kinds[: self._step]

    def note_failure(self, kind: Kind) -> None:
        """The server answers, but `kind` did not open."""
        if kind != self.kind or self._forced:
            return
        self._failures += 1
        is_last = self._step == len(self._kinds) - 1
        if self._failures >= self._limits.falls_after and not is_last:
            self._step += 1
            self._failures = 0

    def note_proof(self, kind: Kind) -> None:
        """`kind` has worked."""
        if kind == self.kind:
            self._failures = 0
            if self._step == 0:
                self.climb_wait_s = self._limits.climb_after_s

    def climb(self, kind: Kind) -> None:
        self._step = self._kinds.index(kind)
        self._failures = 0

    def note_vain_climb(self) -> None:
        self.climb_wait_s = min(2 * self.climb_wait_s, self._limits.climb_cap_s)
