"""The proof for all constants, a line a step of the protocol in the terminal and a JSON document; its certificate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from acked.checker.allconstants.counterparts import BrokenRule, states_of, step_of
from acked.checker.allconstants.proof import AllConstantsProof, ObligationResult, SolverVerdict
from acked.checker.allconstants.verification import Verification
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result, Run, StopReason
from acked.checker.solver.lemma_sets import StepCounterexample
from acked.invariants.proofs import Argument, argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Protocol
from acked.reports import units
from acked.reports.console import Console, Glyphs, glyphs_of, put, put_paragraph
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import TraceView, view_of
from acked.reports.table import Mark, Table, TableCell, numbers, print_table, table


def all_constants_document(
    proof: AllConstantsProof, rules: Sequence[BrokenRule], searched: Result | None = None
) -> dict[str, object]:
    """The proof as plain data for JSON, with the rules that break the argument, and the search that came first."""
    broken = [
        {"action": item.action, "breaks": list(item.breaks), "rule_of_kip320": item.rule or None, "asks": list(item.clauses)}
        for item in rules
    ]
    document: dict[str, object] = {**proof.document(), "broken_rules": broken}
    if searched is not None:
        is_whole = searched.stopped is StopReason.COMPLETE
        constants = searched.question.instance.shown_constants
        document["searched"] = {"constants": constants, "distinct_states": searched.distinct_states, "complete": is_whole}
    return document


def print_all_constants(
    console: Console,
    protocol: Protocol,
    proof: AllConstantsProof,
    rules: Sequence[BrokenRule],
    total_seconds: float,
    argument: Argument,
    searched: Result | None = None,
) -> None:
    """What breaks the argument, if anything does; then verdict, obligations by step, and what is open.

    `argument` is what was claimed, of a shipped protocol its own; `searched` is the search that came first, if one did.
    """
    glyphs = glyphs_of(console)
    for rule in rules:
        print_trace(console, step_view(protocol, proof, rule.example, argument, searched))
        put(console, [])
    print_subject(console, protocol, proof.goals, proof.switches, proof.drop)
    _print_verdict(console, proof, glyphs)
    put(console, [])
    print_table(console, steps_table(proof.obligations))
    put(console, [])
    put_paragraph(console, f"{proof.solver}, {units.duration(total_seconds)} in all", "dim")
    if searched is not None:
        put_paragraph(console, _search_text(searched), "dim")
    for rule in rules:
        _print_rule(console, rule, glyphs)
    if rules:
        words = f"whether a trace of {proof.protocol} violates the promises: ask acked check or acked prove bmc"
        put_paragraph(console, words, "dim")
    left = [item for item in proof.open if item.verdict is SolverVerdict.UNKNOWN]
    for subject, reason in dict.fromkeys((item.subject, item.reason) for item in left):
        clauses = ", ".join(item.clause for item in left if (item.subject, item.reason) == (subject, reason))
        text = f"{subject}: not decided, because {reason}: {clauses}"
        put_paragraph(console, text, "bold yellow", f"  {glyphs.open} ", "    ")
    if proof.vacuous:
        text = f"not shown to be enabled where every clause holds, so nothing was proved about it: {', '.join(proof.vacuous)}"
        put_paragraph(console, text, "bold yellow", f"  {glyphs.open} ", "    ")
    for name, why in proof.never.items():
        put_paragraph(console, f"{name} cannot happen: {why}", "dim")
    if proof.found:
        text = f"lemma sets found anew for {units.plural(len(proof.found), 'obligation')}; --lemma-sets FILE keeps them"
        put_paragraph(console, text, "dim")


def print_subject(
    console: Console,
    protocol: Protocol,
    goals: Sequence[str],
    switches: Mapping[str, int],
    drop: Sequence[tuple[str, str]],
) -> None:
    """What a proof for all constants is about."""
    put_paragraph(console, f"{protocol.name}, {_any_number_of(protocol, switches)}", "bold underline")
    put_paragraph(console, f"promises: {', '.join(goals)}", "dim")
    if shown := _setting(protocol, switches):
        put_paragraph(console, f"under {shown}", "dim")
    if drop:
        put_paragraph(console, "without " + "; ".join(f"{action}: {label}" for action, label in drop), "dim")


def _search_text(searched: Result) -> str:
    """What the search that came first has seen."""
    sizes = ", ".join(f"{name}={value}" for name, value in searched.question.instance.shown_constants.items())
    which = "all" if searched.stopped is StopReason.COMPLETE else "the first"
    return f"searched before: lemmas and invariants hold in {which} {searched.distinct_states:,} reachable states at {sizes}"


def _any_number_of(protocol: Protocol, switches: Mapping[str, int]) -> str:
    """For which sizes the proof is."""
    if PROTOCOLS.get(protocol.name) is not protocol:
        return f"for any {', '.join(protocol.sizes)}" if protocol.sizes else "which has no sizes"
    text = "for any number of brokers, offsets, records and leader epochs"
    others = [name for name in protocol.sizes if name in ("min_insync_replicas", "in_flight")]
    argument = argument_of(protocol, switches)
    least = {} if argument is None else argument.least
    bounds = f"; at least {', '.join(f'{number} {name}' for name, number in least.items())}" if least else ""
    return (f"{text}, and any {' and '.join(others)}" if others else text) + bounds


def _setting(protocol: Protocol, switches: Mapping[str, int]) -> str:
    """The switches that are not at their defaults, as specs write them."""
    constants = [item for item in protocol.constants if item.name in switches]
    told = [item for item in constants if switches[item.name] != item.default]
    return ", ".join(f"{item.name} = {_plain(item.show(switches[item.name]))}" for item in told)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def _print_verdict(console: Console, proof: AllConstantsProof, glyphs: Glyphs) -> None:
    if proof.holds:
        words = "holds: every obligation is proved, for all constants at once"
        put_paragraph(console, words, "bold green", f"{glyphs.good} ", "  ")
        return
    if proof.interrupted:
        put_paragraph(console, "incomplete: interrupted", "bold yellow", f"{glyphs.open} ", "  ")
        return
    counts = [f"{len(proof.obligations) - len(proof.open)} of {len(proof.obligations)} obligations are proved"]
    if proof.refuted:
        counts.append(f"{len(proof.refuted)} are refuted by a step of a small instance")
    if len(proof.open) > len(proof.refuted):
        counts.append(f"{len(proof.open) - len(proof.refuted)} are left open")
    if proof.is_partial:
        counts.append("others were not asked")
    put_paragraph(console, f"incomplete: {', '.join(counts)}", "bold yellow", f"{glyphs.open} ", "  ")


def steps_table(obligations: Sequence[ObligationResult], good: str = "proved") -> Table:
    """A row per step of the protocol: is it proved, with how many obligations, in what time."""
    rows = []
    for subject in dict.fromkeys(item.subject for item in obligations):
        mine = [item for item in obligations if item.subject == subject]
        refuted = sum(item.verdict is SolverVerdict.REFUTED for item in mine)
        left = sum(item.verdict is SolverVerdict.UNKNOWN for item in mine)
        verdict = TableCell(good, "green", Mark.GOOD)
        if left:
            verdict = TableCell(f"{left} open", "bold yellow", Mark.OPEN)
        if refuted:
            verdict = TableCell(f"{refuted} refuted", "bold red", Mark.BAD)
        seconds = sum(item.seconds for item in mine)
        rows.append((subject, verdict, units.count(len(mine)), units.duration(seconds)))
    return table(("step", "verdict", numbers("obligations"), numbers("solver time")), rows)


def _print_rule(console: Console, rule: BrokenRule, glyphs: Glyphs) -> None:
    text = f"{rule.action} does not preserve {', '.join(rule.breaks)}"
    put_paragraph(console, text, "bold red", f"  {glyphs.bad} ", "      ")
    if rule.clauses:
        put_paragraph(console, f"{rule.rule} of kip320 asks in addition: {'; '.join(rule.clauses)}", "", " " * 6, " " * 6)
    elif rule.rule:
        put_paragraph(console, f"{rule.rule} of kip320 takes these steps too, to another successor", "", " " * 6, " " * 6)


def step_view(
    protocol: Protocol,
    proof: AllConstantsProof,
    found: StepCounterexample,
    argument: Argument,
    searched: Result | None = None,
) -> TraceView:
    """The step of a small instance that refutes an obligation, as a trace whose words say what it is."""
    instance = protocol.instantiate(found.constants, proof.drop)
    states = states_of(instance, found)
    run = Run(states, (step_of(instance, found.step),) if len(states) > 1 else ())
    known = (*argument.clauses, *argument.further)
    broken = next((item for item in known if item.name == found.breaks), None)
    question = Question(instance, () if broken is None else (broken,))
    view = view_of(Counterexample(protocol.title, question, run, broken if run.actions else None))
    promises = "the promises" if len(proof.goals) > 2 else "both properties"
    words = f"a state in which every lemma and {promises} hold; it may be unreachable"
    if searched is not None:
        is_same = searched.stopped is StopReason.COMPLETE and searched.question.instance.constants == instance.constants
        reach = "it is unreachable, as a search of all that can be reached tells" if is_same else "it may be unreachable"
        words = f"a state in which every lemma and invariant holds; {reach}"
    first = replace(view.steps[0], sentence=words)
    heading = f"{found.step} breaks {found.breaks}"
    return replace(view, title=heading, steps=(first, *view.steps[1:]))


# -- what became of a certificate that was checked ----------------------------------------------------------------------


def print_verification(console: Console, found: Verification, total_seconds: float) -> None:
    """What the proof is about, the verdict, obligations by step, and by name what is not verified."""
    glyphs = glyphs_of(console)
    told = found.certificate
    print_subject(console, PROTOCOLS[told.protocol], told.promises, told.constants, told.drop)
    _print_confirmation(console, found, glyphs)
    for fault in found.faults:
        put_paragraph(console, fault, "bold red", f"  {glyphs.bad} ", "    ")
    if found.faults:
        return
    put(console, [])
    print_table(console, steps_table(found.obligations, "verified"))
    put(console, [])
    for item in found.refuted:
        put_paragraph(console, f"{item.subject}: {item.clause}: refuted", "bold red", f"  {glyphs.bad} ", "    ")
    for item in found.open:
        text = f"{item.subject}: {item.clause}: not decided, because {item.reason}"
        put_paragraph(console, text, "bold yellow", f"  {glyphs.open} ", "    ")
    words = f"the manifest names {told.spec}, acked {told.acked} and {told.solver}"
    put_paragraph(console, f"{words}; the files are the obligations that this acked makes of the above", "dim")
    put_paragraph(console, f"{found.solver}, {units.duration(total_seconds)} in all", "dim")


def _print_confirmation(console: Console, found: Verification, glyphs: Glyphs) -> None:
    number = len(found.certificate.obligations)
    if found.faults:
        words = "refused: this is not the proof that it says; no solver was asked"
        put_paragraph(console, words, "bold red", f"{glyphs.bad} ", "  ")
    elif found.refuted:
        words = (
            f"refuted: {found.solver} finds a model for {units.plural(len(found.refuted), 'obligation')} that "
            f"{found.certificate.solver} proved, so one of the two solvers is wrong"
        )
        put_paragraph(console, words, "bold red", f"{glyphs.bad} ", "  ")
    elif found.holds:
        words = f"verified: {found.solver} confirms each of the {units.plural(number, 'obligation')}"
        put_paragraph(console, words, "bold green", f"{glyphs.good} ", "  ")
    else:
        stopped = "interrupted; " if found.interrupted else ""
        words = f"incomplete: {stopped}{found.solver} confirms {len(found.verified)} of {units.plural(number, 'obligation')}"
        rest = f", and leaves {len(found.open)} open" if found.open else ""
        put_paragraph(console, words + rest, "bold yellow", f"{glyphs.open} ", "  ")
