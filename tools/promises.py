"""Writes docs/promises.md: every variant against every named promise. Run it when a protocol or a promise changes.

    python tools/promises.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.bounds import default_workers  # noqa: E402
from acked.base.processes import Limits  # noqa: E402
from acked.checker.proof.variants import prove_matrix  # noqa: E402
from acked.reports.proofs.variants import matrix_markdown  # noqa: E402

if __name__ == "__main__":
    page = "\n".join(matrix_markdown(prove_matrix(Limits(default_workers(), 600.0))))
    (ROOT / "docs" / "promises.md").write_text(page + "\n", encoding="utf-8")
