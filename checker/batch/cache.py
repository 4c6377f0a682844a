"""The cache of answers: what was decided once need not be searched again, and nothing else is ever believed.

A question's *expressions* name its answer, with its constants, properties, bounds, the version of acked and the sources of
the checker. To make them takes tracing the protocol, so a second, smaller entry remembers which expressions a task has under
given sources of `model/` and `invariants/`. Every entry is sealed with the user's key (`cache.py`) and names what it answers;
one that is corrupt, belongs to another question or was written without the key is passed over with a warning, and written
anew. One of another key is passed over in silence.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from acked.base.cache import NotOurs, SealedStore
from acked.base.errors import AckedError
from acked.base.files import ROOMS
from acked.base.plain import from_plain, to_plain
from acked.base.sources import sources_hash
from acked.checker.batch.outcome import Outcome, Task
from acked.checker.batch.shipped import ShippedAnswers
from acked.checker.spec.user_protocol import is_reference
from acked.model.formulas.errors import ModelError

_FORMAT = "acked-answer/1"


class ResultCache:
    """Answers in a folder, and before them those that ship, if any. Without a folder nothing is kept.

    `warnings` collects one sentence for every entry that was passed over.
    """

    def __init__(self, folder: Path | None, version: str, shipped: ShippedAnswers | None = None) -> None:
        self._store = None if folder is None else SealedStore.of(folder)
        self._shipped = shipped
        self.warnings: list[str] = [] if shipped is None else shipped.warnings
        self._version = version
        self._engine = f"{version} {sources_hash(('base', 'checker'))}"
        self._model = f"{version} {sources_hash(('base', 'model', 'invariants', 'checker'))}"

    @property
    def ships(self) -> bool:
        """Whether answers that ship count."""
        return self._shipped is not None

    def prepare(self) -> None:
        """Reads what ships, where there is time for it before the first answer is asked for."""
        if self._shipped is not None:
            self._shipped.prepare()

    def get(self, task: Task) -> Outcome | None:
        """The stored answer to a task, if there is one that can be believed."""
        shipped = None if self._shipped is None else self._shipped.get(task)
        if shipped is not None:
            return shipped
        if is_reference(task.asked.protocol):
            # A user's file may import others, so only its expressions tell whether it is what it was.
            try:
                return self.get_by_expressions(task, task.question().fingerprint)
            except (AckedError, ModelError):
                return None
        memo = self._memo_key(task)
        fingerprint = self._read("memo", memo)
        if not isinstance(fingerprint, str):
            return None
        return self.get_by_expressions(task, fingerprint)

    def get_by_expressions(self, task: Task, fingerprint: str) -> Outcome | None:
        """The stored answer to a task whose expressions are known (`Question.fingerprint`)."""
        key = self._key(task, fingerprint)
        content = self._read("answers", key)
        if content is None:
            return None
        try:
            outcome = from_plain(Outcome, content)
        except (KeyError, TypeError, ValueError, AttributeError):
            self._warn("answers", key, "is not an answer")
            return None
        if outcome.fingerprint != fingerprint:
            self._warn("answers", key, "answers another question")
            return None
        return outcome

    def put(self, task: Task, outcome: Outcome) -> None:
        """Keeps an answer that any machine would give; a folder that cannot be written costs time, nothing else."""
        if outcome.is_repeatable:
            self._write("answers", self._key(task, outcome.fingerprint), to_plain(outcome))
            self._write("memo", self._memo_key(task), outcome.fingerprint)

    def remember(self, task: Task, fingerprint: str) -> None:
        """Keeps which expressions a task has."""
        self._write("memo", self._memo_key(task), fingerprint)

    def recall(self, kind: str, *parts: str) -> Any:
        """What `keep` kept of this kind under these parts, by this version of acked; None if there is none."""
        return self._read(kind, self._made_key(kind, parts))

    def keep(self, kind: str, content: Any, *parts: str) -> None:
        """Keeps what was made from an answer, as JSON: words about a run, say, which take longer than to read them."""
        self._write(kind, self._made_key(kind, parts), content)

    # -- keys and files -------------------------------------------------------------------------------------------

    def _key(self, task: Task, fingerprint: str) -> str:
        return _hash(_FORMAT, self._engine, fingerprint, json.dumps(task.document(), sort_keys=True))

    def _memo_key(self, task: Task) -> str:
        return _hash(_FORMAT, self._model, json.dumps(task.document(), sort_keys=True))

    def _made_key(self, kind: str, parts: Iterable[str]) -> str:
        return _hash(_FORMAT, self._version, sources_hash(ROOMS), kind, *parts)

    def _read(self, kind: str, key: str) -> Any:
        if self._store is None:
            return None
        try:
            content = self._store.read(_name(kind, key))
        except OSError:
            self._warn(kind, key, "cannot be read")
            return None
        except NotOurs:
            self._warn(kind, key, "is damaged, or was edited or made without the key of this cache")
            return None
        if content is None:
            return None
        try:
            entry = json.loads(content)
            if entry["key"] != key:
                self._warn(kind, key, "belongs to another question")
                return None
            return entry["content"]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._warn(kind, key, "is not an entry of this cache")
            return None

    def _write(self, kind: str, key: str, content: Any) -> None:
        if self._store is not None:
            self._store.write(_name(kind, key), json.dumps({"key": key, "content": content}).encode())

    def _warn(self, kind: str, key: str, what: str) -> None:
        assert self._store is not None
        self.warnings.append(f"the cache entry {self._store.path(_name(kind, key))} {what}; it is not used")


def _name(kind: str, key: str) -> str:
    return f"{kind}/{key}.json"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
