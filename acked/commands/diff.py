"""The command `diff`: two sets of rules over the same fields, compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from acked.asking.options import (
    CONSTANT,
    MAX_STATES,
    MEMORY,
    WORKERS,
    AskedSpec,
    Constants,
    SearchLimits,
    collects,
    shows,
)
from acked.asking.output import Output
from acked.checker.errors import ConfigurationError, ExitCode

if TYPE_CHECKING:
    from acked.checker.question.question import Question
    from acked.checker.spec.spec import Spec


@click.command(short_help="Compare the rules of two specs: what one allows and the other forbids.")
@click.argument("first", metavar="SPEC_A")
@click.argument("second", metavar="SPEC_B")
@CONSTANT.saying("Change a constant of both specs, e.g. -c replicas=2.").under("constants")
@collects(
    "search",
    SearchLimits,
    workers=WORKERS,
    max_states=MAX_STATES.saying("Stop either search once it knows more distinct states; the answer is then incomplete."),
    memory=MEMORY,
)
@shows
def diff(first: str, second: str, constants: Constants, search: SearchLimits, output: Output) -> int:
    """Compare the rules of two specs: what can happen under one and not under the other.

    Both state spaces are explored completely. Reported are: the shortest trace that SPEC_A allows and SPEC_B does not, and
    the other way round, with the guard clause that forbids its last step; every property of either spec, checked on both;
    and the counts. To see what an upgrade of Kafka changes, write two specs of `partition` that differ in `version`. Where
    one version keeps something in its state that the other does not have, only properties and counts are compared.

    \b
    acked diff kip101 kip279 -c replicas=2 -c log_size=2 -c max_records=2 -c max_leader_epoch=1

    Exit code 0 if nothing differs, 1 if something does, 152 if a search was incomplete, 151 if there is nothing to compare.
    """
    from acked.checker.diagnosis.difference import compare
    from acked.reports.tables.difference import difference_document, print_difference

    specs = [AskedSpec(name, constants).load() for name in (first, second)]
    questions = [_asked(specs[0], specs[1]), _asked(specs[1], specs[0])]
    with output.progress() as observer:
        found = compare(questions[0], questions[1], search.bounds, observer)
    names = (first, second) if first != second else (f"{first} (A)", f"{second} (B)")
    output.emit(lambda: difference_document(names, found), lambda console: print_difference(console, names, found))
    if not found.is_complete:
        return int(ExitCode.TOO_LARGE)
    return int(ExitCode.UNMET_EXPECTATION if found.differs else ExitCode.HOLDS)


def _asked(spec: Spec, other: Spec) -> Question:
    """A spec's question without symmetry, about the properties of both specs in one order, as far as both can have them."""
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
