"""A user's own `model/`, `checker/` … must not take the place of ours, however acked is started.

What lives here: starts from the checkout. What does not: the installed wheel (`test_packaging.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acked import rooms

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A working directory whose packages have our names and raise when they are imported."""
    for name in rooms.ROOMS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise RuntimeError('the foreign {name} was imported')\n")
    return tmp_path


def run(*args: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs this Python in `cwd` with no other PYTHON… variables than those given."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [sys.executable, *args],
        cwd=cwd,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", [("list", "specs"), ("check", "kip320")], ids=" ".join)
@pytest.mark.parametrize(
    "variables",
    [
        {"PYTHONPATH": str(CHECKOUT)},
        {"PYTHONPATH": os.pathsep.join([".", str(CHECKOUT)])},
        {"PYTHONPATH": str(CHECKOUT), "PYTHONSAFEPATH": "1"},
    ],
    ids=["pythonpath-names-the-checkout", "pythonpath-names-the-working-directory-first", "safe-path"],
)
def test_the_command_uses_its_own_packages_in_a_directory_with_packages_of_the_same_names(
    foreign: Path, variables: dict[str, str], command: tuple[str, ...]
) -> None:
    done = run("-m", "acked", *command, cwd=foreign, **variables)
    assert done.returncode == 0, done.stderr
    assert "kip320" in done.stdout or "KIP-320" in done.stdout


@pytest.mark.parametrize("name", rooms.ROOMS)
def test_each_of_our_names_resolves_beside_the_package_acked(foreign: Path, name: str) -> None:
    program = f"import acked.__main__, {name}; print({name}.__file__)"
    path = os.pathsep.join([".", str(CHECKOUT)])
    done = run("-c", program, cwd=foreign, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == CHECKOUT / name / "__init__.py"


def test_other_names_are_left_to_the_usual_finders(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("value = 3\n")
    (tmp_path / "json").mkdir()
    (tmp_path / "json" / "model.py").write_text("value = 4\n")
    (tmp_path / "json" / "__init__.py").touch()
    program = "import acked.__main__, mine, json.model; print(mine.value, json.model.value)"
    done = run("-c", program, cwd=tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.stdout == "3 4\n", done.stderr


def test_a_foreign_module_that_was_imported_before_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "checker.py").touch()
    program = "import sys, checker; from acked.__main__ import main; sys.exit(main())"
    done = run("-c", program, cwd=tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.returncode == 153
    assert done.stdout == ""
    assert done.stderr.startswith("acked: A module named “checker” was already imported from ")
    assert str(tmp_path / "checker.py") in done.stderr
    assert done.stderr.count("\n") == 1


def test_our_own_packages_imported_before_are_welcome(tmp_path: Path) -> None:
    program = "import model, checker; from acked import rooms; print(rooms.stranger())"
    done = run("-c", program, cwd=tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.stdout == "None\n", done.stderr


def test_a_missing_package_of_ours_is_an_error_and_never_a_stranger(tmp_path: Path) -> None:
    home, foreign = tmp_path / "home", tmp_path / "foreign"
    (home / "acked").mkdir(parents=True)
    (foreign / "model").mkdir(parents=True)
    (foreign / "model" / "__init__.py").touch()
    for name in ("__init__.py", "rooms.py"):
        (home / "acked" / name).write_text((CHECKOUT / "acked" / name).read_text())
    program = "from acked import rooms; rooms.claim(); import model"
    done = run("-c", program, cwd=foreign, PYTHONPATH=str(home))
    assert done.returncode == 1
    assert f"acked's own package “model” is missing from {home}; reinstall acked." in done.stderr


def test_claiming_twice_installs_one_finder() -> None:
    before = list(sys.meta_path)
    try:
        rooms.claim()
        rooms.claim()
        assert sys.meta_path.count(rooms.RoomFinder) == 1
    finally:
        sys.meta_path[:] = before


def test_importing_the_entry_point_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    program = (
        "import sys; before = set(sys.modules); import acked.__main__;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = run("-c", program, cwd=tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.stdout == "acked\n", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("command", [("--help",), ("list", "specs"), ("check", "kip320")], ids=" ".join)
def test_a_command_that_needs_neither_z3_nor_spark_imports_neither(tmp_path: Path, command: tuple[str, ...]) -> None:
    program = (
        "import atexit, sys\n"
        "heavy = lambda: sorted({'z3', 'pyspark'} & set(sys.modules))\n"
        "atexit.register(lambda: print('HEAVY', heavy(), file=sys.stderr))\n"
        f"sys.argv = ['acked', *{command!r}]\n"
        "from acked.__main__ import main\n"
        "sys.exit(main())\n"
    )
    done = run("-c", program, cwd=tmp_path, PYTHONPATH=str(CHECKOUT))
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "HEAVY []"
