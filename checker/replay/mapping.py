"""Mapping files: where another tool's variables have our fields, what its values are called here, which ids its names are.

`Mapping`, read from TOML by `read_mapping`:

    [fields]                               # ours = theirs; a field that is not here has the same name there
    phase = "rmState"
    sent = "msgs[type=Prepared].rm"        # of the members whose type is Prepared their rm
    "replica.hw" = "hws"                   # of every element of an array a field
    broken = { value = false }             # what is not there
    [values.decision]                      # theirs = ours
    init = "none"
    [ids]                                  # in the order of our ids
    Participant = ["r1", "r2", "r3"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping as MappingOf
from dataclasses import field
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import near
from acked.checker.spec.reader import parse
from acked.model.language.protocol import Protocol
from acked.model.language.storage.composites import ArrayDomain, StructDomain

_STEP = re.compile(r"\.?(\w+)|\[(\w+)=([^\]]*)\]")
_TABLES = ("fields", "values", "ids")


class Mismatch(Exception):
    """A value that is not what the schema wants; the message says which."""


@frozen
class Mapping:
    """What a mapping file says, all of it empty without one."""

    fields: MappingOf[str, Any] = field(default_factory=dict)
    values: MappingOf[str, MappingOf[str, Any]] = field(default_factory=dict)
    ids: MappingOf[str, list[str]] = field(default_factory=dict)

    def state(self, theirs: MappingOf[str, Any], protocol: Protocol) -> dict[str, Any]:
        """A state under our fields' names; `Mismatch` if a path leads nowhere."""
        ours: dict[str, Any] = {name: theirs[name] for name in protocol.state.domains() if name in theirs}
        for target, source in self.fields.items():
            value = source["value"] if isinstance(source, dict) else _at(theirs, source)
            head, *rest = target.split(".")
            ours[head] = _put(StructDomain(protocol.state).struct.domains()[head], ours.get(head), rest, value, target)
        return ours


def read_mapping(path: Path, protocol: Protocol) -> Mapping:
    """The mapping in a file; `ConfigurationError` for a key or a field that is not known."""
    document = parse(read_text(path, "mapping file"), path)
    for name, table in document.items():
        if name not in _TABLES or not isinstance(table, dict):
            raise ConfigurationError(f"{path}: {name!r} is no table of a mapping file, which has {', '.join(_TABLES)}")
    fields, values, ids = (document.get(name, {}) for name in _TABLES)
    known = protocol.state.domains()
    for name in (*fields, *values):
        head = name.split(".")[0]
        if head not in known:
            raise ConfigurationError(f"{path}: {protocol.name} has no field {head!r}{near(head, known)}")
    for name, source in fields.items():
        is_value = isinstance(source, dict) and set(source) == {"value"}
        if not is_value and (not isinstance(source, str) or _steps(source) is None):
            raise ConfigurationError(
                f"{path}: {name} = {source!r} is neither a path, such as \"msgs[type=Prepared].rm\", nor {{ value = … }}"
            )
    for name, table in values.items():
        if not isinstance(table, dict):
            raise ConfigurationError(f"{path}: [values.{name}] is a table of their values, each with ours")
    for name, names in ids.items():
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
            raise ConfigurationError(f"{path}: {name} = {names!r} is not a list of names, in the order of the ids")
    return Mapping(fields, values, ids)


def _steps(path: str) -> list[re.Match[str]] | None:
    """What a path is made of; None if it is none."""
    found = [*_STEP.finditer(path)]
    return found if found and found[0][1] and "".join(one[0] for one in found) == path else None


def _at(theirs: Any, path: str) -> Any:
    value = theirs
    for step in _steps(path) or ():
        value = _selected(value, step[2], step[3]) if step[2] else _field(value, step[1], path)
    return value


def _field(value: Any, name: str, path: str) -> Any:
    """A field of a record; of a set, a sequence or a function that of every element."""
    if isinstance(value, dict) and name in value:
        return value[name]
    if isinstance(value, list):
        return [_field(item, name, path) for item in value]
    if isinstance(value, dict) and value and all(isinstance(item, dict) for item in value.values()):
        return {key: _field(item, name, path) for key, item in value.items()}
    raise Mismatch(f"the path {path} leads to no {name}")


def _selected(value: Any, name: str, wanted: str) -> Any:
    if not isinstance(value, list):
        raise Mismatch(f"[{name}={wanted}] selects members of a set, and this is none")
    return [item for item in value if isinstance(item, dict) and str(item.get(name)) == wanted]


def _put(domain: Any, held: Any, rest: list[str], value: Any, target: str) -> Any:
    """What is held with a value put to a path; of an array to the path in every element."""
    if not rest:
        return value
    if isinstance(domain, ArrayDomain):
        if not isinstance(value, (dict, list)):
            raise Mismatch(f"{target} is in an array, and its value {value!r} is not a function")
        items = value if isinstance(value, dict) else dict(enumerate(value))
        held = held if isinstance(held, dict) else {}
        return {str(key): _put(domain.element, held.get(str(key)), rest, item, target) for key, item in items.items()}
    inner = domain.struct.domains() if isinstance(domain, StructDomain) else {}
    if rest[0] not in inner:
        raise Mismatch(f"{target} is no field of the state")
    held = held if isinstance(held, dict) else {}
    return {**held, rest[0]: _put(inner[rest[0]], held.get(rest[0]), rest[1:], value, target)}

