"""What a symbolic engine answered: in the terminal, as a JSON document, and while it works.

The tables after a proof, its counterexamples, its document, and the lines on stderr.

A counterexample to induction is a trace like any other but for its first state, which may be unreachable: its words say so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acked.checker.allconstants.proof import ObligationResult
from acked.checker.proof.result import (
    ActionProof,
    Bounded,
    Induction,
    InductionCounterexample,
    Method,
    ObligationVerdict,
    ProofResult,
    Reachability,
)
from acked.checker.question.observer import ProofProgress
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Verdict
from acked.invariants.property import Property
from acked.reports import units
from acked.reports.console import Console, Glyphs, clean, glyphs_of, put, put_paragraph
from acked.reports.pages.page import render, trace_data
from acked.reports.progress import ProgressReporter
from acked.reports.runs.answers import dropped_clauses, subject_in_words
from acked.reports.runs.document import violation_document
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import TraceView, steps_of, view_of
from acked.reports.table import Mark, TableCell, numbers, print_table, table

COUNTEREXAMPLE_FORMAT = "acked-counterexample-to-induction/1"
"""The `format` of a counterexample to induction, which is not a trace document: it may begin in any state."""

_STYLE = {Verdict.HOLDS: "bold green", Verdict.VIOLATED: "bold red", Verdict.INCOMPLETE: "bold yellow"}
_COLOUR = {
    ObligationVerdict.PROVED: "green",
    ObligationVerdict.REFUTED: "bold red",
    ObligationVerdict.UNDECIDED: "bold yellow",
}
_MARK = {
    ObligationVerdict.PROVED: Mark.GOOD,
    ObligationVerdict.REFUTED: Mark.BAD,
    ObligationVerdict.UNDECIDED: Mark.OPEN,
}
_REACHABLE = {
    Reachability.REACHABLE: "explicit search found it: it is reachable",
    Reachability.UNREACHABLE: "it is unreachable: explicit search saw every reachable state and did not find it",
    Reachability.UNKNOWN: "it may be unreachable",
}


# -- words -----------------------------------------------------------------------------------------------------------------


def proof_in_words(result: ProofResult) -> str:
    """One line: the verdict and why."""
    if result.violations:
        broken = ", ".join(
            f"{item.property.name} in {units.plural(item.trace_length - 1, 'step')}" for item in result.shown
        )
        return f"violated: {broken}"
    if result.interrupted:
        return "incomplete: interrupted"
    if result.induction is not None:
        return _induction_in_words(result.induction)
    assert result.bounded is not None
    bounded = result.bounded
    if bounded.depth < 0:
        return f"incomplete: nothing was decided; {bounded.reason}"
    covered = f"no trace of up to {units.plural(bounded.depth, 'step')} violates it, and longer ones were not examined"
    return f"incomplete: {covered}; {bounded.reason}" if bounded.reason else f"incomplete: {covered}"


def _induction_in_words(induction: Induction) -> str:
    if induction.is_proof:
        lemmas = units.plural(len(induction.lemmas), "lemma")
        how = "induction" if induction.k == 1 else f"{induction.k}-induction"
        return f"holds: proved by {how} with {lemmas}, in traces of any length"
    count = {
        verdict: sum(item.verdict is verdict for item in induction.obligations) for verdict in ObligationVerdict
    }
    parts = [
        f"{count[verdict]} {words}"
        for verdict, words in ((ObligationVerdict.REFUTED, "refuted"), (ObligationVerdict.UNDECIDED, "left open"))
        if count[verdict]
    ]
    names = [item.name for item in induction.actions if item.verdict is not ObligationVerdict.PROVED]
    return f"incomplete: not a proof, because of {', '.join(names)} ({', '.join(parts)} of {len(induction.obligations)})"


def differences(expect: Any, result: ProofResult) -> list[str]:
    """How a result differs from a spec's expectation, as far as a proof speaks of what is expected; one sentence each."""
    found = [] if result.verdict is expect.verdict else [
        f"verdict is {result.verdict.value}, expected {expect.verdict.value}"
    ]
    violated = [item.property.name for item in result.violations]
    if violated and expect.violates and not set(violated) <= set(expect.violates):
        found.append(f"violated: {', '.join(violated)}; expected: {', '.join(expect.violates)}")
    length = min((item.trace_length for item in result.violations), default=None)
    is_shortest = result.method is Method.BMC and len(expect.violates) < 2
    if is_shortest and length is not None and expect.trace_length is not None and length != expect.trace_length:
        found.append(f"trace_length is {length}, expected {expect.trace_length}")
    return found


# -- the terminal ----------------------------------------------------------------------------------------------------------


def print_proof(console: Console, title: str, result: ProofResult, total_seconds: float) -> None:
    """Everything about a result: traces first, then counterexamples to induction, the verdict and the tables."""
    for violation in result.violations:
        print_trace(console, view_of(Counterexample.of(title, result.question, violation)))
        put(console, [])
    if result.induction is not None and not result.violations:
        _print_counterexamples(console, title, result)
    glyphs = glyphs_of(console)
    put_paragraph(console, title, "bold underline")
    put_paragraph(console, subject_in_words(result.question.instance), "dim")
    sign = {Verdict.HOLDS: glyphs.good, Verdict.VIOLATED: glyphs.bad, Verdict.INCOMPLETE: glyphs.open}[result.verdict]
    put_paragraph(console, proof_in_words(result), _STYLE[result.verdict], f"{sign} ", "  ")
    put(console, [])
    _print_numbers(console, result, total_seconds)
    if result.induction is not None:
        put(console, [])
        _print_actions(console, result.induction, glyphs)
        _print_lemmas(console, result.induction)
    if result.bounded is not None and result.bounded.depths:
        put(console, [])
        rows = [(f"{depth}", units.duration(seconds)) for depth, seconds in enumerate(result.bounded.depths)]
        print_table(console, table(("steps without violation", numbers("time")), rows))
    for note in result.notes:
        put_paragraph(console, f"note: {note}", "", "", "      ")


def _print_numbers(console: Console, result: ProofResult, total_seconds: float) -> None:
    rows = [("properties", ", ".join(item.name for item in result.question.properties))]
    if result.induction is not None:
        induction = result.induction
        count = len(induction.obligations) - 1
        rows.append(("obligations", f"the initial state and {units.plural(count, 'action instance')}"))
        if induction.symmetry:
            rows.append(("symmetry", f"not used: {induction.symmetry}"))
        else:
            rows.append(("symmetry", f"checked: {count} of {induction.instances} action instances represent all"))
    if result.bounded is not None and result.bounded.symmetry:
        rows.append(("symmetry", f"not used: {result.bounded.symmetry}"))
    elif result.bounded is not None:
        rows.append(("symmetry", "checked: traces that differ only in the names of brokers are examined once"))
    rows.append(("time", f"{units.duration(result.seconds)} proving, {units.duration(total_seconds)} in all"))
    rows.append(("engine", f"{result.engine}, {result.method.value}, {units.plural(result.workers, 'solver')} at a time"))
    for name, text in rows:
        put_paragraph(console, text, "", f"  {name:<18}", " " * 20)


def _print_actions(console: Console, induction: Induction, glyphs: Glyphs) -> None:
    rows = []
    for action in induction.actions:
        style = _COLOUR[action.verdict]
        texts = (units.count(len(action.obligations)), units.duration(action.seconds))
        verdict = TableCell(action.verdict.value, style, _MARK[action.verdict])
        rows.append([TableCell(action.name), verdict, *(TableCell(text, style) for text in texts)])
    print_table(console, table(("action", "verdict", numbers("queries"), numbers("solver time")), rows))
    for action in induction.actions:
        for text in _remarks(action):
            put_paragraph(console, text, _COLOUR[action.verdict], f"  {glyphs.bad} ", "      ")


def _remarks(action: ActionProof) -> Iterator[str]:
    if action.broken:
        yield f"{action.name} does not preserve {', '.join(action.broken)}"
    for item in action.obligations:
        if item.reason:
            yield f"{item.label} leaves {', '.join(item.open_claims)} open: {item.reason}"
    if action.never_fires:
        yield f"{action.name} is never enabled where the lemmas hold, so nothing was proved about it"


def _print_lemmas(console: Console, induction: Induction) -> None:
    if induction.lemmas:
        put(console, [])
        put_paragraph(console, ", ".join(induction.lemmas), "dim", "  lemmas            ", " " * 20)
    if induction.needed is not None:
        put_paragraph(console, ", ".join(induction.needed) or "none", "", "  needed            ", " " * 20)


def _print_counterexamples(console: Console, title: str, result: ProofResult) -> None:
    assert result.induction is not None
    for _, item in chosen_counterexamples(result.induction):
        print_trace(console, counterexample_view(title, result, item))
        put(console, [])


def chosen_counterexamples(induction: Induction) -> Iterator[tuple[ActionProof, InductionCounterexample]]:
    """One counterexample for every action that has one; preferably one that violates a property that was asked."""
    for action in induction.actions:
        found = [item for obligation in action.obligations for item in obligation.counterexamples]
        if found:
            asked = [item for item in found if set(item.claims) & set(induction.candidates)]
            yield action, (asked or found)[0]


def counterexample_view(title: str, result: ProofResult, item: InductionCounterexample) -> TraceView:
    """A counterexample to induction as a trace whose words say what it is."""
    question = _claims_question(result, item.claims)
    broken = question.properties[0] if question.properties and item.run.actions else None
    view = view_of(Counterexample(title, question, item.run, broken))
    named = f"step {len(item.run.actions)}" if len(item.run.actions) > 1 else "the step"
    first = replace(
        view.steps[0],
        sentence=f"a state in which every property and every lemma holds; {_REACHABLE[item.reachability]}",
    )
    label = view.steps[-1].label or ""
    steps = (first, *view.steps[1:]) if len(view.steps) > 1 else (first,)
    if not item.run.actions and item.reachability is Reachability.REACHABLE:
        steps = (replace(first, sentence="the initial state"),)
    heading = f"Counterexample to induction: {named} {label} breaks {', '.join(item.claims)}"
    return replace(view, title=heading, steps=steps)


def counterexample_page(title: str, result: ProofResult) -> str | None:
    """The page of the shortest run that breaks a property, or of the first counterexample to induction; None of neither."""
    if result.violations:
        return render(trace_data(Counterexample.of(title, result.question, result.violations[0])))
    found = [] if result.induction is None else [item for _, item in chosen_counterexamples(result.induction)]
    if not found:
        return None
    view = counterexample_view(title, result, found[0])
    shown = Counterexample(view.title, _claims_question(result, found[0].claims), found[0].run, None)
    return render(trace_data(shown, beginning=view.steps[0].sentence))


def _claims_question(result: ProofResult, claims: Sequence[str]) -> Question:
    """The question with the broken lemmas among its properties, so that a picture can mark them."""
    asked = result.question.properties
    extra = [item for item in result.lemmas if item.name in claims and item not in asked]
    broken: list[Property] = [item for item in asked if item.name in claims]
    return Question(result.question.instance, (*broken, *extra))


# -- the document ----------------------------------------------------------------------------------------------------------


def proof_document(
    spec: str,
    title: str,
    result: ProofResult,
    total_seconds: float,
    expectation: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """The document of `prove`, under the names of `check`'s where they mean the same.

    `proof` is given exactly if every obligation is proved, `attempt` if induction was tried and is not a proof. `depth`
    counts complete levels, the initial one included, as a search does; `bounded.depth` counts steps. What only a search
    counts is null.
    """
    question = result.question
    instance = question.instance
    proof = None if result.induction is None else _induction(result)
    is_proof = result.verdict is Verdict.HOLDS
    holds = True if is_proof else None
    violated = {item.property.name for item in result.shown}
    return {
        "spec": spec,
        "title": title,
        "protocol": instance.protocol.name,
        "constants": dict(instance.constants),
        "drop": list(dropped_clauses(instance)),
        "engine": result.engine,
        "method": result.method.value,
        "workers": result.workers,
        "verdict": result.verdict.value,
        "distinct_states": None,
        "generated_states": None,
        "depth": None if result.bounded is None else result.bounded.depth + 1,
        "seconds": result.seconds,
        "total_seconds": total_seconds,
        "properties": [
            {"name": item.name, "kind": item.kind.value, "holds": False if item.name in violated else holds}
            for item in question.properties
        ],
        "violations": [violation_document(title, question, item) for item in result.violations],
        "proof": proof if is_proof else None,
        "attempt": None if is_proof else proof,
        "bounded": None if result.bounded is None else _bounded_document(result.bounded),
        "expectation": None if expectation is None else dict(expectation),
        "notes": list(result.notes),
    }


def _bounded_document(bounded: Bounded) -> dict[str, object]:
    return {
        "bound": bounded.bound,
        "depth": bounded.depth,
        "seconds_by_depth": list(bounded.depths),
        "symmetry": _symmetry(bounded.symmetry),
        "reason": bounded.reason or None,
    }


def _symmetry(obstacle: str) -> dict[str, object]:
    return {"used": not obstacle, "obstacle": obstacle or None}


def _induction(result: ProofResult) -> dict[str, object]:
    induction = result.induction
    assert induction is not None
    return {
        "method": result.method.value,
        "k": induction.k,
        "lemmas": list(induction.lemmas),
        "needed_lemmas": None if induction.needed is None else list(induction.needed),
        "symmetry": _symmetry(induction.symmetry),
        "per_action": {action.name: _action(result, action) for action in induction.actions},
    }


def _action(result: ProofResult, action: ActionProof) -> dict[str, object]:
    return {
        "verdict": action.verdict.value,
        "seconds": action.seconds,
        "obligations": [
            {
                "instance": item.label,
                "stands_for": item.instances,
                "verdict": item.verdict.value,
                "seconds": item.seconds,
                "goals": item.goals,
                "breaks": list(item.broken),
                "open": list(item.open_claims),
                "reason": item.reason or None,
                "can_fire": item.can_fire,
                "used_lemmas": {goal: list(names) for goal, names in item.used.items()} or None,
                "counterexamples": [_counterexample(result, found) for found in item.counterexamples],
            }
            for item in action.obligations
        ],
    }


def _counterexample(result: ProofResult, item: InductionCounterexample) -> dict[str, object]:
    question = _claims_question(result, item.claims)
    return {
        "format": COUNTEREXAMPLE_FORMAT,
        "breaks": list(item.claims),
        "first_state": item.reachability.value,
        "steps": [
            {
                "index": step.index,
                "action": step.action,
                "params": dict(step.arguments),
                "state": dict(step.state),
                "changed": [change.field for change in step.changes],
                "properties": {mark.property: mark.holds for mark in step.marks},
            }
            for step in steps_of(question, item.run)
        ],
    }


# -- while it works ----------------------------------------------------------------------------------------------------------


class ProofReporter(ProgressReporter):
    """Shows every query that a solver has answered, one line each, besides what is shown of a search."""

    def obligation_decided(self, result: ObligationResult, done: int, total: int) -> None:
        """Writes one line, of a proof for all constants."""
        subject = f"{result.subject}: {result.clause}"
        self.decided(ProofProgress(subject, result.verdict.value, result.seconds, done, total))

    def decided(self, now: ProofProgress) -> None:
        """Writes one line."""
        self._phase = f"{now.done} of {now.total} done"
        width = len(str(now.total))
        line = f"{now.done:>{width}}/{now.total}  {now.verdict:<12}  {units.duration(now.seconds):>8}  {now.subject}"
        self.above(lambda console: put(console, [(clean(line, console), "")]))
