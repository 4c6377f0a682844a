"""The answer for a terminal: a line or two a broker, the worst story, an order, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acked.reports.console import Console, put_paragraph
from acked.reports.units import plural
from acked.roll.decision.answered import Answered
from acked.roll.decision.judge import BrokerAnswer, Case, Verdict, awaited
from acked.roll.questions.ask import Stop

_MOST_BROKERS = 6
_MOST_CASES = 2
_MOST_STEPS = 7
_MOST_NAMES = 3

_STYLE = {Verdict.MAY: "green", Verdict.MAY_NOT: "bold red", Verdict.UNDECIDED: "yellow"}


def print_answer(console: Console, answered: Answered, is_full: bool) -> None:
    """All of it `is_full`, else at most 25 lines of 120 columns."""
    put_paragraph(console, _head(answered))
    shown = answered.answers if is_full else answered.answers[:_MOST_BROKERS]
    for one in shown:
        verdict = one.verdict(answered.wish)
        lines = list(_lines(one, answered, is_full))
        first = f": {lines[0]}" if lines else ""
        put_paragraph(console, f"broker {one.broker}: {verdict.value} go down{first}", _STYLE[verdict])
        for line in lines[1:]:
            put_paragraph(console, f"  {line}")
    if hidden := len(answered.answers) - len(shown):
        put_paragraph(console, f"… and {plural(hidden, 'broker')} more (--full)")
    for line in _story(answered, is_full):
        put_paragraph(console, line)
    for line in _besides(answered):
        put_paragraph(console, line)
    put_paragraph(console, verdict_line(answered), _STYLE[answered.verdict])


def _head(answered: Answered) -> str:
    cluster = answered.cluster
    count = plural(len(cluster.partitions), "partition")
    return f"{answered.source}: {count} on {plural(len(cluster.brokers), 'broker')}; {answered.asked_words}"


def _lines(one: BrokerAnswer, answered: Answered, is_full: bool) -> Iterator[str]:
    wish = answered.wish
    if one.controllers:
        yield one.controllers
    cases = [case for case in one.cases if case.counts(wish) is not Verdict.MAY]
    cases = cases if is_full else cases[:_MOST_CASES]
    for case in cases:
        yield from _case_lines(case, answered)
    waits = list(awaited(one, wish))
    if waits:
        yield "wait until " + ", ".join(f"{broker} is in sync for {plural(count, 'partition')}" for broker, count in waits)
    if wish.accepts_settings:
        passed = sum(len(case.partitions) for case in one.cases
                     if case.counts(wish) is Verdict.MAY and (case.refuses or case.worst is not None))  # fmt: skip
        if passed:
            yield f"{plural(passed, 'partition')} not counted, whose settings make it so at the best of times"


def _case_lines(case: Case, answered: Answered) -> Iterator[str]:
    names = partition_names(case)
    if case.open_:
        yield f"{names}: not decided, {case.open_}"
    if answered.wish.writes and case.refuses:
        why = "refuse writes already, and will be farther from taking them" if case.refused_before else "would refuse writes"
        own = " (by its settings alone)" if case.refuses_by_settings else ""
        yield f"{names} {why}: too few in sync for min.insync.replicas={case.min_isr}{own}"
    worst = case.worst
    if answered.wish.loss and worst is not None and worst[1].worst is not None:
        own = " (by its settings alone)" if case.loss_by_settings else ""
        yield f"{names} would lose acknowledged records {worst[1].worst.failing.words}{_only(case, answered)}{own}"


def _only(case: Case, answered: Answered) -> str:
    """Where one way to stop is worse than the other."""
    lost = {stop for stop, answer in case.losses if answer.worst is not None}
    if len(answered.wish.stops) == 1 or lost == {*answered.wish.stops}:
        return ""
    return ", if it crashes; not if it is stopped cleanly" if lost == {Stop.BY_KILL} else ", if it is stopped cleanly"


def partition_names(case: Case) -> str:
    """`orders-0, orders-1 and 5 more`."""
    names = [partition.name for partition in case.partitions]
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")


def _story(answered: Answered, is_full: bool) -> Iterator[str]:
    told = answered.worst_story
    if told is None:
        return
    broker, case = told
    steps = case.story
    yield f"The shortest run to it, of {case.partitions[0].name} and broker {broker}:"
    kept: Sequence[str] = steps if is_full or len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 1]
    for at, step in enumerate(kept, 1):
        yield f"  {at}. {step}"
    if len(kept) < len(steps):
        yield f"  … {plural(len(steps) - len(kept), 'step')} more (--full); the last: {steps[-1]}"


def _besides(answered: Answered) -> Iterator[str]:
    yield from answered.notes
    if answered.order:
        listed = ", then ".join(map(str, answered.order))
        again = "and after each wait until all of its partitions are in sync again, and ask acked roll anew"
        yield f"Order: {listed}{'; ' + again if len(answered.order) > 1 else ''}."


def verdict_line(answered: Answered) -> str:
    """The last line."""
    by = {verdict: [one.broker for one in answered.answers if one.verdict(answered.wish) is verdict] for verdict in Verdict}
    parts = [f"{verdict.value}: {', '.join(map(str, sorted(found)))}" for verdict, found in by.items() if found]
    return f"Go down now? {'; '.join(parts) or 'no broker was asked about'}."
