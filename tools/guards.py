"""Writes docs/guards.json: what every guard clause of a protocol is there for, by leaving each out of specs that hold.

    python tools/guards.py                    of all that the file has
    python tools/guards.py compaction share   of these alone; what it has of others stays

docs/guards.md is made from it by `tools/made.py`.

The specs are those of specs/gallery and specs/claims that hold. A clause is left out only where it alone forbade its action
in some reachable state: elsewhere nothing changes without it. Small specs are asked first, and none once a promise broke.
Takes a while: run it when a rule of the protocol has changed on purpose.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from acked.base.files import write_text  # noqa: E402
from acked.checker.batch.local import Answered, BatchLimits, answer_all  # noqa: E402
from acked.checker.batch.outcome import Outcome, Probing, Task  # noqa: E402
from acked.checker.question.coverage import clause_coverage, clauses_of  # noqa: E402
from acked.checker.question.result import Verdict  # noqa: E402
from acked.checker.spec.spec import Spec, load_spec  # noqa: E402
from acked.checker.spec.variants import specs_under  # noqa: E402

ANSWERS = ROOT / "docs" / "guards.json"

MOST_STATES = 300_000
"""Distinct states of the largest spec that is asked."""

ROOM = 8
"""How many times the states of its spec a search without a clause may see before it is given up."""

Clause = tuple[str, str]


@dataclass(frozen=True)
class Found:
    """What became of a spec without a clause: `broken` is the promise, `length` the steps of the shortest trace.

    Without a promise the clause keeps a field in its domain, or the search was given up, or (`spec` is empty) nothing broke.
    """

    spec: str = ""
    broken: str = ""
    length: int = 0
    is_bound: bool = False
    is_given_up: bool = False


def chosen(protocol: str) -> list[Spec]:
    """The specs of a protocol that hold, small ones first."""
    paths = [path for folder in ("claims", "gallery") for path in specs_under(ROOT / "specs" / folder)]
    specs = [spec for spec in map(load_spec, paths) if _states(spec) <= MOST_STATES and not spec.drop]
    return sorted((spec for spec in specs if spec.protocol.name == protocol), key=_states)


def _states(spec: Spec) -> int:
    if spec.expect is None or spec.expect.verdict is not Verdict.HOLDS or spec.expect.distinct_states is None:
        return MOST_STATES + 1
    return spec.expect.distinct_states


def outcome_of(answered: Answered, name: str) -> Outcome:
    """The outcome; the script ends if there is none."""
    if answered.outcome is None:
        raise SystemExit(f"{name} has no answer: {answered.failure}")
    return answered.outcome


def decisive(specs: Sequence[Spec]) -> dict[Clause, list[int]]:
    """By clause the specs in which it alone forbade its action somewhere; every clause of any spec is a key."""
    where: dict[Clause, list[int]] = defaultdict(list)
    tasks = [Task.of(spec, Probing.COVERAGE) for spec in specs]
    outcomes = {answered.task: outcome_of(answered, specs[answered.task].name) for answered in answer_all(tasks, LIMITS)}
    for number, spec in enumerate(specs):
        if outcomes[number].verdict is not Verdict.HOLDS:
            raise SystemExit(f"{spec.name} is {outcomes[number].verdict.value} with every clause; run tools/pin_specs.py")
        for item in clause_coverage(outcomes[number].probes):
            numbers = where[item.action, item.label]
            # What only the parameters decide may be left out, too: it says which bindings there are.
            if item.was_decisive or item.is_fixed:
                numbers.append(number)
    return where


def without(specs: Sequence[Spec], clause: Clause, number: int) -> Task:
    """The question of a spec without a clause."""
    spec = specs[number]
    return replace(Task.of(spec), asked=spec.asked.without(clause), max_states=ROOM * _states(spec) + 10_000)


def found_in(answered: Answered, name: str) -> Found | None:
    """What one answer says of the clause; None if nothing broke."""
    if answered.outcome is None:
        if answered.is_overflow:
            return Found(name, is_bound=True)
        raise SystemExit(f"{name} has no answer: {answered.failure}")
    if answered.outcome.violations:
        first = answered.outcome.violations[0]
        return Found(name, first.property, first.trace_length - 1)
    if answered.outcome.verdict is Verdict.INCOMPLETE:
        return Found(name, is_given_up=True)
    return None


def ablated(specs: Sequence[Spec], where: Mapping[Clause, Sequence[int]]) -> dict[Clause, Found]:
    """What the first spec says that has something to say, clause by clause, in rounds of one spec for each."""
    results: dict[Clause, Found] = {}
    last_resort: dict[Clause, Found] = {}
    for turn in range(max(map(len, where.values()))):
        left = {clause: numbers for clause, numbers in where.items() if clause not in results and turn < len(numbers)}
        asked = [(clause, numbers[turn]) for clause, numbers in left.items()]
        tasks = [without(specs, clause, number) for clause, number in asked]
        for answered in answer_all(tasks, LIMITS):
            clause, number = asked[answered.task]
            found = found_in(answered, specs[number].name)
            if found is not None and found.broken:
                results[clause] = found
            elif found is not None:
                last_resort.setdefault(clause, found)
        print(f"round {turn + 1}: {len(asked)} searches, {len(results)} clauses needed so far", file=sys.stderr, flush=True)
    return {clause: results.get(clause) or last_resort.get(clause) or Found() for clause in where}


def document(specs: Sequence[Spec], where: Mapping[Clause, Sequence[int]], results: Mapping[Clause, Found]) -> dict[str, Any]:
    """How many specs were asked, and every clause with what became of it; what does not apply is left out."""
    clauses: list[dict[str, Any]] = []
    for (action, label), found in results.items():
        told: dict[str, Any] = {"clause": f"{action}: {label}", "kind": kind_of(found, bool(where[action, label]))}
        told |= {"violated": found.broken, "steps": found.length, "spec": found.spec}
        clauses.append({name: value for name, value in told.items() if value})
    clauses.sort(key=lambda told: ([*KINDS].index(told["kind"]), told["clause"].split(": ")))
    return {"specs": len(specs), "clauses": clauses}


def part() -> Iterator[str]:
    """What the page has, line by line, from the file of answers."""
    for protocol, told in json.loads(ANSWERS.read_text("utf-8")).items():
        yield from _part_of(protocol, told)
    for kind, text in KINDS.items():
        yield from ("", f"*{kind.capitalize()}*: {text}")


def _part_of(protocol: str, told: Mapping[str, Any]) -> Iterator[str]:
    clauses = {kind: [item for item in told["clauses"] if item["kind"] == kind] for kind in KINDS}
    yield from ("", f"## {protocol}", "")
    yield f"{len(told['clauses'])} clauses: {', '.join(f'{len(found)} {kind}' for kind, found in clauses.items())};"
    yield f"asked of {told['specs']} specs of up to {MOST_STATES:,} states."
    for kind in KINDS:
        if not clauses[kind]:
            continue
        yield from ("", f"### {kind.capitalize()}", "")
        if kind == "needed":
            yield from ("| without the clause | violated | in steps | asked of |", "|---|---|---|---|")
        for item in clauses[kind]:
            if kind == "needed":
                yield f"| `{item['clause']}` | {item['violated']} | {item['steps']} | `{item['spec']}` |"
            else:
                yield f"- `{item['clause']}`" + (f" (`{item['spec']}`)" if "spec" in item else "")


KINDS = {
    "needed": "Without the clause, a property that held is violated.",
    "bounds": (
        "Without the clause, a field leaves its domain: the clause bounds the model (or says that a part of it is there)."
    ),
    "not needed here": (
        "No property that was checked is violated, although in some state the clause alone disabled its action. It decides "
        "which of several steps Kafka takes, prevents equal cases from being distinguished, or protects a property that no "
        "small spec checks."
    ),
    "never decisive": (
        "In no reachable state of these specs did the clause alone disable its action: other clauses imply it there, or the "
        "configuration that needs it is not among these specs."
    ),
    "given up": (
        "Without the clause there are too many states to see all of them; in those that were seen, no property is violated."
    ),
}
"""What may become of a clause, with what that means."""


def kind_of(found: Found, was_decisive: bool) -> str:
    """Which of `KINDS`."""
    if found.broken:
        return "needed"
    if found.is_bound:
        return "bounds"
    if found.is_given_up:
        return "given up"
    return "not needed here" if was_decisive else "never decisive"


LIMITS = BatchLimits.default()


def answers_of(protocol: str) -> dict[str, Any]:
    """What is found of a protocol, anew."""
    asked = chosen(protocol)
    places = decisive(asked)
    missing = {clause for spec in asked for clause in clauses_of(spec.question().instance)} - set(places)
    assert not missing, missing
    return document(asked, places, ablated(asked, places))


def _text(protocol: str, told: Mapping[str, Any]) -> str:
    lines = ",\n".join(f"  {json.dumps(item)}" for item in told["clauses"])
    return f' {json.dumps(protocol)}: {{"specs": {told["specs"]}, "clauses": [\n{lines}\n ]}}'


if __name__ == "__main__":
    known: dict[str, Any] = json.loads(ANSWERS.read_text("utf-8"))
    known |= {protocol: answers_of(protocol) for protocol in sys.argv[1:] or known}
    written = ",\n".join(_text(*item) for item in known.items())
    write_text(ANSWERS, f"{{\n{written}\n}}\n", "answers")
