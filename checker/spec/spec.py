"""Spec files: one question each, in TOML, with the expected answer.

Reading a spec into a `Spec`, strictly (an unknown key, name or value is an error that names file, line, key and choices), and
making its `Question`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import choices, is_name, near, repeats
from acked.checker.question.ledger import StopPolicy
from acked.checker.question.question import DEADLOCK, Question
from acked.checker.question.result import Verdict
from acked.checker.question.user_properties import SOUGHT, recoverable
from acked.checker.spec.expectation import Expectation
from acked.checker.spec.question_text import InvariantText, LivenessText, QuestionText
from acked.checker.spec.reader import Names, Reader, parse
from acked.checker.spec.remarks import Claim, GalleryEntry, claim_in, gallery_entry_in
from acked.checker.spec.resolve import (
    bind_constants,
    clause_named,
    no_constant,
    protocol_named,
    refuse_unasked,
    settle,
)
from acked.checker.spec.tables import (
    BUDGET,
    OVERFLOW,
    TABLES,
    Check,
    Expect,
    Fairness,
    Invariant,
    Liveness,
    Pins,
    Top,
    Weaken,
)
from acked.checker.spec.variants import file_and_variant, name_of, place_of
from acked.invariants.catalogue import properties_of
from acked.invariants.property import Property
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Protocol


@frozen
class Spec:
    """One question and its expected answer.

    `name` is the file's name without its ending, and the variant's if the file has several; `version` the release that it
    names, if it does, and `given` the constants that it names itself, which no release changes; `asked` is the question.
    `warnings` say where settings are not what one may think. `lemma_texts` are assumed, and proved, by proofs alone.

    >>> spec = load_spec("truncate-to-hw")
    >>> spec.protocol.name, spec.expect.verdict, sorted(spec.expect.violates)
    ('truncate-to-hw', <Verdict.VIOLATED: 'violated'>, ['WeakIsr'])
    """

    name: str
    path: Path | None
    title: str
    protocol: Protocol
    asked: QuestionText
    count_only: bool = False
    slow: bool = False
    expect: Expectation | None = None
    warnings: tuple[str, ...] = ()
    claim: Claim | None = None
    gallery: GalleryEntry | None = None
    version: str | None = None
    control_plane: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    line_of: Mapping[str, int] = field(default_factory=dict)
    lemma_texts: tuple[InvariantText, ...] = ()

    @cached_property
    def lemmas(self) -> tuple[Property, ...]:
        """The lemmas that it writes, for proofs."""
        return tuple(item.property for item in self.lemma_texts)

    @cached_property
    def properties(self) -> tuple[Property, ...]:
        """The properties that it asks, in its order."""
        return self.asked.resolve(self.protocol)

    @cached_property
    def reach(self) -> tuple[Property, ...]:
        """The states that it looks for besides."""
        return self.asked.sought()

    @property
    def constants(self) -> dict[str, int]:
        """The constants in effect."""
        return dict(self.asked.constants)

    @property
    def switches(self) -> dict[str, int]:
        """The constants in effect that a proof for all constants keeps: all but the sizes."""
        return {name: value for name, value in self.asked.constants if name not in self.protocol.sizes}

    @property
    def drop(self) -> frozenset[tuple[str, str]]:
        """Guard clauses, as (action, label), that it leaves out of the protocol to show what they protect."""
        return frozenset(self.asked.drop)

    @property
    def symmetry(self) -> bool:
        """Whether states that differ only in the names of interchangeable ids are visited, and counted, once."""
        return self.asked.symmetry

    def question(self) -> Question:
        """The question, with the protocol instantiated; `ConfigurationError` if its constants do not fit."""
        try:
            return self.asked.question(self.protocol)
        except ConfigurationError as error:
            raise ConfigurationError(f"{self.where(error.key)}{error}", error.key) from None

    def where(self, key: str = "") -> str:
        """`specs/kip320.toml:7: ` for error messages."""
        return "" if self.path is None else place_of(self.path, self.line_of.get(key))

    @property
    def wants_every_property(self) -> bool:
        """Whether a search must go on after a violation: several are expected, or states are looked for besides."""
        return bool(self.reach) or (self.expect is not None and len(self.expect.violates) > 1)

    @property
    def policy(self) -> StopPolicy:
        """When a search for its answer ends, unless the user says otherwise."""
        return StopPolicy.EVERY_PROPERTY if self.wants_every_property else StopPolicy.FIRST_VIOLATION


def load_spec(path: Path, is_changed: bool = False) -> Spec:
    """Reads a spec file; `SpecUnreadable` if it is not TOML, `ConfigurationError` if it says something impossible.

    A path ends with the variant that is meant, if the file has several: `kip966.toml#bug`.
    If it is going to be asked with other constants (`is_changed`), what depends on them is judged then (`judge`).
    """
    return parse_spec(read_text(file_and_variant(path)[0], "spec file"), path, is_changed)


def parse_spec(text: str, path: Path, is_changed: bool = False) -> Spec:
    """Like `load_spec`, of text already read; `path` is for messages and the name."""
    return _SpecReader(text, path).spec(is_changed)


def judge(spec: Spec) -> Spec:
    """The spec itself; `ConfigurationError` for a property or a predicate that means nothing under its constants."""
    refuse_unasked(spec.properties, spec.constants)
    spec.asked.check_texts(spec.protocol, spec.lemmas)
    return spec


def protocol_in(path: Path) -> str:
    """The protocol that a spec file names, of which nothing is loaded; empty if it names none."""
    file, _ = file_and_variant(path)
    name = parse(read_text(file, "spec file"), file).get("protocol")
    return name if isinstance(name, str) else ""


# -- reading --------------------------------------------------------------------------------------------------------------


class _SpecReader(Reader):
    """Reads one spec file."""

    def __init__(self, text: str, path: Path) -> None:
        super().__init__(text, path, (*(item.name for item in fields(Top)), *TABLES))

    def spec(self, is_changed: bool) -> Spec:
        """The spec; `ConfigurationError` for everything that is wrong in it, whatever other constants may be asked."""
        top = self.read("", Top, TABLES)
        check = self.read("check", Check)
        try:
            protocol = protocol_named(top.protocol, self.path.parent)
        except ConfigurationError as error:
            self.refuse_as("protocol", error)
        constants, warnings = self.constants(top, protocol)
        asked = self.question_text(protocol, constants, check)
        spec = Spec(
            name=name_of(self.path),
            path=self.path,
            title=top.title,
            protocol=protocol,
            asked=asked,
            count_only=check.count_only,
            slow=top.slow,
            expect=self.expectation(asked, protocol) if "expect" in self.document else None,
            warnings=warnings,
            claim=claim_in(self) if "claim" in self.document else None,
            gallery=gallery_entry_in(self) if "gallery" in self.document else None,
            version=top.version,
            control_plane=top.control_plane,
            given=dict(self.table("constants")),
            line_of=self.lines,
            lemma_texts=tuple(self.written("lemmas", [*properties_of(protocol), *asked.properties])),
        )
        try:
            return spec if is_changed else judge(spec)
        except ConfigurationError as error:
            self.refuse_as("check.invariants", error)

    def constants(self, top: Top, protocol: Protocol) -> tuple[dict[str, int], tuple[str, ...]]:
        """The constants in effect, and warnings about them."""
        table = self.table("constants")
        known = {constant.name: constant for constant in protocol.constants}
        wrong = ""
        for name, value in table.items():
            if name not in known:
                self.refuse(f"constants.{name}", no_constant(protocol, name, known))
            try:
                known[name].read(value)
            except ModelError:
                wrong = wrong or f"constants.{name}"
        try:
            bound = bind_constants(protocol, {**self.profile(top, protocol), **table})
        except ConfigurationError as error:
            self.refuse_as(wrong or "constants", error)
        try:
            return settle(protocol, table, bound, top.control_plane)
        except ConfigurationError as error:
            self.refuse_as("constants", error)

    def profile(self, top: Top, protocol: Protocol) -> dict[str, int]:
        """What the spec's `version` and `control_plane` say of the constants."""
        if top.version is None and top.control_plane is None:
            return {}
        try:
            profile = protocol.profile(top.version, top.control_plane)
        except ModelError as error:
            self.refuse("version" if top.version is not None else "control_plane", str(error))
        return {name: setting.value for name, setting in profile.items()}

    def question_text(self, protocol: Protocol, constants: dict[str, int], check: Check) -> QuestionText:
        """The question: what the spec names, and what it writes itself."""
        invariants = self.invariants(protocol, check.invariants)
        reach = self.reach(item.name for item in invariants)
        liveness = self.liveness(protocol, [*(item.name for item in invariants), *(name for name, _ in reach)])
        fairness = self.read("fairness", Fairness)
        if "fairness" in self.document and not liveness:
            self.refuse("fairness", "[fairness] goes with [liveness.NAME] properties; write one, or leave it out")
        for name in [item for item in check.invariants if item in dict(reach)]:
            self.refuse("check.invariants", f"{name!r} is looked for under [reach] and is not an invariant; leave it out")
        names = [*check.invariants, *([DEADLOCK.name] if check.deadlock else []), *self.recoverable(protocol, check)]
        names += [item.name for item in liveness]
        asked = QuestionText(
            protocol.reference,
            tuple(constants.items()),
            tuple(names),
            self.drops(protocol),
            invariants,
            reach,
            liveness,
            (fairness.weak, fairness.strong),
            check.symmetry,
        )
        try:
            asked.check_fairness(protocol)
            asked.resolve(protocol)
        except ConfigurationError as error:
            self.refuse_as("check", error)
        if twice := repeats(names):
            self.refuse("check.invariants", f"{choices(twice)} is asked twice; name each property once")
        if check.count_only and (names or reach):
            self.refuse("check.count_only", "count_only = true asks nothing, so there may be no invariants and no [reach]")
        if not check.count_only and not names and not reach:
            self.refuse(
                "check.invariants",
                "[check] asks nothing: name invariants (see `acked list invariants`) or set count_only = true",
            )
        return asked

    def invariants(self, protocol: Protocol, asked: Names) -> tuple[InvariantText, ...]:
        """The invariants that the spec writes; every one of them is asked."""
        made = tuple(self.written("invariants", properties_of(protocol)))
        if unasked := [item.name for item in made if item.name not in asked]:
            self.refuse_unknown(protocol, asked)
            self.refuse(f"invariants.{unasked[0]}", f"{unasked[0]} is written but not asked; add it under [check]")
        return made

    def written(self, table: str, taken: Iterable[str]) -> Iterator[InvariantText]:
        """The predicates under a table of names of the spec's own."""
        for name in self.table(table):
            key = f"{table}.{name}"
            self.table(key, ' and holds = "…" under it')
            self.new_name(key, name, taken)
            said = self.read(key, Invariant)
            yield InvariantText(name, said.holds, said.doc)

    def refuse_unknown(self, protocol: Protocol, asked: Names) -> None:
        """Refuses names under [check] that stand for nothing."""
        known = [*properties_of(protocol), *self.table("invariants"), *self.table("reach")]
        for name in asked:
            if name not in known:
                has = f"{protocol.name} and this spec have {choices(known)}"
                self.refuse("check.invariants", f"there is no property {name!r}{near(name, known)}; {has}")

    def reach(self, written: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """The states that the spec looks for."""
        table, known = self.table("reach"), list(written)
        for name in table:
            self.new_name(f"reach.{name}", name, known)
        return tuple((name, self.text(f"reach.{name}")) for name in table)

    def recoverable(self, protocol: Protocol, check: Check) -> list[str]:
        """What the cluster must always be able to get back to."""
        actions = [item.name for item in protocol.actions]
        for name in check.without:
            if name not in actions:
                hint = f"{near(name, actions)}; it has {choices(actions)}"
                self.refuse("check.without", f"{protocol.name} has no action {name!r}{hint}")
        if check.without and not check.recoverable:
            self.refuse("check.without", "without names actions that may not help recoverable, which is missing")
        return [recoverable(text, check.without).name for text in check.recoverable]

    def liveness(self, protocol: Protocol, known: Iterable[str]) -> tuple[LivenessText, ...]:
        """What must come, in every run that is fair; every one of them is asked."""
        made, taken = [], [*properties_of(protocol), *known]
        for name in self.table("liveness"):
            key = f"liveness.{name}"
            table = self.table(key, " and eventually or leads_to under it")
            self.new_name(key, name, taken)
            said = self.read(key, Liveness)
            if ("eventually" in table) == ("leads_to" in table):
                self.refuse(key, f'[{key}] must have either eventually = "GOAL" or leads_to = ["TRIGGER", "GOAL"]')
            if said.eventually is None and len(said.leads_to) != 2:
                self.refuse(f"{key}.leads_to", f'{key}.leads_to must be two predicates: ["TRIGGER", "GOAL"]')
            trigger, goal = (None, said.eventually) if said.eventually is not None else said.leads_to
            made.append(LivenessText(name, trigger, goal, said.doc))
        return tuple(made)

    def new_name(self, key: str, name: str, known: Iterable[str]) -> None:
        """Refuses a name that is taken, or that cannot be one."""
        if not is_name(name) or name in (DEADLOCK.name, SOUGHT):
            hint = "use letters, digits and _, such as MyRule"
            self.refuse(key, f"{name!r} cannot be the name of something of your own; {hint}")
        if name in known:
            self.refuse(key, f"there is a property {name} already; choose another name")

    def drops(self, protocol: Protocol) -> tuple[tuple[str, str], ...]:
        """The guard clauses that the spec leaves out."""
        try:
            return tuple(sorted({clause_named(protocol, text) for text in self.read("weaken", Weaken).drop}))
        except ConfigurationError as error:
            self.refuse_as("weaken.drop", error)

    def expectation(self, question: QuestionText, protocol: Protocol) -> Expectation:
        """What the answer must be."""
        said, table = self.read("expect", Expect), self.table("expect")
        verdict = Verdict(said.verdict.partition(":")[0])
        for key, names, what in (("violates", said.violates, "be violated"), ("holds", said.holds, "hold")):
            for name in names:
                if name not in question.properties:
                    hint = f"{near(name, question.properties)}; [check] asks {choices(question.properties)}"
                    self.refuse(f"expect.{key}", f"{name!r} is expected to {what} but not asked{hint}")
        if both := sorted(set(said.violates) & set(said.holds)):
            self.refuse("expect.holds", f"{choices(both)} is expected to hold and to be violated; say one of them")
        if twice := repeats(said.violates):
            self.refuse("expect.violates", f"{choices(twice)} is expected twice; name each property once")
        for key in ("violates", "trace_length"):
            if key in table and verdict is not Verdict.VIOLATED:
                self.refuse(f"expect.{key}", f"{key} is given but the expected verdict is {verdict.value}")
        if verdict is Verdict.VIOLATED and not said.violates:
            self.refuse("expect.verdict", 'name the property that is violated: add violates = "…"')
        if said.never_fired and verdict is not Verdict.HOLDS:
            hint = f"the expected one is {verdict.value}"
            self.refuse("expect.never_fired", f"never_fired is only compared with verdict holds; {hint}")
        self.each("expect.never_fired", said.never_fired, [item.name for item in protocol.actions],
                  f"{protocol.name} has no action {{!r}}{{}}; it has {{}}")  # fmt: skip
        self.each("expect.unreachable", said.unreachable, [name for name, _ in question.reach],
                  "{!r} is expected to be unreachable but not looked for{}; [reach] names {}")  # fmt: skip
        return Expectation(
            verdict,
            said.violates,
            never_fired=said.never_fired,
            holds=said.holds,
            unreachable=said.unreachable,
            budget=said.verdict == BUDGET, overflow=said.verdict == OVERFLOW,
            **{key.name: getattr(said, key.name) for key in fields(Pins)},
        )

    def each(self, key: str, names: Names, known: list[str], sentence: str) -> None:
        """Refuses the first of some names that is not known, with a sentence of it, of what is near, and of the choices."""
        for name in names:
            if name not in known:
                self.refuse(key, sentence.format(name, near(name, known), choices(known) or "nothing"))
