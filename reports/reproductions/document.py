"""A reproduction as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import trace_document
from acked.cluster.playing.compare import value_of
from acked.cluster.playing.play import SeenStep
from acked.cluster.playing.reproduce import Reproduction
from acked.cluster.stories.seen import Seen
from acked.reports.reproductions.verdict import Control
from acked.reports.reproductions.words import Answer
from acked.reports.runs.view import steps_of

FORMAT = "acked-reproduction/1"


def answer_document(answer: Answer, left_out: dict[str, str]) -> dict[str, Any]:
    """The whole answer. `left_out` are the actions that the search left out, with the reasons."""
    question, run = answer.first.prepared.question, answer.first.prepared.run
    found = answer.judgement
    document: dict[str, Any] = {
        "format": FORMAT,
        "title": answer.title,
        "verdict": found.verdict.value,
        "exit_code": int(found.exit_code),
        "property": None if answer.promise is None else answer.promise.name,
        "left_out": left_out,
        "trace": trace_document(Counterexample(answer.title, question, run, answer.promise)),
        **_reproduction(answer.first),
    }
    if answer.control is not None:
        document["control"] = {
            "changed": str(answer.changed),
            "keeps": found.control is Control.KEEPS,
            **_reproduction(answer.control),
        }
    return document


def _reproduction(one: Reproduction) -> dict[str, Any]:
    played, prepared = one.played, one.prepared
    taken = {step.step.index: step for step in played.steps}
    beyond = {step.step.index: step for step in played.beyond}
    steps = []
    for view in steps_of(prepared.question, prepared.run)[1:]:
        done = taken.get(view.index)
        steps.append(
            {
                "index": view.index,
                "action": view.action,
                "params": dict(view.arguments),
                "sentence": view.sentence,
                "taken": done is not None,
                **_told(done or beyond.get(view.index), prepared.setting.replicas),
            }
        )
    parted = played.parted
    return {
        "kafka": prepared.brokers.version,
        "control_plane": one.mode.value,
        "other_rules": [
            {"constant": rule.constant, "trace": rule.spec, "release": rule.release} for rule in prepared.others
        ],
        "settings": {"acks": prepared.setting.acks, **prepared.setting.topic},
        "assignment": list(prepared.script.order),
        "parted": None
        if parted is None
        else {
            "step": parted.index,
            "reason": played.reason,
            "differences": [{"what": it.what, "model": it.model, "real": it.real} for it in played.differences],
        },
        "acknowledged": _by_value(played.acknowledged),
        "refused": _by_value(played.refused),
        "leader": played.leader,
        "lost": [value_of(record) for record in played.lost],
        "forks": list(played.forks),
        "broken": sorted(name for name, is_broken in played.broken.items() if is_broken),
        "decided": sorted(played.broken),
        "sayings": dict(sorted(played.sayings.items())),
        "repeated": [value_of(record) for record in played.repeated],
        "before": _seen(played.initial, prepared.setting.replicas),
        "after": _seen(played.last, prepared.setting.replicas),
        "lines": list(played.lines),
        "start_seconds": round(one.start_seconds, 1),
        "seconds": round(played.seconds, 1),
        "steps": steps,
        **({} if one.observed is None else {"observed": asdict(one.observed)}),
        **({} if one.folder is None else {"folder": str(one.folder)}),
    }


def _told(done: SeenStep | None, replicas: int) -> dict[str, Any]:
    """What a step of brokers has left; nothing of one that they did not come to."""
    if done is None:
        return {"seen": None, "seconds": None, "acknowledged": {}, "refused": {}, "lines": []}
    return {
        "seen": None if done.seen is None else _seen(done.seen, replicas),
        "seconds": round(done.seconds, 3),
        "acknowledged": _by_value(done.acknowledged),
        "refused": _by_value(done.refused),
        "lines": list(done.lines),
    }


def _by_value(records: Mapping[int, int]) -> dict[str, int]:
    return {value_of(record): number for record, number in sorted(records.items())}


def _seen(seen: Seen, replicas: int) -> dict[str, Any]:
    partition = seen.partition
    return {
        "is_there": partition is not None,
        "leader": None if partition is None or partition.leader < 0 else partition.leader,
        "leader_epoch": None if partition is None else partition.epoch,
        "isr": [] if partition is None else sorted(partition.isr),
        "eligible": None if partition is None or partition.eligible is None else sorted(partition.eligible),
        "brokers": [
            {
                "log": [{"value": record.text, "epoch": record.epoch} for record in one.log],
                "high_watermark": one.high_watermark,
                "running": one.broker in seen.running,
            }
            for one in seen.replicas
            if one.broker < replicas
        ],
    }
