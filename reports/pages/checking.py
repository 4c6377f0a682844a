"""What a page needs to answer its question again in the reader's browser: `reports/web/check.js` is its other half.

And the page of promises that are kept, which has little besides.
"""

from __future__ import annotations

from typing import Any

from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Violation
from acked.checker.wasm.module import WIDTHS
from acked.checker.wasm.script import script_of
from acked.reports.console import harmless
from acked.reports.pages.page import KEPT, page_of
from acked.reports.units import plural

_SLOT_BYTES = 16
"""What a state takes in the table, about: eight bytes, in a table that is half full on average."""

_MOST_BYTES = 3 << 30
"""Up to this need the module for 32-bit addresses is enough, with room for the steps in which a table grows."""


def bytes_needed(states: int, question: Question) -> int:
    """What a search of so many states takes in a browser, about, in bytes."""
    return states * (8 * question.instance.schema.words + _SLOT_BYTES)


def _search_data(result: Result, policy: StopPolicy) -> dict[str, Any] | None:
    """The search as a script, and what acked answered; None where a browser cannot decide the question."""
    question = result.question
    if question.graph_properties:
        return None
    need = bytes_needed(result.distinct_states, question)
    return {
        "script": script_of(question, policy, WIDTHS if need > _MOST_BYTES else WIDTHS[:1]),
        "native": {
            "verdict": result.verdict.value,
            "states": result.distinct_states,
            "generated": result.generated_states,
            "levels": list(result.level_sizes),
            "bytes": need,
        },
    }


def check_data(result: Result, policy: StopPolicy, shown: Violation | None = None) -> dict[str, Any]:
    """The entry `check` of a page, with the run that the page shows; none where a browser cannot decide the question."""
    data = _search_data(result, policy)
    return {} if data is None else {"check": {**data, "run": None if shown is None else run_data(result, shown)}}


def kept_page(title: str, subject: str, result: Result, home: str | None = None) -> str:
    """The page of promises that a complete search saw kept: the size of the space, and the search, to see them kept again."""
    promises = [
        {"name": item.name, "promise": harmless(item.promise), "source": harmless(item.source)}
        for item in result.question.properties
    ]
    states = plural(result.distinct_states, "state")
    data = {
        "title": harmless(title),
        "subject": harmless(subject),
        "home": home,
        "answer": f"Kept in all {states} that can be reached, in {plural(result.depth, 'level')}.",
        "promises": promises,
        "levels": list(result.level_sizes),
        "actions": [[name, count.enabled, count.new] for name, count in result.actions.items()],
        **check_data(result, StopPolicy.FIRST_VIOLATION),
    }
    return page_of(data, KEPT, ("kept.css",))


def run_data(result: Result, shown: Violation) -> dict[str, Any]:
    """The run that the page shows, as the search tells runs."""
    numbers = {id(step): number for number, step in enumerate(result.question.instance.actions)}
    return {
        "states": [[hex(word) for word in state] for state in shown.run.states],
        "actions": [numbers[id(step)] for step in shown.run.actions],
    }
