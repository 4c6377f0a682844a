"""The gate's report as SARIF 2.1.0, for code scanning: results at lines of the protocol's source and of the spec."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from acked.checker.gate.gate import GateReport
from acked.checker.spec.expectation import Reason
from acked.checker.spec.variants import file_and_variant
from acked.reports.gate.failures import FailedProperty, Failure, SourceLine, spec_place
from acked.reports.units import plural

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

_REASONS: dict[Reason, str] = {
    Reason.NO_SPEC: "No spec was found, so nothing was checked.",
    Reason.UNREADABLE: "A spec file cannot be read.",
    Reason.NO_EXPECTATION: "A spec has no expectation.",
    Reason.NO_ANSWER: "A search ended without an answer.",
    Reason.INCOMPLETE: "A search did not see every reachable state.",
    Reason.VERDICT: "The verdict is not the expected one.",
    Reason.PROPERTY: "Other properties are violated than expected.",
    Reason.LONGER_TRACE: "The shortest counterexample has become longer.",
    Reason.SHORTER_TRACE: "The shortest counterexample has become shorter.",
    Reason.COUNT: "A pinned number has changed.",
    Reason.FLOOR: "The state space has fewer states than the pinned floor.",
    Reason.NEVER_FIRED: "An action never fired.",
    Reason.FIRED: "An action fired that was expected never to fire.",
    Reason.VACUOUS: "A property is vacuous: its condition is true in no reachable state.",
}


def sarif_document(report: GateReport, failures: Sequence[Failure], version: str) -> dict[str, object]:
    """The document; `failures` has the details of the red entries, `version` is acked's."""
    results: list[dict[str, object]] = []
    rules: dict[str, dict[str, object]] = {}
    for item in failures:
        for departure in item.entry.departures:
            rule = f"gate/{departure.reason.value}"
            rules[rule] = {"id": rule, "shortDescription": {"text": _REASONS[departure.reason]}}
            place = spec_place(item.entry, departure.key)
            message = f"{item.entry.candidate.path}: {departure.sentence}"
            results.append(_result(rule, message, [place], _own(item, departure.key)))
        for violation in item.violations:
            rule = f"promise/{violation.promise.name}"
            rules[rule] = {
                "id": rule,
                "shortDescription": {"text": f"{violation.promise.name}: {violation.promise.promise}"},
                "fullDescription": {"text": f"Source: {violation.promise.source}."},
            }
            places = [*violation.places, spec_place(item.entry, "check.invariants")]
            results.append(_result(rule, _message(item, violation), places, _own(item, violation.promise.name)))
    if report.refusal:
        rule = f"gate/{Reason.NO_SPEC.value}"
        rules[rule] = {"id": rule, "shortDescription": {"text": _REASONS[Reason.NO_SPEC]}}
        results.append({"ruleId": rule, "level": "error", "message": {"text": report.refusal}})
    driver = {"name": "acked", "version": version, "rules": list(rules.values())}
    invocation = {"executionSuccessful": not report.refusal and not report.has_unreadable}
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "originalUriBaseIds": {"SRCROOT": {"uri": Path.cwd().as_uri() + "/"}},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _own(item: Failure, text: str) -> str:
    """The text with the variant of the spec, which shares its file with others."""
    _, variant = file_and_variant(item.entry.candidate.path)
    return text if variant is None else f"{variant}.{text}"


def _message(item: Failure, violation: FailedProperty) -> str:
    steps = plural(violation.broken.trace_length - 1, "step")
    opening = f"{item.entry.candidate.path}: {violation.promise.name} is violated in {steps}."
    return "\n".join([opening, *violation.story])


def _result(rule: str, message: str, places: Sequence[SourceLine], salt: str) -> dict[str, object]:
    """A result; it keeps its identity while its message, in which numbers change, does not."""
    identity = hashlib.sha256("\0".join([rule, salt, places[-1].shown]).encode()).hexdigest()
    return {
        "ruleId": rule,
        "level": "error",
        "message": {"text": message},
        "locations": [_location(places[0])],
        "relatedLocations": [{**_location(place), "id": number} for number, place in enumerate(places[1:], 1)],
        "partialFingerprints": {"acked/v1": identity},
    }


def _location(place: SourceLine) -> dict[str, object]:
    shown = place.shown
    artifact: dict[str, object] = {"uri": shown, "uriBaseId": "SRCROOT"}
    if Path(shown).is_absolute():
        artifact = {"uri": Path(shown).as_uri()}
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": {"startLine": place.line}},
        "message": {"text": place.what},
    }
