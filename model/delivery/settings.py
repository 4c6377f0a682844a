"""The constants of `delivery`: sizes, how the application commits its offsets, what may go wrong, and rules of releases."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.language.context import Constant, choice, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

members = Constant("members", 1, 3, "members of the group, each an instance of the application", 2)
inputs = Constant("inputs", 1, 3, "records of the input partition", 2)

# -- the application --------------------------------------------------------------------------------------------------

BEFORE, AFTER, AUTO, IN_TRANSACTION = range(4)
commits = choice(
    "commits",
    ("before", "after", "auto", "in transaction"),
    "when a member commits the offset of a record: before it processes it, after it has, whenever poll does so by itself "
    "(enable.auto.commit), or in one transaction with the result (sendOffsetsToTransaction)",
    "in transaction",
)
threads = switch(
    "threads",
    "records are handed to another thread, and the next poll does not wait for them (only with commits = \"auto\")",
    default=False,
)
PER_PARTITION = 1
ids = choice(
    "ids",
    ("per instance", "per partition"),
    "whether every member has a transactional.id of its own, or every input partition has one that goes from owner to owner "
    "(only with commits = \"in transaction\")",
    "per instance",
)

# -- what may go wrong ------------------------------------------------------------------------------------------------

crashes = switch("crashes", "a member may die; the application comes back as a new member", default=True)
rebalances = switch(
    "rebalances",
    "the group may give the partition to another member while its owner is alive and has not heard",
    default=True,
)
lost_answers = switch(
    "lost_answers", "the answer to a result that was written may be lost, and the producer sends it again", default=True
)

_NOT_OF_RELEASES = constants_in(globals())

# -- rules that releases changed, or that are set -----------------------------------------------------------------------

idempotence = switch(
    "idempotence",
    "a result that one producer sends again is not written again (enable.idempotence; the default of clients from 3.2 on)",
    default=True,
)
group_metadata = switch(
    "group_metadata",
    "an offset in a transaction names member and generation, and is refused if the generation is over (2.5, KIP-447)",
    default=True,
)
stable_offsets = switch(
    "stable_offsets",
    "who asks for the committed offset waits while one is in a transaction that is not over (requireStable, 2.5, KIP-447)",
    default=True,
)

RULES = constants_in(globals(), _NOT_OF_RELEASES)

# -- rules that depend on how a group is made up, not on the release alone: every release's profile leaves them on -----

one_owner = switch(
    "one_owner",
    "no two members of one generation have the partition (off: group.protocol=consumer in 3.7, KAFKA-16147; the "
    "cooperative-sticky assignor to 2.8.0, KAFKA-12984, and to 3.4.0, KAFKA-14639)",
    default=True,
)
commits_returned = switch(
    "commits_returned",
    "what poll commits by itself it has returned before (off: group.protocol=consumer in the clients of 3.7 to 3.9, whose "
    "background thread commits what poll is still collecting, KAFKA-18641; only with commits = \"auto\")",
    default=True,
)
keeps_offsets = switch(
    "keeps_offsets",
    "what was committed stays so, whoever coordinates the group (off: where `GroupActsAsOne` of `coordinator` fails, as in "
    "4.3.0, KAFKA-20634)",
    default=True,
)

CONSTANTS = constants_in(globals())

# -- what follows from them -------------------------------------------------------------------------------------------


def _is_transactional(constants: Mapping[str, int]) -> bool:
    return constants["commits"] == IN_TRANSACTION


transacts = fact(_is_transactional)
"""Whether results and offsets are written in transactions."""

resends = fact(lambda has: has["lost_answers"] and not _is_transactional(has))
"""Whether a result may be sent again; a transaction takes care of that (`transactions` is about it)."""

shares = fact(lambda has: not has["one_owner"])
"""Whether two members of one generation may have the partition."""
