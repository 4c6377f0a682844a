"""`acked` is the one name that is ours, from a wheel, an editable installation and a checkout, whatever else is there."""

from __future__ import annotations

import ast
import fcntl
import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType
from typing import NamedTuple, get_type_hints

import pytest

import acked
from acked.base.files import ROOMS
from tests.building import environment_with_the_wheel, shared_environment_with
from tests.kept import KEPT
from tests.places import CHECKOUT
from tests.sharing import alone

TAKEN = (*ROOMS, "specs", "tests")
"""Names of our folders that belong to whoever uses acked."""

PROTOCOL = '''\
"""Clients that ask a server for a lock."""

from acked import Constant, Id, Optional, Protocol, Struct, ask, check, field, require

clients = Constant("clients", 1, 4, "who asks for the lock")


class Client(Id, size=clients):
    """Who asks."""


class State(Struct):
    """What the server knows."""

    holder = field(Optional(Client), "who has the lock")



def initial(s: State) -> None:
    """Nobody has it."""


locks = Protocol(
    "locks", State, title="one lock", source="my own", constants=(clients,), initial=initial, symmetric=(Client,)
)


@locks.action(says=lambda t: f"client {t.client} takes the lock", actor="client")
def take(s: State, client: Client) -> None:
    require("the lock is free", s.holder.is_none)
    s.holder = client


def states() -> int:
    """How many there are."""
    return check(ask(locks, clients=2)).distinct_states
'''


class Place(NamedTuple):
    """How acked is there: the Python that finds it, and the variables with which it does."""

    python: Path
    variables: dict[str, str]


def run(place: Place, *args: str | Path, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Runs a place's Python in `cwd` with no other PYTHON… variables than its own and those given."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [place.python, *args],
        cwd=cwd,
        env=environment | place.variables | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Place]:
    """acked from a wheel, from an editable installation, and from a checkout that PYTHONPATH names."""
    return {
        "wheel": Place(environment_with_the_wheel(tmp_path_factory), {}),
        "editable": Place(shared_environment_with(tmp_path_factory, "editable", "--editable", CHECKOUT), {}),
        "checkout": Place(Path(sys.executable), {"PYTHONPATH": str(CHECKOUT / ".import")}),
    }


MYPY_CACHE = KEPT.with_name("mypy")
"""What mypy keeps between runs of the tests, for each way; it looks again at what has other bytes, or is elsewhere."""


@contextmanager
def always_at(python: Path, way: str) -> Iterator[Path]:
    """The Python of an environment by a path that is the same in every run of the tests, which go one after another."""
    link = MYPY_CACHE.with_name(f"environment-{way}")
    with alone(link.with_suffix(".lock")):
        made = link.with_suffix(f".{os.getpid()}")
        made.symlink_to(python.parents[1])
        made.rename(link)
        yield link / "bin" / python.name


WAYS = pytest.mark.parametrize("way", ["wheel", "editable", "checkout"])


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A working directory with packages and a module of our folders' names, which raise when they are imported."""
    for name in TAKEN:
        text = f"raise RuntimeError('the foreign {name} was imported')\n"
        if name == "checker":
            (tmp_path / "checker.py").write_text(text)
            continue
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(text)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "variables"), [("wheel", {}), ("editable", {}), ("checkout", {}), ("wheel", {"PYTHONSAFEPATH": "1"})]
)
def test_the_command_is_not_misled_by_modules_of_our_folders_names(
    places: dict[str, Place], foreign: Path, way: str, variables: dict[str, str]
) -> None:
    """A check finds a bundled spec and compiles, and so imports most of what there is, in processes of its own, too."""
    done = run(places[way], "-m", "acked", "check", "kip320", "-q", "-c", "replicas=2", cwd=foreign, **variables)
    assert done.returncode == 0, done.stderr
    assert "kip320" in done.stdout or "KIP-320" in done.stdout


@pytest.mark.slow
@WAYS
def test_what_belongs_to_the_user_is_what_the_user_imports(places: dict[str, Place], tmp_path: Path, way: str) -> None:
    """Also what is installed: a folder on PYTHONPATH stands for it, behind ours."""
    mine = tmp_path / "mine"
    for name in TAKEN:
        (mine / name).mkdir(parents=True)
        (mine / name / "__init__.py").write_text(f"name = 'my {name}'\n")
    path = os.pathsep.join([*places[way].variables.values(), str(mine)])
    program = f"import acked.cli, {', '.join(TAKEN)}; print(*({'.name, '.join(TAKEN)}.name), sep='; ')"
    done = run(places[way], "-c", program, cwd=tmp_path, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "; ".join(f"my {name}" for name in TAKEN)


@pytest.mark.slow
@WAYS
def test_no_other_name_of_ours_can_be_imported(places: dict[str, Place], tmp_path: Path, way: str) -> None:
    program = "import sys, importlib.util as u; print([name for name in sys.argv[1:] if u.find_spec(name)])"
    done = run(places[way], "-P", "-c", program, *TAKEN, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("way", ["wheel", "editable"])
def test_an_installation_has_one_top_name(places: dict[str, Place], tmp_path: Path, way: str) -> None:
    program = "import importlib.metadata as m, json; print(json.dumps([f.as_posix() for f in m.files('acked')]))"
    done = run(places[way], "-c", program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    files = [name for name in json.loads(done.stdout) if not name.startswith("..")]  # Scripts are elsewhere.
    tops = {name.partition("/")[0] for name in files if ".dist-info/" not in name}
    assert tops == ({"acked"} if way == "wheel" else {"_acked.pth"})


def test_what_users_call_has_types_and_their_checker_is_told_that_it_has() -> None:
    functions = {name: found for name in acked.__all__ if isinstance(found := getattr(acked, name), FunctionType)}
    assert len(functions) > 30
    for name, function in functions.items():
        assert {*inspect.signature(function).parameters, "return"} == {*function.__annotations__}, name
    assert get_type_hints(acked.check)["return"] is acked.Result
    assert get_type_hints(acked.ask)["return"] is acked.Question
    assert (CHECKOUT / "acked" / "py.typed").is_file()  # That it is in the wheel asks test_packaging.py.


@pytest.mark.landing("test_what_users_call_has_types_and_their_checker_is_told_that_it_has")
@pytest.mark.slow
@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", ["wheel", "editable", "checkout"])
def test_mypy_sees_our_types_in_a_users_protocol(places: dict[str, Place], foreign: Path, way: str) -> None:
    mistyped = PROTOCOL.replace("distinct_states", "verdict").replace("Struct, ask", "Struct, aks, ask")
    (foreign / "locks.py").write_text(PROTOCOL)
    (foreign / "wrong.py").write_text(PROTOCOL.replace("s.holder = client", "s.holder = 'nobody'"))
    (foreign / "mistyped.py").write_text(mistyped)
    # mypy's own process is that of the test environment; what it looks at is the place's. What others have, it knows.
    files, variables = ("locks.py", "wrong.py", "mistyped.py"), {"MYPYPATH": places[way].variables.get("PYTHONPATH", "")}
    with always_at(places[way].python, way) as python:
        asked = ["-m", "mypy", "--strict", "--python-executable", python, "--cache-dir", MYPY_CACHE / way]
        done = run(Place(Path(sys.executable), {}), *asked, *files, cwd=foreign, **variables)
    assert done.returncode == 1, done.stderr
    found = done.stdout.splitlines()
    assert [line for line in found if line.startswith("wrong.py") and "Incompatible types in assignment" in line]
    assert [line for line in found if 'Incompatible return value type (got "Verdict", expected "int")' in line]
    assert [line for line in found if line.startswith("mistyped.py") and 'Module "acked" has no attribute "aks"' in line]
    assert [line for line in found if not line.startswith(("wrong.py", "mistyped.py", "Found 3 errors in 2 files"))] == []


def test_another_run_waits_until_mypy_has_looked_at_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{__name__}.MYPY_CACHE", tmp_path / "mypy")
    with always_at(Path(sys.executable), "wheel") as python:
        assert python.samefile(Path(sys.prefix, "bin", python.name))
        with open(tmp_path / "environment-wheel.lock", encoding="utf-8") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_importing_the_entry_point_imports_nothing_but_the_standard_library(tmp_path: Path) -> None:
    program = (
        "import sys; before = set(sys.modules); import acked.__main__;"
        "print(*sorted({name.partition('.')[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))"
    )
    done = run(Place(Path(sys.executable), {}), "-c", program, cwd=tmp_path)
    assert done.stdout == "acked\n", done.stderr


HEAVY = ("jinja2", "llvmlite", "networkx", "numpy", "pyarrow", "pyspark", "rich", "scipy", "tomlkit", "z3")
"""Packages that take long to import."""


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "--version", "--help", "check --help", "list specs", "check kip320 -q", "check kip320 -q --format json",
        "check truncate-to-hw -q",
    ],
)  # fmt: skip
def test_a_command_that_was_asked_before_imports_nothing_that_is_heavy(tmp_path: Path, command: str) -> None:
    program = (
        "import atexit, sys\n"
        f"atexit.register(lambda: print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)), file=sys.stderr))\n"
        f"sys.argv = ['acked', *{command.split()!r}]\n"
        "from acked.__main__ import main\n"
        "sys.exit(main())\n"
    )
    (tmp_path / "cache").mkdir(mode=0o700)
    place = Place(Path(sys.executable), {"ACKED_CACHE_DIR": str(tmp_path / "cache")})
    first, again = (run(place, "-c", program, cwd=tmp_path) for _ in range(2))
    assert first.returncode == again.returncode in (0, 12), again.stderr
    assert set(ast.literal_eval(first.stderr.splitlines()[-1].removeprefix("HEAVY "))) <= {"llvmlite"}
    assert again.stderr.splitlines()[-1] == "HEAVY []"
