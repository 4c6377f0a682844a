"""What an answer is about, in one line: the protocol, its constants, and what was left out of it.

Apart from the view of traces, which an answer without a counterexample does not need.
"""

from __future__ import annotations

from collections.abc import Sequence

from acked.checker.replay.explain import in_words
from acked.model.language.protocol import Instance


def dropped_clauses(instance: Instance) -> tuple[str, ...]:
    """The guard clauses that were left out of the protocol, as spec files name them: `LeaderWrite: room in the log`."""
    return tuple(f"{action}: {label}" for action, label in sorted(instance.dropped))


def subject_in_words(instance: Instance) -> str:
    """`kip320: replicas=3, log_size=2`, and what was dropped: an answer about a weakened protocol must say so."""
    return subject(instance.protocol.name, tuple(instance.telling_constants.items()), dropped_clauses(instance))


def subject(protocol: str, constants: Sequence[tuple[str, object]], dropped: Sequence[str]) -> str:
    """As `subject_in_words`, of a trace whose instance is not at hand."""
    bound = ", ".join(f"{name}={in_words(value)}" for name, value in constants)
    text = f"{protocol}: {bound}" if bound else protocol
    return f"{text}; weakened, without {'; '.join(map(repr, dropped))}" if dropped else text
