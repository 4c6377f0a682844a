"""An audit in at most 25 lines: what is worst, its cause and its change, how many topics it is about, and last the verdict.

Everything else is for `--full`: the steps of every yes, every setting with its source, and every remark.
"""

from __future__ import annotations

import io
import textwrap
from bisect import bisect
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from acked.audit.clusters.policy import NAMELESS, JudgedTopics, Judgement
from acked.audit.decision.faults import AuditVerdict
from acked.audit.decision.gather import Severity
from acked.audit.reports.baseline import difference_in_words, names_of, unknown_brokers
from acked.audit.reports.telling import HEADS, SHORT, STYLES, signs, style_and_sign
from acked.audit.reports.terminal import decided_by, head_of, overview, print_answers
from acked.audit.reports.topics import Heads, groups_table, print_groups, short_name
from acked.audit.reports.view import (
    AcceptedView,
    AnswerView,
    AuditView,
    DifferenceView,
    GroupView,
    PolicyLineView,
    PolicyView,
    TopicsView,
    View,
    audits_of,
    verdict_view,
)
from acked.base.frozen import frozen
from acked.reports.console import Console, open_console, put, put_paragraph
from acked.reports.units import plural

MOST_LINES = 25
"""Lines of a summary, whatever there is to tell and however narrow the terminal: what fits a screen and a log."""

_LONGEST = 3
"""Lines of one paragraph."""

_MOST_ROWS, _MOST_POINTS = 10, 4
"""Rows of the table and things below it that are told at most, where there is room."""

_FULL = "--full tells the rest: the steps of every yes, every setting with its source, every remark"


@frozen
class _Point:
    """One thing to tell, in the style of its verdict, and the lines below it."""

    text: str
    verdict: AuditVerdict
    below: tuple[str, ...] = ()
    is_slip: bool = False


def print_summary(console: Console, view: View) -> None:
    """The table, the worst answers with cause and change, and the verdict: as much of it as 25 lines take."""
    rows = min(len(view.groups), _MOST_ROWS) if isinstance(view, TopicsView) else 1
    points = list(_points(view))
    sizes = [(rows, count) for count in range(min(len(points), _MOST_POINTS), 1, -1)]
    sizes += [(at, min(len(points), 1)) for at in range(rows, -1, -1)]
    at = bisect(sizes, False, key=lambda size: _lines(console.width, view, points, *size) <= MOST_LINES)
    _print(console, view, points, *(sizes[at] if at < len(sizes) else (0, 0)))


def policy_view(file: str, judged: Judgement) -> PolicyView:
    """What a policy makes of an audit, as it is told."""
    lines = tuple(map(_line_view, judged.lines))
    return PolicyView(file, judged.verdict, f"{HEADS[judged.verdict]}: by {file}: {judged.words}", lines)


def _line_view(line: JudgedTopics) -> PolicyLineView:
    judged = line.judged
    risk = judged.accepted
    accepted = None if risk is None else AcceptedView(risk.reason, str(risk.until), risk.line)
    faults = None if judged.faults is None else judged.faults.name
    return PolicyLineView(judged.verdict, line.in_words, line.topics, judged.question, faults, accepted, judged.line)


def _lines(width: int, view: View, points: Sequence[_Point], rows: int, count: int) -> int:
    """How many lines a summary of this size has."""
    drawn = io.StringIO()
    _print(open_console(drawn, width), view, points, rows, count)
    return drawn.getvalue().count("\n")


def _print(console: Console, view: View, points: Sequence[_Point], rows: int, count: int) -> None:
    sign = signs(console)
    if isinstance(view, AuditView):
        title, lines = head_of(view)
        _put(console, f"{title}; {lines[0]}", "bold")
        if rows:
            put(console, [])
            print_answers(console, overview(view))
    else:
        topics = sum(len(group.topics) for group in view.groups if group.decides)
        groups = plural(len(view.groups), "group")
        of = f"{plural(topics, 'topic')} in {groups}" if topics else groups
        _put(console, f"{Heads.from_view(view).title}; {of}", "bold")
        if rows:
            put(console, [])
            print_groups(console, groups_table(view, rows))
            if len(view.groups) > rows:
                left = view.groups[rows:]
                _put(console, f"and {plural(len(left), 'group')} more: {_counted(left)}", "dim", "  ")
    if count:
        put(console, [])
    for point in points[:count]:
        _put(console, point.text, *style_and_sign(console, point.verdict, point.is_slip))
        for line in point.below:
            _put(console, line, "", "    ")
    if len(points) > count:
        _put(console, f"and {len(points) - count} more that --full tells", "dim")
    put(console, [])
    compared = [group for group in view.groups if not group.decides] if isinstance(view, TopicsView) else []
    if compared:
        told = f"{plural(len(compared), 'group')} with acks={compared[0].acks} {'is' if len(compared) == 1 else 'are'}"
        _put(console, f"{told} for comparison: no producer was named", "dim")
    for line in decided_by(audit for _, audit in audits_of(view)):
        _put(console, line, "dim")
    _put(console, f"{_remarks(view)}{_FULL}", "dim")
    last = verdict_view(view)
    _put(console, last.verdict_in_words, STYLES[last.verdict], f"{sign[last.verdict]} ")


def _put(console: Console, text: str, style: str = "", first: str = "") -> None:
    """A paragraph of few lines: what does not fit is left to `--full`."""
    room = max(console.width - len(first), 16)
    short = textwrap.shorten(text, _LONGEST * room - room // 8, placeholder=" …")
    put_paragraph(console, short, style, first, " " * len(first))


def _counted(groups: Sequence[GroupView]) -> str:
    """`2 yes, 1 undecided, 4 for comparison`."""
    found = Counter(group.verdict.value if group.decides else "for comparison" for group in groups)
    told = [*(verdict.value for verdict in AuditVerdict), "for comparison"]
    return ", ".join(f"{found[what]} {what}" for what in told if found[what])


def _remarks(view: View) -> str:
    """How many remarks there are, and of what kinds most."""
    found = dict.fromkeys((one.rule, one.text, one.line) for _, audit in audits_of(view) for one in audit.findings
                          if one.level is not Severity.NOTE)  # fmt: skip
    kinds = Counter(rule for rule, _, _ in found).most_common(3)
    return f"{plural(len(found), 'warning')} ({', '.join(f'{count} {rule}' for rule, count in kinds)}); " if found else ""


# -- what is worst ------------------------------------------------------------------------------------------------------


def _points(view: View) -> Iterator[_Point]:
    """What is not a no: of the settings of one group, or of every group that decides, the worst first."""
    if view.policy is not None:
        for line in view.policy.lines:
            yield _Point(line.in_words, line.verdict, _below_line(view, line), line.is_slip)
        return
    if isinstance(view, AuditView):
        yield from _of_audit(view, "")
        return
    for unknown in unknown_brokers(view):
        yield _Point(unknown, AuditVerdict.UNDECIDED)
    for group in view.groups:
        judged = view.judged_by_others(group)
        if not group.decides or (judged and judged.issuperset(group.topics)):
            continue
        name = f"{group.number}. {short_name(group)}: "
        if group.audit is None:
            yield _Point(f"{name}not asked: {group.refusal}", AuditVerdict.UNDECIDED)
        else:
            yield from _of_audit(group.audit, name)


def difference_lines(view: View, differences: Sequence[DifferenceView], is_full: bool = False) -> Iterator[str]:
    """What is other than in an earlier audit, with cause and change of what is worse, each told once.

    Topics for which the same changed by the same cause are one line, unless each is to be told.
    """
    alike: dict[object, tuple[DifferenceView, tuple[str, ...], list[str]]] = {}
    for one in differences:
        below = _below_cell(view, (one.topic,), one) if one.is_worse else ()
        kind = one if is_full else replace(one, topic="", in_words="")
        alike.setdefault((kind, below), (one, below, []))[2].append(one.topic)
    told: set[tuple[str, ...]] = set()
    for one, below, topics in alike.values():
        yield difference_in_words(one, topics)
        if below not in told:
            yield from (f"    {line}" for line in below)
        told.add(below)


def _below_line(view: View, line: PolicyLineView) -> tuple[str, ...]:
    """Cause and change of what a policy says is not kept, for the first of its topics."""
    return _below_cell(view, line.topics, line, NAMELESS) if line.verdict is AuditVerdict.YES else ()


def _below_cell(
    view: View, topics: Iterable[str], of: DifferenceView | PolicyLineView, nameless: str = ""
) -> tuple[str, ...]:
    """Cause and change of an answer, in the first group that has one of the topics, which are called by these names."""
    for group, audit in audits_of(view):
        if names_of(group, audit, nameless).intersection(topics):
            found = (answer for answer in audit.answers if (answer.question, answer.faults.name) == (of.question, of.faults))
            return tuple(line for answer in found for line in _below(audit, answer))
    return ()


def _of_audit(audit: AuditView, name: str) -> Iterator[_Point]:
    """One point for all required answers that are not a no, with the cause of the first and the change for all."""
    required = [answer for answer in audit.answers if answer.decides and answer.question in audit.required]
    for verdict in (AuditVerdict.YES, AuditVerdict.UNDECIDED):
        bad = [answer for answer in required if answer.worst is verdict]
        if not bad:
            continue
        heads = {column.name: column.heading for column in audit.columns}
        said = ", ".join(f"{SHORT[answer.question]} ({heads[answer.faults.name]})" for answer in bad)
        yield _Point(f"{name}{said}: {_how(bad[0])}", verdict, tuple(_below(audit, bad[0])))
        return


def _how(answer: AnswerView) -> str:
    if answer.worst is AuditVerdict.UNDECIDED and answer.elsewhere:
        return f"{answer.answer.value} here, {'; '.join(other.in_words.partition(';')[0] for other in answer.elsewhere)}"
    return answer.in_words.partition(" (")[0]


def _below(audit: AuditView, answer: AnswerView) -> Iterator[str]:
    if answer.causes:
        yield f"cause: {'; '.join(cause.in_words for cause in answer.causes)}"
    if audit.recommended is not None:
        yield f"change: {audit.recommended.in_words}"
        yield from (f"cost: {cost}" for cost in audit.recommended.costs)
    elif answer.remedy is not None:
        yield f"change: {answer.remedy.in_words}"
