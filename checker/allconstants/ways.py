"""The ways in which z3 is asked for a proof for all constants. Without z3."""

from __future__ import annotations

from acked.base.frozen import frozen
from acked.model.firstorder.query import Hints
from acked.model.firstorder.records import Detail


@frozen
class Way:
    """How z3 is asked: its random seed, how eagerly it looks at what is not yet decided, and with how many hints.

    `detail` is how much is said of defined terms; `with_guard` whether it is said when the action may happen. `makes_models`
    lets z3 also guess a model and instantiate what is false in it. `weight` is what an instance of a quantifier costs
    (`Lowering`): with a high one z3 looks at all that is near before it goes further. `marks_state` gives hints on what the
    state holds for every id, those that merely exist among them; `are_alike` compares sizes only of sets that depend on the
    same values, or on none. `case_split` is z3's: 1 splits where the search is busy, 3 along the structure of the formula.
    """

    seed: int
    relevancy: int
    hints: Hints
    detail: Detail = Detail.WHOLE
    makes_models: bool = False
    with_guard: bool = True
    weight: int = 1
    marks_state: bool = False
    are_alike: bool = False
    case_split: int = 1


WAYS: tuple[Way, ...] = (
    *(Way(seed, relevancy, more) for seed, relevancy in ((0, 2), (1, 1), (2, 2)) for more in (Hints.SOME, Hints.MANY)),
    *(Way(seed, relevancy, Hints.SOME, Detail.OUTLINE) for seed, relevancy in ((0, 2), (1, 1), (2, 2), (3, 0))),
    *(Way(seed, 2, Hints.SOME, detail, True) for seed in (0, 1) for detail in (Detail.OUTLINE, Detail.WHOLE)),
    # For what follows from other clauses after the step.
    *(Way(seed, relevancy, Hints.FEW, Detail.NAMES, False, False) for seed, relevancy in ((0, 2), (1, 1))),
    *(Way(seed, relevancy, Hints.FEW, Detail.OUTLINE) for seed, relevancy in ((0, 2), (1, 1))),
    Way(0, 2, Hints.FEW, Detail.OUTLINE, True),
    # For sets of voters that depend on who asks.
    *(
        Way(0, 2, Hints.FEW, Detail.OUTLINE, weight=6, marks_state=not are_alike, are_alike=are_alike, case_split=case_split)
        for are_alike in (True, False)
        for case_split in (1, 3)
    ),
    *(
        Way(0, 2, hints, detail, weight=6, are_alike=True, case_split=3)
        for hints, detail in (
            (Hints.FEW, Detail.WHOLE),
            (Hints.SOME, Detail.OUTLINE),
            (Hints.NEAR, Detail.OUTLINE),
            (Hints.NEAR, Detail.WHOLE),
        )
    ),
    Way(0, 2, Hints.SOME, Detail.OUTLINE, weight=3, case_split=3),
)
"""Tried one after the other; a proof by any of them is a proof."""
