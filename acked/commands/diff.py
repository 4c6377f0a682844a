"""The command `diff`: two sets of rules over the same fields, compared."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from acked.asking.options import Binding, MemorySize
from acked.asking.specs import changed, find_spec
from acked.checker.errors import ConfigurationError, ExitCode

if TYPE_CHECKING:
    from acked.checker.question.question import Question
    from acked.checker.spec.spec import Spec


@click.command()
@click.argument("first", metavar="SPEC_A")
@click.argument("second", metavar="SPEC_B")
@click.option("-c", "--constant", "constants", type=Binding(), multiple=True, help="Change a constant of both specs.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="Threads that search; default: one per core.")
@click.option("--max-states", type=click.IntRange(1), help="Stop either search when more distinct states are known.")
@click.option("--memory", type=MemorySize(), help="Bytes for the visited states, e.g. 4GB; default: most of what is free.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", help="What stdout gets.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def diff(
    first: str,
    second: str,
    constants: tuple[tuple[str, Any], ...],
    workers: int | None,
    max_states: int | None,
    memory: int | None,
    form: str,
    quiet: bool,
) -> int:
    """Compare the rules of two specs: what can happen under one and not under the other.

    Both are searched completely. Shown are the shortest run that is possible in SPEC_A and not in SPEC_B, and the other way
    round, with the clause that forbids its last step; every promise of either spec, asked of both; and the counts. Of two
    versions of Kafka that is what an upgrade changes: write two specs of `partition` that differ in `version`. Where a
    version keeps something in its state that the other does not have, promises and counts are compared, and runs are not.

    \b
    acked diff kip101 kip279 -c replicas=2 -c log_size=2 -c max_records=2 -c max_leader_epoch=1

    Exit code 0 if nothing differs, 1 if something does, 152 if a search was incomplete, 151 if there is nothing to compare.
    """
    from acked.checker.bounds import Bounds, default_memory, default_workers
    from acked.checker.diagnosis.difference import compare
    from acked.reports.console import open_console
    from acked.reports.progress import ProgressReporter
    from acked.reports.tables.difference import difference_document, print_difference

    specs = [find_spec(name) for name in (first, second)]
    if constants:
        specs = [changed(spec, dict(constants), False) for spec in specs]
    questions = [_asked(specs[0], specs[1]), _asked(specs[1], specs[0])]
    bounds = Bounds(workers or default_workers(), memory or default_memory(), None, max_states)
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        found = compare(questions[0], questions[1], bounds, observer)
    names = (first, second) if first != second else (f"{first} (A)", f"{second} (B)")
    if form == "json":
        click.echo(json.dumps(difference_document(names, found), indent=1))
    else:
        print_difference(open_console(sys.stdout), names, found)
    if not found.is_complete:
        return int(ExitCode.TOO_LARGE)
    return int(ExitCode.UNMET_EXPECTATION if found.differs else ExitCode.HOLDS)


def _asked(spec: Spec, other: Spec) -> Question:
    """A spec's question without symmetry, asked the promises of both specs in one order, as far as both can be asked them."""
    from acked.checker.question.fairness import check_fairness, check_present
    from acked.checker.question.question import Question
    from acked.checker.question.user_properties import check_texts
    from acked.checker.spec.resolve import property_named
    from acked.model.language.layout import Schema

    instance, beside = spec.question().instance, other.question().instance
    by_name = {item.name: item for item in (*spec.properties, *other.properties)}
    asked = []
    for name in sorted(by_name):
        meanings = {(*item.texts, item.without, item.liveness and (item.liveness.weak, item.liveness.strong))
                    for item in (*spec.properties, *other.properties) if item.name == name}  # fmt: skip
        if len(meanings) > 1:
            raise ConfigurationError(f"{name} does not mean the same in both specs; give one of the two another name")
        written = [item for item in (by_name[name],) if item.texts]
        try:
            for item in written:
                if item.liveness is not None:
                    check_fairness(other.protocol, item.liveness.weak, item.liveness.strong)
                    check_fairness(spec.protocol, item.liveness.weak, item.liveness.strong)
                    check_present(instance, item)
                    check_present(beside, item)
            property_named(spec.protocol, name, written)
            property_named(other.protocol, name, written)
            check_texts(written, Schema(spec.protocol.state, spec.constants))
            check_texts(written, Schema(other.protocol.state, other.constants))
        except ConfigurationError:
            continue
        asked.append(by_name[name])
    return Question(instance, tuple(asked))
