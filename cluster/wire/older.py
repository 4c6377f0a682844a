"""Messages that Kafka 4 no longer knows (KIP-896) or no longer sends, in the form of kio, which reads and writes them.

kio has every version of Kafka 4's messages. Older versions of them are those less some fields; `LeaderAndIsr`, which only
controllers with ZooKeeper send, is defined here after LeaderAndIsrRequest.json of Kafka 3.9.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, field, fields, make_dataclass
from functools import cache
from types import GenericAlias
from typing import Any, get_args
from uuid import UUID

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.schema.request_header import v1, v2
from kio.static.constants import EntityType
from kio.static.primitive import i8, i16, i32, i64

from acked.cluster.wire.apis import Api

Schema = type[Any]
"""A dataclass of a message, in the form of kio's."""

_Older = Mapping[tuple[int, int], tuple[int, str]]
_Part = tuple[str, Any, Field[Any]]
_Change = Callable[[Field[Any]], _Part | None]
"""Of a field the name, type and form that it has instead; None if it is left out."""


@cache
def request_schema(api: int, version: int) -> Schema | None:
    """The schema of a request; None if nothing here knows it."""
    if api == Api.LEADER_AND_ISR:
        return _leader_and_isr(version) if version <= 7 else None
    return _schema(load_request_schema, _OLDER_REQUESTS, api, version)


@cache
def response_schema(api: int, version: int) -> Schema | None:
    """The schema of a response; None if nothing here knows it."""
    if api == Api.DESCRIBE_TRANSACTIONS and version == 0:
        return _derive(load_response_schema(api, 0), version, _number_times)
    return _schema(load_response_schema, _OLDER_RESPONSES, api, version)


def _schema(load: Callable[[int, int], Schema], older: _Older, api: int, version: int) -> Schema | None:
    """kio's own, or one of its later versions less what the version does not have."""
    if (api, version) in older:
        like, without = older[api, version]
        return _derive(load(api, like), version, _without(without))
    if api == Api.ALTER_PARTITION and version < 2:
        return _derive(load(api, 2), version, _name_topics(version))
    try:
        return load(api, version)
    except (UnknownAPIKey, UnknownEntity):
        return None


_OLDER_REQUESTS: _Older = {
    **{(Api.PRODUCE, version): (3, "transactional_id") for version in (0, 1, 2)},
    (Api.FETCH, 3): (4, "isolation_level"),
    **{(Api.FETCH, version): (4, "isolation_level max_bytes") for version in (0, 1, 2)},
    (Api.CREATE_TOPICS, 0): (2, "validate_only"),
    (Api.CREATE_TOPICS, 1): (2, ""),
    (Api.DELETE_TOPICS, 0): (1, ""),
}
"""By API and version: the version of kio that it is like, and the fields that it does not have."""

_OLDER_RESPONSES: _Older = {
    (Api.PRODUCE, 0): (3, "log_append_time throttle_time"),
    (Api.PRODUCE, 1): (3, "log_append_time"),
    (Api.PRODUCE, 2): (3, ""),
    (Api.FETCH, 0): (4, "last_stable_offset aborted_transactions throttle_time"),
    **{(Api.FETCH, version): (4, "last_stable_offset aborted_transactions") for version in (1, 2, 3)},
    (Api.CREATE_TOPICS, 0): (2, "error_message throttle_time"),
    (Api.CREATE_TOPICS, 1): (2, "throttle_time"),
    (Api.DELETE_TOPICS, 0): (1, "throttle_time"),
}


def leader_and_isr_answer(version: int, correlation: int) -> bytes:
    """What a broker answers to a LeaderAndIsr that it has taken up, as a frame without its length; no partition failed."""
    if version >= 4:  # Flexible: no tagged fields in the header, a compact array of nothing, no tagged fields.
        return struct.pack(">ibhbb", correlation, 0, 0, 1, 0)
    return struct.pack(">ihi", correlation, 0, 0)


def _without(names: str) -> _Change:
    """Leaves fields out, in nested messages too."""
    left_out = frozenset(names.split())
    return lambda one: None if one.name in left_out else (one.name, one.type, one)


def _name_topics(version: int) -> _Change:
    """AlterPartition before 3.2 (as AlterIsr) named topics; version 0 had no leader recovery state."""
    as_before = _without("leader_recovery_state" if version < 1 else "")
    return lambda one: ("topic_name", str, _kafka("string")) if one.name == "topic_id" else as_before(one)


def _number_times(one: Field[Any]) -> _Part:
    """Where there is no transaction a broker says that it began at −1, which kio does not read as a time."""
    if one.name == "transaction_start_time":
        return one.name, i64, _kafka("int64")
    return one.name, one.type, one


def _derive(schema: Schema, version: int, change: _Change) -> Schema:
    """A message of a version with the fields of another one's, each changed or left out, in nested messages too."""
    specified = []
    for part in filter(None, map(change, fields(schema))):
        name, kind, one = part
        nested = next((inner for inner in get_args(kind)[:1] if hasattr(inner, "__dataclass_fields__")), None)
        again = field(metadata=one.metadata) if one.default is MISSING else field(metadata=one.metadata, default=one.default)
        specified.append((name, kind if nested is None else _many(_derive(nested, version, change)), again))
    namespace = {
        "__type__": schema.__type__,
        "__version__": i16(version),
        "__flexible__": schema.__flexible__,
        "__api_key__": schema.__api_key__,
        "__header_schema__": schema.__header_schema__,
    }
    return make_dataclass(schema.__name__, specified, namespace=namespace, frozen=True, kw_only=True)


def _many(kind: Any) -> Any:
    """An array of messages, as kio writes its type."""
    return GenericAlias(tuple, (kind, ...))


def _kafka(kind: str) -> Field[Any]:
    made: Field[Any] = field(metadata={"kafka_type": kind})
    return made


def _leader_and_isr(version: int) -> Schema:
    """LeaderAndIsr of a version, 0 to 7: what a controller with ZooKeeper tells a broker about its partitions."""

    def message(name: str, kind: EntityType, *parts: tuple[str, int, int, Any, str]) -> Schema:
        """Of fields that are there from one version to another."""
        flexible = version >= 4
        namespace = {
            "__type__": kind,
            "__version__": i16(version),
            "__flexible__": flexible,
            "__api_key__": i16(Api.LEADER_AND_ISR),
            "__header_schema__": (v2 if flexible else v1).RequestHeader,
        }
        there = [(part, shape, field(metadata={"kafka_type": wire} if wire else {}))
                 for part, first, last, shape, wire in parts if first <= version <= last]  # fmt: skip
        return make_dataclass(name, there, namespace=namespace, frozen=True, kw_only=True)

    nested, some = EntityType.nested, tuple[i32, ...]
    partition = message(
        "LeaderAndIsrPartitionState",
        nested,
        ("topic_name", 0, 1, str, "string"),
        ("partition_index", 0, 7, i32, "int32"),
        ("controller_epoch", 0, 7, i32, "int32"),
        ("leader", 0, 7, i32, "int32"),
        ("leader_epoch", 0, 7, i32, "int32"),
        ("isr", 0, 7, some, "int32"),
        ("partition_epoch", 0, 7, i32, "int32"),
        ("replicas", 0, 7, some, "int32"),
        ("adding_replicas", 3, 7, some, "int32"),
        ("removing_replicas", 3, 7, some, "int32"),
        ("is_new", 1, 7, bool, "bool"),
        ("leader_recovery_state", 6, 7, i8, "int8"),
    )
    topic = message(
        "LeaderAndIsrTopicState",
        nested,
        ("topic_name", 2, 7, str, "string"),
        ("topic_id", 5, 7, UUID | None, "uuid"),
        ("partition_states", 2, 7, _many(partition), ""),
    )
    leader = message(
        "LeaderAndIsrLiveLeader",
        nested,
        ("broker_id", 0, 7, i32, "int32"),
        ("host_name", 0, 7, str, "string"),
        ("port", 0, 7, i32, "int32"),
    )
    return message(
        "LeaderAndIsrRequest",
        EntityType.request,
        ("controller_id", 0, 7, i32, "int32"),
        ("is_k_raft_controller", 7, 7, bool, "bool"),
        ("controller_epoch", 0, 7, i32, "int32"),
        ("broker_epoch", 2, 7, i64, "int64"),
        ("type", 5, 7, i8, "int8"),
        ("ungrouped_partition_states", 0, 1, _many(partition), ""),
        ("topic_states", 2, 7, _many(topic), ""),
        ("live_leaders", 0, 7, _many(leader), ""),
    )
