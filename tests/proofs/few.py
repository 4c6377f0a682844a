"""A prover of few obligations: to normalise what is asked of all others takes ten times as long as to ask z3."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy

from acked.checker.allconstants.obligations import Obligations
from acked.checker.allconstants.prover import Prover


def prover_of(obligations: Obligations, keys: Iterable[str]) -> Prover:
    """The prover of the obligations with these keys, which all there are; names of what it makes are others than of all."""
    wanted = set(keys)
    fewer = copy(obligations)
    fewer.all = tuple(item for item in obligations.all if item.key in wanted)
    assert {item.key for item in fewer.all} == wanted
    return Prover(fewer)
