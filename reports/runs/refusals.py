"""Why other rules reject a trace, in words, and which rule would have prevented a violation."""

from __future__ import annotations

from acked.checker.diagnosis.remedy import Remedy, RemedyKind
from acked.checker.question.result import Verdict
from acked.checker.replay.explain import FalseClause, in_words
from acked.checker.replay.retrace import BlockedStep
from acked.reports.units import plural

_MAX_FIELDS = 3
"""Fields named in one sentence; more would hide the first."""


def clause_in_words(clause: FalseClause) -> str:
    """`“follows in this epoch” does not hold (replica[0].leader_epoch is 1 and replica[1].leader_epoch is 0)`."""
    values = f" ({'; '.join(clause.reasons)})" if clause.reasons else ""
    return f"“{clause.label}” does not hold{values}"


def blocked_in_words(blocked: BlockedStep) -> str:
    """Why a step is not a transition of the protocol, without its number: `LeaderWrite(leader=0) is not enabled, …`."""
    if blocked.index == 0:
        return "it is not the initial state"
    if blocked.step is None:
        return "no action of the protocol changes what it changes"
    if blocked.clauses:
        clauses = " and ".join(map(clause_in_words, blocked.clauses))
        return f"{blocked.step.label} is not enabled, {clauses}"
    parts = [
        f"{field} would be {in_words(there)}, not {in_words(asked)}"
        for field, there, asked in blocked.elsewhere[:_MAX_FIELDS]
    ]
    if (more := len(blocked.elsewhere) - _MAX_FIELDS) > 0:
        parts.append(f"and {more} more")
    return f"{blocked.step.label} leads to another state: {'; '.join(parts)}"


def prevented_in_words(remedy: Remedy, promise: str) -> str:
    """What the rule is and where it comes from, how it affects the trace, and what is known of the property with it."""
    name = remedy.name
    if remedy.sort is RemedyKind.CLAUSE:
        rule = f"the clause that was dropped here, {name} ({remedy.source}),"
    elif "(" in remedy.source:
        rule = f"{name}, “{remedy.source}”,"
    else:
        rule = f"{name} ({remedy.source})"
    if remedy.blocked is None:
        effect = "changes what the same steps lead to, and nothing is violated"
    elif remedy.sort in (RemedyKind.CLAUSE, RemedyKind.PROTOCOL) or remedy.blocked.step is not None:
        effect = f"rules out step {remedy.blocked.index}: {blocked_in_words(remedy.blocked)}"
    else:
        effect = f"rules out step {remedy.blocked.index}: with it there is no such step"
    return f"What would have prevented it: {rule} {effect}.{_knowledge(remedy, promise)}"


def _knowledge(remedy: Remedy, promise: str) -> str:
    if remedy.verdict is Verdict.HOLDS:
        alone = "it," if remedy.sort in (RemedyKind.PROTOCOL, RemedyKind.RELEASE) else "it, and nothing else changed,"
        names = " (modulo broker symmetry)" if remedy.is_symmetric else ""
        return f" With {alone} {promise} holds in all {plural(remedy.states, 'reachable state')}{names}, which were searched."
    if remedy.verdict is Verdict.VIOLATED:
        return f" That prevents this trace; {promise} is still violated in another."
    if remedy.states:
        return f" Whether {promise} holds with it was not decided within {plural(remedy.states, 'state')}."
    return ""
