"""The comparison of a drawn protocol with its plain Python twin, engine by engine.

`compared`, which holds one seed's protocol against its twin in every way.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.processes import Limits
from acked.checker.proof.bmc import Bound, check_bounded
from acked.checker.proof.induction import prove_by_induction
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.overflow import Overflow
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Run, StopReason, Verdict
from acked.checker.question.user_properties import reach_lengths
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.model.formulas.errors import DomainOverflow
from tests.language.drawing import Case, case_of, cases
from tests.language.plain import Trap
from tests.language.spaces import Space, key_of

MEMORY = 1 << 28
LIMITS = Limits(jobs=1, timeout=600.0)
OUTSIDE = "assignment outside the domain"
MOST_REFUSED = 20


# -- loading -----------------------------------------------------------------------------------------------------------


def question_of(seed: int, source: str, spec: str, folder: Path) -> Question:
    """The question of a protocol's source and a spec, read from files as a user's are."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"drawn_{seed}.py").write_text(source)
    (folder / "drawn.toml").write_text(spec)
    return load_spec(folder / "drawn.toml").question()


def drawn_question(seed: int, folder: Path) -> tuple[Case, Question]:
    """The first protocol of a seed that is one: an assignment that no state makes right is refused, and another drawn."""
    for case in islice(cases(seed), MOST_REFUSED):
        try:
            return case, question_of(seed, case.drawn.source, case.drawn.spec, folder / str(case.attempt))
        except ConfigurationError as error:
            refusal = str(error)
        assert OUTSIDE in refusal, f"{refusal}\n{case.drawn.source}"
    raise AssertionError("everything that was drawn is refused")


# -- what is compared --------------------------------------------------------------------------------------------------


def assert_same_search(case: Case, question: Question) -> None:
    """Everything that a search says of a protocol, and everything that its twin does."""
    space, predicates = case.space, case.twin.predicates
    bounds = Bounds(1, MEMORY, None if space.is_complete else len(space.levels))
    if any(space.overflows):
        with pytest.raises(DomainOverflow) as error:
            search(question, bounds, StopPolicy.EVERY_PROPERTY)
        shallowest = next(filter(None, space.overflows))
        wrong = {f"drawn: {label} assigns {field} a value outside its domain" for label, field in shallowest}
        assert str(error.value).partition(": ")[2].partition(": ")[0] in {text.removeprefix("drawn: ") for text in wrong}
        assert_way_out(case, question, error.value)
        return
    result = search(question, replace(bounds, workers=1 + case.drawn.seed % 2), StopPolicy.EVERY_PROPERTY)
    assert result.stopped is (StopReason.COMPLETE if space.is_complete else StopReason.MAX_DEPTH)
    assert result.level_sizes == tuple(map(len, space.levels))
    assert_same_steps(result, space)
    lengths = {name: space.first(lambda s, p=p: not p(s)) for name, p in predicates.items() if name.startswith("P")}
    assert result.violated == {name: length for name, length in lengths.items() if length is not None}
    sought = {name: space.first(p) for name, p in predicates.items() if name.startswith("R")}
    assert reach_lengths(result.probes.items()) == sought
    for item in result.violations:
        assert_real(case, question, item.run)
        last = question.instance.schema.decode(question.instance.schema.unpack(item.run.states[-1]))
        assert not predicates[item.property.name](last)


def assert_way_out(case: Case, question: Question, error: Exception) -> None:
    """The way to a step that leaves a domain is a shortest one, and the line that assigns it is one of the protocol's."""
    assert isinstance(error, Overflow)
    schema, levels = question.instance.schema, case.space.levels
    keys = [key_of(schema.decode(schema.unpack(words))) for words in error.run.states]
    assert all(key in level for key, level in zip(keys, levels, strict=False))
    assert len(keys) == 1 + next(depth for depth, left in enumerate(case.space.overflows) if left)
    assert re.search(rf"\(drawn_{case.drawn.seed}\.py:\d+\); the state is", str(error))


def assert_same_steps(result: Result, space: Space) -> None:
    """Fired actions, by name, and how often each led to a state not seen in an earlier level."""
    level_of = {key: number for number, level in enumerate(space.levels) for key in level}
    enabled, new = Counter[str](), Counter[str]()
    for number, steps in enumerate(space.steps if space.is_complete else space.steps[:-1]):
        for _, _, name, target in steps:
            enabled[name] += 1
            new[name] += level_of.get(target, number + 1) > number
    assert result.generated_states == 1 + sum(enabled.values())
    assert {name: (count.enabled, count.new) for name, count in result.actions.items()} == {
        act.name: (enabled[act.name], new[act.name]) for act in space.twin.actions
    }


def assert_real(case: Case, question: Question, run: Run) -> None:
    """Every state of a trace is the twin's, and every step one that the twin takes."""
    schema, space = question.instance.schema, case.space
    keys = [key_of(schema.decode(schema.unpack(words))) for words in run.states]
    steps = {(source, label, target) for level in space.steps for source, label, _, target in level}
    assert keys[0] in space.levels[0]
    for at, step in enumerate(run.actions):
        assert (keys[at], step.label, keys[at + 1]) in steps


def assert_same_orbits(case: Case, question: Question) -> bool:
    """Of states that differ in names only one is visited; the verdicts are those of all. False if that was refused."""
    symmetric = replace(question, is_symmetric=True)
    try:
        symmetric.refuse_asymmetry()
    except ConfigurationError:
        return False
    space = case.space
    if any(space.overflows) or not space.is_complete:
        return False
    result = search(symmetric, Bounds(1, MEMORY), StopPolicy.EVERY_PROPERTY)
    assert list(result.level_sizes) == [size for size in space.orbits("Node", case.drawn.nodes) if size]
    plain_answer = search(question, Bounds(1, MEMORY), StopPolicy.EVERY_PROPERTY)
    assert result.violated == plain_answer.violated
    for item in result.violations:
        assert_real(case, question, item.run)
    if has_blank_ids(question, result):
        case.traps.add(Trap.BLANK_IDS)
    return True


def has_blank_ids(question: Question, result: Result) -> bool:
    """Whether there was something to rename, and slots that held no id to be renamed."""
    return any(leaf.slot is not None for leaf in question.instance.schema.leaves) and result.distinct_states > 1


def assert_refused(case: Case, folder: Path) -> None:
    """What must be refused is, in words that name it."""
    for trap, (source, spec, message) in case.drawn.mutants.items():
        with pytest.raises(ConfigurationError) as refusal:
            question_of(case.drawn.seed, source, spec, folder / trap.name)
        assert message in str(refusal.value), trap
        case.traps.add(trap)


def assert_exchange(case: Case, folder: Path) -> None:
    """Numbers in the place of ids: the same expressions, and other orbits, from one cache of compiled code."""
    numbers = case_of(case.drawn.seed, case.attempt, exchanged=True)
    ids_of, numbers_of = (
        question_of(item.drawn.seed, item.drawn.source, item.drawn.spec, folder / name)
        for name, item in (("ids", case), ("numbers", numbers))
    )
    assert ids_of.fingerprint != numbers_of.fingerprint
    pairs = [(numbers, numbers_of), (case, ids_of)]
    are_compared = [assert_same_orbits(item, question) for item, question in pairs]
    if all(are_compared):
        case.traps.add(Trap.SORTS_EXCHANGED)


def assert_same_proofs(case: Case, question: Question) -> None:
    """Solvers, asked of the same protocol: no proof of what the twin breaks, and the same shortest violation."""
    space = case.space
    lengths = [found for name, p in case.twin.predicates.items() if name.startswith("P")
               if (found := space.first(lambda s, p=p: not p(s))) is not None]  # fmt: skip
    bounded = check_bounded(question, Bound(4), LIMITS)
    expected = min(lengths, default=99)
    assert [item.trace_length for item in bounded.violations] == ([expected] if expected <= 5 else [])
    if not question.properties:
        return
    proof = prove_by_induction(question, (), LIMITS)
    if proof.verdict is Verdict.HOLDS:
        assert not lengths


def compared(seed: int, folder: Path, with_solvers: bool = False, with_refusals: bool = True) -> set[Trap]:
    """One seed, compared in every way; the traps that it met."""
    case, question = drawn_question(seed, folder)
    assert_same_search(case, question)
    if with_refusals:
        assert_refused(case, folder / "refused")
    if case.drawn.is_symmetric:
        assert_same_orbits(case, question)
    if case.drawn.theme == "exchange":
        assert_exchange(case, folder)
    if with_solvers and case.space.is_complete and not any(case.space.overflows):
        assert_same_proofs(case, question)
    return case.traps
