"""The command `audit plan`: asks about the moves of a reassignment, or the steps of a quorum, and writes the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from click.core import ParameterSource

from acked.audit.commands.options import CODES, FILES, Assumed, ClusterFacts, assumes, describes_cluster
from acked.audit.decision.joint import Searches
from acked.audit.moves.ask import MOST_STATES, MoveAuditor, PlanAudit
from acked.audit.moves.plan import read_plan
from acked.audit.moves.shapes import Moves, add_assignment, moves_of
from acked.audit.quorum import ask as quorum_ask
from acked.audit.quorum.plan import is_quorum_plan, read_quorum_plan
from acked.audit.quorum.report import print_quorum, quorum_document, quorum_markdown
from acked.audit.reports.moves import plan_document, plan_markdown, plan_page, print_plan, worst_move
from acked.base.files import check_writable, read_text
from acked.checker.batch.local import KeptProcesses
from acked.cluster.vocabulary.entry import Scope
from acked.reports.shell.batches import BatchOptions, searches_many
from acked.reports.shell.options import FORMAT, OUT, QUIET, collects, option
from acked.reports.shell.output import Output, TraceFile, json_text, put_drawn, put_text, say

_FORMS = ("text", "markdown", "html", "json")


_OF_QUORUM = frozenset({"plan", "version", "max_states", "form", "quiet", "out"})
"""What a plan of a quorum is asked with."""


@click.command(short_help="Ask whether a reassignment can lose records, or a change of the quorum metadata.")
@click.argument("plan", metavar="PLAN", type=click.Path(path_type=Path, dir_okay=False))
@FILES.under("files")
@describes_cluster
@assumes
@searches_many
@collects("output", Output, form=FORMAT.having(type=click.Choice(_FORMS), help="The form of the answer."), quiet=QUIET)
@option("--trace-out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
        help="Write the trace of the worst move, for acked view, explore or reproduce.").under("trace_out")  # fmt: skip
@OUT.under("out")
def plan(
    plan: Path,
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumed: Assumed,
    batch: BatchOptions,
    output: Output,
    trace_out: Path | None,
    out: Path | None,
) -> int:
    """Ask whether a reassignment can lose records, or a change of the controllers' quorum metadata.

    PLAN is what `kafka-reassign-partitions --execute` takes, or what --generate prints; FILEs, which are those of
    `acked audit`, or the cluster say where partitions are now. Exit codes are those of `acked audit`.

    Or PLAN has the steps that an operator will do to controllers, one a line, below the voters: `dynamic 1 2 3` (or
    static), `stop 3`, `format 3` (a new or empty disk), `start 3`, `remove-controller 3`, `add-controller 3`. The answer
    says at which step one more failure loses metadata or leaves no leader for good, with the sequence of events.

    \b
    acked audit plan reassignment.json topics.txt --kafka-version 4.1
    acked audit plan reassignment.json --bootstrap-server kafka:9092
    acked audit plan quorum.txt --kafka-version 4.2
    """
    for path, what in ((out, "audit"), (trace_out, "trace")):
        check_writable(path, what)
    if is_quorum_plan(read_text(plan, "plan")):
        return _plan_of_quorum(plan, cluster.version, assumed.max_states or quorum_ask.MOST_STATES, output, out)
    assumptions = assumed.assumptions()
    read = read_plan(plan)
    known = add_assignment(cluster.read(files, with_moves=True), read)
    moves = moves_of(known, read, cluster.entities)
    if cluster.bootstrap is not None and not any(entry.scope is Scope.PRODUCER for entry in known.known):
        moves = Moves(tuple(one for group in moves.groups for one in group.assume_producers()), moves.unchanged)
    if assumed.max_states is None:
        assumptions = replace(assumptions, max_states=MOST_STATES)
    with output.batch_progress("searches") as progress, KeptProcesses(batch.limits) as runner:
        searches = Searches(runner, batch.cache(), progress)
        audit = MoveAuditor(assumptions, searches, cluster.version, cluster.control_plane).run(read.file, moves)
    _show(audit, output.form, out)
    if trace_out is not None:
        run = worst_move(audit)
        if run is not None:
            TraceFile(trace_out).write(run)
        say(f"the trace is in {trace_out}" if run is not None else "no answer is a yes, so no trace was written")
    return CODES[audit.worst]


def _plan_of_quorum(plan: Path, version: str | None, max_states: int, output: Output, out: Path | None) -> int:
    """Asks about the steps of a quorum."""
    context = click.get_current_context()
    given = (name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE)
    if others := sorted({*given} - _OF_QUORUM):
        raise click.UsageError(f"a plan of a quorum is asked about alone; leave out {', '.join(others)}")
    if output.form == "html":
        raise click.UsageError("a plan of a quorum is told as text, Markdown or JSON; choose another --format")
    read = read_quorum_plan(plan)
    with output.batch_progress("steps") as progress:
        audit = quorum_ask.audit_quorum(read, version, max_states, progress)
    if output.form == "text":
        put_drawn(lambda console: print_quorum(console, audit), out, "audit")
    else:
        put_text(quorum_markdown(audit) if output.form == "markdown" else json_text(quorum_document(audit)), out, "audit")
    return CODES[audit.worst]


def _show(audit: PlanAudit, form: str, out: Path | None) -> None:
    if form == "text":
        put_drawn(lambda console: print_plan(console, audit), out, "audit")
        return
    text = json_text(plan_document(audit)) if form == "json" else (plan_markdown if form == "markdown" else plan_page)(audit)
    put_text(text, out, "audit")
