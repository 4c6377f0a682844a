"""What `acked audit --plan` does: asks about the moves of a reassignment, and writes the answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import click

from acked.audit.decision.gather import Recognised
from acked.audit.decision.joint import Searches
from acked.audit.decision.questions import Assumptions, AuditVerdict
from acked.audit.moves.ask import MOST_STATES, MoveAuditor, PlanAudit
from acked.audit.moves.plan import read_plan
from acked.audit.moves.shapes import Moves, moves_of, with_assignment
from acked.audit.reports.moves import plan_markdown, plan_page, print_plan
from acked.audit.reports.plan import plan_document, worst_move
from acked.base.errors import ExitCode
from acked.checker.batch.cache import ResultCache
from acked.checker.batch.local import KeptProcesses
from acked.cluster.vocabulary.entry import Scope
from acked.reports.shell.options import BatchOptions
from acked.reports.shell.output import Output, TraceFile, json_text, put_drawn, put_text, say

CODES = {
    AuditVerdict.NO: ExitCode.HOLDS, AuditVerdict.YES: ExitCode.INVARIANT, AuditVerdict.UNDECIDED: ExitCode.TOO_LARGE
}  # fmt: skip
"""The exit code of an audit's verdict."""

_FORMS = ("text", "markdown", "html", "json")


@dataclass(frozen=True)
class PlanRequest:
    """What `--plan` is asked with: the plan, what names release and services, and where the answer goes."""

    plan: Path
    version: str | None
    plane: str | None
    entities: tuple[str, ...]
    is_live: bool
    output: Output
    out: Path | None
    trace_out: Path | None

    def check(self) -> None:
        """Refuses forms that a plan's answers are not told in."""
        if self.output.form not in _FORMS:
            raise click.UsageError(f"--plan is told as {', '.join(_FORMS[:-1])} or {_FORMS[-1]}, not as {self.output.form}")


def audit_plan(
    request: PlanRequest,
    found: Callable[[], Recognised],
    assumptions: Assumptions,
    is_bounded: bool,
    batch: BatchOptions,
    cache: ResultCache | None,
) -> int:
    """Asks about a plan, tells the answers, and returns the exit code; `is_bounded`: the user says how many states."""
    request.check()
    plan = read_plan(request.plan)
    known = with_assignment(found(), plan)
    moves = moves_of(known, plan, request.entities)
    if request.is_live and not any(entry.scope is Scope.PRODUCER for entry in known.known):
        moves = Moves(tuple(one for group in moves.groups for one in group.by_producer()), moves.unchanged)
    assumed = assumptions if is_bounded else replace(assumptions, max_states=MOST_STATES)
    with request.output.batch_progress("searches") as progress, KeptProcesses(batch.limits) as runner:
        searches = Searches(runner, cache, progress)
        audit = MoveAuditor(assumed, searches, request.version, request.plane).run(plan.file, moves)
    _show(audit, request)
    if request.trace_out is not None:
        run = worst_move(audit)
        if run is not None:
            TraceFile(request.trace_out).write(run)
        say(f"the trace is in {request.trace_out}" if run is not None else "no answer is a yes, so no trace was written")
    return CODES[audit.worst]


def _show(audit: PlanAudit, request: PlanRequest) -> None:
    form, out = request.output.form, request.out
    if form == "text":
        put_drawn(lambda console: print_plan(console, audit), out, "audit")
        return
    text = json_text(plan_document(audit)) if form == "json" else (plan_markdown if form == "markdown" else plan_page)(audit)
    put_text(text, out, "audit")
