"""The acceptance test: state counts and verdicts that TLC gave for the public TLA+ family, and every bundled spec.

Reference numbers that acked did not produce (`tests/data/state_counts.json` and the table below). That every spec meets its
expectation `acked gate specs/` says, with which `make test` ends.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from acked.checker.native.compile import compile_optimized
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search.local import Bounds, search
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import file_and_variant, name_of, specs_under
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import FAMILY, PROTOCOLS
from tests.checker.toys import answer
from tests.places import CHECKOUT
from tests.shipped import shipped

SPECS = CHECKOUT / "specs"
PATHS = specs_under(SPECS)
ROWS: list[dict[str, Any]] = json.loads((CHECKOUT / "tests" / "data" / "state_counts.json").read_text("utf-8"))
CONSTANTS = ("replicas", "log_size", "max_records", "max_leader_epoch")
SIZES = [(2, 1, 1, 1), (2, 2, 2, 1), (2, 2, 2, 2), (3, 1, 1, 1), (3, 2, 2, 1), (3, 2, 2, 2)]
MEMORY = 2 << 30

KNOWN_ANSWERS: list[tuple[str, tuple[int, int, int, int], str, int | None]] = [
    # variant, (replicas, log_size, max_records, max_leader_epoch), invariant, states in TLC's trace or None if it holds
    ("truncate-to-hw", (2, 2, 2, 1), "WeakIsr", 9),
    ("truncate-to-hw", (2, 2, 2, 1), "StrongIsr", 10),
    ("truncate-to-hw", (3, 2, 2, 1), "WeakIsr", 9),
    ("truncate-to-hw", (3, 2, 2, 1), "StrongIsr", 9),
    ("truncate-to-hw", (3, 2, 2, 2), "WeakIsr", 9),
    ("truncate-to-hw", (3, 2, 2, 2), "StrongIsr", 9),
    ("kip101", (2, 2, 2, 1), "WeakIsr", None),
    ("kip101", (2, 2, 2, 1), "StrongIsr", None),
    ("kip101", (3, 2, 2, 1), "WeakIsr", None),
    ("kip101", (3, 2, 2, 1), "StrongIsr", 12),
    ("kip101", (3, 2, 2, 2), "WeakIsr", 11),
    ("kip101", (3, 2, 2, 2), "StrongIsr", 11),
    ("kip279", (2, 2, 2, 2), "WeakIsr", None),
    ("kip279", (2, 2, 2, 2), "StrongIsr", None),
    ("kip279", (3, 2, 2, 1), "WeakIsr", None),
    ("kip279", (3, 2, 2, 1), "StrongIsr", 12),
    ("kip279", (3, 2, 2, 2), "WeakIsr", 11),
    ("kip279", (3, 2, 2, 2), "StrongIsr", 11),
    *(("kip320", size, name, None) for size in SIZES for name in ("WeakIsr", "StrongIsr")),
]


def size_of(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in CONSTANTS)


@pytest.fixture(scope="module")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place for compiled code that other tests neither fill nor use."""
    return tmp_path_factory.mktemp("kernels")


def short(protocol: str, size: tuple[int, ...]) -> str:
    return f"{protocol}-{''.join(map(str, size))}"


def row_id(row: dict[str, Any]) -> str:
    return short(row["protocol"], size_of(row))


def question(protocol: str, size: tuple[int, ...], *names: str) -> Question:
    """The question of so many properties, or of all if none is named."""
    known = PROTOCOLS[protocol]
    every = {**properties_of(known), DEADLOCK.name: DEADLOCK}
    instance = known.instantiate(dict(zip(CONSTANTS, size, strict=True)))
    return Question(instance, tuple(every[name] for name in names or every))


# -- state counts ------------------------------------------------------------------------------------------------------


def test_the_reference_has_six_sizes_of_each_of_the_five_variants() -> None:
    assert [(row["protocol"], size_of(row)) for row in ROWS] == [
        (protocol, size) for protocol in FAMILY for size in SIZES
    ]


@pytest.mark.parametrize("row", ROWS, ids=row_id)
def test_every_reference_count_is_pinned_by_a_spec_with_exactly_its_constants(row: dict[str, Any]) -> None:
    spec = load_spec(SPECS / "counts" / f"{row_id(row)}.toml")
    assert spec.protocol is PROTOCOLS[row["protocol"]]
    assert spec.constants == {name: row[name] for name in CONSTANTS}
    assert [item.name for item in spec.properties] == ["LeaderInIsr", "HwWithinLog"]
    assert spec.drop == frozenset()
    assert spec.expect is not None
    assert (spec.expect.verdict, spec.expect.distinct_states, spec.expect.depth) == (
        Verdict.HOLDS,
        row["distinct_states"],
        row["depth"],
    )


def test_the_folder_of_counts_holds_nothing_but_the_reference() -> None:
    held = sorted(path.stem for path in (SPECS / "counts").iterdir())
    assert held == sorted(map(row_id, ROWS)), "counts that acked alone found are expected by a spec of specs/ itself"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row_id(row), marks=[pytest.mark.slow] * (row["distinct_states"] > 1_000_000)) for row in ROWS],
)
def test_the_native_search_meets_every_reference_count_on_one_and_on_two_workers(row: dict[str, Any]) -> None:
    asked = question(row["protocol"], size_of(row), "LeaderInIsr", "HwWithinLog")
    results = [search(asked, Bounds(workers, MEMORY)) for workers in (1, 2)]
    for result in results:
        assert (result.verdict, result.distinct_states, result.depth) == (
            Verdict.HOLDS,
            row["distinct_states"],
            row["depth"],
        )
        assert result.never_fired == []
    assert answer(results[0]) == answer(results[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=row_id(row), marks=[] if row["protocol"] == "kip320" else pytest.mark.long)
        for row in ROWS
        if size_of(row) == SIZES[-1]
    ],
)
def test_the_code_for_long_searches_meets_the_reference_counts(
    row: dict[str, Any], own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the largest constants: those of the smaller ones are the same actions, fewer times.

    The variants before the last differ from it in how a follower truncates; to optimize each takes longest.
    """
    monkeypatch.setenv("ACKED_CACHE_DIR", str(own_cache))
    asked = question(row["protocol"], size_of(row), "LeaderInIsr", "HwWithinLog")
    expected = answer(search(asked, Bounds(2, MEMORY)))
    assert compile_optimized(asked.plan).is_optimized
    assert list(own_cache.glob("*-0-0.o"))
    result = search(asked, Bounds(2, MEMORY))
    assert (result.distinct_states, result.depth) == (row["distinct_states"], row["depth"])
    assert answer(result) == expected


@pytest.mark.landing("test_the_native_search_meets_every_reference_count_on_one_and_on_two_workers")
@pytest.mark.slow
@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_kip320_with_four_epochs_generates_what_tlc_generates(workers: int) -> None:
    """The one spec that calls itself slow, which the gate passes over; that one worker finds what two find is held above."""
    spec = load_spec(SPECS / "kip320-large.toml")
    assert (spec.slow, spec.constants) == (True, dict(zip(CONSTANTS, (3, 2, 2, 3), strict=True)))
    result = search(spec.question(), Bounds(workers, MEMORY), spec.policy)
    assert spec.expect is not None
    assert spec.expect.differences(result) == []
    assert result.verdict is Verdict.HOLDS
    assert result.generated_states == 26_629_363
    assert (result.distinct_states, result.depth) == (9_985_570, 32)


# -- known verdicts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "size", "name", "length"),
    KNOWN_ANSWERS,
    ids=[f"{short(protocol, size)}-{name}" for protocol, size, name, _ in KNOWN_ANSWERS],
)
def test_every_known_verdict_and_trace_length_is_met_on_one_and_on_two_workers(
    protocol: str, size: tuple[int, ...], name: str, length: int | None
) -> None:
    asked = question(protocol, size, name)
    results = [search(asked, Bounds(workers, MEMORY)) for workers in (1, 2)]
    for result in results:
        if length is None:
            assert (result.verdict, result.stopped, result.violations) == (Verdict.HOLDS, StopReason.COMPLETE, ())
        else:
            assert result.verdict is Verdict.VIOLATED
            assert [(item.property.name, item.trace_length) for item in result.violations] == [(name, length)]
            assert result.depth == length
    assert answer(results[0]) == answer(results[1])


# -- bundled specs -----------------------------------------------------------------------------------------------------


def raw(path: Path) -> dict[str, Any]:
    """The file of a spec as TOML; a spec that acked refuses must fail its own test, not the collection of all."""
    return tomllib.loads(file_and_variant(path)[0].read_text("utf-8"))


@pytest.mark.parametrize("path", PATHS, ids=name_of)
def test_every_bundled_spec_says_what_it_expects(path: Path) -> None:
    spec = load_spec(path)
    assert spec.expect is not None, "a spec without an expectation cannot fail"
    assert spec.expect.verdict is not Verdict.INCOMPLETE or spec.expect.budget
    if spec.expect.verdict is Verdict.VIOLATED:
        assert spec.expect.violates
        assert spec.expect.trace_length is not None


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in specs_under(SPECS / "controls") if raw(path)["protocol"] in FAMILY], ids=name_of
)
def test_every_control_of_the_family_meets_its_expectation_on_two_workers(path: Path) -> None:
    """The other specs are asked by `acked gate specs/`, with which `make test` ends, and the family's questions above."""
    spec = load_spec(path)
    assert spec.expect is not None
    result = search(spec.question(), Bounds(2, MEMORY), spec.policy)
    assert spec.expect.differences(result) == []


def test_the_names_of_bundled_specs_are_unique() -> None:
    assert [name for name, count in Counter(map(name_of, PATHS)).items() if count > 1] == []


@pytest.mark.slow
def test_the_titles_of_bundled_specs_are_unique() -> None:
    titles = Counter(spec.title for spec in shipped())
    assert [title for title, count in titles.items() if count > 1] == []


# -- one answer, however many workers ----------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.slow
@pytest.mark.parametrize("policy", list(StopPolicy), ids=lambda policy: policy.name.lower())
@pytest.mark.parametrize(
    ("protocol", "size"),
    [
        ("truncate-to-hw", (2, 2, 2, 2)),
        ("kip101", (3, 2, 2, 1)),
        ("kip320", (2, 2, 2, 2)),
        # Other rules, and more states, in which workers meet no otherwise.
        pytest.param("truncate-to-hw", (3, 2, 2, 1), marks=pytest.mark.long),
        pytest.param("kip279", (3, 2, 2, 2), marks=pytest.mark.long),
        pytest.param("kip320-first-try", (3, 2, 2, 1), marks=pytest.mark.long),
    ],
    ids=lambda value: value if isinstance(value, str) else "".join(map(str, value)),
)
def test_one_two_three_and_five_workers_give_the_same_answer(
    protocol: str, size: tuple[int, ...], policy: StopPolicy
) -> None:
    asked = question(protocol, size)
    answers = [answer(search(asked, Bounds(workers, MEMORY), policy)) for workers in (1, 2, 3, 5)]
    assert answers[0]["violations"], "bounded constants deadlock at the latest"
    assert answers[1:] == answers[:1] * 3


def headlines_with_a_trace() -> list[Path]:
    return [path for path in sorted(SPECS.glob("*.toml")) if raw(path)["expect"]["verdict"] == "violated"]


@pytest.mark.parametrize("path", headlines_with_a_trace(), ids=lambda path: path.stem)
def test_the_trace_of_a_headline_spec_is_the_same_on_any_number_of_workers(path: Path) -> None:
    spec = load_spec(path)
    asked = spec.question()
    answers = [answer(search(asked, Bounds(workers, MEMORY), spec.policy)) for workers in (1, 2, 3, 5)]
    assert answers[0]["violations"]
    assert answers[1:] == answers[:1] * 3


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("bound", [566, 600, 720])
def test_a_bound_met_in_the_violating_level_does_not_hide_the_violation(workers: int, bound: int) -> None:
    question = load_spec(SPECS / "truncate-to-hw.toml").question()
    result = search(question, Bounds(workers, max_states=bound))
    assert (result.verdict, result.distinct_states, result.depth) == (Verdict.VIOLATED, 565, 9)


@pytest.mark.slow
def test_memory_that_runs_out_in_the_violating_level_does_not_hide_the_violation() -> None:
    question = load_spec(SPECS / "kip279.toml").question()
    free = search(question, Bounds(1))
    seen = set()
    for memory in range(600_000, 9_000_000, 400_000):
        result = search(question, Bounds(1, memory=memory))
        seen.add(result.stopped)
        if result.depth == free.depth:
            assert result.violations == free.violations or result.violations[0].run == free.violations[0].run
            assert result.distinct_states == free.distinct_states
        else:
            assert (result.verdict, result.stopped) == (Verdict.INCOMPLETE, StopReason.MEMORY)
    assert seen == {StopReason.MEMORY, StopReason.VIOLATION}
