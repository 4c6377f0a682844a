"""The constants of `coordinator`: sizes, what clients do, what may go wrong, and the rules that releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release;
`own_load_only` and `appends_in_own_epoch`, which no release has, are on.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

brokers = Constant("brokers", 1, 3, "replicas of the partition of __consumer_offsets", 2)
records = Constant("records", 1, 6, "offsets of that partition", 3)
commits = Constant("commits", 1, 4, "offset commits, each of a later offset than those before, all together", 2)
max_epoch = Constant("max_epoch", 1, 4, "the last leader epoch; the first leader is elected in epoch 1", 2)

SIZES = constants_in(globals())

# -- what clients do --------------------------------------------------------------------------------------------------

transactions = switch("transactions", "a producer commits offsets in transactions, one after another", default=False)
rebalances = Constant("rebalances", 0, 2, "how many new generations the group gets, each fencing members of older ones", 0)
expiry = switch(
    "expiry",
    "the group may be left by its members and joined again, and offsets.retention.minutes may pass",
    default=False,
)
asks = switch(
    "asks",
    "a consumer asks for the group's offset, and waits until it is stable (OffsetFetch with requireStable)",
    default=False,
)
batches = switch(
    "batches",
    "the coordinator holds records back to write them together (group.coordinator.append.linger.ms)",
    default=False,
)

CLIENTS = constants_in(globals(), SIZES)

# -- what may go wrong ------------------------------------------------------------------------------------------------

min_isr = Constant("min_isr", 1, 3, "min.insync.replicas of the partition; more than brokers: all of them", 1)
shrinks = switch("shrinks", "a replica may leave the in-sync replicas, and come back", default=False)
unclean = switch("unclean", "a replica that is not in sync may be elected (unclean.leader.election.enable)", default=False)
lost_disks = Constant("lost_disks", 0, 2, "how many disks are lost with the log and replaced by empty ones", 0)

CIRCUMSTANCES = constants_in(globals(), SIZES, CLIENTS)

# -- rules that releases changed --------------------------------------------------------------------------------------

listens_as_leader = switch(
    "listens_as_leader",
    "a coordinator answers for the high watermark of the leader it was loaded on alone, and no more once that has become a "
    "follower (4.2.2, 4.3.1, KAFKA-20634)",
    default=True,
)
own_load_only = switch(
    "own_load_only",
    "a coordinator becomes active with the end of its own load, not with that of one that was begun for a former leadership "
    "(to 3.9, where loads and unloads are one after the other; in no 4.x so far)",
    default=True,
)
duties_in_order = switch(
    "duties_in_order", "loads and unloads are done in the order of leader epochs (2.8.1, 3.0, KAFKA-10614)", default=True
)
queues_requests = switch(
    "queues_requests",
    "a request waits for the loads and unloads that came before it: there is one queue for all of them (4.0)",
    default=True,
)
loads_whole_log = switch(
    "loads_whole_log",
    "what was loaded is put in place once the log is read, not after each buffer, when a group that is there already is kept "
    "(0.11.0.1, KAFKA-5600)",
    default=True,
)
keeps_default_timestamps = switch(
    "keeps_default_timestamps",
    "an offset that was written without a time of expiry has none once it is loaded (2.2, KAFKA-8069)",
    default=True,
)
spares_rebalancing = switch(
    "spares_rebalancing", "no offset of a group that rebalances expires (2.8.2, 3.0.1, 3.1.1, 3.2, KAFKA-13636)", default=True
)
applies_markers_first = switch(
    "applies_markers_first",
    "a transaction's marker is answered once it is applied to the offsets in memory (3.9.1, KAFKA-17507)",
    default=True,
)

strict_min_isr = switch(
    "strict_min_isr",
    "the high watermark waits while fewer are in sync than min.insync.replicas; before, it goes on, and what waits for it is "
    "refused (3.7, KAFKA-15583)",
    default=True,
)

appends_in_own_epoch = switch(
    "appends_in_own_epoch",
    "a batch is appended only while the coordinator is told of all epochs that its broker knows, and refused after another "
    "election (to 3.9, where nothing is held back; in no 4.x so far)",
    default=True,
)

RULES = constants_in(globals(), SIZES, CLIENTS, CIRCUMSTANCES)
CONSTANTS = (*SIZES, *CLIENTS, *CIRCUMSTANCES, *RULES)

# -- what follows from them -------------------------------------------------------------------------------------------


def _delays_markers(constants: Mapping[str, int]) -> int:
    return constants["transactions"] and not constants["applies_markers_first"]


def _holds_back(constants: Mapping[str, int]) -> int:
    if constants["batches"] and not constants["own_load_only"]:
        raise ModelError("what becomes of a batch where a foreign load ends is not modelled; set own_load_only")
    return constants["batches"]


def _some_disks(constants: Mapping[str, int]) -> int:
    if constants["lost_disks"] and constants["max_epoch"] < 2:
        raise ModelError("a broker whose disk was lost leads in a later epoch; set max_epoch to 2 at least")
    return constants["lost_disks"]


refuses_few = fact(
    lambda has: not has["strict_min_isr"] and min(has[min_isr.name], has[brokers.name]) > 1
)
"""Whether something below the high watermark may be answered with NOT_ENOUGH_REPLICAS_AFTER_APPEND."""

some_rebalances = fact(lambda has: has["rebalances"])
"""Whether the group gets new generations."""

some_disks = fact(_some_disks)
"""Whether a disk may be lost."""

delays_markers = fact(_delays_markers)
"""Whether a marker is answered before it is applied."""

holds_back = fact(_holds_back)
"""Whether records are replayed before they are written."""

tells_loaded = fact(lambda has: has["expiry"] and not has["keeps_default_timestamps"])
"""Whether it matters which offsets were loaded rather than committed here."""

skips = fact(lambda has: not has["loads_whole_log"])
"""Whether a load may leave out what stands in a later buffer."""
