"""Words that the protocols share in the sentences about their steps."""

from __future__ import annotations

from acked.model.language.telling import Telling


def says_set(members: list[int]) -> str:
    """{0, 2}."""
    return "{" + ", ".join(map(str, members)) + "}"


def says_list(items: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = items
    return f"{', '.join(most)} and {last}" if most else last


def says_brokers(members: list[int]) -> str:
    """`broker 1`, `brokers 1 and 2`."""
    return f"broker{'s' if len(members) > 1 else ''} {says_list([str(member) for member in members])}"


def says_cut(t: Telling, broker: int) -> str:
    """What a step did to a log that it may have truncated."""
    before, after = t.before.log[broker].end, t.after.log[broker].end
    if before == after:
        return f"keeps its log up to offset {after}"
    return f"truncates its log from offset {before} to {after}"
