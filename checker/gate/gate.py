"""The gate: many specs, each compared with what it expects, and nothing green by accident.

Finding spec files, choosing among them, what the gate refuses (`judge`), and the run.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path

from acked.base.errors import AckedError, ConfigurationError
from acked.base.frozen import frozen
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import Runner, Under, answer_all
from acked.checker.batch.outcome import Outcome, Probing, Task
from acked.checker.question.result import StopReason, Verdict
from acked.checker.question.vacuity import vacuous
from acked.checker.spec.expectation import Departure, Reason
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import as_own_file, file_and_variant, name_of, specs_in

_SKIPPED_FOLDERS = ("__pycache__", "node_modules", "site-packages")

_EXPECTS_NOTHING = Departure(
    Reason.NO_EXPECTATION, "the spec has no [expect], so nothing could ever be wrong; add one, or have --update write it"
)


@frozen
class Candidate:
    """What the gate was pointed at: a spec, or why it cannot be read as one, and at which line, if that is known."""

    path: Path
    spec: Spec | None
    error: str = ""
    line: int | None = None

    @property
    def name(self) -> str:
        """The name of the spec."""
        return name_of(self.path)

    @property
    def is_slow(self) -> bool:
        """Whether the spec calls itself slow."""
        return self.spec is not None and self.spec.slow


@frozen
class Selection:
    """Which of the specs under the paths are run.

    `patterns` are shell patterns, of which one must match the name or the path; `shard` is (i, n): every n-th of them,
    beginning with the i-th, counted from 1. Specs that call themselves slow are run if `slow`, those that expect more
    distinct states than `most_states` are not; a spec that is named by its path is run in any case.
    """

    patterns: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    slow: bool = False
    most_states: int | None = None

    def leaves_out(self, spec: Spec) -> bool:
        """Whether a spec is too slow or too large."""
        expects = None if spec.expect is None else spec.expect.distinct_states or spec.expect.at_least_distinct_states
        is_large = self.most_states is not None and (expects or 0) > self.most_states
        return is_large or (spec.slow and not self.slow)


@frozen
class Chosen:
    """What a selection leaves; `left_out` are the slow and large ones, `refusal` says what was asked for and is not there."""

    candidates: tuple[Candidate, ...]
    left_out: tuple[Candidate, ...]
    refusal: str = ""


@frozen
class GateEntry:
    """One spec's part in the gate: it is green only if there is no departure."""

    candidate: Candidate
    outcome: Outcome | None
    departures: tuple[Departure, ...]
    is_cached: bool = False

    @property
    def is_green(self) -> bool:
        """Whether everything was as expected."""
        return not self.departures


@frozen
class GateReport:
    """What the gate found; `entries` in the order of the files, `refusal` says what was asked for and not there."""

    entries: tuple[GateEntry, ...]
    left_out: tuple[Candidate, ...]
    refusal: str
    warnings: tuple[str, ...]
    seconds: float = 0.0

    @property
    def red(self) -> tuple[GateEntry, ...]:
        """What is not as expected."""
        return tuple(entry for entry in self.entries if not entry.is_green)

    @property
    def is_green(self) -> bool:
        """Whether something was run and all of it is as expected."""
        return not self.refusal and bool(self.entries) and not self.red

    @property
    def has_unreadable(self) -> bool:
        """Whether some file could not be read as a spec."""
        return any(entry.candidate.spec is None for entry in self.entries)


@frozen
class GateObserver:
    """Told what happens while the gate runs: what will be run, each finished entry, and how long searches get on."""

    begins: Callable[[Chosen], None] = lambda chosen: None
    finished: Callable[[GateEntry], None] = lambda entry: None
    progress: Callable[[Candidate, Under], None] = lambda candidate, under: None


def choose(paths: Sequence[str], selection: Selection) -> Chosen:
    """The specs under files, folders and glob patterns, each once, in the order of their paths."""
    found: dict[Path, bool] = {}
    empty = []
    for text in paths:
        files = list(_files(text))
        empty += [] if files else [text]
        for path, is_named in ((path, is_named) for file, is_named in files for path in specs_in(file)):
            key = Path(os.path.relpath(path))
            found[key] = found.get(key, False) or is_named
    refusal = f"no spec found under {', '.join(empty)}; a spec is a file that ends with .toml" if empty else ""
    # A pattern that selects nothing is a mistake even where another one selects something.
    idle = [item for item in selection.patterns if not any(_is_selected(path, [item]) for path in found)]
    if idle and not refusal:
        refusal = f"none of {len(found)} specs is selected by {', '.join(idle)}"
    wanted = [path for path in sorted(found, key=as_own_file) if _is_selected(path, selection.patterns)]
    if not wanted:
        return Chosen((), (), refusal)
    if selection.shard is not None:
        index, count = selection.shard
        if index > len(wanted):
            return Chosen((), (), f"shard {index}/{count} has no spec, because there are {len(wanted)}; use fewer shards")
        wanted = wanted[index - 1 :: count]
    candidates = [_candidate(path) for path in wanted]
    runs = [item for item in candidates if item.spec is None or found[item.path] or not selection.leaves_out(item.spec)]
    left_out = tuple(item for item in candidates if item not in runs)
    if not runs:
        why = "slow or large and left out; name one" if selection.most_states else "slow and left out; add --slow"
        refusal = refusal or f"all {len(left_out)} specs are {why}"
    return Chosen(tuple(runs), left_out, refusal)


def judge(spec: Spec, outcome: Outcome) -> list[Departure]:
    """Everything that keeps an answered spec from being green."""
    if spec.expect is None:
        return [_EXPECTS_NOTHING]
    if spec.count_only:
        return [Departure(Reason.INCOMPLETE, "count_only = true asks nothing, so nothing is decided", "check.count_only")]
    departures = spec.expect.departures(outcome)
    is_meant = spec.expect.budget and outcome.stopped is StopReason.BUDGET
    is_open = outcome.verdict is Verdict.INCOMPLETE and not is_meant
    if is_open and not any(item.reason is Reason.INCOMPLETE for item in departures):
        sentence = "the search is incomplete, and a gate needs an answer"
        departures.append(Departure(Reason.INCOMPLETE, sentence, "expect.verdict"))
    if outcome.stopped is StopReason.COMPLETE and (empty := vacuous(outcome.probes)):
        why = "no reachable state makes an antecedent true"
        sentence = f"vacuous: {', '.join(empty)}: {why}; ask another property or change the constants"
        departures.append(Departure(Reason.VACUOUS, sentence, "check.invariants"))
    return departures


def run_gate(
    chosen: Chosen,
    runner: Runner | None = None,
    cache: ResultCache | None = None,
    observer: GateObserver | None = None,
    asks_all: bool = False,
) -> GateReport:
    """Runs what was chosen; every candidate ends up in the report. `asks_all` also answers specs that expect nothing."""
    tells = observer or GateObserver()
    tells.begins(chosen)
    entries: dict[Path, GateEntry] = {}

    def finish(entry: GateEntry) -> None:
        entries[entry.candidate.path] = entry
        tells.finished(entry)

    asked: list[tuple[Candidate, Spec]] = []
    for item in chosen.candidates:
        if item.spec is None:
            finish(GateEntry(item, None, (Departure(Reason.UNREADABLE, item.error),)))
        elif item.spec.expect is None and not asks_all:
            finish(GateEntry(item, None, (_EXPECTS_NOTHING,)))
        else:
            asked.append((item, item.spec))
    # The long ones first, so that none of them is left alone at the end.
    asked.sort(key=lambda pair: -_size(pair[1]))
    tasks = [Task.of(spec, Probing.VACUITY) for _, spec in asked]
    for answered in answer_all(tasks, runner, cache, lambda under: tells.progress(asked[under.task][0], under)):
        candidate, spec = asked[answered.task]
        if answered.outcome is None and answered.is_overflow and spec.expect is not None and spec.expect.overflow:
            departures = []
        elif answered.outcome is None:
            departures = [Departure(Reason.NO_ANSWER, f"there is no answer: {answered.failure}")]
        else:
            departures = judge(spec, answered.outcome)
        finish(GateEntry(candidate, answered.outcome, tuple(departures), answered.is_cached))
    ordered = tuple(entries[item.path] for item in chosen.candidates)
    return GateReport(ordered, chosen.left_out, chosen.refusal, tuple(cache.warnings if cache is not None else ()))


def parse_shard(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3); `ConfigurationError` for anything else."""
    first, _, second = text.partition("/")
    if first.isdecimal() and second.isdecimal() and 1 <= int(first) <= int(second):
        return int(first), int(second)
    raise ConfigurationError(f"{text!r} is not a shard; write e.g. 2/3 for the second of three")


def _size(spec: Spec) -> int:
    pins = spec.expect
    return (pins.distinct_states or pins.at_least_distinct_states or 0) if pins is not None else 0


def _files(text: str) -> Iterator[tuple[Path, bool]]:
    """(file, whether it was named itself) for a file, a folder or a pattern."""
    if os.path.isdir(text):
        for folder, folders, names in os.walk(text):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
            yield from ((Path(folder) / name, False) for name in names if name.endswith(".toml") and not name.startswith("."))
    elif os.path.lexists(file_and_variant(Path(text))[0]):
        yield Path(text), True
    else:
        for match in glob.glob(text, recursive=True):
            yield from _files(match) if os.path.isdir(match) else [(Path(match), False)]


def _is_selected(path: Path, patterns: Sequence[str]) -> bool:
    texts = (name_of(path), path.as_posix())
    return not patterns or any(fnmatch(text, pattern) for pattern in patterns for text in texts)


def _candidate(path: Path) -> Candidate:
    try:
        return Candidate(path, load_spec(path))
    except AckedError as error:
        return Candidate(path, None, str(error), error.line)
