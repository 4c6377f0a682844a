"""What is assumed to go wrong, by names that people use, as constants of `partition`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, unique

from acked.audit.decision import fault_words
from acked.audit.decision.fault_words import BESIDES, CRASHES, WORDS
from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.model.partition.rules import settings

BEFORE_KIP_380 = "2.2"
"""From this release a broker that is back before the controller looks is distinguished from what it was."""


@unique
class CrashKind(Enum):
    """What a crash leaves of a broker's log."""

    NONE = fault_words.NONE
    CLEAN = fault_words.CLEAN
    OUTSIDE_ISR = fault_words.OUTSIDE_ISR
    ONE_MACHINE = fault_words.ONE_MACHINE
    ONE_LOSSY = fault_words.ONE_LOSSY
    LOSSY = fault_words.LOSSY
    EMPTY_DISK = fault_words.EMPTY_DISK

    @property
    def words(self) -> str:
        """What is assumed, in words."""
        return WORDS[self.value].words

    @property
    def loses_unflushed(self) -> bool:
        """Whether machines die, which costs what was not flushed, and nothing else."""
        return self in (CrashKind.OUTSIDE_ISR, CrashKind.ONE_MACHINE, CrashKind.ONE_LOSSY, CrashKind.LOSSY)

    def constants(self) -> dict[str, int]:
        """As constants of `partition`."""
        kind, lossy = {
            CrashKind.NONE: (settings.NO_CRASHES, 0),
            CrashKind.CLEAN: (settings.CLEAN_CRASHES, 0),
            CrashKind.OUTSIDE_ISR: (settings.LOSSY_OUTSIDE_ISR, 0),
            CrashKind.ONE_MACHINE: (settings.LOSSY_CRASHES, 1),
            CrashKind.ONE_LOSSY: (settings.LOSSY_CRASHES, 1),
            CrashKind.LOSSY: (settings.LOSSY_CRASHES, 0),
            CrashKind.EMPTY_DISK: (settings.CLEAN_CRASHES, 0),
        }[self]
        return {
            settings.crashes.name: kind,
            settings.lossy_crashes.name: lossy,
            settings.kills.name: int(self not in (CrashKind.ONE_MACHINE, CrashKind.EMPTY_DISK)),
            settings.empty_disks.name: int(self is CrashKind.EMPTY_DISK),
        }


@dataclass(frozen=True)
class Faults:
    """Kind of crashes and what may go wrong besides."""

    crashes: CrashKind = CrashKind.CLEAN
    more: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is assumed, in words."""
        return "; ".join(WORDS[name].words for name in (self.crashes.value, *self.more))

    @property
    def heading(self) -> str:
        """Over the column of a table; where nothing crashes, what else goes wrong says enough."""
        named = self.more if self.more and self.crashes is CrashKind.NONE else (self.crashes.value, *self.more)
        return "; ".join(WORDS[name].heading for name in named)

    @property
    def name(self) -> str:
        """As `read_faults` reads it."""
        return ",".join([self.crashes.value, *self.more])

    def constants(self, is_before_kip_380: bool) -> dict[str, int]:
        """As constants of `partition`, under a release's rules for brokers that restart at once."""
        crashes = self.crashes is not CrashKind.NONE
        return {
            **self.crashes.constants(),
            settings.unnoticed_restarts.name: int(is_before_kip_380 and crashes),
            **{item.constant: int(item.name in self.more) for item in BESIDES},
        }


def not_asked(asked: Iterable[Faults]) -> list[tuple[str, str]]:
    """What else may go wrong than in any of these, by name and in few words."""
    named = {name for faults in asked for name in (faults.crashes.value, *faults.more)}
    known = [item for item in (*CRASHES, *BESIDES) if item.name not in (*named, fault_words.NONE)]
    return [(item.name, item.brief) for item in known]


def read_faults(text: str) -> Faults:
    """`clean`, `lossy,zombies`: at most one kind of crashes, and any of the others."""
    kinds = {kind.value: kind for kind in CrashKind}
    besides = [item.name for item in BESIDES]
    chosen: list[CrashKind] = []
    more: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        if name in kinds:
            chosen.append(kinds[name])
        elif name in besides:
            more.append(name)
        else:
            known = (*kinds, *besides)
            raise ConfigurationError(f"{name!r} is not a fault{near(name, known)}; choose from {', '.join(known)}")
    if len(set(chosen)) > 1:
        raise ConfigurationError(f"{text!r} names two kinds of crashes; choose one of {', '.join(kinds)}")
    return Faults(chosen[0] if chosen else CrashKind.CLEAN, tuple(sorted(set(more))))
