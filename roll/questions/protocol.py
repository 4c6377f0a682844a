"""`partition` from its present state on: one broker is stopped first, and then one thing more fails at most.

The rules are those of `partition`. What differs is who may fail and when: every fault of `partition` is left out, and so is
that a follower which lives falls behind and leaves the ISR, for that would be a second thing.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.context import literal
from acked.model.language.protocol import Protocol
from acked.model.language.quantify import ite
from acked.model.language.state import SetOf, field
from acked.model.language.telling import Fault, Telling
from acked.model.language.values import Int
from acked.model.partition.common import renumber_epochs
from acked.model.partition.failing import empty, go_down
from acked.model.partition.protocol import partition
from acked.model.partition.rules import facts, settings
from acked.model.partition.state import Offset, Replica, State
from acked.model.partition.vocabulary.assignment import require_part
from acked.model.partition.vocabulary.messages import GOES_DOWN
from acked.model.partition.vocabulary.words import says_gone, says_no_answers

ASKED, OPEN, SPENT = range(3)
"""Values of `Phase`: the broker has yet to be stopped; one thing more may fail; it has."""

NOTHING, PROCESS, MACHINE, DISK, ANY = range(5)
"""Values of `Failing`."""


class Phase(Int, lo=ASKED, hi=SPENT):
    """How far the question is."""


class Failing(Int, lo=NOTHING, hi=ANY):
    """What it is that may fail."""


class RollState(State):
    """A partition, and what may still go wrong."""

    phase = field(Phase, "how far the question is")
    failing = field(Failing, "what may fail after the broker has been stopped")
    unflushed = field(SetOf(Replica), "brokers that are down and may not have flushed what they hold")


def _require_failing(s: RollState, kind: int) -> None:
    require("one thing more may fail", s.phase == OPEN)
    require("it is of this kind", (s.failing == kind) | (s.failing == ANY))
    s.phase = SPENT


def _go_down_uncleanly(s: RollState, broker: Replica, log_end: Offset) -> None:
    """A broker goes down with its log up to `log_end`, and no clean shutdown file, so it is no eligible leader afterwards."""
    hw = s.broker[broker].hw
    go_down(s, broker, log_end, ite(hw <= log_end, hw, log_end))
    if facts.dies_uncleanly.on:
        s.killed = ite(s.controller.elr.contains(broker), s.killed.add(broker), s.killed)


def _says_down(t: Telling, how: str) -> str:
    return f"broker {t.broker} {how}{says_gone(t)}{says_no_answers(t, t.broker)}"


@action(says=lambda t: _says_down(t, "is shut down cleanly"), actor="broker", messages=GOES_DOWN)
def stop_cleanly(s: RollState, broker: Replica) -> None:
    """The broker that is asked about: a controlled shutdown, everything is flushed."""
    require("is asked about", s.phase == ASKED)
    require("up", ~s.broker[broker].down)
    s.phase = OPEN
    go_down(s, broker, s.log[broker].end, s.broker[broker].hw)
    renumber_epochs(s)


@action(says=lambda t: _says_down(t, "crashes (SIGKILL)"), actor="broker", fault=Fault.STOPS, messages=GOES_DOWN)
def stop_by_kill(s: RollState, broker: Replica) -> None:
    """The broker that is asked about: its process dies, its machine lives."""
    require("is asked about", s.phase == ASKED)
    require("up", ~s.broker[broker].down)
    s.phase = OPEN
    _go_down_uncleanly(s, broker, s.log[broker].end)
    s.unflushed = s.unflushed.add(broker)
    renumber_epochs(s)


@action(
    says=lambda t: _says_down(t, "crashes, too (its process dies)"), actor="broker", fault=Fault.STOPS, messages=GOES_DOWN
)
def kill_process(s: RollState, broker: Replica) -> None:
    """One thing more: a broker's process dies; its log stays."""
    require("up", ~s.broker[broker].down)
    require_part(s, broker)
    _require_failing(s, PROCESS)
    _go_down_uncleanly(s, broker, s.log[broker].end)
    s.unflushed = s.unflushed.add(broker)
    renumber_epochs(s)


def _says_lost(t: Telling) -> str:
    held = t.before.log[t.broker].records[: t.before.log[t.broker].end][t.after.log[t.broker].end :]
    lost = ", ".join(f"record {record.id}" for record in held)
    return f"; {lost} had not been flushed and is gone" if held else ""


def _says_machine(t: Telling) -> str:
    was_down = t.before.broker[t.broker].down
    how = f"the machine of broker {t.broker}, which is down, dies" if was_down else _says_down(t, "loses its machine")
    return how + _says_lost(t)


@action(
    says=_says_machine, when=lambda: settings.crashes.value == settings.LOSSY_CRASHES,
    actor="broker", fault=Fault.STOPS, messages=GOES_DOWN,
)  # fmt: skip
def lose_machine(s: RollState, broker: Replica, log_end: Offset) -> None:
    """One thing more: a machine dies, and takes what was not flushed; also that of a broker whose process died before."""
    down = s.broker[broker].down
    require("up, or its log is not flushed", ~down | s.unflushed.contains(broker))
    require_part(s, broker)
    require("a prefix of the log survives", log_end <= s.log[broker].end)
    _require_failing(s, MACHINE)
    _go_down_uncleanly(s, broker, log_end)
    renumber_epochs(s)


def _says_disk(t: Telling) -> str:
    held = ", ".join(f"record {record.id}" for record in t.before.log[t.broker].records[: t.before.log[t.broker].end])
    gone = f"; its copy of {held} is gone" if held else ""
    if t.before.broker[t.broker].down:
        return f"while broker {t.broker} is down its disk is replaced by an empty one{gone}"
    return _says_down(t, "loses its disk and will come back with an empty one") + gone


@action(says=_says_disk, actor="broker", fault=Fault.DISK, messages=GOES_DOWN)
def lose_disk(s: RollState, broker: Replica) -> None:
    """One thing more: a disk is lost, and an empty one takes its place; the broker's own or another's."""
    require_part(s, broker)
    _require_failing(s, DISK)
    _go_down_uncleanly(s, broker, Offset(literal(0)))
    empty(s, broker)
    if facts.reports_directory.on:
        s.unreported = s.unreported.add(broker)
    renumber_epochs(s)


_OWN_FAULTS = {"Crash", "ShutDown", "Halt", "ReplaceDisk", "RestartUnnoticed", "ReturnWithEmptyDisk"}
_FALLING_BEHIND = {"ShrinkIsr", "ShrinkIsrWhileHwWaits", "AskToShrink"}

roll = Protocol(
    "roll",
    RollState,
    title="a partition in its present state: a broker is stopped, and then one thing more fails at most",
    source=partition.source,
    constants=partition.constants,
    initial=partition.initial,
    actions=(
        *(item for item in partition.actions if item.name not in _OWN_FAULTS | _FALLING_BEHIND),
        *(stop_cleanly, stop_by_kill, kill_process, lose_machine, lose_disk),
    ),
    profile=partition.profile,
    told_with=partition.told_with,
    symmetric=partition.symmetric,
    budgets=[*partition.budgets],
)
