"""What is assumed to go wrong, by names that people use, as constants of `partition`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, unique

from acked.checker.errors import ConfigurationError
from acked.checker.names import near
from acked.model.partition import settings

BEFORE_KIP_380 = "2.2"
"""From this release a broker that is back before the controller looks is distinguished from what it was."""


@unique
class CrashKind(Enum):
    """What a crash leaves of a broker's log."""

    NONE = "none"
    CLEAN = "clean"
    OUTSIDE_ISR = "outside-isr"
    ONE_MACHINE = "one-machine"
    ONE_LOSSY = "one-lossy"
    LOSSY = "lossy"

    @property
    def words(self) -> str:
        """What is assumed, in words."""
        return {
            CrashKind.NONE: "no crashes",
            CrashKind.CLEAN: "any number of clean crashes (the process dies, its log stays) and the elections that follow",
            CrashKind.OUTSIDE_ISR: "any number of crashes, lossy ones (an unflushed suffix is lost) only outside the ISR",
            CrashKind.ONE_MACHINE: "one machine dies before its log is flushed, and any broker may be shut down in order",
            CrashKind.ONE_LOSSY: "any number of crashes, one of them lossy (the machine dies before its log is flushed)",
            CrashKind.LOSSY: "any number of crashes, each of which may be lossy (the machine dies before its log is flushed)",
        }[self]

    def constants(self) -> dict[str, int]:
        """As constants of `partition`."""
        kind, lossy = {
            CrashKind.NONE: (settings.NO_CRASHES, 0),
            CrashKind.CLEAN: (settings.CLEAN_CRASHES, 0),
            CrashKind.OUTSIDE_ISR: (settings.LOSSY_OUTSIDE_ISR, 0),
            CrashKind.ONE_MACHINE: (settings.LOSSY_CRASHES, 1),
            CrashKind.ONE_LOSSY: (settings.LOSSY_CRASHES, 1),
            CrashKind.LOSSY: (settings.LOSSY_CRASHES, 0),
        }[self]
        return {"crashes": kind, "lossy_crashes": lossy, "kills": int(self is not CrashKind.ONE_MACHINE)}


_MORE: Mapping[str, tuple[str, str]] = {
    "zombies": ("zombies", "brokers that lose their session and do not know"),
    "moves": ("leadership_moves", "leadership moved while the leader lives (preferred election)"),
    "producer-restart": ("producer_restarts", "a restart of the producer under a new producer id"),
}


_BRIEFLY: Mapping[str, str] = {
    "clean": "processes that die",
    "outside-isr": "machines outside the ISR that die",
    "one-machine": "one machine that dies",
    "one-lossy": "one machine that dies while processes are killed",
    "lossy": "several machines that die",
    "zombies": "brokers whose session is over and that do not know",
    "moves": "leadership that is moved",
    "producer-restart": "a producer that is restarted",
}

UNMODELLED = ("disk", "a broker that comes back with an empty disk, of which there is no model here")
"""What people also mean by losing data, and nothing here can be asked about."""


@dataclass(frozen=True)
class Faults:
    """Kind of crashes and what may go wrong besides."""

    crashes: CrashKind = CrashKind.CLEAN
    more: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is assumed, in words."""
        return "; ".join([self.crashes.words, *(_MORE[name][1] for name in self.more)])

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
            **{constant: int(name in self.more) for name, (constant, _) in _MORE.items()},
        }


def not_asked(asked: Iterable[Faults]) -> list[tuple[str, str]]:
    """What else may go wrong than in any of these, by name and in few words."""
    named = {name for faults in asked for name in (faults.crashes.value, *faults.more)}
    return [(name, words) for name, words in _BRIEFLY.items() if name not in named] + [UNMODELLED]


def read_faults(text: str) -> Faults:
    """`clean`, `lossy,zombies`: at most one kind of crashes, and any of the others."""
    kinds = {kind.value: kind for kind in CrashKind}
    chosen: list[CrashKind] = []
    more: list[str] = []
    for name in (part.strip() for part in text.split(",")):
        if name in kinds:
            chosen.append(kinds[name])
        elif name in _MORE:
            more.append(name)
        else:
            known = (*kinds, *_MORE)
            raise ConfigurationError(f"{name!r} is not a fault{near(name, known)}; choose from {', '.join(known)}")
    if len(set(chosen)) > 1:
        raise ConfigurationError(f"{text!r} names two kinds of crashes; choose one of {', '.join(kinds)}")
    return Faults(chosen[0] if chosen else CrashKind.CLEAN, tuple(sorted(set(more))))
