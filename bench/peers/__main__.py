"""`make bench-peers`: Greenroom, Prosody and Matrix Synapse under one load, in one run.

Prosody comes from Debian (as root, when it is not there yet) and Synapse from PyPI, into a virtual
environment in the user's cache; each archives into a PostgreSQL of its own with durability on. All
three are up for the whole run and take turns, one working at a time. docs/peers.md says what
differs. The exit code is 0 when everything that was asked for ran, whatever the figures are.
"""

import argparse
import asyncio
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import uvloop

from bench.peers.arrivals import Arrivals
from bench.peers.greenroom import GREENROOM
from bench.peers.prosody import PROSODY
from bench.peers.report import print_report
from bench.peers.shape import FULL, QUICK, TEXT, Measured, Shape, take_turn
from bench.peers.synapse import SYNAPSE
from bench.peers.system import Running, Send, System
from bench.report import say
from bench.wire import RefusedError
from greenroom.platform.embedded.postgres import EmbeddedPostgresError
from greenroom.platform.processes.termination import unwind_on_sigterm

SYSTEMS = {"greenroom": GREENROOM, "prosody": PROSODY, "synapse": SYNAPSE}
SETUP_TIMEOUT_S = 90
# What a system that does not work here can raise; other exceptions are bugs of this program.
TROUBLE = (RuntimeError, OSError, EmbeddedPostgresError, asyncpg.PostgresError, RefusedError)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="short turns, to see that it runs")
    parser.add_argument(
        "--only",
        type=_names,
        default=list(SYSTEMS),
        metavar="NAMES",
        help=f"some of {','.join(SYSTEMS)}, with commas between",
    )
    given = parser.parse_args()
    unwind_on_sigterm()
    shape = QUICK if given.quick else FULL
    systems, load_before = [SYSTEMS[name] for name in given.only], os.getloadavg()[0]
    trouble: dict[str, str] = {}
    with ExitStack() as stack:
        running = _start(systems, stack, trouble)
        measured = uvloop.run(_measure(running, shape, trouble))
    print_report(systems, measured, trouble, shape, load_before)
    return 1 if trouble else 0


def _names(given: str) -> list[str]:
    names = given.lower().split(",")
    unknown = set(names) - set(SYSTEMS)
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return [name for name in SYSTEMS if name in names]


def _start(
    systems: Sequence[System], stack: ExitStack, trouble: dict[str, str]
) -> dict[str, Running]:
    """Install and start the systems; those that fail are reported in `trouble` and left out."""
    running = {}
    for system in systems:
        try:
            say(f"installing {system.name}, unless it is there")
            system.install()
            say(f"starting {system.name}")
            folder = stack.enter_context(_folder(system.name))
            running[system.name] = stack.enter_context(system.start(folder))
        except TROUBLE as error:
            trouble[system.name] = str(error) or type(error).__name__
    return running


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """A folder that PostgreSQL can use: started by root it runs under another account."""
    folder = Path(tempfile.mkdtemp(prefix=f"greenroom-peers-{name.lower()}-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(slots=True)
class Contestant:
    running: Running
    arrivals: Arrivals
    sends: list[Send]
    measured: Measured


async def _measure(
    running: Mapping[str, Running], shape: Shape, trouble: dict[str, str]
) -> dict[str, Measured]:
    async with AsyncExitStack() as stack:
        contestants = {}
        for name, system in running.items():
            say(f"connecting to {name}")
            try:
                contestants[name] = await _enter(system, stack)
            except TROUBLE as error:
                trouble[name] = str(error) or type(error).__name__
        for turn in range(shape.turns):
            # In alternating order, so that none always runs after the same one.
            for name, contestant in list(contestants.items())[:: -1 if turn % 2 else 1]:
                if name not in trouble:
                    say(f"{name}, turn {turn + 1} of {shape.turns}")
                    await _turn(name, contestant, shape, trouble)
        return {
            name: contestant.measured
            for name, contestant in contestants.items()
            if name not in trouble
        }


async def _enter(running: Running, stack: AsyncExitStack) -> Contestant:
    arrivals = Arrivals(TEXT)
    async with asyncio.timeout(SETUP_TIMEOUT_S):
        sends = await stack.enter_async_context(running.connect(arrivals))
    return Contestant(running, arrivals, sends, Measured(running.version))


async def _turn(name: str, contestant: Contestant, shape: Shape, trouble: dict[str, str]) -> None:
    arrivals = contestant.arrivals
    try:
        await take_turn(contestant.sends, arrivals, shape, contestant.measured)
        stored = await contestant.running.stored()
        if stored != arrivals.announced:
            raise RuntimeError(f"{arrivals.announced} acknowledged, {stored} in the database")
    except TROUBLE as error:
        trouble[name] = str(error) or type(error).__name__


if __name__ == "__main__":
    sys.exit(main())
