"""An audit as SARIF 2.1.0, for tools that show results at lines.

Every yes and every undecided answer is a result, at the line of the first setting that causes it (else of the first setting
that was found); so is every finding. Errors and warnings are answers that the exit code counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

from acked.audit.reports.document import Document
from acked.audit.reports.terminal import sentence
from acked.audit.reports.topics import title_of
from acked.audit.reports.transactional import told_in_lines, transaction_place
from acked.reports.gate.sarif import SCHEMA

_LEVEL = {"yes": "error", "undecided": "warning"}


def audit_sarif(document: Document, files: Sequence[str], version: str) -> dict[str, object]:
    """The audit as a SARIF log of one run; `files` are those that were read, `version` is acked's."""
    parts = [(one["audit"], one["decides"]) for one in document["groups"]] if "groups" in document else [(document, True)]
    deciding = [(audit, decides) for audit, decides in parts if audit is not None]
    audits = [audit for audit, _ in deciding]
    results = list(_unique(
        found
        for audit, decides in deciding
        for found in (*_answers(audit, decides, files), *_about_transactions(audit, files), *_findings(audit, files))
    ))  # fmt: skip
    for group in document.get("groups", ()):
        if group["audit"] is None:
            level, text = "warning" if group["decides"] else "note", f"{title_of(group)}: {group['refusal']}"
            results.append(_result("audit/not-asked", level, text, None, files))
    rules = dict.fromkeys(str(result["ruleId"]) for result in results)
    names = {f"audit/{answer['question']}": answer["text"] for audit in audits for answer in audit["answers"]}
    names |= {_rule_of(item): item["text"] for audit in audits for item in audit.get("transactions", ())}
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


def _unique(results: Iterable[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Each result once: groups of topics have the same to say of the settings that they share."""
    known: list[dict[str, object]] = []
    for result in results:
        if result not in known:
            known.append(result)
            yield result


def _answers(document: Document, decides: bool, files: Sequence[str]) -> Iterator[dict[str, object]]:
    """Every yes and what is undecided: more than a note where the exit code counts it, which it never does for comparison."""
    for answer in document["answers"]:
        if answer["worst"] not in _LEVEL:
            continue
        of = f"Topics {', '.join(document['topics'])}: " if document["topics"] else ""
        parts = [f"{of}{answer['text']} {sentence(answer['in_words'])}", f"Faults: {answer['faults']['words']}."]
        parts += _steps(answer["story"])
        for other in answer["elsewhere"]:
            parts += [sentence(other["in_words"]), *_steps(other["story"])]
        parts += [f"Cause: {cause['in_words']}." for cause in answer["causes"] or ()]
        if answer["no_cause"] is not None:
            parts.append(f"Cause: {answer['no_cause']}.")
        if answer["causes"] is not None:
            remedy = answer["remedy"]
            found = ": none of those tried turns the answer to no" if remedy is None else f", checked: {remedy['in_words']}"
            parts.append(f"Smallest change{found}{answer['undecided_in_words']}.")
        places = [cause for cause in answer["causes"] or () if cause["line"]]
        place = places[0] if places else _place_to_change(answer, document) or _first_place(document)
        is_required = decides and answer["decides"] and answer["question"] in document["required"]
        level = _LEVEL[answer["worst"]] if is_required else "note"  # What was asked besides decides nothing.
        yield _result(f"audit/{answer['question']}", level, "\n".join(parts), place, files)


def _rule_of(about_transactions: Document) -> str:
    return f"audit/transactions-{about_transactions['question']}"


def _about_transactions(document: Document, files: Sequence[str]) -> Iterator[dict[str, object]]:
    """What was found about transactions, where the transactional.id is set; it decides nothing."""
    place = transaction_place(document) or _first_place(document)
    for item in document.get("transactions", ()):
        if item["answer"] in _LEVEL:
            yield _result(_rule_of(item), "note", "\n".join(told_in_lines(item)), place, files)


def _steps(story: Document | None) -> list[str]:
    return [] if story is None else [f"{at}. {step}" for at, step in enumerate(story["steps"], 1)]


def _findings(document: Document, files: Sequence[str]) -> Iterator[dict[str, object]]:
    for finding in document["findings"]:
        place = finding if finding["line"] else _first_place(document)
        yield _result(f"settings/{finding['rule']}", finding["level"], finding["text"], place, files)


def _place_to_change(answer: Document, document: Document) -> Document | None:
    """Where the first setting stands that the smallest change is about, if no single one is the cause."""
    changed = [] if answer["remedy"] is None else [item["key"] for item in answer["remedy"]["settings"]]
    return next((item for item in document["settings"] if item["line"] and item["key"] in changed), None)


def _first_place(document: Document) -> Document | None:
    return next((item for item in document["settings"] if item["line"]), None)


def _result(rule: str, level: str, text: str, place: Document | None, files: Sequence[str]) -> dict[str, object]:
    known = place is not None and place["file"] in files
    file, line = (place["file"], place["line"]) if known and place is not None else (files[0] if files else "", 1)
    location = {"physicalLocation": {"artifactLocation": {"uri": _uri(file)}, "region": {"startLine": line or 1}}}
    return {"ruleId": rule, "level": level, "message": {"text": text}, "locations": [location] if file else []}


def _uri(file: str) -> str:
    return Path(file).as_uri() if Path(file).is_absolute() else quote(Path(file).as_posix())
