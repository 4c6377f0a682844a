"""Writing what was measured into a spec's `[expect]`, with its comments and layout kept."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from acked.base.errors import ConfigurationError
from acked.checker.batch.outcome import Outcome
from acked.checker.question.result import StopReason, Verdict
from acked.checker.spec.spec import Spec
from acked.checker.spec.variants import file_and_variant


def updated_text(text: str, spec: Spec, outcome: Outcome, accept_violations: bool) -> str:
    """The spec with what was measured; `ConfigurationError` where that must not become an expectation.

    Pins that the spec has are corrected, none is added to an expectation that has some; a floor is only lowered. A new
    expectation pins verdict, violated properties, length of the trace, distinct states and depth.
    """
    if outcome.verdict is Verdict.INCOMPLETE:
        where = spec.where("expect.verdict")
        raise ConfigurationError(f"{where}an incomplete search is nothing to expect; the spec stays as it is")
    old = spec.expect
    if outcome.verdict is Verdict.VIOLATED and not accept_violations and (old is None or old.verdict is not Verdict.VIOLATED):
        broken = ", ".join(outcome.reported)
        was = "the spec expects holds" if old is not None else "the spec expects nothing yet"
        raise ConfigurationError(
            f"{spec.where('expect.verdict')}{broken} is violated and {was}; look at the run, and if that is right add "
            "--accept-violations"
        )
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ConfigurationError(f"{spec.where()}the file cannot be rewritten: {error}") from None
    _, variant = (None, None) if spec.path is None else file_and_variant(spec.path)
    question: MutableMapping[str, Any] = document if variant is None else document[variant]
    if "expect" not in question:
        document.add(tomlkit.nl()) if variant is None else None
        question["expect"] = tomlkit.table()
    table: MutableMapping[str, Any] = question["expect"]
    _put_answer(table, outcome)
    _put_pins(table, outcome, is_new=old is None)
    _put_silent(table, outcome)
    return tomlkit.dumps(document)


def _put_answer(table: MutableMapping[str, Any], outcome: Outcome) -> None:
    _put(table, "verdict", outcome.verdict.value)
    names = list(outcome.reported)
    if not names:
        for key in ("violates", "trace_length"):
            table.pop(key, None)
        return
    given = table.get("violates")
    was = [given] if isinstance(given, str) else list(given or [])
    if set(was) != set(names):
        _put(table, "violates", names[0] if len(names) == 1 else names)


def _put_pins(table: MutableMapping[str, Any], outcome: Outcome, is_new: bool) -> None:
    measured: dict[str, int] = {
        "distinct_states": outcome.distinct_states,
        "generated_states": outcome.generated_states,
        "depth": outcome.depth,
    }
    if outcome.violations:
        measured = {"trace_length": min(outcome.violated.values()), **measured}
    added = {"trace_length", "distinct_states", "depth"} if is_new else {"trace_length"}
    for key, value in measured.items():
        if key in table or key in added:
            _put(table, key, value)
    floor = table.get("at_least_distinct_states")
    if floor is not None and floor > outcome.distinct_states:
        _put(table, "at_least_distinct_states", outcome.distinct_states)


def _put_silent(table: MutableMapping[str, Any], outcome: Outcome) -> None:
    if outcome.verdict is not Verdict.HOLDS or outcome.stopped is not StopReason.COMPLETE:
        table.pop("never_fired", None)
        return
    given = table.get("never_fired", [])
    was = [given] if isinstance(given, str) else list(given)
    if set(was) != set(outcome.never_fired):
        if outcome.never_fired:
            _put(table, "never_fired", outcome.never_fired)
        else:
            table.pop("never_fired", None)


def _put(table: MutableMapping[str, Any], key: str, value: Any) -> None:
    if key not in table or table[key] != value:
        table[key] = value
