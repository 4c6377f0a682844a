"""The names of Kafka's requests."""

from __future__ import annotations

from enum import IntEnum, unique

from kio.schema.errors import ErrorCode


@unique
class Api(IntEnum):
    """The keys of the requests that are asked or held. A frame may have another key, which then is a bare number."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    DESCRIBE_TRANSACTIONS = 65
    DESCRIBE_TOPIC_PARTITIONS = 75
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81


def error_name(code: int) -> str:
    """As Kafka's documentation writes it, FENCED_LEADER_EPOCH, or the number of one that is not known here."""
    try:
        return ErrorCode(code).name.upper()
    except ValueError:
        return f"error {code}"


def api_name(key: int | None) -> str:
    """As Kafka's documentation writes it: LeaderAndIsr."""
    if key is None:
        return "unknown"
    from kio.schema.index import api_key_map  # Long to import, and only names need it.

    name = "leader_and_isr" if key == Api.LEADER_AND_ISR else api_key_map.get(key)  # Kafka 4 has it no longer.
    return f"api {key}" if name is None else name.title().replace("_", "")
