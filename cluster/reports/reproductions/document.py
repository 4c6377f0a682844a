"""A reproduction as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import trace_document
from acked.cluster.playing.play import SeenStep
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.reports.reproductions.verdict import Control
from acked.cluster.reports.reproductions.words import Answer, AnyReproduction, presentation_of
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


def _reproduction(one: AnyReproduction) -> dict[str, Any]:
    played, prepared, shown = one.played, one.prepared, presentation_of(one.prepared.question)
    rows, setting = prepared.setting.replicas, prepared.setting
    clients = {} if setting.transaction_version is None else {"transaction_version": setting.transaction_version}
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
                **_step(shown, done or beyond.get(view.index), rows),
            }
        )
    parted = played.parted
    judged = {
        "broken": sorted(name for name, is_broken in played.broken.items() if is_broken),
        "decided": sorted(played.broken),
        "sayings": dict(sorted(played.sayings.items())),
    }
    return {
        "kafka": prepared.brokers.version,
        "control_plane": one.mode.value,
        "other_rules": [asdict(rule) for rule in prepared.others],
        "settings": {"acks": setting.acks, **setting.topic, **clients},
        "assignment": list(prepared.script.order),
        "parted": None
        if parted is None
        else {
            "step": parted.index,
            "reason": played.reason,
            "differences": [asdict(one) for one in played.differences],
        },
        **shown.answers_document(played.answers),
        **shown.end_document(played, judged),
        "before": shown.seen_document(played.initial, rows),
        "after": shown.seen_document(played.last, rows),
        "lines": list(played.lines),
        "start_seconds": round(one.start_seconds, 1),
        "seconds": round(played.seconds, 1),
        "steps": steps,
        **({} if one.observed is None else {"observed": asdict(one.observed)}),
        **({} if one.folder is None else {"folder": str(one.folder)}),
    }


def _step(shown: Presentation[Any, Any], done: SeenStep[Any, Any] | None, rows: int) -> dict[str, Any]:
    """What a step of brokers has left; nothing of one that they did not come to."""
    if done is None:
        return {"seen": None, "seconds": None, **shown.answers_document(shown.no_answers), "lines": []}
    return {
        "seen": None if done.seen is None else shown.seen_document(done.seen, rows),
        "seconds": round(done.seconds, 3),
        **shown.answers_document(done.answers),
        "lines": list(done.lines),
        **({"reason": done.reason} if done.reason else {}),
    }
