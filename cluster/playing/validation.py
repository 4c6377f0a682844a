"""What the brokers that have played a run logged meanwhile, held against the model as any cluster's logs are."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, unique
from pathlib import Path

from acked.base.errors import AckedError
from acked.cluster.validating.judge import Asked, judge


@unique
class Found(StrEnum):
    """What a validation of the brokers' own logs says; that a promise is broken is often what the run is about."""

    EXPLAINED = "explained"
    NOT_EXPLAINED = "not explained"
    NOT_READ = "not read"


@dataclass(frozen=True)
class LogValidation:
    """What was found. `events` were explained, `broken` is the first promise that is broken on the way, if one is; `said`
    names the line that is not explained and why, or why the logs were not read, and is empty else.
    """

    found: Found
    events: int = 0
    broken: str | None = None
    said: str = ""


def validate_logs(folder: Path, topic: str, version: str) -> LogValidation:
    """Validates what the nodes of a cluster that has ended logged of a topic's only partition."""
    try:
        verdict = judge(Asked((str(folder),), topic, version=version)).verdict
    except AckedError as error:
        return LogValidation(Found.NOT_READ, said=str(error).replace(f"{folder}/", ""))
    broken = None if verdict.broken is None else verdict.broken.promise
    if verdict.stuck is None:
        return LogValidation(Found.EXPLAINED, verdict.explained, broken)
    event, reasons = verdict.stuck.open[0]
    why = reasons[0] if reasons else "it could come next, and leads nowhere"
    where = f"{Path(event.file).relative_to(folder) if event.file else 'a record of the metadata log'}:{event.line}"
    return LogValidation(Found.NOT_EXPLAINED, verdict.explained, broken, f"{where}, {event}: {why}")
