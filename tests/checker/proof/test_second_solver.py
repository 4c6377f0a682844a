"""What is asked of z3 is standard: a second solver reads it and agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.invariants.replication.kip320_lemmas import KIP320_LEMMAS
from tests.checker.proof.asked import LIMITS, question


@pytest.mark.slow
def test_a_second_solver_agrees_with_every_query(tmp_path: Path) -> None:
    cvc5 = pytest.importorskip("cvc5")
    result = prove_by_induction(question("kip320", (2, 1, 1, 1)), KIP320_LEMMAS, LIMITS, InductionOptions(smt2=tmp_path))
    assert result.induction is not None
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) == len(result.induction.obligations)
    for file in files:
        assert second_opinion(cvc5, file) == ["unsat"], file.name
        assert fewest_operands(file.read_text()) >= 2, file.name


@pytest.mark.slow
def test_a_second_solver_refutes_what_z3_refutes(tmp_path: Path) -> None:
    cvc5 = pytest.importorskip("cvc5")
    asked = question("kip320", (2, 2, 2, 1), drop=[("FencedFollowerFetch", "follows in this epoch")])
    prove_by_induction(asked, KIP320_LEMMAS, LIMITS, InductionOptions(smt2=tmp_path))
    said = {file.name: second_opinion(cvc5, file) for file in tmp_path.glob("*FencedFollowerFetch*.smt2")}
    assert ["sat"] in said.values()


def test_what_bounded_model_checking_asks_is_standard_too(tmp_path: Path) -> None:
    check_bounded(question("kip320", (2, 1, 1, 1)), Bound(2, smt2=tmp_path), LIMITS)
    files = sorted(tmp_path.glob("*.smt2"))
    assert len(files) == 3
    assert all(fewest_operands(file.read_text()) >= 2 for file in files)


def fewest_operands(text: str) -> int:
    """Of all "and" and "or" in an SMT-LIB text; the standard wants two at least, and some solvers insist."""
    least, open_lists = 99, [0]
    heads = [""]
    for token in re.findall(r"\|[^|]*\||[()]|[^\s()|]+", re.sub("(?m)^;.*", "", text)):
        if token == "(":
            open_lists.append(0)
            heads.append("")
        elif token == ")":
            count, head = open_lists.pop(), heads.pop()
            least = min(least, count - 1) if head in ("and", "or") else least
            open_lists[-1] += 1
        else:
            heads[-1] = heads[-1] or token
            open_lists[-1] += 1
    return least


def second_opinion(cvc5: object, file: Path) -> list[str]:
    solver = cvc5.Solver()  # type: ignore[attr-defined]
    parser = cvc5.InputParser(solver)  # type: ignore[attr-defined]
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))  # type: ignore[attr-defined]
    symbols = parser.getSymbolManager()
    said = []
    while not (command := parser.nextCommand()).isNull():
        if answer := command.invoke(solver, symbols).strip():
            said.append(answer)
    return said
