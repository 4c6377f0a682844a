"""A question as text: everything in it by name or as it was typed.

The one form in which a question travels: spec files hold it as TOML, the tasks of a batch as it is, trace files as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.fairness import check_fairness
from acked.checker.question.known import Known, TextQuestion, known_as, name_of
from acked.checker.question.question import Probe, Question
from acked.checker.question.user_properties import (
    check_texts,
    liveness,
    reach_probes,
    recoverable_named,
    sought,
    written_invariant,
)
from acked.checker.spec.resolve import property_named, protocol_named
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.storage.layout import Schema
from acked.model.language.tracings import KnownInstance, Tracings


@frozen
class InvariantText:
    """An invariant that the question brings with it."""

    name: str
    holds: str
    doc: str = ""

    @property
    def property(self) -> Property:
        """The promise that it holds in every reachable state."""
        return written_invariant(self.name, self.holds, self.doc)


@frozen
class LivenessText:
    """A property of liveness that the question brings with it: `goal` comes at or after every state of `trigger`."""

    name: str
    trigger: str | None
    goal: str
    doc: str = ""


@frozen
class QuestionText:
    """A question by names; constants are complete and checked (`Protocol.bind`).

    `drop` names guard clauses, as (action, label), that are left out of the protocol. `reach` are the states, by name, that
    are looked for: those that `properties` names end a search as a violation does, the others are looked for besides.
    `fairness` is what the properties of liveness are under: actions with weak fairness, with strong fairness. With
    `symmetry`, states that differ only in the names of interchangeable ids are visited, and counted, once.
    """

    protocol: str
    constants: tuple[tuple[str, int], ...]
    properties: tuple[str, ...] = ()
    drop: tuple[tuple[str, str], ...] = ()
    invariants: tuple[InvariantText, ...] = ()
    reach: tuple[tuple[str, str], ...] = ()
    liveness: tuple[LivenessText, ...] = ()
    fairness: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    symmetry: bool = False

    @classmethod
    def of(cls, question: Question) -> QuestionText:
        """The text of a question, without what a search of it would look for besides."""
        instance, asked = question.instance, question.properties
        return cls(
            instance.protocol.shown_reference,
            tuple(instance.constants.items()),
            tuple(item.name for item in asked),
            tuple(sorted(instance.dropped)),
            tuple(
                InvariantText(item.name, item.text, item.promise)
                for item in asked
                if item.text is not None and item.kind is Kind.STATE
            ),
            tuple((item.name, item.text) for item in asked if item.text is not None and item.kind is Kind.REACH),
            tuple(
                LivenessText(item.name, item.liveness.trigger_text, item.liveness.goal_text, item.promise)
                for item in asked
                if item.liveness is not None
            ),
            next(((item.liveness.weak, item.liveness.strong) for item in asked if item.liveness is not None), ((), ())),
            question.is_symmetric,
        )

    def resolve(self, protocol: Protocol) -> tuple[Property, ...]:
        """The properties; `ConfigurationError` about `check.invariants` if the protocol does not have one of them."""
        written = [item.property for item in self.invariants]
        written += [sought(name, text) for name, text in self.reach]
        written += [made for name in self.properties if (made := recoverable_named(name)) is not None]
        written += [liveness(item.name, item.trigger, item.goal, self.fairness, item.doc) for item in self.liveness]
        try:
            return tuple(property_named(protocol, name, written) for name in self.properties)
        except ConfigurationError as error:
            raise ConfigurationError(str(error), "check.invariants") from None

    def without(self, clause: tuple[str, str]) -> QuestionText:
        """The question with one more guard clause left out."""
        return replace(self, drop=tuple(sorted({*self.drop, clause})))

    def sought(self) -> tuple[Property, ...]:
        """What is looked for besides."""
        return tuple(sought(name, text) for name, text in self.reach if name not in self.properties)

    def check_fairness(self, protocol: Protocol) -> None:
        """`ConfigurationError` about `fairness` if it names what the protocol does not have."""
        weak, strong = self.fairness
        for key, texts in (("fairness.weak", (weak, ())), ("fairness.strong", (weak, strong))):
            try:
                check_fairness(protocol, *texts)
            except ConfigurationError as error:
                raise ConfigurationError(str(error), key) from None

    def check_texts(self, protocol: Protocol, lemmas: tuple[Property, ...] = ()) -> None:
        """`ConfigurationError` about a predicate that is not one under the constants; see `Property.texts`."""
        written = [item for item in (*self.resolve(protocol), *self.sought(), *lemmas) if item.texts]
        if not written:
            return
        with suppress(ModelError):  # Then the constants are at fault, which `question` reports.
            schema = Schema(protocol.state, dict(self.constants))
            for item in written:
                try:
                    check_texts([item], schema)
                except ConfigurationError as error:
                    key = f"lemmas.{item.name}.holds" if item in lemmas else _key(item)
                    raise ConfigurationError(str(error), key) from None

    def question(
        self,
        protocol: Protocol | None = None,
        probes: Callable[[Instance, tuple[Property, ...]], tuple[Probe, ...]] | None = None,
        tracings: Tracings | None = None,
        besides: str | None = None,
    ) -> Question:
        """The question with its expressions; without `protocol` the one that the text names.

        `probes` makes more to look for, and `tracings` has what questions have in common that are asked one after the other.
        One about a shipped protocol that is asked alone, or whose probes `besides` names, begins with what is known of it
        (`question/known.py`).
        `ConfigurationError` has the key under which spec files hold the part at fault.
        """
        protocol = protocol or protocol_named(self.protocol)
        if besides is None and probes is None and tracings is None:
            besides = ""
        is_named = besides is not None and PROTOCOLS.get(self.protocol) is protocol
        name = name_of((self, besides)) if is_named else ""
        known = known_as(name) if name else None
        if known is None:
            self.check_texts(protocol)
        properties = self.resolve(protocol)
        instance = self._instance(protocol, tracings, known)
        sought = (*reach_probes(self.sought()), *(() if probes is None else probes(instance, properties)))
        question = Question(instance, properties, sought, self.symmetry)
        if name:
            question = TextQuestion.of(question, name, known)
        try:
            question.refuse_asymmetry()
        except ConfigurationError as error:
            raise ConfigurationError(str(error), "check.symmetry") from None
        return question

    def _instance(self, protocol: Protocol, tracings: Tracings | None, known: Known | None) -> Instance:
        constants = dict(self.constants)
        if known is not None:
            instance = Instance(protocol, protocol.bind(constants), frozenset(self.drop), is_lazy=True, tracings=tracings)
            rules = {item.name: item for item in instance.action_rules}
            instance.actions = tuple(
                KnownInstance(rules[name], arguments, partial(instance.action_instance, name, arguments))
                for name, arguments in known.actions
            )
            return instance
        try:
            return protocol.instantiate(constants, self.drop, tracings)
        except DomainOverflow:
            raise
        except ModelError as error:
            key = "weaken.drop" if self.drop and _fits(protocol, constants) else "constants"
            raise ConfigurationError(str(error), key) from None


def _fits(protocol: Protocol, constants: dict[str, int]) -> bool:
    try:
        protocol.instantiate(constants)
    except ModelError:
        return False
    return True


def _key(item: Property) -> str:
    if item.liveness is not None:
        return f"liveness.{item.name}.{'eventually' if item.liveness.trigger_text is None else 'leads_to'}"
    if item.kind is Kind.RECOVERABLE:
        return "check.recoverable"
    return f"reach.{item.name}" if item.kind is Kind.REACH else f"invariants.{item.name}.holds"
