"""What may go wrong, by the names that people use, and every word that commands and reports have for it: one table.

It imports nothing of the protocol, so that the help of a command can be made from it; constants are named.
"""

from __future__ import annotations

from collections.abc import Iterable

from acked.base.frozen import frozen


@frozen
class FaultWords:
    """A fault by its name, as the head of a column, as what there is (`processes that die`), and what it assumes exactly.

    `constant` is the one of `partition` that is 1 under it; kinds of crashes have none, for each says several
    (`CrashKind.constants`).
    """

    name: str
    heading: str
    brief: str
    words: str
    constant: str = ""


NONE, CLEAN, OUTSIDE_ISR = "none", "clean", "outside-isr"
ONE_MACHINE, ONE_LOSSY, LOSSY = "one-machine", "one-lossy", "lossy"
EMPTY_DISK = "empty-disk"
ZOMBIES, MOVES, PRODUCER_RESTART = "zombies", "moves", "producer-restart"

CRASHES: tuple[FaultWords, ...] = (
    FaultWords(NONE, "nothing crashes", "nothing that crashes", "no crashes"),
    FaultWords(
        CLEAN,
        "process dies",
        "processes that die",
        "any number of clean crashes (the process dies, its log stays) and the elections that follow",
    ),
    FaultWords(
        OUTSIDE_ISR,
        "machine outside ISR",
        "machines outside the ISR that die",
        "any number of crashes, lossy ones (an unflushed suffix is lost) only outside the ISR",
    ),
    FaultWords(
        ONE_MACHINE,
        "machine dies",
        "one machine that dies",
        "one machine dies before its log is flushed, and any broker may be shut down in order",
    ),
    FaultWords(
        ONE_LOSSY,
        "machine dies, kills",
        "one machine that dies while processes are killed",
        "any number of crashes, one of them lossy (the machine dies before its log is flushed)",
    ),
    FaultWords(
        LOSSY,
        "many die",
        "several machines that die",
        "any number of crashes, each of which may be lossy (the machine dies before its log is flushed)",
    ),
    FaultWords(
        EMPTY_DISK,
        "empty disk",
        "one broker that comes back with an empty disk",
        "one broker comes back with an empty disk (its volume or node was replaced), and any may be shut down in order",
    ),
)
"""What a crash leaves of a broker's log: one of these is assumed."""

BESIDES: tuple[FaultWords, ...] = (
    FaultWords(
        ZOMBIES,
        "cut off",
        "brokers whose session is over and that do not know",
        "brokers that lose their session and do not know",
        "zombies",
    ),
    FaultWords(
        MOVES,
        "leader moves",
        "leadership that is moved",
        "leadership moves while the leader lives (by auto.leader.rebalance.enable, Cruise Control or an operator), and "
        "brokers hear late of it, such as those that are paused; fewer moves make it rarer, and none while one is paused",
        "leadership_moves",
    ),
    FaultWords(
        PRODUCER_RESTART,
        "producer restarts",
        "a producer that is restarted",
        "a restart of the producer under a new producer id",
        "producer_restarts",
    ),
)
"""What may go wrong besides: any of these, each with its constant. One more is one entry here."""

WORDS = {item.name: item for item in (*CRASHES, *BESIDES)}


def legend_of(items: Iterable[FaultWords]) -> str:
    """`none: nothing that crashes; clean: processes that die`."""
    return "; ".join(f"{item.name}: {item.brief}" for item in items)


def names_of(items: Iterable[FaultWords]) -> str:
    """`none, clean, lossy`."""
    return ", ".join(item.name for item in items)
