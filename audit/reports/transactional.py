"""What an audit says of transactions: as a part of its document, in every form, and as pages of the viewer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from acked.audit.decision.faults import AuditVerdict
from acked.audit.decision.transactional import TransactionAnswer
from acked.audit.reports.telling import STYLES, number_steps, print_story, signs, story_markdown, story_of
from acked.audit.reports.view import AuditView, SettingView, TransactionView
from acked.cluster.vocabulary import keys
from acked.reports.console import Console, put, put_paragraph
from acked.reports.escaping import md_text
from acked.reports.units import plural

if TYPE_CHECKING:
    from acked.checker.question.result import Counterexample

_BOUNDS = "one instance, two partitions, two transactions; Produce, EndTxn and WriteTxnMarkers may be late"
SCOPE = f"Transactions ({_BOUNDS}; not part of the verdict)"
"""What the answers are about, and that they decide nothing."""


def transactions_view(answers: Sequence[TransactionAnswer]) -> tuple[TransactionView, ...]:
    """The answers as every form tells them; none where no producer has a transactional.id."""
    return tuple(
        TransactionView(
            question=answer.asked.question.value,
            text=answer.asked.text,
            clients=answer.clients.value,
            answer=answer.reply,
            in_words=_sentence(answer),
            same_as=None,
            page=None,
            bounds=_BOUNDS,
            constants=dict(answer.task.asked.constants),
            distinct_states=None if answer.outcome is None else answer.outcome.distinct_states,
            story=story_of(answer.task, answer.story),
        )
        for answer in answers
    )


def _sentence(answer: TransactionAnswer) -> str:
    if answer.outcome is None:
        return f"{answer.in_words} ({answer.failure})"
    if answer.story is not None:
        return f"{answer.in_words}, in {plural(answer.story.trace_length - 1, 'step')}"
    if answer.reply is AuditVerdict.UNDECIDED:
        return f"{answer.in_words}: {answer.outcome.stopped.value} after {plural(answer.outcome.distinct_states, 'state')}"
    return f"{answer.in_words}: every reachable state was seen ({plural(answer.outcome.distinct_states, 'state')})"


def transaction_run(answer: TransactionAnswer, release: str) -> Counterexample | None:
    """The shortest run that shows a yes; `release` is that of the brokers, in words."""
    if answer.story is None:
        return None
    from acked.checker.question.result import Counterexample
    from acked.checker.spec.resolve import property_named
    from acked.model.transactions.protocol import transactions

    question = answer.task.question()
    title = f"{answer.asked.text} {release}, {answer.clients.value}"
    return Counterexample(title, question, answer.story.run(question), property_named(transactions, answer.story.property))


def page_name(answer: TransactionAnswer) -> str:
    """`transactions-torn-old-clients.html`."""
    return f"transactions-{answer.asked.question.value}-{answer.clients.name.lower()}-clients.html"


def tell_transactions_once(
    answers: Sequence[TransactionView], told: dict[str, str], group: str
) -> tuple[TransactionView, ...]:
    """The answers of a group of topics; one that `told` has is the same as in the group it names.

    `told` has all that was told so far, and is added to.
    """
    found = [(item, told.setdefault(_story_key(item), group)) for item in answers]
    return tuple(item if where == group else replace(item, same_as=where) for item, where in found)


def _story_key(item: TransactionView) -> str:
    return repr((item.question, item.clients, item.in_words, item.story and item.story.steps))


def group_transactions(view: AuditView) -> Iterator[tuple[str, list[TransactionView]]]:
    """The answers by the text of their question."""
    for text, answers in groupby(view.transactions, lambda item: item.text):
        yield text, list(answers)


def print_transactions(console: Console, view: AuditView) -> None:
    """The answers in the terminal: each with its trace, if it has one."""
    if not view.transactions:
        return
    sign = signs(console)
    put(console, [])
    put_paragraph(console, SCOPE, "bold")
    for text, answers in group_transactions(view):
        put_paragraph(console, text, "bold", "   ", "   ")
        for item in answers:
            said = f"{item.in_words}{_reference(item)}"
            put_paragraph(console, said, STYLES[item.answer], f"   {sign[item.answer]} ", "     ")
            print_story(console, item.new_story)


def transactions_markdown(view: AuditView) -> list[str]:
    """The answers as lines of Markdown; none where none were asked."""
    lines = ["", f"## {SCOPE}"] if view.transactions else []
    for text, answers in group_transactions(view):
        lines += ["", f"### {md_text(text)}"]
        for item in answers:
            said = f"{item.in_words}{_reference(item)}"
            lines += ["", f"{md_text(said[:1].upper() + said[1:])}.", *story_markdown(item.new_story)]
    return lines


def _reference(item: TransactionView) -> str:
    return f", as in {item.same_as}" if item.same_as is not None else ""


def transaction_place(view: AuditView) -> SettingView | None:
    """Where the transactional.id is set, for whoever shows answers at lines."""
    return next((item for item in view.settings if item.key == keys.TRANSACTIONAL_ID and item.line), None)


def plain_lines(item: TransactionView) -> list[str]:
    """An answer as plain lines: question, answer, the numbered steps, and what they break."""
    lines = [f"{item.text} {item.in_words[:1].upper()}{item.in_words[1:]}.", f"{SCOPE}.", *number_steps(item.story)]
    return lines if item.story is None else [*lines, item.story.happened]
