"""Trace files: writing a run, and reading it back by replaying it with the plain evaluator.

`read_trace` believes nothing that the file says: the run is fired step by step, and every state and everything else that the
file says is compared with what the run shows. It runs no protocol file that a trace names, unless the user says so.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.base.names import is_name
from acked.checker.question.marks import false_guards
from acked.checker.question.question import Question
from acked.checker.question.result import Counterexample, Run, Words
from acked.checker.question.user_properties import recoverable_named
from acked.checker.replay.lasso import refusal_of
from acked.checker.replay.steps import steps_of_run
from acked.checker.spec.question_text import InvariantText, LivenessText, QuestionText
from acked.checker.spec.resolve import bind_constants, clause_named, protocol_named
from acked.checker.spec.user_protocol import is_reference
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.formulas.errors import ModelError
from acked.model.formulas.evaluate import Evaluator
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.tracings import ActionInstance

FORMAT = "acked-trace/1"
"""What a trace document says in `format`."""

_FAIRNESS = ("weak", "strong")
_KINDS: Mapping[type, str] = {dict: "a JSON object", list: "a JSON array", str: "a text"}

T = TypeVar("T")


def trace_document(found: Counterexample) -> dict[str, Any]:
    """The trace document of a run and the property that its last state or last step violates, if any.

    Steps are numbered from 0; step 0 is the initial state, with action None and no parameters. `drop` names the guard
    clauses that were left out of the protocol; a property is null at a step that does not decide it. Of an infinite run
    `loop` is the number of the step after which the last one is as well, and the run goes on as it did from there.
    """
    question, run = found.question, found.run
    return {
        "format": FORMAT,
        **({} if run.loop is None else {"loop": run.loop}),
        "spec": {
            "title": found.title,
            **question_document(question),
            "fingerprint": question.fingerprint,
            "violates": None if found.property is None else found.property.name,
        },
        "steps": [
            {
                "index": step.index,
                "action": None if step.action is None else step.action.action.name,
                "params": {} if step.action is None else dict(step.action.arguments),
                "state": dict(step.state),
                "changed": list(step.changed),
                "properties": {mark.property: mark.holds for mark in step.marks},
            }
            for step in steps_of_run(question, run)
        ],
    }


def read_trace(path: Path, rules: Protocol | None = None, trusts: bool = False) -> Counterexample:
    """Reads and replays a trace; `SpecUnreadable` says which part or step of it is wrong.

    `rules` are what the user says that it is a run of. Without them the trace's own word counts for shipped protocols, and
    for a file beside it or in the working directory only if the user `trusts` it: a protocol file is run.
    """
    document = _json(path)
    try:
        found = replay(document, rules, path.parent if trusts else None)
    except (SpecUnreadable, ConfigurationError) as error:
        raise SpecUnreadable(f"{path}: {error}") from None
    if (mistake := _first_difference(document, trace_document(found))) is not None:
        raise SpecUnreadable(f"{path}: {mistake} is not what the run shows; the file was edited")
    return found


def is_ours(path: Path) -> bool:
    """Whether a JSON file calls itself a trace of ours; `SpecUnreadable` if it is not a JSON file."""
    return _is_trace(_json(path))


def _json(path: Path) -> object:
    try:
        return json.loads(read_text(path, "trace file"))
    except ValueError as error:
        raise SpecUnreadable(f"{path} is not a trace file: not valid JSON ({error})") from None
    except RecursionError:
        raise SpecUnreadable(f"{path} is not a trace file: its JSON is nested too deeply") from None


def _is_trace(document: object) -> bool:
    return isinstance(document, dict) and document.get("format") == FORMAT


def _spec_of(document: Any) -> Mapping[str, Any]:
    if not isinstance(document, dict) or not _is_trace(document):
        raise SpecUnreadable(f"not a trace file: its format should be {FORMAT!r}")
    spec: Mapping[str, Any] = _part(document, "spec", dict)
    return spec


def replay(document: Any, rules: Protocol | None = None, folder: Path | None = None) -> Counterexample:
    """Replays a trace document; `SpecUnreadable` or `ConfigurationError` if it is not a run of its spec.

    `rules` are the protocol that it must be of. Without them a protocol that is not shipped is run from its file in `folder`,
    else in the working directory; without `folder` it is refused.
    """
    spec = _spec_of(document)
    protocol = _protocol(_part(spec, "protocol", str), rules, folder)
    text = _question_text(spec, protocol)
    text.check_fairness(protocol)
    question = text.question(protocol)
    followed = _follow(question.instance, _part(document, "steps", list))
    loop = document.get("loop")
    if loop is not None and type(loop) is not int:
        raise SpecUnreadable("not a trace file: 'loop' must be the number of a step")
    run = replace(followed, loop=loop)
    violates, broken = spec.get("violates"), None
    if violates is not None:
        broken = _confirm(question, violates, run)
    elif loop is not None:
        raise SpecUnreadable("the trace has a loop, but claims to violate nothing")
    title = spec.get("title")
    return Counterexample(title if isinstance(title, str) else protocol.name, question, run, broken)


def run_in(document: Any, instance: Instance) -> Run:
    """The steps of a trace document as a run of an instance at hand, whatever the document says about properties.

    Nothing is loaded and no predicate is read. `ConfigurationError` if the trace is of another instance, before anything
    else is looked at; `SpecUnreadable` if it is not a run of this one.
    """
    spec, protocol = _spec_of(document), instance.protocol
    is_same = _part(spec, "protocol", str) == protocol.shown_reference
    if is_same:
        constants = bind_constants(protocol, _part(spec, "constants", dict))
        texts = _part(spec, "drop", list) if "drop" in spec else []
        dropped = frozenset(clause_named(protocol, str(text)) for text in texts)
        is_same = (constants, dropped) == (instance.constants, instance.dropped)
    if not is_same:
        raise ConfigurationError("the trace is of another protocol, or of other constants")
    return _follow(instance, _part(document, "steps", list))


def _follow(instance: Instance, steps: list[object]) -> Run:
    """The run that the steps of a document are, each of them fired."""
    if not steps:
        raise SpecUnreadable("the trace has no steps")
    states = [_state(instance, step, 0) for step in steps[:1]]
    if states[0] not in instance.initial:
        raise SpecUnreadable("step 0 is not an initial state of the protocol")
    actions: list[ActionInstance] = []
    for index, step in enumerate(steps[1:], start=1):
        codes = instance.schema.unpack(states[-1])
        action = _action(instance, step, index, codes)
        try:
            reached = instance.schema.pack(instance.fire(action, codes))
        except ModelError as error:
            raise SpecUnreadable(f"step {index} is not a transition of the protocol: {error}") from None
        if reached != _state(instance, step, index):
            raise SpecUnreadable(f"the state of step {index} is not what {action.label} leads to")
        actions.append(action)
        states.append(reached)
    return Run(tuple(states), tuple(actions))


def _confirm(question: Question, name: object, run: Run) -> Property:
    """The property of that name; `SpecUnreadable` unless the last state, or the last step, or the lasso violates it."""
    states, actions = run.states, run.actions
    position = next((at for at, item in enumerate(question.properties) if item.name == name), None)
    if position is None:
        raise SpecUnreadable(f"the trace claims to violate {name!r}, which it does not ask")
    item = question.properties[position]
    if item.kind is Kind.LIVENESS:
        if refusal := refusal_of(question, item, run):
            raise SpecUnreadable(f"the trace claims to violate {name!r}, but it {refusal}")
        return item
    if run.loop is not None:
        raise SpecUnreadable(f"the trace has a loop, but {name!r} is not about infinite traces")
    plan, instance = question.plan, question.instance
    if position in question.state_properties:
        where, state = "state", states[-1]
        conditions = [plan.state_violations[question.state_properties.index(position)]]
    elif position in question.graph_properties:
        # That no continuation leads there is not decided anew; but the state itself must not be one.
        where, state = "state", states[-1]
        conditions = [instance.pool.not_(instance.state_predicate(item.name, item.predicate))]
    else:
        where, state = "step", states[-2] if actions else states[-1]
        last = [number for number, step in enumerate(instance.actions) if actions and step is actions[-1]]
        bit = question.step_properties.index(position) + 1
        conditions = [check.violated for check in plan.step_checks if check.action in last and check.bit == bit]
    if not any(Evaluator(conditions)(instance.schema.unpack(state))):
        raise SpecUnreadable(f"the trace claims to violate {name!r}, which holds in its last {where}")
    return item


def _protocol(name: str, rules: Protocol | None, folder: Path | None) -> Protocol:
    if rules is not None:
        if name != rules.shown_reference:
            raise ConfigurationError(f"the trace is of another protocol, {name}, than {rules.shown_reference}")
        return rules
    if is_reference(name):
        file = name.rpartition(":")[0]
        is_beside = Path(file).name == file
        if folder is None:
            trusted = ", or add --trust if that file may be run" if is_beside else ""
            raise SpecUnreadable(
                f"its protocol is a Python file's, {name}, and no trace has a file run; name the spec with --spec SPEC"
                f"{trusted}"
            )
        if not is_beside:
            raise SpecUnreadable(
                f"its protocol's file, {file}, must be named without a folder to be trusted; name the spec with --spec SPEC"
            )
        if not (folder / file).exists():
            folder = Path()
    return protocol_named(name, folder)


def question_document(question: Question) -> dict[str, Any]:
    """A question as traces hold it; no keys for predicates where the question brings none with it."""
    instance, text = question.instance, QuestionText.of(question)
    holds = {item.name: item.holds for item in text.invariants}
    goals = {item.name: item.goal if item.trigger is None else [item.trigger, item.goal] for item in text.liveness}
    sought = dict(text.reach)
    written: dict[str, dict[str, Any]] = {}
    for name in text.properties:
        if name in goals:
            written.setdefault("liveness", {})[name] = goals[name]
            written["fairness"] = {key: list(value) for key, value in zip(_FAIRNESS, text.fairness, strict=True)}
        elif name in sought:
            written.setdefault("reach", {})[name] = sought[name]
        elif name in holds:
            written.setdefault("invariants", {})[name] = holds[name]
        elif (made := recoverable_named(name)) is not None:
            written.setdefault("invariants", {})[name] = made.text
    return {
        "protocol": text.protocol,
        "constants": instance.shown_constants,
        "drop": [f"{action}: {label}" for action, label in text.drop],
        "properties": list(text.properties),
        **written,
    }


def _question_text(spec: Mapping[str, Any], protocol: Protocol) -> QuestionText:
    """The question that a trace document holds, of a protocol at hand."""
    constants = bind_constants(protocol, _part(spec, "constants", dict))
    names = [str(name) for name in _part(spec, "properties", list)]
    if len(set(names)) < len(names):
        raise SpecUnreadable("not a trace file: 'properties' names one twice")
    invariants, reach = (_texts(spec, key) for key in ("invariants", "reach"))
    liveness = _liveness(spec, protocol)
    fairness = _part(spec, "fairness", dict) if liveness else {}
    weak, strong = (tuple(map(str, _part(fairness, key, list))) if liveness else () for key in _FAIRNESS)
    return QuestionText(
        spec["protocol"],
        tuple(constants.items()),
        tuple(names),
        tuple(clause_named(protocol, str(text)) for text in (_part(spec, "drop", list) if "drop" in spec else [])),
        tuple(InvariantText(name, text) for name, text in invariants.items() if recoverable_named(name) is None),
        tuple((name, text) for name, text in reach.items() if name in names),
        liveness,
        (weak, strong),
    )


def _texts(spec: Mapping[str, Any], key: str) -> dict[str, str]:
    """The predicates that the trace's spec wrote itself, by their names."""
    texts: dict[str, str] = _part(spec, key, dict) if key in spec else {}
    if not all(isinstance(text, str) for text in texts.values()):
        raise SpecUnreadable(f"not a trace file: {key!r} must hold a predicate under each name")
    return texts


def _liveness(spec: Mapping[str, Any], protocol: Protocol) -> tuple[LivenessText, ...]:
    """The properties of liveness that the trace's spec wrote itself."""
    made = []
    for name, said in (_part(spec, "liveness", dict) if "liveness" in spec else {}).items():
        pair = said if isinstance(said, list) else [None, said]
        if len(pair) != 2 or not isinstance(pair[1], str) or not isinstance(pair[0], str | None):
            raise SpecUnreadable("not a trace file: 'liveness' must hold a goal, or a trigger and a goal, under each name")
        if not is_name(name) or name in properties_of(protocol):
            raise SpecUnreadable(f"not a trace file: {name!r} cannot be the name of a property of its own")
        made.append(LivenessText(name, *pair))
    return tuple(made)


def _first_difference(given: object, expected: object, where: str = "") -> str | None:
    """Where a trace file departs from what its own run shows; `title` and `fingerprint` are not the run's business."""
    if isinstance(expected, dict) and isinstance(given, dict):
        for key in expected:
            if where == "spec" and key in ("title", "fingerprint"):
                continue
            found = _first_difference(given.get(key), expected[key], f"{where}.{key}".lstrip("."))
            if found is not None:
                return found
        return next((f"{where}.{key}".lstrip(".") for key in given if key not in expected), None)
    if isinstance(expected, list) and isinstance(given, list) and len(given) == len(expected):
        pairs = enumerate(zip(given, expected, strict=True))
        return next((found for k, (a, b) in pairs if (found := _first_difference(a, b, f"{where}[{k}]"))), None)
    return None if type(given) is type(expected) and given == expected else where  # JSON's true is not 1.


def _part(document: Mapping[str, object], key: str, kind: type[T]) -> T:
    part = document.get(key)
    if not isinstance(part, kind):
        raise SpecUnreadable(f"not a trace file: {key!r} is missing or is not {_KINDS[kind]}")
    return part


def _state(instance: Instance, step: Any, index: int) -> Words:
    schema = instance.schema
    try:
        return schema.pack(schema.encode(step["state"]))
    except (KeyError, TypeError):
        raise SpecUnreadable(f"step {index} has no state") from None
    except ModelError as error:
        raise SpecUnreadable(f"the state of step {index} is not a state of the protocol: {error}") from None


def _action(instance: Instance, step: object, index: int, codes: list[int]) -> ActionInstance:
    if not isinstance(step, dict) or not isinstance(step.get("params"), dict):
        raise SpecUnreadable(f"step {index} has no action with params")
    name, arguments = step.get("action"), step["params"]
    for item in instance.actions:
        if item.action.name == name and item.arguments == arguments:
            if false := false_guards(item, codes):
                why = f"{item.label} is not enabled, {false[0].label!r} does not hold"
                raise SpecUnreadable(f"step {index} is not a transition of the protocol: {why}")
            return item
    raise SpecUnreadable(f"step {index} is not a transition of the protocol: {name!r} with {arguments} is never enabled")
