"""Writing what was measured into a spec's `[expect]`, with its comments and layout kept."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from acked.base.errors import ConfigurationError
from acked.checker.batch.outcome import Outcome
from acked.checker.question.result import StopReason, Verdict
from acked.checker.spec.spec import Spec
from acked.checker.spec.variants import file_and_variant


def updated_text(
    text: str, spec: Spec, outcome: Outcome, accept_violations: bool, adds: Collection[str] = ("trace_length",)
) -> str:
    """The spec with what was measured; `ConfigurationError` where that must not become an expectation.

    Pins that the spec has are corrected, and of the others only `adds` are written; a floor is only lowered. A new
    expectation pins verdict, violated properties, length of the trace, distinct states and depth.
    """
    old = spec.expect
    is_budget = old is not None and old.budget and outcome.stopped is StopReason.BUDGET
    if outcome.verdict is Verdict.INCOMPLETE and not is_budget:
        where = spec.where("expect.verdict")
        raise ConfigurationError(f"{where}an incomplete search is nothing to expect; the spec stays as it is")
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
        if variant is None:
            document.add(tomlkit.nl())
        question["expect"] = tomlkit.table()
    table: MutableMapping[str, Any] = question["expect"]
    if not is_budget:
        _put_answer(table, outcome)
    _put_pins(table, outcome, adds if old is not None else ("trace_length", "distinct_states", "depth"))
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


def _put_pins(table: MutableMapping[str, Any], outcome: Outcome, adds: Collection[str]) -> None:
    measured: dict[str, int] = {
        "distinct_states": outcome.distinct_states,
        "generated_states": outcome.generated_states,
        "depth": outcome.depth,
    }
    if outcome.violations:
        measured = {"trace_length": min(outcome.violated.values()), **measured}
    for key, value in measured.items():
        if key in table or key in adds:
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
