"""Runs docs/notebook.ipynb as a reader would, in a kernel of its own.

    python -m tests.docs.notebook            says which cells answer something else than the file has
    python -m tests.docs.notebook --write    writes the answers into it

Kept are the texts of answers; pages, which are large, are shown again by whoever runs it.
"""

from __future__ import annotations

import sys
from typing import Any

import nbformat
from nbclient import NotebookClient

from tests.places import CHECKOUT

NOTEBOOK = CHECKOUT / "docs" / "notebook.ipynb"
SECONDS = 120


def read() -> Any:
    """The notebook as it is kept."""
    return nbformat.read(NOTEBOOK, as_version=4)


def run() -> Any:
    """The notebook with what its cells answer now; a cell that fails raises with its text."""
    made = read()
    place = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(made, timeout=SECONDS, kernel_name="python3", resources=place).execute()
    for cell in made.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {"text/plain": output.data["text/plain"]}
    made.metadata = {"kernelspec": read().metadata.kernelspec}
    return made


def answers(notebook: Any) -> list[str]:
    """What every cell prints and answers."""
    def text(output: Any) -> str:
        return str(output.text if output.output_type == "stream" else output.data["text/plain"])

    return ["".join(map(text, cell.get("outputs", ()))) for cell in notebook.cells]


def main() -> int:
    made, kept = run(), read()
    if "--write" in sys.argv:
        nbformat.write(made, NOTEBOOK)
        return 0
    differing = [number for number, (now, then) in enumerate(zip(answers(made), answers(kept), strict=True)) if now != then]
    for number in differing:
        print(f"cell {number}:\n{made.cells[number].source}\n\n{answers(made)[number]}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
