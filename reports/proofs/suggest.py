"""Conjuncts that are proposed for a proof that fails: in the terminal and as a JSON document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acked.checker.question.question import Question
from acked.model.catalogue import PROTOCOLS
from acked.reports import units
from acked.reports.console import Console, glyphs_of, put, put_paragraph
from acked.reports.runs.answers import subject_in_words
from acked.reports.table import Table, print_table, table

if TYPE_CHECKING:
    from acked.checker.proof.suggest import Suggestion

_MAX_SHOWN = 12


def print_suggestion(console: Console, title: str, question: Question, found: Suggestion, total_seconds: float) -> None:
    """What is proposed, what it was compared with, and whether it completes the proof."""
    glyphs = glyphs_of(console)
    put_paragraph(console, title, "bold underline")
    put_paragraph(console, subject_in_words(question.instance), "dim")
    style = "bold green" if found.completes else "bold yellow"
    put_paragraph(console, suggestion_in_words(found), style, f"{glyphs.open} ", "  ")
    put(console, [])
    if found.conjuncts:
        print_table(console, conjuncts_table(found))
        if len(found.conjuncts) > _MAX_SHOWN:
            put_paragraph(console, f"and {len(found.conjuncts) - _MAX_SHOWN} more", "dim", "  ")
        put(console, [])
        if lines := pasted(found):
            for line in lines:
                put(console, [(line, "")])
            put(console, [])
    for text in comparison_texts(found):
        put_paragraph(console, text, "dim")
    put_paragraph(console, f"{units.duration(total_seconds)} in all", "dim")


def conjuncts_table(found: Suggestion) -> Table:
    """The first conjuncts, how many counterexamples to induction each excludes, and whether actions preserve it."""
    rows = [
        (item.text, f"{item.excludes} of {found.counterexamples}", "every action" if item.is_inductive else "not by itself")
        for item in found.conjuncts[:_MAX_SHOWN]
    ]
    return table(("conjunct", "excludes", "preserved by"), rows)


def pasted(found: Suggestion) -> list[str]:
    """The conjuncts that predicates can say, as a spec has them: those that every action preserves, if there are any."""
    shown = found.conjuncts[:_MAX_SHOWN]
    kept = [item for item in shown if item.is_inductive] or shown
    said = [item.predicate for item in kept if item.predicate]
    quoted = (f"'{text}'" if '"' in text else f'"{text}"' for text in said)
    return [line for number, text in enumerate(quoted, 1) for line in (f"[lemmas.Suggested{number}]", f"holds = {text}")]


def suggestion_in_words(found: Suggestion) -> str:
    """One line: what the conjuncts are worth."""
    count = units.plural(len(found.conjuncts), "conjunct")
    if found.completes:
        return f"incomplete as asked, but with {count} more the proof succeeds"
    if not found.conjuncts:
        return "incomplete: no conjunct of up to three literals excludes a counterexample and holds where it must"
    return f"incomplete: {count} hold and exclude counterexamples to induction, but the proof needs more"


def comparison_texts(found: Suggestion) -> list[str]:
    """What the conjuncts were held against."""
    small = ", ".join(f"{name}={value}" for name, value in found.constants.items())
    texts = [f"compared: {units.plural(found.counterexamples, 'counterexample')} to induction with all "
             f"{found.reachable:,} reachable states at {small}"]  # fmt: skip
    if found.searched:
        which = "all" if found.is_complete else "the first"
        texts.append(f"searched: they hold in {which} {found.searched:,} reachable states of the instance asked about")
    is_shipped = found.proof.question.instance.protocol.name in PROTOCOLS
    where = "among the lemmas in invariants/" if is_shipped else "a lemma of the spec, as it is written here,"
    texts.append(f"a conjunct counts as proved only once it is {where} and the proof succeeds")
    return texts


def suggestion_document(spec: str, question: Question, found: Suggestion, total_seconds: float) -> dict[str, object]:
    """The proposal as plain data for JSON."""
    return {
        "spec": spec,
        "protocol": question.instance.protocol.name,
        "constants": dict(question.instance.constants),
        "verdict": "incomplete",
        "completes": found.completes,
        "counterexamples": found.counterexamples,
        "compared_with": {"constants": found.constants, "reachable_states": found.reachable},
        "searched": {"distinct_states": found.searched, "complete": found.is_complete},
        "conjuncts": [
            {"text": item.text, "predicate": item.predicate, "excludes": item.excludes, "inductive": item.is_inductive}
            for item in found.conjuncts
        ],
        "total_seconds": total_seconds,
    }
