"""Writes docs/promises.md: every variant against every named promise. Run it when a protocol or a promise changes.

    python docs/make_promises.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from checker.matrix import prove_matrix  # noqa: E402
from checker.search import default_workers  # noqa: E402
from checker.solvers import Limits  # noqa: E402
from reports.matrix import matrix_markdown  # noqa: E402

if __name__ == "__main__":
    page = "\n".join(matrix_markdown(prove_matrix(Limits(default_workers(), 600.0))))
    (ROOT / "docs" / "promises.md").write_text(page + "\n", encoding="utf-8")
