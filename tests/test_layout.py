"""House rules that are cheap to check: short functions, no machine's names in files, and a manifest that is up to date."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import cast

import grimp
import pytest

from acked.base.files import ROOMS
from acked.model.catalogue import PROTOCOLS
from tests import conftest
from tests.conftest import ALONE, EVERY_CASE, leave_some_to_others, without_siblings
from tests.places import CHECKOUT
from tools.house import HOUSE, PICTURE, above, part_of, parts_of, picture, tables, upward

FOLDERS = (*ROOMS, "acked")
"""The folders of what is imported as `acked`."""

PRIVATE = re.compile(r"(?<![\w.])/(?:(?:h[o]me|U[s]ers)/\w|r[o]ot\b)")
"""The beginning of an absolute home path, written so that it does not match itself."""
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("anaconda", "org"),
        ("repo1", "maven"),
        ("maven", "apache", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
    )
]
"""Package registries, spelled in parts so that this file does not name one."""


@cache
def files() -> tuple[Path, ...]:
    """Every file of the checkout that git tracks or would offer to track."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout
    paths = [CHECKOUT / name for name in sorted(set(listed.split("\0"))) if name]
    return tuple(path for path in paths if path.is_file())


def name(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def modules() -> list[Path]:
    return [path for path in files() if path.suffix == ".py"]


def test_every_python_file_of_our_packages_lies_in_a_package() -> None:
    folders = {path.parent for path in modules() if path.relative_to(CHECKOUT).parts[0] in FOLDERS}
    assert [name(folder) for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []
    assert {folder.relative_to(CHECKOUT).parts[0] for folder in folders} == set(FOLDERS)


@pytest.mark.slow
def test_no_file_names_a_package_registry_or_a_home_folder() -> None:
    found = []
    for path in files():
        text = path.read_bytes().decode("utf-8", "replace")
        is_suspect = any(host in text for host in HOSTS) or PRIVATE.search(text)
        for number, line in enumerate(text.splitlines() if is_suspect else (), 1):
            if any(host in line for host in HOSTS) or PRIVATE.search(line):
                found.append(f"{name(path)}:{number}: {line.strip()[:100]}")
    assert found == []


@pytest.mark.parametrize("text", ["cd /ho" + "me/me/acked", '"/Us' + 'ers/me"', "PATH=/ro" + "ot/bin", "/ro" + "ot is"])
def test_the_search_for_home_folders_finds_them(text: str) -> None:
    assert PRIVATE.search(text)


@pytest.mark.parametrize("text", ["docs/home/index.md", "the/root/of", "./root/x", "/rooted", "example.org/home/x"])
def test_the_search_for_home_folders_leaves_other_paths_alone(text: str) -> None:
    assert not PRIVATE.search(text)


MANIFEST = CHECKOUT / "ARCHITECTURE.md"


def packages() -> list[str]:
    """The packages below the rooms and `acked`, by the names that they are imported by."""
    folders = {path.parent.relative_to(CHECKOUT) for path in modules() if path.relative_to(CHECKOUT).parts[0] in FOLDERS}
    inside = [folder.as_posix().replace("/", ".") for folder in sorted(folders) if len(folder.parts) == 2]
    return [name if name.startswith("acked.") else f"acked.{name}" for name in inside if not name.endswith("starters")]


def test_every_package_says_on_which_floor_of_its_room_it_stands() -> None:
    assert len(packages()) > 40
    assert [name for name in packages() if part_of(name).floor == 0] == []
    assert [room for room in ROOMS if part_of(f"acked.{room}").floor != ROOMS.index(room) + 1] == []


def test_the_tables_and_the_picture_of_architecture_are_what_the_packages_say() -> None:
    named = re.findall(r"^\| \w+ \| `([\w/]+)/` \|", "\n".join(tables()), re.MULTILINE)
    assert {f"acked.{name.replace('/', '.')}".replace("acked.acked.", "acked.") for name in named} == set(packages())
    assert {*HOUSE} == {*ROOMS, "acked"}
    assert PICTURE.read_text("utf-8") == picture(), "python tools/house.py"


def test_how_acked_is_built_is_read_in_ten_minutes() -> None:
    assert len(MANIFEST.read_text("utf-8").split()) <= 1500


def graph_of(*imports: tuple[str, str]) -> grimp.ImportGraph:
    graph = grimp.ImportGraph()
    for name in {"acked.checker", *(f"acked.checker.{end}" for pair in imports for end in pair)}:
        graph.add_module(name)
    for importer, imported in imports:
        graph.add_import(importer=f"acked.checker.{importer}", imported=f"acked.checker.{imported}")
    return graph


@pytest.mark.parametrize(
    ("importer", "imported", "goes_down"),
    [("search", "question", True), ("question", "search", False), ("search", "spark", False), ("spark", "search", False)],
)
def test_an_import_that_does_not_go_down_is_found(importer: str, imported: str, goes_down: bool) -> None:
    found = list(upward(graph_of((importer, imported)), "acked.checker"))
    assert len(found) == (0 if goes_down else 1)
    assert all(f"acked.checker.{importer} (floor" in line and f"imports acked.checker.{imported}" in line for line in found)


def test_an_import_of_a_protocol_by_an_engine_is_found_whichever_protocol_it_is() -> None:
    packages = {part.name for part in parts_of("model")}
    protocols = {PROTOCOLS[name].state.__module__.rpartition(".")[0] for name in PROTOCOLS}
    graph = grimp.ImportGraph()
    for name in {"acked.model", "acked.checker", "acked.checker.search", *packages}:
        graph.add_module(name)
    for name in packages:
        graph.add_import(importer="acked.checker.search", imported=name)
    found = list(above(graph, "acked.checker", "acked.model", 3))
    assert {line.split(" imports ")[1].split()[0] for line in found} == protocols


def test_architecture_names_no_file_or_folder_that_is_not_there() -> None:
    text = MANIFEST.read_text("utf-8")
    named = set(re.findall(r"`([\w.-]+(?:/[\w.-]+)*(?:/|\.py))`", text))
    folders = {f"{path.relative_to(CHECKOUT).parts[0]}/" for path in files() if path.parent != CHECKOUT}
    assert sorted(folders - named) == [], "folders that ARCHITECTURE.md does not name"
    assert sorted(entry for entry in named if not (CHECKOUT / entry).exists()) == [], "named, but not there"


def limit(path: Path, of_product: int, of_others: int) -> int:
    """What belongs to the product is held to less than tests and tools are."""
    return of_product if path.relative_to(CHECKOUT).parts[0] in FOLDERS else of_others


def test_no_package_has_more_than_fourteen_modules_and_none_of_tests_or_tools_more_than_twenty() -> None:
    counts = Counter(path.parent for path in modules())
    crowded = [
        f"{name(folder)} has {count} modules, at most {most}: put those that belong together into a {kind} of their own"
        for folder, count in counts.items()
        for most in (limit(folder, 14, 20),)
        for kind in ("package" if folder.relative_to(CHECKOUT).parts[0] in FOLDERS else "folder",) if count > most
    ]  # fmt: skip
    assert crowded == []


def own_modules() -> list[Path]:
    return [path for path in modules() if path.relative_to(CHECKOUT).parts[0] in FOLDERS]


def test_no_module_is_longer_than_450_lines_and_none_of_tests_or_tools_than_500() -> None:
    lengths = {path: len(path.read_text("utf-8").splitlines()) for path in modules()}
    assert {name(path): lines for path, lines in lengths.items() if lines > limit(path, 450, 500)} == {}


def lines_of(function: ast.FunctionDef) -> int:
    """The lines of a function without its docstring, which of a command is a page of help."""
    first = function.body[0]
    documents = ast.get_docstring(function) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documents else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def functions_in(body: Iterable[ast.AST]) -> Iterator[ast.FunctionDef]:
    """The functions among these statements and within them; expressions have none."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node
        for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
            found = getattr(node, inner, ())
            yield from functions_in(found if isinstance(found, list) else ())


@pytest.mark.slow
def test_no_function_is_longer_than_sixty_lines() -> None:
    functions = [found for path in own_modules() for found in functions_in(ast.parse(path.read_text("utf-8")).body)]
    assert len(functions) > 5_000
    long = {node.name for node in functions if lines_of(node) > 60}
    assert long == set()


def test_ci_runs_the_command_that_the_readme_gives_for_tests() -> None:
    readme = (CHECKOUT / "README.md").read_text("utf-8")
    script = [line for line in (CHECKOUT / ".ci" / "run").read_text("utf-8").splitlines() if line.startswith("make ")]
    assert script == ["make lint", "make test", "make test-landing", "make test-brokers"]
    assert [command for command in script if command not in readme] == []


class Case:
    """As much of a test as is looked at when some are left to the long run, and when it is asked how long it took."""

    def __init__(self, name: str, *marks: pytest.Mark) -> None:
        self.nodeid, self.marks = name, {mark.name: mark for mark in marks}
        self.fixturenames, self.stash = ("monkeypatch",), pytest.Stash()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark.mark


def test_of_slow_cases_that_are_alike_some_are_asked_evenly_drawn_and_all_others_are_long() -> None:
    slow, sampled = pytest.mark.slow.mark, pytest.mark.sampled(3).mark
    alike = [Case(f"a.py::test[{at}]", slow, sampled) for at in range(7)]
    few = [Case(f"b.py::test[{at}]", slow, sampled) for at in range(2)]
    others = [Case("c.py::test[0]", sampled), Case("c.py::test[1]", slow)]
    left = [Case(f"d.py::test[{at}]", slow, pytest.mark.sampled(1, "landing").mark) for at in range(2)]
    found = leave_some_to_others(cast(list[pytest.Item], [*alike, *few, *others, *left]))
    assert [at for at, case in enumerate(alike) if "long" not in case.marks] == [0, 2, 4]
    assert not any("long" in case.marks for case in (*few, *others))
    assert ["landing" in case.marks for case in left] == [False, True]
    assert found == [*(alike[at] for at in (1, 3, 5, 6)), left[1]]


@pytest.mark.slow
def test_a_run_of_one_place_says_how_many_cases_it_leaves_out_and_how_to_ask_them(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *\n")
    (tmp_path / "test_a.py").write_text(
        "import pytest\n\n\n@pytest.mark.sampled(1)\n@pytest.mark.slow\n@pytest.mark.parametrize('at', [1, 2, 3])\n"
        "def test_alike(at: int) -> None:\n    pass\n"
    )
    config = f"--rootdir={tmp_path}", "-c", str(CHECKOUT / "pyproject.toml"), f"--confcutdir={tmp_path}", "-n1", str(tmp_path)
    told = []
    for options, code in (((), 0), ((EVERY_CASE,), 0), (("-m", "slow"), 0), (("-n0", "-k", "2"), 5)):
        run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *config, *options]
        done = subprocess.run(run, cwd=CHECKOUT, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout
        told.append(done.stdout)
    words = "test_a.py::test_alike: 2 cases are left out; --every-case asks them, too"
    assert [words in text for text in told] == [True, False, False, True]
    assert [f"{passed} passed" in text for passed, text in zip((1, 3, 3), told, strict=False)] == [True] * 3


def test_what_is_left_to_ci_names_a_test_that_make_test_asks_or_has_another_case_that_it_asks() -> None:
    landing, long = pytest.mark.landing.mark, pytest.mark.long.mark
    names, gone = (pytest.mark.landing(name).mark for name in ("quick", "b.py::quick"))
    cases = [Case("a.py::quick[0]"), Case("a.py::quick[1]", landing), Case("a.py::large", names), Case("a.py::slow", gone)]
    cases += [Case("a.py::lone[0]", landing), Case("a.py::lone[1]", long)]
    assert without_siblings(cast(list[pytest.Item], cases)) == ["a.py::slow", "a.py::lone[0]"]


def test_what_ci_asks_of_brokers_is_in_the_folders_that_it_names() -> None:
    recipe = (CHECKOUT / "Makefile").read_text("utf-8").partition("\ntest-brokers:")[2].partition("\n\n")[0]
    folders = [CHECKOUT / word for word in recipe.split() if word.startswith("tests/")]
    asked = re.compile(r"pytest\.mark\.ci\b")
    marked = [path for path in (CHECKOUT / "tests").rglob("test_*.py") if asked.search(path.read_text("utf-8"))]
    assert len(marked) > 1
    assert [path for path in marked if not any(path.is_relative_to(folder) for folder in folders)] == []


def test_every_test_that_is_left_to_ci_has_a_quicker_sibling(pytestconfig: pytest.Config) -> None:
    if conftest.is_of_a_place(pytestconfig):
        pytest.skip("siblings may be in tests that were not collected")
    assert pytestconfig.stash[ALONE] == []


ENDING = """
import gc, os
import tests.conftest
from hypothesis.internal.conjecture import junkdrawer

class Last:
    def __del__(self, write=os.write):
        lists = [[] for _ in range(1000)]
        write(1, b"last")

junkdrawer.gc_cumulative_time()
junkdrawer.kept = Last()
gc.set_threshold(50, 5, 5)
"""


@pytest.mark.slow
def test_what_hypothesis_does_at_collections_it_does_not_do_when_python_ends() -> None:
    """Some runs of pytest ended with lines about a `gc_callback`, whose module was gone."""
    done = subprocess.run([sys.executable, "-c", ENDING], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("last", "")


@pytest.mark.parametrize(
    ("seconds", "mark", "fails"), [(0.9, "sampled", False), (1.1, "sampled", True), (1.1, "slow", False)]
)
def test_what_takes_above_a_second_of_processor_time_is_marked_or_fails(seconds: float, mark: str, fails: bool) -> None:
    times = iter([5.0, 5.0 + seconds])
    case = Case("a.py::test", getattr(pytest.mark, mark).mark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conftest, "processor_seconds", lambda: next(times))
        called = conftest.pytest_runtest_call(cast(pytest.Item, case))
        next(called)
        with pytest.raises(pytest.fail.Exception if fails else StopIteration, match="mark it slow" if fails else None):
            next(called)
    assert case.stash.get(conftest.TOOK_LONG, False) is fails, "it is tried once more"
