"""An obligation as a text of its own, for any solver that reads SMT-LIB: in `--smt2` and in certificates. Without z3."""

from __future__ import annotations

import re

from acked.checker.allconstants.obligations import GeneralObligation, Obligations
from acked.checker.allconstants.ways import WAYS
from acked.checker.solver.lemma_sets import Core
from acked.model.firstorder.smtlib import script


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
    query = obligations.query(obligation, core.lemmas, way)
    further = obligations.numbers_of_ids(query) if way.makes_models or way.marks_state else ()
    return script(query, way.hints, heading, further, way.weight)


def text_name(number: int, subject: str, clause: str) -> str:
    """The file name of an obligation's text; obligations are counted from 0, files from 1."""
    words = re.sub(r"[^A-Za-z0-9]+", "-", f"{subject} {clause}").strip("-")
    return f"{number + 1:03}-{words}.smt2"
