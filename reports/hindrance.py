"""What other rules say to a run, in words, and which rule would have prevented a violation.

What lives here: sentences about a `Hindrance`. What does not: finding it (`checker/retrace.py`).
"""

from __future__ import annotations

from checker.explain import FalseClause, in_words
from checker.result import Run
from checker.retrace import Hindrance, under
from model.catalogue import PROTOCOLS
from model.errors import ModelError
from model.protocol import Instance

_MOST_FIELDS = 3
"""Fields named in one sentence; more would hide the first."""


def clause_in_words(clause: FalseClause) -> str:
    """`“follows in this epoch” does not hold (replica[0].leader_epoch is 1 and replica[1].leader_epoch is 0)`."""
    values = f" ({'; '.join(clause.reasons)})" if clause.reasons else ""
    return f"“{clause.label}” does not hold{values}"


def hindrance_in_words(hindrance: Hindrance) -> str:
    """Why a step is no step of the protocol, without its number: `LeaderWrite(leader=0) is not enabled, …`."""
    if hindrance.index == 0:
        return "it is not the initial state"
    if hindrance.step is None:
        return "no action of the protocol changes what it changes"
    if hindrance.clauses:
        clauses = " and ".join(map(clause_in_words, hindrance.clauses))
        return f"{hindrance.step.label} is not enabled, {clauses}"
    told = [
        f"{field} would be {in_words(there)}, not {in_words(asked)}"
        for field, there, asked in hindrance.elsewhere[:_MOST_FIELDS]
    ]
    if (more := len(hindrance.elsewhere) - _MOST_FIELDS) > 0:
        told.append(f"and {more} more")
    return f"{hindrance.step.label} leads elsewhere, {'; '.join(told)}"


def prevented_by(instance: Instance, run: Run) -> str | None:
    """One sentence about the rule that rules the run out, with its source; None if no shipped rules do.

    Of a weakened protocol these are its own rules with the clauses that were dropped, of any other the next shipped rules
    over the same state that do not allow the run.
    """
    protocol = instance.protocol
    if instance.dropped:
        candidates = [protocol]
    else:
        names = list(PROTOCOLS)
        later = names[names.index(protocol.name) + 1 :] if protocol.name in names else []
        candidates = [PROTOCOLS[name] for name in later if PROTOCOLS[name].state is protocol.state]
    for candidate in candidates:
        try:
            found = under(candidate.instantiate(instance.constants), instance, run)
        except ModelError:  # Other rules may need other constants.
            continue
        if found.hindrance is not None and found.hindrance.index > 0:
            whole = f"without its weakening, {protocol.name}" if instance.dropped else candidate.name
            index, why = found.hindrance.index, hindrance_in_words(found.hindrance)
            return f"What would have prevented it: {whole} ({candidate.source}) rules out step {index}: {why}."
    return None
