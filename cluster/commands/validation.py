"""Validating what `acked kafka validate` asks: one partition, all of them, the controllers' quorum, or coordinators."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from acked.base.errors import AckedError, ConfigurationError, ExitCode
from acked.base.files import write_text
from acked.cluster.lines.facts import Ununderstood
from acked.cluster.reports.observations.coordinators import coordinators_document, print_coordinators
from acked.cluster.reports.observations.counting import EventsExplained
from acked.cluster.reports.observations.document import all_document, judged_document
from acked.cluster.reports.observations.page import has_page, observation_page
from acked.cluster.reports.observations.quorum import print_quorum, quorum_document
from acked.cluster.reports.observations.terminal import print_all, print_judged
from acked.cluster.reports.observations.words import so_far
from acked.cluster.validating.coordinators import judge_coordinators
from acked.cluster.validating.judge import Asked, Judged, Live, judge, judge_all
from acked.cluster.validating.quorum import judge_quorum
from acked.reports.shell.output import Output, say

__all__ = ["Asked", "Ununderstood", "validate_all", "validate_coordinators", "validate_one", "validate_quorum"]

STDIN = "-"


def validate_one(asked: Asked, follow: bool, page: Path | None, output: Output) -> int:
    """The exit code: 12 if the logs of one partition are no behaviour of the model."""
    if follow:
        judged = _follow(asked, output)
    else:
        with EventsExplained(output.quiet) as progress:
            judged = judge(asked, progress, _tell)
    output.emit(
        lambda: judged_document(judged, asked.topic, asked.partition), lambda console: print_judged(console, judged)
    )
    if page is not None:
        _write_page(page, judged)
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def validate_quorum(logs: tuple[str, ...], output: Output) -> int:
    """The exit code: 12 if what controllers logged contradicts a promise of `kraft`."""
    judged = judge_quorum(logs)
    output.emit(lambda: quorum_document(judged), lambda console: print_quorum(console, judged))
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def validate_coordinators(logs: tuple[str, ...], topic: str, output: Output) -> int:
    """The exit code: 12 if what coordinators logged contradicts a promise of `coordinator`."""
    judged = judge_coordinators(logs, topic)
    output.emit(lambda: coordinators_document(judged, topic), lambda console: print_coordinators(console, judged))
    return int(ExitCode.HOLDS if judged.is_valid else ExitCode.INVARIANT)


def validate_all(asked: Asked, topics: tuple[str, ...], partitions: str, output: Output) -> int:
    """The exit code: 12 if a partition is not valid, else 150 if one could not be read."""
    with EventsExplained(output.quiet) as progress:
        found = list(judge_all(asked, dict.fromkeys(topics), _numbers(partitions), progress, _tell))
    output.emit(lambda: all_document(found), lambda console: print_all(console, found))
    if any(not isinstance(one, AckedError) and not one.is_valid for _, one in found):
        return int(ExitCode.INVARIANT)
    return int(next((one.exit_code for _, one in found if isinstance(one, AckedError)), ExitCode.HOLDS))


def _numbers(partitions: str) -> set[int] | None:
    """Partitions by their numbers; None of all."""
    if partitions.strip() == "all":
        return None
    found: set[int] = set()
    for span in partitions.split(","):
        ends = re.fullmatch(r"\s*(\d{1,6})(?:-(\d{1,6}))?\s*", span)
        if ends is None:
            raise ConfigurationError(f"--partitions takes all, or numbers such as 0-9,12, and not {partitions!r}")
        found |= set(range(int(ends[1]), int(ends[2] or ends[1]) + 1))
    return found


def _tell(line: str) -> None:
    say(f"acked: {line}")


def _follow(asked: Asked, output: Output) -> Judged:
    """Follows the files until Ctrl-C, which is how it is meant to end; a second one interrupts."""
    if STDIN in asked.logs:
        raise ConfigurationError("--follow reads files that grow, and stdin is none; name the nodes' files")
    if asked.data or asked.acknowledged is not None:
        raise ConfigurationError("--follow does not compare disks and acknowledged records; validate with them afterwards")
    live = Live(lambda now: None if output.quiet else say(so_far(now)))
    before = signal.signal(signal.SIGINT, lambda number, frame: _stop(live, before))
    try:
        return judge(asked, None, _tell, live)
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(live: Live, before: signal._HANDLER) -> None:
    live.stop.set()
    signal.signal(signal.SIGINT, before)


def _write_page(page: Path, judged: Judged) -> None:
    if not has_page(judged.verdict):
        say("every line is explained, so there is nothing to show: no page is written")
        return
    write_text(page, observation_page(judged.verdict, judged.about), "page")
