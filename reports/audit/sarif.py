"""An audit as SARIF 2.1.0, for tools that show results at lines.

Every yes and every undecided answer is a result, at the line of the first setting that causes it (else of the first setting
that was found); so is every finding.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from acked.reports.audit.document import Document
from acked.reports.audit.terminal import sentence
from acked.reports.gate.sarif import SCHEMA

_LEVEL = {"yes": "error", "undecided": "warning"}


def audit_sarif(document: Document, files: Sequence[str], version: str) -> dict[str, object]:
    """The audit as a SARIF log of one run; `files` are those that were read, `version` is acked's."""
    results = [*_answers(document, files), *_findings(document, files)]
    rules = dict.fromkeys(str(result["ruleId"]) for result in results)
    names = {f"audit/{answer['question']}": answer["text"] for answer in document["answers"]}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "acked",
                        "version": version,
                        "rules": [
                            {"id": rule, "shortDescription": {"text": names.get(rule, f"Settings: {rule.split('/')[1]}")}}
                            for rule in rules
                        ],
                    }
                },
                "results": [{**result, "ruleIndex": list(rules).index(str(result["ruleId"]))} for result in results],
                "columnKind": "unicodeCodePoints",
            }
        ],
    }


def _answers(document: Document, files: Sequence[str]) -> Iterator[dict[str, object]]:
    for answer in document["answers"]:
        if answer["worst"] not in _LEVEL:
            continue
        parts = [f"{answer['text']} {sentence(answer['in_words'])}", f"Faults: {answer['faults']['words']}."]
        parts += _told(answer["story"])
        for other in answer["elsewhere"]:
            parts += [sentence(other["in_words"]), *_told(other["story"])]
        parts += [f"Because of {cause['in_words']}." for cause in answer["causes"] or ()]
        if answer["no_cause"] is not None:
            parts.append(f"Because of {answer['no_cause']}.")
        if answer["remedy"] is not None:
            parts.append(f"Smallest change, checked: {answer['remedy']['in_words']}.")
        places = [cause for cause in answer["causes"] or () if cause["line"]]
        place = places[0] if places else _first_place(document)
        yield _result(f"audit/{answer['question']}", _LEVEL[answer["worst"]], "\n".join(parts), place, files)


def _told(story: Document | None) -> list[str]:
    return [] if story is None else [f"{at}. {step}" for at, step in enumerate(story["steps"], 1)]


def _findings(document: Document, files: Sequence[str]) -> Iterator[dict[str, object]]:
    for finding in document["findings"]:
        place = finding if finding["line"] else _first_place(document)
        yield _result(f"settings/{finding['rule']}", finding["level"], finding["text"], place, files)


def _first_place(document: Document) -> Document | None:
    return next((item for item in document["settings"] if item["line"]), None)


def _result(rule: str, level: str, text: str, place: Document | None, files: Sequence[str]) -> dict[str, object]:
    known = place is not None and place["file"] in files
    file, line = (place["file"], place["line"]) if known and place is not None else (files[0] if files else "", 1)
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line or 1}}}
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [location] if file else []}


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
