"""Writes docs/gate_mutations.md: what the gate says of every fault in tests/gate/mutations.py. Takes some minutes."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.gate.mutations import MUTATIONS, attempt, copy_of_the_checkout, run_gate  # noqa: E402

HEAD = """\
# What the gate finds

Would the gate notice if the model, the search or a spec were broken? For those who rely on a green gate. Each row is a
fault that was put into a copy of the checkout or of a spec, the reason for which `acked gate` then was red, and its message.
`tools/gate_mutations.py` writes this table, and `tests/gate/test_mutations.py` checks it.

| | fault | in | reason | the gate's words |
|--:|---|---|---|---|
"""


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
    (ROOT / "docs" / "gate_mutations.md").write_text(HEAD + "\n".join(rows) + "\n", "utf-8")


if __name__ == "__main__":
    main()
