"""What `prove all-constants` does for a protocol of one's own before z3 is asked: what is covered, what is plainly false."""

from __future__ import annotations

import time

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.checker.predicate.parse import PredicateError
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Result
from acked.checker.search.local import search
from acked.checker.solver.tasks import OwnClauses
from acked.checker.spec.spec import Spec
from acked.commands.proving.demands import refuse_unasked
from acked.invariants.property import Kind
from acked.model.catalogue import PROTOCOLS
from acked.model.firstorder.reading import Reading
from acked.model.formulas.errors import ModelError
from acked.reports.console import Console
from acked.reports.runs.document import check_document
from acked.reports.runs.terminal import print_trace
from acked.reports.runs.view import view_of
from acked.reports.shell.groups import STARTED
from acked.reports.shell.output import Output, TraceFile
from acked.reports.tables.summary import print_result


def own_clauses(spec: Spec) -> OwnClauses | None:
    """What a spec of a protocol of one's own asks; None where only an argument that ships could prove it.

    `ConfigurationError` for what no proof for all constants is about.
    """
    if PROTOCOLS.get(spec.protocol.name) is spec.protocol:
        if spec.lemma_texts:
            where = spec.where(f"lemmas.{spec.lemma_texts[0].name}")
            raise ConfigurationError(
                f"{where}the proof of {spec.protocol.name} for all constants has lemmas of its own; leave [lemmas] out, "
                "or ask `acked prove induction`"
            )
        return None
    refuse_unasked(spec)
    if others := [item.name for item in spec.properties if item.kind is not Kind.STATE]:
        raise ConfigurationError(
            f"{spec.where('check')}a proof for all constants is of invariants, not of {', '.join(others)}; ask acked check"
        )
    if any(item.text is None for item in spec.properties):
        return None
    asked = tuple((item.name, item.text or "", item.promise) for item in spec.properties)
    sizes = tuple((name, spec.constants[name]) for name in spec.protocol.sizes)
    return OwnClauses(tuple((item.name, item.holds, item.doc) for item in spec.lemma_texts), asked, sizes)


def refuse_uncovered(spec: Spec) -> None:
    """`ConfigurationError` with file and line for what the reading for all constants does not cover."""
    beyond = "this is beyond a proof for all constants"
    try:
        reading = Reading(spec.protocol, spec.drop, spec.switches, is_exact=True)
    except ModelError as error:
        raise ConfigurationError(f"{spec.where('protocol')}{beyond}: {error}") from None
    for item in (*spec.lemmas, *spec.properties):
        table = "lemmas" if item in spec.lemmas else "invariants"
        where = spec.where(f"{table}.{item.name}.holds")
        try:
            for store in (reading.before, reading.initial, *(step.after for step in reading.steps)):
                reading.state_term(item.predicate, store)
        except (PredicateError, ModelError) as error:
            raise ConfigurationError(f"{where}{item.name}: {beyond}: {error}") from None


def search_first(spec: Spec, most: int, output: Output) -> Result:
    """A search at the spec's own sizes for a state in which a lemma or an invariant is false."""
    question = spec.question()
    asked = Question(question.instance, (*question.properties, *spec.lemmas))
    with output.progress() as observer:
        return search(asked, Bounds(max_states=most), StopPolicy.FIRST_VIOLATION, observer)


def show_violation(name: str, spec: Spec, result: Result, trace_out: TraceFile, output: Output) -> int:
    """Prints what the search found, as `acked check` does; returns the exit code."""
    found = Counterexample.of(spec.title, result.question, result.violations[0])
    trace_out.write(found)
    seconds = time.perf_counter() - STARTED

    def show(console: Console) -> None:
        print_trace(console, view_of(found))
        print_result(console, None, result, seconds)

    output.emit(lambda: check_document(name, spec.title, result, seconds), show)
    trace_out.announce(output, is_written=True)
    return int(result.exit_code)
