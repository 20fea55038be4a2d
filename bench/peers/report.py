"""Prints the table, the ratios with their aims, and what differs between the systems."""

import os
import platform
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.peers.shape import RATES_PER_S, Measured, Shape
from bench.peers.system import PAIRS, System
from bench.report import Row, at_least, at_most

PERCENTILES = (50, 95, 99)
WIDTH = 100
# Load average over a minute; other work on one core already changes the figures.
BUSY = 0.5

ALL_ALIKE = """\
Alike: one machine, one run, the same texts over the same pairs; one server process each, no TLS, \
rate limits out of the way; each on a PostgreSQL of its own (one engine, the same settings, fsync \
and synchronous_commit on); receivers connected all the time; the load is one process on the same \
cores. After each turn the database is asked, and must hold exactly what was sent."""
DIFFERENCES = {
    "Greenroom": """\
sends that come at the same time are committed, and written to disk, as one group, and each is \
acknowledged after that. With a send go membership, idempotency, send limits, the feeds and unread \
counts of both people, and a domain event. It does not federate, and nothing is signed.""",
    "Prosody": """\
an acknowledgement of stream management says that the server has handled the message, and promises \
no disk. This version does write its archive first, once for each of the two people, and waits for \
both commits, one message at a time for the whole server; but if that fails it logs, delivers and \
acknowledges all the same. It keeps no unread counts and recognises no repeats. Only the modules \
that the load needs are on, and the receiver does not acknowledge.""",
    "Synapse": """\
a message is an event of a room that may be shared with other servers: hashed, signed, checked \
against the room's rules and put into its graph of events, with push rules and unread counts for \
each member. Nobody federates here, and presence is off, but that work is the same. The receiver \
learns of it by the answer to a long poll, and asks again. Synapse can be spread over several \
processes; this is one.""",
}


def print_report(
    systems: Sequence[System],
    measured: Mapping[str, Measured],
    trouble: Mapping[str, str],
    shape: Shape,
    load_before: float,
) -> None:
    if measured:
        _print_setting(measured, shape, load_before)
        _print_figures(measured)
        _print_aims(list(_aims(measured)))
        _print_differences([system for system in systems if system.name in measured], measured)
    for name, reason in trouble.items():
        print(f"\n{name} is not in the comparison: {reason}")


def _print_setting(measured: Mapping[str, Measured], shape: Shape, load_before: float) -> None:
    memory = next(
        line for line in Path("/proc/meminfo").read_text().splitlines() if "Total" in line
    )
    print(f"{platform.platform()}, {os.cpu_count()} cores, {memory.split()[1]} kB of memory")
    print(", ".join(system.version for system in measured.values()) + "; PostgreSQL 18 embedded")
    rates = ", ".join(f"{rate}/s for {seconds:g} s" for rate, seconds in shape.open_s.items())
    print(f"{PAIRS} pairs, {shape.turns} × ({rates}, as fast as acknowledged {shape.closed_s:g} s)")
    if load_before > BUSY:
        print(f"The machine was busy before the start (load {load_before:.1f}): repeat this alone.")


def _print_figures(measured: Mapping[str, Measured]) -> None:
    groups = [f"{f'deliver at {rate}/s, ms':>26}" for rate in RATES_PER_S]
    heads = " ".join(f"{f'p{percent}':>8}" for percent in PERCENTILES)
    print()
    print(_line("", "", groups))
    print(_line("", "sends/s", [heads for _ in RATES_PER_S]))
    for name, system in measured.items():
        delays = [
            " ".join(f"{system.percentile_ms(rate, percent):8.2f}" for percent in PERCENTILES)
            for rate in RATES_PER_S
        ]
        print(_line(name, f"{system.mean_sends_per_s():,.0f}", delays))
    for name, system in measured.items():
        for rate in RATES_PER_S:
            if system.mean_sends_per_s() < rate:
                print(f"{name} takes fewer than {rate}/s: its times there are a growing queue.")


def _line(name: str, sends: str, delays: Sequence[str]) -> str:
    return "   ".join([f"{name:10}{sends:>9}", *delays])


def _aims(measured: Mapping[str, Measured]) -> Iterator[Row]:
    ours = measured.get("Greenroom")
    if ours is None:
        return
    for name, least in (("Synapse", 50), ("Prosody", 5)):
        if theirs := measured.get(name):
            sends, others = ours.mean_sends_per_s(), theirs.mean_sends_per_s()
            shown = f"{sends:,.0f}/s of {others:,.0f}/s"
            yield at_least(f"sends / {name}'s", shown, sends / others, least)
    for name, rate, most in (("Prosody", 50, 1.5), ("Synapse", 10, 1 / 8)):
        if theirs := measured.get(name):
            delay_ms, others_ms = ours.percentile_ms(rate, 50), theirs.percentile_ms(rate, 50)
            shown = f"{delay_ms:.2f} / {others_ms:.2f} ms"
            yield at_most(f"deliver p50 at {rate}/s / {name}'s", shown, delay_ms / others_ms, most)


def _print_aims(rows: Sequence[Row]) -> None:
    if not rows:
        return
    width = max(len(row.name) for row in rows)
    print(f"\n{'Greenroom':{width}}  {'ratio':>7}  {'aim':7}  {'reached':7}  measured")
    for row in rows:
        reached = "yes" if row.holds else "NO"
        print(f"{row.name:{width}}  {row.ratio:7.2f}  {row.bound:7}  {reached:7}  {row.measured}")


def _print_differences(systems: Sequence[System], measured: Mapping[str, Measured]) -> None:
    print("\nWhat differs")
    print(textwrap.fill(ALL_ALIKE, WIDTH))
    for system in systems:
        counted = f"sent = {system.acknowledged}; delivered = {system.pushed}"
        text = f"{measured[system.name].version} ({counted}): {DIFFERENCES[system.name]}"
        print(textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  "))
