"""Protocols: constants, a state and actions, traced from ordinary Python; and their finite instances.

An `Instance` is a protocol under given constants, with one guarded update per binding of each action's parameters.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

from acked.base.names import is_name
from acked.model.formulas.binding import closed
from acked.model.formulas.errors import DomainOverflow, ModelError, raise_refusals
from acked.model.formulas.evaluate import Evaluator
from acked.model.formulas.expr import Expr, Pool
from acked.model.formulas.functions import place_of, place_text, refuse_deferred, refuse_result, require_type
from acked.model.formulas.places import located
from acked.model.formulas.watch import CHANGED, is_shipped, watch
from acked.model.language.action import Action, action, actions_by_name, refuse_unknown_names, unknown_clause
from acked.model.language.choices import Domains, declared, each_binding, given, leaves
from acked.model.language.context import Constant, Context, Setting, Settle, Switch, active
from acked.model.language.domain import Domain, LeafDomain, Plain
from acked.model.language.finite import FINITE
from acked.model.language.semantics import Chooser, Trace
from acked.model.language.state import Struct
from acked.model.language.storage.layout import Schema, meanings
from acked.model.language.storage.noted import Ground
from acked.model.language.storage.store import Store
from acked.model.language.telling import Fault, Message, Party, Telling, Words
from acked.model.language.tracings import ActionInstance, Common, Effect, Tracer, Tracings, refuse_other
from acked.model.language.values import Bool, Id, IntLike


class Protocol:
    """A named set of actions over one state, with declared constants.

    `source` says where the rules come from (KIP, JIRA id). `actions` are shared ones; `@protocol.action(…)` adds more.
    `initial` assigns the initial state, zero by default; with parameters, `choose` and `require` there are several.
    `profile` gives the constants of a version, which is one of `releases`, and a control plane, `told_with` those to show a
    trace under: the same actions without what makes the search shorter. `settle` resolves settings that contradict each
    other. `symmetric` names sorts of ids that are meant to be interchangeable, which is checked before use. `budgets` are
    labels of clauses that only keep the model finite. `sizes` are the constants that a proof for all constants leaves open,
    each with its least value, if not said all that are neither switches nor choices. `thresholds` are numbers, above 0, that
    sizes of sets are compared with (`reaches`). `pictures` (see `Pictures`) draws the states.

    >>> still = Protocol("still", State, title="nothing happens", source="acked", constants=(brokers, records),
    ...                  initial=lambda s: None)
    >>> check(ask(still, nothing_lost, brokers=2, records=1)).distinct_states
    1
    """

    def __init__(
        self,
        name: str,
        state: type[Struct],
        *,
        title: str,
        source: str,
        constants: Sequence[Constant],
        initial: Callable[..., None],
        actions: Sequence[Action] = (),
        profile: Callable[[str | None, str | None], dict[str, Setting]] | None = None,
        releases: Sequence[str] = (),
        told_with: Callable[[Mapping[str, int]], dict[str, int]] | None = None,
        settle: Settle | None = None,
        symmetric: Sequence[type[Id]] = (),
        budgets: Sequence[str] = (),
        sizes: Mapping[Constant, int] | None = None,
        thresholds: Sequence[IntLike] = (),
        pictures: object | None = None,
    ) -> None:
        refuse_deferred(initial, f"{name}: initial")
        self.name = name
        self.reference = name
        """What names it to another process: its name, or the file that defines it and the name there."""
        self.has_folder = False
        """Whether the file that defines it is one of several in a folder of their own."""
        self.state = state
        self.title = title
        self.source = source
        self.constants = tuple(constants)
        self.actions: tuple[Action, ...] = tuple(actions)
        self.initial = initial
        self._profile, self.releases = profile, tuple(releases)
        self._told_with, self._settle = told_with, settle
        self.symmetric = tuple(symmetric)
        self.budgets = frozenset(budgets)
        own = {item: item.lo for item in constants if not isinstance(item, Switch) and not item.names}
        open_constants = own if sizes is None else sizes
        self.sizes = {item.name: least for item, least in open_constants.items()}
        self.thresholds = tuple(thresholds)
        self.pictures = pictures
        for constant in constants:
            if not is_name(constant.name):
                raise ModelError(f"{name}: constant {constant.name!r} is not a valid name; use letters, digits and _")
            if isinstance(state.domains().get(constant.name), LeafDomain):
                raise ModelError(
                    f"{name}: {constant.name!r} is a constant and a field of the state, and a predicate could mean either; "
                    "rename one of them"
                )

    def action(
        self,
        *,
        says: Words | None = None,
        when: Callable[[], bool] | None = None,
        actor: Party | None = None,
        fault: Fault | None = None,
        messages: Iterable[Message] = (),
    ) -> Callable[[Callable[..., None]], Action]:
        """Like the free `action`, and adds the action to this protocol."""

        def decorate(function: Callable[..., None]) -> Action:
            made = action(says=says, when=when, actor=actor, fault=fault, messages=messages)(function)
            self.actions = (*self.actions, made)
            return made

        return decorate

    @property
    def shown_reference(self) -> str:
        """What names it in files that travel: of one that a file defines, the file without its folder.

        Where that file is one of several, their folder belongs to the name.
        """
        return FilePath(*FilePath(self.reference).parts[-2 if self.has_folder else -1 :]).as_posix()

    def bind(self, constants: Mapping[str, object]) -> dict[str, int]:
        """The constants in declared order, checked: each given or with a default, none unknown, every value in range."""
        declared = {constant.name: constant for constant in self.constants}
        for name in constants:
            if name not in declared:
                raise ModelError(f"{self.name} has no constant {name!r}; it has {', '.join(declared) or 'none'}")
        bound: dict[str, int] = {}
        for constant in self.constants:
            if constant.name in constants:
                bound[constant.name] = constant.read(constants[constant.name])
            elif constant.default is not None:
                bound[constant.name] = constant.default
            else:
                raise ModelError(f"{self.name} needs constant {constant.name!r} ({constant.doc}), {constant.range}")
        return bound

    @property
    def has_profiles(self) -> bool:
        """Whether releases of Kafka decide some of its constants."""
        return self._profile is not None

    def profile(self, version: str | None, control_plane: str | None) -> dict[str, Setting]:
        """The constants as a release of Kafka has them by default; `ModelError` if there is no such release."""
        if self._profile is None:
            raise ModelError(f"{self.name} is one set of rules, whatever the release")
        return self._profile(version, control_plane)

    def settle(
        self, given: Mapping[str, object], constants: Mapping[str, int], control_plane: str | None
    ) -> tuple[dict[str, int], tuple[str, ...]]:
        """The constants in effect where a spec names those `given`, and warnings; `ModelError` for what is refused."""
        if self._settle is None:
            return dict(constants), ()
        named = {item.name: item.read(given[item.name]) for item in self.constants if item.name in given}
        return self._settle(named, constants, control_plane)

    def told_with(self, constants: Mapping[str, int]) -> dict[str, int]:
        """The constants under which a run is shown to people; those it was found under, unless the protocol has others."""
        return dict(constants) if self._told_with is None else self._told_with(constants)

    def actions_under(self, constants: Mapping[str, object]) -> tuple[Action, ...]:
        """The actions that a configuration has at all; nothing is traced."""
        with active(Context(Pool(), self.bind(constants))):
            return tuple(item for item in self.actions if item.is_present())

    def instantiate(
        self, constants: Mapping[str, object], drop: Iterable[tuple[str, str]] = (), tracings: Tracings | None = None
    ) -> Instance:
        """The protocol under given constants; `drop` names (action, label) guard clauses to leave out."""
        return Instance(self, self.bind(constants), frozenset(drop), tracings=tracings)

    def labels_under(
        self, constants: Mapping[str, object], tracings: Tracings | None = None
    ) -> dict[str, tuple[str, ...]]:
        """The labels of every action's clauses under given constants, by its name; of those that can be enabled at all.

        One binding of an action is traced, the first that its clauses do not rule out: nothing that an action asks in Python
        depends on its parameters, whose values have no truth, so the others state the same clauses.
        """
        instance = Instance(self, self.bind(constants), frozenset(), is_lazy=True, tracings=tracings)
        return {item.name: labels for item in instance.action_rules if (labels := instance.labels_of(item)) is not None}

    def initial_parameters(self) -> dict[str, LeafDomain]:
        """The domain of every parameter of `initial` after the state; of a struct those of its fields."""
        return dict(part for name, domain in self._initial_domains.items() for part in leaves(name, domain))

    @cached_property
    def _initial_domains(self) -> dict[str, Domain]:
        return declared(self.initial, f"{self.name}: initial{place_text(place_of(self.initial))}")

    def run_initial(self, state: Struct, chooser: Chooser) -> None:
        """Applies the initial assignments to a state of zeros, nones and empty sets."""
        with raise_refusals():
            values = {name: given(name, domain, chooser) for name, domain in self._initial_domains.items()}
            result = self.initial(state, **values)
            refuse_result(result, "initial", "assign to the fields of the state that it is given, e.g. s.leader = 0")


class Instance:
    """A protocol under given constants: the layout, the initial state, and every action instance that can be enabled.

    With `is_lazy` an action is traced when it is first asked for: of a trace that is told few are. An instance that is given
    `tracings` takes from them what others have traced, and leaves there what it traces.
    """

    def __init__(
        self,
        protocol: Protocol,
        constants: dict[str, int],
        drop: frozenset[tuple[str, str]],
        is_lazy: bool = False,
        tracings: Tracings | None = None,
    ) -> None:
        self.protocol = protocol
        self.constants = constants
        self.schema = Schema(protocol.state, constants)
        self._common = Common() if tracings is None else tracings.common_of(protocol, self.schema)
        self._kinds = self._common.kinds(self.schema)
        self.pool = self._common.pool
        self.fields = [self.pool.field(i, leaf.cardinality) for i, leaf in enumerate(self.schema.leaves)]
        self.dropped = drop
        self._tracer = Tracer(protocol.name, protocol.state, self.pool, self.fields, drop)
        self.action_rules = protocol.actions_under(constants)
        self._rules = actions_by_name(protocol.name, self.action_rules)
        self.initial: tuple[tuple[int, ...], ...] = self._trace_initial()
        self._counterparts: dict[str, ActionInstance | None] = {}
        self._conditions: dict[object, Expr] = {}
        if is_lazy:
            return
        _ = self.actions  # An author's mistakes are told here.
        if not drop:
            self._refuse_changing()
        for name, label in sorted(drop - self._tracer.dropped):
            labels = [guard.label for item in self.actions if item.action.name == name for guard in item.guards]
            raise ModelError(unknown_clause(protocol.name, {item.name: labels for item in self.action_rules}, name, label))

    @cached_property
    def actions(self) -> Sequence[ActionInstance]:
        """Every action instance that can be enabled, in the order of the rules and of their parameters' values."""
        return tuple(made for item in self.action_rules for made in self._trace_action(item))

    def counterpart(self, step: ActionInstance) -> ActionInstance | None:
        """Another instance's action instance as this one has it, by name and arguments; None if it has no such one."""
        if step.label not in self._counterparts:
            self._counterparts[step.label] = self._instance_of(step.action.name, step.arguments)
        return self._counterparts[step.label]

    def action_instance(self, name: str, arguments: Mapping[str, Plain]) -> ActionInstance:
        """The instance of an action with these arguments, alone traced; `ModelError` if there is none."""
        if (made := self._instance_of(name, arguments)) is None:
            raise ModelError(f"{self.protocol.name} has no action {name} with {dict(arguments)} under these constants")
        return made

    def labels_of(self, item: Action) -> tuple[str, ...] | None:
        """The labels of an action's clauses; None if no binding of its parameters can be enabled. Little is traced."""
        made = next(self._trace_action(item), None)
        return None if made is None else tuple(guard.label for guard in made.guards)

    def _instance_of(self, name: str, arguments: Mapping[str, Plain]) -> ActionInstance | None:
        rule = self._rules.get(name)
        if rule is None:
            return None
        parameters: Domains = rule.parameters()
        if parameters.keys() < arguments.keys():
            parameters = self._trace_binding(rule, dict.fromkeys(parameters, 0)).parameters
        if parameters.keys() != arguments.keys():
            return None
        with active(self._context()):
            try:
                codes = {key: domain.from_plain(arguments[key], self.constants) for key, domain in parameters.items()}
            except ModelError:
                return None  # A value beyond the bounds of this instance.
        return self._action_instance(rule, self._trace_binding(rule, codes), codes)

    @property
    def shown_constants(self) -> dict[str, Any]:
        """The constants as specs write them."""
        return {item.name: item.show(self.constants[item.name]) for item in self.protocol.constants}

    @property
    def telling_constants(self) -> dict[str, Any]:
        """Those of the constants, as specs write them, that are not at their defaults."""
        shown = self.shown_constants
        return {item.name: shown[item.name] for item in self.protocol.constants if self.constants[item.name] != item.default}

    @cached_property
    def shown_instance(self) -> Instance:
        """The instance in which runs are shown to people; this one, unless the protocol has another for that."""
        constants = self.protocol.told_with(self.constants)
        if constants == self.constants:
            return self
        return Instance(self.protocol, self.protocol.bind(constants), self.dropped, is_lazy=True)

    # -- tracing ------------------------------------------------------------------------------------------------

    def _context(self) -> Trace:
        return Trace(self.pool, self.constants, FINITE)

    def codes(self) -> list[Expr]:
        """The code of every leaf before a step, for a store to change."""
        return list(self.fields)

    def _trace_initial(self, is_again: bool = False) -> tuple[tuple[int, ...], ...]:
        def trace(codes: Mapping[str, int]) -> tuple[tuple[int, ...] | None, Domains]:
            made, asked = self._tracer.initial(self.protocol.initial, self.protocol.run_initial, codes, self)
            return None if made is None else self.schema.pack(made), asked

        bindings = each_binding(trace, self.protocol.initial_parameters(), self._context(), is_again)
        states = tuple(dict.fromkeys(made for made, _ in bindings if made is not None))
        if not states:
            raise ModelError(f"{self.protocol.name}: there is no initial state: its clauses rule out every choice")
        return states

    def _refuse_changing(self) -> None:
        """Traces what an author's own file has once more, the last first; `ModelError` if it says something else now."""
        if not is_shipped(self.protocol.initial) and {*self._trace_initial(is_again=True)} != {*self.initial}:
            raise ModelError(f"{self.protocol.name}: the initial state is another one when it is traced again; {CHANGED}")
        for item in reversed([item for item in self.action_rules if not is_shipped(item.function)]):
            again = [*self._trace_action(item, is_again=True)][::-1]
            with located(f"{self.protocol.name}: action {item.name}", item.function):
                refuse_other([step for step in self.actions if step.action is item], again, self.schema.leaves)
            first = self.schema.decode(self.schema.unpack(self.initial[0]))
            with active(self._context()):
                refuse_unknown_names(self.protocol.name, item, (Telling(first, first, step.arguments) for step in again[:1]))

    def _trace_action(self, item: Action, is_again: bool = False) -> Iterator[ActionInstance]:
        try:
            parameters = item.parameters()
        except ModelError as error:
            raise ModelError(f"{self.protocol.name}: {error}") from error
        enabled: list[str] = []

        def trace(codes: Mapping[str, int]) -> tuple[Effect, Domains]:
            effect = self._trace_binding(item, codes, is_again, is_watched=not enabled, is_whole=not enabled)
            return effect, effect.parameters

        for effect, codes in each_binding(trace, parameters, self._context(), is_again):
            if (made := self._action_instance(item, effect, codes)) is not None:
                enabled.append(made.label)
                yield made

    def _trace_binding(
        self, item: Action, codes: Mapping[str, int], is_again: bool = False, is_watched: bool = False, is_whole: bool = True
    ) -> Effect:
        def trace(ground: Ground) -> Effect:
            return self._tracer.effect(item, codes, ground, is_watched, is_whole)

        # What others have traced is whole: no clause of it is left out.
        if is_again or not self._common.is_shared or any(name == item.name for name, _ in self.dropped):
            return trace(self)
        return self._common.effect(item.function, codes, self, self._kinds, trace)

    def _action_instance(self, item: Action, effect: Effect, codes: Mapping[str, int]) -> ActionInstance | None:
        """The effect under a name and arguments; None of one that is nowhere enabled."""
        if effect.guard is self.pool.false:
            return None
        arguments = {name: domain.to_plain(codes[name], self.constants) for name, domain in effect.parameters.items()}
        return ActionInstance(**vars(effect), action=item, arguments=arguments)

    # -- properties ---------------------------------------------------------------------------------------------

    def state_predicate(self, name: str, predicate: Callable[[Any], Bool]) -> Expr:
        """A predicate over one state, as an expression over the leaves."""
        if predicate not in self._conditions:
            self._conditions[predicate] = self._predicate(name, predicate, self, self.codes())
        return self._conditions[predicate]

    def step_predicate(self, name: str, predicate: Callable[[Any, Any], Bool], step: ActionInstance) -> Expr:
        """A predicate over a state and its successor by `step`, as an expression over the leaves of the former."""
        codes = dict(step.updates)
        after = [codes.get(leaf, before) for leaf, before in enumerate(self.fields)]
        return self._common.reading(
            predicate, after, self, self._kinds, lambda at, after: self._predicate(name, predicate, at, at.codes(), after)
        )

    def _predicate(self, name: str, predicate: Callable[..., Bool], ground: Ground, *states: list[Expr]) -> Expr:
        what, context = f"{self.protocol.name}: property {name}", Trace(self.pool, ground.constants, FINITE)
        with ExitStack() as open_stores, active(context), located(what, predicate):
            stores = [open_stores.enter_context(closing(Store(ground.schema, codes))) for codes in states]
            with watch(predicate), raise_refusals():
                return closed(Bool.lift(predicate(*(self.protocol.state.at(store, ()) for store in stores))))

    # -- plain evaluation ---------------------------------------------------------------------------------------

    def enabled_actions(self, codes: Sequence[int]) -> list[ActionInstance]:
        """The action instances enabled in a state, by the plain evaluator."""
        return [item for item, holds in zip(self.actions, self._guards(codes), strict=True) if holds]

    @cached_property
    def _guards(self) -> Evaluator:
        return Evaluator([item.guard for item in self.actions])

    def fire(self, step: ActionInstance, codes: Sequence[int]) -> list[int]:
        """The successor by an enabled action instance; `DomainOverflow` if it leaves a field's domain."""
        after = list(codes)
        for (leaf, _), value in zip(step.updates, step.updated(codes), strict=True):
            target = self.schema.leaves[leaf]
            if not 0 <= value < target.cardinality:
                told, held = (target.code_text(value, self.constants), target.range_text(self.constants))
                raise self._overflow(step, codes, f"{target.name} a value outside its domain: {told}, and it holds {held}")
            after[leaf] = value
        if (stray := step.overflowing(codes)) is not None:
            raise self._overflow(step, codes, f"an element beyond the last, {self.schema.leaves[stray].name}")
        return after

    def _overflow(self, step: ActionInstance, codes: Sequence[int], what: str) -> DomainOverflow:
        return DomainOverflow(f"{self.protocol.name}: {step.label} assigns {what}; the state is {self.schema.decode(codes)}")

    def tell(self, step: ActionInstance, before: Sequence[int], after: Sequence[int]) -> str:
        """One plain sentence about a step, in the action's own words; `ModelError` if its author's function has none."""
        if (says := step.action.says) is None:
            return step.label
        telling = Telling(self.schema.decode(before), self.schema.decode(after), step.arguments)
        if is_shipped(says):
            return says(telling)
        with self.author_context(f"the words of action {step.action.name}", says):
            return require_type(str, says(telling), "says=")

    @contextmanager
    def author_context(self, what: str, function: object = None) -> Iterator[None]:
        """Where an author's functions may ask for the constants; `ModelError` says what they were at when one failed."""
        with active(self._context()), located(f"{self.protocol.name}: {what}", function):
            yield

    def fingerprint(self, extra: Iterable[Expr] = ()) -> str:
        """A hash of everything a search depends on: layout, what fields hold, initial state, guards, updates, `extra`.

        It does not depend on when the expressions were made, or on which others were.
        """
        roots: list[Expr] = list(extra)
        lines = [*meanings(self.protocol.state, self.constants)]
        lines += [f"{leaf.name} {leaf.cardinality} {leaf.word} {leaf.shift}" for leaf in self.schema.leaves]
        lines += [str(words) for words in self.initial]
        for item in self.actions:
            lines.append(f"{item.label} {[guard.label for guard in item.guards]} {[leaf for leaf, _ in item.updates]}")
            roots += [item.guard, *(code for _, code in item.updates), *(bad for _, bad in item.overflows)]
        digest = hashlib.sha256("\n".join(lines).encode())
        digest.update(b"".join(self.pool.digests(roots)))
        return digest.hexdigest()
