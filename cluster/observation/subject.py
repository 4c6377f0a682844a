"""`partition` as one run of a real cluster is read with: its rules, its brokers by index, and where a state has what.

`Subject`, made of a release's rules and of the brokers that hold the partition. The producer, consumers and the contents of
records are left out of the state: no line tells of them. Every append is then of a record that was never sent before, which
nothing but the producer's own rules could tell from another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.release import LATEST
from acked.model.concrete.program import State
from acked.model.concrete.reading import Concrete
from acked.model.formulas.errors import ModelError
from acked.model.language.domain import Path
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import KRAFT, VERSIONS
from acked.model.partition.state import Offset

LARGEST = 2**52
"""Beyond every offset and every leader epoch of a run."""
UNSEEN = (
    "producer", "consumer",
    "log.records.id", "log.records.session", "late.log.records.id", "late.log.records.session",
)  # fmt: skip
MOST_REPLICAS = 5

CIRCUMSTANCES: Mapping[str, object] = {
    "records": 1, "retries": False, "idempotence": False, "in_flight": 5, "delivery_timeout": False, "producer_restarts": 0,
    "crashes": "lossy", "lossy_crashes": 0, "kills": True, "zombies": True, "leadership_moves": True, "acks": "1",
    "unclean_election": True, "unnoticed_restarts": True,
    "late_answers": True, "late_reads": False, "epoch_cache": False, "consumer": "none", "offset_queries": False,
}  # fmt: skip
"""What may go wrong in a real run, which is everything that lines can tell of; settings given by the user come on top."""


def rules_of(release: str) -> str:
    """The version of the model that has a release's rules: the newest that is not newer; `ConfigurationError` of none."""
    wanted = _numbers(release)
    known = [version for version in VERSIONS if version != LATEST and _numbers(version) <= wanted]
    if not wanted or not known:
        raise ConfigurationError(f"{release!r} is not a release of Kafka that acked knows; write one such as 3.9.1")
    return max(known, key=_numbers)


def _numbers(version: str) -> list[int]:
    """The numbers that a release begins with; what builders append, -ccs or .redhat-1, changes no rule."""
    found = re.match(r"[0-9]{1,4}(?:\.[0-9]{1,4}){0,3}(?![0-9])", version)
    return [int(part) for part in found[0].split(".")] if found else []


@frozen
class Places:
    """Where a state has what one broker holds, by number."""

    end: int
    hw: int
    epoch: int
    leader: int
    isr: int
    pending: int
    outdated: int
    down: int
    known: tuple[int, ...]
    former: int
    late_leader: int
    late_hw: int
    late_cut: int


class Subject:
    """The rules of one partition; `brokers` are the ids of those that hold it, in order, `settings` what the user says.

    `ConfigurationError` if there are too many brokers, or a setting is not one.
    """

    def __init__(self, release: str, brokers: Sequence[int], settings: Mapping[str, object] | None = None) -> None:
        self.rules = rules_of(release)
        self.brokers = tuple(brokers)
        if not 1 <= len(self.brokers) <= MOST_REPLICAS:
            raise ConfigurationError(
                f"the partition has {len(self.brokers)} replicas, and acked reads runs of 1 to {MOST_REPLICAS}"
            )
        self.index = {broker: index for index, broker in enumerate(self.brokers)}
        profile = {name: item.value for name, item in partition.profile(self.rules, self._plane()).items()}
        given = {**profile, **CIRCUMSTANCES, **(settings or {}), "replicas": len(self.brokers), "log_size": 1}
        given["max_leader_epoch"] = 1
        forgets = given["eligible_leader_replicas"]
        given.setdefault("config_changes", forgets)
        given.setdefault("directories_move", forgets and not given["assignment_keeps_elr"])
        try:
            self.concrete = Concrete(
                partition, given, searched=(Offset,), beyond={"log_size": LARGEST, "max_leader_epoch": LARGEST}, unseen=UNSEEN
            )
        except ModelError as error:
            raise ConfigurationError(str(error)) from error
        count = range(len(self.brokers))
        self.at = tuple(self._places(index) for index in count)
        self.leader, self.epoch, self.isr, self.gone = (
            self._leaf("controller", name) for name in ("leader", "leader_epoch", "isr", "gone")
        )
        self.elr = self._leaf("controller", "elr")
        self.everyone = (1 << len(self.brokers)) - 1

    def _plane(self) -> str | None:
        return KRAFT if VERSIONS.index(self.rules) >= VERSIONS.index("3.3") else None

    def _leaf(self, *path: str | int) -> int:
        found: Path = path
        return self.concrete.layout.by_path[found]

    def _places(self, r: int) -> Places:
        return Places(
            end=self._leaf("log", r, "end"),
            hw=self._leaf("broker", r, "hw"),
            epoch=self._leaf("broker", r, "leader_epoch"),
            leader=self._leaf("broker", r, "leader"),
            isr=self._leaf("broker", r, "isr"),
            pending=self._leaf("broker", r, "pending"),
            outdated=self._leaf("broker", r, "outdated"),
            down=self._leaf("broker", r, "down"),
            former=self._leaf("broker", r, "former_leader"),
            late_leader=self._leaf("late", r, "leader"),
            late_hw=self._leaf("late", r, "hw"),
            late_cut=self._leaf("late", r, "truncate_to"),
            known=tuple(self._leaf("known_end", r, other) for other in range(len(self.brokers))),
        )

    def mask(self, brokers: Iterable[int]) -> int:
        """A set of brokers by their ids, as a state has it; a broker that does not hold the partition is in none."""
        total = 0
        for broker in brokers:
            total |= 1 << self.index[broker] if broker in self.index else 1 << len(self.brokers)
        return total

    def members(self, mask: int) -> frozenset[int]:
        """The ids of the brokers in a set."""
        return frozenset(broker for broker, index in self.index.items() if mask >> index & 1)

    def creation(self, leader: int, isr: Iterable[int], epoch: int) -> State:
        """The state when the controller has made the partition and no broker has heard: logs are empty, nobody leads."""
        state = list(self.concrete.initial)
        for place in self.at:
            for leaf in (place.epoch, place.leader, place.isr):
                state[leaf] = 0
        state[self.leader] = 1 + self.index[leader] if leader in self.index else 0
        state[self.epoch] = epoch
        state[self.isr] = self.mask(isr)
        return tuple(state)
