"""The notebook of the pages does what it shows."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import acked
from acked.reports.standalone.protocol import words_script
from tests.docs import notebook


@pytest.mark.slow
def test_every_cell_answers_what_the_notebook_shows() -> None:
    made, kept = notebook.run(), notebook.read()
    assert notebook.answers(made) == notebook.answers(kept), "as intended? python -m tests.docs.notebook --write"
    assert [cell.source for cell in made.cells] == [cell.source for cell in kept.cells]
    assert sum(bool(answer) for answer in notebook.answers(kept)) >= 8


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
