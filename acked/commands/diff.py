"""The command `diff`: two sets of rules over the same fields, compared."""

from __future__ import annotations

from dataclasses import replace

import click

from acked.base.errors import ConfigurationError, ExitCode
from acked.checker.diagnosis.difference import compare
from acked.checker.spec.spec import Spec
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import (
    CONSTANT,
    CONTROL_PLANE,
    KAFKA_VERSION,
    MAX_STATES,
    MEMORY,
    WORKERS,
    AskedSpec,
    SearchLimits,
    SpecChanges,
    collects,
    shows,
)
from acked.reports.shell.output import Output
from acked.reports.tables.difference import difference_document, print_difference


@click.command(short_help="Compare two specs: what one allows and the other forbids.")
@click.argument("first", metavar="SPEC_A", shell_complete=bundled_or_file)
@click.argument("second", metavar="SPEC_B", shell_complete=bundled_or_file)
@collects(
    "changes",
    SpecChanges,
    constants=CONSTANT.saying("Change a constant of both specs, e.g. -c replicas=2."),
    version=KAFKA_VERSION.having(
        metavar="V[,V]",
        help="Specs with the rules and defaults of this release of Kafka; of 3.6,4.1 SPEC_A gets the first.",
    ),
    control_plane=CONTROL_PLANE,
)
@collects(
    "search",
    SearchLimits,
    workers=WORKERS,
    max_states=MAX_STATES.saying("Stop either search once it knows more distinct states; the answer is then incomplete."),
    memory=MEMORY,
)
@shows
def diff(first: str, second: str, changes: SpecChanges, search: SearchLimits, output: Output) -> int:
    """Compare the rules of two specs: what can happen under one and not under the other.

    Both state spaces are explored completely. Reported are: the shortest trace that SPEC_A allows and SPEC_B does not, and
    the other way round, with the guard clause that forbids its last step; every property of either spec, checked on both;
    and the counts. To see what an upgrade of Kafka changes, name one spec twice, and two releases. Where one release keeps
    something in its state that the other does not have, only properties and counts are compared.

    \b
    acked diff kip101 kip279 -c replicas=2 -c log_size=2 -c max_records=2 -c max_leader_epoch=1
    acked diff my.toml my.toml --kafka-version 3.6,4.1
    acked diff share-none-skipped share-none-skipped --kafka-version 4.0,4.1

    Exit code 0 if nothing differs, 1 if something does, 152 if a search was incomplete, 151 if there is nothing to compare.
    """
    specs = [AskedSpec(name, side).load() for name, side in zip((first, second), _sides(changes), strict=True)]
    with output.progress() as observer:
        found = compare(specs[0].question(), specs[1].question(), search.bounds, observer)
    names = (first, second)
    if first == second:
        sides = _told_apart(specs)
        names = (f"{first} ({sides[0]})", f"{second} ({sides[1]})")
    output.emit(lambda: difference_document(names, found), lambda console: print_difference(console, names, found))
    if not found.is_complete:
        return int(ExitCode.TOO_LARGE)
    return int(ExitCode.UNMET_EXPECTATION if found.differs else ExitCode.HOLDS)


def _sides(changes: SpecChanges) -> tuple[SpecChanges, SpecChanges]:
    """The changes of either spec, which differ if two releases are named."""
    versions = [part.strip() for part in (changes.version or "").split(",")]
    if changes.version is None or len(versions) == 1:
        return changes, changes
    if len(versions) > 2:
        raise ConfigurationError(f"--kafka-version {changes.version} names {len(versions)} releases; name one, or one a spec")
    first, second = (replace(changes, version=version) for version in versions)
    return first, second


def _told_apart(specs: list[Spec]) -> tuple[str, str]:
    """What tells a spec from itself: its releases, or which of the two it is."""
    first, second = (spec.version for spec in specs)
    return (first, second) if first and second and first != second else ("A", "B")
