"""Conjuncts that could complete a proof by induction: they hold in every reachable state and exclude counterexamples.

A counterexample to induction is a state in which everything assumed holds and after which something does not. If it cannot be
reached, some fact about reachable states is missing. A candidate is "for all ids and numbers, one of these atoms holds (or
does not)", false in the counterexample and true in every reachable state of a small instance. Candidates that a search of
the asked instance refutes are dropped; of the rest those are kept that are inductive together with everything that is known,
by dropping what some action breaks until nothing more breaks. None of this is a proof of what is proposed: it is proved when
it is added to the lemmas.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy
from numpy.typing import NDArray

from acked.base.bounds import Bounds
from acked.base.frozen import frozen
from acked.base.processes import Limits
from acked.checker.proof.induction import InductionOptions, prove_by_induction
from acked.checker.proof.result import INITIAL, InductionCounterexample, ProofResult
from acked.checker.proof.vocabulary import Atom, Variable, atoms_of, bindings, loop_over, variables_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Verdict
from acked.checker.search.local import LocalSearch, search
from acked.checker.shards.arrays import states_of
from acked.invariants.property import Kind, Property
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.model.language.protocol import Instance
from acked.model.language.quantify import every
from acked.model.language.values import Bool

SMALL_STATES = 10_000
"""Reachable states of the small instance, at most."""

MAX_CANDIDATES = 24
"""Candidates that are put to the search and to the solver, the simplest first."""

_CHUNK = 512

Truth = NDArray[numpy.bool_]
"""Truth values: shape (rows, atoms), or of more axes where a docstring says so."""

_Column = NDArray[numpy.int64] | NDArray[numpy.bool_] | numpy.int64
"""An expression's values, one for each state of a chunk; a constant is one for all."""


@frozen
class Literal:
    """An atom, or that it does not hold."""

    atom: Atom
    holds: bool

    @property
    def text(self) -> str:
        """`not presumes_leadership(replica)`."""
        return self.atom.text if self.holds else f"not {self.atom.text}"


@frozen
class Conjunct:
    """For all values of its variables one of the literals holds.

    `excludes` counts the counterexamples to induction in which it is false. `is_inductive` says that no action breaks it
    where it, the lemmas and the other inductive conjuncts hold.
    """

    literals: tuple[Literal, ...]
    excludes: int
    is_inductive: bool = False

    @property
    def variables(self) -> tuple[Variable, ...]:
        """What it speaks of."""
        return tuple(dict.fromkeys(item for literal in self.literals for item in literal.atom.variables))

    @property
    def text(self) -> str:
        """In words that can be turned into a property: `for all replica: if … then …`."""
        variables = sorted(self.variables, key=lambda item: item.name)
        names = ", ".join(f"{item.over.__name__} {item.name}" for item in variables)
        *given, last = sorted(self.literals, key=lambda item: item.holds)
        head = f"for all {names}: " if names else ""
        if not given:
            return f"{head}{last.text}"
        hypotheses = " and ".join(Literal(item.atom, not item.holds).text for item in given)
        return f"{head}if {hypotheses}, then {last.text}"

    @property
    def predicate(self) -> str:
        """The same as specs write it, to be put under [lemmas.NAME]; empty where predicates have no word for it."""
        loops = [f"for {item.name} in {loop_over(item)}" for item in self.variables]
        if not all(item.atom.predicate for item in self.literals) or not all(map(loop_over, self.variables)):
            return ""
        given = " and ".join(item.atom.predicate for item in self.literals if not item.holds)
        then = " or ".join(item.atom.predicate for item in self.literals if item.holds)
        body = f"implies({given}, {then})" if given and then else then or f"not ({given})"
        return f"all({body} {' '.join(loops)})" if loops else body

    @property
    def property(self) -> Property:
        """The conjunct as a property of a state."""
        return Property(self.text, Kind.STATE, self._holds, self.text, "proposed by acked prove suggest", "")

    def _holds(self, s: Any) -> Bool:
        def over(left: tuple[Variable, ...], values: dict[str, Any]) -> Bool:
            if left:
                return every(left[0].over, lambda value: over(left[1:], {**values, left[0].name: value}))
            made = [item.atom.holds(s, values) for item in self.literals]
            terms = [value if item.holds else ~value for item, value in zip(self.literals, made, strict=True)]
            found = terms[0]
            for term in terms[1:]:
                found = found | term
            return found

        return over(self.variables, {})


@frozen
class Suggestion:
    """What is proposed. `counterexamples` were looked at; `reachable` states of the small instance with `constants`.

    `searched` is the number of states of the asked instance in which the conjuncts hold, all of them if `is_complete`.
    With `completes`, the lemmas and the inductive conjuncts prove what was asked; `proof` is the last attempt.
    """

    conjuncts: tuple[Conjunct, ...]
    counterexamples: int
    constants: dict[str, int]
    reachable: int
    searched: int
    is_complete: bool
    completes: bool
    proof: ProofResult
    seconds: float


def suggest(
    question: Question,
    lemmas: Sequence[Property],
    limits: Limits,
    explore: int,
    observer: Observer | None = None,
) -> Suggestion | None:
    """Proposes conjuncts for a proof that fails; None if it does not fail by a counterexample to induction.

    Lemmas that a reachable state of the small instance refutes are left out.
    """
    begin = time.perf_counter()
    told = observer or Observer()
    attempt = prove_by_induction(question, lemmas, limits, InductionOptions(every_claim=True))
    found = _counterexamples(attempt)
    if not found:
        return None
    told.phase("comparing counterexamples with reachable states")
    instance = question.instance
    small, states = _reachable(question)
    true = _true_lemmas(small, states, lemmas)
    if len(true) < len(lemmas):  # A lemma that does not hold under these constants would let no proof succeed.
        return suggest(question, true, limits, explore, observer)
    table = _Table(atoms_of(instance.protocol), variables_of(instance.protocol))
    rows = _unique(numpy.concatenate(table.rows(small, states)))
    broken_in = list(table.rows(instance, [instance.schema.unpack(item.run.states[0]) for item in found]))
    candidates = _candidates(table, rows, broken_in)
    told.phase("searching for candidates that do not hold")
    kept, searched, is_complete = _survivors(question, candidates[:MAX_CANDIDATES], explore)
    told.phase("looking for candidates that are inductive together")
    inductive, last = _few(question, lemmas, kept, limits)
    completes = last is not None and last.verdict is Verdict.HOLDS
    names = {item.text for item in inductive}
    marked = [Conjunct(item.literals, item.excludes, item.text in names) for item in kept]
    marked = [item for item in marked if item.is_inductive] if completes else marked
    marked.sort(key=lambda item: not item.is_inductive)
    return Suggestion(
        tuple(marked), len(found), dict(small.constants), len(states), searched, is_complete, completes, last or attempt,
        time.perf_counter() - begin,
    )  # fmt: skip


def _counterexamples(attempt: ProofResult) -> list[InductionCounterexample]:
    if attempt.induction is None or attempt.violations:
        return []
    return [one for item in attempt.induction.obligations for one in item.counterexamples if item.subject != INITIAL]


def _true_lemmas(small: Instance, states: Sequence[Sequence[int]], lemmas: Sequence[Property]) -> list[Property]:
    """The lemmas that hold in all these states."""
    roots = [small.state_predicate(item.name, item.predicate) for item in lemmas]
    if not roots:
        return []
    values = _evaluate(roots, numpy.array(states, dtype=numpy.int64))
    return [item for item, column in zip(lemmas, values.T, strict=True) if column.all()]


def _reachable(question: Question) -> tuple[Instance, list[list[int]]]:
    """A small instance of the protocol and all its reachable states."""
    protocol = question.instance.protocol
    asked = question.instance.constants
    for most in (max(asked.values(), default=1), 2, 1):
        constants = {item.name: max(item.lo, min(most, asked[item.name])) for item in protocol.constants}
        instance = protocol.instantiate(constants, question.instance.dropped)
        explorer = LocalSearch(
            Question(instance, ()), Bounds(workers=1, max_states=SMALL_STATES), keeps_states=True
        )
        result = explorer.run()
        if result.stopped is StopReason.COMPLETE or most == 1:
            break
    words = (row for shard in explorer.shards for row in states_of(shard).tolist())
    return instance, [instance.schema.unpack(tuple(row)) for row in words]


class _Table:
    """The truth of every atom, by state and binding."""

    def __init__(self, atoms: Sequence[Atom], variables: tuple[Variable, ...]) -> None:
        self.atoms = tuple(atoms)
        self._variables = variables

    def rows(self, instance: Instance, states: Sequence[Sequence[int]]) -> Truth:
        """For each state a table: one row for each binding, one column of truth values for each atom."""
        made: list[list[Expr]] = []

        def trace(s: Any) -> Bool:
            made.extend([atom.holds(s, values).expr for atom in self.atoms] for values in bindings(self._variables))
            return Bool(instance.pool.true)

        instance.state_predicate("the vocabulary", trace)
        roots = [root for row in made for root in row]
        values = _evaluate(roots, numpy.array(states, dtype=numpy.int64))
        return values.reshape(len(states), len(made), len(self.atoms))


def _evaluate(roots: Sequence[Expr], states: NDArray[numpy.int64]) -> Truth:
    """The truth values of the roots in all states: one row a state."""
    order = list(evaluation_order(roots))
    parts = []
    with numpy.errstate(all="ignore"):
        for start in range(0, len(states), _CHUNK):
            chunk = states[start : start + _CHUNK]
            value: dict[int, _Column] = {}
            for node in order:
                args = [value[arg.id] for arg in node.args]
                value[node.id] = _apply(node, args, chunk)
            shape = len(chunk)
            parts.append(numpy.stack([numpy.broadcast_to(value[root.id], shape).astype(bool) for root in roots], axis=1))
    return numpy.concatenate(parts)


def _apply(node: Expr, args: list[_Column], states: NDArray[numpy.int64]) -> _Column:
    binary: dict[Op, Callable[..., _Column]] = {
        Op.ADD: numpy.add, Op.SUB: numpy.subtract, Op.MUL: numpy.multiply, Op.DIV: numpy.floor_divide, Op.MOD: numpy.mod,
        Op.BITAND: numpy.bitwise_and, Op.BITOR: numpy.bitwise_or, Op.BITXOR: numpy.bitwise_xor,
        Op.SHL: numpy.left_shift, Op.SHR: numpy.right_shift,
        Op.EQ: numpy.equal, Op.LT: numpy.less, Op.AND: numpy.logical_and, Op.OR: numpy.logical_or,
    }  # fmt: skip
    match node.op:
        case Op.CONST:
            return numpy.int64(node.value)
        case Op.FIELD:
            return states[:, node.value]
        case Op.NOT:
            return numpy.logical_not(args[0])
        case Op.ITE:
            return numpy.where(args[0], args[1], args[2])
    if node.is_bool:
        return binary[node.op](args[0], args[1])
    return binary[node.op](numpy.asarray(args[0], dtype=numpy.int64), numpy.asarray(args[1], dtype=numpy.int64))


def _unique(rows: Truth) -> Truth:
    packed = numpy.packbits(rows, axis=1)
    _, first = numpy.unique(packed, axis=0, return_index=True)
    return rows[numpy.sort(first)]


def _candidates(table: _Table, reachable: Truth, broken_in: Sequence[Truth]) -> list[Conjunct]:
    """Clauses that hold in every reachable row and are false in some row of a counterexample, the best first."""
    found: dict[frozenset[tuple[int, bool]], None] = {}
    seen = _Reachable(reachable)
    for rows in broken_in:
        clauses: list[frozenset[tuple[int, bool]]] = []
        for size in (2, 3):
            for row in _unique(rows):
                clauses += [frozenset((k, not row[k]) for k in cube) for cube in seen.cubes(row, size)]
            if clauses:
                break
        found.update(dict.fromkeys(clauses))
    made = []
    for clause in found:
        literals = tuple(Literal(table.atoms[k], holds) for k, holds in sorted(clause))
        excludes = sum(_is_false_somewhere(clause, rows) for rows in broken_in)
        made.append(Conjunct(literals, excludes))
    made.sort(key=_plainness)
    return _different(made)


class _Reachable:
    """What reachable rows have together: for each literal, and for each two, in how many rows they hold."""

    def __init__(self, rows: Truth) -> None:
        self.rows = rows
        self._count = rows.shape[1]
        literals = numpy.concatenate([rows, ~rows], axis=1).astype(numpy.float32)
        self._together = literals.T @ literals

    def cubes(self, row: Truth, size: int) -> Iterator[tuple[int, ...]]:
        """Least sets of atoms, of at most `size`, whose values in `row` no reachable row has together."""
        chosen = numpy.where(row, 0, self._count) + numpy.arange(self._count)
        together = self._together[numpy.ix_(chosen, chosen)]
        alone = numpy.diagonal(together)
        yield from ((int(k),) for k in numpy.flatnonzero(alone == 0))
        usable = numpy.flatnonzero(alone > 0)
        never = together[numpy.ix_(usable, usable)] == 0
        pairs = [(int(usable[i]), int(usable[j])) for i, j in zip(*numpy.nonzero(never), strict=True) if i < j]
        yield from pairs
        if size < 3 or pairs:
            return
        agree = (self.rows == row).astype(numpy.float32)
        for i in usable[:-2]:
            names = usable[usable > i]
            among = agree[agree[:, i] > 0][:, names]
            both = among.T @ among
            for j, k in zip(*numpy.nonzero(both == 0), strict=True):
                if j < k:
                    yield int(i), int(names[j]), int(names[k])


def _is_false_somewhere(clause: Iterable[tuple[int, bool]], rows: Truth) -> bool:
    false = numpy.ones(len(rows), dtype=bool)
    for k, holds in clause:
        false &= rows[:, k] != holds
    return bool(false.any())


def _plainness(item: Conjunct) -> tuple[int, int, int, int, int, str]:
    own = sum(literal.atom.is_own for literal in item.literals)
    return -item.excludes, len(item.literals), len(item.variables), -own, len(item.text), item.text


def _different(items: Sequence[Conjunct]) -> list[Conjunct]:
    """Without those that say the same with the variables of a type exchanged."""
    seen: set[frozenset[str]] = set()
    kept = []
    for item in items:
        form = frozenset(literal.text for literal in item.literals)
        mirrored = {form}
        for a, b in combinations(item.variables, 2):
            if a.over is b.over:
                to = {a.name: b.name, b.name: a.name}
                mirrored.add(frozenset(_rename(text, to) for text in form))
        # One variable alone may be called either way.
        first = [variable.name for variable in item.variables if variable.name.endswith("2")]
        if not any(variable.name.endswith("1") for variable in item.variables):
            mirrored.add(frozenset(_rename(text, {name: f"{name[:-1]}1" for name in first}) for text in form))
        if not mirrored & seen:
            kept.append(item)
        seen |= mirrored
    return kept


def _rename(text: str, to: dict[str, str]) -> str:
    return re.sub(r"\b\w+\b", lambda found: to.get(found.group(), found.group()), text)


def _survivors(question: Question, items: Sequence[Conjunct], explore: int) -> tuple[list[Conjunct], int, bool]:
    """The candidates that a search of the asked instance does not refute; how many states it saw, and whether all."""
    left = list(items)
    if not explore or not left:
        return left, 0, False
    asked = Question(question.instance.protocol.instantiate(question.instance.constants, question.instance.dropped),
                     tuple(item.property for item in left))  # fmt: skip
    result = search(asked, Bounds(max_states=explore), StopPolicy.EVERY_PROPERTY)
    violated = {item.property.name for item in result.violations}
    held = [item for item in left if item.text not in violated]
    return held, result.distinct_states, result.stopped is StopReason.COMPLETE


def _inductive(
    question: Question, lemmas: Sequence[Property], items: Sequence[Conjunct], limits: Limits
) -> tuple[list[Conjunct], ProofResult | None]:
    """The greatest set of candidates that no action breaks where they and the lemmas hold, and the last attempt."""
    left = list(items)
    result: ProofResult | None = None
    while left:
        added = [item.property for item in left]
        result = prove_by_induction(question, [*lemmas, *added], limits, InductionOptions(every_claim=True))
        assert result.induction is not None
        bad = {name for action in result.induction.actions for name in (*action.broken, *action.open_claims)}
        kept = [item for item in left if item.text not in bad]
        if len(kept) == len(left):
            break
        left, result = kept, None
    return left, result


def _few(
    question: Question, lemmas: Sequence[Property], items: Sequence[Conjunct], limits: Limits
) -> tuple[list[Conjunct], ProofResult | None]:
    """Few of the candidates with which the proof succeeds; if it does not, all that are inductive together."""
    inductive: list[Conjunct] = []
    proof: ProofResult | None = None
    count = 1
    while count < 2 * len(items):
        inductive, proof = _inductive(question, lemmas, items[:count], limits)
        if proof is not None and proof.verdict is Verdict.HOLDS:
            break
        count *= 4
    if proof is None or proof.verdict is not Verdict.HOLDS or len(inductive) == 1:
        return inductive, proof
    minimal = prove_by_induction(
        question, [*lemmas, *(item.property for item in inductive)], limits, InductionOptions(minimize=True)
    )
    needed = minimal.induction.needed if minimal.induction is not None else None
    left = [item for item in inductive if needed is None or item.text in needed]
    return left, minimal if minimal.verdict is Verdict.HOLDS else proof
