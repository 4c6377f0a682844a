"""The constants of `partition`: sizes, what users configure, what may go wrong, and the rules that Kafka's releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release
with every known fix. A constant belongs to the group at the end of its section.
"""

from __future__ import annotations

from acked.model.language.context import Constant, choice, constants_in, switch
from acked.model.partition.rules import controllers

# -- sizes ------------------------------------------------------------------------------------------------------------

replicas = Constant("replicas", 1, 5, "brokers that hold a copy of the partition", 3)
log_size = Constant("log_size", 1, 4, "offsets a log has room for", 2)
records = Constant("records", 1, 4, "different records that the producer sends", 2)
max_leader_epoch = Constant(
    "max_leader_epoch", 0, 14, "the last leader epoch; 0 stands for any number of elections: epochs are then kept by rank", 0
)
assigned = Constant("assigned", 0, 5, "brokers that hold a copy at first; 0: all of them (only with reassignment)", 0)

SIZES = (*constants_in(globals()), *controllers.SIZES)

# -- what users configure ---------------------------------------------------------------------------------------------

ACKS_0, ACKS_1, ACKS_ALL = range(3)
acks = choice("acks", ("0", "1", "all"), "when the producer gets an ack for its record", "all")
retries = switch("retries", "the producer sends a record again when no answer came", default=False)
delivery_timeout = switch(
    "delivery_timeout",
    "delivery.timeout.ms may pass: the producer gives up a record that it has no answer for, and tells the application that "
    "it failed; if off, it does so only at an error and without retries",
    default=False,
)
idempotence = switch("idempotence", "enable.idempotence: the leader knows a record that it was sent before", default=False)
in_flight = Constant(
    "in_flight", 1, 6, "max.in.flight.requests.per.connection: records that may be on their way at once", 5
)
min_insync_replicas = Constant("min_insync_replicas", 1, 5, "min.insync.replicas", 1)
unclean_election = switch("unclean_election", "unclean.leader.election.enable", default=False)

CONFIGURED = constants_in(globals(), SIZES)

# -- who reads --------------------------------------------------------------------------------------------------------

NO_CONSUMER, FROM_LEADER, FROM_FOLLOWERS = range(3)
consumer = choice("consumer", ("none", "leader", "followers"), "whom a consumer reads from", "none")
offset_queries = switch("offset_queries", "a client asks leaders for the latest offset again and again", default=False)

# -- what may go wrong ------------------------------------------------------------------------------------------------

NO_CRASHES, CLEAN_CRASHES, LOSSY_OUTSIDE_ISR, LOSSY_CRASHES = range(4)
crashes = choice(
    "crashes",
    ("none", "clean", "lossy outside the ISR", "lossy"),
    "whether brokers die and come back: with their whole log (the process died), or with a suffix lost (the machine died "
    "before it was flushed), in or only outside the ISR",
    "clean",
)
lossy_crashes = Constant("lossy_crashes", 0, 3, "how many crashes lose a suffix, if crashes = \"lossy\"; 0: any number", 0)
kills = switch(
    "kills",
    "a broker's process may die while its machine lives: its log stays, but the shutdown is unclean; if off, only machines "
    "die, each such crash counts as lossy, and other brokers that stop are shut down in order",
    default=True,
)
empty_disks = Constant(
    "empty_disks", 0, 3,
    "how many brokers come back with an empty disk, because a volume or a node was replaced while they were down; 0: none", 0,
)  # fmt: skip
unnoticed_restarts = switch(
    "unnoticed_restarts",
    "a broker may go down and be back before the controller has taken it out of the ISR, in which it stays (only without "
    "reregistration_noticed)",
    default=False,
)
config_changes = switch(
    "config_changes",
    "min.insync.replicas may be set anew, by which the controller forgets eligible leader replicas and the last leader "
    "(4.0, KIP-966; here the value stays)",
    default=False,
)
directories_move = switch(
    "directories_move",
    "a replica may be assigned to another log directory of its broker (JBOD), which is news to the controller alone",
    default=False,
)
zombies = switch("zombies", "a live broker may lose its session with the controller and not know", default=False)
leadership_moves = switch(
    "leadership_moves", "the controller may move leadership while the leader lives: preferred election", default=False
)
reassignment = switch(
    "reassignment",
    "an operator may move the partition to other brokers, and cancel or replace a move that is under way (see `assigned`)",
    default=False,
)
moves = Constant(
    "moves", 0, 3, "how often another assignment may be asked for; 0: any number of times (only with reassignment)", 1
)
moved_to = Constant("moved_to", 0, 5, "replicas of the assignment asked for; 0: any number (only with reassignment)", 0)
moved_in = Constant("moved_in", 0, 5, "brokers that it adds, of which 0 is any number (only with reassignment)", 0)
late_answers = switch(
    "late_answers",
    "answers to fetches, one to each follower, may be on their way while leadership changes, with what the leader had before",
    default=False,
)
late_reads = switch(
    "late_reads",
    "what a late answer brings is read from the leader's log as it is sent, even after that was truncated and written anew "
    "(only with late_answers)",
    default=False,
)
epoch_cache = switch(
    "epoch_cache",
    "the epoch cache is kept beside the log, with epochs in which a leader wrote nothing (only with truncation = \"floor "
    "epoch\" and epoch_cache_truncated off, else it says nothing that the log does not)",
    default=False,
)
producer_restarts = Constant("producer_restarts", 0, 2, "how often the producer is restarted, with a new producer id", 0)

CIRCUMSTANCES = (*constants_in(globals(), SIZES, CONFIGURED), *controllers.CIRCUMSTANCES)

# -- rules that releases changed --------------------------------------------------------------------------------------

TO_HW, BY_LEADER_EPOCH, BY_FLOOR_EPOCH, BY_DIVERGING_FETCH = range(4)
truncation = choice(
    "truncation",
    ("high watermark", "leader epoch", "floor epoch", "diverging fetch"),
    "how a follower cuts off what its leader does not have: to its own high watermark (to 0.10.2), by asking for the end of "
    "its latest epoch (0.11, KIP-101), of the floor epoch that both know (2.0, KIP-279), or told so by a fetch (2.8)",
    "diverging fetch",
)
UNFENCED, BY_RECORD_EPOCH, BY_CURRENT_EPOCH, BY_NEW_SESSION = range(4)
fetch_fencing = choice(
    "fetch_fencing",
    ("none", "record epoch", "leader epoch", "new session"),
    "what a leader checks of a fetch: nothing, the epoch of the follower's last record (the first try of KIP-320, never "
    "shipped), the follower's leader epoch (KIP-320; 2.5), or that only of a fetch that opens a session, as the first one "
    "after an answer that was lost (2.1 to 2.4, KAFKA-9338)",
    "leader epoch",
)
truncation_fencing = switch(
    "truncation_fencing",
    "a leader refuses to tell the end of an epoch to a follower in another leader epoch than its own (2.1, KIP-320)",
    default=True,
)
truncate_under_same_leader = switch(
    "truncate_under_same_leader",
    "a follower also truncates if its leader is the one it had, in a newer epoch (2.0.1, KAFKA-7164)",
    default=True,
)
epoch_known_at_election = switch(
    "epoch_known_at_election",
    "a leader records its epoch when it is elected, not with its first append, and what is below the first epoch that a "
    "broker knows ends where that begins, not nowhere (2.0.1, KAFKA-7415)",
    default=True,
)
epoch_cache_truncated = switch(
    "epoch_cache_truncated",
    "truncation cuts the epoch cache even where it cuts nothing off the log (2.6.1, KAFKA-10706; only with epoch_cache)",
    default=True,
)
longer_follower_halts = switch(
    "longer_follower_halts",
    "a follower that learns that its log is longer than its leader's halts its broker rather than truncate, unless "
    "unclean_election is on (to 2.0.0, KAFKA-7414)",
    default=False,
)
expand_in_own_epoch = switch(
    "expand_in_own_epoch",
    "a follower joins the ISR only when it has reached the start of the leader's epoch too (2.0.1, KAFKA-7128)",
    default=True,
)
reelection_forgets_ends = switch(
    "reelection_forgets_ends",
    "a leader that is elected again, without having noticed that another led meanwhile, forgets how far its followers were "
    "(0.8; later none, see row 36 of the gallery)",
    default=True,
)
caught_up_stay = switch(
    "caught_up_stay", "a follower at the leader's log end is never taken out of the ISR (2.1, KAFKA-7152)", default=True
)
asynchronous_isr = switch(
    "asynchronous_isr",
    "ISR changes are requests to the controller (AlterPartition, 2.7, KIP-497) rather than one write of the leader",
    default=True,
)
hw_waits_for_caught_up = switch(
    "hw_waits_for_caught_up",
    "the high watermark may also wait for a follower outside the ISR that has lately caught up and may join "
    "(0.10.2, KAFKA-4485)",
    default=True,
)
maximal_isr = switch(
    "maximal_isr", "the high watermark waits for the pending ISR too while a change is in flight (KIP-497)", default=True
)
alter_partition_settled = switch(
    "alter_partition_settled",
    "a leader learns what became of its AlterPartition request even if the answer is lost (3.1, KAFKA-12686, KAFKA-14010)",
    default=True,
)
diverging_fetch_ignored = switch(
    "diverging_fetch_ignored",
    "a fetch that diverges says nothing about how far the follower has come (2.8.1, KAFKA-13141)",
    default=True,
)
answer_names_epoch = switch(
    "answer_names_epoch",
    "a follower drops an answer to a fetch of an earlier leader epoch (3.9.1, 4.0.1 and 4.1, KAFKA-18991)",
    default=True,
)
truncating_takes_none = switch(
    "truncating_takes_none",
    "a follower that has yet to ask where to truncate drops an answer to a fetch that it sent before (1.1, KAFKA-5163; only "
    "with late_answers)",
    default=True,
)
fetcher_stops_first = switch(
    "fetcher_stops_first",
    "the fetcher of the former leader is removed before a broker takes up the next leader epoch; else it goes on for a while "
    "(0.8.0; from 0.8.1 it is removed after that; only with late_answers)",
    default=False,
)
appends_up_to_epoch = switch(
    "appends_up_to_epoch",
    "a follower appends no record of a newer leader epoch than that of its fetch (KAFKA-18723; only with late_reads)",
    default=True,
)
fetched_epoch_kept = switch(
    "fetched_epoch_kept",
    "a follower names the epoch of its last record in every fetch, also after a first answer in a leader epoch that brought "
    "none (not from 3.5.1 to 3.6.2, KAFKA-15510)",
    default=True,
)
truncation_before_hw = switch(
    "truncation_before_hw",
    "a follower whose log diverges from its leader's truncates before it takes the high watermark that came with that news "
    "(3.4.1, KAFKA-14704)",
    default=True,
)
fenced_stay_out = switch(
    "fenced_stay_out", "a broker without a session (fenced) is not taken into the ISR (3.3, KIP-841)", default=True
)
isr_checks_broker_epoch = switch(
    "isr_checks_broker_epoch",
    "an ISR change that names a broker's former incarnation is refused (3.5 with KRaft, KIP-903)",
    default=True,
)
shrink_bumps_epoch = switch(
    "shrink_bumps_epoch", "the controller's removal of a broker from the ISR takes a new leader epoch (to 3.5)", default=False
)
alter_bumps_epoch = switch(
    "alter_bumps_epoch",
    "so does the removal of a follower that the leader asked for (3.3 to 3.5 with KRaft, KAFKA-15021)",
    default=False,
)
strict_min_isr = switch(
    "strict_min_isr", "the high watermark waits while the ISR is below min.insync.replicas (3.7, KAFKA-15583)", default=True
)
eligible_leader_replicas = switch(
    "eligible_leader_replicas",
    "the controller keeps eligible leader replicas beside the ISR (4.1, in 4.0 if asked for; KIP-966)",
    default=True,
)
assignment_keeps_elr = switch(
    "assignment_keeps_elr",
    "a replica's new log directory leaves the eligible leader replicas as they are (4.3; only with directories_move)",
    default=True,
)
reregistration_noticed = switch(
    "reregistration_noticed",
    "a broker that registers again is taken out of the ISR first (2.2 with ZooKeeper, KIP-380; 4.0 with KRaft, KAFKA-18106)",
    default=True,
)
ADDED_IN_SYNC, ALL_IN_SYNC, ALL_IN_SYNC_IF_FEWER = range(3)
move_completion = choice(
    "move_completion",
    ("added in sync", "all in sync", "all in sync if fewer"),
    "when a reassignment completes: once every added replica is in sync (KRaft to 3.7), once every replica of the target is "
    "(3.8, KAFKA-15665; with ZooKeeper always), or the latter only where more are removed than added (4.3, KAFKA-19975)",
    "all in sync if fewer",
)
moves_in_one_record = switch(
    "moves_in_one_record",
    "the controller starts, completes and cancels a reassignment in one record each, completes it within the change that "
    "brings the ISR, and takes no new leader epoch for its start (KRaft); with ZooKeeper all of that takes steps of its own",
    default=True,
)
larger_isr_shrinks = switch(
    "larger_isr_shrinks",
    "a leader whose ISR has members that are replicas no more can take brokers out of it, those among them (3.0, KAFKA-9672; "
    "only without moves_in_one_record)",
    default=True,
)
moves_replaceable = switch(
    "moves_replaceable",
    "a reassignment that is under way may be cancelled, or replaced by another (2.4, KIP-455)",
    default=True,
)
query_waits_for_epoch = switch(
    "query_waits_for_epoch",
    "a new leader does not tell the latest offset before its high watermark has reached its epoch (2.2, KIP-207)",
    default=True,
)
client_epoch = switch(
    "client_epoch", "a client that has seen a leader epoch takes no answer of an older one (2.1, KIP-320)", default=True
)
sequence_check = switch(
    "sequence_check", "with idempotence: a record whose predecessor is missing is refused (0.11)", default=True
)
unknown_producers_accepted = switch(
    "unknown_producers_accepted",
    "with idempotence: a leader that knows nothing of a producer takes any sequence number, not only 0 (2.5, KIP-360)",
    default=True,
)
first_sequence_checked = switch(
    "first_sequence_checked",
    "with idempotence: a leader whose log never held a record takes sequence number 0 alone of a producer that it knows "
    "nothing of (after 4.4, KAFKA-15591; only with unknown_producers_accepted)",
    default=True,
)
five_in_flight = switch(
    "five_in_flight", "with idempotence up to five requests may be in flight, rather than one (1.0, KAFKA-5494)", default=True
)
in_flight_refused = switch(
    "in_flight_refused",
    "more than five requests in flight are refused where idempotence is on by default, rather than switching it off (4.0, "
    "KAFKA-17927)",
    default=True,
)

RULES = (*constants_in(globals(), SIZES, CONFIGURED, CIRCUMSTANCES), *controllers.RULES)
CONSTANTS = (*SIZES, *CONFIGURED, *CIRCUMSTANCES, *RULES)
