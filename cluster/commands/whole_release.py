"""`acked reproduce --all`: all that the model predicts of a release, and what its brokers did."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text, write_text
from acked.base.frozen import frozen
from acked.checker.question.result import Verdict as Answer
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, load_spec
from acked.cluster.commands.playable import playable_of, spec_of_release
from acked.cluster.playing.play import PlayedRun
from acked.cluster.playing.reproduce import reproduce as play
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode, release
from acked.cluster.replicating.protocol import REPLICATION, rules_unlike
from acked.cluster.reports.reproductions.release_table import (
    Deed,
    Predicted,
    ReleaseRow,
    WholeRelease,
    print_release,
    read_release,
    release_document,
)
from acked.cluster.reports.reproductions.verdict import Verdict, verdict_of, why_not_reproduced
from acked.model.partition.protocol import partition
from acked.reports.shell.bundled import all_bundled, bundled_specs
from acked.reports.shell.deadline import OverTime, deadline
from acked.reports.shell.output import Output, json_text, say
from acked.reports.units import plural

_FOLDERS = ("claims", "gallery")
_ROLES = ("bug", "open")


@frozen
class Candidate:
    """A spec that concerns a release: with its rules, but for those of `others`."""

    spec: Spec
    others: tuple[str, ...]


def candidates(version: str, mode: Mode) -> list[Candidate]:
    """The claims under a release's rules, and the bugs of the gallery that the release has, each question once.

    A claim whose own constants are rules that the release does not have concerns it only if it was written for that release,
    one that names a control plane only those with that, and one about something that a release lacks not that release.
    """
    found, asked = [], set()
    chosen = release(version)
    for path in all_bundled():
        if path.relative_to(bundled_specs()).parts[0] not in _FOLDERS:
            continue
        spec = load_spec(path)
        if spec.protocol is not partition or (spec.gallery is not None and spec.gallery.role not in _ROLES):
            continue
        if spec.asked.liveness or spec.reach:
            continue
        if spec.control_plane not in (None, mode.value):
            continue
        try:
            under = replace(spec_of_release(spec, version, mode), name=spec.name, path=path)
        except ConfigurationError:  # Its promise would hold of nothing: there are no eligible leaders before 4.0.
            continue
        others = tuple(rule.constant for rule in rules_unlike(under.constants, chosen, mode))
        if under.constants != spec.constants and (others or spec.gallery is not None):
            continue
        key = (tuple(sorted(under.constants.items())), under.asked.properties, under.drop)
        if key not in asked:
            asked.add(key)
            found.append(Candidate(under, others))
    return found


def play_all(brokers: Brokers, out: Path | None, time_limit: int, slow: bool, output: Output) -> int:
    """Asks and plays one after the other; what a file of `out` has already is not played again."""
    mode = brokers.chosen_mode
    brokers = replace(brokers, mode=mode)  # All is asked under the rules of this mode.
    whole = _begun(out, WholeRelease(brokers.version, mode))
    done = {row.spec for row in whole.rows}
    wanted = candidates(brokers.version, mode)
    left_out = tuple(one.spec.name for one in wanted if one.spec.slow and not slow)
    todo = [one for one in wanted if one.spec.name not in left_out]
    whole = replace(whole, left_out=left_out)
    for number, one in enumerate(todo, start=1):
        if one.spec.name in done:
            continue
        tell = partial(_tell, output, f"{number} of {len(todo)}")
        row = _row(one, brokers, mode, time_limit, tell)
        tell(row.sentence(brokers.version))
        whole = replace(whole, rows=(*whole.rows, row))
        _keep(out, replace(whole, is_whole=False))
    whole = replace(whole, is_whole=True)
    _keep(out, whole)
    output.emit(lambda: release_document(whole), lambda console: print_release(console, whole))
    return int(whole.exit_code)


def _tell(output: Output, place: str, text: str) -> None:
    if not output.quiet:
        say(f"{place}: {text}")


def _begun(out: Path | None, new: WholeRelease) -> WholeRelease:
    """What was done before an interruption; `ConfigurationError` if the file is about other brokers."""
    if out is None or not out.exists():
        return new
    try:
        before = read_release(json.loads(read_text(out, "answer of --all")))
    except (ValueError, SpecUnreadable) as error:
        raise ConfigurationError(f"{out} is not an answer of `reproduce --all` ({error}); name another file") from None
    if (before.version, before.mode) != (new.version, new.mode):
        raise ConfigurationError(f"{out} is about {before}, not {new}; name another file")
    return before


def _keep(out: Path | None, whole: WholeRelease) -> None:
    if out is not None:
        write_text(out, json_text(release_document(whole)), "answer")


def _row(one: Candidate, brokers: Brokers, mode: Mode, time_limit: int, tell: Callable[[str], None]) -> ReleaseRow:
    """Asks the model, and the brokers if there is something to play."""
    spec = one.spec
    entry = spec.gallery
    row = ReleaseRow(
        spec.name, spec.title, None if entry is None else entry.row, spec.properties[0].name, one.others,
        Predicted.HOLDS, Deed.NOTHING, date=datetime.date.today().isoformat(),
    )  # fmt: skip
    result = search(spec.question())
    if not result.violations:
        undecided = replace(row, deed=Deed.NOT_DECIDED, reason="the model's search did not end")
        return row if result.verdict is Answer.HOLDS else undecided
    row = replace(row, predicted=Predicted.VIOLATED, promise=result.violations[0].property.name)
    try:
        found, _ = playable_of(spec, brokers, quiet=True)
        prepared = REPLICATION.prepare(found.question, found.run, brokers)
    except ConfigurationError as error:
        return replace(row, deed=Deed.NOT_PLAYED, reason=str(error).partition(": ")[2] or str(error))
    row = replace(row, steps=len(prepared.script.steps))
    tell(f"{spec.name}: the model violates {row.promise}; playing {plural(len(prepared.script.steps), 'step')}")
    try:
        with deadline(time_limit):
            done = play(prepared)
    except OverTime as error:
        return replace(row, deed=Deed.NOT_DECIDED, reason=str(error))
    row = replace(row, up_seconds=round(done.start_seconds, 1), seconds=round(done.played.seconds, 1))
    if done.observed is not None:
        row = replace(row, logged=done.observed.found, unexplained=done.observed.said)
    promise = "" if found.property is None else found.property.name
    return _judgement(row, done.played, promise)


def _judgement(row: ReleaseRow, played: PlayedRun[Any, Any], promise: str) -> ReleaseRow:
    found = verdict_of(promise, played)
    if found is Verdict.PARTED and played.parted is not None:
        return replace(row, deed=Deed.PARTED, parted=played.parted.index, reason=played.reason)
    if found is Verdict.REPRODUCED:
        return replace(row, deed=Deed.REPRODUCED)
    return replace(row, deed=Deed.AS_MODELLED, reason=why_not_reproduced(promise, played))
