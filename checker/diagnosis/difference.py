"""Two sets of rules over the same fields: what is possible in one and not in the other, and which promises fare differently.

A step is a pair of states, whatever the action is called, and a step that changes nothing does not count.
"""

from __future__ import annotations

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.names import choices
from acked.checker.diagnosis.rows import rows_of_level
from acked.checker.loops import backward
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions, load_kernel
from acked.checker.native.machine import processor
from acked.checker.native.shape import shape_of
from acked.checker.question.fairness import check_fairness, check_present
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.observer import Observer
from acked.checker.question.plan import BATCH
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Result, Run, StopReason, Words
from acked.checker.question.user_properties import check_texts
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import address, alone, reserve
from acked.checker.spec.resolve import property_named
from acked.checker.store.trace_back import Edge, run_to
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.language.protocol import Instance

_SMALL = 1 << 16


@frozen
class Side:
    """One set of rules: its answer, and the shortest run of it whose last step the other rules do not have.

    >>> side, _ = diff(ask(toylog, everybody_holds, brokers=2, records=1), ask(toylog, brokers=2, records=1)).sides
    >>> side.result.distinct_states, side.run, side.is_decided
    (8, None, True)
    """

    result: Result
    """The answer to its question, with every property."""
    run: Run | None
    """That run; None if there is none in what was searched."""
    is_decided: bool
    """Whether there is none at all, or it is a shortest one."""


@frozen
class Comparison:
    """Two sets of rules, compared.

    >>> found = diff(ask(toylog, nobody_lags, brokers=2, records=1), ask(toylog, brokers=2, records=1))
    >>> found.differs, found.verdicts
    (False, {'NobodyLags': (2, 2)})
    """

    sides: tuple[Side, Side]
    """The first and the second."""
    obstacle: str
    """Why their runs were not compared; empty if they were."""

    def __repr__(self) -> str:
        sides = (f"{side.result!r}" + (f" with {side.run!r} of its own" if side.run else "") for side in self.sides)
        return f"<Comparison: {'differs' if self.differs else 'nothing differs'}; {' and '.join(sides)}>"

    @property
    def verdicts(self) -> dict[str, tuple[int | None, int | None]]:
        """Of every property that both were asked: the states of its shortest violation, on either side."""
        first, second = (side.result for side in self.sides)
        return {
            item.name: (first.violated.get(item.name), second.violated.get(item.name)) for item in first.question.properties
        }

    @property
    def is_complete(self) -> bool:
        """Whether everything was decided."""
        return all(
            side.result.stopped is StopReason.COMPLETE and (side.is_decided or bool(self.obstacle)) for side in self.sides
        )

    @property
    def differs(self) -> bool:
        """Whether something is known to be different."""
        counts = [(side.result.distinct_states, side.result.generated_states) for side in self.sides]
        verdicts = any(first != second for first, second in self.verdicts.values())
        runs = any(side.run is not None for side in self.sides)
        return runs or verdicts or (bool(self.obstacle) and counts[0] != counts[1])


def compare(first: Question, second: Question, bounds: Bounds | None = None, observer: Observer | None = None) -> Comparison:
    """Searches both questions to the end and compares them: their rules, and every property of either that both can have.

    States are not taken up to symmetry. `ConfigurationError` if they have nothing in common, or if a property of one name
    does not mean the same in both.
    """
    first, second = _asked(first, second), _asked(second, first)
    obstacle = _obstacle(first, second)
    sides = []
    for question, other in ((first, second), (second, first)):
        given = bounds or Bounds()
        search = LocalSearch(question, given, StopPolicy.EVERY_PROPERTY, observer, keeps_states=True)
        result = search.run()
        run = None if obstacle else _first_missing(search, other)
        sides.append(Side(result, run, run is not None or result.stopped is StopReason.COMPLETE))
        search.shards.clear()
    return Comparison((sides[0], sides[1]), obstacle)


def _asked(question: Question, other: Question) -> Question:
    """A question without symmetry, about the properties of both in one order, as far as both can have them."""
    by_name = {item.name: item for item in (*question.properties, *other.properties)}
    shared = [by_name[name] for name in sorted(by_name)]
    for item in shared:
        meanings = {_meaning(same) for same in (*question.properties, *other.properties) if same.name == item.name}
        if len(meanings) > 1:
            raise ConfigurationError(f"{item.name} does not mean the same in both specs; give one of the two another name")
    sides = (question.instance, other.instance)
    return Question(question.instance, tuple(item for item in shared if _can_be_asked(item, *sides)))


def _meaning(item: Property) -> object:
    return (*item.texts, item.without, item.liveness and (item.liveness.weak, item.liveness.strong))


def _can_be_asked(item: Property, *sides: Instance) -> bool:
    """Whether both sides can have a property: one that is written where both have its fields, or one that is of both.

    A function of somebody's own is of those who have the same state.
    """
    if not item.texts and not any(item == properties_of(side.protocol).get(item.name, DEADLOCK) for side in sides):
        return len({side.protocol.state for side in sides}) == 1
    written = [item] if item.texts else []
    try:
        for side in sides:
            if item.texts and item.liveness is not None:
                check_fairness(side.protocol, item.liveness.weak, item.liveness.strong)
                check_present(side, item)
            property_named(side.protocol, item.name, written)
            check_texts(written, side.schema)
    except ConfigurationError:
        return False
    return True


def _obstacle(first: Question, second: Question) -> str:
    """Why runs cannot be compared: one side has a field, or values of a field, that the other has not."""
    a, b = (question.instance.schema for question in (first, second))
    if [leaf.path for leaf in a.leaves] != [leaf.path for leaf in b.leaves]:
        names = sorted({leaf.name for leaf in a.leaves} ^ {leaf.name for leaf in b.leaves})
        is_family = first.instance.protocol.state is second.instance.protocol.state
        of_both = [name for name in first.instance.protocol.sizes if is_family and name in b.constants]
        sizes = [name for name in of_both if a.constants[name] != b.constants[name]]
        raise ConfigurationError(
            f"{first.instance.protocol.name} and {second.instance.protocol.name} have different state fields "
            f"({choices(names[:4]) or 'in another order'}), so there is nothing to compare; use specs of one protocol family "
            f"and size{f' (-c sets in both what differs: {choices(sizes[:4])})' if sizes else ''}"
        )
    other = [x.name for x, y in zip(a.leaves, b.leaves, strict=True) if x.cardinality != y.cardinality]
    if not other:
        return ""
    more = "" if len(other) <= 4 else f" and {len(other) - 4} more"
    return f"one side has values of {choices(other[:4])}{more} that the other has not"


def _first_missing(search: LocalSearch, other: Question) -> Run | None:
    """The canonical shortest run of a search whose last step other rules do not have."""
    question = search.question
    instance, words = question.instance, question.instance.schema.words
    if instance.initial != other.instance.initial:
        return Run(instance.initial[:1], ())
    shard = alone(shape_of(other.plan), load_kernel(other.plan), _SMALL)
    kernel = Kernel(ObjectCode(processor(), (compile_functions(backward.FUNCTIONS, {"W": words}),)))
    steps = BATCH * max(len(other.instance.actions), 1)
    size = 1 << (2 * steps).bit_length()
    kept, slots = reserve(steps * (words + 1)), reserve(size)
    call = kernel.function("list_missing", 9)

    def list_missing(context: int, begin: int, end: int, out: int, room: int) -> int:
        return call(context, address(shard.context), begin, end, address(kept), address(slots), size - 1, out, room)

    def source(level: int, target: Words) -> Edge:
        ranges = search.levels[level - 1]
        found = [each.find_source(*ranges[at], target) for at, each in enumerate(search.shards)]
        return min(edge for edge in found if edge is not None)

    for depth in range(1, len(search.levels) + 1):
        if rows := rows_of_level(search, depth, list_missing):
            state, action, _ = min(rows)
            return run_to(question, depth, state, source).then(instance, instance.actions[action])
    return None
