"""A broker's life: crashes, clean and lossy, restarts, noticed or not, and disks that are replaced.

What a crash leaves of a broker, and what its restart tells. The controller notices a crash in the same step
(`docs/abstractions.md`).
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import for_each, implies, ite, truth
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Ends, Fault, Telling, Tells, says_list
from acked.model.language.values import Bool
from acked.model.partition.common import fetches_from, has_session, lose_broker, renumber_epochs, set_eligible, stop_waiting
from acked.model.partition.fetching import have_diverged, require_fetch
from acked.model.partition.following import end_wait, resign
from acked.model.partition.rules import facts, settings
from acked.model.partition.state import Offset, Replica, State
from acked.model.partition.vocabulary.assignment import has_heard_of_removal, require_part
from acked.model.partition.vocabulary.candidates import loses_requests, notices_return, stops_on_its_way
from acked.model.partition.vocabulary.messages import FETCH_OUT_OF_RANGE, GOES_DOWN
from acked.model.partition.vocabulary.words import says_gone, says_no_answers

# -- a broker's life --------------------------------------------------------------------------------------------------


def _says_crash(t: Telling) -> str:
    lost = t.before.log[t.broker].end - t.after.log[t.broker].end
    how = f" and loses what it had from offset {t.log_end} on, which was not flushed" if lost else ""
    return f"broker {t.broker} crashes{how}{says_gone(t)}{says_no_answers(t, t.broker)}"


@action(
    says=_says_crash,
    when=lambda: (
        settings.crashes.value >= settings.LOSSY_OUTSIDE_ISR
        or (settings.crashes.value == settings.CLEAN_CRASHES and settings.kills.on)
    ),
    actor="broker", fault=Fault.STOPS, messages=GOES_DOWN,
)
def crash(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> None:
    """A broker crashes; of its log a prefix is left, of its high watermark the last checkpoint, of the rest nothing.

    What was flushed and when the checkpoint was written is left open: any prefix may survive (all of it, unless crashes are
    lossy), and any high watermark up to the present one.
    """
    require("up", ~s.broker[broker].down)
    require_part(s, broker)
    counts = require_what_survives(s, broker, log_end, checkpoint)
    go_down(s, broker, log_end, checkpoint)
    if facts.dies_uncleanly.on:
        s.killed = ite(counts & s.controller.elr.contains(broker), s.killed.add(broker), s.killed)
    renumber_epochs(s)


@action(
    says=lambda t: f"broker {t.broker} is shut down{says_gone(t)}{says_no_answers(t, t.broker)}",
    when=lambda: settings.crashes.value != settings.NO_CRASHES and not settings.kills.on,
    actor="broker", messages=GOES_DOWN,
)
def shut_down(s: State, broker: Replica) -> None:
    """A controlled shutdown: everything is flushed, and the controller will know that nothing was lost (KIP-966).

    Where brokers may be killed, too, a crash that loses nothing stands for both until the broker registers again.
    """
    require("up", ~s.broker[broker].down)
    require_part(s, broker)
    stops_on_its_way(s, broker)
    go_down(s, broker, s.log[broker].end, s.broker[broker].hw)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"broker {t.follower} fetches from broker {t.leader} at offset {t.before.log[t.follower].end}, which is beyond the "
        f"leader's log end {t.before.log[t.leader].end}; rather than truncate it halts{says_gone(t)}"
    ),
    when=lambda: facts.halts.on,
    actor="follower", fault=Fault.STOPS, messages=(*FETCH_OUT_OF_RANGE, Ends("follower")),
)
def halt(s: State, follower: Replica, leader: Replica) -> None:
    """A follower whose log is longer than its leader's halts: without unclean elections that should not be (KAFKA-3924).

    Its log stays as it is, and so does its high watermark: it has long been in the checkpoint.
    """
    require_fetch(s, follower, leader)
    require("the logs have diverged", have_diverged(s, leader, follower))
    go_down(s, follower, s.log[follower].end, s.broker[follower].hw)
    renumber_epochs(s)


def go_down(s: State, broker: Replica, log_end: Offset | int, checkpoint: Offset | int) -> None:
    """A broker is down, and the controller has noticed."""
    refuse_stale_changes(s, broker)
    lose_broker(s, broker)
    forget(s, broker, log_end, checkpoint)
    s.broker[broker].down = True


def require_what_survives(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> Bool:
    """What a crash may leave of log and high watermark; whether it is one of those that are counted if they are few.

    Those are the lossy ones; where processes are not killed, every crash is of a machine and counts.
    """
    log = s.log[broker]
    lossy = log_end < log.end
    counts = lossy if settings.kills.on else truth(True)
    require("a prefix of the log survives", log_end <= log.end)
    require("an earlier high watermark", (checkpoint <= s.broker[broker].hw) & (checkpoint <= log_end))
    if settings.crashes.value == settings.CLEAN_CRASHES:
        require("the whole log survives", ~lossy)
    elif settings.crashes.value == settings.LOSSY_OUTSIDE_ISR:
        counted = s.controller.isr.contains(broker) | s.controller.elr.contains(broker)
        counted |= s.controller.last_leader == broker
        require("an electable replica keeps its log", ~(lossy & counted))
    if facts.loses.on:
        require("a lossy crash is left", ~counts | (s.lossy_left > 0))
        s.lossy_left = ite(counts, s.lossy_left - 1, s.lossy_left)
    return counts


def forget(s: State, broker: Replica, log_end: Offset | int, checkpoint: Offset | int) -> None:
    """What only memory held is gone."""
    mine = s.broker[broker]
    stop_waiting(s, broker)
    resign(s, broker)
    if settings.late_answers.on:
        # The connection is gone with either end.
        for_each(Replica, lambda r: end_wait(s, r, (r == broker) | (s.late[r].leader == broker)))
    has_heard_of_removal(s, broker)
    mine.leader = None
    mine.leader_epoch = None
    mine.truncating = False
    mine.former_leader = None
    mine.former_epoch = None
    # What the cache says of epochs at the log end is dropped when the log is opened.
    mine.empty_epoch = None

    def open_session(r: Replica) -> None:
        # When the broker is back, and before it hears who leads, it opens a session for whom it refuses for that.
        s.broker[r].reopens = s.broker[r].reopens & (fetches_from(s, r) != broker)

    for_each(Replica, open_session)
    s.log[broker].truncate(log_end)
    mine.hw = checkpoint
    loses_requests(s, broker)


def refuse_stale_changes(s: State, broker: Replica) -> None:
    """With KIP-903 an ISR change in flight that names the broker's present incarnation will be refused."""
    if settings.asynchronous_isr.on and settings.isr_checks_broker_epoch.on:

        def refuse(r: Replica) -> None:
            s.broker[r].outdated = s.broker[r].outdated | s.broker[r].pending.contains(broker)

        for_each(Replica, refuse)


def _says_restart(t: Telling) -> str:
    text = f"broker {t.broker} restarts"
    if not t.is_clean:
        return f"{text}; its shutdown was unclean, and the controller takes it out of the eligible leaders"
    return text


@action(says=_says_restart, when=lambda: settings.crashes.value != settings.NO_CRASHES, actor="broker", fault=Fault.RESTARTS)
def restart(s: State, broker: Replica, is_clean: Bool) -> None:
    """A broker that was down comes back, registers, and knows nothing of leaders yet.

    One that was not shut down in order shows that by the lack of its clean shutdown file, and is no longer an eligible
    leader, whether or not it lost something (KIP-966). How a broker stopped that lost nothing nobody knows before that.
    """
    require("down", s.broker[broker].down)
    if facts.dies_uncleanly.on:
        elr, died = s.controller.elr, s.killed.contains(broker)
        require("a machine that died was not shut down", implies(died, ~is_clean))
        require("an eligible leader, if unclean", is_clean | elr.contains(broker))
        if not settings.kills.on:
            require("shut down in order, if its machine did not die", died | is_clean)
        set_eligible(s, ite(is_clean, elr, elr.remove(broker)))
    else:
        require("one of two equal cases", is_clean)
    s.broker[broker].down = False
    s.controller.gone = s.controller.gone.remove(broker)
    notices_return(s, broker)


def _says_unnoticed(t: Telling) -> str:
    lost = t.before.log[t.broker].end - t.after.log[t.broker].end
    how = f", without what it had from offset {t.log_end} on, which was not flushed" if lost else ""
    return (
        f"broker {t.broker} goes down and is back before the controller looks{how}; it stays in the ISR"
        f"{says_no_answers(t, t.broker)}"
    )


@action(
    says=_says_unnoticed,
    when=lambda: facts.restarts_unnoticed.on,
    actor="broker", fault=Fault.RESTARTS, messages=GOES_DOWN,
)
def restart_unnoticed(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> None:
    """A broker goes down and registers again before the controller has taken it out of the ISR; it is told again who leads.

    With ZooKeeper (to 2.1, KIP-380) the process was killed and the log stays: a machine that dies is away for longer. With
    KRaft (to 3.9, KAFKA-18106) the broker comes back after its session has ended and before the controller fences it, so a
    machine may have died. It stays the leader if it was, and takes office again in the same leader epoch.
    """
    require("in the ISR", s.controller.isr.contains(broker))
    require("has a session", has_session(s, broker))
    if settings.asynchronous_isr.on:
        require_what_survives(s, broker, log_end, checkpoint)
    else:
        require("the whole log survives", log_end == s.log[broker].end)
        require("an earlier high watermark", checkpoint <= s.broker[broker].hw)
    refuse_stale_changes(s, broker)
    forget(s, broker, log_end, checkpoint)
    renumber_epochs(s)


# -- empty disks --------------------------------------------------------------------------------------------------------


def _says_emptied(t: Telling) -> str:
    held = t.before.log[t.broker].records[: t.before.log[t.broker].end]
    return f"; its copy of {says_list([f'record {record.id}' for record in held])} is gone" if held else ""


@action(
    says=lambda t: f"while broker {t.broker} is down its disk is replaced by an empty one{_says_emptied(t)}",
    when=lambda: facts.empties.on,
    actor="broker", fault=Fault.DISK,
)
def replace_disk(s: State, broker: Replica) -> None:
    """A broker that is down will come back with an empty disk: its volume or its node was replaced; it keeps its id.

    With KRaft the new directory has to be formatted, and has another id (KIP-858). The controller does not hear of it: the
    ISR names brokers, not disks. With eligible leader replicas the broker comes back as one whose shutdown was unclean,
    because the clean shutdown file was on the old disk (KIP-966).
    """
    require("down", s.broker[broker].down)
    named = s.controller.elr.contains(broker) if settings.eligible_leader_replicas.on else truth(False)
    require("there is something to lose", ~s.log[broker].is_empty | named)
    take_disk(s)
    empty(s, broker)
    if facts.dies_uncleanly.on:
        s.killed = ite(named, s.killed.add(broker), s.killed)
    if facts.reports_directory.on:
        s.unreported = s.unreported.add(broker)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"broker {t.broker} tells the controller in which directory its replica is now; by that the controller forgets the "
        "eligible leaders"
    ),
    when=lambda: facts.reports_directory.on,
    actor="broker", messages=(Tells("broker", CONTROLLER, "AssignReplicasToDirs"),),
)
def report_directory(s: State, broker: Replica) -> None:
    """A broker with a new disk says that its replica is in another directory (KIP-858): to 4.2 that clears the ELR.

    As `move_directory`, without anybody's wish: the directory on the new disk has another id. Who led last is remembered.
    """
    require("up", ~s.broker[broker].down)
    require("has yet to be heard of", s.unreported.contains(broker))
    s.unreported = s.unreported.remove(broker)
    set_eligible(s, none_of(Replica))


@action(
    says=lambda t: (
        f"broker {t.broker} goes down and is back with an empty disk before the controller looks; it stays in the ISR"
        f"{says_no_answers(t, t.broker)}{_says_emptied(t)}"
    ),
    when=lambda: facts.empties_unnoticed.on,
    actor="broker", fault=Fault.DISK, messages=GOES_DOWN,
)
def return_with_empty_disk(s: State, broker: Replica) -> None:
    """As `restart_unnoticed`, with an empty disk: a container whose volume lives no longer than itself starts again."""
    require("in the ISR", s.controller.isr.contains(broker))
    require("has a session", has_session(s, broker))
    require("there is something to lose", ~s.log[broker].is_empty)
    take_disk(s)
    refuse_stale_changes(s, broker)
    forget(s, broker, 0, 0)
    renumber_epochs(s)


def take_disk(s: State) -> None:
    """One of the disks that may be replaced is."""
    require("an empty disk is left", s.disks_left > 0)
    s.disks_left = s.disks_left - 1


def empty(s: State, broker: Replica) -> None:
    """Neither log nor checkpoint is left."""
    s.log[broker].truncate(0)
    s.broker[broker].hw = 0
