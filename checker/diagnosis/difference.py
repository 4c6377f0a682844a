"""Two sets of rules over the same fields: what is possible in one and not in the other, and which promises fare differently.

A step is a pair of states, whatever the action is called, and a step that changes nothing does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.names import choices
from acked.base.observer import Observer
from acked.checker.diagnosis.rows import rows_of_level
from acked.checker.loops import backward
from acked.checker.native.compile import Kernel, ObjectCode, compile_functions, load_kernel, processor
from acked.checker.native.shape import shape_of
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.plan import BATCH
from acked.checker.question.question import Question
from acked.checker.question.result import Result, Run, StopReason, Words
from acked.checker.search.local import LocalSearch
from acked.checker.shards.shard import address, alone, reserve
from acked.checker.store.trace_back import Edge, run_to

_SMALL = 1 << 16


@dataclass(frozen=True)
class Side:
    """One set of rules: its answer, and the shortest run of it whose last step the other rules do not have.

    `run` is None if there is none in what was searched; `is_decided` says that there is none at all, or that it is shortest.
    """

    result: Result
    run: Run | None
    is_decided: bool


@dataclass(frozen=True)
class Comparison:
    """Both sides; `obstacle` says why their runs were not compared, if they were not."""

    sides: tuple[Side, Side]
    obstacle: str

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
    """Searches both questions to the end and compares them; `ConfigurationError` if their states have nothing in common."""
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


def _obstacle(first: Question, second: Question) -> str:
    """Why runs cannot be compared: one side has a field, or values of a field, that the other has not."""
    a, b = (question.instance.schema for question in (first, second))
    if [leaf.path for leaf in a.leaves] != [leaf.path for leaf in b.leaves]:
        names = sorted({leaf.name for leaf in a.leaves} ^ {leaf.name for leaf in b.leaves})
        raise ConfigurationError(
            f"{first.instance.protocol.name} and {second.instance.protocol.name} have different state fields "
            f"({choices(names[:4]) or 'in another order'}), so there is nothing to compare; "
            "use specs of one protocol family and size"
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
