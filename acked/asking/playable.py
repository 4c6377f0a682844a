"""The shortest counterexample of a spec that real brokers can be led through."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acked.checker.errors import ConfigurationError
from acked.checker.question.result import Counterexample

if TYPE_CHECKING:
    from acked.cluster.releases.release import Mode


def is_trace(target: str) -> bool:
    """Whether a target is a trace file, and not a spec."""
    path = Path(target)
    return path.suffix == ".json" or (path.is_file() and path.suffix != ".toml")


def playable_run(
    name: str, constants: Mapping[str, int | str], mode: Mode, quiet: bool, version: str | None = None, timed: bool = False
) -> tuple[Counterexample, dict[str, str]]:
    """The counterexample, and the actions that the search left out with the reasons.

    Steps that end by time are left out if there is a counterexample without them, unless it is `timed`. `version` is that of
    the brokers, if the ways of the release matter.
    `ConfigurationError` for a spec without a counterexample, and for one of which none can be played.
    """
    from acked.asking.specs import changed, find_spec
    from acked.checker.search.local import search
    from acked.cluster.nodes.leadership import moves_only_in_sync
    from acked.cluster.playing.playable import TIMED, as_asked, left_out, playable
    from acked.cluster.releases.release import release
    from acked.reports.progress import ProgressReporter
    from acked.reports.runs.answers import verdict_in_words

    spec = find_spec(name)
    if constants:
        spec = changed(spec, constants, False)
    question = spec.question()
    without = left_out(question, timed)
    in_sync = version is not None and moves_only_in_sync(release(version), mode)
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = search(playable(question, mode, timed, in_sync), observer=observer)
        if not result.violations and any(name in TIMED for name in without):
            without = left_out(question, is_timed=True)
            result = search(playable(question, mode, is_timed=True, moves_in_sync=in_sync), observer=observer)
        if not result.violations:
            whole = search(question, observer=observer)
    if result.violations:
        violation = result.violations[0]
        return Counterexample(spec.title, question, as_asked(question, violation.run), violation.property), without
    if not whole.violations:
        raise ConfigurationError(f"{name} has no counterexample to play ({verdict_in_words(whole)})")
    actions = {step.action.name for step in whole.violations[0].run.actions}
    needed = [f"{action} ({reason})" for action, reason in without.items() if action in actions]
    why = f"its shortest needs {', '.join(needed)}" if needed else "they need what real brokers do in another order"
    raise ConfigurationError(f"no counterexample of {name} can be played on real brokers: {why}")
