"""The page of values: every expression on it is run, and everything that values can do stands there."""

from __future__ import annotations

import csv
import re
from typing import Any

import pytest

import acked
from acked.model.language.sets import SetValue
from acked.model.language.storage.messages import MessagesView, QueueView
from acked.model.language.storage.views import ArrayView, LogView
from acked.model.language.values import OptionalValue
from tests.places import CHECKOUT

PAGE = (CHECKOUT / "docs" / "values.md").read_text("utf-8")
CODE = re.compile(r"`((?:[^`\\]|\\.)+)`")
NOT_FOR_AUTHORS = {"item", "code_of", "mask_of", "expr", "lift", "type_name", "instead", "view"}


def rows_of(name: str) -> list[list[str]]:
    with (CHECKOUT / "docs" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def cells(name: str) -> list[str]:
    return [text.replace("\\|", "|") for _, written, _ in rows_of(name) for text in CODE.findall(written)]


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    """What the page declares."""
    found: dict[str, Any] = {"__name__": "values"}
    exec(re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1], found)  # type: ignore[index]
    return found


@pytest.mark.parametrize(
    ("text", "changes"), [*((text, False) for text in cells("values")), *((text, True) for text in cells("statements"))]
)
def test_every_expression_of_the_page_is_run_and_only_statements_change_the_state(
    text: str, changes: bool, names: dict[str, Any]
) -> None:
    code = compile(text, "values.md", "exec" if changes else "eval")

    def written(s: Any, a: Any, b: Any) -> None:
        eval(code, {**names, "s": s, "a": a, "b": b})

    written.__annotations__ = {"s": names["State"], "a": names["Node"], "b": names["Node"]}
    protocol = acked.Protocol(
        "values", names["State"], title="", source="", constants=(names["nodes"], names["bound"]), initial=initial
    )
    protocol.action()(written)
    steps = protocol.instantiate({"nodes": 2}).actions
    assert len(steps) >= 4
    assert any(step.updates for step in steps) is changes


def initial(s: Any) -> None:
    s.y = 1


@pytest.mark.parametrize("kind", [SetValue, OptionalValue, LogView, QueueView, MessagesView, ArrayView])
def test_what_a_value_can_do_stands_on_the_page(kind: type) -> None:
    has = {name for name in dir(kind) if not name.startswith(("_", "no_"))} - NOT_FOR_AUTHORS
    written = " ".join([*cells("values"), *cells("statements")])
    assert {name for name in has if f".{name}" not in written} == set()


def test_what_the_language_has_is_shown_by_a_file_that_there_is_and_the_rest_has_a_reason() -> None:
    assert len(rows_of("language")) > 20
    for looked_for, here, shown in rows_of("language"):
        files = re.findall(r"\]\(\.\./([^)]+)\)", shown)
        assert here == "yes" or here.startswith("no, "), looked_for
        assert bool(files) == (here == "yes"), looked_for
        assert all((CHECKOUT / file).is_file() for file in files), files
