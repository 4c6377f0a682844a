"""The documentation's examples are run: what README and docs/ show is what the command does.

How console blocks are read is told in `tools/examples.py`, which also records their output anew.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import TINY
from tests.forked import seconds_of_forked
from tests.places import CHECKOUT
from tools.examples import NOT_RUN, SCRIPTS, Example, agrees, answers, examples, pages, recorded, rewritten, run

SPARK = re.compile(r"^\$ acked (query|.*--(engine spark|master))", re.MULTILINE)


COPY = "test_working_copy.py: a copy answers as the original"
SELDOM = {
    # A search of six million states, which the gate makes, too.
    "acked check partition --quiet":
        "specs/partition.toml: the gate compares verdict and count",
    # Many searches, and one of large constants: what they answer is held, and how it is told.
    "acked audit matrix --kafka-version 2.8.1,4.1 --acks 1,all --min-isr 2-3 --replicas 2 --unclean off --quiet":
        "test_audit.py: the matrix is written as page, CSV and Parquet; test_durability.py: its answers",
    "acked simulate truncate-to-hw -c replicas=5 -c log_size=4 -c max_records=4 -c max_leader_epoch=4 --seed 1 "
    "| grep -A5 violated:": "test_simulate.py: every random choice is as the seed says",
    # The page's queries, of which the second needs a Spark of its own.
    'acked states query kip320 -c replicas=2 -q "SELECT quorum.leader, count(*) AS states FROM states '
    'WHERE size(quorum.isr) = 1 GROUP BY 1 ORDER BY 1"':
        "test_data.py: a query of a dataset prints a table, and one of a spec writes a file; the next one shows it",
    'acked states query states -q "SELECT size(a.log[t.arguments.replica]) - size(b.log[t.arguments.replica]) AS dropped, '
    "count(*) AS times \\\nFROM transitions t JOIN states a ON a.id = t.source JOIN states b ON b.id = t.target \\\n"
    "WHERE t.action = 'FencedBecomeFollowerAndTruncate' GROUP BY 1 ORDER BY 1\"":
        "test_executors.py: the join that the page shows has the rows that it shows",
    # A copy of partition is checked before and after a rule of it is changed: what it answers after the change is enough.
    "acked check my_partition.toml -c log_size=1 --quiet | grep 'holds:'": COPY,
    "acked check my_partition.toml -c log_size=1 -c records=1 -c crashes=lossy -c lossy_crashes=1 --quiet | grep 'violated:'":
        COPY,
    "acked check my_partition.toml -c log_size=1 -c records=1 -c crashes=lossy --quiet | grep 'holds:'": COPY,
    "acked check my_partition.toml -c log_size=1 -c records=1 -c crashes=lossy -c lossy_crashes=1 --quiet | grep 'holds:'":
        COPY,
    "acked check my_partition.toml -c replicas=2 -c log_size=1 -c records=1 -c reassignment=true -c assigned=2 -c moves=2 "
    "--quiet | grep 'holds:'": COPY,
    "acked check my_partition.toml -c replicas=2 -c log_size=1 -c records=1 -c reassignment=true -c assigned=2 -c moves=2 "
    "--quiet | grep 'violated:'": COPY,
    # What the command says of the disk, of a search of 700,000 states.
    "acked check kip320 --memory 2MB --disk run | grep '^note'":
        "test_disk.py: it says from where on states were on disk",
    # Proofs, each of which is held by tests of its own.
    "acked prove induction stale-ends-latest -c crashes=clean -c zombies=true -c replicas=2 --quiet":
        "test_partition_proof.py: the latest release keeps its promises in runs of any length",
    "acked prove induction kip966-latest -c replicas=2 --quiet":
        "test_one_machine.py: the steps that a lemma is there for are inductive with it",
    "acked prove all-constants acks-all-min-2-clean --kafka-version latest -c reassignment=true":
        "test_partition_all_constants.py: a sample of obligations where the partition is moved",
    "acked prove all-constants two_phase_commit-holds --quiet":
        "test_own_protocols.py: an example is proved for any sizes",
    "acked prove kip320 --without LeaderFirst -c replicas=2 -c log_size=1 -c max_records=1 --quiet":
        "test_induction.py: without a needed lemma the proof fails; test_prove.py: it shows what breaks what",
    "acked prove all-constants kip320 --quiet":
        "test_allconstants.py: KIP-320 holds for all constants",
    "acked prove kip320 --quiet":
        "test_induction.py: KIP-320 keeps its promises in runs of any length",
    "acked prove suggest kip320 -c replicas=2 --without IsrHasLeader --quiet":
        "test_suggest.py: a lemma of KIP-320 that is left out is proposed again",
}
"""Examples that `make test-long` runs, with all others, and `make test` leaves out; by the command, what holds it there."""


def documents() -> list[Any]:
    """The pages with examples; those that start Spark are marked."""
    found = []
    for path in pages():
        text = path.read_text("utf-8")
        if any(example.command not in SELDOM for example in examples(text)):
            found.append(pytest.param(path, marks=[pytest.mark.spark] * bool(SPARK.search(text)), id=path.name))
    return found


@pytest.fixture
def scripts(commands: Path) -> str:
    """Where `acked` is found."""
    return str(commands)


@pytest.mark.slow
@pytest.mark.parametrize("document", documents())
def test_the_examples_of_a_page_do_what_it_shows(document: Path, tmp_path: Path, scripts: str) -> None:
    assert_as_shown(document, tmp_path, SELDOM.keys(), scripts)


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("document", [page for page in pages() if list(examples(page.read_text("utf-8")))])
def test_with_what_takes_long_and_the_command_as_it_is_installed_they_do_so_too(document: Path, tmp_path: Path) -> None:
    assert_as_shown(document, tmp_path)


def test_what_is_seldom_run_is_there() -> None:
    assert set(SELDOM) <= {item.command for page in pages() for item in examples(page.read_text("utf-8"))}


def assert_as_shown(document: Path, folder: Path, leave_out: Collection[str] = (), scripts: str = SCRIPTS) -> None:
    """Every command of a page but those that are left out puts out what the page shows."""
    for example, code, output in answers(document.read_text("utf-8"), folder, leave_out, scripts):
        if not agrees(example.expected, output):
            difference = "\n".join(difflib.ndiff(example.expected, output.splitlines()))
            place = f"{document.relative_to(CHECKOUT)}:{example.line}"
            hint = f"as intended? python tools/examples.py --write {document.relative_to(CHECKOUT)}"
            pytest.fail(f"{place}: $ {example.command}\n(exit code {code})\n{difference}\n{hint}", pytrace=False)


def test_commands_and_outputs_are_told_apart() -> None:
    text = "# T\n\n```console\n$ one \\\n>   two\nout\n\n$ three\n```\n\n```sh\n$ ignored\n```\n"
    assert list(examples(text)) == [
        Example(4, "one \\\n  two", ("out", ""), "", 5),
        Example(8, "three", (), "", 8),
    ]


def test_a_block_below_the_mark_is_not_run() -> None:
    text = f"{NOT_RUN}\n```console\n$ one\n```\n\n```console\n$ two\n```\n"
    assert [example.command for example in examples(text)] == ["two"]


def test_an_indented_block_is_read_without_its_indent() -> None:
    assert list(examples("1. x\n\n   ```console\n   $ one\n     out\n   ```\n")) == [Example(4, "one", ("  out",), "   ", 4)]


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ((), ""),
        (("a",), "a\n"),
        (("a …s",), "a 0.31 s\n"),
        (("a", "…", "b"), "a\nb\n"),
        (("a", "…", "b"), "a\nx\n\ny\nb\n"),
        (("…",), ""),
        (("a", ""), "a  \n\n\n"),
        (("(1+1)* …",), "(1+1)* 2"),
    ],
)
def test_output_as_shown_agrees(expected: tuple[str, ...], actual: str) -> None:
    assert agrees(expected, actual)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [((), "a\n"), (("a",), ""), (("a",), "a\nb\n"), (("a…b",), "a\nb\n"), (("a", "…"), "b\n"), (("1.1",), "101\n")],
)
def test_output_unlike_the_one_shown_does_not_agree(expected: tuple[str, ...], actual: str) -> None:
    assert not agrees(expected, actual)


@pytest.mark.slow
def test_what_is_forked_has_the_folder_the_variables_and_the_streams_of_its_caller(scripts: str, tmp_path: Path) -> None:
    assert run("command -v acked", tmp_path, 0, scripts) == (0, f"{scripts}/acked\n")
    before = seconds_of_forked()
    assert run("acked --version", tmp_path, 0, scripts) == run("acked --version", tmp_path, 0)
    assert before < seconds_of_forked() < before + 5, "what it took is counted"
    code, said = run("acked check mine.toml 2> said; code=$?; cat said; exit $code", tmp_path, 0, scripts)
    assert (code, said) == run("acked check mine.toml", tmp_path, 0)
    assert code == 150
    (tmp_path / "mine.toml").write_text(TINY, "utf-8")
    piped = "acked check mine.toml -q | grep -c 277; cat <(COLUMNS=60 acked check --help) <(acked --help) | wc"
    assert run(piped, tmp_path, 0, scripts) == run(piped, tmp_path, 0)


def test_the_exit_code_before_and_the_acked_of_this_environment_are_at_hand(tmp_path: Path) -> None:
    assert run("echo $?", tmp_path, 12) == (0, "12\n")
    assert run("command -v acked", tmp_path, 0) == (0, str(Path(SCRIPTS) / "acked") + "\n")


@pytest.mark.parametrize(
    ("expected", "actual", "new"),
    [
        (("a 3 s",), "a 4 s\n", ["a 4 s"]),
        (("head", "…", "in 9 states"), "head\nx\ny\nin 8 steps\n", ["head", "…", "in 8 steps"]),
        (("found 9 states in … s",), "found 8 steps in 0.3 s\n", ["found 8 steps in … s"]),
        (("…", "the last line"), "x\nthe very last line\n", ["…", "the very last line"]),
        (("one", "two"), "one\nmore\ntwo\n", ["one", "more", "two"]),
        ((), "new\n", ["new"]),
        (("as before …",), "as before 1\n", ["as before …"]),
    ],
)
def test_output_is_recorded_anew_and_gaps_stay_gaps(expected: tuple[str, ...], actual: str, new: list[str]) -> None:
    assert recorded(expected, actual) == new
    assert agrees(new, actual)


def test_a_page_is_rewritten_in_place_where_its_output_differs(tmp_path: Path) -> None:
    text = "1. x\n\n   ```console\n   $ echo one\n   $ printf 'two\\nthree\\n'\n   2\n   three\n   ```\n\nend\n"
    new, changed = rewritten(text, tmp_path)
    assert new == text.replace("$ echo one\n", "$ echo one\n   one\n").replace("   2\n", "   two\n")
    assert [example.line for example in changed] == [4, 5]
