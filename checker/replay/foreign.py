"""Traces of other tools: Apalache's ITF and TLC's JSON, read as states of one of our instances.

Both formats' values, and two vocabularies: our own fields (what `acked export` writes) and, for the replication family, the
variables of the published TLA+ modules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.checker.question.result import Words
from acked.checker.replay.decoding import Decoder, is_nothing, items, naturally
from acked.checker.replay.mapping import Mapping as FieldMapping
from acked.checker.replay.mapping import Mismatch
from acked.checker.replay.retrace import StepHint
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance

TLA_VARIABLES = frozenset(
    {"replicaLog", "replicaState", "nextRecordId", "nextLeaderEpoch", "leaderAndIsrRequests", "quorumState"}
)
"""What the published TLA+ family calls its state."""


@frozen
class ForeignTrace:
    """States that another tool wrote, packed, and what it says of the steps between them."""

    states: tuple[Words, ...]
    hints: tuple[StepHint | None, ...]


def read_foreign(path: Path, instance: Instance, mapping: FieldMapping | None = None) -> ForeignTrace:
    """Reads a trace in ITF or TLC's JSON form; `SpecUnreadable` names the state and field that do not fit the instance.

    A `mapping` says where the trace has our fields; without one it has them, or the variables of the published modules.
    """
    try:
        document = json.loads(read_text(path, "trace file"))
    except ValueError as error:
        raise SpecUnreadable(f"{path} is not a trace: not valid JSON ({error})") from None
    except RecursionError:
        raise SpecUnreadable(f"{path} is not a trace: its JSON is nested too deeply") from None
    try:
        states, hints = _parts(document)
    except (Mismatch, KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError, RecursionError):
        states, hints = [], []
    if not states:
        raise SpecUnreadable(f"{path} is neither an ITF trace (“states”) nor TLC's JSON form (“counterexample”)")
    packed: list[Words] = []
    try:
        decoder = Decoder(instance, mapping or FieldMapping(), states)
    except Mismatch as error:
        raise SpecUnreadable(f"{path}: {error}") from None
    for index, state in enumerate(states):
        try:
            is_tla = mapping is None and set(state) >= TLA_VARIABLES
            ours = _tla_state(state, instance) if is_tla else decoder.state(state)
            packed.append(instance.schema.pack(instance.schema.encode(ours)))
        except (Mismatch, ModelError) as error:
            raise SpecUnreadable(f"{path}: state {index} is not a state of {instance.protocol.name}: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise SpecUnreadable(
                f"{path}: state {index} is not a state of {instance.protocol.name}: {type(error).__name__} at {error}"
            ) from None
    return ForeignTrace(tuple(packed), tuple(hints))


# -- formats -----------------------------------------------------------------------------------------------------------


def _parts(document: Any) -> tuple[list[dict[str, Any]], list[StepHint | None]]:
    if "counterexample" in document:
        numbered = document["counterexample"]["state"]
        states = [_plain(state) for _, state in numbered]
        numbers = {number: at for at, (number, _) in enumerate(numbered)}
        hints: list[StepHint | None] = [None] * (len(states) - 1)
        for (_, _), label, (target, _) in document["counterexample"].get("action", []):
            at = numbers.get(target, 0) - 1
            if 0 <= at < len(hints):
                hints[at] = StepHint(str(label["name"]), _arguments(label.get("context", label.get("parameters"))))
        return states, hints
    raw = document["states"]
    told = [state.get("#meta", {}) for state in raw[1:]]
    hints = [StepHint(meta["action"], _arguments(meta.get("parameters"))) if "action" in meta else None for meta in told]
    return [_plain({name: value for name, value in state.items() if name != "#meta"}) for state in raw], hints


def _arguments(given: Any) -> Mapping[str, Any] | None:
    """Parameters by name, as a module that `acked export` wrote has them; TLC tells their values in a step's context."""
    if not isinstance(given, dict):
        return None
    return {name.rstrip("_"): None if is_nothing(value) else value for name, value in _plain(given).items()}


def _plain(value: Any) -> Any:
    """Either format's value as plain Python: dicts (also for maps), lists (also for sets and tuples), ints, texts."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "#bigint" in value:
        return int(value["#bigint"])
    if "#set" in value or "#tup" in value:
        return [_plain(item) for item in value["#set" if "#set" in value else "#tup"]]
    if "#map" in value:
        return {_key(_plain(key)): _plain(item) for key, item in value["#map"]}
    if set(value) == {"tag", "value"}:
        return None if value["tag"] == "None" else _plain(value["value"])
    return {str(key): _plain(item) for key, item in value.items()}


def _key(key: Any) -> str:
    """A key of a map as a text; of a record as TLC writes it."""
    if isinstance(key, list):
        raise Mismatch("a map has a key that is neither a number, nor a text, nor a record")
    return f"[{', '.join(f'{name} |-> {item}' for name, item in key.items())}]" if isinstance(key, dict) else str(key)


# -- the TLA+ family's variables ---------------------------------------------------------------------------------------


def _tla_state(state: Mapping[str, Any], instance: Instance) -> Any:
    names = sorted(_entries(state["replicaLog"]), key=naturally)
    epochs = instance.constants["max_leader_epoch"] + 1

    def replica(name: Any) -> int | None:
        if str(name) in names:
            return names.index(str(name))
        if is_nothing(name):
            return None
        raise Mismatch(f"{name!r} is not one of the replicas {', '.join(names)}")

    def optional(value: Any) -> Any:
        return None if is_nothing(value) else value

    def members(isr: Iterable[Any]) -> list[int]:
        return sorted(found for name in isr if (found := replica(name)) is not None)

    logs, views, quorum = state["replicaLog"], state["replicaState"], state["quorumState"]
    requests: list[dict[str, Any]] = [{"leader": None, "isr": []} for _ in range(epochs)]
    for request in state["leaderAndIsrRequests"]:
        if not 0 <= request["leaderEpoch"] < epochs:
            raise Mismatch(f"leader epoch {request['leaderEpoch']} is beyond max_leader_epoch = {epochs - 1}")
        requests[request["leaderEpoch"]] = {"leader": replica(request["leader"]), "isr": members(request["isr"])}
    return {
        "log": [_tla_log(_entries(logs)[name]) for name in names],
        "replica": [_tla_view(_entries(views)[name], optional, replica, members) for name in names],
        "quorum": {
            "leader_epoch": optional(quorum["leaderEpoch"]),
            "leader": replica(quorum["leader"]),
            "isr": members(quorum["isr"]),
        },
        "next_record_id": state["nextRecordId"],
        "next_leader_epoch": state["nextLeaderEpoch"],
        "requests": requests,
    }


def _tla_log(log: Mapping[str, Any]) -> dict[str, Any]:
    end = log["endOffset"]
    records = items(log["records"])[:end]
    return {"end": end, "records": [{"id": record["id"], "epoch": record["epoch"]} for record in records]}


def _tla_view(
    view: Mapping[str, Any],
    optional: Callable[[Any], Any],
    replica: Callable[[Any], int | None],
    members: Callable[[Iterable[Any]], list[int]],
) -> dict[str, Any]:
    return {
        "hw": view["hw"],
        "leader_epoch": optional(view["leaderEpoch"]),
        "leader": replica(view["leader"]),
        "isr": members(view["isr"]),
    }


def _entries(function: Any) -> Mapping[str, Any]:
    """A function of the replicas; TLC writes one over 1, 2, … as a list."""
    if isinstance(function, list):
        return {str(at): item for at, item in enumerate(function, start=1)}
    return {str(name): item for name, item in function.items()}
