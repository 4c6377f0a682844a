"""The command `find`: the shortest run to a state in which a predicate holds, or that there is no such state."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.asking.options import Binding, MemorySize, say
from acked.asking.specs import changed, find_spec
from acked.checker.errors import ConfigurationError, ExitCode
from acked.checker.files import check_writable, write_text
from acked.checker.names import near

FORMATS = click.Choice(["text", "json"])

if TYPE_CHECKING:
    from acked.checker.question.result import Counterexample, Result
    from acked.checker.spec.spec import Spec
    from acked.invariants.property import Property


@click.command(short_help="Find the shortest run to a state of your choice.")
@click.argument("spec")
@click.argument("predicate", required=False)
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="Threads that search; default: one per core.")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after so many levels.")
@click.option("--max-states", type=click.IntRange(1), help="Stop when more distinct states are known.")
@click.option("--memory", type=MemorySize(), help="Bytes for the visited states, e.g. 4GB; default: most of what is free.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the shortest run to this file.")
@click.option("--format", "form", type=FORMATS, default="text", help="What stdout gets.", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def find(
    spec: str,
    predicate: str | None,
    constants: tuple[tuple[str, Any], ...],
    workers: int | None,
    max_depth: int | None,
    max_states: int | None,
    memory: int | None,
    trace_out: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """Find the shortest run of SPEC's protocol to a state in which PREDICATE holds.

    PREDICATE speaks of the fields as traces show them. It compares numbers, ids and None with ==, !=, <, <=, joins with and,
    or, not, and repeats with any, all and count over a constant, a range or a set. It may also be a name under [reach] in the
    spec; without one, everything named there is looked for. The promises of the spec are not asked.

    \b
    acked find kip320 "quorum.isr == {0} and log[1].end == 2"
    acked find kip320 "any(replica[r].leader == r and quorum.leader != r for r in replicas)"
    acked find kip320 "count(log[r].end > 0 for r in quorum.isr) >= 2"
    acked find kip320 "log[0].records[0].id == 1 and log[0].records[1].id == None"

    Exit code 0 if there is such a state (all of them, of several), 1 if no reachable state is one (every one was seen),
    152 if the search ended before it could say so, 151 if the predicate is none: the message points at its column.
    """
    from acked.checker.bounds import Bounds, default_memory, default_workers
    from acked.checker.question.ledger import StopPolicy
    from acked.checker.question.question import Question
    from acked.checker.question.result import Counterexample
    from acked.checker.search.local import search
    from acked.reports.progress import ProgressReporter

    chosen = find_spec(spec)
    if constants:
        chosen = changed(chosen, dict(constants), False)
    wanted = _wanted(chosen, predicate)
    if trace_out is not None:
        check_writable(trace_out, "trace")
    instance = chosen.question().instance
    question = Question(instance, wanted)
    bounds = Bounds(workers or default_workers(), memory or default_memory(), max_depth, max_states)
    began = time.perf_counter()
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = search(question, bounds, StopPolicy.EVERY_PROPERTY, observer)
    seconds = time.perf_counter() - began
    found = {
        item.property.name: Counterexample.of(chosen.title, Question(instance, (*chosen.properties, item.property)), item)
        for item in result.violations
    }
    if trace_out is not None and result.violations:
        from acked.reports.runs.document import trace_document

        document = trace_document(found[result.violations[0].property.name])
        write_text(trace_out, json.dumps(document, indent=1) + "\n", "trace")
    if form == "json":
        _print_json(spec, chosen, result, wanted, found, seconds)
    else:
        _print_text(chosen, result, wanted, found)
        if trace_out is not None:
            say(f"the trace is in {trace_out}" if found else "nothing was found, so no trace was written")
    return int(_code(result, wanted))


def _wanted(chosen: Spec, predicate: str | None) -> tuple[Property, ...]:
    from acked.checker.question.user_properties import SOUGHT, check_texts, sought
    from acked.model.language.domain import is_name
    from acked.model.language.layout import Schema

    if predicate is None:
        if not chosen.reach:
            raise ConfigurationError(f"{chosen.name} has no [reach]; name a PREDICATE, such as \"quorum.isr == {{0}}\"")
        return chosen.reach
    named = {item.name: item for item in chosen.reach}
    if predicate in named:
        return (named[predicate],)
    if is_name(predicate) and (hint := near(predicate, named)):
        raise ConfigurationError(f"{chosen.name} has no {predicate!r} under [reach]{hint}")
    wanted = sought(SOUGHT, predicate)
    chosen.question()  # whose refusals of constants come first
    check_texts([wanted], Schema(chosen.protocol.state, chosen.constants))
    return (wanted,)


def _code(result: Result, wanted: tuple[Property, ...]) -> ExitCode:
    from acked.checker.question.result import StopReason

    if len(result.violations) == len(wanted):
        return ExitCode.HOLDS
    if result.stopped is StopReason.COMPLETE:
        return ExitCode.UNMET_EXPECTATION
    return ExitCode.INTERRUPTED if result.stopped is StopReason.INTERRUPTED else ExitCode.TOO_LARGE


def _verdict(result: Result, name: str) -> str:
    from acked.checker.question.result import StopReason

    if any(item.property.name == name for item in result.violations):
        return "reached"
    return "unreachable" if result.stopped is StopReason.COMPLETE else "incomplete"


def _print_json(
    name: str,
    chosen: Spec,
    result: Result,
    wanted: tuple[Property, ...],
    shown: dict[str, Counterexample],
    seconds: float,
) -> None:
    from acked.reports.runs.document import trace_document

    found: list[dict[str, Any]] = [
        {
            "name": item.name,
            "predicate": item.text,
            "verdict": _verdict(result, item.name),
            "trace_length": len(shown[item.name].run.states) if item.name in shown else None,
            "trace": None,
        }
        for item in wanted
    ]
    for entry in found:
        key = str(entry["name"])
        if key in shown:
            entry["trace"] = trace_document(shown[key])
    instance = result.question.instance
    document = {
        "spec": name,
        "title": chosen.title,
        "protocol": instance.protocol.name,
        "constants": instance.shown_constants,
        "found": found,
        "stopped": result.stopped.name.lower(),
        "distinct_states": result.distinct_states,
        "generated_states": result.generated_states,
        "depth": result.depth,
        "workers": result.workers,
        "seconds": seconds,
    }
    click.echo(json.dumps(document, indent=1))


def _print_text(
    chosen: Spec, result: Result, wanted: tuple[Property, ...], shown: dict[str, Counterexample]
) -> None:
    from acked.reports.console import glyphs_of, open_console, put_paragraph
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of
    from acked.reports.units import plural

    console = open_console(sys.stdout)
    glyphs = glyphs_of(console)
    for item in wanted:
        if item.name in shown:
            print_trace(console, view_of(shown[item.name]))
            console.print()
    for item in wanted:
        seen = plural(result.distinct_states, "reachable state")
        if item.name in shown:
            text = f"reached in {plural(len(shown[item.name].run.actions), 'step')}"
            put_paragraph(console, f"{text}: {item.text}", "bold green", f"{glyphs.good} ", "  ")
        elif _verdict(result, item.name) == "unreachable":
            text = f"no reachable state is one, and all {seen} were seen"
            put_paragraph(console, f"{text}: {item.text}", "bold", f"{glyphs.bad} ", "  ")
        else:
            seen = f"{plural(result.distinct_states, 'state')} of {plural(result.depth, 'level')}"
            text = f"not found in the {seen}: {result.stopped.value}"
            put_paragraph(console, f"{text}: {item.text}", "bold yellow", f"{glyphs.open} ", "  ")
