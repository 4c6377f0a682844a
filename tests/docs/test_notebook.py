"""The notebook of the pages does what it shows."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import Any

import pytest

import acked
from acked.reports.standalone.protocol import words_script
from tests.docs import notebook


@pytest.mark.parametrize(
    ("path", "least"),
    [
        pytest.param(notebook.NOTEBOOK, 8, marks=pytest.mark.slow),
        pytest.param(notebook.SPARK, 5, marks=[pytest.mark.spark, pytest.mark.long]),
    ],
)
def test_every_cell_answers_what_the_notebook_shows(path: Path, least: int) -> None:
    made, kept = notebook.run(path), notebook.read(path)
    assert notebook.answers(made) == notebook.answers(kept), "as intended? python -m tests.docs.notebook --write"
    assert [cell.source for cell in made.cells] == [cell.source for cell in kept.cells]
    assert sum(bool(answer) for answer in notebook.answers(kept)) >= least


def test_the_page_of_a_protocol_that_is_written_in_a_cell_tells_steps_in_its_words() -> None:
    """As in a notebook, whose cells are known to `linecache` alone."""
    text = "".join(cell.source + "\n" for cell in notebook.read().cells[:2] if cell.cell_type == "code")
    name = "<cell 1>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), names)
    script = words_script(acked.ask(names["backup"], writes=1))
    assert "missing: []" in script
    assert "and the backup takes over" in script
