"""A question as a TLA+ module with its configuration: what TLC checks as acked does.

`module_of`. Variables, actions and properties bear our names; sorts are sets of numbers, names are texts, no value is the
model value `none`, a log is a record of its end and its slots, and a set of structs a set of records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import groupby

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.checker.question.fairness import read_fairness
from acked.checker.question.question import Question
from acked.invariants.property import Kind, Property
from acked.model.formulas.expr import Expr, Op, operands
from acked.model.language.domain import BoolDomain, Domain, LeafDomain, Path
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain, is_absent, slot_domain
from acked.model.language.storage.layout import Leaf
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.storage.store import SymbolicPath
from acked.reports.console import harmless
from acked.reports.exports.tla_names import COMPARED, HELPERS, NONE, Sets, claimed, record_text, within
from acked.reports.exports.tla_reading import (
    Assigned,
    Blanked,
    Change,
    Copied,
    Quantified,
    Reading,
    Rule,
    SketchStore,
    sample,
)
from acked.reports.exports.tla_sharing import worth_sharing
from acked.reports.exports.tla_text import Writer

_OWN = (
    *("Init", "Next", "Spec", "TypeOK", "vars", "slot", NONE, "P", "X", "L", *HELPERS),
    *("Int", "Nat", "Cardinality", "IsFiniteSet", "ASSUME", "ASSUMPTION", "AXIOM", "BOOLEAN", "CASE", "CHOOSE"),
    *("CONSTANT", "CONSTANTS", "DOMAIN", "ELSE", "ENABLED", "EXCEPT", "EXTENDS", "FALSE", "IF", "IN", "INSTANCE"),
    *("LAMBDA", "LET", "LOCAL", "MODULE", "OTHER", "STRING", "SUBSET", "THEN", "THEOREM", "TRUE", "UNCHANGED"),
    *("UNION", "VARIABLE", "VARIABLES", "WITH"),
)
"""Names that have a meaning in every module."""

_CONTINUED = "\n" + " " * 8
"""Between the parts of a formula that stand below each other."""


@frozen
class Module:
    """A module and its configuration, as texts of files that are named after it."""

    name: str
    text: str
    configuration: str


def module_of(question: Question, title: str, sought: Sequence[Property] = ()) -> Module:
    """The module of a question; `ConfigurationError` for what TLA+, or this way of writing it, cannot say.

    What is `sought` besides is defined there, and not asked: TLC would end where it finds the first of it.
    """
    for item in question.properties:
        if item.kind is Kind.RECOVERABLE:
            what = f"{item.name} asks that something stays possible"
            raise ConfigurationError(f"{what}, for which TLA+ has no formula; leave it out")
    return _Export(question, title, sought).module()


class _Export:
    def __init__(self, question: Question, title: str, sought: Sequence[Property]) -> None:
        self.question, self.instance, self.title = question, question.instance, title
        protocol = self.instance.protocol
        self.name = _identifier(protocol.name)
        self.fields = dict(StructDomain(protocol.state).fields_shown(self.instance.constants))
        taken = {*_OWN, *self.fields, self.name}
        self.actions = {item.name: claimed(item.name, taken) for item in self.instance.action_rules}
        asked = [item for item in question.properties if item.kind is not Kind.DEADLOCK]
        self.asked = {item: claimed(_identifier(item.name), taken) for item in asked}
        self.sought = {item: claimed(f"No{_identifier(item.name)}", taken) for item in sought}
        if clash := sorted({*self.fields} & {*_OWN}):
            raise ConfigurationError(f"{protocol.name} has a field {clash[0]}, a name that the module has itself; rename it")
        self.sets = Sets(self.instance.constants, taken)
        self.reading = Reading(self.instance, taken)
        self.writer = Writer(self.reading.pool, protocol.state, self.sets)

    def module(self) -> Module:
        """Its parts in the order in which TLA+ wants them, which is not that in which they are made."""
        types = [f"  /\\ {name} \\in {_bare(self.sets.of(domain))}" for name, domain in self.fields.items()]
        initial = self._rule(self.reading.initial(), is_initial=True)
        rules = [self.reading.action(item) for item in self.instance.action_rules if item.name in self._enabled]
        actions = [line for rule in rules for line in ["", *self._rule(rule)]]
        following = [f"  \\/ {self._some(rule)}" for rule in rules] or ["  FALSE"]
        defined = {**self.asked, **self.sought}
        promises = [line for item, name in defined.items() for line in ["", *self._promise(item, name)]]
        fair = self._fairness({rule.name: rule for rule in rules})
        sets = [f"{name} == {text}" for name, text in self.sets.definitions.items()]
        helpers = [HELPERS[name] for name in self.writer.helpers]
        lines = [
            *sets,
            *helpers,
            "",
            "TypeOK ==",
            *types,
            "",
            *initial,
            *actions,
            "",
            "Next ==",
            *following,
            "",
            "Spec == " + " /\\ ".join(["Init", "[][Next]_vars", *fair]),
            *promises,
            "",
            "=" * 77,
        ]
        has_none = any(re.search(rf"\b{NONE}\b", re.sub(r'"[^"]*"|\\\*.*', "", line)) for line in lines)
        return Module(self.name, "\n".join([*self._head(has_none), *lines]) + "\n", self._configuration(has_none))

    def _head(self, has_none: bool) -> list[str]:
        constants = ", ".join(f"{name} = {value}" for name, value in self.instance.shown_constants.items())
        names, protocol = ", ".join(self.fields), self.instance.protocol
        return [
            f"{'-' * 27} MODULE {self.name} {'-' * 27}",
            f"\\* {harmless(self.title)}",
            f"\\* {harmless(protocol.title)} ({harmless(protocol.source)}), written by acked export --to tla",
            f"\\* {constants}",
            "EXTENDS Integers, FiniteSets",
            "",
            *([f"CONSTANT {NONE}"] if has_none else []),
            f"VARIABLES {names}",
            f"vars == <<{names}>>",
            "",
        ]

    def _configuration(self, has_none: bool) -> str:
        kinds = {Kind.STATE: "INVARIANT", Kind.STEP: "PROPERTY", Kind.LIVENESS: "PROPERTY"}
        is_deadlock = any(item.kind is Kind.DEADLOCK for item in self.question.properties)
        lines = ["SPECIFICATION Spec", *([f"CONSTANT {NONE} = {NONE}"] if has_none else []), "INVARIANT TypeOK"]
        lines += [f"{kinds[item.kind]} {name}" for item, name in self.asked.items()]
        return "\n".join([*lines, f"CHECK_DEADLOCK {'TRUE' if is_deadlock else 'FALSE'}"]) + "\n"

    # -- actions ----------------------------------------------------------------------------------------------------

    @cached_property
    def _enabled(self) -> frozenset[str]:
        """The actions that some binding enables in some state."""
        return frozenset(step.action.name for step in self.instance.actions)

    def _rule(self, rule: Rule, is_initial: bool = False) -> list[str]:
        given = f"({', '.join(name for name, _ in rule.variables)})" if rule.variables and not is_initial else ""
        lines = [f"{'Init' if is_initial else self.actions[rule.name]}{given} =="]
        indent = "  "
        if is_initial and rule.variables:
            lines.append(f"  \\E {self._ranges(rule.variables)} :")
            indent = "    "
        self._share(rule, lines, indent)
        for guard in rule.guards:
            parts = operands(guard.condition, Op.AND)
            for at, part in enumerate(parts):
                if not part.is_const or not part.truth:
                    note = f"  \\* {harmless(guard.label)}" if at == 0 else ""
                    lines.append(f"{indent}/\\ {self._clause(part)}{note}")
        store = rule.store
        if is_initial:
            values = {name: self._value(store, (name,), domain) for name, domain in self.fields.items()}
            return [*lines, *(f"{indent}/\\ {name} = {value}" for name, value in values.items())]
        changed = [name for name in self.fields if any(change.path[0] == name for change in store.written)]
        lines += [f"{indent}/\\ {name}' = {self._after(store, name)}" for name in changed]
        unchanged = [name for name in self.fields if name not in changed]
        return [*lines, *([f"{indent}/\\ UNCHANGED <<{', '.join(unchanged)}>>"] if unchanged else [])]

    def _share(self, rule: Rule, lines: list[str], indent: str) -> None:
        """Gives names to what the formulas of a rule have in common."""
        self.writer.shared = {}
        roots = [guard.condition for guard in rule.guards]
        for change in rule.store.written:
            roots += [code for code in vars(change).values() if isinstance(code, Expr)]
            roots += [part for part in change.path if isinstance(part, Expr)]
        parts = worth_sharing(self.reading.pool, roots, self.writer.is_plain)
        for number, node in enumerate(parts, start=1):
            text = (self.writer.truth if node.is_bool else self.writer.number)(node).text
            name = self.writer.shared[node.id] = claimed(f"part{number}", {*self.sets.taken})
            lines.append(f"{indent}{'LET' if number == 1 else '   '} {name} == {text}")
        if parts:
            lines.append(f"{indent}IN")

    def _clause(self, node: Expr) -> str:
        """A clause of a guard: TLC takes disjunctions apart, and would take a step once for each that holds."""
        text = self.writer.truth(node).text
        return f"({text}) = TRUE" if self._branches(node) else text

    def _branches(self, node: Expr) -> bool:
        if node.op is Op.FIELD and node.is_bool:
            found = self.reading.pool.named(node)
            assert isinstance(found, Quantified)
            return not found.is_every or self._branches(found.body)
        return node.op in (Op.OR, Op.ITE) or (node.op is Op.AND and any(map(self._branches, node.args)))

    def _some(self, rule: Rule) -> str:
        names = [name for name, _ in rule.variables]
        called = self.actions[rule.name]
        return f"\\E {self._ranges(rule.variables)} : {called}({', '.join(names)})" if names else called

    def _ranges(self, variables: Iterable[tuple[str, LeafDomain]]) -> str:
        return ", ".join(f"{name} \\in {_bare(self.sets.of(domain))}" for name, domain in variables)

    # -- what is written --------------------------------------------------------------------------------------------

    def _after(self, store: SketchStore, name: str) -> str:
        """The new value of a variable."""
        domain = self.fields[name]
        if isinstance(domain, LeafDomain):
            return within(self.writer.value(store.kept((name,), len(store.written)), domain), COMPARED)
        changes = _last(change for change in store.written if change.path[0] == name)
        if isinstance(domain, MessagesDomain) and isinstance(domain.leaf, BoolDomain):
            text = name
            for change in changes:
                assert isinstance(change, Assigned)
                _, letter = self.writer.steps(change.path, "")
                assert letter is not None
                text = self._with(letter, change, text)
            return text
        entries = [f"!{where} = {what}" for where, what in self._entries(changes)]
        return f"[{name} EXCEPT {f',{_CONTINUED}'.join(entries)}]"

    def _entries(self, changes: Sequence[Change]) -> Iterator[tuple[str, str]]:
        for _, group in groupby(changes, lambda change: self._whole(change) or change):
            same = [*group]
            yield self._record(same) if len(same) > 1 else self._entry(same[0])

    def _whole(self, change: Change) -> object:
        """What one record has in common with the other fields of it that are assigned."""
        is_field = isinstance(change, Assigned) and len(change.path) > 2 and isinstance(change.path[-1], str)
        return (change.path[:-1], change.when) if is_field and isinstance(change, Assigned) else None

    def _record(self, changes: Sequence[Change]) -> tuple[str, str]:
        """Assignments to fields of one record."""
        entries = [self._entry(change)[1] for change in changes]
        names = [change.path[-1] for change in changes]
        where, _ = self.writer.steps(changes[0].path[:-1], "")
        return where, f"[@ EXCEPT {', '.join(f'!.{name} = {text}' for name, text in zip(names, entries, strict=True))}]"

    def _entry(self, change: Change) -> tuple[str, str]:
        """Where something changes within a variable, and what is there then."""
        if isinstance(change, (Blanked, Copied)):
            return f"{self.writer.steps(change.path[:-1], '')[0]}.{LogDomain.RECORDS}", self._slots(change)
        where, letter = self.writer.steps(change.path, "")
        if letter is not None:
            return where, self._with(letter, change, "@")
        value = self.writer.value(change.code, self._at(change.path).domain).text
        return where, value if change.when is None else f"IF {self.writer.truth(change.when).text} THEN {value} ELSE @"

    def _at(self, path: SymbolicPath) -> Leaf:
        schema = self.instance.schema
        return schema.leaves[schema.by_path[sample(path)]]

    def _slots(self, change: Blanked | Copied) -> str:
        """The slots of a log that is cut, or that gets what another one has."""
        slots = self.sets.slots(change.log)
        if isinstance(change, Blanked):
            kept = f"slot < {within(self.writer.number(change.cut), COMPARED)}"
            return f"[slot \\in {slots} |-> IF {kept} THEN @[slot] ELSE {self._blank(change.log)}]"
        first, stop = (within(self.writer.number(code), COMPARED) for code in (change.first, change.stop))
        taken = f"{first} <= slot /\\ slot < {stop}"
        return f"[slot \\in {slots} |-> IF {taken} THEN {self._copied(change)} ELSE @[slot]]"

    def _copied(self, change: Copied) -> str:
        """What is copied to a slot."""
        log = change.log
        pool, count = self.reading.pool, self.instance.schema.counts[sample(change.path)]
        slot = pool.variable("slot", log.end, count)
        where = (*change.source, slot.value if slot.is_const else slot)
        codes = {path: change.store.kept((*where, *path), change.moment) for path, _ in self._kept(log)}
        if all(code is pool.place((*where, *path), self._at((*where, *path)), False) for path, code in codes.items()):
            return f"{self.writer.steps(change.source[:-1], str(change.source[0]))[0]}.{LogDomain.RECORDS}[slot]"
        return record_text({path: self.writer.value(codes[path], slot_domain(part)).text for path, part in self._kept(log)})

    def _blank(self, log: LogDomain) -> str:
        zero = self.reading.pool.int(0)
        return record_text({path: self.writer.value(zero, slot_domain(part)).text for path, part in self._kept(log)})

    def _kept(self, log: LogDomain) -> list[tuple[Path, LeafDomain]]:
        """The fields of a record that are there."""
        return [(path, part) for path, part in log.record_leaves() if not is_absent(part, self.instance.constants)]

    def _with(self, record: str, change: Assigned, before: str) -> str:
        """A set of records with this one more, or less."""
        letter = f"{{{record}}}"
        if change.code.is_const:
            text = before + (" \\cup " if change.code.value else " \\ ") + letter
        else:
            is_in = self.writer.value(change.code, BoolDomain()).text
            text = f"IF {is_in} THEN {before} \\cup {letter} ELSE {before} \\ {letter}"
        return text if change.when is None else f"IF {self.writer.truth(change.when).text} THEN {text} ELSE {before}"

    # -- whole values -----------------------------------------------------------------------------------------------

    def _value(self, store: SketchStore, path: SymbolicPath, domain: Domain) -> str:
        """What a store has at a path, spelled out."""
        constants = self.instance.constants
        if isinstance(domain, LeafDomain):
            return within(self.writer.value(store.kept(path, len(store.written)), self._at(path).domain), COMPARED)
        if isinstance(domain, StructDomain):
            fields = dict(domain.fields_shown(constants))
            return record_text({(name,): self._value(store, (*path, name), part) for name, part in fields.items()})
        if isinstance(domain, LogDomain):
            slots = range(self.instance.schema.counts.get((*path, LogDomain.RECORDS), 0))
            records = self._function(
                self.sets.slots(domain), [str(slot) for slot in slots],
                lambda: [self._value(store, (*path, LogDomain.RECORDS, slot), domain.content) for slot in slots],
            )  # fmt: skip
            end = self._value(store, (*path, LogDomain.END), domain.end)
            return record_text({(LogDomain.END,): end, (LogDomain.RECORDS,): records})
        if isinstance(domain, MessagesDomain):
            return self._messages(store, path, domain)
        assert isinstance(domain, ArrayDomain)
        numbers = range(domain.index.cardinality(constants))
        indices = [self.writer.index(number, domain.index).text for number in numbers]
        element = domain.element
        values = lambda: [self._value(store, (*path, number), element) for number in numbers]  # noqa: E731
        return self._function(_bare(self.sets.of(domain.index)), indices, values)

    def _messages(self, store: SketchStore, path: SymbolicPath, domain: MessagesDomain) -> str:
        letters = list(domain.combinations(self.instance.constants))
        held = [store.kept((*path, *codes), len(store.written)) for codes in letters]
        texts = [self.writer.letter(domain, codes) for codes in letters]
        if not isinstance(domain.leaf, BoolDomain):
            leaf = domain.leaf
            counts = [self.writer.value(code, leaf).text for code in held]
            return self._function(self.sets.letters(domain), texts, lambda: counts)
        if not all(code.is_const for code in held):
            raise ConfigurationError("a set of structs with chosen members has no form initially; fill it by an action")
        return f"{{{', '.join(text for text, code in zip(texts, held, strict=True) if code.value)}}}"

    def _function(self, domain: str, indices: Sequence[str], make: Callable[[], list[str]]) -> str:
        with self.reading.pool.fresh(["at"]) as (at,):
            values = make()
        if len({*values}) <= 1:
            return f"[{at} \\in {domain} |-> {values[0] if values else '0'}]"
        cases = " [] ".join(f"{at} = {index} -> {value}" for index, value in zip(indices, values, strict=True))
        return f"[{at} \\in {domain} |-> CASE {cases}]"

    # -- promises ---------------------------------------------------------------------------------------------------

    def _promise(self, item: Property, name: str) -> list[str]:
        note = [f"\\* {harmless(item.promise)}"] if item.promise else []
        self.writer.shared = {}
        read, write = self.reading.predicate, self.writer.truth
        if item.liveness is not None:
            goal = write(read(name, item.liveness.goal)).text
            if item.liveness.trigger_text is None:
                return [*note, f"{name} == <>({goal})"]
            return [*note, f"{name} == ({write(read(name, item.predicate)).text}) ~> ({goal})"]
        formula = read(name, item.predicate, 2 if item.kind is Kind.STEP else 1)
        if item.kind is Kind.REACH:
            note.append("\\* Not asked in the configuration: where it is violated, what is sought is found.")
            return [*note, f"{name} == ~({write(formula).text})"]
        if item.kind is Kind.STEP:
            return [*note, f"{name} == [][{write(formula).text}]_vars"]
        clauses = [write(part).text for part in operands(formula, Op.AND)]
        return [*note, f"{name} ==", *(f"  /\\ {text}" if len(clauses) > 1 else f"  {text}" for text in clauses)]

    def _fairness(self, rules: dict[str, Rule]) -> list[str]:
        """The fairness that all liveness assumes; `ConfigurationError` if not all of it assumes the same."""
        kinds = {(item.liveness.weak, item.liveness.strong) for item in self.asked if item.liveness is not None}
        if len(kinds) > 1:
            raise ConfigurationError("promises that assume different fairness do not fit one module; ask them apart")
        found = []
        for weak, strong in kinds:
            found += [self._fair("WF", text, rules) for text in weak] + [self._fair("SF", text, rules) for text in strong]
        return found

    def _fair(self, kind: str, text: str, rules: dict[str, Rule]) -> str:
        action, parameters = read_fairness(self.instance.protocol.actions, self.instance.protocol.name, text)
        if action.name not in rules:
            return "TRUE"  # It is never enabled, and so nothing is unfair to it.
        rule = rules[action.name]
        named = {self.reading.name(parameter) for parameter in parameters}
        fixed = {name: domain for name, domain in rule.variables if name in named}
        others = {name: domain for name, domain in rule.variables if name not in fixed}
        called = self.actions[rule.name]
        call = f"{called}({', '.join(name for name, _ in rule.variables)})" if rule.variables else called
        inner = f"\\E {self._ranges(others.items())} : {call}" if others else call
        outer = f"{kind}_vars({inner})"
        return f"(\\A {self._ranges(fixed.items())} : {outer})" if fixed else outer


def _last(changes: Iterable[Change]) -> list[Change]:
    """Changes without those of a place to which something else is assigned later, in any case."""
    found: list[Change] = []
    for change in changes:
        if isinstance(change, Assigned) and change.when is None:
            found = [before for before in found if not (isinstance(before, Assigned) and before.path == change.path)]
        found.append(change)
    return found


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _bare(text: str) -> str:
    """A set that needs no parentheses where it stands."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") and _is_one(text) else text


def _is_one(text: str) -> bool:
    depth = 0
    for at, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if not depth:
            return at == len(text) - 1
    return False
