"""What is asked, and what is assumed to go wrong, by names that people use: the options of commands are made of them.

Faults also as constants of `partition`; how a question is searched is said in `questions`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from enum import Enum, unique

from acked.audit.decision import fault_words
from acked.audit.decision.fault_words import BESIDES, CRASHES, MOVES, WORDS, ZOMBIES
from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
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


@frozen
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


# -- what is asked, and under what --------------------------------------------------------------------------------------


MAX_STATES = 20_000_000
"""Distinct states after which a question is left undecided, unless the user says otherwise."""

MAX_STATES_BESIDES = 2_000_000
"""The same of what is asked about besides, and decides nothing: the whole table must not take longer than people wait."""


@unique
class AuditQuestion(Enum):
    """What people ask, in their order."""

    LOSS = "loss"
    DUPLICATES = "duplicates"
    REORDERING = "reordering"
    VANISHING = "vanishing"
    WRITES = "writes"


Wanted = tuple[AuditQuestion, Faults]
"""A question, and the faults under which its answer counts."""


@unique
class AuditVerdict(Enum):
    """Yes is a run that shows it; no is every reachable state."""

    YES = "yes"
    NO = "no"
    UNDECIDED = "undecided"


@frozen
class Assumptions:
    """What the questions assume: faults, bounds, and whether all brokers are modelled where fewer usually suffice.

    Every question is asked under each of `faults`, that of lost records also under each of `of_loss`; one that `decisive`
    names, under its faults there instead. Those answers decide. For a table of everything that may go wrong all are asked
    under each of `besides` too, within `max_states_besides`, and that of lost records alone under each of `of_loss_besides`,
    within twice as many.
    """

    faults: tuple[Faults, ...] = (Faults(),)
    of_loss: tuple[Faults, ...] = ()
    besides: tuple[Faults, ...] = ()
    of_loss_besides: tuple[Faults, ...] = ()
    decisive: tuple[tuple[AuditQuestion, tuple[Faults, ...]], ...] = ()
    log_size: int | None = None
    records: int | None = None
    is_thorough: bool = False
    max_states: int = MAX_STATES
    max_states_besides: int = MAX_STATES_BESIDES

    def deciding(self, wanted: Iterable[Wanted]) -> Assumptions:
        """The same, and of the questions that are wanted the answers under these faults decide."""
        found: dict[AuditQuestion, dict[Faults, None]] = {}
        for asked, faults in wanted:
            found.setdefault(asked, {})[faults] = None
        return replace(self, decisive=tuple((asked, tuple(under)) for asked, under in found.items()))

    def under(self, asked: AuditQuestion) -> tuple[Faults, ...]:
        """The faults under which a question decides."""
        named = dict(self.decisive).get(asked, ())
        if named:
            return named
        return (*self.faults, *self.of_loss) if asked is AuditQuestion.LOSS else self.faults

    def also(self, asked: AuditQuestion) -> tuple[Faults, ...]:
        """The faults under which a question is asked besides."""
        decides = self.under(asked)
        shown = (*self.faults, *self.of_loss, *self.besides) if self.besides else ()
        if asked is AuditQuestion.LOSS:
            shown = (*shown, *self.of_loss_besides)
        return tuple(faults for faults in dict.fromkeys(shown) if faults not in decides)

    @property
    def bound_besides(self) -> int | None:
        """By which answers that decide nothing are told from those that do; None where all have one bound."""
        return None if self.max_states_besides == self.max_states else self.max_states_besides

    def bound_of(self, asked: AuditQuestion, faults: Faults) -> int:
        """Distinct states after which a question is left undecided under some faults."""
        if faults in self.under(asked):
            return self.max_states
        return min(self.max_states, self.max_states_besides * (2 if faults in self.of_loss_besides else 1))

    @property
    def all_faults(self) -> tuple[Faults, ...]:
        """The faults that any question is asked under, in the order of their columns."""
        wanted = dict.fromkeys(faults for asked in AuditQuestion for faults in (*self.under(asked), *self.also(asked)))
        known = [faults for faults in CLASSES if faults in wanted]
        return (*known, *(faults for faults in wanted if faults not in known))


CLASSES = (
    Faults(CrashKind.CLEAN),
    Faults(CrashKind.ONE_MACHINE),
    Faults(CrashKind.LOSSY),
    Faults(CrashKind.EMPTY_DISK),
    Faults(CrashKind.NONE, (ZOMBIES,)),
)
"""The classes of faults that are asked about where the user does not say, in the order of their columns."""

LEADER_MOVES = Faults(CrashKind.NONE, (MOVES,))
"""Asked about lost records alone: 4,000,000 states show that loss, and decide none of the other questions."""

BY_DEFAULT = Assumptions(
    of_loss=(Faults(CrashKind.ONE_MACHINE),), besides=CLASSES, of_loss_besides=(LEADER_MOVES,)
)
"""What is asked where the user does not say: a process that dies keeps its log, a machine that dies does not."""
