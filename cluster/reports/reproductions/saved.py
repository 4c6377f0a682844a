"""A reproduction that was saved as JSON, read back to be shown again without brokers.

Nothing that the file says is believed of the model: its trace is replayed step by step, as that of a trace file is. What
brokers did cannot be checked any more; it is read as plain numbers and texts, and anything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import replay
from acked.cluster.observation.promises import PROMISES
from acked.cluster.observe.disk import Replica
from acked.cluster.playing.observed import Found, Observed
from acked.cluster.playing.play import Played, SeenStep
from acked.cluster.playing.reproduce import Brokers, Changed, Prepared, Reproduction
from acked.cluster.playing.script import Script, ScriptStep
from acked.cluster.playing.setting import OtherRule, Setting
from acked.cluster.releases.release import Mode, release
from acked.cluster.reports.reproductions.document import FORMAT
from acked.cluster.reports.reproductions.words import Answer
from acked.cluster.stories.seen import Difference, Seen
from acked.cluster.wire.client import PartitionView
from acked.cluster.wire.records import Record

T = TypeVar("T")
_MOST = 1000
"""Of brokers, records and lines in one step; a file with more is none of ours."""


def read_answer(path: Path) -> tuple[Answer, dict[str, str]]:
    """What was saved, and the actions that its search left out; `SpecUnreadable` names the part that is wrong."""
    try:
        document = json.loads(read_text(path, "reproduction"))
    except (ValueError, RecursionError) as error:
        raise SpecUnreadable(f"{path} is not a reproduction: not valid JSON ({error})") from None
    try:
        return _answer(document)
    except (SpecUnreadable, ConfigurationError) as error:
        raise SpecUnreadable(f"{path}: {error}") from None


def _answer(document: object) -> tuple[Answer, dict[str, str]]:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SpecUnreadable(f"not a reproduction: its format should be {FORMAT!r}")
    found = replay(_part(document, "trace", dict))
    left_out = _texts(document, "left_out")
    first = _reproduction(document, found, "the reproduction")
    changed = second = None
    if "control" in document:
        control = _part(document, "control", dict)
        changed, second = _changed(_part(control, "changed", str)), _reproduction(control, found, "the control")
    return Answer(found.title, found.property, first, changed, second), left_out


def _changed(text: str) -> Changed:
    key, is_setting, value = text.partition("=")
    return Changed(setting=(key, value)) if is_setting else Changed(version=text.removeprefix("Kafka "))


def _reproduction(document: Mapping[str, Any], found: Counterexample, what: str) -> Reproduction:
    mode, others = Mode(_choice(document, "control_plane", [one.value for one in Mode])), []
    for rule in _part(document, "other_rules", list):
        others.append(OtherRule(*(_part(rule, key, str) for key in ("constant", "trace", "release"))))
    settings = dict(_part(document, "settings", dict))
    acks = settings.pop("acks", None)
    if type(acks) is not int:
        _wrong("acks", "a number")
    script = _script(document, found)
    replicas = len(script.initial["log"])
    brokers = Brokers(release(_part(document, "kafka", str)).version, mode)
    setting = Setting(replicas, acks, {str(key): str(value) for key, value in settings.items()})
    prepared = Prepared(found.question, found.run, script, setting, brokers, tuple(others))
    played = _played(document, script, replicas)
    if played.parted is None and len(played.steps) != len(script.steps):
        raise SpecUnreadable(f"not a reproduction: {what} neither takes all steps nor parts at one")
    return Reproduction(prepared, mode, played, _number(document, "start_seconds"), None, _observed(document))


def _observed(document: Mapping[str, Any]) -> Observed | None:
    """What a validation of the brokers' logs found, where one was made."""
    if "observed" not in document:
        return None
    told = _part(document, "observed", dict)
    found, events, broken = Found(_choice(told, "found", [one.value for one in Found])), told.get("events"), None
    if type(events) is not int or events < 0:
        _wrong("events", "a number")
    if told.get("broken") is not None:
        broken = _choice(told, "broken", list(PROMISES))
    return Observed(found, events, broken, _part(told, "said", str))


def _script(document: Mapping[str, Any], found: Counterexample) -> Script:
    """The steps of the trace, as they were compared."""
    schema, run = found.question.instance.schema, found.run
    states = [schema.decode(schema.unpack(words)) for words in run.states]
    if not states or "log" not in states[0] or "producer" not in states[0]:
        raise SpecUnreadable("not a reproduction: its trace is not one that brokers play")
    told = _part(document, "steps", list)
    if len(told) != len(run.actions):
        raise SpecUnreadable(f"not a reproduction: it tells {len(told)} steps of {len(run.actions)}")
    steps = tuple(
        ScriptStep(index, step.action.name, dict(step.arguments), before, after, _part(one, "seen", object) is not None)
        for index, (step, one, (before, after)) in enumerate(zip(run.actions, told, pairwise(states), strict=True), start=1)
    )
    return Script(states[0], steps, tuple(_numbers(document, "assignment")), frozenset())


def _played(document: Mapping[str, Any], script: Script, replicas: int) -> Played:
    told = [_step(one, step, replicas) for one, step in zip(document["steps"], script.steps, strict=True)]
    taken = tuple(one for one, (is_taken, _) in zip([made for _, made in told], told, strict=True) if is_taken)
    parted, reason, differences = None, "", []
    if document.get("parted") is not None:
        where = _part(document, "parted", dict)
        at = where.get("step")
        if type(at) is not int or at != len(taken) + 1 or at > len(script.steps):
            raise SpecUnreadable("not a reproduction: it parts at another step than the one after those that were taken")
        parted, reason = script.steps[at - 1], _part(where, "reason", str)
        for one in _part(where, "differences", list):
            differences.append(Difference(*(_part(one, key, str) for key in ("what", "model", "real"))))
    beyond = tuple(one for is_taken, one in told if not is_taken and one.seen is not None) if parted is not None else ()
    decided, broken = (set(map(str, _part(document, key, list))) for key in ("decided", "broken"))
    leader = document.get("leader")
    return Played(
        _seen(_part(document, "before", dict), replicas), taken, parted, reason,
        _records(document, "acknowledged"), _records(document, "refused"), leader if type(leader) is int else None,
        _seen(_part(document, "after", dict), replicas), _listed_records(document, "lost"),
        tuple(_numbers(document, "forks")), _listed_records(document, "repeated"),
        {name: name in broken for name in sorted(decided)}, _lines(document), _number(document, "seconds"),
        tuple(differences), beyond, {str(name): said is True for name, said in _part(document, "sayings", dict).items()},
    )  # fmt: skip


def _step(told: Any, step: ScriptStep, replicas: int) -> tuple[bool, SeenStep]:
    """Whether a step was taken, and what was seen after it."""
    seen = _part(told, "seen", object)
    seconds = 0.0 if told.get("seconds") is None else _number(told, "seconds")
    made = SeenStep(
        step, None if seen is None else _seen(seen, replicas), _records(told, "acknowledged"), seconds,
        _records(told, "refused"), _lines(told),
    )  # fmt: skip
    return told.get("taken") is True, made


def _seen(told: Any, replicas: int) -> Seen:
    if not isinstance(told, dict):
        _wrong("seen", "a JSON object")
    brokers = _part(told, "brokers", list)
    if len(brokers) != replicas:
        raise SpecUnreadable(f"not a reproduction: it tells of {len(brokers)} brokers, and its trace has {replicas}")
    partition, leader, epoch = None, told.get("leader"), told.get("leader_epoch")
    if told.get("is_there") is True:
        eligible = None if told.get("eligible") is None else tuple(_numbers(told, "eligible"))
        partition = PartitionView(
            0, leader if type(leader) is int else -1, tuple(range(replicas)), tuple(_numbers(told, "isr")),
            epoch if type(epoch) is int else None, eligible,
        )  # fmt: skip
    replicas_seen = tuple(_replica(number, one) for number, one in enumerate(brokers))
    running = tuple(number for number, one in enumerate(brokers) if one.get("running") is True)
    return Seen(partition, replicas_seen, running)


def _replica(number: int, told: Any) -> Replica:
    log = []
    for offset, record in enumerate(_few(_part(told, "log", list), "records")):
        epoch = _part(record, "epoch", object)
        log.append(Record(offset, epoch if type(epoch) is int else None, _part(record, "value", str).encode()))
    mark = told.get("high_watermark")
    return Replica(number, tuple(log), None, mark if type(mark) is int else None)


# -- parts of a document -----------------------------------------------------------------------------------------------


def _wrong(key: str, kind: str) -> NoReturn:
    raise SpecUnreadable(f"not a reproduction: {key!r} is missing or is not {kind}")


_KINDS: Mapping[type, str] = {dict: "a JSON object", list: "a JSON array", str: "a text", object: "there"}


def _part(document: Any, key: str, kind: type[T]) -> T:
    if not isinstance(document, dict) or key not in document or not isinstance(document[key], kind):
        _wrong(key, _KINDS[kind])
    part: T = document[key]
    return part


def _choice(document: Mapping[str, Any], key: str, known: list[str]) -> str:
    found = _part(document, key, str)
    if found not in known:
        _wrong(key, f"one of {', '.join(known)}")
    return found


def _number(document: Mapping[str, Any], key: str) -> float:
    found = document.get(key)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < 1e9:
        _wrong(key, "a number")
    return float(found)


def _numbers(document: Mapping[str, Any], key: str) -> list[int]:
    found = _few(_part(document, key, list), key)
    if not all(type(one) is int for one in found):
        _wrong(key, "an array of numbers")
    return found


def _few(found: list[Any], what: str) -> list[Any]:
    if len(found) > _MOST:
        raise SpecUnreadable(f"not a reproduction: it has more than {_MOST} {what} in one place")
    return found


def _texts(document: Mapping[str, Any], key: str) -> dict[str, str]:
    return {str(name): str(text) for name, text in _part(document, key, dict).items()}


def _lines(document: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, _few(_part(document, "lines", list), "lines")))


def _records(document: Mapping[str, Any], key: str) -> dict[int, int]:
    """Numbers by record, which documents call r0, r1, …"""
    return {_record(name): number for name, number in _part(document, key, dict).items() if type(number) is int}


def _listed_records(document: Mapping[str, Any], key: str) -> tuple[int, ...]:
    return tuple(_record(str(name)) for name in _part(document, key, list))


def _record(name: str) -> int:
    if not (name[:1] == "r" and name[1:].isdecimal() and name.isascii() and len(name) < 6):
        raise SpecUnreadable(f"not a reproduction: {name!r} is not a record, such as r0")
    return int(name[1:])
