"""Requests and responses as bytes and back: headers, and bodies by their schemas."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import MISSING, fields
from datetime import timedelta
from typing import Any, get_args

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from acked.base.frozen import frozen
from acked.cluster.wire.lengths import end_of
from acked.cluster.wire.older import Schema, request_schema, response_schema

CLIENT_ID = "acked"
_LENGTH = struct.Struct(">i")
_REQUEST = struct.Struct(">hhi")
MAX_FRAME = 256 << 20
"""No frame of a test cluster comes near this; a larger length is not Kafka's protocol."""

Values = Mapping[str, object]
"""The fields of a message by name; nested messages are mappings again. Fields that a version lacks are left out of it."""


class Unreadable(ValueError):
    """Bytes that are not the message that they should be, or a version that nothing here knows."""


@frozen
class RequestHead:
    """What every request begins with."""

    api: int
    version: int
    correlation: int


def request_head(payload: bytes) -> RequestHead:
    """The beginning of a request, which is the same in all versions. `payload` is a frame without its length."""
    try:
        return RequestHead(*_REQUEST.unpack_from(payload))
    except struct.error:
        raise Unreadable(f"{len(payload)} bytes are not a request") from None


def response_correlation(payload: bytes) -> int:
    """Which request a response answers."""
    try:
        correlation: int = _LENGTH.unpack_from(payload)[0]
    except struct.error:
        raise Unreadable(f"{len(payload)} bytes are not a response") from None
    return correlation


def read_request(payload: bytes) -> Any:
    """A request's body, in kio's form; `Unreadable`."""
    head = request_head(payload)
    return _read(payload, request_schema(head.api, head.version), f"request {head.api} version {head.version}")


def read_response(api: int, version: int, payload: bytes) -> Any:
    """A response's body, in kio's form; `Unreadable`."""
    return _read(payload, response_schema(api, version), f"response {api} version {version}")


def write_request(api: int, version: int, correlation: int, values: Values) -> bytes:
    """A request as a frame, with its length."""
    schema = _require(request_schema(api, version), f"request {api} version {version}")
    head = {"request_api_key": api, "request_api_version": version, "correlation_id": correlation, "client_id": CLIENT_ID}
    return _write(schema, head, values)


def write_response(api: int, version: int, correlation: int, values: Values) -> bytes:
    """A response as a frame, with its length, as a broker writes it."""
    schema = _require(response_schema(api, version), f"response {api} version {version}")
    return _write(schema, {"correlation_id": correlation}, values)


def add_length(payload: bytes) -> bytes:
    """A payload with its length before it."""
    return _LENGTH.pack(len(payload)) + payload


def frame_length(prefix: bytes) -> int:
    """The length that four bytes announce; `Unreadable` if no frame is so long."""
    length: int = _LENGTH.unpack(prefix)[0]
    if not 0 <= length <= MAX_FRAME:
        raise Unreadable(f"a frame of {length} bytes")
    return length


def _require(schema: Schema | None, what: str) -> Schema:
    if schema is None:
        raise Unreadable(f"{what} is not known here")
    return schema


def _read(payload: bytes, schema: Schema | None, what: str) -> Any:
    known = _require(schema, what)
    try:
        _, size = entity_reader(known.__header_schema__)(payload, 0)
        end_of(known, payload, size)
        body, _ = entity_reader(known)(payload, size)
    except Exception as error:  # kio raises what the bytes happen to lead to: IndexError, UnicodeDecodeError, ValueError, …
        raise Unreadable(f"{what}: {error!r}") from None
    return body


def _write(schema: Schema, head: Values, values: Values) -> bytes:
    buffer = io.BytesIO()
    header = build(schema.__header_schema__, head)
    entity_writer(type(header))(buffer, header)
    entity_writer(schema)(buffer, build(schema, values))
    return add_length(buffer.getvalue())


def build(schema: Schema, values: Values) -> Any:
    """A message of some fields' values, nested ones included; one without a value has its default, or is null or empty."""
    made = {}
    for one in fields(schema):
        if one.name in values:
            made[one.name] = _build_value(one.type, values[one.name])
        elif one.default is MISSING:
            if not _has_empty(one.type):
                raise ValueError(f"{schema.__name__} version {schema.__version__} needs {one.name}")
            made[one.name] = None if type(None) in get_args(one.type) else ()
    return schema(**made)


def _build_value(kind: Any, value: object) -> object:
    nested = _nested_schema(kind)
    if nested is None:
        if kind is ErrorCode and isinstance(value, int):
            return ErrorCode(value)
        # kio keeps milliseconds as a span of time.
        is_span = "Timedelta" in getattr(kind, "__name__", "")
        return timedelta(milliseconds=value) if is_span and isinstance(value, int) else value
    if isinstance(value, Mapping):
        return build(nested, value)
    if isinstance(value, (list, tuple)):
        return tuple(build(nested, one) if isinstance(one, Mapping) else one for one in value)
    return value  # Null, or a message that is built already.


def _nested_schema(kind: Any) -> Schema | None:
    """The schema in a field's type: its own, or that of an array of it, or of one that may be null."""
    if hasattr(kind, "__dataclass_fields__"):
        found: Schema = kind
        return found
    return next((inner for part in get_args(kind) if (inner := _nested_schema(part)) is not None), None)


def _has_empty(kind: Any) -> bool:
    return bool(get_args(kind))  # A union with None, or a tuple.
