"""Protocols in the language mean what their plain Python twins mean: states, levels, verdicts, traces, orbits, proofs.

Which protocols are drawn, how often each trap was met, and the misreadings of the past, which the comparison must catch. The
other oracle, `tests/oracle.py`, evaluates the language's own expressions and so cannot see what types, views and predicates
make of a source; this one shares nothing with them.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from acked.base.files import ROOMS
from acked.checker.predicate import parse as predicate
from acked.checker.predicate import values as predicate_values
from acked.checker.question import question
from acked.checker.symmetry import check as symmetry
from acked.model.language import protocol, sets, values
from acked.model.language.domain import Range
from acked.model.language.quantify import ite
from acked.model.language.sets import SetValue
from acked.model.language.state import Struct
from acked.model.language.storage import composites
from acked.model.language.values import OptionalValue
from tests.language import drawing, expressions, plain, predicates, spaces, statements
from tests.language.comparison import compared
from tests.language.plain import Trap
from tests.sharing import own_cache

Record = Callable[[str, object], None]


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Kernels of random protocols are worth nothing to later runs: they are not left in the user's cache."""
    with own_cache(tmp_path_factory) as place:
        yield place


SEEDS = (*(seed for seed in range(20) if seed not in (5, 6, 13, 16)), 34, 46)  # Those take half the time of all.
"""Seeds of protocols that together meet every trap."""


def compare_all(seeds: Sequence[int], folder: Path, record_property: Record) -> Counter[Trap]:
    """Every seed; how many met each trap goes to the terminal's summary."""
    drawn: Counter[Trap] = Counter()
    for seed in seeds:
        drawn.update(compared(seed, folder / str(seed), with_solvers=seed % 12 == 1))
    record_property("traps", {trap.value: drawn[trap] for trap in Trap})
    record_property("protocols", len(seeds))
    return drawn


@pytest.mark.slow
def test_random_protocols_mean_what_their_plain_twins_mean(tmp_path: Path, record_property: Record) -> None:
    drawn = compare_all(SEEDS, tmp_path, record_property)
    assert [trap.value for trap in Trap if not drawn[trap]] == []


@pytest.mark.long
@pytest.mark.parametrize("batch", range(10))
def test_a_thousand_random_protocols_mean_what_their_plain_twins_mean(
    batch: int, tmp_path: Path, record_property: Record
) -> None:
    drawn = compare_all(range(1000 + 100 * batch, 1100 + 100 * batch), tmp_path, record_property)
    assert [trap.value for trap in Trap if not drawn[trap]] == []


# -- faults on purpose -------------------------------------------------------------------------------------------------

Patch = Callable[[pytest.MonkeyPatch], None]


def a_range_without_numbers_has_one(patch: pytest.MonkeyPatch) -> None:
    cardinality = Range.cardinality
    patch.setattr(Range, "cardinality", lambda self, constants: max(cardinality(self, constants), 1))


def one_below_the_least_number_is_none(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(values, "_unless_below", lambda number, bound, shift, otherwise: otherwise)


def assignments_past_a_logs_end_are_kept(patch: pytest.MonkeyPatch) -> None:
    at = Struct.at.__func__  # type: ignore[attr-defined]
    anywhere = classmethod(lambda cls, store, path, holder=None, within=None: at(cls, store, path, holder))
    patch.setattr(Struct, "at", anywhere)


def a_struct_in_a_variable_is_read_as_it_is_now(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Struct, "_may_be_stale", False)


def fields_are_told_apart_by_their_codes_alone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "meanings", lambda state, constants: [])
    for module in (symmetry, question):
        patch.setattr(module, "signature", lambda instance, sort: sort.__name__)


def a_slot_without_a_record_holds_id_0(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(composites, "slot_domain", lambda held: held)


def a_record_past_the_end_is_blank_in_predicates(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(predicate_values.Fields, "_past_the_end", lambda self, path: self._pool.false)


def predicates_are_put_in_parentheses(patch: pytest.MonkeyPatch) -> None:
    parse = ast.parse

    def in_parentheses(text: str, name: str = "", mode: str = "exec") -> ast.AST:
        return parse(f"({text}\n)" if mode == "eval" else text, mode=mode)

    patch.setattr(predicate.ast, "parse", in_parentheses)


def none_is_a_member_of_any_set(patch: pytest.MonkeyPatch) -> None:
    bit = SetValue._bit
    none_too = lambda self, who: bit(self, ite(who.is_none, 0, who.value) if isinstance(who, OptionalValue) else who)  # noqa: E731
    patch.setattr(SetValue, "_bit", none_too)


def a_constant_may_hide_a_field(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(protocol, "LeafDomain", ())


def sets_may_be_dropped(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(sets, "must_be_used", lambda method, caller: None)


SEARCHED: dict[Patch, int] = {
    a_range_without_numbers_has_one: 4,
    one_below_the_least_number_is_none: 20,
    assignments_past_a_logs_end_are_kept: 27,
    a_struct_in_a_variable_is_read_as_it_is_now: 2,
    fields_are_told_apart_by_their_codes_alone: 6,
    a_slot_without_a_record_holds_id_0: 5,
    a_record_past_the_end_is_blank_in_predicates: 29,
    none_is_a_member_of_any_set: 13,
}
"""Misreadings of the past that gave wrong answers, each with a seed whose protocol shows it."""

REFUSED: dict[Patch, int] = {predicates_are_put_in_parentheses: 0, a_constant_may_hide_a_field: 0, sets_may_be_dropped: 2}
"""Those that are refused now."""


@pytest.mark.sampled(4)
@pytest.mark.slow
@pytest.mark.parametrize("fault", [*SEARCHED, *REFUSED], ids=lambda fault: fault.__name__)
def test_a_misreading_of_the_past_is_caught_by_the_comparison(
    fault: Patch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "kernels"))
    fault(monkeypatch)
    seed, is_refusal = {**SEARCHED, **REFUSED}[fault], fault in REFUSED
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        compared(seed, tmp_path, with_refusals=is_refusal)


@pytest.mark.parametrize("module", [plain, spaces, drawing, expressions, statements, predicates])
def test_the_twins_know_nothing_of_the_language(module: object) -> None:
    tree = ast.parse(inspect.getsource(module))  # type: ignore[arg-type]
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [item.name for node in ast.walk(tree) if isinstance(node, ast.Import) for item in node.names]
    assert [name for name in names if name.partition(".")[0] in (*ROOMS, "acked")] == []
