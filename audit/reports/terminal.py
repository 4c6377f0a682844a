"""An audit in the terminal and as Markdown: first every question under everything that may go wrong, a line each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.questions import worst_of
from acked.audit.decision.release import plane_words
from acked.audit.reports.telling import (
    LEVELS,
    MARKS,
    SHORT,
    STYLES,
    print_story,
    sentence,
    signs,
    story_markdown,
    style_and_sign,
)
from acked.audit.reports.transactional import print_transactions, transactions_markdown
from acked.audit.reports.view import AnswerView, AuditView, DecidedBy, FindingView, PolicyView, View, verdict_view
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Table, TableCell, fits, print_table, table, table_markdown
from acked.reports.units import plural

NOT_ASKED = "not asked"
"""What a cell says where a question was not asked under some faults."""
_ORDER = (AuditVerdict.YES, AuditVerdict.UNDECIDED, AuditVerdict.NO)


def overview(view: AuditView) -> Table:
    """A row for each question, the worst first; a column for each class of faults."""
    rows: dict[AuditQuestion, dict[str, AnswerView]] = {}
    for answer in view.answers:
        rows.setdefault(answer.question, {})[answer.faults.name] = answer
    questions = sorted(rows, key=lambda asked: _worst(rows[asked].values()))
    return table(
        ("records", *(column.heading for column in view.columns)),
        [(SHORT[asked], *(_cell(rows[asked].get(column.name)) for column in view.columns)) for asked in questions],
    )


def legend(view: AuditView) -> list[str]:
    """What each column assumes, `machine dies (one-machine): …`, and what the words of cells stand for."""
    lines = [f"{column.heading} ({column.name}): {column.words}" for column in view.columns]
    stories = (answer.story for answer in view.answers if answer.answer is AuditVerdict.YES)
    if steps := next((len(story.steps) for story in stories if story is not None), 0):
        lines.append(f"yes ({steps}): it can happen, in {plural(steps, 'step')} at least; the steps are below")
    if any(answer.worst is not answer.answer for answer in view.answers):
        lines.append("elsewhere: in another release that may be meant; here: in the one named above, and not in every other")
    if any(answer.nothing_accepted for answer in view.answers):
        lines.append("no (nothing written): with these settings no record is ever accepted, so none can be lost")
    replies = {other.answer for answer in view.answers for other in answer.elsewhere}
    if AuditVerdict.UNDECIDED in replies | {answer.answer for answer in view.answers}:
        lines.append("undecided: the search met its bound; --max-states and --memory raise it")
    return [*lines, *decided_by([view])]


def decided_by(audits: Iterable[AuditView]) -> list[str]:
    """What the answers stand on, where some were not searched by this user."""
    found = Counter(answer.decided_by for audit in audits for answer in audit.answers if answer.decided_by is not None)
    searched = found.pop(DecidedBy.SEARCH, 0)
    if not found:
        return []
    by = " and ".join(plural(number, one.value) for one, number in sorted(found.items(), key=lambda item: item[0].value))
    others = ", the others by search" if searched else ""
    return [f"decided by {by}{others}{' (--no-shipped searches all)' if DecidedBy.SHIPPED in found else ''}"]


def _worst(answers: Iterable[AnswerView]) -> tuple[int, int]:
    """How bad the worst that decides is, then how bad anything is."""
    ranks = [(_ORDER.index(answer.worst), answer.decides) for answer in answers]
    return min((rank for rank, decides in ranks if decides), default=len(_ORDER)), min(rank for rank, _ in ranks)


def _cell(answer: AnswerView | None) -> TableCell:
    if answer is None:
        return TableCell(NOT_ASKED, "dim")
    text = answer.answer.value
    if answer.answer is AuditVerdict.NO and answer.worst is not AuditVerdict.NO:
        text = f"{worst_of(other.answer for other in answer.elsewhere).value} elsewhere"
    elif answer.answer is AuditVerdict.YES and answer.worst is not AuditVerdict.YES:
        text = "yes here"
    elif answer.answer is AuditVerdict.YES and answer.story is not None:
        text = f"yes ({len(answer.story.steps)})"
    elif answer.nothing_accepted:
        text = "no (nothing written)"
    return TableCell(text, STYLES[answer.worst], MARKS[answer.worst], link=place_of(answer))


def place_of(answer: AnswerView) -> str:
    """The id of the place on a page that tells of an answer: of its own, or of the one that takes the same steps."""
    told_with = answer.faults.name if answer.decides or answer.same_as is None else answer.same_as
    return f"{answer.question.value}-{told_with.replace(',', '-')}"


def head_of(view: AuditView) -> tuple[str, list[str]]:
    """What is audited, and lines on how the release is known and what is assumed."""
    rules = "" if view.rules == view.kafka_version else f" (rules of {view.rules})"
    return f"Kafka {view.kafka_version}{rules} with {plane_words(view.control_plane)}", [f"release: {view.release.in_words}"]


def not_asked_of(view: AuditView) -> str:
    """What else may go wrong, and was not asked about."""
    return "not asked: " + ", ".join(f"{item.words} ({item.name})" for item in view.not_asked)


def group_answers(view: AuditView) -> list[tuple[str, list[AnswerView]]]:
    """Answers by the text of their question, those that are told of.

    A question may have been asked under several kinds of faults. Of what was asked besides only a yes is told of, where its
    steps have not been told before: the table has the rest.
    """
    told = (answer for answer in view.answers if answer.decides or answer.new_story is not None)
    return [(text, list(answers)) for text, answers in groupby(told, lambda answer: answer.text)]


def same_as(answer: AnswerView) -> str:
    """Where the steps have been told, if they have been."""
    return f", by the same steps as with {answer.same_as}" if answer.same_as is not None else ""


def print_audit(console: Console, view: AuditView) -> None:
    """The audit, fitting the console's width."""
    print_head(console, *head_of(view), view.model)
    print_answers(console, overview(view))
    put(console, [])
    for line in legend(view):
        put_paragraph(console, line, "dim", "  ", "    ")
    print_body(console, view)
    print_verdict(console, view, view)


def print_head(console: Console, title: str, lines: Iterable[str], model: str) -> None:
    """What is audited, and what may go wrong at all: what stands above the table."""
    put_paragraph(console, title, "bold")
    for line in lines:
        put_paragraph(console, line, "dim", "", "  ")
    put(console, [])
    put_paragraph(console, model)
    put(console, [])


def print_answers(console: Console, shown: Table) -> None:
    """A table of answers, whose columns stand closer together where they would not fit otherwise; the last ones stand below
    the others where that does not do, with the rows in which something was asked.
    """
    if fits(console, shown):
        print_table(console, shown)
        return
    at = len(shown.columns)
    while at > 2 and not fits(console, _columns(shown, 1, at), is_narrow=True):
        at -= 1
    print_table(console, _columns(shown, 1, at), is_narrow=True)
    rest = _columns(shown, at, len(shown.columns))
    rows = tuple(row for row in rest.rows if any(cell.text != NOT_ASKED for cell in row[1:]))
    if len(rest.columns) > 1 and rows:
        put(console, [])
        print_answers(console, replace(rest, rows=rows))


def _columns(shown: Table, first: int, end: int) -> Table:
    """The first column with some of the others."""
    rows = tuple((row[0], *row[first:end]) for row in shown.rows)
    return replace(shown, columns=(shown.columns[0], *shown.columns[first:end]), rows=rows)


def print_verdict(console: Console, view: View, asked: AuditView | None) -> None:
    """What `asked`, one of the audits, leaves out and warns of, and last the verdict of all."""
    put(console, [])
    if asked is not None:
        put_paragraph(console, not_asked_of(asked), "dim", "  ", "  ")
        for warning in asked.warnings:
            put_paragraph(console, f"note: {warning}", "dim")
    put_paragraph(console, view.verdict_in_words, STYLES[view.verdict], f"{signs(console)[view.verdict]} ", "  ")


_OF_ONE_RULE = 3
"""Remarks of one rule that are told; a document has all."""


def few_of_each(findings: Sequence[FindingView]) -> list[FindingView]:
    """Of the remarks of one rule the first, and behind them how many more there are: topics may have one each."""
    told: list[FindingView] = []
    count = Counter(found.rule for found in findings)
    seen: Counter[str] = Counter()
    for found in findings:
        seen[found.rule] += 1
        if seen[found.rule] <= _OF_ONE_RULE:
            told.append(found)
        elif seen[found.rule] == count[found.rule]:
            more = f"and {count[found.rule] - _OF_ONE_RULE} more like it ({found.rule}; --format json has all)"
            told.append(FindingView(found.rule, found.level, more, None, None))
    return told


def print_body(console: Console, view: AuditView) -> None:
    """Settings, findings and stories: what stands below the table."""
    sign = signs(console)
    put(console, [])
    for item in view.settings:
        put_paragraph(console, f"{item.key}={item.value}", "bold", "  ", "  ")
        put_paragraph(console, item.source, "dim", "      ", "      ")
    if view.findings:
        put(console, [])
    for found in few_of_each(view.findings):
        where = f"{found.file}:{found.line}: " if found.line else ""
        put_paragraph(console, f"{where}{found.text}", LEVELS[found.level], f"  {found.level.value:<8} ", " " * 11)
    for number, (text, answers) in enumerate(group_answers(view), 1):
        put(console, [])
        put_paragraph(console, text, "bold", f"{number}. ", "   ")
        for answer in answers:
            if len(answers) > 1:
                put_paragraph(console, f"{answer.faults.name}: {answer.faults.words}", "dim", "   ", "     ")
            _print_answer(console, answer, sign)
    print_transactions(console, view)
    if view.upgrade is not None:
        from acked.audit.reports.upgrading import print_upgrade

        print_upgrade(console, view.upgrade)
    if view.recommended is not None:
        put(console, [])
        put_paragraph(console, view.recommended.in_words, "bold", "Recommended: ", " " * 13)
        for cost in view.recommended.costs:
            put_paragraph(console, cost, "", "  cost: ", " " * 8)


def _print_answer(console: Console, answer: AnswerView, sign: Mapping[AuditVerdict, str]) -> None:
    said = f"{answer.in_words}{same_as(answer)}"
    put_paragraph(console, said, STYLES[answer.answer], f"   {sign[answer.answer]} ", "     ")
    print_story(console, answer.new_story)
    for other in answer.elsewhere:
        put_paragraph(console, other.in_words, STYLES[other.answer], f"   {sign[other.answer]} ", "     ")
        print_story(console, other.story)
    if answer.causes is None:
        return  # Without advice nothing is known.
    for cause in answer.causes:
        put_paragraph(console, f"{cause.in_words}.", "", "     Cause: ", " " * 12)
    if answer.no_cause is not None:
        put_paragraph(console, f"{answer.no_cause}.", "", "     Cause: ", " " * 12)
    none = "none of the changes tried turns the answer to no"
    text = none if answer.remedy is None else f"{answer.remedy.in_words} (checked)"
    put_paragraph(console, text + answer.undecided_in_words, "bold", "     Smallest change: ", " " * 22)


# -- Markdown -----------------------------------------------------------------------------------------------------------


def audit_markdown(view: AuditView) -> str:
    """The audit as a Markdown page."""
    title, head = head_of(view)
    lines = [f"# Audit: {md_text(title)}", ""]
    for line in head:
        lines += [sentence(md_text(line)), ""]
    lines += [f"**{md_text(verdict_view(view).verdict_in_words)}**", "", sentence(md_text(not_asked_of(view)))]
    lines += ["", view.model, "", *table_markdown(overview(view)), ""]
    lines += [f"- {md_text(line)}" for line in legend(view)]
    return "\n".join([*lines, *body_markdown(view)]) + "\n"


def body_markdown(view: AuditView) -> list[str]:
    """Stories, settings and findings: what stands below the table."""
    lines: list[str] = []
    for text, answers in group_answers(view):
        lines += ["", f"## {md_text(text)}"]
        for answer in answers:
            if len(answers) > 1:
                lines += ["", f"### {md_text(answer.faults.name)}: {md_text(answer.faults.words)}"]
            lines += _answer_markdown(answer)
    if view.recommended is not None:
        lines += ["", "## Recommended", "", f"**{md_text(sentence(view.recommended.in_words))}**"]
        lines += ["", *(f"- Cost: {md_text(cost)}" for cost in view.recommended.costs)]
    lines += transactions_markdown(view)
    if view.upgrade is not None:
        from acked.audit.reports.upgrading import upgrade_markdown

        lines += upgrade_markdown(view.upgrade)
    settings = [(item.key, item.value, item.source) for item in view.settings]
    lines += ["", "## Settings", "", *table_markdown(table(("setting", "value", "from"), settings))]
    lines += ["", "## Findings", ""] if view.findings else []
    for found in few_of_each(view.findings):
        where = f"{md_text(found.file)}:{found.line}: " if found.line else ""
        lines.append(f"- **{found.level.value}** {where}{md_text(found.text)}")
    return lines


def _answer_markdown(answer: AnswerView) -> list[str]:
    lines = ["", sentence(md_text(f"{answer.in_words}{same_as(answer)}")), *story_markdown(answer.new_story)]
    for other in answer.elsewhere:
        lines += ["", sentence(md_text(other.in_words)), *story_markdown(other.story)]
    if answer.causes:
        lines += ["", *(f"- Cause: {md_text(cause.in_words)}." for cause in answer.causes)]
    if answer.no_cause is not None:
        lines += ["", sentence(f"Cause: {md_text(answer.no_cause)}")]
    if answer.causes is not None:
        found = "none of those tried turns the answer to no"
        if answer.remedy is not None:
            found = f"**{md_text(answer.remedy.in_words)}** (checked)"
        lines += ["", f"Smallest change: {found}{md_text(answer.undecided_in_words)}."]
    return lines


# -- by a policy --------------------------------------------------------------------------------------------------------


def print_policy(console: Console, view: PolicyView) -> None:
    """Every line of it, and its verdict."""
    sign = signs(console)
    for line in view.lines:
        put_paragraph(console, line.in_words, *style_and_sign(console, line.verdict, line.is_slip), "  ")
    put_paragraph(console, view.verdict_in_words, STYLES[view.verdict], f"{sign[view.verdict]} ", "  ")


_WORDS = {AuditVerdict.YES: "not kept", AuditVerdict.UNDECIDED: "undecided", AuditVerdict.NO: "counts as kept"}


def policy_markdown(view: PolicyView | None) -> list[str]:
    """A section with a line for each thing that is required or accepted and not a no."""
    if view is None or not view.lines:
        return []
    lines = (f"- **{'a slip' if line.is_slip else _WORDS[line.verdict]}** {md_text(line.in_words)}." for line in view.lines)
    return ["", f"## Policy: {md_text(view.file)}", "", *lines]
