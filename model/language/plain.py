"""Decoded states by attribute, for the functions that describe a step: `t.after.log[0].end`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from acked.model.formulas.errors import UnknownName


class PlainStruct:
    """Plain values by attribute; structs in it, in lists too, are of this kind."""

    def __getattr__(self, name: str) -> Any:
        """Which fields there are is a matter of the protocol."""
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnknownName(f"there is no field {name!r} here; the fields are {', '.join(self.__dict__)}")

    def __init__(self, values: Mapping[str, object]) -> None:
        self.__dict__.update({key: _wrap(value) for key, value in values.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlainStruct) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


def _wrap(value: object) -> object:
    if isinstance(value, Mapping):
        return PlainStruct(value)
    if isinstance(value, list):
        return [_wrap(item) for item in value]
    return value
