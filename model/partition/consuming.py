"""Consuming: reads below the high watermark, and queries for the latest offset.

What a consumer or a client is answered. Of a consumer's reads one is remembered, any one: what is promised of
every read is thereby checked of all.
"""

from __future__ import annotations

from acked.model.language.action import action, require
from acked.model.language.quantify import smaller
from acked.model.language.telling import CONSUMER
from acked.model.partition.common import epoch_start, presumes_leadership, renumber_epochs
from acked.model.partition.fetching import have_diverged, require_fetch
from acked.model.partition.rules.facts import asks_in_epoch, takes_hw_first
from acked.model.partition.rules.settings import FROM_FOLLOWERS, NO_CONSUMER, consumer, offset_queries, query_waits_for_epoch
from acked.model.partition.state import Offset, Replica, State
from acked.model.partition.vocabulary.messages import FETCH_READ_BEFORE_TRUNCATION, LATEST_OFFSET, reads_from


@action(
    says=lambda t: f"a consumer reads record {t.after.consumer.record} at offset {t.offset} from broker {t.broker}",
    when=lambda: consumer.value != NO_CONSUMER,
    actor=CONSUMER, messages=(reads_from("broker"),),
)
def read(s: State, broker: Replica, offset: Offset) -> None:
    """A consumer reads below the high watermark of a leader, or of a follower (2.4, KIP-392)."""
    require("nothing is remembered yet", s.consumer.offset.is_none)
    if consumer.value == FROM_FOLLOWERS:
        require("follows or leads", s.broker[broker].leader.is_some)
    else:
        require("presumes leadership", presumes_leadership(s, broker))
    require("below the high watermark", (offset < s.broker[broker].hw) & s.log[broker].has(offset))
    s.consumer.offset = offset
    s.consumer.record = s.log[broker].at(offset).id


@action(
    says=lambda t: (
        f"broker {t.follower} fetches from broker {t.leader}; their logs diverge, but before it truncates it takes over "
        f"high watermark {min(t.before.broker[t.leader].hw, t.before.log[t.follower].end)}, and a consumer reads record "
        f"{t.after.consumer.record} at offset {t.offset} from it"
    ),
    when=lambda: consumer.value == FROM_FOLLOWERS and takes_hw_first.on,
    actor="follower", messages=FETCH_READ_BEFORE_TRUNCATION,
)
def read_before_truncation(s: State, follower: Replica, leader: Replica, offset: Offset) -> None:
    """From 2.8 to 3.4 a consumer could read between the high watermark of a diverging answer and the truncation."""
    require("nothing is remembered yet", s.consumer.offset.is_none)
    require_fetch(s, follower, leader)
    require("the logs have diverged", have_diverged(s, leader, follower))
    log = s.log[follower]
    require("below the leader's high watermark", (offset < smaller(s.broker[leader].hw, log.end)) & log.has(offset))
    s.consumer.offset = offset
    s.consumer.record = log.at(offset).id


@action(
    says=lambda t: f"broker {t.leader} answers a client that the latest offset is {t.after.consumer.latest}",
    when=lambda: offset_queries.on,
    actor=CONSUMER, messages=(LATEST_OFFSET,),
)
def query_latest_offset(s: State, leader: Replica) -> None:
    """ListOffsets(latest) is answered with the high watermark; from 2.2 not before that has reached the leader's epoch.

    A client of 2.1 names the newest leader epoch that it has seen in metadata, and is refused in any other (KIP-320). It sees
    the leader's at the latest when it asks, so what counts is that it does not go back to an older one.
    """
    require("presumes leadership", presumes_leadership(s, leader))
    if query_waits_for_epoch.on:
        require("high watermark in this epoch", s.broker[leader].hw >= epoch_start(s, leader))
    s.consumer.latest = s.broker[leader].hw
    if asks_in_epoch.on:
        own = s.broker[leader].leader_epoch
        require("the client has seen no newer leader epoch", s.consumer.epoch <= own.value)
        s.consumer.epoch = own.value
        renumber_epochs(s)
