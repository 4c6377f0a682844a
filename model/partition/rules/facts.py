"""What follows from the constants of `partition`: computed numbers that rules and the state ask for."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.context import Computed, fact
from acked.model.partition.rules import controllers, settings
from acked.model.ranks import highest_rank


def most_epochs(constants: Mapping[str, int]) -> int:
    """Leader epochs that can be in use at once: every broker, every record and the controller in one of its own.

    Where the epoch cache is kept beside the log, every broker may know another; so may a client that remembers one, and every
    controller. Answers that are late bring records of their own, and a fetcher may go on in an epoch of its own.
    """
    of_broker = constants["log_size"] + 1 + keeps_empty_epochs.make(constants) + hears_first.make(constants)
    others = 1 + asks_in_epoch.make(constants) + controllers.known_epochs(constants)
    return constants["replicas"] * (of_broker + constants["log_size"] * constants["late_answers"]) + others


def _highest_epoch(constants: Mapping[str, int]) -> int:
    if constants["max_leader_epoch"]:
        return constants["max_leader_epoch"]
    # Ranks are below the number in use, and a step adds at most one.
    return highest_rank(most_epochs(constants), "leader epochs", settings.max_leader_epoch.name)


highest_epoch = Computed(_highest_epoch)
"""The greatest leader epoch, or rank of one."""

enough_replicas = Computed(
    lambda constants: (
        min(constants["min_insync_replicas"], constants["replicas"])
        if constants["strict_min_isr"]
        else constants["min_insync_replicas"]
    )
)
"""How large an ISR must be: min.insync.replicas, from 3.7 no more than there are replicas."""

waits = fact(lambda has: has["acks"] == settings.ACKS_ALL)
"""Whether a producer waits for the high watermark."""

truncates_by_request = fact(lambda has: has["truncation"] in (settings.BY_LEADER_EPOCH, settings.BY_FLOOR_EPOCH))
"""Whether truncation is a request of its own, between becoming a follower and the first fetch."""

asks_in_epoch = fact(
    lambda has: has["offset_queries"] and has["client_epoch"] and (has["zombies"] or has["leadership_moves"])
)
"""Whether it matters which leader epoch a client has seen: where nobody leads who is deposed, it asks in no other."""

sessions_end = fact(lambda has: has["fetch_fencing"] == settings.BY_NEW_SESSION)
"""Whether it matters that a follower's fetch session has ended."""

answers_get_lost = fact(lambda has: has["asynchronous_isr"] and not has["alter_partition_settled"])
"""Whether a leader never learns what became of an AlterPartition request if the answer is lost."""

waits_in_vain = fact(lambda has: answers_get_lost.make(has) or controllers.asked_in_vain.make(has))
"""Whether a leader may wait for ever for the answer to an AlterPartition request."""

keeps_empty_epochs = fact(
    lambda has: has["epoch_cache"]
    and not has["epoch_cache_truncated"]
    and has["epoch_known_at_election"]
    and has["truncation"] == settings.BY_FLOOR_EPOCH
)
"""Whether a broker's epoch cache may end with an epoch in which it wrote nothing, and that matters."""

halts = fact(
    lambda has: has["longer_follower_halts"]
    and not has["unclean_election"]
    and has["truncation"] != settings.BY_DIVERGING_FETCH
    and has["crashes"] != settings.NO_CRASHES
)
"""Whether brokers halt; where they never are down, nobody does."""

restarts_unnoticed = fact(
    lambda has: has["unnoticed_restarts"]
    and not has["reregistration_noticed"]
    and has["crashes"] != settings.NO_CRASHES
    and (has["kills"] or (has["asynchronous_isr"] and has["crashes"] >= settings.LOSSY_OUTSIDE_ISR))
)
"""Whether a broker that went down may be back in the ISR that it never left; a machine that died, with KRaft alone."""

empties = fact(lambda has: has["empty_disks"] > 0 and has["crashes"] != settings.NO_CRASHES)
"""Whether disks are replaced; where brokers never are down, none is."""

empties_unnoticed = fact(lambda has: empties.make(has) and has["unnoticed_restarts"] and not has["reregistration_noticed"])
"""Whether a broker may be back with an empty disk in the ISR that it never left."""

reports_directory = fact(
    lambda has: empties.make(has) and has["eligible_leader_replicas"] and not has["assignment_keeps_elr"]
)
"""Whether it matters that a new disk is a new directory, of which its broker tells the controller."""

leads_again = fact(
    lambda has: restarts_unnoticed.make(has) or empties_unnoticed.make(has) or controllers.restarts_between.make(has)
)
"""Whether a leader may take office twice in one epoch."""

begins_again = fact(lambda has: leads_again.make(has) and has["expand_in_own_epoch"])
"""Whether it also matters where it began."""

reads_late = fact(lambda has: has["late_answers"] and has["late_reads"])
"""Whether an answer may bring what its leader's log did not hold yet when it was given."""

hears_first = fact(lambda has: has["late_answers"] and not has["fetcher_stops_first"])
"""Whether a follower may hear of the next leader while its fetcher goes on with the former one."""

takes_hw_first = fact(lambda has: has["truncation"] == settings.BY_DIVERGING_FETCH and not has["truncation_before_hw"])
"""Whether a follower takes the high watermark of an answer that tells it to truncate, and then truncates."""

forgets_fetched_epoch = fact(
    lambda has: has["truncation"] == settings.BY_DIVERGING_FETCH
    and not has["fetched_epoch_kept"]
    and (
        (has["late_answers"] and not has["answer_names_epoch"])
        or (leads_again.make(has) and (has["crashes"] >= settings.LOSSY_OUTSIDE_ISR or empties.make(has)))
    )
)
"""Whether a follower may fetch without the epoch of its last record, and it matters: where no answer is late and nobody leads
again in its epoch with a shorter log, logs that agree once agree as long as the epoch lasts."""

truncates_late = fact(lambda has: has["late_answers"] and has["truncation"] == settings.BY_DIVERGING_FETCH)
"""Whether an answer that tells a follower to truncate may be late."""

loses = fact(lambda has: has["crashes"] >= settings.LOSSY_OUTSIDE_ISR and has["lossy_crashes"] > 0)
"""Whether lossy crashes are counted."""

counts_moves = fact(lambda has: has["reassignment"] and has["moves"])
"""Whether reassignments are counted."""

moves_again = fact(lambda has: has["reassignment"] and has["moves"] != 1)
"""Whether a replica may be added again that has not heard of its removal."""

dies_uncleanly = fact(lambda has: has["crashes"] != settings.NO_CRASHES and has["eligible_leader_replicas"])
"""Whether it matters how a broker went down."""

numbers_anew = fact(lambda has: has["idempotence"] and has["producer_restarts"] > 0 and not has["unknown_producers_accepted"])
"""Whether it matters from which record on a producer id numbers."""
