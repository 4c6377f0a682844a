"""The constants of `partition` about several controllers: how many there may be, and what releases let an old one do.

With ZooKeeper any broker may become the controller, and one that has lost its session goes on as the controller until it
notices. `controllers = "one"`, the default, leaves all of that out: no field, no clause, no action. Rules name the release
that brought them; the actions are in `racing.py` and `hearing.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.context import Computed, Constant, choice, constants_in, fact, switch
from acked.model.ranks import highest_rank

ONE, MANY = range(2)
candidates = Constant(
    "candidates", 1, 3, "brokers that may be the controller and hold no copy (only with controllers = \"many\")", 2
)
max_controller_epoch = Constant(
    "max_controller_epoch", 0, 14,
    "the last controller epoch; 0 stands for any number: they are then kept by rank (only with controllers = \"many\")", 0,
)  # fmt: skip
requests_queued = Constant(
    "requests_queued", 1, 2,
    "LeaderAndIsr requests of one controller that may be on their way to one broker: its newest, or also the oldest that has "
    "not arrived (only with controllers = \"many\")", 1,
)  # fmt: skip
SIZES = constants_in(globals())

controllers = choice(
    "controllers",
    ("one", "many"),
    "whether there is one controller, which never fails, or several brokers race for /controller in ZooKeeper and may take "
    "themselves for the controller at once (see `candidates`)",
    "one",
)
late_requests = switch(
    "late_requests",
    "a StopReplica request may still be on its way when its broker is back from a shutdown (only with controllers = "
    "\"many\")",
    default=False,
)
CIRCUMSTANCES = constants_in(globals(), SIZES)

elected_at_once = switch(
    "elected_at_once",
    "who creates /controller has the next controller epoch in the same write (2.1, KAFKA-6082)",
    default=True,
)
old_controllers_refused = switch(
    "old_controllers_refused",
    "ZooKeeper refuses every write of a controller once there is a newer controller epoch (2.1, KAFKA-6082); if off, only "
    "where the newer controller has written this partition",
    default=True,
)
requests_name_incarnation = switch(
    "requests_name_incarnation",
    "a broker refuses a controller's request that was meant for its former incarnation (2.2, KIP-380)",
    default=True,
)
behind_controller_resent = switch(
    "behind_controller_resent",
    "a leader whose AlterPartition request came to a controller that is behind asks again, rather than take itself for "
    "deposed and wait (all releases: KAFKA-14154 came and went between 3.2 and 3.3)",
    default=True,
)

RULES = constants_in(globals(), SIZES, CIRCUMSTANCES)


def are_many(constants: Mapping[str, int]) -> bool:
    """Whether there may be several controllers."""
    return constants[controllers.name] == MANY


def known_epochs(constants: Mapping[str, int]) -> int:
    """Leader epochs that may be in use because controllers remember them."""
    if not are_many(constants):
        return 0
    return constants["candidates"] * (1 + constants["replicas"] * queues.make(constants))


def _highest_controller_epoch(constants: Mapping[str, int]) -> int:
    if not are_many(constants):
        return 0
    if constants["max_controller_epoch"]:
        return constants["max_controller_epoch"]
    # Every candidate and every broker may know another; ZooKeeper has the newest, and that of the last write.
    in_use = constants["candidates"] + constants["replicas"] + 2
    return highest_rank(in_use, "controller epochs", max_controller_epoch.name)


many_controllers = fact(are_many)
"""Whether there may be several controllers."""

candidate_count = Computed(lambda constants: constants["candidates"] if are_many(constants) else 1)
"""How many brokers may be the controller."""

fails_over = fact(lambda has: are_many(has) and has["candidates"] > 1)
"""Whether a controller may lose its session: another is there to take its place."""

highest_controller_epoch = Computed(_highest_controller_epoch)
"""The greatest controller epoch, or rank of one."""

elected_in_two_steps = fact(lambda has: are_many(has) and not has["elected_at_once"])
"""Whether a broker may have created /controller and not have a controller epoch yet."""

remembers_writer = fact(lambda has: are_many(has) and not has["old_controllers_refused"])
"""Whether it matters which controller has written the partition last."""

stops_late = fact(lambda has: are_many(has) and has["late_requests"] and not has["requests_name_incarnation"])
"""Whether a StopReplica request may come to another incarnation of its broker than it was meant for."""

queues = fact(lambda has: are_many(has) and has["requests_queued"] > 1)
"""Whether a request may be on its way behind an older one of the same controller."""

restarts_between = fact(lambda has: fails_over.make(has) and has["crashes"] > 0)
"""Whether a broker may go down and come back while nobody is in charge, so that the next controller tells it what it knew."""

misses_incarnations = fact(lambda has: restarts_between.make(has) and has["requests_name_incarnation"])
"""Whether an old controller may name an incarnation of a broker that is over."""

asked_in_vain = fact(lambda has: are_many(has) and has["asynchronous_isr"])
"""Whether a leader's request may come to a controller that is behind; a leader that asks again never waits in vain."""
