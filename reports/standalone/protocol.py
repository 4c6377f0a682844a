"""A question as what a page needs to step through it: layout, formulas and properties as data, words as a script.

`reports/web/instance.js`, `explain.js` and `teller.js` are the other half: what `acked.model.language.protocol`,
`acked.checker.replay.explain` and `acked.reports.runs.view` are here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from acked.base.errors import ConfigurationError
from acked.checker.question.question import Question
from acked.checker.replay.trace_file import FORMAT, question_document
from acked.invariants.property import Kind
from acked.model.formulas.connectives import evaluation_order
from acked.model.formulas.expr import Expr, Op
from acked.model.language.action import Action
from acked.model.language.domain import BoolDomain, IdDomain, LeafDomain, OptionalDomain, Path, Range, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.composites import LogDomain, as_leaf, is_absent
from acked.model.language.storage.layout import Leaf, Schema
from acked.model.language.telling import Ends, Party, Role, Sort, Those
from acked.model.language.tracings import ActionInstance
from acked.model.language.values import Id
from acked.reports.console import harmless
from acked.reports.pictures.fields import FieldPictures
from acked.reports.pictures.messages import actor_of, lanes_of_protocol, names_of, sorts_of
from acked.reports.pictures.picture import Pictures
from acked.reports.pictures.providers import added_pictures, provider_of
from acked.reports.standalone.javascript import Translator
from acked.reports.standalone.sources import Untranslatable

Json = Any

Conditions = dict[int, Expr]
"""Conditions by the position of their property."""

KINDS = ("int", "bool", "field", *(op.value for op in Op if op not in (Op.CONST, Op.FIELD, Op.ITE)), "ite", "choice")
"""The kinds of nodes by number: two of literals, and of choices the second between truth values."""

WIDE = 32
"""Added to the kind of a node that has, or computes with, numbers which 32 bits do not hold."""

_NARROW = 1 << 31

MAX_BITS, MAX_SET = 53, 30
"""The bits of a number, and the members of a set, that JavaScript has as a number of its own."""


def protocol_data(title: str, question: Question) -> dict[str, Json]:
    """The question as a page steps through it; `told` is the instance in which runs are shown, if it is another."""
    instance = question.instance
    provider = provider_of(instance)
    shown = instance.shown_instance
    told = None
    if shown is not instance:
        actions = list(map(shown.counterpart, instance.actions))
        told = _part(shown, actions, *_conditions(replace(question, instance=shown), actions))
    return {
        "search": _part(instance, instance.actions, *_planned(question)),
        "told": told,
        "names": [item.name for item in question.properties],
        "kinds": [item.kind.value for item in question.properties],
        "arguments": [step.arguments for step in instance.actions],
        "actors": [None if step.action.actor else actor_of(step, provider) for step in instance.actions],
        "initial": instance.schema.unpack(instance.initial[0]),
        "trace": {
            "format": FORMAT,
            "spec": {"title": title, **question_document(question), "fingerprint": question.fingerprint, "violates": None},
        },
    }


# -- formulas ----------------------------------------------------------------------------------------------------------


def _planned(question: Question) -> tuple[Conditions, list[Conditions]]:
    """What holds in a state, and in the steps of every action, by position of a property, of what the engines evaluate."""
    plan, negated = question.plan, question.instance.pool.not_
    in_state = {at: negated(violated) for at, violated in zip(question.state_properties, plan.state_violations, strict=False)}
    in_step: list[Conditions] = [{} for _ in question.instance.actions]
    for check in plan.step_checks:
        if 1 <= check.bit <= len(question.step_properties):
            in_step[check.action][question.step_properties[check.bit - 1]] = negated(check.violated)
    return in_state, in_step


def _conditions(question: Question, actions: Sequence[ActionInstance | None]) -> tuple[Conditions, list[Conditions]]:
    """The same of properties whose violation a page explains, for an instance of which not every action is there."""
    explained = [at for at in question.state_properties if question.properties[at].kind is Kind.STATE]
    in_step = [
        {} if step is None else {at: question.holds_in_step(at, step) for at in question.step_properties} for step in actions
    ]
    return {at: question.holds_in_state(at) for at in explained}, in_step


def _part(
    instance: Instance, actions: Sequence[ActionInstance | None], in_state: Conditions, in_step: Sequence[Conditions]
) -> dict[str, Json]:
    """One instance: its layout, its conditions, and for every action instance guards and updates."""
    steps = [(step, checks) for step, checks in zip(actions, in_step, strict=True) if step is not None]
    roots = list(in_state.values())
    for step, checks in steps:
        roots += [*(guard.condition for guard in step.guards), *(code for _, code in step.updates), *checks.values()]
    order = evaluation_order(roots)
    places = {node.id: place for place, node in enumerate(order)}

    def placed(conditions: Conditions) -> dict[int, int]:
        return {at: places[root.id] for at, root in conditions.items()}

    domains = _Domains(instance)
    return {
        "leaves": [
            [leaf.name, domains.number(leaf), leaf.cardinality, leaf.word, leaf.shift, leaf.bits,
             *([leaf.path] if leaf.path in instance.schema.messages else [])]
            for leaf in instance.schema.leaves
        ],
        "domains": domains.found,
        "tree": _tree(instance.schema),
        "words": instance.schema.words,
        "nodes": [number for node in order for number in _node(node, places)],
        "holds": placed(in_state),
        "actions": [
            step and {
                "guards": [[harmless(guard.label), places[guard.condition.id]] for guard in step.guards],
                "updates": [[leaf, places[code.id]] for leaf, code in step.updates],
                "checks": placed(checks),
            }
            for step, checks in zip(actions, in_step, strict=True)
        ],
    }  # fmt: skip


def _node(node: Expr, places: dict[int, int]) -> Iterator[Json]:
    if node.op is Op.CONST:
        yield from (KINDS.index("bool" if node.is_bool else "int"), _number(node.value))
    elif node.op is Op.FIELD:
        yield from (KINDS.index("field"), node.value)
    else:
        kind = KINDS.index("choice" if node.op is Op.ITE and node.is_bool else node.op.value)
        is_wide = any(max(abs(part.lo), abs(part.hi)) >= _NARROW for part in (node, *node.args))
        yield from (kind + WIDE * is_wide, *(places[part.id] for part in node.args))


def _number(value: int) -> int | str:
    """A number as JSON keeps it: one that doubles do not hold is a text."""
    return value if abs(value) < 1 << 53 else str(value)


# -- layout ------------------------------------------------------------------------------------------------------------


class _Domains:
    """What the leaves of an instance hold, each kind once."""

    def __init__(self, instance: Instance) -> None:
        self._constants = instance.constants
        self.found: list[dict[str, Json]] = []

    def number(self, leaf: Leaf) -> int:
        held = self._held(leaf.domain.bare)
        if leaf.bits > (MAX_SET if held["kind"] == "set" else MAX_BITS):
            raise ConfigurationError(
                f"{leaf.name} has {leaf.bits} bits, more than a page computes with; explore it with smaller constants"
            )
        held |= {"bare": leaf.domain.bare is leaf.domain, "absent": is_absent(leaf.domain, self._constants)}
        if held not in self.found:
            self.found.append(held)
        return self.found.index(held)

    def _held(self, domain: LeafDomain) -> dict[str, Json]:
        item = getattr(domain, "item", None)
        sort = item.__name__ if item is not None and issubclass(item, Id) else None
        if isinstance(domain, SetDomain):
            return {"kind": "set", "sort": sort}
        if isinstance(domain, BoolDomain):
            return {"kind": "flag", "sort": None}
        if isinstance(domain, OptionalDomain):
            return {**self._held(as_leaf(domain.item)), "none": True}
        if type(domain) is Range:
            return {"kind": "number", "sort": None, "least": domain.bounds(self._constants)[0]}
        if isinstance(domain, IdDomain):
            return {"kind": "number", "sort": sort, "least": 0}
        names = [domain.to_plain(code, self._constants) for code in range(domain.cardinality(self._constants))]
        return {"kind": "name", "sort": None, "names": names}


def _tree(schema: Schema) -> Json:
    """How a state is decoded: objects, lists and leaves; a log is the leaf of its end and what its records are.

    A list that is empty although leaves are kept for it counts how often it has each of the values that it may have.
    """
    most = [leaf.cardinality - 1 if leaf.path[-1] == LogDomain.END else 0 for leaf in schema.leaves]

    def grow(sample: object, path: Path) -> Json:
        if path in schema.by_path:
            return schema.by_path[path]
        if path in schema.logs and isinstance(sample, dict):
            records = sample[LogDomain.RECORDS]
            return {
                "log": schema.by_path[(*path, LogDomain.END)],
                "records": [grow(record, (*path, LogDomain.RECORDS, k)) for k, record in enumerate(records)],
            }
        if isinstance(sample, dict):
            return {"struct": {name: grow(value, (*path, name)) for name, value in sample.items()}}
        assert isinstance(sample, list)
        counts = [at for place, at in schema.by_path.items() if place[: len(path)] == path]
        if counts and not sample:
            return {"counts": [[at, _alone(schema, at, path)] for at in counts if schema.leaves[at].cardinality > 1]}
        return [grow(value, (*path, k)) for k, value in enumerate(sample)]

    return grow(schema.decode(most), ())


def _alone(schema: Schema, leaf: int, path: Path) -> Json:
    """The value whose number a leaf counts, of those in the list at a path."""
    found: Any = schema.decode([int(at == leaf) for at in range(len(schema.leaves))])
    for part in path:
        found = found[part]
    return found[0]


# -- words -------------------------------------------------------------------------------------------------------------


def words_script(question: Question) -> str:
    """JavaScript that tells steps and draws states; what cannot be said there is left out, and listed in `WORDS.missing`."""
    return _Words(question).script()


class _Words:
    def __init__(self, question: Question) -> None:
        self._instance = question.instance
        self._shown = question.instance.shown_instance
        self._provider: Pictures = provider_of(question.instance)
        self._translator = Translator()
        self._missing: list[str] = []

    def script(self) -> str:
        rules = {item.name: item for item in self._instance.action_rules}
        with self._shown.author_context("the words"):
            told = {name: self._or_none(name, self._action(item)) for name, item in rules.items()}
        with self._instance.author_context("the pictures"):
            initial, picture, added = self._pictures()
            lanes = lanes_of_protocol(self._instance, self._provider)
        parts = {
            "initial": initial,
            "picture": picture,
            "added": added,
            "lanes": self._text(lanes),
            "missing": self._text(self._missing),
            "actions": _object({self._text(name): text for name, text in told.items()}),
        }
        return f"{self._translator.text}\nconst WORDS = {_object(parts)};\n"

    def _text(self, value: object) -> str:
        return self._translator.literal(value)

    def _or_none(self, what: str, make: Callable[[], str]) -> str:
        try:
            return make()
        except Untranslatable as error:
            self._missing.append(f"{what}: {error}")
            return "null"

    def _pictures(self) -> tuple[str, str, str]:
        """The functions that tell the beginning, draw a state, and draw the fields that a copy has besides."""
        try:
            function, more = self._translator.function, added_pictures(self._instance, self._provider)
            added = "null" if more is None else function(more.picture, self._instance)
            return function(self._provider.says_initial), function(self._provider.picture, self._instance), added
        except Untranslatable as error:
            self._missing.append(f"pictures: {error}")
            self._provider = FieldPictures(self._instance)
            return self._pictures()

    def _action(self, item: Action) -> Callable[[], str]:
        def make() -> str:
            says = "null" if item.says is None else self._translator.function(item.says)
            messages = ",\n".join(self._message(message, item) for message in item.messages)
            return _object({"says": says, "actor": self._actor(item), "messages": f"[{messages}]"})

        return make

    def _actor(self, item: Action) -> str:
        return "null" if item.actor is None else self._party(item.actor, item)

    def _message(self, message: Any, item: Action) -> str:
        if isinstance(message, Ends):
            when = "null" if message.when is None else self._translator.function(message.when)
            channel = self._text(message.channel)
            return _object({"whose": self._party(message.whose, item), "channel": channel, "when": when})
        parts = {
            "sender": self._party(message.sender, item),
            "receiver": self._party(message.receiver, item),
            "text": self._text(message.text),
            "course": self._text(message.course.name),
            "channel": self._text(message.channel),
            "number": self._text(message.number),
            "late": self._text(message.is_late),
        }
        return _object(parts)

    def _party(self, party: Party, item: Action) -> str:
        """A function from the telling of a step to the lanes of a party."""
        if isinstance(party, Role):
            return f"() => {self._text([party.name])}"
        if isinstance(party, Those):
            return f"(t) => named({self._lanes(party.sort)}, {self._translator.function(party.which)}(t))"
        return f"(t) => named({self._lanes(sorts_of(item)[party])}, t.{party})"

    def _lanes(self, sort: Sort) -> str:
        """What those of a sort are called, by their numbers."""
        return self._text(names_of(sort, self._instance.constants, self._provider))


def _object(parts: Mapping[str, str]) -> str:
    """An object in JavaScript, of keys and what is said there."""
    lines = ",\n".join(f"{name}: {text}" for name, text in parts.items())
    return f"{{\n{lines}\n}}"
