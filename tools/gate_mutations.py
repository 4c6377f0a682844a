"""Writes docs/gate_mutations.json: what the gate says of every fault in tests/gate/mutations.py. Takes some minutes."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.gate.mutations import MUTATIONS, attempt, copy_of_the_checkout, run_gate  # noqa: E402


def main() -> None:
    """Tries every fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cache = folder / "cache"
        run_gate(copy_of_the_checkout(folder / "sound"), cache)
        rows = []
        for number, mutation in enumerate(MUTATIONS, 1):
            rows.append(attempt(mutation, folder / str(number), cache).row(number, mutation))
            print(rows[-1], flush=True)
    lines = ",\n".join(f" {json.dumps(row, ensure_ascii=False)}" for row in rows)
    (ROOT / "docs" / "gate_mutations.json").write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main()
