"""The public API: every name is there, explains itself with an example that is true, and costs nothing until it is used."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import acked
from docs.make.api import CONSTANTS, api_page
from tests.places import CHECKOUT

SOURCE = Path(acked.__file__).read_text()


def run(name: str, text: str | None, names: dict[str, Any]) -> int:
    """Runs the examples of a docstring and returns how many there are; a wrong one raises."""
    test = doctest.DocTestParser().get_doctest(text or "", names, name, None, None)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.REPORT_NDIFF).run(test, out=told.append, clear_globs=False)
    assert not told, "".join(told)
    names.update(test.globs)
    return len(test.examples)


@pytest.fixture(scope="module")
def toylog() -> dict[str, Any]:
    """The names that the package's own docstring makes: all examples are about its protocol."""
    names: dict[str, Any] = {"__name__": "examples"}
    assert run("acked", acked.__doc__, names) > 10
    return names


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples that write files do so in a folder of their own."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", [name for name in acked.__all__ if name not in CONSTANTS])
def test_every_public_name_has_an_example_that_is_true(name: str, toylog: dict[str, Any]) -> None:
    assert run(name, inspect.getdoc(getattr(acked, name)), dict(toylog)) > 0


def test_every_public_constant_is_of_a_public_class() -> None:
    for name in CONSTANTS:
        assert type(getattr(acked, name)).__name__ in acked.__all__


def test_type_checkers_see_the_names_that_there_are() -> None:
    """The imports for type checkers, `__all__` and the table of places say the same."""
    checked = next(node for node in ast.parse(SOURCE).body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in checked.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == {name: module for module, names in acked._PLACES.items() for name in names.split()}
    assert set(seen) == set(acked.__all__)
    assert set(acked.__all__) <= set(dir(acked))
    for name, module in seen.items():
        assert getattr(acked, name) is getattr(sys.modules[str(module)], name)


def test_a_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'acked' has no attribute 'chekc'"):
        _ = acked.chekc  # type: ignore[attr-defined]


def test_importing_acked_imports_nothing_and_a_language_name_no_engine() -> None:
    program = (
        "import sys; before = set(sys.modules); import acked\n"
        "print(sorted(set(sys.modules) - before - {'__future__', 'typing'}))\n"
        "from acked import Protocol, require, every, Struct, Role, Property\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'numpy', 'llvmlite', 'z3', 'pyspark', 'click'}))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    first, second = done.stdout.splitlines()
    tops = {name.partition(".")[0] for name in ast.literal_eval(first)}
    assert tops <= sys.stdlib_module_names | {"acked"}
    assert "acked." not in first
    assert second == "[]", done.stderr


def test_the_page_of_the_api_is_made_from_the_docstrings() -> None:
    assert (CHECKOUT / "docs" / "api.md").read_text() == api_page(), "run `python docs/make/api.py`"
