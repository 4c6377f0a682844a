"""A validation as a JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from acked.base.errors import AckedError
from acked.cluster.observation.events import CONTROLLER, Event
from acked.cluster.observation.validation import Verdict
from acked.cluster.observation.walking import Taken
from acked.cluster.validating.judge import Asked, Judged

FORMAT = "acked-validation/1"


def judged_document(judged: Judged, topic: str, partition: int) -> dict[str, Any]:
    """What was found in lines, on disks, and of what was acknowledged."""
    compared, presence = judged.compared, judged.presence
    return {
        **verdict_document(judged.verdict, topic, partition),
        "is_valid": judged.is_valid,
        "in_sync": sorted(judged.verdict.in_sync),
        "disks": None if compared is None else asdict(compared),
        "acknowledged": None if presence is None else asdict(presence),
        "not_understood": [asdict(one) for one in judged.unknown],
    }


def all_document(found: Sequence[tuple[Asked, Judged | AckedError]]) -> dict[str, Any]:
    """The same of several partitions; of one that could not be read why."""
    return {
        "format": "acked-validations/1",
        "is_valid": all(not isinstance(one, AckedError) and one.is_valid for _, one in found),
        "partitions": [
            {"topic": asked.topic, "partition": asked.partition, "error": str(one)} if isinstance(one, AckedError)
            else judged_document(one, asked.topic, asked.partition)
            for asked, one in found
        ],
    }  # fmt: skip


def verdict_document(verdict: Verdict, topic: str, partition: int) -> dict[str, Any]:
    """What was found, for other programs."""
    broken, stuck = verdict.broken, verdict.stuck
    return {
        "format": FORMAT,
        "topic": topic,
        "partition": partition,
        "verdict": "not explained" if stuck else "promise broken" if broken else "valid",
        "rules": verdict.subject.rules,
        "brokers": list(verdict.subject.brokers),
        "events": dict(verdict.events),
        "steps": dict(verdict.steps),
        "explained": verdict.explained,
        "tried": verdict.tried,
        "promises": dict(verdict.checked),
        "slack": {"within_a_broker_ms": verdict.slack.within, "between_brokers_ms": verdict.slack.between},
        "held": [
            {
                "broker": held.broker, "log_end": held.end, "high_watermark": held.hw,
                "epochs": [{"epoch": epoch, "from": first} for epoch, first in held.epochs],
            }
            for held in verdict.held
        ],
        "not_explained": None if stuck is None else [_open(event, reasons) for event, reasons in stuck.open],
        "lately": None if stuck is None else [_step(taken) for taken in stuck.lately],
        "broken": None if broken is None else {
            "promise": broken.promise, "means": broken.meaning, "events": [_event(event) for event in broken.events],
        },
    }  # fmt: skip


def _event(event: Event) -> dict[str, Any]:
    fields = {name: sorted(value) if isinstance(value, frozenset) else value for name, value in event.fields.items()}
    by = "controller" if event.by == CONTROLLER else event.by
    return {
        "file": event.file, "line": event.line, "text": event.text.strip(), "by": by, "says": event.says.value, "fields":
        fields, }  # fmt: skip


def _open(event: Event, reasons: tuple[str, ...]) -> dict[str, Any]:
    return {**_event(event), "reasons": list(reasons)}


def _step(taken: Taken) -> dict[str, Any]:
    return {"events": [_event(event) for event in taken.events], "steps": [item.label for item in taken.moves]}
