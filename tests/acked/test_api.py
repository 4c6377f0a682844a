"""The public API: every name is there, explains itself with an example that is true, and costs nothing until it is used."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

import acked
from tools.parts.api import CONSTANTS, READ, members, reference

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


@pytest.mark.slow
@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("name", [name for name in acked.__all__ if name not in CONSTANTS])
def test_every_public_name_has_an_example_that_is_true(name: str, toylog: dict[str, Any]) -> None:
    assert run(name, inspect.getdoc(getattr(acked, name)), dict(toylog)) > 0


def test_every_public_name_is_explained_in_words_before_its_example() -> None:
    words = {name: (inspect.getdoc(getattr(acked, name)) or "").partition(">>>")[0] for name in acked.__all__}
    assert [name for name, text in words.items() if name not in CONSTANTS and len(text.split()) < 3] == []


def test_every_part_of_an_answer_says_what_it_is() -> None:
    found = [(name, head, words) for name in READ for head, words in members(getattr(acked, name))]
    assert {name for name, _, _ in found} == {name for name in READ if not issubclass(getattr(acked, name), Enum)}
    assert [f"{name}.{head}" for name, head, words in found if len(words) < 10] == []


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
    loaded = set(ast.literal_eval(first)) - {"acked", "acked.base", "acked.base.version"}
    assert {name.partition(".")[0] for name in loaded} <= sys.stdlib_module_names
    assert second == "[]", done.stderr


def test_a_trace_of_a_function_is_not_written_because_nobody_could_read_it(toylog: dict[str, Any], tmp_path: Path) -> None:
    @acked.invariant
    def never_acked(s: Any) -> acked.Bool:
        acks: acked.Bool = s.acked == 0
        return acks

    trace = acked.Trace.of(acked.check(acked.ask(toylog["toylog"], never_acked, "Deadlock", brokers=1, records=1)))
    assert trace.violates is never_acked
    with pytest.raises(acked.ConfigurationError, match=r'NeverAcked is a Python function.*invariant\("NeverAcked", "…"\)'):
        trace.write(tmp_path / "trace.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "answer"), [("kip320-2111", "holds"), ("truncate-to-hw", "violated")])
def test_a_spec_by_name_is_checked_as_the_command_does(name: str, answer: str) -> None:
    result = acked.check(name, bounds=acked.Bounds(workers=1))
    assert result.verdict.value == answer
    expect = acked.load_spec(name).expect
    assert expect is not None
    assert expect.differences(result) == []


def test_a_trace_of_a_shipped_protocol_is_written_and_read(tmp_path: Path) -> None:
    trace = acked.Trace.of(acked.check("truncate-to-hw"), "WeakIsr")
    trace.write(tmp_path / "lost.json")
    again = acked.Trace.read(tmp_path / "lost.json")
    assert again.steps == trace.steps
    assert again.violates == trace.violates
    assert [step.index for step in again] == list(range(len(again.steps)))
    with pytest.raises(acked.ConfigurationError, match="no violation of StrongIsr"):
        acked.Trace.of(acked.check("truncate-to-hw"), "StrongIsr")


@pytest.mark.slow
def test_a_bounded_proof_finds_what_the_search_finds() -> None:
    found = acked.prove(acked.load_spec("truncate-to-hw", replicas=2), depth=8)
    shortest = acked.check(acked.load_spec("truncate-to-hw", replicas=2))
    assert (found.verdict, found.method.value) == (acked.Verdict.VIOLATED, "bmc")
    assert found.violations[0].trace_length == shortest.violations[0].trace_length


def test_what_cannot_be_asked_is_refused(toylog: dict[str, Any]) -> None:
    protocol = toylog["toylog"]
    with pytest.raises(acked.ConfigurationError, match="brokerz"):
        acked.ask(protocol, brokerz=2)
    with pytest.raises(acked.ConfigurationError, match="nothing_there"):
        acked.ask(protocol, acked.invariant("Typo", "nothing_there == 0"), brokers=2, records=1)
    with pytest.raises(acked.ConfigurationError, match="Apend"):
        acked.ask(protocol, acked.liveness("Acks", None, "acked == 1", (["Apend"], [])), brokers=2, records=1)
    with pytest.raises(acked.ConfigurationError, match="no properties"):
        acked.prove(acked.ask(protocol, brokers=2, records=1))
    with pytest.raises(acked.ConfigurationError, match="every reachable state"):
        acked.simulate("liveness/isr-full-again")


def test_the_page_of_the_api_is_made_from_the_docstrings() -> None:
    page = "\n".join(reference())
    assert [name for name in acked.__all__ if not name.isupper() and f"### `{name}`\n" not in page] == []
    assert "- `Verdict.HOLDS`: holds" in page
    assert page.count("```pycon") > 20


@pytest.mark.slow
def test_answers_are_printed_in_a_screen_and_a_trace_is_a_picture_in_a_notebook() -> None:
    question = acked.load_spec("truncate-to-hw").question()
    found = acked.check(question)
    trace = acked.Trace.of(found)
    simulated = acked.simulate(question, runs=20)
    for answer in (question, found, found.violations[0], trace, simulated, acked.prove(acked.load_spec("kip101").question())):
        assert "object at 0x" not in repr(answer)
        assert len(repr(answer).splitlines()) <= 20
        assert len(repr(answer)) <= 1500
    assert len(trace) == len(trace.steps) == found.violations[0].trace_length
    picture = trace._repr_html_()
    assert picture.startswith("<iframe srcdoc=")
    assert picture.count("<") == 2  # The page is one text, and nothing of it stands outside.
