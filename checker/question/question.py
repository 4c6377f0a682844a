"""A question: a protocol under given constants and the properties asked of it, ready for an engine.

`Question`, how its properties become conditions of the kernel, and `Probe`, a condition that is only looked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.fairness import fairness
from acked.checker.question.plan import KernelPlan, StepCheck
from acked.checker.symmetry.check import check_symmetry, signature
from acked.checker.symmetry.orbits import Orbits, renamed_sorts, too_many
from acked.invariants.property import Kind, Property
from acked.model.formulas.expr import Expr
from acked.model.language.protocol import Instance
from acked.model.language.telling import sort_of
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Bool

GRAPH_KINDS = (Kind.RECOVERABLE, Kind.LIVENESS)
"""Kinds of properties that are decided once all states and steps are known."""

OVERFLOW_BIT = 0
"""The check of steps that no property asks for: an update leaves its field's domain."""

DEADLOCK = Property(
    "Deadlock",
    Kind.DEADLOCK,
    lambda _: Bool.__new__(Bool),
    "some action is enabled in every reachable state",
    "TLC's deadlock check; decided from the guards",
    "depends on the constants: a bounded model ends when its bounds are spent",
)


@frozen
class Probe:
    """A condition that a search looks for without stopping at it: whether any reachable state, or any step, meets it.

    One of the two is given: `in_state` makes the condition of a state, `in_step` that of the steps of an action instance,
    over their sources. `is_sought`: whether it is met is itself an answer, and not a remark about one.
    """

    name: str
    in_state: Callable[[Instance], Expr] | None = None
    in_step: Callable[[Instance, ActionInstance], Expr] | None = None
    is_sought: bool = False


@frozen
class Question:
    """What is asked: `properties` in the spec's order, which breaks ties between equally short violations.

    `probes` change no answer and no count; which of them were met stands in the result. If `is_symmetric`, states that differ
    only in the names of interchangeable ids are visited, and counted, once; see `refuse_asymmetry`.

    >>> question = ask(toylog, nothing_lost, brokers=2, records=1)
    >>> [step.label for step in question.instance.actions][:2]
    ['Append()', 'Fetch(follower=0)']
    """

    instance: Instance
    properties: tuple[Property, ...]
    probes: tuple[Probe, ...] = ()
    is_symmetric: bool = False

    def __repr__(self) -> str:
        constants = ", ".join(f"{name}={value}" for name, value in self.instance.telling_constants.items())
        asked = ", ".join(item.name for item in self.properties) or "no property"
        return f"<Question about {self.instance.protocol.name}: {constants}; {asked}>"

    @cached_property
    def state_properties(self) -> tuple[int, ...]:
        """Positions of the properties decided in one state, in kernel order."""
        return tuple(i for i, item in enumerate(self.properties) if item.kind not in (Kind.STEP, *GRAPH_KINDS))

    @cached_property
    def graph_properties(self) -> tuple[int, ...]:
        """Positions of the properties that only the whole graph of states decides; in the kernel they come last."""
        return tuple(i for i, item in enumerate(self.properties) if item.kind in GRAPH_KINDS)

    @cached_property
    def step_properties(self) -> tuple[int, ...]:
        """Positions of the step properties; the k-th is check bit k + 1."""
        return tuple(i for i, item in enumerate(self.properties) if item.kind is Kind.STEP)

    @cached_property
    def state_probes(self) -> tuple[int, ...]:
        """Positions of the probes of states; in the kernel they come after the state properties."""
        return tuple(i for i, probe in enumerate(self.probes) if probe.in_state is not None)

    @cached_property
    def step_probes(self) -> tuple[int, ...]:
        """Positions of the probes of steps; their check bits come after those of the step properties."""
        return tuple(i for i, probe in enumerate(self.probes) if probe.in_step is not None)

    def holds_in_state(self, position: int) -> Expr:
        """The condition of a STATE or DEADLOCK property; of what is sought (REACH), that it is not there."""
        item, instance = self.properties[position], self.instance
        if item.kind is Kind.DEADLOCK:
            return instance.pool.any(step.guard for step in instance.actions)
        holds = instance.state_predicate(item.name, item.predicate)
        return instance.pool.not_(holds) if item.kind is Kind.REACH else holds

    def holds_in_step(self, position: int, step: ActionInstance) -> Expr:
        """The condition of a STEP property on the edges of one action instance, over their sources."""
        item = self.properties[position]
        return self.instance.step_predicate(item.name, item.predicate, step)

    @cached_property
    def plan(self) -> KernelPlan:
        """What the kernel evaluates for this question."""
        pool = self.instance.pool
        violations = [pool.not_(self.holds_in_state(i)) for i in self.state_properties]
        checks: list[StepCheck] = []
        for number, step in enumerate(self.instance.actions):
            overflow = pool.any(bad for _, bad in step.overflows)
            conditions = [overflow, *(pool.not_(self.holds_in_step(i, step)) for i in self.step_properties)]
            checks += [
                StepCheck(number, bit, violated)
                for bit, violated in enumerate(conditions)
                if violated is not pool.false
            ]
        plan = self._add_probes(KernelPlan(self.instance, tuple(violations), tuple(checks), self.is_symmetric))
        return self._add_graph_properties(plan)

    def _add_probes(self, plan: KernelPlan) -> KernelPlan:
        if not self.probes:
            return plan
        states = [make(self.instance) for probe in self.probes if (make := probe.in_state) is not None]
        first = 1 + len(self.step_properties)
        steps = [
            StepCheck(number, first + at, met)
            for number, step in enumerate(self.instance.actions)
            for at, make in enumerate(probe.in_step for probe in self.probes if probe.in_step is not None)
            if (met := make(self.instance, step)) is not self.instance.pool.false
        ]
        checks = sorted([*plan.step_checks, *steps], key=lambda check: (check.action, check.bit))
        return KernelPlan(self.instance, (*plan.state_violations, *states), tuple(checks), self.is_symmetric)

    def without_graph_properties(self) -> Question:
        """This question without what only the graph of all states decides."""
        return replace(self, properties=tuple(item for item in self.properties if item.kind not in GRAPH_KINDS))

    def _add_graph_properties(self, plan: KernelPlan) -> KernelPlan:
        """Behind everything else, the conditions of every graph property, then whether a bound holds any step up."""
        if not self.graph_properties:
            return plan
        rows = [condition for conditions in self.graph_conditions.values() for condition in conditions]
        return replace(plan, state_violations=(*plan.state_violations, *rows, self._held_up(self.instance.actions)))

    @cached_property
    def graph_conditions(self) -> dict[int, tuple[Expr, ...]]:
        """By position of a graph property: the conditions of states that it is about.

        Of RECOVERABLE its predicate. Of LIVENESS the trigger, the goal, and of every group of `fairness` whether a step of it
        is not enabled for want of nothing but what bounds the model.
        """
        instance, found = self.instance, {}
        for at in self.graph_properties:
            item = self.properties[at]
            conditions = [instance.state_predicate(item.name, item.predicate)]
            if item.liveness is not None:
                conditions.append(instance.state_predicate(item.name, item.liveness.goal))
                conditions += [
                    self._held_up([instance.actions[number] for number in group.steps]) for group in fairness(instance, item)
                ]
            found[at] = tuple(conditions)
        return found

    @cached_property
    def graph_rows(self) -> dict[int, int]:
        """By position of a graph property: how many conditions it has, which are not traced for that."""
        items = ((at, self.properties[at]) for at in self.graph_properties)
        return {at: 1 if item.liveness is None else 2 + len(fairness(self.instance, item)) for at, item in items}

    def _held_up(self, steps: Iterable[ActionInstance]) -> Expr:
        """Whether only what bounds the model keeps one of these from being enabled."""
        pool, budgets = self.instance.pool, self.instance.protocol.budgets
        held_up = []
        for step in steps:
            bounds = [guard.condition for guard in step.guards if guard.label in budgets]
            others = [guard.condition for guard in step.guards if guard.label not in budgets]
            held_up.append(pool.and_(pool.all(others), pool.not_(pool.all(bounds))))
        return pool.any(held_up)

    def refuse_asymmetry(self) -> None:
        """Of a symmetric question: `ConfigurationError` unless actions and all that is asked are closed under renaming.

        Nothing that rests on symmetry is done before this has been called.
        """
        if self.is_symmetric and self._obstacle:
            raise ConfigurationError(f"{self._obstacle}; leave symmetry out")

    @cached_property
    def _obstacle(self) -> str:
        """What stands in the way of symmetry; empty if nothing does."""
        if temporal := [item.name for item in self.properties if item.kind is Kind.LIVENESS]:
            return (
                f"{', '.join(temporal)} is about infinite traces, where a state that recurs under other names has not "
                "recurred, and a step between two such states is not a repetition"
            )
        protocol, false, plan = self.instance.protocol, self.instance.pool.false, self.plan
        if not protocol.symmetric:
            sorts = [sort_of(leaf.domain) for leaf in self.instance.schema.leaves]
            ids = ", ".join(dict.fromkeys(sort.__name__ for sort in sorts if sort is not None)) or "Broker"
            return f"{protocol.name} declares no interchangeable ids, which Protocol(…, symmetric=({ids},)) does"
        if many := too_many(self.instance):
            return many
        names = [self.properties[at].name for at in self.state_properties]
        names += [self.probes[at].name for at in self.state_probes]
        if self.graph_properties:
            names += [*(self.properties[at].name for at in self.graph_properties), "what bounds the model"]
        bits = {0: "what leaves a domain"}
        bits |= {1 + at: self.properties[position].name for at, position in enumerate(self.step_properties)}
        bits |= {len(bits) + at: self.probes[position].name for at, position in enumerate(self.step_probes)}
        conditions = {(check.action, check.bit): check.violated for check in plan.step_checks}
        steps = range(len(self.instance.actions))
        of_steps = [(name, [conditions.get((at, bit), false) for at in steps]) for bit, name in bits.items()]
        for sort in renamed_sorts(self.instance):
            found = check_symmetry(self.instance, list(zip(names, plan.state_violations, strict=True)), sort, of_steps)
            if found.obstacle:
                return f"{sort.type_name}s of {protocol.name} are not interchangeable here: {found.obstacle}"
        return ""

    @cached_property
    def orbits(self) -> Orbits:
        """The representatives of states; only of a symmetric question."""
        return Orbits(self.instance)

    @cached_property
    def initial(self) -> tuple[tuple[int, ...], ...]:
        """The states that a search begins with, ascending."""
        states = set(self.instance.initial)
        return tuple(sorted({self.orbits.representative(state) for state in states} if self.is_symmetric else states))

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the protocol's and the properties' expressions, constants included, probes not, and of symmetry."""
        plan = self.plan
        asked = list(plan.state_violations[: len(self.state_properties)])
        asked += plan.state_violations[len(self.state_properties) + len(self.state_probes) :]
        checks = [check.violated for check in plan.step_checks if check.bit <= len(self.step_properties)]
        plain = self.instance.fingerprint([*asked, *checks])
        if fair := [str(group) for at in self.graph_properties for group in fairness(self.instance, self.properties[at])]:
            plain = hashlib.sha256("\n".join([plain, *fair]).encode()).hexdigest()
        if not self.is_symmetric:
            return plain
        sorts = " ".join(signature(self.instance, sort) for sort in renamed_sorts(self.instance))
        return hashlib.sha256(f"{plain} up to renaming {sorts}".encode()).hexdigest()
