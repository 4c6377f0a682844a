"""Measures what partial-order reduction could save, before anybody builds it.

On a small instance, all of whose states and steps are at hand, *stubborn sets* (Valmari 1989; Godefroid 1996) are computed
with more knowledge than a checker has: two action instances count as dependent only if they fail to commute, or one disables
the other, in some reachable state; and an action counts as making a clause of a guard true only if it does in some reachable
step. Closures begin at every enabled action in turn, follow of a disabled action's false clauses the one that adds least, and
the one with the fewest enabled actions is taken. The two conditions that invariants need besides are left out: that no chosen
action is visible to what is asked, and that none is put off for ever around a cycle. Both only make a reduced space larger.

With --merging instead, what forgetting could save that has no effect any more: how many classes the states of two searches of
the commonest audit have, where two are alike as long as they can make the same steps, by the names of actions, for ever; and
how many where they also have the same values, all the while, of what the promises look at. Who forgets has to keep those
apart before the answer is known, unless by a rule of its own.

    python benchmarks/reduction.py [--merging | SPEC -c NAME=VALUE …]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from acked.audit.clusters.units import groups_of_units, units_of
from acked.audit.decision.audit import Auditor
from acked.audit.decision.gather import recognise
from acked.audit.decision.joint import join
from acked.base.bounds import Bounds
from acked.base.release import release
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import Question
from acked.checker.search.local import LocalSearch
from acked.checker.search.state_graph import StateGraph
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import OPTION, SettingEntry
from acked.model.formulas.evaluate import Evaluator, leaves_of
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.reports.shell.options import AskedSpec

INSTANCES = (
    ("partition", {"replicas": 2, "log_size": 1, "records": 1}),
    ("partition", {"replicas": 2, "log_size": 2, "records": 2}),
    ("partition", {"replicas": 3, "log_size": 1, "records": 1}),
    ("kip320", {"replicas": 3, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}),
)
NONE = -1


@dataclass(frozen=True)
class Relations:
    """What is known of a space.

    `successors[s, a]` is that of state s by action a, NONE where it is disabled; `truths[s, c]` is of clause c. `clauses` are
    those of each action's guard; `makers` by clause the actions that make it true, and `dependent` by action those that it
    depends on, as bits of a number.
    """

    successors: NDArray[np.int64]
    truths: NDArray[np.bool_]
    clauses: Sequence[Sequence[int]]
    makers: Sequence[int]
    dependent: Sequence[int]


def space(question: Question) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """The successors of every state by every action, and the packed states."""
    searching = LocalSearch(question, Bounds(1), StopPolicy.EVERY_PROPERTY, keeps_states=True)
    result = searching.run()
    ends = np.cumsum(result.level_sizes).tolist()
    graph = StateGraph(question, searching.shards[0], ends, result.generated_states - result.level_sizes[0])
    successors = np.full((graph.count, len(question.instance.actions)), NONE, np.int64)
    successors[graph.sources, graph.actions] = graph.targets
    return successors, graph.states.copy()


def truths_of(instance: Instance, states: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], list[list[int]]]:
    """In every state the truth of all clauses, and by action which are its own."""
    numbers: dict[int, int] = {}
    roots: list[Expr] = []
    clauses: list[list[int]] = []
    for step in instance.actions:
        own = []
        for guard in step.guards:
            if guard.condition.id not in numbers:
                numbers[guard.condition.id] = len(roots)
                roots.append(guard.condition)
            own.append(numbers[guard.condition.id])
        clauses.append(own)
    evaluate = Evaluator(roots)
    rows = [evaluate(instance.schema.unpack(tuple(int(word) for word in state))) for state in states]
    return np.array(rows, bool), clauses


def relations(question: Question) -> Relations:
    """All of them, from the whole space."""
    successors, states = space(question)
    truths, clauses = truths_of(question.instance, states)
    actions = successors.shape[1]
    makers, dependent = [0] * truths.shape[1], [1 << a for a in range(actions)]
    for a in range(actions):
        here = np.flatnonzero(successors[:, a] != NONE)
        there = successors[here, a]
        for c in np.flatnonzero((~truths[here] & truths[there]).any(axis=0)):
            makers[c] |= 1 << a
        both = successors[here] != NONE
        after = successors[there]
        for b in range(actions):
            at = np.flatnonzero(both[:, b])
            if b == a or not len(at):
                continue
            one, other = after[at, b], successors[successors[here[at], b], a]
            if ((one != other) | (one == NONE)).any():
                dependent[a] |= 1 << b
    return Relations(successors, truths, clauses, makers, dependent)


def bits(number: int) -> Iterator[int]:
    """The positions of the one bits."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def stubborn(known: Relations, state: int, seed: int, enabled: int, best: int) -> int:
    """The enabled actions of the closure of one of them; all of them once it is no better than `best`."""
    chosen, work = 1 << seed, [seed]
    truths = known.truths[state]
    while work:
        action = work.pop()
        if enabled >> action & 1:
            added = known.dependent[action]
        else:
            makers = [known.makers[c] for c in known.clauses[action] if not truths[c]]
            added = min(makers, key=lambda who: (who & ~chosen).bit_count())
        added &= ~chosen
        chosen |= added
        if (chosen & enabled).bit_count() >= best:
            return enabled
        work += bits(added)
    return chosen & enabled


def reduced(known: Relations) -> int:
    """How many states are reached if every state has the least of its stubborn sets expanded."""
    seen, work = {0}, [0]
    while work:
        state = work.pop()
        successors = known.successors[state]
        enabled = sum(1 << int(a) for a in np.flatnonzero(successors != NONE))
        least = enabled
        for seed in bits(enabled):
            found = stubborn(known, state, seed, enabled, least.bit_count())
            if found.bit_count() < least.bit_count():
                least = found
        for action in bits(least):
            target = int(successors[action])
            if target not in seen:
                seen.add(target)
                work.append(target)
    return len(seen)


def measure(spec: str, constants: dict[str, int]) -> None:
    """One line: the whole space, the reduced one, and the ratio."""
    question = AskedSpec.from_options(spec, constants=tuple(constants.items())).load().question()
    known = relations(question)
    count, actions = known.successors.shape
    pairs = sum(number.bit_count() - 1 for number in known.dependent) / max(actions * (actions - 1), 1)
    least = reduced(known)
    where = " ".join(f"-c {name}={value}" for name, value in constants.items())
    print(f"{spec} {where}: {count:,} states, {least:,} with the least stubborn sets, ratio {count / least:.2f}; "
          f"{actions} actions, {pairs:.0%} of their pairs dependent", flush=True)  # fmt: skip


def seen(question: Question, graph: StateGraph) -> NDArray[np.int64]:
    """By state a number for the values of all leaves that the promises read."""
    read = set[int]().union(*(leaves_of(violated) for violated in question.plan.state_violations))
    masks = np.zeros(graph.states.shape[1], np.uint64)
    for leaf in (question.instance.schema.leaves[number] for number in read):
        masks[leaf.word] |= np.uint64(((1 << leaf.bits) - 1) << leaf.shift)
    return np.unique(graph.states & masks, axis=0, return_inverse=True)[1].reshape(-1)


def alike(graph: StateGraph, names: NDArray[np.int64], classes: NDArray[np.int64]) -> int:
    """The classes of the coarsest bisimulation that refines these; `names` has by step the number of its action's name."""
    count, actions = int(classes.max()) + 1, int(names.max()) + 1
    random = np.random.default_rng(0)
    while True:
        steps = np.unique((graph.sources * count + classes[graph.targets]) * actions + names)
        sources, kinds = np.divmod(steps, count * actions)
        # Sums of random numbers, one for each kind of step, stand for sets of kinds: 64 bits, and nothing hangs on them.
        sums = np.zeros(graph.count, np.uint64)
        np.add.at(sums, sources, random.integers(0, 1 << 63, count * actions).astype(np.uint64)[kinds])
        sums += random.integers(0, 1 << 63, count).astype(np.uint64)[classes]
        _, classes = np.unique(sums, return_inverse=True)
        if (found := int(classes.max()) + 1) == count:
            return count
        count = found


def merging() -> None:
    """One line a search: its states, their classes, and the ratio."""
    values = {"replication.factor": "3", keys.MIN_ISR: "2", keys.ACKS: "all", keys.IDEMPOTENCE: "true", keys.ELR: "1"}
    entries = [SettingEntry(key, value, OPTION, 0) for key, value in values.items()]
    (group,) = groups_of_units(units_of(recognise([], entries, False)), None, (), False)
    tasks = Auditor(group.given, release("4.1"), "kraft").tasks()
    for task in sorted({task for task in join(tasks).values() if len(task.asked.properties) > 1}, key=str, reverse=True):
        question = task.question()
        searching = LocalSearch(question, Bounds(1), StopPolicy.EVERY_PROPERTY, keeps_states=True)
        result = searching.run()
        ends = np.cumsum(result.level_sizes).tolist()
        graph = StateGraph(question, searching.shards[0], ends, result.generated_states - result.level_sizes[0])
        numbers: dict[str, int] = {}
        of_step = [numbers.setdefault(step.action.name, len(numbers)) for step in question.instance.actions]
        names = np.array(of_step)[graph.actions]
        by_steps = alike(graph, names, np.zeros(graph.count, np.int64))
        by_values = alike(graph, names, seen(question, graph))
        print(f"{', '.join(task.asked.properties)}: {graph.count:,} states, {by_steps:,} classes by their steps, ratio "
              f"{graph.count / by_steps:.1f}; {by_values:,} by what is promised, too, ratio {graph.count / by_values:.1f}",
              flush=True)  # fmt: skip


def main() -> None:
    """Measures what the command line names, or all instances."""
    if sys.argv[1:] == ["--merging"]:
        merging()
        return
    if len(sys.argv) > 1:
        pairs = (text.partition("=") for text in sys.argv[2:] if text != "-c")
        measure(sys.argv[1], {name: int(value) for name, _, value in pairs})
        return
    for spec, constants in INSTANCES:
        measure(spec, constants)


if __name__ == "__main__":
    main()
