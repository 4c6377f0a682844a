"""How Kafka words the lines that tell of a partition: a table, by logger, with the releases that a recorded line is known of.

A wording that is not in the table is an error where one of these loggers writes about the partition (`facts.py`): what is not
understood must not pass for silence. Every wording has a recorded line as its test, in `tests/data/lines/`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, unique

PARTITION = "kafka.cluster.Partition"
STATE_CHANGE = "state.change.logger"
FETCHER = "kafka.server.ReplicaFetcherThread"
FETCHERS = "kafka.server.ReplicaFetcherManager"
CONTROLLER = "org.apache.kafka.controller.ReplicationControlManager"
HEARTBEATS = "org.apache.kafka.controller.BrokerHeartbeatManager"
ZOOKEEPER_CONTROLLER = "kafka.controller.KafkaController"
LOGS = ("kafka.log.Log", "kafka.log.UnifiedLog", "org.apache.kafka.storage.internals.log.UnifiedLog")
"""Log to 2.8, UnifiedLog to 3.9, and from 4.0."""
LOG_MANAGERS = ("kafka.log.LogManager", "org.apache.kafka.storage.internals.log.LogManager")

STRICT = frozenset({PARTITION, STATE_CHANGE, FETCHER, CONTROLLER, *LOGS})
"""Of these loggers every wording about the partition must be known."""


@unique
class Tells(Enum):
    """What a line tells."""

    NOTHING = "nothing that another line does not tell"
    PLACED = "the controller chose the partition's brokers"
    CREATED = "the controller made the partition"
    APPENDED = "records were appended to a log"
    RECORDED = "a leader noted a fetch"
    RAISED = "a leader's high watermark rose"
    EXPANDING = "a leader asks for a larger ISR"
    SHRINKING = "a leader asks for a smaller ISR"
    ISR = "a leader heard of an ISR"
    LEADER = "a broker leads"
    FOLLOWER = "a broker follows"
    STAYED = "a leader heard of an ISR, by metadata"
    REMOVED = "a broker's fetchers do not have the partition any more"
    GOT = "a follower has an answer to a fetch"
    TOOK = "a follower took the high watermark of an answer"
    TRUNCATING = "a follower truncates"
    CUT = "a log was cut"
    OPENED = "a log was opened, and ends there"
    LOADED = "a broker knows its high watermark again"
    ALTERED = "the controller grants an ISR"
    CHANGED = "the controller changes the partition"
    REPLAYED = "the controller's change is committed"
    REASSIGNED = "the controller moves the partition to other replicas, or to another order of them"
    FENCED = "the controller fences a broker"
    UNFENCED = "the controller unfences a broker"

    __hash__ = object.__hash__


_FIRST = re.compile(r"[^\s(\[]*")


def first_word(text: str) -> str:
    """A text to its first space or bracket."""
    found = _FIRST.match(text)
    return found[0] if found else ""


@dataclass(frozen=True)
class Wording:
    """One way in which one of some loggers says something: its first word after the prefix in brackets, and all of it.

    What a pattern skips it does not come back to: the time that a line takes grows with its length and no faster.

    In `text`, TP stands for topic and partition, TOPIC for the topic alone, NUMBER for the partition's number. `recorded` are
    the releases of which a line is kept as a test.
    """

    tells: Tells
    loggers: tuple[str, ...]
    text: str
    recorded: tuple[str, ...]

    @property
    def names_partition(self) -> bool:
        """Whether nothing matches that does not name topic and partition, apart from what stands before them."""
        return re.search(r"(?:^|[ /])TP", self.text) is not None

    @property
    def first_word(self) -> str:
        """The literal first word, to a bracket."""
        return first_word(self.text.replace("\\", ""))

    def pattern(self, topic: str, partition: int) -> re.Pattern[str]:
        """The expression for one partition, matched from the first word on."""
        names = {"TOPIC": re.escape(topic), "NUMBER": str(partition), "TP": rf"{re.escape(topic)}-{partition}(?!\d)"}
        return re.compile(re.sub("TOPIC|NUMBER|TP", lambda found: names[found[0]], self.text))


BOTH = ("3.9.1", "4.4.0")
ZOOKEEPER = ("2.8.2",)
_ISR = r"(?:Set\(|List\(|\[)(?P<isr>[\d, ]*)[\])]"
_CHANGE = (
    r"partition change for TP with topic ID \S+: (?=(?:.*?\bisr: \[(?P<was>[\d, ]*)\] -> \[(?P<isr>[\d, ]*)\])?)"
    r"(?=(?:.*?\bleader: -?\d+ -> (?P<leader>-?\d+))?)(?=(?:.*?\bleaderEpoch: -?\d+ -> (?P<epoch>\d+))?)"
    r"(?=(?:.*?\belr: \[[\d, ]*\] -> \[(?P<elr>[\d, ]*)\])?)(?:.*?\bpartitionEpoch: \d+ -> (?P<version>\d+))?"
)
_ELR = r"(?=(?:.*?eligibleLeaderReplicas=(?:null|\[(?P<elr>[\d, ]*)\]))?)"
_REPLAYED = (
    r"Replayed partition change PartitionChangeRecord\(partitionId=NUMBER,(?>.*? leader=(?P<leader>-?\d+),)"
    rf"{_ELR}(?>.*?for topic TOPIC\. \(isr: )\[(?P<was>[\d, ]*)\] -> "
    r"\[(?P<isr>[\d, ]*)\](?>.*?partitionEpoch: )(?:\d+ -> )?(?P<version>\d+), leaderEpoch: (?:\d+ -> )?(?P<epoch>\d+)\)"
)
_REPLAYED_39 = (
    r"Replayed partition change PartitionChangeRecord\(partitionId=NUMBER,(?>.*? isr=)(?:null|\[(?P<isr>[\d, ]*)\]), "
    rf"leader=(?P<leader>-?\d+),{_ELR}.* for topic TOPIC$"
)
_STATE = (
    r"LeaderAndIsr\(leader=(?P<leader>-?\d+), leaderEpoch=(?P<epoch>\d+), isr=List\((?P<isr>[\d, ]*)\), "
    r"zkVersion=(?P<version>\d+)\)"
)
_CREATED = (
    r"TP with topic ID \S+ and PartitionRegistration\(replicas=\[(?P<replicas>[\d, ]*)\],(?>.*?[ (]isr=)"
    r"\[(?P<isr>[\d, ]*)\],(?>.*?leader=)(?P<leader>-?\d+),(?>.*?leaderEpoch=)(?P<epoch>\d+), "
    r"partitionEpoch=(?P<version>\d+)"
)

WORDINGS: tuple[Wording, ...] = (
    # -- a leader -------------------------------------------------------------------------------------------------------
    Wording(
        Tells.RECORDED, (PARTITION,),
        r"Recorded replica (?P<follower>\d+) log end offset \(LEO\) position (?P<offset>\d+)", BOTH,
    ),
    Wording(
        Tells.RAISED, (PARTITION,),
        r"High watermark updated from \(?offset=\d++.*? to \(?offset=(?P<hw>\d+)", BOTH,
    ),
    Wording(
        Tells.EXPANDING, (PARTITION,),
        r"Submitting ISR state change PendingExpandIsr\(newInSyncReplicaId=(?P<follower>\d+), "
        rf".*CommittedPartitionState[\[(]isr={_ISR}", BOTH,
    ),
    Wording(
        Tells.EXPANDING, (PARTITION,),
        r"Enqueued ISR change to state .* after transition to PendingExpandIsr\(isr=Set\((?P<isr>[\d, ]*)\), "
        r"newInSyncReplicaId=(?P<follower>\d+)\)", ZOOKEEPER,
    ),
    Wording(
        Tells.SHRINKING, (PARTITION,),
        r"Enqueued ISR change to state .* after transition to PendingShrinkIsr\(isr=Set\([\d, ]*\), "
        r"outOfSyncReplicaIds=Set\((?P<followers>[\d, ]+)\)\)", ZOOKEEPER,
    ),
    Wording(
        Tells.SHRINKING, (PARTITION,),
        r"Submitting ISR state change PendingShrinkIsr\(outOfSyncReplicaIds=(?:Set\(|\[)(?P<followers>[\d, ]+)[\])], ", BOTH,
    ),
    Wording(
        Tells.ISR, (PARTITION,),
        r"ISR updated to (?P<isr>[\d,]+)(?: \(under-min-isr\))?\s+and version updated to \[?(?P<version>\d+)",
        ("2.8.2", *BOTH),
    ),
    Wording(Tells.LOADED, (PARTITION,), r"Log loaded for partition TP with initial high watermark (?P<hw>\d+)", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"Skipping update high watermark since ", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"Progress awaiting ISR acks for offset ", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"No checkpointed highwatermark is found for partition TP", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"UnifiedLog already exists\.", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"Ignoring failed ISR update to ", BOTH),
    Wording(Tells.NOTHING, (PARTITION,), r"Ignoring new ISR .* since we have a stale leader epoch ", ("3.4.1",)),
    Wording(Tells.NOTHING, (PARTITION,), r"Shrinking ISR from [\d,]+ to [\d,]+\. ", BOTH),
    Wording(
        Tells.LEADER, (STATE_CHANGE,),
        r"Leader TP (?:with topic id \S+ )?starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with "
        r"partition epoch (?P<version>\d+), high watermark (?P<hw>\d+), ISR \[(?P<isr>[\d, ]*)\]", BOTH,
    ),
    Wording(
        Tells.LEADER, (STATE_CHANGE,),
        r"Leader TP starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with high watermark (?P<hw>\d+) "
        r"ISR \[(?P<isr>[\d,]*)\]", ZOOKEEPER,
    ),
    Wording(
        Tells.FOLLOWER, (STATE_CHANGE,),
        r"Follower TP starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with high watermark (?P<hw>\d+)\. "
        r"Previous", ZOOKEEPER,
    ),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Skipped the become-leader state change after marking ", ZOOKEEPER),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Ignoring (?:LeaderAndIsr|StopReplica) request ", ZOOKEEPER),
    Wording(
        Tells.STAYED, (STATE_CHANGE,),
        r"Skipped the become-leader state change for TP .*since it is already the leader with leader epoch "
        r"(?P<epoch>\d+)\. Current high watermark (?P<hw>\d+), ISR \[(?P<isr>[\d, ]*)\]", BOTH,
    ),
    Wording(
        Tells.FOLLOWER, (STATE_CHANGE,),
        r"Follower TP starts at leader epoch (?P<epoch>\d+) from offset (?P<offset>\d+) with partition epoch "
        r"(?P<version>\d+) and high watermark (?P<hw>\d+)\. Current leader is (?P<leader>-?\d+)", BOTH,
    ),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Skipped the become-follower state change for TP ", BOTH),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Creating new partition TP ", BOTH),
    # After an unclean election, of which the controller tells.
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"The topic partition TP was marked as RECOVERING\. ", ("4.1.0",)),
    # -- a log ----------------------------------------------------------------------------------------------------------
    Wording(
        Tells.APPENDED, LOGS,
        r"Appended message set with last offset: -?\d+, first offset: (?:(?:Optional\[|Some\()\(offset=)?(?P<offset>\d++)"
        r".*?, next offset: (?P<next>\d+)", ("3.4.1", "3.5.1", "3.6.2", *BOTH),
    ),
    Wording(Tells.CUT, LOGS, r"Truncating to offset (?P<to>\d+)", BOTH),
    Wording(Tells.NOTHING, LOGS, r"Truncating to \d+ has no effect as ", BOTH),
    # Where a log is cut below its high watermark, as after stale log ends, it says so before it is cut.
    Wording(Tells.NOTHING, LOGS, r"Truncating TP to offset \d+ below high watermark \d+", ("4.4.0",)),
    Wording(Tells.NOTHING, LOGS, r"Setting high watermark ", BOTH),
    Wording(Tells.NOTHING, LOGS, r"Flushing log up to offset ", ("4.1.0",)),
    Wording(Tells.NOTHING, LOGS, r"LogSegment\(baseOffset=\d+, .* breached: false", ("4.1.0",)),
    # A follower that led, or followed another leader, takes the new one's high watermark, which may be lower.
    Wording(Tells.NOTHING, LOGS, r"Non-monotonic update of high watermark from ", ("3.9.1",)),
    Wording(Tells.NOTHING, LOGS, r"Closing log$", ("3.6.2", "4.1.0")),
    Wording(Tells.NOTHING, LOGS, r"Recovering unflushed segment ", ZOOKEEPER),
    Wording(Tells.NOTHING, LOGS, r"Reading maximum \d+ bytes at offset ", ZOOKEEPER),
    Wording(Tells.NOTHING, LOGS, r"Loading producer state till offset ", ("4.4.0",)),
    Wording(Tells.NOTHING, LOGS, r"Reloading from producer snapshot ", ("4.4.0",)),
    Wording(Tells.NOTHING, LOGS, r"Producer state recovery took ", ("4.4.0",)),
    Wording(
        Tells.OPENED, LOG_MANAGERS,
        r"Completed load of Log\(dir=\S*/TP, (?>.*?topic=TOPIC, partition=NUMBER, ).*logEndOffset=(?P<end>\d+)\)", BOTH,
    ),
    # -- a follower -----------------------------------------------------------------------------------------------------
    Wording(
        Tells.GOT, (FETCHER,),
        r"Follower has replica log end offset (?P<offset>\d+) for partition TP\. Received \d+ (?:bytes of )?messages "
        r"and leader hw (?P<leader_hw>-?\d+)", ("3.4.1", *BOTH),
    ),
    Wording(Tells.NOTHING, (FETCHER,), r"Follower has replica log end offset \d+ after appending ", BOTH),
    Wording(
        Tells.TOOK, (FETCHER,),
        r"Follower received high watermark (?P<leader_hw>-?\d+) from the leader (?:and updated replica high watermark to "
        r"(?P<hw>\d+)|but did not update replica high watermark) for partition TP", BOTH,
    ),
    Wording(
        Tells.TOOK, (FETCHER,), r"Follower set replica high watermark for partition TP to (?P<hw>\d+)", ZOOKEEPER,
    ),
    Wording(
        Tells.TRUNCATING, (FETCHER,), r"Truncating partition TP to local high watermark (?P<to>\d+)", ZOOKEEPER,
    ),
    Wording(
        Tells.TRUNCATING, (FETCHER,),
        r"Truncating partition TP with TruncationState\(offset=(?P<to>\d+), completed=true\) due to ", BOTH,
    ),
    Wording(
        Tells.REMOVED, (FETCHERS,), r"Removed fetcher for partitions (?:\w+\()?(?:.*, )?TP[,)]",
        ("3.7.2", *BOTH),
    ),
    Wording(Tells.NOTHING, (FETCHER,), r"Partition TP marked as failed", ("3.4.1",)),
    Wording(Tells.NOTHING, (FETCHER,), r"Sending fetch request ", BOTH),
    Wording(Tells.NOTHING, (FETCHER,), r"Received UNKNOWN_\w+ from the leader for partition TP", ZOOKEEPER),
    Wording(Tells.NOTHING, (FETCHER,), r"Partition TP has an? (?:new|old)(?:er)? epoch \(\d+\) than the current leader\. ",
            ("3.3.2", "3.4.1")),
    Wording(Tells.NOTHING, (FETCHER,), r"Error in response for fetch request ", BOTH),
    Wording(Tells.NOTHING, (FETCHER,), r"Handling errors in processFetchRequest for partitions ", BOTH),
    Wording(Tells.NOTHING, (FETCHER,), r"Remote broker has a smaller leader epoch for partition TP ", BOTH),
    # -- the controller -------------------------------------------------------------------------------------------------
    Wording(Tells.CREATED, (CONTROLLER,), rf"Replayed PartitionRecord for new partition {_CREATED}", ("3.6.2", *BOTH)),
    Wording(Tells.CREATED, (CONTROLLER,), rf"Created partition {_CREATED}", ("3.4.1",)),
    Wording(Tells.ALTERED, (CONTROLLER,), r"Node (?P<leader>\d+) has altered ISR for TP(?:\. | to )", BOTH),
    Wording(Tells.CHANGED, (CONTROLLER,), _CHANGE, BOTH),
    Wording(Tells.CHANGED, (CONTROLLER,), rf"UNCLEAN {_CHANGE}", ("4.1.0",)),
    Wording(Tells.REPLAYED, (CONTROLLER,), _REPLAYED_39, ("3.6.2", "3.9.1")),
    Wording(Tells.REPLAYED, (CONTROLLER,), _REPLAYED, ("4.4.0",)),
    Wording(Tells.NOTHING, (CONTROLLER,), r"handleBrokerFenced: changing partition\(s\): ", BOTH),
    Wording(Tells.NOTHING, (CONTROLLER,), r"handleBrokerUncleanShutdown: changing partition\(s\): ", ("4.1.0",)),
    Wording(Tells.NOTHING, (CONTROLLER,), r"handleBrokerUnfenced: changing partition\(s\): ", ("4.1.0",)),
    Wording(Tells.NOTHING, (CONTROLLER,), r"enterControlledShutdown\[\d+\]: changing partition\(s\): ", ("3.6.2", "4.1.0")),
    # The request is one of a leader that has not heard of the next epoch yet, so it hears of that in place of an answer.
    Wording(
        Tells.NOTHING, (CONTROLLER,),
        r"Rejecting AlterPartition request from node \d+ for TP because the current leader epoch is ", ("3.9.1", "4.1.0"),
    ),
    Wording(
        Tells.FENCED, (CONTROLLER,),
        r"Fencing broker (?P<broker>\d+) (?:at epoch \d+ )?because its session has timed out", BOTH,
    ),
    Wording(
        Tells.UNFENCED, (HEARTBEATS,), r"The request from broker (?P<broker>\d+) to unfence has been granted because ", BOTH,
    ),
    # -- the controller with ZooKeeper ----------------------------------------------------------------------------------
    Wording(
        Tells.PLACED, (STATE_CHANGE,),
        r"Changed partition TP state from NonExistentPartition to NewPartition with assigned replicas (?P<replicas>[\d,]+)",
        ZOOKEEPER,
    ),
    Wording(
        Tells.CREATED, (STATE_CHANGE,),
        rf"Changed partition TP from NewPartition to OnlinePartition with state {_STATE}", ZOOKEEPER,
    ),
    Wording(
        Tells.CHANGED, (STATE_CHANGE,),
        rf"Changed partition TP from O\w+Partition to OnlinePartition with state {_STATE}", ZOOKEEPER,
    ),
    Wording(
        Tells.CHANGED, (STATE_CHANGE,),
        r"Partition TP state changed to \(Leader:(?P<leader>-?\d+),ISR:(?P<isr>[\d,]*),LeaderEpoch:(?P<epoch>\d+),"
        r"ZkVersion:(?P<version>\d+),.* after removing replica \d+ from the ISR ", ZOOKEEPER,
    ),
    # Printed for a reassignment and nothing else (`updateLeaderEpochAndSendRequest` of KafkaController): here another order
    # of the replicas is one, too, and takes a leader epoch, in which the same broker leads.
    Wording(Tells.REASSIGNED, (ZOOKEEPER_CONTROLLER,), r"Updated leader epoch for partition TP to \d+, ", ZOOKEEPER),
    Wording(
        Tells.ALTERED, (ZOOKEEPER_CONTROLLER,),
        r"ISR for partition TP updated to \[(?P<isr>[\d,]*)\] and zkVersion updated to \[(?P<version>\d+)\]", ZOOKEEPER,
    ),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Controller \d+ epoch \d+ failed to change state for partition TP ", ZOOKEEPER),
    Wording(Tells.NOTHING, (STATE_CHANGE,), r"Sent LeaderAndIsr request ", ZOOKEEPER),
    Wording(Tells.FENCED, (ZOOKEEPER_CONTROLLER,), r"Broker failure callback for (?P<broker>\d+)$", ZOOKEEPER),
    Wording(Tells.UNFENCED, (ZOOKEEPER_CONTROLLER,), r"New broker startup callback for (?P<broker>\d+)$", ZOOKEEPER),
)  # fmt: skip
"""From recorded runs, first of 3.9.1 and 4.4.0 (KRaft); those of ZooKeeper's time are of 2.8.2. Where a line is letter for
letter the same in several, one wording serves them all.

In 3.9.1 what a log prints while it is opened comes from another logger, `kafka.log.UnifiedLog$`, which is not read.
"""
