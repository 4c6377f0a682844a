"""The shortest counterexample of a spec that real brokers can be led through."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec
from acked.cluster.playing.protocol import restore_actions
from acked.cluster.playing.setting import Brokers
from acked.cluster.releases.release import Mode
from acked.cluster.reports.reproductions.words import presentation_of
from acked.model.catalogue import PROTOCOLS
from acked.model.partition.rules.versions import planes_of, rules_of
from acked.reports.progress import ProgressReporter
from acked.reports.runs.answers import verdict_in_words
from acked.reports.shell.specs import change_spec, find_spec, under_release


def is_trace(target: str) -> bool:
    """Whether a target is a trace file, and not a spec."""
    path = Path(target)
    return path.suffix == ".json" or (path.is_file() and path.suffix != ".toml")


def playable_run(
    name: str, constants: Mapping[str, int | str], brokers: Brokers, quiet: bool, version: str | None = None,
    timed: bool = False,
) -> tuple[Counterexample, dict[str, str]]:
    """The counterexample, and the actions that the search left out with the reasons.

    `version` is the release whose rules the spec has, if not those of its file. Steps that end by time are left out if there
    is a counterexample without them, unless it is to be `timed`. `ConfigurationError` for a spec without a counterexample,
    and for one of which none can be played.
    """
    spec = find_spec(name, version is not None or bool(constants))
    if version is not None:
        spec = spec_of_release(spec, version, brokers.only_mode, constants)
    elif constants:
        spec = change_spec(spec, constants, False)
    question = spec.question()
    brokers = presentation_of(question).played.fit(brokers, question)
    return playable_counterexample(question, spec.title, spec.name, brokers, quiet, timed)


def spec_of_release(
    spec: Spec, version: str, mode: Mode | None, constants: Mapping[str, int | str] | None = None
) -> Spec:
    """The spec with the rules of a release, on the brokers' control plane if it is said and that release has it."""
    if spec.protocol is PROTOCOLS["transactions"]:
        return under_release(spec, version, None, constants)
    plane = mode.value if mode is not None and mode.value in planes_of(rules_of(number_of(version))) else None
    return under_release(spec, version, plane, constants)


def playable_of(spec: Spec, brokers: Brokers, quiet: bool) -> tuple[Counterexample, dict[str, str]]:
    """The same of a spec as it is."""
    return playable_counterexample(spec.question(), spec.title, spec.name, brokers, quiet)


def playable_counterexample(
    question: Question, title: str, name: str, brokers: Brokers, quiet: bool, timed: bool = False
) -> tuple[Counterexample, dict[str, str]]:
    """The same of a question, which messages call `name`."""
    played = presentation_of(question).played
    brokers = brokers if brokers.mode else played.fit(brokers, question)
    without = played.left_out(question, timed)
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = search(played.playable(question, brokers, timed), observer=observer)
        if not result.violations and any(name in played.timed for name in without):
            without = played.left_out(question, is_timed=True)
            result = search(played.playable(question, brokers, True), observer=observer)
        if not result.violations:
            raise _refusal(name, search(question, observer=observer), without)
    violation = result.violations[0]
    return Counterexample(title, question, restore_actions(question, violation.run), violation.property), without


def _refusal(name: str, whole: Result, without: Mapping[str, str]) -> ConfigurationError:
    """Why no counterexample is played: there is none, or its shortest needs what no driver brings about."""
    if not whole.violations:
        return ConfigurationError(f"{name} has no counterexample to play ({verdict_in_words(whole)})")
    actions = {step.action.name for step in whole.violations[0].run.actions}
    needed = [f"{action} ({reason})" for action, reason in without.items() if action in actions]
    why = f"its shortest needs {', '.join(needed)}" if needed else "they need what real brokers do in another order"
    return ConfigurationError(f"no counterexample of {name} can be played on real brokers: {why}")
