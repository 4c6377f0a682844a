"""Spec files: one question each, in TOML, with the expected answer.

Reading a spec into a `Spec`, strictly (an unknown key, name or value is an error that names file, line, key and choices), and
making its `Question`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from acked.checker.errors import ConfigurationError, SpecUnreadable
from acked.checker.files import read_text
from acked.checker.names import choices, near
from acked.checker.question.fairness import check_fairness, check_present
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Verdict
from acked.checker.question.user_properties import (
    SOUGHT,
    check_texts,
    liveness,
    reach_probes,
    recoverable,
    sought,
    written_invariant,
)
from acked.checker.spec.expectation import Expectation
from acked.checker.spec.user_protocol import is_reference, load_protocol
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Kind, Property
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.domain import is_name
from acked.model.language.layout import Schema
from acked.model.language.protocol import Protocol

_TOP = ("title", "protocol", "version", "control_plane", "slow", "claim", "gallery", "constants", "weaken",
        "invariants", "reach", "liveness", "fairness", "check", "expect")  # fmt: skip
_CLAIM = ("true", "corrected", "source")
_GALLERY = ("row", "id", "fixed", "role", "mechanism", "rule", "also")
_ROLES = ("bug", "fix", "latest", "attempt", "open")
_WEAKEN = ("drop",)
_CHECK = ("invariants", "deadlock", "symmetry", "count_only", "recoverable", "without")
_PINS = ("trace_length", "distinct_states", "at_least_distinct_states", "generated_states", "depth")
_INVARIANT = ("holds", "doc")
_LIVENESS = ("eventually", "leads_to", "doc")
_FAIRNESS = ("weak", "strong")
_EXPECT = ("verdict", "violates", "holds", "unreachable", *_PINS, "never_fired")


@dataclass(frozen=True)
class Claim:
    """A sentence that documentation or articles say, which is the spec's title: whether it is true, and who says it.

    A sentence about what always is so is true if the property holds; one about what can happen, if it is violated. So `true`
    stands beside the expected verdict. `corrected` is what would be true instead; only a false sentence has it.
    """

    true: bool
    source: str
    corrected: str = ""


@dataclass(frozen=True)
class GalleryEntry:
    """What a spec shows of a known bug: a row of the gallery, of which it is one part.

    `role`: "bug" breaks a promise (`mechanism` tells how), "fix" keeps it at the same constants with the mending rule on
    (`rule`), "latest" keeps it with every known rule, "open" is violated still, "attempt" did not find what was sought.
    `row` numbers the bug, `id` names it in the field's own terms, `fixed` is the release that mended it. `also` says which
    other rules are on, and why.
    """

    row: int
    id: str
    fixed: str
    role: str
    mechanism: str = ""
    rule: str = ""
    also: str = ""


@dataclass(frozen=True)
class Spec:
    """One question and its expected answer.

    `name` is the file's name without its ending, `version` the release that it names, if it does; `drop` names guard
    clauses, as (action, label), that the spec leaves out of the protocol to show what they protect. `reach` are states
    that the spec looks for besides. `warnings` say where settings are not what one may think. With `symmetry`, states
    that differ only in the names of interchangeable ids are visited, and counted, once.

    >>> spec = load_spec("truncate-to-hw")
    >>> spec.protocol.name, spec.expect.verdict, sorted(spec.expect.violates)
    ('truncate-to-hw', <Verdict.VIOLATED: 'violated'>, ['WeakIsr'])
    """

    name: str
    path: Path | None
    title: str
    protocol: Protocol
    constants: dict[str, int]
    properties: tuple[Property, ...]
    reach: tuple[Property, ...] = ()
    drop: frozenset[tuple[str, str]] = frozenset()
    count_only: bool = False
    slow: bool = False
    expect: Expectation | None = None
    warnings: tuple[str, ...] = ()
    claim: Claim | None = None
    gallery: GalleryEntry | None = None
    symmetry: bool = False
    version: str | None = None
    line_of: Mapping[str, int] = field(default_factory=dict)

    def question(self) -> Question:
        """The question, with the protocol instantiated; `ConfigurationError` if its constants do not fit."""
        self.check_written()
        try:
            instance = self.protocol.instantiate(self.constants, self.drop)
        except ModelError as error:
            key = "weaken.drop" if self._fits_without_drop() else "constants"
            raise ConfigurationError(f"{self.where(key)}{error}") from None
        for item in self.properties:
            try:
                check_present(instance, item)
            except ConfigurationError as error:
                raise ConfigurationError(f"{self.where('fairness')}{error}") from None
        question = Question(instance, self.properties, reach_probes(self.reach), self.symmetry)
        try:
            question.refuse_asymmetry()
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.where('check.symmetry')}{error}") from None
        return question

    def _fits_without_drop(self) -> bool:
        try:
            self.protocol.instantiate(self.constants)
        except ModelError:
            return False
        return True

    def check_written(self) -> None:
        """`ConfigurationError` if a predicate that the spec writes means nothing under its constants."""
        for table, written in (("invariants.{}.holds", self.properties), ("reach.{}", self.reach)):
            for item in written:
                try:
                    check_texts([item], Schema(self.protocol.state, self.constants))
                except ConfigurationError as error:
                    key = "check.recoverable" if item.kind is Kind.RECOVERABLE else table.format(item.name)
                    if item.liveness is not None:
                        is_pair = item.liveness.trigger_text is not None
                        key = f"liveness.{item.name}.{'leads_to' if is_pair else 'eventually'}"
                    raise ConfigurationError(f"{self.where(key)}{error}") from None
                except ModelError:
                    return  # of the constants, which `question` words

    def where(self, key: str = "") -> str:
        """`specs/kip320.toml:7: ` for error messages."""
        if self.path is None:
            return ""
        line = self.line_of.get(key)
        return f"{self.path}:{line}: " if line else f"{self.path}: "

    @property
    def wants_every_property(self) -> bool:
        """Whether a search must go on after a violation: several are expected, or states are looked for besides."""
        return bool(self.reach) or (self.expect is not None and len(self.expect.violates) > 1)


def load_spec(path: Path) -> Spec:
    """Reads a spec file; `SpecUnreadable` if it is no TOML, `ConfigurationError` if it says something impossible."""
    return parse_spec(read_text(path, "spec file"), path)


def parse_spec(text: str, path: Path) -> Spec:
    """Like `load_spec`, of text already read; `path` is for messages and the name."""
    return _Reader(path, _document(text, path), _lines(text)).spec()


def protocol_in(path: Path) -> str:
    """The protocol that a spec file names, of which nothing is loaded; empty if it names none."""
    name = _document(read_text(path, "spec file"), path).get("protocol")
    return name if isinstance(name, str) else ""


def _document(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise SpecUnreadable(f"{path} is not valid TOML for acked: it is nested too deeply") from None
    except ValueError as error:  # A TOMLDecodeError, or a number of more digits than Python reads.
        raise SpecUnreadable(f"{path} is not valid TOML: {str(error).partition(';')[0]}") from None


def property_named(protocol: Protocol, name: str, written: Iterable[Property] = ()) -> Property:
    """A property of a protocol, or one that a spec writes; `ConfigurationError` lists the choices."""
    known = {**properties_of(protocol), **{item.name: item for item in written}}
    if name == DEADLOCK.name:
        return DEADLOCK
    if name not in known:
        raise ConfigurationError(
            f"{protocol.name} has no property {name!r}{near(name, known)}; it has {choices(known)}"
        )
    return known[name]


def clause_named(protocol: Protocol, text: str) -> tuple[str, str]:
    """`LeaderWrite: room in the log` as (action, label); whether the action has the clause shows when it is traced."""
    action, separator, label = text.partition(":")
    actions = [item.name for item in protocol.actions]
    if not separator or action.strip() not in actions:
        raise ConfigurationError(
            f"{text!r} names no guard clause; write \"Action: label\" with one of the actions {choices(actions)}"
        )
    return action.strip(), label.strip()


def refuse_unasked(properties: Iterable[Property], constants: Mapping[str, int]) -> None:
    """`ConfigurationError` for a property about a part that the constants turn off: it would hold, and say nothing."""
    for item in properties:
        if lacks := item.lacks(constants):
            raise ConfigurationError(f"{item.name} would hold and say nothing: there is no {lacks}, or do not ask it")


def protocol_named(name: str, folder: Path | None = None) -> Protocol:
    """A shipped protocol, or that of a file (`toylog.py:toylog`, beside `folder`); `ConfigurationError` lists the choices."""
    if is_reference(name):
        return load_protocol(name, folder or Path())
    if name not in PROTOCOLS:
        raise ConfigurationError(
            f"there is no protocol {name!r}{near(name, PROTOCOLS)}; the protocols are {choices(PROTOCOLS)}"
        )
    return PROTOCOLS[name]


def bind_constants(protocol: Protocol, constants: Mapping[str, Any]) -> dict[str, int]:
    """Checked constants; `ConfigurationError` names the one that does not fit."""
    try:
        return protocol.bind(constants)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None


def settle(
    protocol: Protocol, given: Mapping[str, Any], constants: Mapping[str, int], control_plane: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The constants in effect, and warnings; `ConfigurationError` for settings that Kafka refuses together."""
    try:
        return protocol.settle(given, constants, control_plane)
    except ModelError as error:
        raise ConfigurationError(str(error)) from None


class _Reader:
    """Reads one document; every refusal names file, line and key."""

    def __init__(self, path: Path, document: dict[str, Any], lines: dict[str, int]) -> None:
        self.path = path
        self.document = document
        self.lines = lines

    def refuse(self, key: str, message: str) -> NoReturn:
        line = self.lines.get(key)
        raise ConfigurationError(f"{self.path}:{line}: {message}" if line else f"{self.path}: {message}")

    def spec(self) -> Spec:
        self.keys("", self.document, _TOP)
        title = self.get("title", str, required=True)
        protocol_name = self.get("protocol", str, required=True)
        protocol = self.named("protocol", lambda: protocol_named(protocol_name, self.path.parent))
        table = self.table("constants")
        for name in table:
            if name not in {constant.name for constant in protocol.constants}:
                known = [constant.name for constant in protocol.constants]
                self.refuse(
                    f"constants.{name}",
                    f"{protocol.name} has no constant {name!r}{near(name, known)}; it has {choices(known)}",
                )
        wrong = next((name for name in table if _is_out_of_range(protocol, name, table[name])), "")
        key = f"constants.{wrong}" if wrong else "constants"
        bound = self.named(key, lambda: bind_constants(protocol, {**self.profile(protocol), **table}))
        plane = self.get("control_plane", str)
        constants, warnings = self.named("constants", lambda: settle(protocol, table, bound, plane))
        self.keys("check", self.table("check"), _CHECK)
        count_only = self.get("check.count_only", bool, default=False)
        names = self.names("check.invariants")
        written = self.written(protocol, names)
        properties = [
            self.named("check.invariants", lambda name=name: property_named(protocol, name, written)) for name in names
        ]
        reach = self.sought(written)
        if self.get("check.deadlock", bool, default=False):
            properties.append(DEADLOCK)
        properties += self.recoverable(protocol)
        properties += self.liveness(protocol, [item.name for item in (*written, *reach)])
        asked = [item.name for item in properties]
        if repeated := sorted({name for name in asked if asked.count(name) > 1}):
            self.refuse("check.invariants", f"{choices(repeated)} is asked twice; name each property once")
        self.named("check.invariants", lambda: refuse_unasked(properties, constants))
        if count_only and (properties or reach):
            self.refuse("check.count_only", "count_only = true asks nothing, so there may be no invariants and no [reach]")
        if not count_only and not properties and not reach:
            self.refuse(
                "check.invariants",
                "[check] asks nothing: name invariants (see `acked list invariants`) or set count_only = true",
            )
        spec = Spec(
            name=self.path.stem,
            path=self.path,
            title=title,
            protocol=protocol,
            constants=constants,
            warnings=warnings,
            properties=tuple(properties),
            reach=reach,
            drop=self.dropped(protocol),
            count_only=count_only,
            slow=self.get("slow", bool, default=False),
            expect=self.expectation(properties, reach, protocol) if "expect" in self.document else None,
            claim=self.claim() if "claim" in self.document else None,
            gallery=self.gallery() if "gallery" in self.document else None,
            symmetry=self.get("check.symmetry", bool, default=False),
            version=self.get("version", str),
            line_of=self.lines,
        )
        spec.check_written()
        return spec

    def written(self, protocol: Protocol, asked: Iterable[str]) -> list[Property]:
        """The invariants that the spec writes; every one of them is asked."""
        made = []
        for name in (tables := self.table("invariants")):
            key = f"invariants.{name}"
            if not isinstance(tables[name], dict):
                self.refuse(key, f"{key} must be a table: write [{key}] and holds = \"…\" under it")
            self.new_name(key, name, properties_of(protocol))
            self.keys(key, self.table(key), _INVARIANT)
            holds = self.get(f"{key}.holds", str, required=True)
            if name not in asked:
                self.refuse(key, f"{name} is written but not asked; add it to invariants under [check]")
            made.append(written_invariant(name, holds, self.get(f"{key}.doc", str, default="")))
        return made

    def recoverable(self, protocol: Protocol) -> list[Property]:
        """What the cluster must always be able to get back to."""
        texts, without = self.names("check.recoverable"), self.names("check.without")
        actions = [item.name for item in protocol.actions]
        for name in without:
            if name not in actions:
                hint = f"{near(name, actions)}; it has {choices(actions)}"
                self.refuse("check.without", f"{protocol.name} has no action {name!r}{hint}")
        if without and not texts:
            self.refuse("check.without", "without says what does not count as help for recoverable, which is missing")
        return [recoverable(text, without) for text in texts]

    def liveness(self, protocol: Protocol, known: Iterable[str]) -> list[Property]:
        """What must come, in every run that is fair; every one of them is asked."""
        self.keys("fairness", self.table("fairness"), _FAIRNESS)
        weak, strong = self.names("fairness.weak"), self.names("fairness.strong")
        self.named("fairness.weak", lambda: check_fairness(protocol, weak, ()))
        self.named("fairness.strong", lambda: check_fairness(protocol, weak, strong))
        tables = self.table("liveness")
        if "fairness" in self.document and not tables:
            self.refuse("fairness", "[fairness] is for promises of [liveness.…], and there is none; see docs/liveness.md")
        made = []
        for name in tables:
            key = f"liveness.{name}"
            if not isinstance(tables[name], dict):
                self.refuse(key, f"{key} must be a table: write [{key}] and eventually or leads_to under it")
            self.new_name(key, name, [*properties_of(protocol), *known])
            self.keys(key, self.table(key), _LIVENESS)
            if ("eventually" in tables[name]) == ("leads_to" in tables[name]):
                self.refuse(key, f'[{key}] says either eventually = "GOAL" or leads_to = ["TRIGGER", "GOAL"]')
            if "eventually" in tables[name]:
                trigger, goal = None, self.get(f"{key}.eventually", str)
            else:
                pair = self.names(f"{key}.leads_to")
                if len(pair) != 2:
                    self.refuse(f"{key}.leads_to", f'{key}.leads_to must be two predicates: ["TRIGGER", "GOAL"]')
                trigger, goal = pair
            made.append(liveness(name, trigger, goal, (weak, strong), self.get(f"{key}.doc", str, default="")))
        return made

    def sought(self, written: list[Property]) -> tuple[Property, ...]:
        """The states that the spec looks for."""
        for name in (table := self.table("reach")):
            self.new_name(f"reach.{name}", name, [item.name for item in written])
        return tuple(sought(name, self.get(f"reach.{name}", str)) for name in table)

    def new_name(self, key: str, name: str, known: Iterable[str]) -> None:
        if not is_name(name) or name in (DEADLOCK.name, SOUGHT):
            self.refuse(key, f"{name!r} is no name for something of your own; use letters, digits and _, such as MyRule")
        if name in known:
            self.refuse(key, f"there is a property {name} already; choose another name")

    def profile(self, protocol: Protocol) -> dict[str, int]:
        """What the spec's `version` and `control_plane` say of the constants."""
        version, plane = (self.get(key, str) for key in ("version", "control_plane"))
        if version is None and plane is None:
            return {}
        key = "version" if version is not None else "control_plane"
        try:
            return {name: setting.value for name, setting in protocol.profile(version, plane).items()}
        except ModelError as error:
            self.refuse(key, str(error))

    def claim(self) -> Claim:
        self.keys("claim", self.table("claim"), _CLAIM)
        true = self.get("claim.true", bool, required=True)
        corrected = self.get("claim.corrected", str, default="")
        if true and corrected:
            self.refuse("claim.corrected", "corrected is given but the sentence is true; remove the line")
        if not true and not corrected:
            self.refuse("claim", "claim.corrected is missing: say what would be true instead")
        return Claim(true, self.get("claim.source", str, required=True), corrected)

    def gallery(self) -> GalleryEntry:
        self.keys("gallery", self.table("gallery"), _GALLERY)
        role = self.get("gallery.role", str, required=True)
        if role not in _ROLES:
            self.refuse("gallery.role", f"role {role!r} is none of {choices(_ROLES)}")
        said = {key: self.get(f"gallery.{key}", str, default="") for key in ("mechanism", "rule", "also")}
        for key, speaks in (("mechanism", ("bug", "open", "attempt")), ("rule", ("fix",))):
            if bool(said[key]) != (role in speaks):
                self.refuse(
                    f"gallery.{key}" if said[key] else "gallery",
                    f"{key} belongs to a spec with role {' or '.join(speaks)}, and every one of these has it",
                )
        row, name, fixed = (
            self.get(f"gallery.{key}", kind, required=True) for key, kind in (("row", int), ("id", str), ("fixed", str))
        )
        if row < 1:
            self.refuse("gallery.row", f"gallery.row is {row} and must be at least 1")
        return GalleryEntry(row, name, fixed, role, **said)

    def dropped(self, protocol: Protocol) -> frozenset[tuple[str, str]]:
        self.keys("weaken", self.table("weaken"), _WEAKEN)
        return frozenset(
            self.named("weaken.drop", lambda text=text: clause_named(protocol, text)) for text in self.names("weaken.drop")
        )

    def expectation(
        self, properties: list[Property], reach: tuple[Property, ...], protocol: Protocol
    ) -> Expectation:
        table = self.table("expect")
        self.keys("expect", table, _EXPECT)
        text = self.get("expect.verdict", str, required=True)
        budget = text == "incomplete: budget"
        if budget:
            text = Verdict.INCOMPLETE.value
        if text not in (verdicts := [verdict.value for verdict in Verdict]):
            self.refuse("expect.verdict", f"verdict {text!r} is none of {choices(verdicts)}")
        verdict = Verdict(text)
        violates = self.names("expect.violates") if "violates" in table else []
        holds = self.names("expect.holds") if "holds" in table else []
        asked = [item.name for item in properties]
        for key, names, what in (("violates", violates, "be violated"), ("holds", holds, "hold")):
            for name in names:
                if name not in asked:
                    what_is = f"{name!r} is expected to {what} but not asked"
                    self.refuse(f"expect.{key}", f"{what_is}; [check] asks {choices(asked)}")
        if both := sorted(set(violates) & set(holds)):
            self.refuse("expect.holds", f"{choices(both)} is expected to hold and to be violated; say one of them")
        if repeated := sorted({name for name in violates if violates.count(name) > 1}):
            self.refuse("expect.violates", f"{choices(repeated)} is expected twice; name each property once")
        for key in ("violates", "trace_length"):
            if key in table and verdict is not Verdict.VIOLATED:
                self.refuse(f"expect.{key}", f"{key} is given but the expected verdict is {text}")
        if verdict is Verdict.VIOLATED and not violates:
            self.refuse("expect.verdict", "a violated spec says which property: add violates = \"…\"")
        actions = [item.name for item in protocol.actions]
        silent = self.names("expect.never_fired") if "never_fired" in table else []
        if silent and verdict is not Verdict.HOLDS:
            self.refuse("expect.never_fired", f"never_fired is only compared with verdict holds; the expected one is {text}")
        for name in silent:
            if name not in actions:
                self.refuse(
                    "expect.never_fired",
                    f"{protocol.name} has no action {name!r}{near(name, actions)}; it has {choices(actions)}",
                )
        looked_for = [item.name for item in reach]
        unreachable = self.names("expect.unreachable") if "unreachable" in table else []
        for name in unreachable:
            if name not in looked_for:
                hint = f"{near(name, looked_for)}; [reach] names {choices(looked_for) or 'nothing'}"
                self.refuse("expect.unreachable", f"{name!r} is expected to be unreachable but not looked for{hint}")
        pins = {key: self.pin(f"expect.{key}") for key in _PINS}
        return Expectation(
            verdict,
            tuple(violates),
            never_fired=tuple(silent),
            holds=tuple(holds),
            unreachable=tuple(unreachable),
            budget=budget,
            **pins,
        )

    # -- values -----------------------------------------------------------------------------------------------------

    def keys(self, table: str, values: Mapping[str, Any], known: Iterable[str]) -> None:
        for key in values:
            if key not in known:
                place = f"[{table}]" if table else "the top of the file"
                full = f"{table}.{key}".lstrip(".")
                self.refuse(full, f"unknown key {key!r} in {place}{near(key, known)}; known are {choices(known)}")

    def table(self, name: str) -> dict[str, Any]:
        outer, _, inner = name.rpartition(".")
        value = (self.table(outer) if outer else self.document).get(inner, {})
        if not isinstance(value, dict):
            self.refuse(name, f"{name} must be a table: write [{name}]")
        return value

    def get(self, key: str, kind: type, *, default: Any = None, required: bool = False) -> Any:
        table, _, name = key.rpartition(".")
        values = self.table(table) if table else self.document
        if name not in values:
            if required:
                self.refuse(table or key, f"{key} is missing")
            return default
        if type(values[name]) is not kind:
            wanted = {str: "text in quotes", bool: "true or false", int: "an integer"}[kind]
            self.refuse(key, f"{key} is {values[name]!r} and must be {wanted}")
        return values[name]

    def names(self, key: str) -> list[str]:
        table, _, name = key.rpartition(".")
        value = self.table(table).get(name, [])
        listed = [value] if isinstance(value, str) else value
        if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
            self.refuse(key, f"{key} must be a name in quotes or a list of such")
        return listed

    def pin(self, key: str) -> int | None:
        value: int | None = self.get(key, int)
        if value is not None and value < 1:
            self.refuse(key, f"{key} is {value} and must be at least 1")
        return value

    def named(self, key: str, make: Any) -> Any:
        try:
            return make()
        except ConfigurationError as error:
            self.refuse(key, str(error))


def _is_out_of_range(protocol: Protocol, name: str, value: Any) -> bool:
    constant = next(item for item in protocol.constants if item.name == name)
    try:
        constant.read(value)
    except ModelError:
        return True
    return False


_TABLE = re.compile(r"\s*\[\[?\s*([A-Za-z0-9_.-]+)\s*\]")
_KEY = re.compile(r"\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")


def _lines(text: str) -> dict[str, int]:
    """The line of every table and key, for messages: tomllib says nothing about lines once a file has parsed."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.split("\n"), start=1):
        if match := _TABLE.match(line):
            table = match[1]
            lines.setdefault(table, number)
        elif match := _KEY.match(line):
            lines.setdefault(f"{table}.{match[1]}".lstrip("."), number)
    return lines
