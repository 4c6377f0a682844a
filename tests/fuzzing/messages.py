"""Answers of brokers, and requests, as bytes: one of every message and version that is read, with a value in every field."""

from __future__ import annotations

import random
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

from kio.schema.errors import ErrorCode

from acked.cluster.wire.apis import Api
from acked.cluster.wire.codec import write_request, write_response
from acked.cluster.wire.older import request_schema, response_schema
from acked.cluster.wire.records import write_records

_VERSIONS = range(20)


def answers() -> list[tuple[int, int, bytes]]:
    """API, version and payload, without its length."""
    pick = random.Random(1)
    known = [(api, version, response_schema(api, version)) for api in Api for version in _VERSIONS]
    return [
        (api, version, write_response(api, version, 7, _filled(schema, pick))[4:])
        for api, version, schema in known if schema is not None
    ]  # fmt: skip


def requests() -> list[bytes]:
    """Payloads, without their lengths."""
    pick = random.Random(2)
    known = [(api, version, request_schema(api, version)) for api in Api for version in _VERSIONS]
    return [
        write_request(api, version, 7, _filled(schema, pick))[4:] for api, version, schema in known if schema is not None
    ]  # fmt: skip


def _filled(schema: type[Any], pick: random.Random) -> dict[str, object]:
    return {one.name: _value(one.type, pick) for one in fields(schema)}


def _value(kind: Any, pick: random.Random) -> object:
    parts = [part for part in get_args(kind) if part is not type(None)]
    if Ellipsis in parts:
        return tuple(_value(parts[0], pick) for _ in range(2))
    if parts:
        return _value(parts[0], pick)
    if hasattr(kind, "__dataclass_fields__"):
        return _filled(kind, pick)
    if kind is ErrorCode:
        return pick.choice(list(ErrorCode))
    for known, made in _MADE.items():
        if kind.__name__.endswith(known):
            return made
    return pick.randrange(100)


_MADE = {
    "Timedelta": timedelta(seconds=3), "TZAware": datetime.fromtimestamp(1_000, UTC), "Records": write_records([b"a", b"b"]),
    "bool": True, "bytes": b"\x01\x02", "UUID": UUID(int=0xABC), "f64": 0.5, "str": "text", "TopicName": "orders",
    "GroupId": "group", "TransactionalId": "t",
}  # fmt: skip
