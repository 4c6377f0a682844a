"""A violating run reduced: to safer settings and fewer faults under which the same events happen, and to the shortest run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from acked.base.bounds import Bounds
from acked.base.errors import AckedError
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.hunt.known.mend import Bar, Replayed, bar_events
from acked.model.coordinator.protocol import coordinator
from acked.model.coordinator.settings import brokers, min_isr
from acked.model.formulas.errors import DomainOverflow, ModelError
from acked.model.language.protocol import Protocol
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings

SHORTENED_WITHIN = 250_000
"""Distinct states that are looked at for a shorter run than a walk's."""


def reduce_settings(found: Replayed) -> Replayed:
    """The same events under the safest settings and the fewest faults that allow them, one change at a time."""
    for choices in _safer(found.question.instance.protocol):
        constants = found.question.instance.constants
        tried = (found.under(change) for change in choices(constants))
        found = next((made for made in tried if made is not None), found)
    return found


Safer = Callable[[Mapping[str, int]], list[dict[str, int]]]
"""Safer values than constants have, the safest first."""


def _safer(protocol: Protocol) -> list[Safer]:
    """Faults off, the rarest first, and settings at their safest."""
    if protocol is not partition:
        late = [item.name for item in protocol.constants if item.name not in protocol.sizes and item.default is not None]
        least = [_more(min_isr.name, brokers.name)] if protocol is coordinator else []
        return [*(_off(name) for name in late if name.startswith(_FAULTS)), *least]
    rare = [item.name for item in settings.CIRCUMSTANCES if item is not settings.crashes and item.default == 0]
    return [*map(_off, rare), _milder_crashes, _off(settings.kills.name), _off(settings.unclean_election.name), _more_acks,
            _more(settings.min_insync_replicas.name, "replicas")]  # fmt: skip


_FAULTS = (
    "late_", "restarts", "crashes", "rebalances", "lost_answers", "lost_disks", "shrinks", "unclean", "batches", "expiry",
    "transactions", "sessions", "failed_writes", "retries", "zombies", "latest", "lags", "follower", "map_keys",
    "integer_keys", "expires", "deletes", "reader", "producers",
)  # fmt: skip


def _off(name: str) -> Safer:
    return lambda constants: [{name: 0}] if constants[name] else []


def _milder_crashes(constants: Mapping[str, int]) -> list[dict[str, int]]:
    kind, number = settings.crashes.name, settings.lossy_crashes.name
    kinds = [{kind: milder, number: 0} for milder in range(constants[kind])]
    fewer = range(1, constants[number] or settings.lossy_crashes.hi + 1)
    return [*kinds, *({number: most} for most in fewer if constants[kind] == settings.LOSSY_CRASHES)]


def _more_acks(constants: Mapping[str, int]) -> list[dict[str, int]]:
    name = settings.acks.name
    return [{name: mode} for mode in range(settings.ACKS_ALL, constants[name], -1)]


def _more(name: str, most: str) -> Safer:
    return lambda constants: [{name: least} for least in range(constants[most], constants[name], -1)]


def shortest(found: Replayed, memory: int, bars: Sequence[Bar]) -> tuple[Replayed, bool]:
    """The shortest run under the same constants in which nothing barred happens, and whether it is known to be that."""
    instance = found.question.instance
    whole = instance.protocol.instantiate(instance.constants, instance.dropped, found.tracings)
    bar_events(whole, bars)
    question = Question(whole, found.question.properties, is_symmetric=found.question.is_symmetric)
    bounds = Bounds(1, memory, len(found.run.states), SHORTENED_WITHIN)
    try:
        result = search(question, bounds)
    except (AckedError, ModelError, DomainOverflow):
        return found, False
    if not result.violations:
        return found, False
    return Replayed(question, result.violations[0].run, found.tracings), True
