"""The tests fail when an action is deleted, an invariant is emptied or a count is off by one: it is done to a copy.

Faults made in the text of a copied checkout, and the small reference tests run on it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from acked.base.files import ROOMS
from tests.places import CHECKOUT

pytestmark = pytest.mark.slow

COPIED = (*ROOMS, "acked", "specs", "tests/data", "tests/specs")
SELECTION = "kip320-2111 or kip320-2221 or truncate-to-hw-2221 or elect-outside-isr or lead-by-old-request"
"""Reference counts, known verdicts and bundled specs that take a fraction of a second each."""


@dataclass(frozen=True)
class Fault:
    """A text to be replaced, exactly once, in a file of the copy."""

    what: str
    file: str
    old: str
    new: str


def emptied(function: str) -> Fault:
    """The invariant's body is replaced by what always holds."""
    return Fault(
        f"{function} emptied",
        "invariants/replication/properties.py",
        rf"(def {function}\(.*?\) -> Bool:\n    \"\"\".*?\"\"\"\n)",
        r"\1    return every(Replica, lambda r: r == r)\n",
    )


FAULTS = [
    Fault("action deleted", "model/replication/kip320.py", r"@kip320\.action\(says=says_expand[^\n]*\n", ""),
    Fault("shared action deleted", "model/replication/common.py", r"(CONTROL_AND_WRITE = \(.*?), leader_write\)", r"\1)"),
    Fault("guard deleted", "model/replication/kip320.py", r'    require\("HW in this epoch".*?\n', ""),
    Fault("update deleted", "model/replication/common.py", r"    s\.replica\[replica\]\.isr = .*?\n", ""),
    Fault("< becomes <=", "model/replication/common.py", r"(leader_epoch) < (epoch\n)", r"\1 <= \2"),
    Fault("another < becomes <=", "model/replication/common.py", r"(next_record_id) < (max_records)", r"\1 <= \2"),
    emptied("weak_isr"),
    emptied("strong_isr"),
    emptied("leader_in_isr"),
    Fault(
        "step property emptied",
        "invariants/replication/properties.py",
        r"(def leader_epochs_only_grow\(.*?\) -> Bool:\n    \"\"\".*?\"\"\"\n)",
        r"\1    return every(Replica, lambda r: r == r)\n",
    ),
    Fault("pinned count off by one", "specs/counts/kip320-2221.toml", r"distinct_states = 957", "distinct_states = 956"),
    Fault("reference count off by one", "tests/data/state_counts.json", r'("distinct_states": 95)7', r"\g<1>8"),
    Fault("comparison of bits flipped", "checker/native/bits.py", r"        less = NO\n", r"        less = NO ^ 1\n"),
    Fault(
        "successors are lost",
        "checker/loops/expansion.py",
        r"(    m = fire_all\(context, here, n\)\n)",
        r"\1    m = m - m // 16\n",
    ),
    Fault("level's count off by one", "checker/question/ledger.py", r"(\.sizes, report\.states)\)", r"\1 + 1)"),
    Fault("levels off by one", "checker/question/ledger.py", r"(return len\(self\._counts\.sizes\))", r"\1 + 1"),
]


def copy_of_the_checkout(target: Path) -> Path:
    """The packages with their bytecode, which is taken for what nothing has changed, and the tests that are run on it."""
    for name in COPIED:
        shutil.copytree(CHECKOUT / name, target / name, symlinks=True)
    (target / "tests/checker").mkdir()
    for name in ("pyproject.toml", "tests/places.py", "tests/shipped.py", "tests/checker/toys.py"):
        shutil.copy(CHECKOUT / name, target / name)
    return target


def inject(fault: Fault, copy: Path) -> None:
    path = copy / fault.file
    text, count = re.subn(fault.old, fault.new, path.read_text("utf-8"), flags=re.DOTALL)
    assert count == 1, f"{fault.file} no longer holds {fault.old!r} once; write the fault anew"
    path.write_text(text, "utf-8")


def run_tests(copy: Path) -> subprocess.CompletedProcess[str]:
    """The selected reference tests, run on the packages of the copy."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PYTHON"))}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", "-k", SELECTION, "tests/specs/test_reference.py"],
        cwd=copy,
        env=kept | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(copy)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_a_copy_without_a_fault_passes_and_runs_its_own_packages(tmp_path: Path) -> None:
    copy = copy_of_the_checkout(tmp_path)
    probe = "import acked.checker, acked.model as model; print(acked.__file__, acked.checker.__file__, model.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    found = subprocess.run([sys.executable, "-c", probe], cwd=copy, env=environment, capture_output=True, text=True)
    assert [str(copy) in path for path in found.stdout.split()] == [True] * 3, found.stdout + found.stderr
    done = run_tests(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= 20


def cases() -> list[Any]:
    """Every sixth fault in `make test`; the others, which are of the same kinds, in `make test-long`."""
    marks = [() if at % 6 == 0 else pytest.mark.long for at in range(len(FAULTS))]
    named = [(fault, fault.what.replace(" ", "-")) for fault in FAULTS]
    return [pytest.param(fault, id=name, marks=mark) for (fault, name), mark in zip(named, marks, strict=True)]


@pytest.mark.parametrize("fault", cases())
def test_a_fault_in_the_text_of_the_copy_turns_the_tests_red(fault: Fault, tmp_path: Path) -> None:
    copy = copy_of_the_checkout(tmp_path)
    inject(fault, copy)
    done = run_tests(copy)
    # 1 is a failed test; 2 would be a copy that cannot even be imported, which shows nothing.
    assert done.returncode == 1, done.stdout + done.stderr
    assert re.search(r"1 failed", done.stdout), done.stdout
