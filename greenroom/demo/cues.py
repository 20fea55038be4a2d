"""Merges the steps of all scenes into one list in the order of time."""

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from greenroom.demo.script import CONTRACT_VERBS, Scene, Step, moment_ms, scenes

SECOND_MS = 1000

# Verbs that make a thread unread for others, and verbs before which a person has read it.
_NEWS = ("says", "replies", "sends", "books", "cards", "counters")
_KNOWING = ("says", "replies", "sends", *CONTRACT_VERBS)


@dataclass(frozen=True, slots=True)
class Cue:
    """One step of one scene with its time. `number` counts the scene's messages, `place` its
    steps."""

    at_ms: int
    scene: Scene
    step: Step
    number: int
    place: int

    @property
    def client_id(self) -> str:
        return f"sample-{self.scene.key}-{self.number}"

    @property
    def key(self) -> str:
        """The idempotency key of a step that is not a message."""
        return f"sample-{self.scene.key}-step-{self.place}"


def cues(seed: int, last_day: date) -> list[Cue]:
    """Every step of every scene in the order of time. The random seed chooses the second of
    each."""
    return list(heapq.merge(*(_cues(scene, seed, last_day) for scene in scenes()), key=_at_ms))


def said_cues(seed: int, last_day: date) -> list[Cue]:
    return [cue for cue in cues(seed, last_day) if cue.step.verb in ("says", "replies")]


def _at_ms(cue: Cue) -> int:
    return cue.at_ms


def _cues(scene: Scene, seed: int, last_day: date) -> Iterator[Cue]:
    """Adds a read mark before each message of a person with unread messages, as clients do."""
    dice = random.Random(f"{seed}/{scene.key}")  # noqa: S311 (a sample, not a secret)
    earliest_ms, number, news = 0, 0, 0
    has_read: dict[str, int] = {}
    for place, step in enumerate(scene.steps):
        at_ms = moment_ms(scene, step, last_day) + dice.randrange(20, 60) * SECOND_MS
        at_ms = max(at_ms, earliest_ms)
        if step.who is not None and step.verb in _KNOWING and has_read.get(step.who, 0) != news:
            reading = replace(step, verb="reads", args=(), text="")
            yield Cue(max(earliest_ms, at_ms - 15 * SECOND_MS), scene, reading, number, place)
        number += step.verb in ("says", "replies", "sends")
        news += step.verb in _NEWS
        if step.who is not None and step.verb in (*_KNOWING, "reads"):
            has_read[step.who] = news
        yield Cue(at_ms, scene, step, number, place)
        earliest_ms = at_ms + SECOND_MS
