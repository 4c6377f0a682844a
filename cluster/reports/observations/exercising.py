"""An exercise: how far it has come on stderr, what was done in the terminal and as a JSON document."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from acked.cluster.exercising.course import MEANING, Kind
from acked.cluster.exercising.exercise import Exercised
from acked.cluster.reports.observations.document import judged_document
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


def print_exercise(console: Console, done: Exercised) -> None:
    """What was done to the cluster, and what became of the acknowledged records."""
    glyphs = glyphs_of(console)
    asked = done.asked
    about = (
        f"Kafka {asked.version}, seed {asked.seed}, {units.duration(done.seconds)}: {units.count(done.sent)} records sent, "
        f"one a request with acks=all, {units.count(done.acknowledged)} acknowledged"
    )
    put_paragraph(console, about, rest="  ")
    for kind, number in done.counts.items():
        put_paragraph(console, f"{units.count(number)} {kind}: {MEANING[kind]}", "dim", first="  ", rest="    ")
    if done.missing:
        named = ", ".join(map(str, done.missing[:_SHOWN])) + (", …" if len(done.missing) > _SHOWN else "")
        text = f"{glyphs.bad} {units.plural(len(done.missing), 'acknowledged record')} missing at the end, at offsets {named}"
        put_paragraph(console, text, "bold red", rest="  ")
    else:
        text = f"{glyphs.good} every acknowledged record is in all replicas at the end"
        put_paragraph(console, text, "bold green", rest="  ")
    console.print()


def exercise_document(done: Exercised, judged: Judged, topic: str) -> dict[str, Any]:
    """What was done and found, for other programs."""
    counts: Mapping[Kind, int] = done.counts
    return {
        "format": "acked-exercise/1",
        "release": done.asked.version,
        "seed": done.asked.seed,
        "minutes": done.asked.minutes,
        "rate": done.asked.rate,
        "min_insync_replicas": done.asked.min_insync_replicas,
        "seconds": round(done.seconds, 1),
        "sent": done.sent,
        "acknowledged": done.acknowledged,
        "missing": list(done.missing),
        "disturbances": {kind.value: number for kind, number in counts.items()},
        "not_possible": done.skipped,
        "validation": judged_document(judged, topic, 0),
    }
