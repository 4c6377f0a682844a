"""What an audit says of transactions: as a part of its document, in every form, and as pages of the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from acked.audit.decision.questions import AuditVerdict
from acked.audit.decision.transactional import TransactionAnswer
from acked.checker.question.result import Counterexample
from acked.checker.spec.resolve import property_named
from acked.cluster.vocabulary import keys
from acked.model.transactions.protocol import transactions
from acked.reports.console import glyphs_of, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.runs.sentences import sentences_of
from acked.reports.units import plural

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {"yes": "bold red", "no": "bold green", "undecided": "bold yellow"}
_BOUNDS = "one instance, two partitions, two transactions; Produce, EndTxn and WriteTxnMarkers may be late"
SCOPE = f"Transactions ({_BOUNDS}; not part of the verdict)"
"""What the answers are about, and that they decide nothing."""


def transactions_part(answers: Sequence[TransactionAnswer]) -> dict[str, Any]:
    """The key `transactions` of an audit's document; nothing where no producer has a transactional.id.

    `same_as` and `page` are None until several groups of topics are told, and pages written.
    """
    return {"transactions": [_answer(item) for item in answers]} if answers else {}


def _answer(answer: TransactionAnswer) -> dict[str, Any]:
    return {
        "question": answer.asked.question.value,
        "text": answer.asked.text,
        "clients": answer.clients.value,
        "answer": answer.reply.value,
        "in_words": _in_words(answer),
        "same_as": None,
        "page": None,
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
    return {"property": run.property, "happened": run.happened, "steps": list(run.steps), "actions": list(run.actions)}


def transaction_run(answer: TransactionAnswer, release: str) -> Counterexample | None:
    """The shortest run that shows a yes; `release` is that of the brokers, in words."""
    if answer.story is None:
        return None
    question = answer.task.question()
    title = f"{answer.asked.text} {release}, {answer.clients.value}"
    return Counterexample(title, question, answer.story.run(question), property_named(transactions, answer.story.property))


def page_name(answer: TransactionAnswer) -> str:
    """`transactions-torn-old-clients.html`."""
    return f"transactions-{answer.asked.question.value}-{answer.clients.name.lower()}-clients.html"


def transactions_told_once(
    answers: Sequence[Mapping[str, Any]], told: dict[str, str], group: str
) -> list[Mapping[str, Any]]:
    """The answers of a group of topics; one that `told` has is the same as in the group it names.

    `told` has all that was told so far, and is added to.
    """
    found = [(item, told.setdefault(_heard(item), group)) for item in answers]
    return [item if where == group else {**item, "same_as": where} for item, where in found]


def _heard(item: Mapping[str, Any]) -> str:
    return repr((item["question"], item["clients"], item["in_words"], item["story"] and item["story"]["steps"]))


def by_transaction_question(document: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """The answers by the text of their question."""
    for text, answers in groupby(document.get("transactions", ()), lambda item: str(item["text"])):
        yield text, list(answers)


def print_transactions(console: Console, document: Mapping[str, Any]) -> None:
    """The answers in the terminal: each with its trace, if it has one."""
    if not document.get("transactions"):
        return
    glyphs = glyphs_of(console)
    sign = {"yes": glyphs.bad, "no": glyphs.good, "undecided": glyphs.open}
    put(console, [])
    put_paragraph(console, SCOPE, "bold")
    for text, answers in by_transaction_question(document):
        put_paragraph(console, text, "bold", "   ", "   ")
        for item in answers:
            said = f"{item['in_words']}{_as_before(item)}"
            put_paragraph(console, said, _STYLES[item["answer"]], f"   {sign[item['answer']]} ", "     ")
            if item["story"] is not None and item["same_as"] is None:
                for step, said in enumerate(item["story"]["steps"], 1):
                    put_paragraph(console, said, "", f"     {step:>2}  ", " " * 9)
                put_paragraph(console, item["story"]["happened"], "", "     ", "     ")


def transactions_markdown(document: Mapping[str, Any]) -> list[str]:
    """The answers as lines of Markdown; none where none were asked."""
    lines = ["", f"## {SCOPE}"] if document.get("transactions") else []
    for text, answers in by_transaction_question(document):
        lines += ["", f"### {md_text(text)}"]
        for item in answers:
            said = f"{item['in_words']}{_as_before(item)}"
            lines += ["", f"{md_text(said[:1].upper() + said[1:])}."]
            if item["story"] is not None and item["same_as"] is None:
                lines += ["", *(f"{at}. {md_text(step)}" for at, step in enumerate(item["story"]["steps"], 1))]
                lines += ["", md_text(item["story"]["happened"])]
    return lines


def _as_before(item: Mapping[str, Any]) -> str:
    return f", as in {item['same_as']}" if item["same_as"] is not None else ""


def transaction_place(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Where the transactional.id is set, for whoever shows answers at lines."""
    return next((item for item in document["settings"] if item["key"] == keys.TRANSACTIONAL_ID and item["line"]), None)


def told_in_lines(item: Mapping[str, Any]) -> list[str]:
    """An answer as plain lines: question, answer, the numbered steps, and what they break."""
    lines = [f"{item['text']} {item['in_words'][:1].upper()}{item['in_words'][1:]}.", f"{SCOPE}."]
    if item["story"] is not None:
        lines += [f"{at}. {step}" for at, step in enumerate(item["story"]["steps"], 1)]
        lines.append(item["story"]["happened"])
    return lines
