"""The constants of `share`: sizes, what may happen, and the rules that releases changed.

Each constant with its range, its default and one line of documentation. The default of a rule is that of the newest release;
`answers_every_write` and `keeps_first_start`, which no release has, are on.
"""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, constants_in, fact, switch

# -- sizes ------------------------------------------------------------------------------------------------------------

records = Constant("records", 1, 4, "records of the topic partition", 2)
max_epoch = Constant("max_epoch", 1, 3, "the last leader epoch of the topic partition; its first leader has epoch 1", 2)
writes = Constant("writes", 1, 3, "how many writes of a leader may be on their way to the share coordinator", 2)
delivery_limit = Constant("delivery_limit", 1, 3, "group.share.delivery.count.limit", 2)

SIZES = constants_in(globals())

# -- what may happen --------------------------------------------------------------------------------------------------

latest = switch(
    "latest",
    "records are written over time, and a group begins with those that come (share.auto.offset.reset=latest); else all are "
    "there, and it begins with the first",
    default=False,
)
sessions = switch("sessions", "a consumer's session may end while it has records", default=False)
failed_writes = switch("failed_writes", "the share coordinator may refuse a write", default=False)
lost_answers = switch("lost_answers", "a write may be taken while its leader gives it up", default=False)
retries = switch("retries", "a write, or finding its coordinator, may be tried again, behind later ones", default=False)
zombies = switch("zombies", "a former leader goes on until it hears that it is one", default=False)
deliveries = switch("deliveries", "it is known how often every record was delivered, and with which count", default=False)

CIRCUMSTANCES = constants_in(globals(), SIZES)

# -- rules that releases changed --------------------------------------------------------------------------------------

acquires_settled = switch(
    "acquires_settled", "a record is not acquired while its release is being written (4.0, KAFKA-18084)", default=True
)
fetches_gaps = switch(
    "fetches_gaps",
    "a new leader fetches what it knows nothing of, also where it knows of later records (4.1, KAFKA-18494)",
    default=True,
)
start_waits = switch(
    "start_waits", "the start offset does not pass a record whose acknowledgement is being written (4.1.1)", default=True
)
ends_expired_locks = switch(
    "ends_expired_locks",
    "a record whose acknowledgement is refused after its lock's time was up is available (4.2, KAFKA-19476)",
    default=True,
)
counts_ended_sessions = switch(
    "counts_ended_sessions",
    "a delivery counts although the consumer's session ended (to 4.0, and again since 4.2, KAFKA-19972)",
    default=True,
)
start_goes_forward = switch(
    "start_goes_forward",
    "the share coordinator keeps the greater of two start offsets, in whatever order they come (4.4, pull request 23074)",
    default=True,
)
answers_every_write = switch(
    "answers_every_write",
    "each of several writes about a partition that are in one request has an answer of its own (in no release)",
    default=True,
)
keeps_first_start = switch(
    "keeps_first_start", "where a group begins is written before the first record is delivered (in no release)", default=True
)

RULES = constants_in(globals(), SIZES, CIRCUMSTANCES)
CONSTANTS = (*SIZES, *CIRCUMSTANCES, *RULES)

# -- what follows from them -------------------------------------------------------------------------------------------


def _may_hide(constants: Mapping[str, int]) -> int:
    return constants["failed_writes"] and not constants["answers_every_write"] and constants["writes"] > 1


def _some_zombies(constants: Mapping[str, int]) -> int:
    if constants["zombies"] and constants["max_epoch"] < 2:
        raise ModelError("a former leader is one of an epoch before the last; set max_epoch to 2 at least")
    return constants["zombies"]


def _takes_back(constants: Mapping[str, int]) -> int:
    takes = constants["sessions"] and not constants["counts_ended_sessions"]
    if takes and not constants["acquires_settled"]:
        raise ModelError("no release takes deliveries back that acquires what is being released; set acquires_settled")
    return takes


takes_back = fact(_takes_back)
"""Whether a delivery does not count once the consumer's session has ended."""

hides_refusals = fact(_may_hide)
"""Whether a refused write may be answered with what became of another."""

some_zombies = fact(_some_zombies)
"""Whether a former leader goes on."""
