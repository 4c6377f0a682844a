"""The gate's report as GitHub annotations: workflow commands, which the runner turns into marks beside the code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acked.checker.gate.gate import GateReport
from acked.reports.gate.failures import Failure, spec_place


def commands(report: GateReport, failures: Sequence[Failure]) -> Iterator[str]:
    """An error for every departure, at the spec's line, and one for every violated promise, at the protocol's."""
    if report.refusal:
        yield f"::error title=acked gate::{_data(report.refusal)}"
    for item in failures:
        for departure in item.entry.departures:
            place = spec_place(item.entry, departure.key)
            title = f"acked gate: {departure.reason.value}"
            yield _command(place.shown, place.line, title, departure.sentence)
        for violation in item.violations:
            for place in violation.places[:1]:
                yield _command(place.shown, place.line, f"{violation.promise.name} is violated", "\n".join(violation.story))


def _command(file: str, line: int, title: str, message: str) -> str:
    return f"::error file={_property(file)},line={line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
