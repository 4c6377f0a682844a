"""What a page needs to answer its question again in the reader's browser: `reports/web/check.js` is its other half."""

from __future__ import annotations

from typing import Any

from acked.checker.question.ledger import StopPolicy
from acked.checker.question.result import Result, Violation
from acked.checker.wasm.script import script_of


def check_data(result: Result, policy: StopPolicy, shown: Violation) -> dict[str, Any] | None:
    """The search as a script, what acked answered, and the run that the page shows; None where a browser cannot decide it."""
    question = result.question
    if question.graph_properties:
        return None
    numbers = {id(step): number for number, step in enumerate(question.instance.actions)}
    return {
        "script": script_of(question, policy),
        "native": {
            "verdict": result.verdict.value,
            "states": result.distinct_states,
            "generated": result.generated_states,
            "levels": list(result.level_sizes),
        },
        "run": {
            "property": shown.property.name,
            "states": [[hex(word) for word in state] for state in shown.run.states],
            "actions": [numbers[id(step)] for step in shown.run.actions],
        },
    }
