"""What controllers' lines say of their quorum, and what was done to one, in the terminal and as JSON documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.cluster.exercising.quorum import MEANING, QuorumExercised
from acked.cluster.validating.quorum import Breach, QuorumJudged
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put_paragraph

FORMAT, EXERCISE_FORMAT = "acked-validate-quorum/1", "acked-exercise-quorum/1"


def quorum_document(judged: QuorumJudged) -> dict[str, Any]:
    """What was read and judged; `voters` are those sets that differ from the one before in the same log."""
    return {
        "format": FORMAT,
        "lines": judged.lines,
        "controllers": sorted(judged.nodes),
        "new_disks": judged.new_disks,
        "leaders": [{"epoch": one.epoch, "controller": one.node, "from_offset": one.start} for one in judged.led],
        "high_watermarks": [{"epoch": one.epoch, "controller": one.node, "first": one.offset} for one in judged.marks],
        "voters": [
            {"controller": one.node, "offset": one.offset, "voters": sorted(one.voters)} for one in judged.voted
        ],
        "breaches": [{"promise": one.promise, "in_words": one.text} for one in judged.breaches],
        "is_valid": judged.is_valid,
    }  # fmt: skip


def print_quorum(console: Console, judged: QuorumJudged) -> None:
    """What was read, and each breach."""
    read = (
        f"{units.plural(judged.lines, 'line')} of {units.plural(len(judged.nodes), 'controller')}: "
        f"{units.plural(judged.epochs, 'epoch')} with a leader, {units.plural(len(judged.marks), 'first high watermark')}, "
        f"{units.plural(len({one.offset for one in judged.voted}), 'voter set')}, "
        f"{units.plural(judged.new_disks, 'new disk')}"
    )
    print_breaches(console, read, judged.breaches)


def print_breaches(console: Console, read: str, breaches: Sequence[Breach]) -> None:
    """Each promise that lines contradict, and what was read."""
    glyphs = glyphs_of(console)
    for one in breaches:
        put_paragraph(console, f"{glyphs.bad} {one.promise}: {one.text}", "bold red", rest="  ")
    if breaches:
        put_paragraph(console, f"  {read}", "dim", rest="  ")
    else:
        put_paragraph(console, f"{glyphs.good} {read}; nothing contradicts a promise", "bold green", rest="  ")


def exercise_document(done: QuorumExercised, judged: QuorumJudged) -> dict[str, Any]:
    """What was done, and what was found of it."""
    asked = done.asked
    return {
        "format": EXERCISE_FORMAT,
        "release": asked.version,
        "seed": asked.seed,
        "minutes": asked.minutes,
        "controllers": asked.controllers,
        "voters": "static" if asked.is_static else "dynamic",
        "seconds": round(done.seconds, 1),
        "acknowledged": len(done.acknowledged),
        "missing": done.missing,
        "disturbances": {kind.value: number for kind, number in done.counts.items()},
        "not_possible": done.skipped,
        "is_valid": judged.is_valid and not done.missing,
        "validation": quorum_document(judged),
    }


def print_exercised(console: Console, done: QuorumExercised, judged: QuorumJudged) -> None:
    """What was done to the controllers, what became of acknowledged metadata, and what their lines say."""
    glyphs, asked = glyphs_of(console), done.asked
    voters = "static" if asked.is_static else "dynamic"
    about = (
        f"Kafka {asked.version}, {units.plural(asked.controllers, 'controller')}, {voters} voters, seed {asked.seed}, "
        f"{units.duration(done.seconds)}: {units.plural(len(done.acknowledged), 'record')} of metadata acknowledged"
    )
    put_paragraph(console, about, rest="  ")
    for kind, number in done.counts.items():
        put_paragraph(console, f"{units.count(number)} {kind}: {MEANING[kind]}", "dim", first="  ", rest="    ")
    if done.missing:
        text = f"{glyphs.bad} the last leader's log lacks {units.plural(len(done.missing), 'acknowledged record')}"
        put_paragraph(console, text, "bold red", rest="  ")
    else:
        put_paragraph(console, f"{glyphs.good} all of it is in the last leader's log", "bold green", rest="  ")
    print_quorum(console, judged)
