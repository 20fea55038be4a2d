"""An installation at each power of ten: its people, its busiest thread and its busiest person."""

import math
from dataclasses import dataclass
from functools import cached_property

from bench.scale import layout
from greenroom.cost.assumptions import Assumptions
from greenroom.cost.model import DAYS, SECONDS, Bill, bill, events_of
from greenroom.cost.tables import prices, units

EXPONENTS = range(3, 10)

ZIPF = 1.0
"""How unevenly threads and people share the traffic: the k-th has 1/k of the first one's.

Above 1 the first would keep a fixed share of everything however large the installation grows, which
no marketplace does. 1 is the steepest for which the share of the first still falls, as 1/ln N. It
is also what sizes of firms follow (Axtell, Science 293, 2001), and the busiest people of a
marketplace are firms. So it is the worst that growth does not contradict. 0.8 is printed beside it.
"""
MILDER = 0.8

_EXACT = 1000


def harmonic(count: float, exponent: float) -> float:
    """The sum of k^-exponent up to `count`: the first terms one by one, the rest as an integral."""
    exact = min(int(count), _EXACT)
    total = math.fsum(1 / math.pow(k, exponent) for k in range(1, exact + 1))
    if count <= _EXACT:
        return total
    low, high = exact + 0.5, count + 0.5
    if exponent == 1:
        return total + math.log(high / low)
    power = 1 - exponent
    return total + (math.pow(high, power) - math.pow(low, power)) / power


@dataclass(frozen=True)
class Level:
    exponent: float
    """The power of ten of its messages a day."""
    zipf: float = ZIPF

    @cached_property
    def assumptions(self) -> Assumptions:
        return Assumptions(streaming_share=1).scaled_to(10.0**self.exponent)

    @cached_property
    def polling(self) -> Bill:
        polling = Assumptions().scaled_to(10.0**self.exponent)
        return bill(polling, units(), prices().prices)

    @cached_property
    def streaming(self) -> Bill:
        return bill(self.assumptions, units(), prices().prices)

    @property
    def people(self) -> float:
        return self.assumptions.people

    @property
    def threads(self) -> float:
        return self.assumptions.conversations

    def peak(self, per_month: float) -> float:
        """The rate per second in the busiest minute."""
        return per_month / SECONDS * self.assumptions.peak_factor

    @property
    def sends_per_s(self) -> float:
        return self.peak(self.assumptions.messages_per_day * DAYS)

    @property
    def events_per_s(self) -> float:
        """Feed entries per second, of all people."""
        return self.peak(events_of(self.assumptions))

    @property
    def hottest_thread_share(self) -> float:
        return 1 / harmonic(self.threads, self.zipf)

    @property
    def marks(self) -> float:
        """Read marks per message and reader."""
        return self.assumptions.marks_per_message

    @property
    def hottest_thread_sends_per_s(self) -> float:
        """Without the send limit, and with it."""
        most = layout.allowed_sends_per_s(layout.LIMITS.participants)
        return min(self.sends_per_s * self.hottest_thread_share, most)

    @property
    def hottest_user_share(self) -> float:
        return 1 / harmonic(self.people, self.zipf)

    @property
    def hottest_user_events_per_s(self) -> float:
        return self.events_per_s * self.hottest_user_share

    @property
    def hottest_user_messages_per_s(self) -> float:
        """Every message belongs to two people."""
        return min(1.0, 2 * self.hottest_user_share) * self.sends_per_s

    @property
    def streams(self) -> float:
        """Open streams at the peak, if everybody streams while their chat is open."""
        a = self.assumptions
        return a.people * a.open_minutes / (24 * 60) * a.peak_factor

    @property
    def processes(self) -> int:
        return max(1, math.ceil(self.streams / layout.LIMITS.streams))

    @property
    def page_loads_per_s(self) -> float:
        counts = self.streaming.counts
        return self.peak(counts.inbox + counts.thread_page)


def levels(zipf: float = ZIPF) -> list[Level]:
    return [Level(exponent, zipf) for exponent in EXPONENTS]
