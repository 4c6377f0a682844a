"""Writes docs/promises.json: every variant against every named promise. Run it when a protocol or a promise changes.

    python tools/promises.py

docs/promises.md is made from it by `tools/made.py`.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import default_workers  # noqa: E402
from acked.base.processes import Limits  # noqa: E402
from acked.checker.proof.variants import Breach, How, Matrix, VariantAnswer, prove_matrix  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.reports.proofs.variants import breaches_table, matrix_document, verdicts_table  # noqa: E402
from acked.reports.table import table_markdown  # noqa: E402

ANSWERS = ROOT / "docs" / "promises.json"


def matrix() -> Matrix:
    """The answers of the file."""
    told = json.loads(ANSWERS.read_text("utf-8"))
    broken = (Breach(one["protocol"], one["action"], tuple(one["lemmas"]), tuple(one["asks"])) for one in told["breaks"])
    return Matrix(told["constants"], tuple(map(_answer, told["matrix"])), tuple(broken), told["seconds"])


def _answer(told: dict[str, Any]) -> VariantAnswer:
    verdict, how, states = Verdict(told["verdict"]), How(told["method"]), told["trace_length"]
    actions = None if states is None else states - 1
    return VariantAnswer(told["protocol"], told["promise"], told["property"], verdict, how, told["seconds"], actions)


def verdicts() -> Iterator[str]:
    """The table of variants and promises."""
    yield from table_markdown(verdicts_table(matrix()))


def breaches() -> Iterator[str]:
    """Which action of an older variant breaks which lemma."""
    yield from table_markdown(breaches_table(matrix()))


if __name__ == "__main__":
    begun = time.perf_counter()
    found = prove_matrix(Limits(default_workers(), 600.0))
    ANSWERS.write_text(json.dumps(matrix_document(found, time.perf_counter() - begun), indent=1) + "\n", encoding="utf-8")
