"""What an audit says of transactions: as a part of its document, in the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from acked.checker.audit.questions import AuditVerdict
from acked.checker.audit.transactional import TransactionAnswer
from acked.reports.console import glyphs_of, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.runs.sentences import sentences_of
from acked.reports.units import plural

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"yes": "bold red", "no": "bold green", "undecided": "bold yellow"}
_BOUNDS = "one instance, two partitions, two transactions; Produce, EndTxn and WriteTxnMarkers may be late"
_SCOPE = f"Transactions ({_BOUNDS}; not part of the verdict)"


def transactions_part(answers: Sequence[TransactionAnswer]) -> dict[str, Any]:
    """The key `transactions` of an audit's document; nothing where no producer has a transactional.id."""
    return {"transactions": [_answer(item) for item in answers]} if answers else {}


def _answer(answer: TransactionAnswer) -> dict[str, Any]:
    return {
        "question": answer.asked.question.value,
        "text": answer.asked.text,
        "clients": answer.clients.value,
        "answer": answer.reply.value,
        "in_words": _in_words(answer),
        "bounds": _BOUNDS,
        "constants": dict(answer.task.asked.constants),
        "distinct_states": None if answer.outcome is None else answer.outcome.distinct_states,
        "story": _story(answer),
    }


def _in_words(answer: TransactionAnswer) -> str:
    if answer.outcome is None:
        return f"{answer.in_words} ({answer.failure})"
    if answer.story is not None:
        return f"{answer.in_words}, in {plural(answer.story.trace_length - 1, 'step')}"
    if answer.reply is AuditVerdict.UNDECIDED:
        return f"{answer.in_words}: {answer.outcome.stopped.value} after {plural(answer.outcome.distinct_states, 'state')}"
    return f"{answer.in_words}: every reachable state was seen ({plural(answer.outcome.distinct_states, 'state')})"


def _story(answer: TransactionAnswer) -> dict[str, Any] | None:
    if answer.story is None:
        return None
    run = sentences_of(answer.task, answer.story)
    return {"property": run.property, "happened": run.happened, "steps": list(run.steps)}


def _by_question(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    for text, answers in groupby(document.get("transactions", ()), lambda item: str(item["text"])):
        yield text, list(answers)


def print_transactions(console: Console, document: Mapping[str, Any]) -> None:
    """The answers in the terminal: each with its trace, if it has one."""
    if not document.get("transactions"):
        return
    glyphs = glyphs_of(console)
    sign = {"yes": glyphs.bad, "no": glyphs.good, "undecided": glyphs.open}
    put(console, [])
    put_paragraph(console, _SCOPE, "bold")
    for text, answers in _by_question(document):
        put_paragraph(console, text, "bold", "   ", "   ")
        for item in answers:
            put_paragraph(console, item["in_words"], _STYLES[item["answer"]], f"   {sign[item['answer']]} ", "     ")
            if item["story"] is not None:
                for step, said in enumerate(item["story"]["steps"], 1):
                    put_paragraph(console, said, "", f"     {step:>2}  ", " " * 9)
                put_paragraph(console, item["story"]["happened"], "", "     ", "     ")


def transactions_markdown(document: Mapping[str, Any]) -> list[str]:
    """The answers as lines of Markdown; none where none were asked."""
    lines = ["", f"## {_SCOPE}"] if document.get("transactions") else []
    for text, answers in _by_question(document):
        lines += ["", f"### {md_text(text)}"]
        for item in answers:
            lines += ["", f"{md_text(item['in_words'][:1].upper() + item['in_words'][1:])}."]
            if item["story"] is not None:
                lines += ["", *(f"{at}. {md_text(step)}" for at, step in enumerate(item["story"]["steps"], 1))]
                lines += ["", md_text(item["story"]["happened"])]
    return lines
