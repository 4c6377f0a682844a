"""The constants and the state of `majority`: replicas with logs, terms and votes, and what was acknowledged.

There is no controller and no set of in-sync replicas: the replica that a majority elects leads, and what a majority holds is
committed. Terms are what Kafka calls leader epochs; KRaft (KIP-595) keeps the commit index of a replica under the name of
high watermark, and so do we.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Computed, Constant, choice, constants_in, fact, switch
from acked.model.language.state import Array, Between, Log, Optional, Present, SetOf, Struct, field
from acked.model.language.values import Bool, Id, Int
from acked.model.ranks import highest_rank

replicas = Constant("replicas", 1, 5, "replicas that hold a copy of the log and vote", 3)
log_size = Constant("log_size", 1, 4, "offsets a log has room for", 2)
records = Constant("records", 1, 4, "different records that producers send", 2)
max_term = Constant(
    "max_term", 0, 14, "the last term; 0 stands for any number of elections: terms are then kept by rank", 0
)

AT_ONCE, ONE_BY_ONE = range(2)
votes = choice(
    "votes",
    ("at once", "one by one"),
    "whether an election that is won is one step, or every candidacy and every vote is (then max_term must be given)",
    "at once",
)
NO_CRASHES, CLEAN_CRASHES, LOSSY_CRASHES = range(3)
crashes = choice(
    "crashes",
    ("none", "clean", "lossy"),
    "whether replicas die and come back: with their whole log, or with a suffix lost that was not flushed; term and vote are "
    "flushed always",
    "clean",
)
lossy_crashes = Constant("lossy_crashes", 0, 3, "how many crashes lose a suffix, if crashes = \"lossy\"; 0: any number", 0)
lost_logs_vote = switch(
    "lost_logs_vote",
    "a replica that has lost a suffix of its log goes on voting, which Raft forbids: it needs a log that survives",
    default=False,
)
failures = Constant("failures", 0, 2, "how many replicas may be down at once while writes must still be possible", 1)

CONSTANTS = constants_in(globals())

# -- what follows from them ------------------------------------------------------------------------------------------


def most_terms(constants: Mapping[str, int]) -> int:
    """Terms that can be in use at once: every replica and every record in one of its own."""
    return constants["replicas"] * (constants["log_size"] + 1)


def _highest_term(constants: Mapping[str, int]) -> int:
    if constants["max_term"]:
        return constants["max_term"]
    if constants["votes"] == ONE_BY_ONE:
        raise ModelError("votes = \"one by one\" counts terms one by one, too; bound them with max_term")
    return highest_rank(most_terms(constants), "terms", max_term.name)


highest_term = Computed(_highest_term)
"""The greatest term, or rank of one."""

loses = fact(lambda has: has["crashes"] == LOSSY_CRASHES)
"""Whether a suffix of a log may be lost."""

counts_losses = fact(lambda has: has["crashes"] == LOSSY_CRASHES and has["lossy_crashes"] > 0)
"""Whether lossy crashes are counted."""

bars_losers = fact(lambda has: has["crashes"] == LOSSY_CRASHES and not has["lost_logs_vote"])
"""Whether a replica that has lost a suffix of its log votes no more."""


# -- the state -------------------------------------------------------------------------------------------------------


class Replica(Id, size=replicas):
    """One of the replicas, all of which vote."""


class Offset(Int, lo=0, hi=log_size):
    """A position in the log, a log end or a high watermark."""


class Term(Int, lo=0, hi=highest_term):
    """A term, or its rank among those in use."""


class RecordId(Int, lo=0, hi=records - 1, name="record"):
    """A record as the application knows it."""


class Lossy(Int, lo=0, hi=lossy_crashes, name="number of lossy crashes"):
    """How many crashes may still lose a suffix."""


class Record(Struct):
    """One record of a log."""

    id = field(RecordId, "which record")
    term = field(Term, "the term of the leader that appended it")


class ReplicaState(Struct):
    """One replica: term and vote survive a crash, everything else here does not."""

    down = field(Present(Bool, crashes), "it has crashed and not come back")
    term = field(Term, "the newest term it knows")
    leads = field(Bool, "it has won the election of its term and knows of no newer one")
    hw = field(Offset, "its high watermark, which Raft calls commit index; 0 when it has just restarted")
    voted_for = field(Present(Optional(Replica), votes), "whom it voted for in its term")
    granted = field(Present(SetOf(Replica), votes), "of a candidate: who has voted for it in its term, itself included")
    lost = field(Present(Bool, bars_losers), "it has lost a suffix of its log and votes no more")


class State(Struct):
    """One partition whose replicas decide among themselves."""

    log = field(Array(Replica, Log(Record, Offset, log_size)), "each replica's log")
    replica = field(Array(Replica, ReplicaState), "each replica's own view")
    match = field(Array(Replica, Array(Replica, Offset)), "of a leader: up to where each other log is known to be its own")
    next_record = field(Between(RecordId, 0, records), "how many records were sent so far")
    acked = field(Array(RecordId, Bool), "whether the record's producer has got an ack for it")
    lossy_left = field(Present(Lossy, counts_losses), "crashes that may still lose a suffix")


def initial(s: State) -> None:
    """Empty logs, nobody leads, everyone in term 0; whatever is not said is zero, none or empty."""
    if counts_losses.on:
        s.lossy_left = lossy_crashes
