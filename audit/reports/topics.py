"""The audit of several groups of topics: the table of them first, then what each is about, every story once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acked.audit.clusters.several import Audited, worst_of_groups
from acked.audit.clusters.topics import INTERNAL
from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.reports.build import always, view_of
from acked.audit.reports.telling import HEADS, MARKS, SHORT, STYLES, sentence
from acked.audit.reports.terminal import (
    body_markdown,
    decided_by,
    head_of,
    legend,
    not_asked_of,
    overview,
    print_answers,
    print_body,
    print_head,
    print_verdict,
)
from acked.audit.reports.transactional import tell_transactions_once
from acked.audit.reports.view import TOPICS_FORMAT, AnswerView, AuditView, GroupView, TopicsView, verdict_view
from acked.base.frozen import frozen
from acked.base.names import first_of
from acked.checker.batch.cache import ResultCache
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import REPLICATION_FACTOR
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Column, Mark, Table, TableCell, fits, numbers, print_table, table, table_markdown
from acked.reports.units import plural

_NAMED = 3
"""Topics that the table names; the document has them all."""

def topics_view(
    audited: Sequence[Audited], left_out: Sequence[str], cache: ResultCache | None = None, is_told: bool = True
) -> TopicsView:
    """All groups, the worst first, each with its own audit."""
    views = [view_of(one, cache, is_told) for one in audited]
    groups = tuple(_group(at, one, view) for at, (one, view) in enumerate(zip(audited, views, strict=True), 1))
    required = [asked for asked in AuditQuestion if any(asked in one.required for one in audited)]
    verdict = worst_of_groups(audited)
    words = _verdict_in_words(groups, verdict)
    return TopicsView(TOPICS_FORMAT, tuple(required), verdict, words, groups, tuple(left_out))


def _group(number: int, one: Audited, audit: AuditView | None) -> GroupView:
    group = one.group
    values = None if one.audit is None else one.audit.configuration.values
    return GroupView(
        number=number,
        topics=group.topics,
        brokers=group.brokers,
        producer=group.producer or None,
        decides=group.decides,
        replicas=None if values is None else values[REPLICATION_FACTOR].number,
        min_insync_replicas=None if values is None else values[keys.MIN_ISR].number,
        acks=None if values is None else values[keys.ACKS].value,
        verdict=one.worst,
        refusal=one.refusal or None,
        audit=audit,
        unit=group.unit or None,
        unread=group.is_unread,
    )


def _verdict_in_words(groups: Sequence[GroupView], verdict: AuditVerdict) -> str:
    bad = [group for group in groups if group.decides and group.verdict is verdict]
    if verdict is AuditVerdict.NO:
        said = next((group.audit.verdict_in_words for group in bad if group.audit), "PASS")
        return f"{said}, in {plural(len(bad), 'group')} of topics"
    topics = sum(len(group.topics) for group in bad)
    numbers_of: dict[str, list[str]] = {}
    for group in bad:
        what = group.audit.verdict_in_words.partition(": ")[2] if group.audit else "not asked"
        numbers_of.setdefault(what, []).append(str(group.number))
    parts = [f"{', '.join(found)}: {what}" if len(numbers_of) > 1 else what for what, found in numbers_of.items()]
    count = f"; {plural(topics, 'topic')}" if topics else ""  # Files of brokers name none.
    of = f"{plural(len(bad), 'group')} of topics ({', '.join(str(group.number) for group in bad)}{count})"
    open_ = [group for group in groups if group.decides and group.verdict is AuditVerdict.UNDECIDED]
    besides = sum(len(group.topics) or 1 for group in open_) if verdict is AuditVerdict.YES else 0
    more = f"; undecided besides: {plural(besides, 'topic')}" if besides else ""
    return f"{HEADS[verdict]}: {of}: {'; '.join(parts)}{more}"


# -- the table of groups ------------------------------------------------------------------------------------------------


def groups_table(view: TopicsView, most: int | None = None) -> Table:
    """A row for each group, or for the first of them: which topics, what decides, and for each question the first class of
    faults with a yes.
    """
    questions = dict.fromkeys(answer.question for group in view.groups if group.audit for answer in group.audit.answers)
    rows = []
    for group in view.groups[:most]:
        known = (group.replicas, group.min_insync_replicas, group.acks)
        values = [TableCell("-" if value is None else str(value)) for value in known]
        cells = [replace(_cell(group.audit, asked), link=f"group-{group.number}-{asked.value}") for asked in questions]
        shown = group_name(group) if most is None else short_name(group)
        name = TableCell(f"{group.number}. {shown}", link=f"group-{group.number}-")
        rows.append((name, *values, *cells))
    return table((*_HEADINGS, *(SHORT[asked] for asked in questions)), rows)


_HEADINGS = ("topics", numbers("RF"), numbers("min ISR"), "acks")


def group_name(group: GroupView) -> str:
    """`eu: orders, payments and 12 more (led by broker 2)`."""
    return name_of_topics(group.topics, group.brokers, group.unit or "")


def short_name(group: GroupView) -> str:
    """The same with one topic: `eu: orders and 14 more`."""
    return name_of_topics(group.topics, group.brokers, group.unit or "", 1)


def name_of_topics(topics: Sequence[str], brokers: Sequence[str], unit: str, named: int = _NAMED) -> str:
    """The first topics, and how many more there are, with those who lead them and what they are of."""
    text = first_of(topics, named) or "every topic"
    text = f"{text} (led by {', '.join(brokers)})" if brokers else text
    return f"{unit}: {text}" if unit else text


def _cell(audit: AuditView | None, asked: AuditQuestion) -> TableCell:
    """The mildest class of faults under which it can happen, else whether that is decided for all of them."""
    if audit is None:
        return TableCell("not asked", STYLES[AuditVerdict.UNDECIDED], Mark.OPEN)
    worst = {answer.faults.name: answer.worst for answer in audit.answers if answer.question is asked}
    for reply in (AuditVerdict.YES, AuditVerdict.UNDECIDED):
        for column in audit.columns:
            if worst.get(column.name) is reply:
                return TableCell(column.heading, STYLES[reply], MARKS[reply])
    return TableCell("no", STYLES[AuditVerdict.NO], MARKS[AuditVerdict.NO])


def table_legend(view: TopicsView) -> list[str]:
    """How to read the cells of the table of groups."""
    lines = [
        "\u2717 with a fault: it can happen, and that is the mildest of the faults asked about under which it can; "
        "? with a fault: not decided there, and no yes elsewhere; no: under none of them"
    ]
    lines += legend(view.first)[: len(view.first.columns)] if view.first is not None else []
    lines += decided_by(group.audit for group in view.groups if group.audit is not None)
    own = [name for name in view.left_out if name in INTERNAL]
    others = [name for name in view.left_out if name not in INTERNAL]
    if own:
        lines.append(f"left out: {', '.join(own)} (--internal asks about them too)")
    if others:
        lines.append(f"left out: {', '.join(others)} (--topic names another)")
    return lines


# -- what stands above ----------------------------------------------------------------------------------------------------


@frozen
class Heads:
    """What stands above the groups' table, and above the sections of groups that differ in that."""

    title: str
    lines: Sequence[str]
    model: str
    is_common: bool

    @classmethod
    def from_view(cls, view: TopicsView) -> Heads:
        """Groups may run different releases, as in a roll, and not all of them elect uncleanly."""
        audits = [group.audit for group in view.groups if group.audit]
        heads = [head_of(audit) for audit in audits]
        titles = list(dict.fromkeys(title for title, _ in heads))
        models = {audit.model for audit in audits}
        return cls(
            "; ".join(titles) or "topics",
            heads[0][1] if len(titles) == 1 else (),
            models.pop() if len(models) == 1 else always(),
            len(titles) < 2,
        )

    def group_lines(self, audit: AuditView) -> list[str]:
        """What of this is a group's own."""
        title, lines = head_of(audit)
        own = [] if self.is_common else [", ".join([title, *lines])]
        return own if audit.model == self.model else [*own, audit.model]


# -- terminal -----------------------------------------------------------------------------------------------------------


def print_topics(console: Console, view: TopicsView) -> None:
    """The table of groups, then a section for each."""
    heads = Heads.from_view(view)
    if view.first is not None:
        print_head(console, heads.title, heads.lines, heads.model)
    print_groups(console, groups_table(view))
    put(console, [])
    for line in table_legend(view):
        put_paragraph(console, line, "dim", "  ", "    ")
    for group, audit in tell_once(view):
        put(console, [])
        put_paragraph(console, title_of(group), "bold")
        if audit is None:
            put_paragraph(console, f"not asked about: {group.refusal}", STYLES[AuditVerdict.UNDECIDED], "  ", "  ")
            continue
        for line in heads.group_lines(audit):
            put_paragraph(console, line, "dim", "  ", "  ")
        put(console, [])
        print_answers(console, overview(audit))
        print_body(console, audit)
    print_verdict(console, view, view.first)


def print_groups(console: Console, shown: Table) -> None:
    """The table of groups; where the console is too narrow for it, what they are set to above what is answered."""
    for is_narrow in (False, True):
        if fits(console, shown, is_narrow):
            print_table(console, shown, is_narrow)
            return
    count = len(_HEADINGS)
    print_answers(console, Table(shown.columns[:count], tuple(row[:count] for row in shown.rows)))
    put(console, [])
    numbered = tuple((TableCell(row[0].text.partition(" ")[0]), *row[count:]) for row in shown.rows)
    print_answers(console, Table((Column(""), *shown.columns[count:]), numbered))


def title_of(group: GroupView) -> str:
    """What stands above a group's section."""
    text = f"Group {group.number}: {group_name(group)}"
    if group.producer is not None:
        decides = "" if group.decides else "; for comparison, and without weight for the exit code"
        text += f" ({group.producer}{decides})"
    return text


def tell_once(view: TopicsView) -> Iterator[tuple[GroupView, AuditView | None]]:
    """Every group with its audit, in which stories that another group has told refer to that one."""
    told: dict[tuple[AuditQuestion, tuple[str, ...]], str] = {}
    told_of_transactions: dict[str, str] = {}
    remarked: set[tuple[str, str, int | None]] = set()
    for group in view.groups:
        audit = group.audit
        if audit is None:
            yield group, None
            continue
        answers = tuple(_refer(answer, told, group.number) for answer in audit.answers)
        findings = tuple(item for item in audit.findings if (item.rule, item.text, item.line) not in remarked)
        remarked.update((item.rule, item.text, item.line) for item in findings)
        once = tell_transactions_once(audit.transactions, told_of_transactions, f"group {group.number}")
        yield group, replace(audit, answers=answers, findings=findings, transactions=once)


def _refer(answer: AnswerView, told: dict[tuple[AuditQuestion, tuple[str, ...]], str], number: int) -> AnswerView:
    if answer.story is None:
        return answer
    key = (answer.question, answer.story.actions)
    elsewhere = told.get(key)
    if answer.same_as is None and elsewhere is None:
        told[key] = f"{answer.faults.name} in group {number}"
    return replace(answer, same_as=answer.same_as or elsewhere)


# -- Markdown -----------------------------------------------------------------------------------------------------------


def topics_markdown(view: TopicsView) -> str:
    """The table of groups, then a section for each, as Markdown."""
    lines = ["# Audit of topics", "", f"**{md_text(verdict_view(view).verdict_in_words)}**", ""]
    heads = Heads.from_view(view)
    if view.first is not None:
        lines += [md_text(line) for line in (heads.title, *heads.lines)]
        lines += ["", sentence(md_text(not_asked_of(view.first))), "", md_text(heads.model), ""]
    lines += [*table_markdown(groups_table(view)), ""]
    lines += [f"- {md_text(line)}" for line in table_legend(view)]
    for group, audit in tell_once(view):
        lines += ["", f"## {md_text(title_of(group))}"]
        if audit is None:
            lines += ["", sentence(md_text(f"not asked about: {group.refusal}"))]
            continue
        lines += [part for line in heads.group_lines(audit) for part in ("", md_text(line))]
        lines += ["", *table_markdown(overview(audit)), *body_markdown(audit)]
    return "\n".join(lines) + "\n"
