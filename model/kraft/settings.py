"""The constants of `kraft`: sizes, how the quorum is made up, what may go wrong, and the rules that releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Computed, Constant, choice, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

servers = Constant("servers", 1, 5, "controllers, voters or not", 3)
records = Constant("records", 1, 3, "metadata records that are written, all together", 1)
max_epoch = Constant("max_epoch", 1, 6, "the last leader epoch; the first leader is elected in epoch 1 at the earliest", 2)
changes = Constant("changes", 0, 4, "changes of the voter set, all together (only with dynamic voters)", 0)

SIZES = constants_in(globals())

# -- how the quorum is made up ------------------------------------------------------------------------------------------

STATIC, DYNAMIC = range(2)
voters = choice(
    "voters",
    ("static", "dynamic"),
    "where voters are known from: controller.quorum.voters, by their ids (kraft.version 0), or records in the log, by id and "
    "directory id (kraft.version 1, KIP-853; 3.9 and later)",
    "static",
)
initial_voters = Constant("initial_voters", 0, 5, "how many of the servers are voters in the beginning; 0: all", 0)
upgrades = switch(
    "upgrades",
    "an operator may upgrade kraft.version from 0 to 1 with kafka-features, which is one of changes (4.1, KAFKA-16538; only "
    "with static voters)",
    default=False,
)
by_operator = switch(
    "by_operator", "an operator adds and removes voters; without, they do what auto_join says by themselves", default=True
)
least_voters = Constant(
    "least_voters", 1, 5, "an operator removes no voter where only so many are left (only with dynamic voters)", 1
)
auto_join = switch(
    "auto_join",
    "a controller that is no voter asks by itself to become one, and to have its old directory removed first "
    "(controller.quorum.auto.join.enable, 4.2, KAFKA-19078; only with dynamic voters)",
    default=False,
)
JOINING, STANDALONE = range(2)
formatted = choice(
    "formatted",
    ("joining", "standalone"),
    "how a controller with a new disk is formatted: to join (--no-initial-controllers), or as a quorum of its own with the "
    "id of the old cluster (--standalone; only with dynamic voters)",
    "joining",
)

QUORUM = constants_in(globals(), SIZES)

# -- what may go wrong ------------------------------------------------------------------------------------------------

restarts = switch("restarts", "a leader may die and come back; what it had written it has", default=True)
formats = Constant("formats", 0, 3, "how many disks are lost and replaced by empty ones that are formatted", 0)
unflushed = switch(
    "unflushed",
    "a leader's machine may fail before its last batch is on its disk, which followers may have fetched already",
    default=False,
)
quorum_state_lost = switch(
    "quorum_state_lost",
    "a controller's quorum-state file, with its epoch and its vote, may be lost; its log is not",
    default=False,
)
snapshots = switch(
    "snapshots",
    "controllers put what is committed into a snapshot and delete their log up to there; who lacks that fetches the snapshot "
    "(KIP-630)",
    default=False,
)
stands = switch(
    "stands",
    "a voter that hears no leader may stand without being elected; whoever hears of its epoch leads and follows no more",
    default=False,
)

CIRCUMSTANCES = constants_in(globals(), SIZES, QUORUM)

# -- rules that releases changed --------------------------------------------------------------------------------------

LEADING, UNATTACHED, RESIGNED = range(3)
restarted_leader = choice(
    "restarted_leader",
    ("leading", "unattached", "resigned"),
    "what a leader is after a restart: leader in the same epoch (before KAFKA-10527), without leader and vote in it (2.7.0), "
    "or resigned, so that it votes for nobody else in it (2.8, KAFKA-10661)",
    "resigned",
)
leader_change_committed = switch(
    "leader_change_committed",
    "the high watermark is known once the LeaderChange record of the epoch is on a majority, not what is before it alone "
    "(2.8, KAFKA-12619)",
    default=True,
)
check_quorum = switch(
    "check_quorum",
    "a leader from which no majority has fetched for too long resigns (3.7, KAFKA-15489; not a sole voter, KAFKA-16144)",
    default=True,
)
leader_may_be_outside = switch(
    "leader_may_be_outside",
    "a leader that is not in its voter set does not count as one of the majority that holds a record (3.8, KAFKA-16530)",
    default=True,
)
observers_flush = switch(
    "observers_flush",
    "a controller that is no voter has what it fetched on its disk before it fetches again, as it may be added (3.9, "
    "KAFKA-17332; only with unflushed)",
    default=True,
)
pre_vote = switch(
    "pre_vote",
    "a voter stands only if a majority of the voters would vote for it and hears no leader either (4.0, KIP-996; only with "
    "stands, and with static voters whose disks are lost)",
    default=True,
)

RULES = constants_in(globals(), SIZES, QUORUM, CIRCUMSTANCES)
CONSTANTS = (*SIZES, *QUORUM, *CIRCUMSTANCES, *RULES)

# -- what follows from them -------------------------------------------------------------------------------------------


def _is_dynamic(constants: Mapping[str, int]) -> bool:
    return constants["voters"] == DYNAMIC


def _may_be_dynamic(constants: Mapping[str, int]) -> bool:
    if constants["upgrades"] and (_is_dynamic(constants) or not constants["changes"]):
        raise ModelError('an upgrade makes static voters dynamic, by a change; set voters = "static" and changes = 1')
    return _is_dynamic(constants) or bool(constants["upgrades"])


def _changes(constants: Mapping[str, int]) -> int:
    if constants["changes"] and not _may_be_dynamic(constants):
        raise ModelError('static voters do not change; remove changes, or set voters = "dynamic", or upgrades')
    return constants["changes"]


def _initial_voters(constants: Mapping[str, int]) -> int:
    if constants["initial_voters"] and constants["initial_voters"] > constants["servers"]:
        raise ModelError("there are more initial_voters than servers; lower initial_voters, or 0 for all servers")
    return constants["initial_voters"]


log_size = Computed(lambda constants: constants["max_epoch"] + constants["records"] + _changes(constants))
"""Offsets of the log: a LeaderChange record for each epoch, and every record and voter set once."""

last_entry = Computed(lambda constants: constants["records"] + _changes(constants) - 1)
"""The greatest number of a metadata record or voter set, which share their numbers: the records come first."""

changing = fact(_changes)
"""Whether the voter set changes."""

last_change = Computed(lambda constants: max(_changes(constants) - 1, 0))
"""The number of the last voter set."""

keeps_directories = fact(lambda has: _may_be_dynamic(has) and has["formats"])
"""Whether a server with a new disk can be told from what it was before."""

redirects = fact(lambda has: keeps_directories.make(has) and _changes(has))
"""Whether voter sets in the log differ in directories."""

splits = fact(lambda has: _is_dynamic(has) and has["formats"] and has["formatted"] == STANDALONE)
"""Whether a server may be formatted as a quorum of its own."""

votes_again = fact(lambda has: not _is_dynamic(has) and has["formats"] and not has["pre_vote"])
"""Whether a voter may vote once more for a candidate that has lost its disk since: a vote by id names no directory.

With pre-vote that candidate is told of the epoch by whoever voted in it, and stands in a later one.
"""

lags_on_disk = fact(lambda has: has["unflushed"] and not has["observers_flush"])
"""Whether less of what a controller has fetched may be on its disk."""

epochs_repeat = fact(
    lambda has: (
        _may_be_dynamic(has)
        or has["initial_voters"]
        or has["formats"]
        or has["quorum_state_lost"]
        or has["unflushed"]
        or has["restarted_leader"] != RESIGNED
    )
)
"""Whether an epoch may have two leaders, as far as is known: it has one of static voters that keep their disks (proved)."""

some_join = fact(lambda has: 0 < _initial_voters(has) < has["servers"])
"""Whether there are servers that are no voters in the beginning."""

dismisses = fact(lambda has: _changes(has) and has["auto_join"] and has["by_operator"])
"""Whether it is kept which voters an operator has removed."""
