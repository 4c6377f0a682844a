"""The answer for a terminal: a line or two a broker, the worst story, an order, and the verdict at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from acked.reports.console import Console, put_paragraph
from acked.reports.units import plural
from acked.roll.decision.answered import Answered
from acked.roll.decision.judge import BrokerAnswer, Case, Verdict, awaited
from acked.roll.questions.ask import Stop

_MOST_BROKERS = 3
_MOST_STEPS = 3
_MOST_NAMES = 2
_MOST_AWAITED = 3

_STYLE = {Verdict.MAY: "green", Verdict.MAY_NOT: "bold red", Verdict.UNDECIDED: "yellow"}


def print_answer(console: Console, answered: Answered, is_full: bool) -> None:
    """All of it `is_full`, else at most 25 lines on 80 columns."""
    cluster = answered.cluster
    counts = f"{plural(len(cluster.partitions), 'partition')} on {plural(len(cluster.brokers), 'broker')}"
    put_paragraph(console, f"{answered.source}: {counts}")
    worth = [one for one in answered.answers if is_full or one.verdict(answered.wish) is not Verdict.MAY]
    most = _MOST_BROKERS - (answered.worst_story is not None)
    shown = worth if is_full else worth[:most]
    for one in shown:
        verdict = one.verdict(answered.wish)
        reasons = [*_reasons(one, answered, is_full)]
        text = f"broker {one.broker} {_WORDS[verdict]}{': ' if reasons else '.'}{'; '.join(reasons)}"
        put_paragraph(console, text, _STYLE[verdict])
    if hidden := len(worth) - len(shown):
        put_paragraph(console, f"… and {plural(hidden, 'broker')} more, with less in the way (--full)")
    for line in [*_story(answered, is_full), *answered.notes, *_by_settings(answered), *_order(answered)]:
        put_paragraph(console, line)
    put_paragraph(console, verdict_line(answered), _STYLE[answered.verdict])


_WORDS = {Verdict.MAY: "may go down", Verdict.MAY_NOT: "may not go down", Verdict.UNDECIDED: "is undecided"}


def _reasons(one: BrokerAnswer, answered: Answered, is_full: bool) -> Iterator[str]:
    wish = answered.wish
    if one.controllers:
        yield one.controllers
    counted = [case for case in one.cases if case.counts(wish) is not Verdict.MAY]
    if is_full:
        for case in counted:
            yield from _case_reasons(case, answered)
    else:
        yield from _summary(counted, answered)
    if waits := [*awaited(one, wish)]:
        waits = waits if is_full else sorted(waits, key=lambda wait: -wait[1])
        shown = waits if is_full else waits[:_MOST_AWAITED]
        more = f" and {plural(len(waits) - len(shown), 'other')}" if len(waits) > len(shown) else ""
        listed = ", ".join(f"broker {broker} ({plural(count, 'partition')})" for broker, count in shown)
        yield f"wait until in sync: {listed}{more}"
    passed = sum(len(case.partitions) for case in one.cases if case.is_passed(wish))
    if passed:
        yield f"{plural(passed, 'partition')} not counted, which their settings put at this risk at the best of times"


def _summary(cases: Sequence[Case], answered: Answered) -> Iterator[str]:
    """One reason for all that refuse writes, one for the worst loss, one for what is not decided."""
    wish = answered.wish
    refusing = [case for case in cases if wish.writes and case.refuses]
    if refusing:
        yield f"{_count(refusing)} would refuse writes, too few in sync for min.insync.replicas"
    losing = sorted((case for case in cases if wish.loss and case.worst is not None), key=lambda case: case.rank)
    alike = [list(group) for _, group in groupby(losing, lambda case: case.rank)]
    if len(alike) == 1:
        yield f"{_count(losing)} would lose acknowledged records {losing[0].takes}{_only(losing[0], answered)}"
    elif alike:
        each = [f"{_count(group)} {group[0].takes}{_only(group[0], answered)}" for group in alike]
        yield f"acknowledged records would be lost of {', of '.join(each)}"
    open_ = [case for case in cases if case.open_]
    if open_:
        yield f"{_count(open_)} not decided: {open_[0].open_}"


def _count(cases: Sequence[Case]) -> str:
    """`313 partitions (orders-0, orders-1, …)`."""
    names = [partition.name for case in cases for partition in case.partitions]
    own = " by settings alone" if all(case.is_by_settings for case in cases) else ""
    shown = f"{', '.join(names[:_MOST_NAMES])}{', …' if len(names) > _MOST_NAMES else ''}"
    return f"{plural(len(names), 'partition')} ({shown}){own}"


def _case_reasons(case: Case, answered: Answered) -> Iterator[str]:
    names = ", ".join(partition.name for partition in case.partitions)
    if case.open_:
        yield f"{names}: not decided, {case.open_}"
    if answered.wish.writes and case.refuses:
        why = "already refuse writes, and would be farther from taking them" if case.refused_before else "would refuse writes"
        own = " by settings alone" if case.refuses_by_settings else ""
        yield f"{names} {why}, too few in sync for min.insync.replicas={case.min_isr}{own}"
    if answered.wish.loss and case.worst is not None:
        own = " by settings alone" if case.loss_by_settings else ""
        yield f"{names} would lose acknowledged records {case.takes}{_only(case, answered)}{own}"


def _only(case: Case, answered: Answered) -> str:
    """Where one way to stop is worse than the other."""
    lost = {stop for stop, answer in case.losses if answer.worst is not None}
    if len(answered.wish.stops) == 1 or lost == {*answered.wish.stops}:
        return ""
    return ", if it crashes; not if it is stopped cleanly" if lost == {Stop.BY_KILL} else ", if it is stopped cleanly"


def _story(answered: Answered, is_full: bool) -> Iterator[str]:
    told = answered.worst_story
    if told is None:
        return
    broker, case = told
    steps = case.story
    yield f"The shortest run to a loss, of {case.partitions[0].name} without broker {broker}:"
    kept: Sequence[str] = steps if is_full or len(steps) <= _MOST_STEPS else steps[: _MOST_STEPS - 1]
    for at, step in enumerate(kept, 1):
        yield f"  {at}. {step}"
    if len(kept) < len(steps):
        yield f"  … {plural(len(steps) - len(kept), 'step')} more (--full)"


def _by_settings(answered: Answered) -> Iterator[str]:
    """What to do about partitions that never bear a restart, where they are in the way."""
    counted = (case for one in answered.answers for case in one.cases if case.counts(answered.wish) is Verdict.MAY_NOT)
    if any(case.refuses_by_settings or case.loss_by_settings for case in counted):
        yield "No waiting mends what is so by settings alone: --accept-settings leaves it out; acked audit says what to set."


def _order(answered: Answered) -> Iterator[str]:
    if answered.order:
        again = "; after each wait until all its partitions are in sync, and ask again" if len(answered.order) > 1 else ""
        yield f"Order: {', then '.join(map(str, answered.order))}{again}."


def verdict_line(answered: Answered) -> str:
    """The last line."""
    by = {verdict: [one.broker for one in answered.answers if one.verdict(answered.wish) is verdict] for verdict in Verdict}
    parts = [f"{verdict.value}: {', '.join(map(str, sorted(found)))}" for verdict, found in by.items() if found]
    return f"Go down now? {'; '.join(parts) or 'no broker was asked about'}."
