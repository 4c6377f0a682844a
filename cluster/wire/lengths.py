"""Whether the lengths in a message are such as its bytes can hold, looked at before kio reads it.

kio makes room for as many elements as an array names, whatever follows, and where there is no such room it ends the process.
So an array that names more elements than there are bytes left is refused here, and so is none where there must be one, which
kio reads as one that may be missing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, get_args, get_origin

from kio.serial.readers import read_unsigned_varint

_SIZES = {
    "int8": 1, "bool": 1, "int16": 2, "uint16": 2, "error_code": 2, "int32": 4, "timedelta_i32": 4, "int64": 8,
    "timedelta_i64": 8, "datetime_i64": 8, "float64": 8, "uuid": 16,
}  # fmt: skip
"""Bytes of a value, by what kio calls its type; the others have a length."""
_SHORT, _LONG = struct.Struct(">h"), struct.Struct(">i")


class WrongLength(ValueError):
    """A length that the bytes do not have."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A field: the size of its values, or what they are made of; neither means bytes with their length before them."""

    size: int
    entity: Any
    is_array: bool
    is_nullable: bool
    is_short: bool


def end_of(schema: Any, data: bytes, at: int) -> int:
    """Where a message that begins at a byte ends; `WrongLength` if a length in it is none."""
    plain, tagged = _parts(schema)
    is_flexible = schema.__flexible__
    for part in plain:
        at = _end(part, data, at, is_flexible)
    if is_flexible:
        count, at = _varint(data, at)
        for _ in range(_possible(count, data, at)):
            tag, at = _varint(data, at)
            size, at = _varint(data, at)
            if at + size > len(data):
                raise WrongLength(f"{size} bytes at byte {at} of {len(data)}")
            if tag in tagged:
                _end(tagged[tag], data[: at + size], at, True)
            at += size
    return at


@cache
def _parts(schema: Any) -> tuple[tuple[_Part, ...], dict[int, _Part]]:
    plain, tagged = [], {}
    for one in fields(schema):
        kind = one.type
        inner = [part for part in get_args(kind) if part is not type(None)] if get_origin(kind) is not tuple else [kind]
        kind = inner[0] if inner else kind
        is_array = get_origin(kind) is tuple
        entity = next((part for part in (*get_args(kind), kind) if hasattr(part, "__dataclass_fields__")), None)
        name = one.metadata.get("kafka_type", "")
        part = _Part(_SIZES.get(name, 0), entity, is_array, kind is not one.type, name == "string")
        if (tag := one.metadata.get("tag")) is None:
            plain.append(part)
        else:
            tagged[int(tag)] = part
    return tuple(plain), tagged


def _end(part: _Part, data: bytes, at: int, is_flexible: bool) -> int:
    if not part.is_array:
        if part.entity is not None and part.is_nullable:
            if data[at : at + 1] != b"\x01":
                return at + 1
            at += 1
        return _end_of_value(part, data, at, is_flexible)
    count, at = _length(data, at, is_flexible, _LONG)
    if count < 0 and not part.is_nullable:
        raise WrongLength(f"no array at byte {at}, where there must be one")
    count = _possible(count, data, at)
    if part.size:
        return at + count * part.size
    for _ in range(count):
        at = _end_of_value(part, data, at, is_flexible)
    return at


def _end_of_value(part: _Part, data: bytes, at: int, is_flexible: bool) -> int:
    if part.entity is not None:
        return end_of(part.entity, data, at)
    if part.size:
        return at + part.size
    length, at = _length(data, at, is_flexible, _SHORT if part.is_short else _LONG)
    return at + _possible(length, data, at)


def _length(data: bytes, at: int, is_flexible: bool, plain: struct.Struct) -> tuple[int, int]:
    if is_flexible:
        length, at = _varint(data, at)
        return length - 1, at
    try:
        return plain.unpack_from(data, at)[0], at + plain.size
    except struct.error:
        raise WrongLength(f"no length at byte {at} of {len(data)}") from None


def _possible(count: int, data: bytes, at: int) -> int:
    if count > len(data) - at:
        raise WrongLength(f"{count} elements or bytes at byte {at} of {len(data)}")
    return max(count, 0)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    try:
        value, size = read_unsigned_varint(data, at)
    except Exception:  # kio raises what the bytes happen to lead to.
        raise WrongLength(f"no length at byte {at} of {len(data)}") from None
    return value, at + size
