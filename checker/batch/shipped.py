"""Answers that ship: a file of questions with what searches found, read only, the first layer of the cache of answers.

An entry is found by its question (constants, properties, how it is searched) and used if the question still has the
expressions that were searched: where the sources that make expressions are those of the file, that is so; else the question
is traced, and its fingerprint compared. A change of a rule so takes its entries out of use and leaves the others. A bound of
states decides nothing where a search came to its end; one that met its bound answers no other.

The file is the digest of what follows, and xz of JSON: names of constants, runs, and a row for each entry. Of the counts of
actions a row has those that were enabled nowhere, and no seconds.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from acked.base.errors import AckedError, SpecUnreadable
from acked.base.files import PACKAGE, read_bytes
from acked.base.plain import to_plain
from acked.base.sources import sources_hash
from acked.checker.batch.outcome import FoundViolation, Outcome, Probing, Task
from acked.checker.question.result import ActionCount, StopReason, Verdict
from acked.checker.spec.question_text import QuestionText
from acked.invariants.property import Kind
from acked.model.formulas.errors import ModelError
from acked.model.language.tracings import Tracings

_FORMAT = "acked-shipped/1"
_TRACED = ("model/formulas", "model/language", "model/partition", "checker/question", "checker/spec", "checker/symmetry")
_TRACED_ALONE = ("model/ranks.py", "invariants/property.py", "invariants/quantifiers.py", "invariants/partition/clients.py",
                 "invariants/partition/properties.py", "invariants/partition/writes.py")  # fmt: skip
"""Sources that make expressions of a question about `partition`, folders and modules: no other's rules, no lemmas."""

_PRINT = 32
"""Digits of a fingerprint that are kept."""

_Row = list[Any]
_Key = tuple[object, ...]


@cache
def stamp() -> str:
    """What the expressions of questions are made by, as a hash."""
    alone = (hashlib.sha256((PACKAGE / name).read_bytes()).hexdigest() for name in _TRACED_ALONE)
    return hashlib.sha256("\0".join([sources_hash(_TRACED), *alone]).encode()).hexdigest()


class ShippedAnswers:
    """The answers of a file. `warnings` has one sentence if it cannot be used."""

    def __init__(self, path: Path) -> None:
        self.warnings: list[str] = []
        self._path = path
        self._tracings = Tracings()
        self._prints: dict[Task, str] = {}
        self._runs: dict[int, FoundViolation] = {}

    def get(self, task: Task) -> Outcome | None:
        """What ships of a task, if it is of the very same question."""
        key = _key(task, self._file.get("names", []))
        row = self._rows.get(key) if key is not None and task.asked.protocol == self._file["protocol"] else None
        if row is None or not _answers(row, task):
            return None
        if not self.is_current and row[-1] != self._fingerprint(task):
            return None
        return self._outcome(row)

    @cached_property
    def is_current(self) -> bool:
        """Whether the sources are those of the file; else every question is traced before its answer is used."""
        return bool(self._file["stamp"] == stamp())

    def prepare(self) -> bool:
        """Reads what the first answer would wait for; whether the file can be used without tracing."""
        return bool(self._rows) and self.is_current

    @property
    def tasks(self) -> list[Task]:
        """Every question that is answered."""
        return [self._task(row) for row in self._rows.values()]

    def __len__(self) -> int:
        return len(self._rows)

    @cached_property
    def _file(self) -> Mapping[str, Any]:
        try:
            digest, _, packed = read_bytes(self._path, "file of answers").partition(b"\n")
            if hashlib.sha256(packed).hexdigest().encode() != digest:
                raise ValueError
            found = json.loads(lzma.decompress(packed))
            if found["format"] != _FORMAT:
                raise ValueError
        except (SpecUnreadable, ValueError, KeyError, TypeError, lzma.LZMAError):
            self.warnings.append(f"the answers that ship, {self._path}, are damaged and not used; install acked anew")
            return {}
        return found  # type: ignore[no-any-return]

    @cached_property
    def _rows(self) -> Mapping[_Key, _Row]:
        return {(tuple(row[0]), tuple(row[1]), *row[2:5]): row for row in self._file.get("rows", ())}

    def _fingerprint(self, task: Task) -> str:
        """Of the question as it is now; empty where there is none any more."""
        alone = replace(task, max_states=None)
        if alone not in self._prints:
            try:
                self._prints[alone] = task.question(self._tracings).fingerprint[:_PRINT]
            except (AckedError, ModelError):
                self._prints[alone] = ""
        return self._prints[alone]

    def _outcome(self, row: _Row) -> Outcome:
        *_, verdict, stopped, distinct, generated, depth, idle, runs, besides, fingerprint = row
        names = self._file["actions"]
        return Outcome(
            Verdict(verdict), StopReason(stopped), distinct, generated, depth,
            {names[at]: ActionCount() for at in idle}, tuple(map(self._run, runs)), {}, 0.0, fingerprint, (), besides, True,
        )  # fmt: skip

    def _run(self, at: int) -> FoundViolation:
        """A run that several answers may have."""
        if at not in self._runs:
            run = self._file["runs"][at]
            self._runs[at] = FoundViolation(
                run["property"], Kind(run["kind"]), tuple(map(tuple, run["states"])), tuple(run["steps"]), run["loop"],
                tuple((name, arguments) for name, arguments in run["fired"]),
            )  # fmt: skip
        return self._runs[at]

    def _task(self, row: _Row) -> Task:
        values, properties, symmetry, every, until, max_states, *_ = row
        constants = tuple(zip(self._file["names"], values, strict=True))
        asked = QuestionText(self._file["protocol"], constants, tuple(properties), symmetry=symmetry)
        return Task(asked, every, max_states=max_states, until_decided=until)


def _key(task: Task, names: list[str]) -> _Key | None:
    """What finds the row of a task; None of one that no row can be of."""
    asked = task.asked
    plain = QuestionText(asked.protocol, asked.constants, asked.properties, symmetry=asked.symmetry)
    if asked != plain or task.probing is not Probing.NOTHING or task.max_depth is not None:
        return None
    if [name for name, _ in asked.constants] != names:
        return None
    values = tuple(value for _, value in asked.constants)
    return values, asked.properties, asked.symmetry, task.every_property, task.until_decided


def _answers(row: _Row, task: Task) -> bool:
    return StopReason(row[7]) is not StopReason.MAX_STATES or row[5] == task.max_states


def shippable(outcome: Outcome) -> Outcome:
    """What ships of an outcome."""
    return replace(
        outcome,
        actions={name: ActionCount() for name in outcome.never_fired},
        seconds=0.0,
        fingerprint=outcome.fingerprint[:_PRINT],
        is_shipped=True,
    )


def pack(answers: Iterable[tuple[Task, Outcome]]) -> bytes:
    """The file of answers, whose questions are all of one protocol and have its constants alone in common."""
    actions: dict[str, int] = {}
    runs: dict[str, int] = {}
    rows: list[_Row] = []
    names: list[str] = []
    protocol = ""
    for task, outcome in answers:
        protocol, names = task.asked.protocol, [name for name, _ in task.asked.constants]
        key = _key(task, names)
        if key is None or not outcome.is_repeatable or outcome.probes or outcome.notes:
            raise ValueError(f"{task.asked.properties} cannot ship")
        idle = [actions.setdefault(name, len(actions)) for name in outcome.never_fired]
        found = [runs.setdefault(json.dumps(to_plain(item)), len(runs)) for item in outcome.violations]
        rows.append([
            *key, task.max_states, outcome.verdict.value, outcome.stopped.value, outcome.distinct_states,
            outcome.generated_states, outcome.depth, idle, found, dict(outcome.besides), outcome.fingerprint[:_PRINT],
        ])  # fmt: skip
    rows.sort(key=lambda row: json.dumps(row))
    document = {
        "format": _FORMAT, "stamp": stamp(), "protocol": protocol, "names": names, "actions": [*actions],
        "runs": [json.loads(run) for run in runs], "rows": rows,
    }  # fmt: skip
    packed = lzma.compress(json.dumps(document, separators=(",", ":")).encode(), preset=9 | lzma.PRESET_EXTREME)
    return hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed

