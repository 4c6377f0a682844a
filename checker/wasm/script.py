"""The script that answers one question where there is neither acked nor Python: its modules, its sizes, and `search.js`.

`script_of`, which refuses what the script cannot decide, and `explorer_script` for pages in which somebody walks about.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any

from acked.base.errors import ConfigurationError
from acked.checker.loops import slots, table
from acked.checker.native.shape import shape_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.question.result import Words
from acked.checker.wasm.module import LANES, WIDTHS, compile_module

_SEARCH = ("machine", "ledger", "traces", "search")
_EXPLORE = (*_SEARCH, "predicate")
"""The files of a script, before the question and where it begins."""


def script_of(
    question: Question, policy: StopPolicy = StopPolicy.FIRST_VIOLATION, widths: Sequence[int] = WIDTHS
) -> str:
    """JavaScript that answers the question in a worker of a page, or in Node, with a module for each of these widths.

    `ConfigurationError` for a property that only the graph of all states decides, and where symmetry does not fit.
    """
    question.refuse_asymmetry()
    if question.graph_properties:
        names = ", ".join(question.properties[at].name for at in question.graph_properties)
        raise ConfigurationError(
            f"{names} needs the graph of all states and steps, which the search as WebAssembly does not keep; leave it out, "
            "or ask `acked check`"
        )
    modules = {str(bits): packed(compile_module(question.plan, bits)) for bits in widths}
    return assembled({**described(question, policy), "modules": modules})


def explorer_script(question: Question) -> str:
    """JavaScript that looks in a worker for the nearest states of a kind, and how deep a state lies; whatever their names.

    Of promises it knows those that single states and steps decide.
    """
    plain = replace(question.without_graph_properties(), probes=(), is_symmetric=False)
    modules = {str(WIDTHS[0]): packed(compile_module(plain.plan, WIDTHS[0]))}
    return assembled({**described(plain, StopPolicy.FIRST_VIOLATION), "modules": modules}, _EXPLORE, "explore")


def assembled(spec: dict[str, Any], parts: Sequence[str] = _SEARCH, last: str = "run") -> str:
    """The script of a question that is described, with its modules."""
    return "\n".join([*map(_text, parts), f"const SPEC = {json.dumps(spec, separators=(',', ':'))};", _text(last)])


def described(question: Question, policy: StopPolicy) -> dict[str, Any]:
    """All that `search.js` knows of a question, but for its modules; 64-bit words are texts."""
    shape = shape_of(question.plan)
    return {
        "words": shape.words,
        "rows": shape.rows,
        "conditions": shape.properties,
        "checks": shape.checks,
        "block": 64 * LANES,
        "is_symmetric": shape.is_symmetric,
        "actions": [step.label for step in question.instance.actions],
        "properties": [item.name for item in question.properties],
        "state_properties": question.state_properties,
        "step_properties": question.step_properties,
        "probes": [probe.name for probe in question.probes],
        "state_probes": question.state_probes,
        "step_probes": question.step_probes,
        "is_sought": any(probe.is_sought for probe in question.probes),
        "stops_at_first": policy is StopPolicy.FIRST_VIOLATION,
        "initial": [_state(words) for words in question.initial],
        "originals": [_state(words) for words in question.instance.initial] if question.is_symmetric else [],
        "layout": _layout(),
    }


def _layout() -> dict[str, Any]:
    return {
        "slots": {name: value for name, value in vars(slots).items() if name.isupper() and isinstance(value, int)},
        "batch": BATCH,
        "group": max(slots.GROUP, slots.FIRE_GROUP),
        "ring": table.RING + 1,
        "offer_slots": slots.OFFER_SLOTS,
        "offer_closed": str(slots.OFFER_CLOSED),
        "shared_slots": slots.SHARED_SLOTS,
        "spare_slots": table.SPARE_SLOTS,
        "bucket": table.SLOTS,
        "pad": table.PAD,
        "load": [table.LOAD_NUMERATOR, table.LOAD_DENOMINATOR],
        "double_until": table.DOUBLE_UNTIL,
        "most_states": table.INDEX_MASK - BATCH,
    }


def _state(words: Words) -> list[str]:
    return [str(word) for word in words]


def packed(module: bytes) -> str:
    """A module as scripts hold it: compressed, in base64."""
    return base64.b64encode(gzip.compress(module, 9, mtime=0)).decode()


@cache
def _text(name: str) -> str:
    """A script without comments and indentation, which take a quarter of it; no text in it goes over more than one line."""
    source = files("acked.checker").joinpath("wasm", f"{name}.js").read_text("utf-8")
    lines = (line.strip() for line in source.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//"))
