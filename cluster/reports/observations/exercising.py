"""An exercise: how far it has come on stderr, what was done in the terminal and as a JSON document."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from acked.base.frozen import frozen
from acked.cluster.exercising.course import MEANING
from acked.cluster.exercising.exercise import Exercise, Exercised
from acked.cluster.reports.observations.document import judged_document
from acked.cluster.reports.observations.terminal import print_judged
from acked.cluster.validating.judge import Judged
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put_paragraph
from acked.reports.progress import LiveDisplay

_SHOWN = 10
"""Missing offsets that are named."""


class ExerciseProgress(LiveDisplay):
    """Shows what is done to the cluster; use it in a `with` block."""

    def __init__(self, is_quiet: bool) -> None:
        super().__init__(sys.stderr, is_quiet)
        self._line = "starting the cluster"

    def line(self) -> str:
        """`12 s of 120 s: kill of broker 1, 3.2 s`."""
        return self._line

    def __call__(self, line: str) -> None:
        self._line = line
        self.update()


@frozen
class Round:
    """What was done in one round, and what was found of each partition in its lines and on its disks."""

    done: Exercised
    judged: tuple[Judged, ...]

    @property
    def is_valid(self) -> bool:
        """Everything is explained, and everything that was acknowledged is there and was read."""
        return all(one.is_valid for one in self.judged) and not self.done.missing and not self.done.misread

    @property
    def events(self) -> int:
        """Events that were explained."""
        return sum(one.verdict.explained for one in self.judged)


def print_rounds(console: Console, rounds: Sequence[Round]) -> None:
    """A single round with all that was found; of several a line each, and more of those in which something is wrong."""
    glyphs = glyphs_of(console)
    for one in rounds:
        _print_done(console, one.done)
        wrong = [judged for judged in one.judged if not judged.is_valid]
        if len(one.judged) > 1:
            sign, style = (glyphs.bad, "bold red") if wrong else (glyphs.good, "bold green")
            named = f"{units.count(one.events)} events of {units.count(len(one.judged))} partitions"
            told = f"not every line of {len(wrong)} is explained, or promises do not hold" if wrong else "all explained"
            put_paragraph(console, f"{sign} {named}: {told}", style, rest="  ")
            console.print()
        for judged in wrong if len(one.judged) > 1 else one.judged:
            print_judged(console, judged)
    if len(rounds) > 1:
        invalid = sum(not one.is_valid for one in rounds)
        text = f"{units.count(sum(one.events for one in rounds))} events in {units.count(len(rounds))} rounds"
        put_paragraph(console, f"{text}, {invalid or 'none'} of them not valid", "bold", rest="  ")


def _print_done(console: Console, done: Exercised) -> None:
    """What was done to the cluster, and what became of the acknowledged records."""
    glyphs = glyphs_of(console)
    about = (
        f"Kafka {done.asked.version}, {done.topic}, seed {done.seed}, {units.duration(done.seconds)}: "
        f"{units.count(done.sent)} records sent, one a request with acks=all, by a producer without idempotence, an "
        f"idempotent and a transactional one, {units.count(done.acknowledged)} acknowledged"
    )
    put_paragraph(console, about, rest="  ")
    for kind, number in done.counts.items():
        put_paragraph(console, f"{units.count(number)} {kind}: {MEANING[kind]}", "dim", first="  ", rest="    ")
    if done.missing:
        named = ", ".join(map(_place(done), done.missing[:_SHOWN])) + (", …" if len(done.missing) > _SHOWN else "")
        text = f"{glyphs.bad} {units.plural(len(done.missing), 'acknowledged record')} missing at the end, at {named}"
        put_paragraph(console, text, "bold red", rest="  ")
    else:
        text = f"{glyphs.good} every acknowledged record that retention has not deleted is in all replicas at the end"
        put_paragraph(console, text, "bold green", rest="  ")
    read = f"a group of consumers in read_committed was given {units.count(done.read)} records"
    if done.misread:
        more = ", …" if len(done.misread) > _SHOWN else ""
        put_paragraph(console, f"{glyphs.bad} {read}: {'; '.join(done.misread[:_SHOWN])}{more}", "bold red", rest="  ")
    else:
        text = f"{glyphs.good} {read}: every committed one, and none of an aborted transaction"
        put_paragraph(console, text, "bold green", rest="  ")
    console.print()


def _place(done: Exercised) -> Callable[[tuple[int, int]], str]:
    """How a record's partition and offset are written."""
    if done.asked.partitions == 1:
        return lambda place: f"offset {place[1]}"
    return lambda place: f"offset {place[1]} of partition {place[0]}"


def exercise_document(asked: Exercise, rounds: Sequence[Round]) -> dict[str, Any]:
    """What was done and found, for other programs: of a run of hours each round, else the only one."""
    told = {
        "format": "acked-exercise/1",
        "release": asked.version,
        "seed": asked.seed,
        "minutes": asked.minutes,
        "rate": asked.rate,
        "min_insync_replicas": asked.min_insync_replicas,
        "partitions": asked.partitions,
    }
    if asked.hours is None:
        return {**told, **_round_document(rounds[0])}
    return {**told, "hours": asked.hours, "rounds": [{"seed": one.done.seed, **_round_document(one)} for one in rounds]}


def _round_document(one: Round) -> dict[str, Any]:
    done = one.done
    found = [judged_document(judged, done.topic, number) for number, judged in enumerate(one.judged)]
    return {
        "topic": done.topic,
        "seconds": round(done.seconds, 1),
        "sent": done.sent,
        "acknowledged": done.acknowledged,
        "missing": [offset if done.asked.partitions == 1 else [number, offset] for number, offset in done.missing],
        "read": done.read,
        "misread": list(done.misread),
        "disturbances": {kind.value: number for kind, number in done.counts.items()},
        "not_possible": done.skipped,
        "events": one.events,
        "is_valid": one.is_valid,
        **({"validation": found[0]} if len(found) == 1 else {"validations": found}),
    }
