"""The cache of proofs for all constants: answers that were found before, sealed in the cache (`base/cache.py`).

A proof is named by the fingerprint of its obligations (every rule and every lemma as read), the solver's version, and the
sources of what asks the solver. The lemma sets it began with do not count: with them a proof is only found faster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version

from acked.base.cache import NotOurs, SealedStore
from acked.base.frozen import frozen
from acked.base.plain import from_plain, to_plain
from acked.base.sources import sources_hash
from acked.checker.allconstants.proof import ObligationResult

_FORMAT = "acked-all-constants/1"
_SOURCES = ("checker/allconstants", "checker/solver", "model/firstorder", "model/language")


@frozen
class _Entry:
    obligations: tuple[ObligationResult, ...]
    vacuous: tuple[str, ...]


class ProofCache:
    """What became of all obligations of proofs, but for counterexamples, and which actions were not seen to be possible."""

    def __init__(self, store: SealedStore) -> None:
        self._store = store
        self._engine = f"{_FORMAT} z3 {version('z3-solver')} {sources_hash(_SOURCES)}"

    def get(self, fingerprint: str) -> tuple[tuple[ObligationResult, ...], tuple[str, ...]] | None:
        """The obligations and the vacuous actions of a proof; None if nothing is kept of it that can be believed."""
        try:
            content = self._store.read(self._name(fingerprint))
            entry = None if content is None else from_plain(_Entry, json.loads(content))
        except (OSError, NotOurs, ValueError, KeyError, TypeError, AttributeError):
            return None
        return None if entry is None else (entry.obligations, entry.vacuous)

    def put(self, fingerprint: str, results: Sequence[ObligationResult], vacuous: Sequence[str]) -> None:
        """Keeps a proof; where the cache cannot be written, that costs time and nothing else."""
        entry = _Entry(tuple(replace(item, counterexample=None) for item in results), tuple(vacuous))
        self._store.write(self._name(fingerprint), json.dumps(to_plain(entry)).encode())

    def _name(self, fingerprint: str) -> str:
        return f"all-constants/{hashlib.sha256(f'{self._engine} {fingerprint}'.encode()).hexdigest()}.json"
