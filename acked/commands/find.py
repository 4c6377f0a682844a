"""The command `find`: the shortest trace to a state in which a predicate holds, or that there is no such state."""

from __future__ import annotations

import time

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.base.names import is_name, near
from acked.checker.predicate.text import example_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, StopReason
from acked.checker.question.user_properties import SOUGHT, check_texts, sought
from acked.checker.search.local import search as run
from acked.checker.spec.spec import Spec
from acked.invariants.property import Property
from acked.model.language.storage.layout import Schema
from acked.reports.shell.options import TRACE_OUT, AskedSpec, SearchLimits, asks_spec, collects, searches, shows
from acked.reports.shell.output import Output, TraceFile
from acked.reports.tables.find import PredicateSearch, find_document, print_find


@click.command(short_help="Find the shortest trace to a state of your choice.")
@asks_spec
@click.argument("predicate", required=False)
@searches
@collects("trace_out", TraceFile, path=TRACE_OUT.saying("Write the shortest trace to this file."))
@shows
def find(asked: AskedSpec, predicate: str | None, search: SearchLimits, trace_out: TraceFile, output: Output) -> int:
    """Find the shortest trace of SPEC's protocol to a state in which PREDICATE holds.

    PREDICATE is about the fields as traces show them. It compares numbers, ids and None with ==, !=, <, <=, combines with
    and, or, not, and quantifies with any, all and count over a constant, a range or a set. It may also be a name under
    [reach] in the spec; without one, everything named there is looked for. The properties of the spec are not checked.

    \b
    acked find kip320 "quorum.isr == {0} and log[1].end == 2"
    acked find kip320 "any(replica[r].leader == r and quorum.leader != r for r in replicas)"
    acked find kip320 "count(log[r].end > 0 for r in quorum.isr) >= 2"
    acked find kip320 "log[0].records[0].id == 1 and log[0].records[1].id == None"

    Exit code 0 if there is such a state (for several predicates: for each), 1 if one is unreachable (all reachable states
    were seen), 152 if the search ended before it was decided, 151 for an invalid predicate: the message names the column.
    """
    spec = asked.load()
    wanted = _predicates(spec, predicate)
    trace_out.check()
    question = Question(output.question(spec).instance, wanted)
    began = time.perf_counter()
    with output.progress() as observer:
        result = run(question, search.bounds, StopPolicy.EVERY_PROPERTY, observer)
    seconds = time.perf_counter() - began
    found = PredicateSearch(spec.title, result, wanted, spec.properties)
    if result.violations:
        first = found.trace(result.violations[0].property)
        assert first is not None
        trace_out.write(first)
    output.emit(lambda: find_document(asked.name, found, seconds), lambda console: print_find(console, found))
    trace_out.announce(output, bool(result.violations), "no state was found")
    return int(_code(result, wanted))


def _predicates(spec: Spec, predicate: str | None) -> tuple[Property, ...]:
    if predicate is None:
        if not spec.reach:
            example = example_of(Schema(spec.protocol.state, spec.constants))
            raise ConfigurationError(f"{spec.name} has no [reach]; name a PREDICATE, e.g. \"{example}\"")
        return spec.reach
    named = {item.name: item for item in spec.reach}
    if predicate in named:
        return (named[predicate],)
    if is_name(predicate) and (hint := near(predicate, named)):
        raise ConfigurationError(f"{spec.name} has no {predicate!r} under [reach]{hint}")
    wanted = sought(SOUGHT, predicate)
    spec.question()  # whose refusals of constants come first
    check_texts([wanted], Schema(spec.protocol.state, spec.constants))
    return (wanted,)


def _code(result: Result, wanted: tuple[Property, ...]) -> ExitCode:
    if len(result.violations) == len(wanted):
        return ExitCode.HOLDS
    if result.stopped is StopReason.COMPLETE:
        return ExitCode.UNMET_EXPECTATION
    return ExitCode.INTERRUPTED if result.stopped is StopReason.INTERRUPTED else ExitCode.TOO_LARGE
