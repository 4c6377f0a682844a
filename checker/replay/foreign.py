"""Traces of other tools: Apalache's ITF and TLC's JSON, read as states of one of our instances.

Both formats' values, and two vocabularies: our own fields (what `acked export` writes) and, for the replication family, the
variables of the published TLA+ modules.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.checker.question.result import Words
from acked.checker.replay.retrace import StepHint
from acked.model.formulas.errors import ModelError
from acked.model.language.domain import BoolDomain, Domain, OptionalDomain, PresentDomain, SetDomain
from acked.model.language.protocol import Instance
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.storage.messages import MessagesDomain

TLA_VARIABLES = frozenset(
    {"replicaLog", "replicaState", "nextRecordId", "nextLeaderEpoch", "leaderAndIsrRequests", "quorumState"}
)
"""What the published TLA+ family calls its state."""

_NOTHING = ("none", "nil", "null", "-1")


@dataclass(frozen=True)
class ForeignTrace:
    """States that another tool wrote, packed, and what it says of the steps between them."""

    states: tuple[Words, ...]
    hints: tuple[StepHint | None, ...]


class _Mismatch(Exception):
    """A value that is not what the schema wants; the message says which."""


def read_foreign(path: Path, instance: Instance) -> ForeignTrace:
    """Reads a trace in ITF or TLC's JSON form; `SpecUnreadable` names the state and field that do not fit the instance."""
    try:
        document = json.loads(read_text(path, "trace file"))
    except ValueError as error:
        raise SpecUnreadable(f"{path} is not a trace: not valid JSON ({error})") from None
    except RecursionError:
        raise SpecUnreadable(f"{path} is not a trace: its JSON is nested too deeply") from None
    try:
        states, hints = _parts(document)
    except (_Mismatch, KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError, RecursionError):
        states, hints = [], []
    if not states:
        raise SpecUnreadable(f"{path} is neither an ITF trace (“states”) nor TLC's JSON form (“counterexample”)")
    packed: list[Words] = []
    for index, state in enumerate(states):
        try:
            is_tla = set(state) >= TLA_VARIABLES
            ours = _tla_state(state, instance) if is_tla else _decode(StructDomain(instance.protocol.state), state, "")
            packed.append(instance.schema.pack(instance.schema.encode(ours)))
        except (_Mismatch, ModelError) as error:
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
                hints[at] = StepHint(str(label["name"]), _arguments(label.get("parameters")))
        return states, hints
    raw = document["states"]
    told = [state.get("#meta", {}) for state in raw[1:]]
    hints = [StepHint(meta["action"], _arguments(meta.get("parameters"))) if "action" in meta else None for meta in told]
    return [_plain({name: value for name, value in state.items() if name != "#meta"}) for state in raw], hints


def _arguments(given: Any) -> Mapping[str, Any] | None:
    return _plain(given) if isinstance(given, dict) else None


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
    if isinstance(key, (list, dict)):
        raise _Mismatch("a map has a key that is neither a number nor a text")
    return str(key)


# -- our own fields ----------------------------------------------------------------------------------------------------


def _decode(domain: Domain, value: Any, where: str) -> Any:
    if isinstance(domain, PresentDomain):
        return _decode(domain.inner, value, where)
    if isinstance(domain, StructDomain):
        domains = domain.struct.domains()
        # Which fields have to be there depends on the constants, and is decided when the state is encoded.
        if not isinstance(value, dict):
            raise _Mismatch(f"{where.lstrip('.') or 'the state'} must be a record, not {value!r}")
        return {name: _decode(part, value[name], f"{where}.{name}") for name, part in domains.items() if name in value}
    if isinstance(domain, MessagesDomain):
        return [_decode(StructDomain(domain.struct), item, f"{where}[{at}]") for at, item in enumerate(_items(value, where))]
    if isinstance(domain, ArrayDomain):
        return [_decode(domain.element, item, f"{where}[{at}]") for at, item in enumerate(_items(value, where))]
    if isinstance(domain, LogDomain):
        records = [_decode(StructDomain(domain.record), item, f"{where}.records") for item in _items(value["records"], where)]
        return {"end": value["end"], "records": records[: value["end"]]}
    if isinstance(domain, SetDomain):
        return sorted(value)
    if isinstance(domain, OptionalDomain):
        return None if _is_nothing(value) else value
    return bool(value) if isinstance(domain, BoolDomain) else value


def _items(value: Any, where: str = "") -> list[Any]:
    """A list, or a function from 0, 1, …, as its values in order."""
    if isinstance(value, list):
        return value
    if strange := [key for key in value if not str(key).isdecimal()]:
        raise _Mismatch(
            f"{where.lstrip('.') or 'an array'} has an element {strange[0]!r}, and ids are numbers here: give TLC numbers "
            "instead of model values, such as RM = {0, 1}"
        )
    return [value[key] for key in sorted(value, key=int)]


def _is_nothing(value: Any) -> bool:
    return value is None or str(value).strip('"').lower() in _NOTHING


# -- the TLA+ family's variables ---------------------------------------------------------------------------------------


def _tla_state(state: Mapping[str, Any], instance: Instance) -> Any:
    names = sorted(_entries(state["replicaLog"]), key=_naturally)
    epochs = instance.constants["max_leader_epoch"] + 1

    def replica(name: Any) -> int | None:
        if str(name) in names:
            return names.index(str(name))
        if _is_nothing(name):
            return None
        raise _Mismatch(f"{name!r} is not one of the replicas {', '.join(names)}")

    def optional(value: Any) -> Any:
        return None if _is_nothing(value) else value

    def members(isr: Iterable[Any]) -> list[int]:
        return sorted(found for name in isr if (found := replica(name)) is not None)

    logs, views, quorum = state["replicaLog"], state["replicaState"], state["quorumState"]
    requests: list[dict[str, Any]] = [{"leader": None, "isr": []} for _ in range(epochs)]
    for request in state["leaderAndIsrRequests"]:
        if not 0 <= request["leaderEpoch"] < epochs:
            raise _Mismatch(f"leader epoch {request['leaderEpoch']} is beyond max_leader_epoch = {epochs - 1}")
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
    records = _items(log["records"])[:end]
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


def _naturally(name: str) -> tuple[str, int, str]:
    """`b2` before `b10`."""
    match = re.fullmatch(r"(.*?)(\d*)", name)
    assert match is not None
    return match[1], int(match[2] or 0), name
