"""The answers about a plan of a quorum: its document, its verdict in words, and its forms."""

from __future__ import annotations

from collections.abc import Iterator

from acked.audit.decision.faults import AuditVerdict
from acked.audit.quorum.ask import PROPERTIES, AskedStep, QuorumAnswer, QuorumAudit, QuorumFailure
from acked.audit.reports.telling import HEADS, MARKS, STYLES, signs
from acked.model.language.telling import says_list
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.table import Table, TableCell, print_table, table, table_markdown
from acked.reports.units import plural

FORMAT = "acked-audit-quorum/1"

QUESTION = "At which step is metadata lost that was acknowledged, or is there no leader for good?"
_ASSUMED = (
    "Before each step, whoever runs has everything; from the step on anything may happen: it has reached nobody yet, leaders "
    "restart, who is stopped comes back with its disk. Not asked: "
    "controllers that join by themselves (controller.quorum.auto.join.enable)."
)


def quorum_document(audit: QuorumAudit) -> dict[str, object]:
    """The audit of a plan as JSON; `may_stop` is how many voters more may stop, below 0 if nobody can lead meanwhile."""
    return {
        "format": FORMAT,
        "plan": audit.plan.file,
        "question": QUESTION,
        "rules_of": audit.version,
        "voters": "dynamic" if audit.plan.is_dynamic else "static",
        "controllers": list(audit.plan.controllers),
        "failures": [{"name": failure.value, "words": failure.words} for failure in QuorumFailure],
        "steps": [
            {"step": _name(one), "line": None if one.step is None else one.step.line, "may_stop": spare,
             "answers": [_answer(answer) for answer in one.answers]}
            for one, spare in _with_spare(audit)
        ],
        "assumed": _assumed(audit),
        "verdict": audit.worst.value,
        "verdict_in_words": quorum_verdict(audit),
    }  # fmt: skip


def _answer(answer: QuorumAnswer) -> dict[str, object]:
    return {
        "failure": answer.failure.value,
        "answer": answer.reply.value,
        "violates": answer.broken or None,
        "in_words": _in_words(answer),
        "distinct_states": answer.states,
        "steps": list(answer.story),
    }


def _in_words(answer: QuorumAnswer) -> str:
    if answer.reply is AuditVerdict.YES:
        return PROPERTIES[answer.broken]
    if answer.reply is AuditVerdict.NO:
        return f"nothing: every reachable state was seen ({plural(answer.states, 'state')})"
    return f"undecided after {plural(answer.states, 'state')}; --max-states raises the bound"


def quorum_verdict(audit: QuorumAudit) -> str:
    """The last line: what the exit code says."""
    for failure in QuorumFailure:
        told = [_name(one) for one in audit.asked for answer in one.answers
                if answer.failure is failure and answer.reply is AuditVerdict.YES]  # fmt: skip
        if told:
            return (
                f"{HEADS[AuditVerdict.YES]}: metadata can be lost, or there is no leader for good, if {failure.words}: "
                f"{says_list(told)}"
            )
    if audit.worst is AuditVerdict.UNDECIDED:
        return f"{HEADS[AuditVerdict.UNDECIDED]}: a search met its bound; --max-states raises it"
    return f"{HEADS[AuditVerdict.NO]}: at every step one more disk may be lost; metadata is kept, and there can be a leader"


def _name(one: AskedStep) -> str:
    return "before it" if one.step is None else one.step.words


def _with_spare(audit: QuorumAudit) -> Iterator[tuple[AskedStep, int]]:
    spares = (standing.spare for standing in audit.plan.standings)
    return zip(audit.asked, spares, strict=True)


def _table(audit: QuorumAudit) -> Table:
    """A row for each step, a column for each failure, and how many may stop meanwhile."""
    rows = []
    for one, spare in _with_spare(audit):
        found = {answer.failure: answer for answer in one.answers}
        may_stop = "no leader" if spare < 0 else "none" if spare == 0 else str(spare)
        rows.append((TableCell(_name(one)), *(_cell(found.get(failure)) for failure in QuorumFailure), TableCell(may_stop)))
    return table(("after the step", "nothing more", "one more disk lost", "may stop meanwhile"), rows)


def _cell(answer: QuorumAnswer | None) -> TableCell:
    if answer is None:
        return TableCell("as well", STYLES[AuditVerdict.YES], MARKS[AuditVerdict.YES])
    words = {"OneLeaderPerEpoch": "two leaders", "MetadataSurvives": "lost", "QuorumCanElect": "no leader for good"}
    text = words.get(answer.broken) or {AuditVerdict.NO: "kept"}.get(answer.reply, "undecided")
    return TableCell(text, STYLES[answer.reply], MARKS[answer.reply])


def _legend(audit: QuorumAudit) -> list[str]:
    numbers = says_list([f"{number} is {one}" for number, one in enumerate(audit.plan.controllers)])
    return [
        f"nothing more: {QuorumFailure.NOTHING.words}; one more disk lost: {QuorumFailure.DISK.words}",
        "may stop meanwhile: voters more that may stop, and the rest can have a leader; who starts again mends it",
        f"controllers in the steps below: {numbers}",
        _assumed(audit),
    ]


def _assumed(audit: QuorumAudit) -> str:
    epochs, records = plural(audit.plan.epochs_after, "leader epoch"), plural(audit.plan.records, "record")
    return f"{_ASSUMED} Explored: {records}, {epochs} beyond those of the steps before."


def _told(audit: QuorumAudit) -> Iterator[tuple[str, QuorumAnswer]]:
    """Each yes and what is undecided, with a title."""
    for one in audit.asked:
        for answer in one.answers:
            if answer.reply is not AuditVerdict.NO:
                yield f"{_name(one)}, if {answer.failure.words}: {_in_words(answer)}", answer


def print_quorum(console: Console, audit: QuorumAudit) -> None:
    """The answers, fitting the console's width."""
    sign = signs(console)
    put_paragraph(console, f"The plan {audit.plan.file}. {QUESTION}", "bold", "", "  ")
    put_paragraph(console, f"rules of {audit.version}", "dim", "", "  ")
    put(console, [])
    print_table(console, _table(audit))
    put(console, [])
    for line in _legend(audit):
        put_paragraph(console, line, "dim", "  ", "    ")
    for title, answer in _told(audit):
        put(console, [])
        put_paragraph(console, title, STYLES[answer.reply], f"{sign[answer.reply]} ", "  ")
        for number, text in enumerate(answer.story, 1):
            put_paragraph(console, text, "", f"     {number:>2}  ", " " * 9)
    put(console, [])
    put_paragraph(console, quorum_verdict(audit), STYLES[audit.worst], f"{sign[audit.worst]} ", "  ")


def quorum_markdown(audit: QuorumAudit) -> str:
    """The answers as a Markdown page."""
    lines = [f"# The plan {md_text(audit.plan.file)}", "", QUESTION, "", f"**{md_text(quorum_verdict(audit))}**", ""]
    lines += [f"Rules of {audit.version}.", "", *table_markdown(_table(audit)), ""]
    lines += [f"- {md_text(line)}" for line in _legend(audit)]
    for title, answer in _told(audit):
        lines += ["", f"## {md_text(title)}", "", *(f"{at}. {md_text(text)}" for at, text in enumerate(answer.story, 1))]
    return "\n".join(lines) + "\n"
