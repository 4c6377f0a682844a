"""The constants of `transactions`: sizes, what may go wrong, and the rules that Kafka's releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release
with every known fix. A constant belongs to the group at the end of its section.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Computed, Constant, choice, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

partitions = Constant("partitions", 1, 2, "partitions that every transaction writes one record to", 2)
producers = Constant("producers", 1, 2, "instances of the application with the one transactional.id", 2)
transactions = Constant("transactions", 1, 3, "transactions that the instances begin, all together", 2)
max_coordinator_epoch = Constant(
    "max_coordinator_epoch",
    0,
    14,
    "the last coordinator epoch; 0 stands for any number of moves: it is then kept who is ahead of the late marker",
    0,
)
max_producer_epoch = Constant(
    "max_producer_epoch",
    0,
    14,
    "with restarts, the last producer epoch under which an instance dies; 0: any number, and epochs are kept by rank",
    0,
)
last_epoch = Constant(
    "last_epoch",
    0,
    14,
    "the last producer epoch that a client is given, 32766 in Kafka, after which there is a new producer id; 0: they do not "
    "end (only with transaction_version 2, without restarts)",
    0,
)

SIZES = constants_in(globals())

# -- what may go wrong ------------------------------------------------------------------------------------------------

coordinator_moves = switch("coordinator_moves", "another broker may become the transaction coordinator", default=True)
coordinator_fails = switch(
    "coordinator_fails",
    "the coordinator may move while some replicas in sync lack the last transition that it wrote: the next one has it, or "
    "not (only with coordinator_moves, without restarts)",
    default=False,
)
aborts = switch("aborts", "the application may abort a transaction", default=True)
timeouts = switch(
    "timeouts", "transaction.timeout.ms may pass: the coordinator aborts a transaction that is not ended in it", default=True
)
restarts = switch(
    "restarts",
    "an instance may die and start again, any number of times; producer epochs are then kept by rank",
    default=False,
)
late_init = switch("late_init", "one InitProducerId request, of all that are sent, may be late", default=True)
late_add = switch("late_add", "one AddPartitionsToTxn request at a time may be late", default=True)
late_produce = switch("late_produce", "one Produce request at a time may be late", default=True)
late_end = switch("late_end", "one EndTxn request at a time may be late", default=True)
late_marker = switch("late_marker", "one WriteTxnMarkers request at a time may be late", default=True)

CIRCUMSTANCES = constants_in(globals(), SIZES)

# -- the application --------------------------------------------------------------------------------------------------

offsets = switch(
    "offsets",
    "every transaction reads one input record, and its offset goes into the transaction (sendOffsetsToTransaction): the last "
    "partition is that of __consumer_offsets, and its records are the offsets (KIP-98)",
    default=False,
)
init_first = switch(
    "init_first",
    "an instance asks for the committed offset once it is initialised, not before (only with offsets)",
    default=True,
)
adds_first = switch(
    "adds_first",
    "a client adds a partition to its transaction before it sends a record there; a client with a bug may not (only with "
    "transaction_version 1)",
    default=True,
)

APPLICATION = constants_in(globals(), SIZES, CIRCUMSTANCES)

# -- rules that releases changed --------------------------------------------------------------------------------------

TV1, TV2 = 1, 2
transaction_version = Constant(
    "transaction_version",
    TV1,
    TV2,
    "1: AddPartitionsToTxn by the client, one producer epoch for many transactions (KIP-98); 2: the partition's leader adds "
    "it, and the end of every transaction takes a new producer epoch (4.0 with clients of 4.0, KIP-890 part 2)",
    TV2,
)
timeout_bumps_epoch = switch(
    "timeout_bumps_epoch",
    "a transaction that times out is aborted under a new producer epoch (0.11.0.2, KAFKA-6119)",
    default=True,
)
marker_time_kept = switch(
    "marker_time_kept",
    "a marker counts as news of its producer, so that a partition's leader does not forget the producer, its epoch and its "
    "sequence numbers, while requests may still be on their way (2.4.1, KAFKA-9144)",
    default=True,
)
unknown_producers_accepted = switch(
    "unknown_producers_accepted",
    "a leader that knows nothing of a producer takes any sequence number, not only 0 (2.5, KIP-360)",
    default=True,
)
NEVER, KNOWN, ALWAYS = "never", "known", "always"
client_bumps_epoch = choice(
    "client_bumps_epoch",
    (NEVER, KNOWN, ALWAYS),
    "whether a client that aborts while a record has no answer asks for a new producer epoch first: if it has given up the "
    "record before the application aborts (known; clients of 2.5 and later, KIP-360), or even if it does so afterwards "
    "(always; no release, but transaction_version 2, where this is without effect, ends every transaction so)",
    default=KNOWN,
)
verification = switch(
    "verification",
    "a leader that is to open a transaction in its partition asks the coordinator whether there is one (3.6, KIP-890 part 1; "
    "transaction_version 2 always asks)",
    default=True,
)
offsets_verified = switch(
    "offsets_verified",
    "with verification the group's coordinator asks, too, before it opens a transaction in the partition of offsets (3.7, "
    "KAFKA-15449; only with offsets)",
    default=True,
)
guard_unique = switch(
    "guard_unique",
    "the coordinator's answer counts for the one request for which it was asked, and not after a marker (3.6, KAFKA-14884; "
    "only with verification and transaction_version 1)",
    default=True,
)
completion_noticed = switch(
    "completion_noticed",
    "a coordinator that hears of the last marker completes the transaction, whatever it does meanwhile (2.6, KAFKA-9777)",
    default=True,
)
pending_by_epoch = switch(
    "pending_by_epoch",
    "a marker that a partition refuses takes the markers of its own transaction from the coordinator's list, and not those "
    "of a later one (3.8, KAFKA-16352)",
    default=True,
)
fence_takes_one_epoch = switch(
    "fence_takes_one_epoch",
    "with transaction_version 2 an open transaction that is aborted because another instance starts, or because it takes too "
    "long, is aborted under the next producer epoch, and not under the one after that (4.0.1, KAFKA-19367)",
    default=True,
)
marker_epoch_above = switch(
    "marker_epoch_above",
    "with transaction_version 2 a marker must have a higher producer epoch than the records that it ends (4.2, KAFKA-19446)",
    default=True,
)
marker_retry_taken = switch(
    "marker_retry_taken",
    "with marker_epoch_above: a marker with the same epoch is taken where no transaction is open, since it is a marker sent "
    "again (4.2, KAFKA-19999)",
    default=True,
)
fence_rotates = switch(
    "fence_rotates",
    "an open transaction that is aborted under the epoch after the last one ends with a new producer id, as one that its "
    "client ends does (4.3, KAFKA-20090; only with last_epoch)",
    default=True,
)
acts_on_committed = switch(
    "acts_on_committed",
    "a coordinator sends no marker and confirms no partition because of what it has loaded, before that is committed (in no "
    "release so far; only with coordinator_fails)",
    default=True,
)

RULES = constants_in(globals(), SIZES, CIRCUMSTANCES, APPLICATION)
CONSTANTS = (*SIZES, *CIRCUMSTANCES, *APPLICATION, *RULES)

# -- what follows from them -------------------------------------------------------------------------------------------


def _is_v1(constants: Mapping[str, int]) -> bool:
    return constants["transaction_version"] == TV1


adds_partitions = fact(_is_v1)
"""Whether the client adds partitions to its transaction."""

numbers_records = fact(_is_v1)
"""Whether sequence numbers go on from one transaction to the next; a new producer epoch for each begins with 0 again."""

adds_late = fact(lambda has: _is_v1(has) and has["late_add"])
"""Whether there may be a late AddPartitionsToTxn."""

bumps = fact(lambda has: _is_v1(has) and has[client_bumps_epoch.name] and has["aborts"])
"""Whether clients ask for another producer epoch, naming the one they have."""

keeps_epoch = fact(
    lambda has: bumps.make(has) and has["late_produce"] and has[client_bumps_epoch.name] == client_bumps_epoch.read(KNOWN)
)
"""Whether clients that may ask for another producer epoch do not if they give a record up after the application aborts."""

bumps_late = fact(lambda has: bumps.make(has) and has["late_init"])
"""Whether a late InitProducerId may name a producer epoch."""

verifies = fact(lambda has: not _is_v1(has) or has["verification"])
"""Whether a leader asks the coordinator before it opens a transaction."""

verifies_offsets = fact(lambda has: not _is_v1(has) or (has["verification"] and has["offsets_verified"]))
"""Whether the group's coordinator asks as well."""

shares_guard = fact(lambda has: _is_v1(has) and has["verification"] and has["late_produce"] and not has["guard_unique"])
"""Whether an answer of the coordinator may count for another request than the one for which it was asked."""

forgets_moves = fact(lambda has: has["coordinator_moves"] and not has["max_coordinator_epoch"])
"""Whether of coordinator epochs only what can matter is kept."""

highest_coordinator_epoch = Computed(
    lambda constants: (constants["max_coordinator_epoch"] or 1) if constants["coordinator_moves"] else 0
)
"""The greatest coordinator epoch; 1 stands for all that are ahead of the late marker."""


def _fails(constants: Mapping[str, int]) -> bool:
    if not constants["coordinator_fails"]:
        return False
    if constants["restarts"] or not constants["coordinator_moves"]:
        raise ModelError(
            "a coordinator whose last transition may be lost moves, and producer epochs are counted then; set "
            "coordinator_moves and leave restarts off"
        )
    return True


fails = fact(_fails)
"""Whether a coordinator may have loaded what another replica in sync does not have."""

waits = fact(lambda has: _fails(has) and has["acts_on_committed"])
"""Whether it then does nothing because of that."""

repeats_offsets = fact(lambda has: has["offsets"] and has["late_produce"])
"""Whether an offset may be appended twice: TxnOffsetCommit has no sequence number."""

log_size = Computed(
    lambda constants: (
        2 * constants["transactions"] + int(not constants["marker_time_kept"]) + repeats_offsets.make(constants)
    )
)
"""Offsets of a partition: a record and a marker for every transaction, and a record that is appended twice, if one may be."""


def _exhausts(constants: Mapping[str, int]) -> bool:
    if not constants[last_epoch.name]:
        return False
    if _is_v1(constants) or constants["restarts"] or not constants["fence_takes_one_epoch"]:
        raise ModelError(
            "what comes after the last epoch is modelled of transaction_version 2 with fence_takes_one_epoch, and without "
            "restarts; leave last_epoch at 0"
        )
    return True


exhausts = fact(_exhausts)
"""Whether producer epochs end."""

may_not_rotate = fact(lambda has: _exhausts(has) and not has["fence_rotates"])
"""Whether a transaction may end under the epoch after the last one without a new producer id."""

HIGHEST_EPOCH_RANK = 14
"""More than the producer epochs that are in use at once, with the one after each that an EndTxn may be compared with."""

ranks_epochs = fact(lambda has: has["restarts"] and not has["max_producer_epoch"])
"""Whether of producer epochs only their order is kept."""


def _highest_epoch(constants: Mapping[str, int]) -> int:
    if ranks_epochs.make(constants):
        return HIGHEST_EPOCH_RANK
    restarted = constants["max_producer_epoch"] + 1 if constants["restarts"] else 0
    each = 1 + fence_takes.make(constants) + _exhausts(constants)
    return restarted + each * (constants["producers"] + constants["transactions"])


fence_takes = Computed(lambda constants: 1 if _is_v1(constants) or constants["fence_takes_one_epoch"] else 2)
"""How many producer epochs a fence takes."""

highest_epoch = Computed(_highest_epoch)
"""More producer epochs than can be taken, or ranks of them.

A client is given one when it starts and one after each of its transactions, at most; each of these is fenced once at most;
one more goes to a late InitProducerId; and where epochs end, each may pass over the one that no client is given.
"""
