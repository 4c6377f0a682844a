"""Answers of proofs for all constants that were found before, sealed in the cache (`base/cache.py`).

A proof is named by the fingerprint of its obligations (every rule and every lemma as read), the solver's version, and the
sources of what asks the solver. The lemma sets it began with do not count: with them a proof is only found faster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from importlib.metadata import version

from acked.base.cache import NotOurs, SealedStore
from acked.checker.allconstants.proof import ObligationResult, SolverVerdict
from acked.checker.batch.cache import sources_hash

_FORMAT = "acked-all-constants/1"
_SOURCES = ("checker/allconstants", "checker/solver", "model/firstorder", "model/language")


class KeptProofs:
    """What became of all obligations of proofs, and which actions were not seen to be possible."""

    def __init__(self, store: SealedStore) -> None:
        self._store = store
        self._engine = f"{_FORMAT} z3 {version('z3-solver')} {sources_hash(_SOURCES)}"

    def get(self, fingerprint: str) -> tuple[tuple[ObligationResult, ...], tuple[str, ...]] | None:
        """The obligations and the vacuous actions of a proof; None if nothing is kept of it that can be believed."""
        try:
            content = self._store.read(self._name(fingerprint))
            if content is None:
                return None
            entry = json.loads(content)
            results = tuple(
                ObligationResult(
                    str(subject), str(clause), SolverVerdict(verdict), float(seconds), tuple(map(str, lemmas)), int(way),
                    reason=str(reason),
                )
                for subject, clause, verdict, seconds, lemmas, way, reason in entry["obligations"]
            )  # fmt: skip
            return results, tuple(map(str, entry["vacuous"]))
        except (OSError, NotOurs, ValueError, KeyError, TypeError):
            return None

    def put(self, fingerprint: str, results: Sequence[ObligationResult], vacuous: Sequence[str]) -> None:
        """Keeps a proof; where the cache cannot be written, that costs time and nothing else."""
        rows = [
            [item.subject, item.clause, item.verdict.value, item.seconds, list(item.lemmas), item.way, item.reason]
            for item in results
        ]
        content = json.dumps({"obligations": rows, "vacuous": list(vacuous)})
        self._store.write(self._name(fingerprint), content.encode())

    def _name(self, fingerprint: str) -> str:
        return f"all-constants/{hashlib.sha256(f'{self._engine} {fingerprint}'.encode()).hexdigest()}.json"
