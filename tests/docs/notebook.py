"""Runs the notebooks of the pages as a reader would, in a kernel of its own.

    python -m tests.docs.notebook            says which cells answer something else than the files have
    python -m tests.docs.notebook --write    writes the answers into them

Kept are the texts of answers; pages, which are large, are shown again by whoever runs it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

from acked.checker.spark.java import find_java
from tests.places import CHECKOUT

NOTEBOOK = CHECKOUT / "docs" / "notebook.ipynb"
SPARK = CHECKOUT / "docs" / "spark.ipynb"
SECONDS = 900


def read(path: Path = NOTEBOOK) -> Any:
    """A notebook as it is kept."""
    return nbformat.read(path, as_version=4)


def run(path: Path = NOTEBOOK) -> Any:
    """A notebook with what its cells answer now, in a folder of its own; a cell that fails raises with its text."""
    made = read(path)
    programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": programs, "SPARK_LOCAL_IP": "127.0.0.1"}
    if path == SPARK:
        environment["JAVA_HOME"] = str(find_java())
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(made, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.execute(env=environment)
    for cell in made.cells:
        cell.metadata = {}
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        for output in cell.get("outputs", ()):
            if "data" in output:
                output.data = {"text/plain": output.data["text/plain"]}
    made.metadata = {"kernelspec": read(path).metadata.kernelspec}
    return made


def answers(notebook: Any) -> list[str]:
    """What every cell prints and answers."""
    def text(output: Any) -> str:
        return str(output.text if output.output_type == "stream" else output.data["text/plain"])

    return ["".join(map(text, cell.get("outputs", ()))) for cell in notebook.cells]


def main() -> int:
    is_same = True
    for path in (NOTEBOOK, SPARK):
        made, kept = run(path), read(path)
        if "--write" in sys.argv:
            nbformat.write(made, path)
            continue
        for number, (now, then) in enumerate(zip(answers(made), answers(kept), strict=True)):
            if now != then:
                is_same = False
                print(f"{path.name}, cell {number}:\n{made.cells[number].source}\n\n{now}")
    return int(not is_same)


if __name__ == "__main__":
    sys.exit(main())
