"""The controller and the broker's life: crashes, restarts, sessions, elections.

What a crash leaves of a broker, what the controller makes of it, and who is elected. The controller notices
a crash in the same step (`docs/abstractions.md`); a broker that loses its session while it lives does not notice (zombies).
Which of several candidates is elected is left open, which covers every order of the assignment.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import for_each, implies, ite, some, truth
from acked.model.language.state import none_of
from acked.model.language.telling import CONTROLLER, Ends, Fault, Telling, Tells
from acked.model.language.values import Bool
from acked.model.language.words import says_list, says_set
from acked.model.partition.assignment import completed, has_heard_of_removal, is_replica, require_part
from acked.model.partition.believing import loses_requests, notices_return, stops_on_its_way
from acked.model.partition.common import (
    elect,
    fetches_from,
    has_session,
    lose_broker,
    renumber_epochs,
    set_eligible,
    stop_waiting,
)
from acked.model.partition.fetching import have_diverged, require_fetch
from acked.model.partition.following import end_wait, resign
from acked.model.partition.messages import ELECTION, FETCH_OUT_OF_RANGE, GOES_DOWN, LEADERSHIP
from acked.model.partition.rules.controllers import ONE, controllers
from acked.model.partition.rules.derived import (
    dies_uncleanly,
    empties,
    empties_unnoticed,
    halts,
    loses,
    reports_directory,
    restarts_unnoticed,
)
from acked.model.partition.rules.settings import (
    CLEAN_CRASHES,
    LOSSY_OUTSIDE_ISR,
    NO_CRASHES,
    assignment_keeps_elr,
    asynchronous_isr,
    config_changes,
    crashes,
    directories_move,
    eligible_leader_replicas,
    isr_checks_broker_epoch,
    kills,
    late_answers,
    leadership_moves,
    reassignment,
    unclean_election,
    zombies,
)
from acked.model.partition.state import Offset, Replica, State
from acked.model.partition.words import says_complete, says_no_answers

# -- a broker's life --------------------------------------------------------------------------------------------------


def _says_gone(t: Telling) -> str:
    before, after = t.before.controller, t.after.controller
    text = f"; the controller takes it out of the ISR, now {says_set(after.isr)}" if before.isr != after.isr else ""
    if before.leader_epoch != after.leader_epoch:
        text += f", in a new leader epoch, {after.leader_epoch}"
    if complete := says_complete(t):
        return text + complete
    if before.leader is not None and after.leader is None:
        text += "; there is no leader"
    return text


def _says_crash(t: Telling) -> str:
    lost = t.before.log[t.broker].end - t.after.log[t.broker].end
    how = f" and loses what it had from offset {t.log_end} on, which was not flushed" if lost else ""
    return f"broker {t.broker} crashes{how}{_says_gone(t)}{says_no_answers(t, t.broker)}"


@action(
    says=_says_crash,
    when=lambda: crashes.value >= LOSSY_OUTSIDE_ISR or (crashes.value == CLEAN_CRASHES and kills.on),
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
    if dies_uncleanly.value:
        s.killed = ite(counts & s.controller.elr.contains(broker), s.killed.add(broker), s.killed)
    renumber_epochs(s)


@action(
    says=lambda t: f"broker {t.broker} is shut down{_says_gone(t)}{says_no_answers(t, t.broker)}",
    when=lambda: crashes.value != NO_CRASHES and not kills.on,
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
        f"leader's log end {t.before.log[t.leader].end}; rather than truncate it halts{_says_gone(t)}"
    ),
    when=lambda: bool(halts.value),
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


def go_down(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> None:
    """A broker is down, and the controller has noticed."""
    refuse_stale_changes(s, broker)
    lose_broker(s, broker)
    forget(s, broker, log_end, checkpoint)
    s.broker[broker].down = True


def _says_unnoticed(t: Telling) -> str:
    lost = t.before.log[t.broker].end - t.after.log[t.broker].end
    how = f", without what it had from offset {t.log_end} on, which was not flushed" if lost else ""
    return (
        f"broker {t.broker} goes down and is back before the controller looks{how}; it stays in the ISR"
        f"{says_no_answers(t, t.broker)}"
    )


@action(
    says=_says_unnoticed,
    when=lambda: bool(restarts_unnoticed.value),
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
    if asynchronous_isr.on:
        require_what_survives(s, broker, log_end, checkpoint)
    else:
        require("the whole log survives", log_end == s.log[broker].end)
        require("an earlier high watermark", checkpoint <= s.broker[broker].hw)
    refuse_stale_changes(s, broker)
    forget(s, broker, log_end, checkpoint)
    renumber_epochs(s)


def require_what_survives(s: State, broker: Replica, log_end: Offset, checkpoint: Offset) -> Bool:
    """What a crash may leave of log and high watermark; whether it is one of those that are counted if they are few.

    Those are the lossy ones; where processes are not killed, every crash is of a machine and counts.
    """
    log = s.log[broker]
    lossy = log_end < log.end
    counts = lossy if kills.on else truth(True)
    require("a prefix of the log survives", log_end <= log.end)
    require("an earlier high watermark", (checkpoint <= s.broker[broker].hw) & (checkpoint <= log_end))
    if crashes.value == CLEAN_CRASHES:
        require("the whole log survives", ~lossy)
    elif crashes.value == LOSSY_OUTSIDE_ISR:
        counted = s.controller.isr.contains(broker) | s.controller.elr.contains(broker)
        counted |= s.controller.last_leader == broker
        require("an electable replica keeps its log", ~(lossy & counted))
    if loses.value:
        require("a lossy crash is left", ~counts | (s.lossy_left > 0))
        s.lossy_left = ite(counts, s.lossy_left - 1, s.lossy_left)
    return counts


def forget(s: State, broker: Replica, log_end: Offset | int, checkpoint: Offset | int) -> None:
    """What only memory held is gone."""
    mine = s.broker[broker]
    stop_waiting(s, broker)
    resign(s, broker)
    if late_answers.on:
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
    if asynchronous_isr.on and isr_checks_broker_epoch.on:

        def refuse(r: Replica) -> None:
            s.broker[r].outdated = s.broker[r].outdated | s.broker[r].pending.contains(broker)

        for_each(Replica, refuse)


def _says_restart(t: Telling) -> str:
    text = f"broker {t.broker} restarts"
    if not t.is_clean:
        return f"{text}; its shutdown was unclean, and the controller takes it out of the eligible leaders"
    return text


@action(says=_says_restart, when=lambda: crashes.value != NO_CRASHES, actor="broker", fault=Fault.RESTARTS)
def restart(s: State, broker: Replica, is_clean: Bool) -> None:
    """A broker that was down comes back, registers, and knows nothing of leaders yet.

    One that was not shut down in order shows that by the lack of its clean shutdown file, and is no longer an eligible
    leader, whether or not it lost something (KIP-966). How a broker stopped that lost nothing nobody knows before that.
    """
    require("down", s.broker[broker].down)
    if dies_uncleanly.value:
        elr, died = s.controller.elr, s.killed.contains(broker)
        require("a machine that died was not shut down", implies(died, ~is_clean))
        require("an eligible leader, if unclean", is_clean | elr.contains(broker))
        if not kills.on:
            require("shut down in order, if its machine did not die", died | is_clean)
        set_eligible(s, ite(is_clean, elr, elr.remove(broker)))
    else:
        require("one of two equal cases", is_clean)
    s.broker[broker].down = False
    s.controller.gone = s.controller.gone.remove(broker)
    notices_return(s, broker)


@action(
    says=lambda t: f"broker {t.broker} loses its session with the controller and does not know{_says_gone(t)}",
    when=lambda: zombies.on,
    actor="broker", fault=Fault.SESSION, messages=(Ends("broker", LEADERSHIP),),
)
def lose_session(s: State, broker: Replica) -> None:
    """The controller takes a live broker for dead: a long pause or a cut network; the broker goes on as it was."""
    require("has a session", has_session(s, broker))
    require_part(s, broker)
    s.controller.gone = s.controller.gone.add(broker)
    lose_broker(s, broker)
    renumber_epochs(s)


@action(
    says=lambda t: f"broker {t.broker} has a session with the controller again", when=lambda: zombies.on,
    actor="broker", fault=Fault.SESSION,
)
def regain_session(s: State, broker: Replica) -> None:
    """A broker that was taken for dead registers again."""
    require("up", ~s.broker[broker].down)
    require("without a session", s.controller.gone.contains(broker))
    s.controller.gone = s.controller.gone.remove(broker)
    notices_return(s, broker)


# -- empty disks --------------------------------------------------------------------------------------------------------


def _says_emptied(t: Telling) -> str:
    held = t.before.log[t.broker].records[: t.before.log[t.broker].end]
    return f"; its copy of {says_list([f'record {record.id}' for record in held])} is gone" if held else ""


@action(
    says=lambda t: f"while broker {t.broker} is down its disk is replaced by an empty one{_says_emptied(t)}",
    when=lambda: bool(empties.value),
    actor="broker", fault=Fault.DISK,
)
def replace_disk(s: State, broker: Replica) -> None:
    """A broker that is down will come back with an empty disk: its volume or its node was replaced; it keeps its id.

    With KRaft the new directory has to be formatted, and has another id (KIP-858). The controller does not hear of it: the
    ISR names brokers, not disks. With eligible leader replicas the broker comes back as one whose shutdown was unclean,
    because the clean shutdown file was on the old disk (KIP-966).
    """
    require("down", s.broker[broker].down)
    named = s.controller.elr.contains(broker) if eligible_leader_replicas.on else truth(False)
    require("there is something to lose", ~s.log[broker].is_empty | named)
    take_disk(s)
    empty(s, broker)
    if dies_uncleanly.value:
        s.killed = ite(named, s.killed.add(broker), s.killed)
    if reports_directory.value:
        s.unreported = s.unreported.add(broker)
    renumber_epochs(s)


@action(
    says=lambda t: (
        f"broker {t.broker} tells the controller in which directory its replica is now; by that the controller forgets the "
        "eligible leaders"
    ),
    when=lambda: bool(reports_directory.value),
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
    when=lambda: bool(empties_unnoticed.value),
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


# -- what makes the controller forget eligible leaders ------------------------------------------------------------------


@action(
    says=lambda t: "min.insync.replicas is set anew; the controller forgets the eligible leaders and who led last",
    when=lambda: config_changes.on and eligible_leader_replicas.on,
    actor=CONTROLLER,
)
def change_configuration(s: State) -> None:
    """The topic's min.insync.replicas is set, if only to what it was: ELR and last known leader are cleared (KIP-966)."""
    require("there is something to forget", ~s.controller.elr.is_empty | s.controller.last_leader.is_some)
    set_eligible(s, none_of(Replica))
    s.controller.last_leader = None


@action(
    says=lambda t: "a replica is assigned to another log directory; the controller forgets the eligible leaders",
    when=lambda: directories_move.on and eligible_leader_replicas.on and not assignment_keeps_elr.on,
    actor=CONTROLLER,
)
def move_directory(s: State) -> None:
    """A broker says that a replica is in another directory (JBOD): to 4.2 the change that records it clears the ELR."""
    require("a broker is up to say so", some(Replica, lambda r: has_session(s, r)))
    require("there is something to forget", ~s.controller.elr.is_empty)
    set_eligible(s, none_of(Replica))


# -- elections --------------------------------------------------------------------------------------------------------


def is_candidate(s: State, broker: Replica) -> Bool:
    """A clean election may choose the broker.

    That is a live member of the ISR; with KIP-966, if the ISR is empty, a live eligible leader, and if there is none either,
    the last known leader.
    """
    eligible = s.controller.isr.contains(broker)
    if eligible_leader_replicas.on:
        empty = s.controller.isr.is_empty
        eligible |= empty & s.controller.elr.contains(broker)
        eligible |= empty & s.controller.elr.is_empty & (s.controller.last_leader == broker)
    eligible &= has_session(s, broker)
    return eligible & is_replica(s, broker) if reassignment.on else eligible


def _says_elected(t: Telling) -> str:
    before, after = t.before.controller, t.after.controller
    who = f"broker {t.broker}"
    if t.broker in getattr(before, "elr", []):
        who += ", an eligible leader replica,"
    elif getattr(before, "last_leader", None) == t.broker and t.broker not in before.isr:
        who += ", the last known leader,"
    return f"{who} as leader in epoch {after.leader_epoch}, ISR {says_set(after.isr)}"


@action(
    says=lambda t: f"the controller elects {_says_elected(t)}",
    when=lambda: controllers.value == ONE,
    actor=CONTROLLER, messages=(ELECTION,),
)
def elect_leader(s: State, broker: Replica) -> None:
    """There is no leader: the controller elects a live in-sync replica, or with KIP-966 an eligible one."""
    require("no leader", s.controller.leader.is_none)
    require("candidate", is_candidate(s, broker))
    isr = s.controller.isr
    elect(s, broker, ite(isr.contains(broker), isr, none_of(Replica).add(broker)))
    renumber_epochs(s)


@action(
    says=lambda t: f"no in-sync replica is alive, and the controller elects another, uncleanly: {_says_elected(t)}",
    when=lambda: unclean_election.on and controllers.value == ONE,
    actor=CONTROLLER, fault=Fault.UNCLEAN, messages=(ELECTION,),
)
def elect_uncleanly(s: State, broker: Replica) -> None:
    """With unclean.leader.election.enable any live replica is elected if no other can be; what it lacks is lost."""
    require("no leader", s.controller.leader.is_none)
    require("has a session", has_session(s, broker))
    if reassignment.on:
        require("a replica", is_replica(s, broker))
    require("no candidate", ~some(Replica, lambda r: is_candidate(s, r)))
    elect(s, broker, none_of(Replica).add(broker))
    if eligible_leader_replicas.on:
        set_eligible(s, none_of(Replica))
    renumber_epochs(s)


@action(
    says=lambda t: f"the controller moves leadership: {_says_elected(t)}",
    when=lambda: leadership_moves.on and controllers.value == ONE,
    actor=CONTROLLER, messages=(ELECTION,),
)
def move_leadership(s: State, broker: Replica) -> None:
    """Preferred election, a reassignment, or a controlled shutdown: another in-sync replica leads while the leader lives."""
    require("there is a leader", s.controller.leader.is_some)
    require("another broker", s.controller.leader != broker)
    isr, known = s.controller.isr, s.controller.replicas
    if reassignment.on:
        isr, _ = completed(s, isr, truth(True))
        require("a replica", is_replica(s, broker))
    require("in the ISR", isr.contains(broker))
    require("has a session", has_session(s, broker))
    elect(s, broker, isr, known)
    renumber_epochs(s)


ACTIONS = (
    crash,
    shut_down,
    halt,
    restart,
    restart_unnoticed,
    replace_disk,
    report_directory,
    return_with_empty_disk,
    change_configuration,
    move_directory,
    lose_session,
    regain_session,
    elect_leader,
    elect_uncleanly,
    move_leadership,
)
