"""What controllers' lines say of their quorum, in the terminal and as a JSON document."""

from __future__ import annotations

from typing import Any

from acked.cluster.validating.quorum import QuorumJudged
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put_paragraph

FORMAT = "acked-validate-quorum/1"


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
    glyphs = glyphs_of(console)
    read = (
        f"{units.plural(judged.lines, 'line')} of {units.plural(len(judged.nodes), 'controller')}: "
        f"{units.plural(judged.epochs, 'epoch')} with a leader, {units.plural(len(judged.marks), 'first high watermark')}, "
        f"{units.plural(len({one.offset for one in judged.voted}), 'voter set')}, "
        f"{units.plural(judged.new_disks, 'new disk')}"
    )
    for one in judged.breaches:
        put_paragraph(console, f"{glyphs.bad} {one.promise}: {one.text}", "bold red", rest="  ")
    if judged.is_valid:
        put_paragraph(console, f"{glyphs.good} {read}; nothing contradicts a promise", "bold green", rest="  ")
    else:
        put_paragraph(console, f"  {read}", "dim", rest="  ")
