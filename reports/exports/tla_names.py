"""What formulas in TLA+ are made of: texts that know how tightly they bind, names of sets, and operators of our own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from acked.base.errors import ConfigurationError
from acked.model.language.context import resolve
from acked.model.language.domain import (
    BoolDomain,
    Constants,
    Domain,
    EnumDomain,
    IdDomain,
    LeafDomain,
    OptionalDomain,
    Path,
    PresentDomain,
    Range,
    SetDomain,
    SlotDomain,
)
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain, as_leaf, is_absent, slot_domain
from acked.model.language.storage.messages import MessagesDomain

NONE = "none"
"""The model value that stands for no value."""

HELPERS = {
    "One": "One(P) == IF P THEN 1 ELSE 0",
    "Number": f"Number(X, L) == IF X = {NONE} THEN L ELSE X  \\* no value comes before all others",
    "Maybe": f"Maybe(X, L) == IF X = L THEN {NONE} ELSE X",
    "Within": "Within(X, L) == IF X \\in 0..L THEN X ELSE L  \\* beyond an array its last element is read",
}
"""Operators that formulas use, by name."""


class Text(NamedTuple):
    """A formula and how tightly it binds."""

    text: str
    level: int


ATOM, PRODUCT, SUM, UNION, COMPARED, NOT, JOINED, IMPLIES, OPEN = 9, 8, 7, 6, 5, 4, 3, 2, 1


def within(text: Text, level: int) -> str:
    """A formula as part of one that binds at a level."""
    return text.text if text.level > level or text.level == ATOM else f"({text.text})"


@dataclass
class Sets:
    """What types hold, each sort under a name of its own; `taken` are names that mean something else."""

    constants: Constants
    taken: set[str]
    definitions: dict[str, str] = field(default_factory=dict)
    """The sets by name, in the order in which they were first asked for."""
    _names: dict[object, str] = field(default_factory=dict)

    def of(self, domain: Domain) -> str:
        """The set of the values of a domain, as an operand."""
        match domain:
            case PresentDomain():
                return self.of(domain.inner)
            case BoolDomain():
                return "BOOLEAN"
            case OptionalDomain():
                return f"({self.of(as_leaf(domain.item))} \\cup {{{NONE}}})"
            case SetDomain():
                return f"(SUBSET {self.of(IdDomain(domain.item))})"
            case EnumDomain():
                names = ", ".join(f'"{name}"' for name in domain.item.names)
                return self._named(domain.item, domain.item.__name__, f"{{{names}}}")
            case IdDomain():
                return self._named(domain.item, domain.item.__name__, f"0..{domain.cardinality(self.constants) - 1}")
            case Range():
                lo, hi = domain.bounds(self.constants)
                own = (resolve(domain.item.lo, self.constants), resolve(domain.item.hi, self.constants))
                numbers = f"{_known(lo)}..{_known(hi)}"
                return self._named(domain.item, domain.item.__name__, numbers) if (lo, hi) == own else f"({numbers})"
            case StructDomain():
                shown = dict(domain.fields_shown(self.constants))
                return record_text({(name,): self.of(part) for name, part in shown.items()}, ": ")
            case MessagesDomain():
                letters = self.letters(domain)
                is_set = isinstance(domain.leaf, BoolDomain)
                return f"(SUBSET {letters})" if is_set else f"[{letters} -> {self.of(domain.leaf)}]"
            case ArrayDomain():
                return f"[{self.of(domain.index)} -> {self.of(domain.element)}]"
            case LogDomain():
                kept = [(path, part) for path, part in domain.record_leaves() if not is_absent(part, self.constants)]
                fields = {path: self.of(slot_domain(part)) for path, part in kept}
                records = f"[{self.slots(domain)} -> {record_text(fields, ': ')}]"
                return f"[{LogDomain.END}: {self.of(domain.end)}, {LogDomain.RECORDS}: {records}]"
        raise AssertionError(type(domain).__name__)

    def letters(self, messages: MessagesDomain) -> str:
        """The records of which a set or a bag is made."""
        return self._named(messages.struct, messages.struct.__name__, self.of(StructDomain(messages.struct)))

    def slots(self, log: LogDomain) -> str:
        """The numbers of a log's slots."""
        return f"0..{resolve(log.size, self.constants) - 1}"

    def _named(self, key: object, wanted: str, text: str) -> str:
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = claimed(wanted, self.taken)
            self.definitions[name] = text
        return name


def claimed(wanted: str, taken: set[str]) -> str:
    """A name that is not taken, and then is."""
    while wanted in taken:
        wanted += "_"
    taken.add(wanted)
    return wanted


def record_text(texts: Mapping[Path, str], sign: str = " |-> ") -> str:
    """A record of texts by paths, or the set of records whose fields are in sets; of a single value what it is."""
    if () in texts:
        return texts[()]
    heads = dict.fromkeys(path[0] for path in texts)
    parts = []
    for head in heads:
        below = {path[1:]: text for path, text in texts.items() if path[0] == head}
        parts.append(f"{head}{sign}{record_text(below, sign)}")
    return f"[{', '.join(parts)}]"


def kept_as(domain: LeafDomain) -> LeafDomain:
    """A domain where it is there; what a slot of a log holds is an id or none, as any optional value."""
    bare = domain.bare
    return OptionalDomain(bare.item) if isinstance(bare, SlotDomain) else bare


def number_text(number: int) -> Text:
    """A number; `ConfigurationError` for one that TLC does not have."""
    return Text(str(_known(number)), ATOM if number >= 0 else SUM)


def _known(number: int) -> int:
    if abs(number) >= 1 << 31:
        what = f"the module would have the number {number}, and TLC's numbers have 32 bits"
        raise ConfigurationError(f"{what}; use smaller constants")
    return number


def negation(text: Text) -> Text:
    """What is not so; of one membership that it is none."""
    if text.level == COMPARED and text.text.count(" \\in ") == 1:
        return Text(text.text.replace(" \\in ", " \\notin "), COMPARED)
    return Text(f"~{within(text, ATOM)}", NOT)


def moved(text: Text, by: int) -> Text:
    """A number and another one."""
    if not by:
        return text
    return Text(f"{within(text, SUM - 1)} {'+' if by > 0 else '-'} {abs(_known(by))}", SUM)


def refuse_bits() -> NoReturn:
    """`ConfigurationError` for bits that are those of no set."""
    raise ConfigurationError(
        "this protocol computes with the bits of numbers, such as for ranks of epochs, which the module has no words for; "
        "bound those numbers with a constant"
    )


def refuse_enum(name: str) -> NoReturn:
    """`ConfigurationError` for a name of an enumeration that is used as a number."""
    raise ConfigurationError(f"this protocol computes with the places of {name}'s names, which are texts in TLA+")
