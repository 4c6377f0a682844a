"""The shortest counterexample of a spec that real brokers can be led through."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec
from acked.cluster.releases.release import Mode, release
from acked.cluster.transacting import script
from acked.model.catalogue import PROTOCOLS
from acked.model.partition.rules.versions import planes_of, rules_of
from acked.reports.progress import ProgressReporter
from acked.reports.runs.answers import verdict_in_words
from acked.reports.shell.specs import changed, find_spec, under_release


@dataclass(frozen=True)
class On:
    """The brokers that a run is for: their release, and their mode (None: that of the rules).

    Steps that end by time are left out if there is a counterexample without them, unless it is to be `timed`.
    """

    release: str
    mode: Mode | None = None
    timed: bool = False

    def mode_for(self, question: Question) -> Mode:
        """The mode in which they play this; `ConfigurationError` if another is asked for than its rules have."""
        from acked.cluster.playing.setting import mode_for

        return mode_for(question, release(self.release), self.mode)

    @property
    def only_mode(self) -> Mode | None:
        """The mode that is asked for, or the only one that the release has."""
        modes = release(self.release).modes
        return self.mode or (modes[0] if len(modes) == 1 else None)


def is_trace(target: str) -> bool:
    """Whether a target is a trace file, and not a spec."""
    path = Path(target)
    return path.suffix == ".json" or (path.is_file() and path.suffix != ".toml")


def playable_run(
    name: str, constants: Mapping[str, int | str], on: On, quiet: bool, version: str | None = None
) -> tuple[Counterexample, dict[str, str]]:
    """The counterexample, and the actions that the search left out with the reasons.

    `version` is the release whose rules the spec has, if not those of its file. `ConfigurationError` for a spec without a
    counterexample, and for one of which none can be played.
    """
    spec = find_spec(name, version is not None or bool(constants))
    if version is not None:
        spec = with_rules_of(spec, version, on.only_mode, constants)
    elif constants:
        spec = changed(spec, constants, False)
    return playable_of(spec, replace(on, mode=on.mode_for(spec.question())), quiet)


def with_rules_of(
    spec: Spec, version: str, mode: Mode | None, constants: Mapping[str, int | str] | None = None
) -> Spec:
    """The spec with the rules of a release, on the brokers' control plane if it is said and that release has it."""
    if spec.protocol is PROTOCOLS["transactions"]:
        return under_release(spec, version, None, constants)
    plane = mode.value if mode is not None and mode.value in planes_of(rules_of(number_of(version))) else None
    return under_release(spec, version, plane, constants)


def playable_of(spec: Spec, on: On, quiet: bool) -> tuple[Counterexample, dict[str, str]]:
    """The same of a spec as it is."""
    return playable_counterexample(spec.question(), spec.title, spec.name, on, quiet)


def playable_counterexample(
    question: Question, title: str, name: str, on: On, quiet: bool
) -> tuple[Counterexample, dict[str, str]]:
    """The same of a question, which messages call `name`."""
    if script.is_of_transactions(question):
        return _of_transactions(question, title, name, quiet)
    from acked.cluster.playing.playable import TIMED, as_asked, left_out, playable, ways_of

    mode, timed = on.mode or on.mode_for(question), on.timed
    without = left_out(question, timed)
    ways = ways_of(release(on.release), mode)
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = search(playable(question, mode, timed, ways), observer=observer)
        if not result.violations and any(name in TIMED for name in without):
            without = left_out(question, is_timed=True)
            result = search(playable(question, mode, is_timed=True, ways=ways), observer=observer)
        if not result.violations:
            whole = search(question, observer=observer)
    if result.violations:
        violation = result.violations[0]
        return Counterexample(title, question, as_asked(question, violation.run), violation.property), without
    raise _refused(name, whole, without)


def _refused(name: str, whole: Result, without: Mapping[str, str]) -> ConfigurationError:
    """Why no counterexample is played: there is none, or its shortest needs what no driver brings about."""
    if not whole.violations:
        return ConfigurationError(f"{name} has no counterexample to play ({verdict_in_words(whole)})")
    actions = {step.action.name for step in whole.violations[0].run.actions}
    needed = [f"{action} ({reason})" for action, reason in without.items() if action in actions]
    why = f"its shortest needs {', '.join(needed)}" if needed else "they need what real brokers do in another order"
    return ConfigurationError(f"no counterexample of {name} can be played on real brokers: {why}")


def _of_transactions(question: Question, title: str, name: str, quiet: bool) -> tuple[Counterexample, dict[str, str]]:
    without = script.left_out(question)
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = search(script.playable(question), observer=observer)
        if not result.violations:
            raise _refused(name, search(question, observer=observer), without)
    violation = result.violations[0]
    return Counterexample(title, question, script.as_asked(question, violation.run), violation.property), without
