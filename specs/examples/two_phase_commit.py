"""Two-phase commit: participants prepare, and a coordinator that can stop decides for all of them.

Gray and Lamport, Consensus on Transaction Commit (2006), TwoPhase.tla: messages stay, so that one may be received twice.
"""

from acked import Array, Constant, Enum, Id, Protocol, SetOf, Struct, all_of, field, require, switch

participants = Constant("participants", 1, 5, "participants of the transaction")
asks_everybody = switch("asks_everybody", "whether the coordinator commits only when all have prepared", default=True)

class Participant(Id, size=participants):
    """A resource manager."""

class Phase(Enum, names=("working", "prepared", "committed", "aborted")):
    """How far a participant is."""

class Decision(Enum, names=("none", "commit", "abort")):
    """What the coordinator has decided, and told."""

class State(Struct):
    """What participants and coordinator know."""

    phase = field(Array(Participant, Phase), "how far each participant is")
    sent = field(SetOf(Participant), "who has sent that it is prepared")
    heard = field(SetOf(Participant), "of whom the coordinator has heard it")
    decision = field(Decision, "what the coordinator has decided")

two_phase_commit = Protocol(
    "two_phase_commit",
    State,
    title="two-phase commit",
    source="Gray and Lamport, Consensus on Transaction Commit",
    constants=(participants, asks_everybody),
    initial=lambda s: None,
    symmetric=(Participant,),
)

@two_phase_commit.action(says=lambda t: f"participant {t.who} prepares")
def prepare(s: State, who: Participant) -> None:
    require("it is working", s.phase[who] == "working")
    s.phase[who] = "prepared"
    s.sent = s.sent.add(who)

@two_phase_commit.action(says=lambda t: f"participant {t.who} aborts by itself")
def give_up(s: State, who: Participant) -> None:
    require("it is working", s.phase[who] == "working")
    s.phase[who] = "aborted"

@two_phase_commit.action(says=lambda t: f"the coordinator hears that participant {t.who} is prepared")
def hear(s: State, who: Participant) -> None:
    require("nothing is decided", s.decision == "none")
    require("it was sent", s.sent.contains(who))
    s.heard = s.heard.add(who)

@two_phase_commit.action(says=lambda t: "the coordinator decides to commit")
def decide_commit(s: State) -> None:
    require("nothing is decided", s.decision == "none")
    enough = s.heard == all_of(Participant) if asks_everybody.on else ~s.heard.is_empty
    require("enough are prepared", enough)
    s.decision = "commit"

@two_phase_commit.action(says=lambda t: "the coordinator decides to abort")
def decide_abort(s: State) -> None:
    require("nothing is decided", s.decision == "none")
    s.decision = "abort"

@two_phase_commit.action(says=lambda t: f"participant {t.who} commits")
def obey_commit(s: State, who: Participant) -> None:
    require("it was decided", s.decision == "commit")
    s.phase[who] = "committed"

@two_phase_commit.action(says=lambda t: f"participant {t.who} aborts as it is told")
def obey_abort(s: State, who: Participant) -> None:
    require("it was decided", s.decision == "abort")
    s.phase[who] = "aborted"
