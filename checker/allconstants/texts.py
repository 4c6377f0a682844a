"""An obligation as a text of its own, for any solver that reads SMT-LIB: in `--smt2` and in certificates.

The ways in which z3 is asked (`WAYS`), and what is written of an obligation (`obligation_text`). Both without z3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from acked.checker.allconstants.obligations import GeneralObligation, Obligations
from acked.checker.solver.lemma_sets import Core
from acked.model.firstorder.query import Hints
from acked.model.firstorder.records import Detail
from acked.model.firstorder.smtlib import script


@dataclass(frozen=True)
class Way:
    """How z3 is asked: its random seed, how eagerly it looks at what is not yet decided, and with how many hints.

    `detail` is how much is said of defined terms; `with_guard` whether it is said when the action may happen. `makes_models`
    lets z3 also guess a model and instantiate what is false in it.
    """

    seed: int
    relevancy: int
    hints: Hints
    detail: Detail = Detail.WHOLE
    makes_models: bool = False
    with_guard: bool = True


WAYS: tuple[Way, ...] = (
    *(Way(seed, relevancy, more) for seed, relevancy in ((0, 2), (1, 1), (2, 2)) for more in (Hints.SOME, Hints.MANY)),
    *(Way(seed, relevancy, Hints.SOME, Detail.OUTLINE) for seed, relevancy in ((0, 2), (1, 1), (2, 2), (3, 0))),
    *(Way(seed, 2, Hints.SOME, detail, True) for seed in (0, 1) for detail in (Detail.OUTLINE, Detail.WHOLE)),
    # For what follows from other clauses after the step.
    *(Way(seed, relevancy, Hints.FEW, Detail.NAMES, False, False) for seed, relevancy in ((0, 2), (1, 1))),
    *(Way(seed, relevancy, Hints.FEW, Detail.OUTLINE) for seed, relevancy in ((0, 2), (1, 1))),
    Way(0, 2, Hints.FEW, Detail.OUTLINE, True),
    *(Way(seed, relevancy, hints, Detail.ALIKE) for seed, relevancy in ((0, 2), (1, 1)) for hints in (Hints.FEW, Hints.SOME)),
    *(Way(seed, 2, Hints.FEW, Detail.ALIKE, True) for seed in (0, 1)),
)
"""Tried one after the other; a proof by any of them is a proof."""


def obligation_text(obligations: Obligations, obligation: GeneralObligation, core: Core) -> str:
    """The obligation with the lemmas and in the way of `core`, as it is asked of z3: unsatisfiable exactly if it follows.

    Where z3 guesses models, the text has marks instead on what it would try then. The obligations must have been prepared;
    then the text depends on nothing but the protocol and the lemmas.
    """
    way = WAYS[core.way]
    heading = (
        f"{obligations.protocol.name}, for all constants: {obligation.subject} and {obligation.clause}",
        f"clauses assumed: {', '.join(core.lemmas) or 'none'}",
    )
    query = obligations.query(obligation, core.lemmas, way.detail, way.with_guard)
    further = obligations.numbers_of_ids(query) if way.makes_models else ()
    return script(query, way.hints, heading, further)


def text_name(number: int, subject: str, clause: str) -> str:
    """The file name of an obligation's text; obligations are counted from 0, files from 1."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{subject} {clause}").strip("-")
    return f"{number + 1:03}-{words}.smt2"
