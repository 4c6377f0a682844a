"""The constants of `compaction`: sizes, what clients do, what may go wrong, and the rules that releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release;
`marks_mapped_only`, which no release has, is on.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, choice, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

records = Constant("records", 1, 7, "offsets of the log, each of a batch of one record or of a transaction's marker", 4)
keys = Constant("keys", 1, 2, "keys of records", 1)
segment = Constant("segment", 1, 4, "batches that a segment holds (segment.bytes); smaller ones are merged up to it", 2)
ticks = Constant("ticks", 0, 3, "how often time passes", 1)
retention = Constant("retention", 1, 2, "how often it passes in delete.retention.ms", 1)

SIZES = constants_in(globals())

# -- what clients do --------------------------------------------------------------------------------------------------

producers = Constant("producers", 0, 2, "transactional producers, beside one without transactions", 1)
tombstones = switch("tombstones", "a record may have no value, and so delete its key", default=True)
reader = switch("reader", "a consumer reads the log once, from its start to the last stable offset", default=False)
deletes = switch("deletes", "records below some offset may be deleted (DeleteRecords)", default=False)

CLIENTS = constants_in(globals(), SIZES)

# -- circumstances ----------------------------------------------------------------------------------------------------

lags = switch(
    "lags", "replicas in sync may have less than the leader, whose end another leader then replaces", default=False
)
expires = switch("expires", "segments are too old or too many after a while (cleanup.policy=compact,delete)", default=False)
map_keys = Constant("map_keys", 0, 2, "keys that a pass can remember (log.cleaner.dedupe.buffer.size); 0: any number", 0)
integer_keys = switch("integer_keys", "keys are integers of four bytes, 0 and 1, as those of markers are", default=False)
follower = switch("follower", "a replica that is not in sync copies the log", default=False)

CIRCUMSTANCES = constants_in(globals(), SIZES, CLIENTS)

# -- rules that releases changed --------------------------------------------------------------------------------------

carries_transactions = switch(
    "carries_transactions", "a pass knows of a transaction in a segment what it saw in those before (2.2.2, 2.3, KAFKA-8351)",
    default=True,
)
stops_at_hw = switch(
    "stops_at_hw", "where no transaction is open a pass ends at the high watermark, too (3.1, KAFKA-13194)", default=True
)
indexes_whole_segments = switch(
    "indexes_whole_segments",
    "a segment that is cleaned in part keeps the aborted transactions of its other part (2.8.2, 3.0.2, 3.1.1, KAFKA-13727)",
    default=True,
)
spares_markers = switch(
    "spares_markers", "a marker is not removed for a record with the same key (3.0.2, 3.1.2, 3.2.1, KAFKA-14055)",
    default=True,
)
delete_horizons = switch(
    "delete_horizons",
    "a tombstone, or a marker without records, is kept for delete.retention.ms from the pass that found it so, not until its "
    "segment is that much older than the last clean one (3.1, KIP-534)",
    default=True,
)
marks_mapped_only = switch(
    "marks_mapped_only",
    "delete.retention.ms of a tombstone begins with a pass that removes what it deletes, not with one whose map was full "
    "before it (in no release so far)",
    default=True,
)
last_batch = choice(
    "last_batch", ("removed", "of a pass", "at the high watermark"),
    "which last batch is kept, without its record, so that the end is not lost (3.9.2, 4.0, KAFKA-17076; 4.4, KAFKA-20452)",
    default="at the high watermark",
)
one_reading = switch(
    "one_reading",
    "a follower is told the log start offset of when its records were read (1.0.2, 1.1.1, 2.0, KAFKA-7104)",
    default=True,
)

RULES = constants_in(globals(), SIZES, CLIENTS, CIRCUMSTANCES)
CONSTANTS = (*SIZES, *CLIENTS, *CIRCUMSTANCES, *RULES)

# -- what follows from them -------------------------------------------------------------------------------------------


def _follows(constants: Mapping[str, int]) -> int:
    if constants["follower"] and constants["lags"]:
        raise ModelError("what a follower does with another leader is the question of partition; leave out lags or follower")
    return constants["follower"]


transactions = fact(lambda has: has["producers"])
"""Whether there are transactions."""

follows = fact(_follows)
"""Whether there is a follower."""

starts_later = fact(lambda has: has["deletes"] or has["expires"])
"""Whether the log may start above offset 0."""

tells_times = fact(lambda has: not has["delete_horizons"])
"""Whether it matters when a batch was written."""
