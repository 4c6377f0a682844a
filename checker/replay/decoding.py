"""Values of other tools as ours: functions, sequences, sets and records, and the names of ids, which are numbers here."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from collections.abc import Mapping as MappingOf
from typing import Any

from acked.checker.replay.mapping import Mapping, Mismatch
from acked.model.formulas.errors import ModelError
from acked.model.language.context import resolve
from acked.model.language.domain import BoolDomain, Domain, IdDomain, LeafDomain, OptionalDomain, PresentDomain, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain, as_leaf
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.values import Id

_NOTHING = ("none", "nil", "null", "-1")

_TYPE = re.compile(r"_OF_[A-Z_0-9]+$")
"""What Apalache adds to the name of a model value, `r1_OF_RM`."""


class Decoder:
    """Decodes the states of one trace, in all of which a name stands for the same id."""

    def __init__(self, instance: Instance, mapping: Mapping, states: Iterable[MappingOf[str, Any]]) -> None:
        self._instance, self._mapping = instance, mapping
        self._seen: dict[type[Id], dict[str, None]] = {}
        self._numbers: dict[type[Id], dict[str, int]] | None = None
        for state in states:
            try:
                self.state(state)
            except (Mismatch, ModelError, KeyError, TypeError, ValueError, AttributeError, IndexError):
                continue  # What does not fit is told when the state is decoded for good.
        self._numbers = {sort: self._order(sort, names) for sort, names in self._seen.items()}

    def state(self, theirs: MappingOf[str, Any]) -> Any:
        """A state as `Schema.encode` takes it; `Mismatch` where a value has another form."""
        protocol = self._instance.protocol
        domain, ours = StructDomain(protocol.state), self._mapping.state(theirs, protocol)
        shown = [name for name, _ in domain.fields_shown(self._instance.constants)]
        if not {*shown} <= ours.keys():
            fields = f"the state must have exactly the fields {', '.join(shown)}, and the trace has {', '.join(theirs)}"
            raise Mismatch(f"{fields}; say in a mapping file where they are, and name it with --map")
        return self._decode(domain, ours, "", "")

    def _decode(self, domain: Domain, value: Any, where: str, field: str) -> Any:
        """A value; `where` says where it is, and `field` the same without indices."""
        if isinstance(domain, StructDomain):
            return self._record(domain, value, where, field)
        if isinstance(domain, MessagesDomain):
            struct, letters = StructDomain(domain.struct), _bag(value) if isinstance(value, dict) else items(value, where)
            return [self._record(struct, item, f"{where}[{at}]", field) for at, item in enumerate(letters)]
        if isinstance(domain, ArrayDomain):
            return self._array(domain, value, where, field)
        if isinstance(domain, LogDomain):
            return self._log(domain, value, where, field)
        return self._single(domain, self._mapping.values.get(field, {}).get(str(value), value), where)

    def _record(self, domain: StructDomain, value: Any, where: str, field: str) -> dict[str, Any]:
        # Which fields have to be there depends on the constants, and is decided when the state is encoded.
        if not isinstance(value, dict):
            raise Mismatch(f"{where or 'the state'} must be a record, not {value!r}")
        return {
            name: self._decode(part, value[name], f"{where}.{name}".lstrip("."), f"{field}.{name}".lstrip("."))
            for name, part in domain.struct.domains().items()
            if name in value
        }

    def _array(self, domain: ArrayDomain, value: Any, where: str, field: str) -> list[Any]:
        if not isinstance(value, dict):
            elements = enumerate(items(value, where))
            return [self._decode(domain.element, item, f"{where}[{at}]", field) for at, item in elements]
        decoded = {key: self._decode(domain.element, item, f"{where}[{key}]", field) for key, item in value.items()}
        codes = {key: self._code(domain.index, key, where) for key in value}
        return [decoded[key] for key in sorted(decoded, key=lambda key: codes[key])]

    def _code(self, index: LeafDomain, key: str, where: str) -> int:
        plain = self._single(index, int(key) if re.fullmatch(r"-?\d+", key) else key, where)
        try:
            return index.from_plain(plain, self._instance.constants)
        except ModelError as error:
            raise Mismatch(f"{where} has an element {key!r}: {error}") from None

    def _log(self, domain: LogDomain, value: Any, where: str, field: str) -> dict[str, Any]:
        """A log, from a record of its end and its slots, or from a sequence."""
        held, end = (value, len(value)) if isinstance(value, list) else (items(value["records"], where), value["end"])
        if isinstance(domain.content, LeafDomain):
            # Modules that were exported before 26 November 2026 had a record of one field there.
            held = [item["item"] if isinstance(item, dict) and item.keys() == {"item"} else item for item in held]
        name = f"{field}.{LogDomain.RECORDS}"
        return {"end": end, "records": [self._decode(domain.content, item, f"{where}.records", name) for item in held[:end]]}

    def _single(self, domain: Domain, value: Any, where: str) -> Any:
        if isinstance(domain, PresentDomain):
            return self._single(domain.inner, value, where)
        if isinstance(domain, SetDomain):
            return sorted(self._id(domain.item, item, where) for item in items(value, where))
        if isinstance(domain, OptionalDomain):
            return None if is_nothing(value) else self._single(as_leaf(domain.item), value, where)
        if isinstance(domain, IdDomain):
            return self._id(domain.item, value, where)
        return bool(value) if isinstance(domain, BoolDomain) else value

    # -- ids --------------------------------------------------------------------------------------------------------

    def _id(self, sort: type[Id], given: Any, where: str) -> Any:
        name = _TYPE.sub("", str(given))
        if self._numbers is None:
            self._seen.setdefault(sort, {})[name] = None
            return 0
        known = self._numbers.get(sort, {})
        if name not in known:
            raise Mismatch(f"{where} is {given!r}, which is not one of {', '.join(known)}")
        return known[name]

    def _order(self, sort: type[Id], names: Collection[str]) -> dict[str, int]:
        """Which id each name is: as the mapping says, a number itself, in the order of all names, or by the number in it."""
        size = resolve(sort.size, self._instance.constants)
        if (told := self._mapping.ids.get(sort.__name__)) is not None:
            return {name: at for at, name in enumerate(told)}
        numbers = {str(at): at for at in range(size)}
        if set(names) <= numbers.keys():
            return numbers
        ordered = sorted(names, key=naturally)
        if len(ordered) == size:
            return {name: at for at, name in enumerate(ordered)}
        parts = [naturally(name) for name in ordered]
        first = 0 if any(number == 0 for _, number, _ in parts) else 1
        if len({prefix for prefix, _, _ in parts}) == 1 and all(first <= number < size + first for _, number, _ in parts):
            return {name: number - first for name, (_, number, _) in zip(ordered, parts, strict=True)}
        raise Mismatch(
            f"the trace names {', '.join(ordered)}, and there are {size} {sort.type_name}s: say in a mapping file which is "
            f'which, [ids] {sort.__name__} = ["…", …], and name it with --map'
        )


def _bag(counts: MappingOf[str, Any]) -> list[dict[str, Any]]:
    """The records of a function from records to how often there is each; TLC writes those as texts."""
    letters = []
    for text, count in counts.items():
        pairs = re.findall(r'(\w+) \|-> ("[^"]*"|[^,\[\]]+)', text)
        letter = {name: int(value) if re.fullmatch(r"-?\d+", value) else value.strip('"') for name, value in pairs}
        letters += [letter] * int(count)
    return letters


def items(value: Any, where: str = "") -> list[Any]:
    """A list, or a function from 0, 1, …, as its values in order."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        raise Mismatch(f"{where or 'an array'} is {value!r}, and neither a set, nor a sequence, nor a function")
    if strange := [key for key in value if not str(key).isdecimal()]:
        raise Mismatch(f"{where or 'an array'} has an element {strange[0]!r}, and its elements are numbered")
    return [value[key] for key in sorted(value, key=int)]


def is_nothing(value: Any) -> bool:
    """Whether a value is what TLA+ modules write for none."""
    return value is None or str(value).strip('"').lower() in _NOTHING


def naturally(name: str) -> tuple[str, int, str]:
    """`b2` before `b10`."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    assert match is not None
    return match[1], int(match[2] or 0), name
