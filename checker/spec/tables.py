"""What a spec file may hold: each table as the dataclass that declares its keys.

By them it is read, and its JSON Schema is made.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import field
from types import NoneType
from typing import Any, get_args

from acked.base.frozen import frozen
from acked.base.plain import field_types
from acked.checker.question.result import Verdict
from acked.checker.spec.reader import Names
from acked.checker.spec.remarks import Claim, GalleryEntry
from acked.checker.spec.variants import KEY


@frozen
class Top:
    """The keys at the top of a file."""

    title: str
    protocol: str
    version: str | None = None
    control_plane: str | None = None
    slow: bool = False


@frozen
class Check:
    """What is asked."""

    invariants: Names = ()
    deadlock: bool = False
    symmetry: bool = False
    count_only: bool = False
    recoverable: Names = ()
    without: Names = ()


@frozen
class Weaken:
    """Clauses that are left out."""

    drop: Names = ()


@frozen
class Invariant:
    """A predicate of the spec's own."""

    holds: str
    doc: str = ""


@frozen
class Liveness:
    """What must come."""

    eventually: str | None = None
    leads_to: Names = ()
    doc: str = ""


@frozen
class Fairness:
    """Actions that are taken in the end."""

    weak: Names = ()
    strong: Names = ()


BUDGET, OVERFLOW = "incomplete: budget", "incomplete: overflow"


@frozen
class Pins:
    """Numbers of the answer."""

    trace_length: int | None = field(default=None, metadata={"least": 1})
    distinct_states: int | None = field(default=None, metadata={"least": 1})
    at_least_distinct_states: int | None = field(default=None, metadata={"least": 1})
    generated_states: int | None = field(default=None, metadata={"least": 1})
    depth: int | None = field(default=None, metadata={"least": 1})


@frozen
class Expect(Pins):
    """The answer."""

    verdict: str = field(kw_only=True, metadata={"allowed": (*(item.value for item in Verdict), BUDGET, OVERFLOW)})
    violates: Names = ()
    holds: Names = ()
    unreachable: Names = ()
    never_fired: Names = ()


_OF_OURS: Mapping[str, type] = {
    "claim": Claim, "gallery": GalleryEntry, "weaken": Weaken, "fairness": Fairness, "check": Check, "expect": Expect,
}  # fmt: skip
_NAMED: Mapping[str, type] = {"invariants": Invariant, "lemmas": Invariant, "liveness": Liveness}
"""Tables of tables with names of the user's own."""

TABLES = ("claim", "gallery", "constants", "weaken", "invariants", "lemmas", "reach", "liveness", "fairness", "check",
          "expect")  # fmt: skip
"""What a spec file has beside the keys of `Top`."""


# -- the schema ---------------------------------------------------------------------------------------------------------

_TYPES = {str: "string", bool: "boolean", int: "integer"}


def spec_schema() -> dict[str, Any]:
    """The JSON Schema of a spec file, for editors: what the reader refuses by keys and types alone is refused.

    With `variants` every other table at the top is one of them, and what is required may stand in any.
    """
    needed = [item.name for item in dataclasses.fields(Top) if item.default is dataclasses.MISSING]
    every = _properties(True) | {KEY: {"type": "array", "items": {"type": "string"}, "minItems": 1}}
    shared = _properties(False)
    part = {"type": "object", "properties": {**shared, "protocol": False}, "additionalProperties": False}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "a spec of acked: a question about a protocol, and its answer",
        "type": "object",
        "if": {"required": [KEY]},
        "then": {"properties": {**shared, KEY: every[KEY], "expect": False}, "additionalProperties": part},
        "else": {"properties": every, "required": needed, "additionalProperties": False},
    }


def _properties(is_whole: bool) -> dict[str, Any]:
    """The keys at the top; of a part of a question a table may lack what the rest of the file has."""
    scalar = {"type": ["integer", "boolean", "string"]}
    return {
        **_keys(Top),
        **{name: _table(kind, is_whole) for name, kind in _OF_OURS.items()},
        **{name: {"type": "object", "additionalProperties": _table(kind, is_whole)} for name, kind in _NAMED.items()},
        "constants": {"type": "object", "additionalProperties": scalar},
        "reach": {"type": "object", "additionalProperties": {"type": "string"}},
    }


def _table(kind: type, is_whole: bool) -> dict[str, Any]:
    needed = [item.name for item in dataclasses.fields(kind) if item.default is dataclasses.MISSING] if is_whole else []
    return {"type": "object", "properties": _keys(kind), "required": needed, "additionalProperties": False}


def _keys(kind: type) -> dict[str, Any]:
    """What the fields of a dataclass take, as the reader reads them."""
    kinds = field_types(kind)
    found: dict[str, dict[str, Any]] = {}
    for item in dataclasses.fields(kind):
        if kinds[item.name] == Names:
            texts = {"type": "array", "items": {"type": "string"}}
            found[item.name] = {"anyOf": [{"type": "string"}, texts]}
            continue
        [wanted] = [one for one in get_args(kinds[item.name]) or (kinds[item.name],) if one is not NoneType]
        found[item.name] = {"type": _TYPES[wanted]}
        if "allowed" in item.metadata:
            found[item.name]["enum"] = list(item.metadata["allowed"])
        if "least" in item.metadata:
            found[item.name]["minimum"] = item.metadata["least"]
    return found
