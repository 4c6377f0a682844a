"""Stories that are known by heart: each plays on a stage and returns how it ended."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from acked.cluster.nodes.addresses import CLIENT, CONTROLLER
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.observe.disk import partition_folder
from acked.cluster.proxies.frame import Phase
from acked.cluster.topics.topic import SECONDS
from acked.cluster.waiting import wait_for
from acked.cluster.wire.apis import Api
from acked.cluster.wire.client import Client, NoProducerId
from acked.cluster.wire.records import write_records
from tests.cluster.stories.library import library_overtakes, library_retries
from tests.cluster.stories.stage import Stage, StoryOutcome


@dataclass(frozen=True)
class ScriptedStory:
    """A story with the settings that it needs. `source` is where the bug is described."""

    name: str
    play: Callable[[Stage], StoryOutcome]
    source: str
    settings: Mapping[str, str] = field(default_factory=dict)


def trailing_high_watermark(stage: Stage) -> StoryOutcome:
    """KIP-101: followers truncate to a high watermark that trails the leader's, and one of them is elected.

    The assignment is [0, 2, 1]: the first living in-sync replica is elected, so 2 leads after 0, and 1 after 2.
    """
    stage.create([0, 2, 1])
    first, second = stage.hold_fetches(1, 0), stage.hold_fetches(2, 0)
    producer = stage.send(0, "r0")
    stage.fetch_once(first)
    stage.fetch_once(second)
    stage.fetch_once(first)  # Broker 1 has r0, and the high watermark is still 0.
    stage.fetch_unanswered(second)  # The leader learns that broker 2 has r0 too.
    stage.acknowledge(producer, "r0")
    later = stage.hold_fetches(1, 2, wait=False)
    stage.crash(0)
    stage.await_leader(2)
    stage.await_follower(1, 2)
    wait_for(lambda: later.held or first.held, "a fetch of broker 1 from its new leader", SECONDS)
    stage.crash(2)
    return stage.judge(stage.await_leader(1))


def kills_and_a_lost_page_cache(stage: Stage) -> StoryOutcome:
    """Two brokers are killed, the machine of the last one dies: which log is the partition's when they are back?

    With eligible leader replicas (KIP-966) none is eligible, and the last known leader is elected, whatever it has left.
    """
    stage.create([0, 1, 2])
    stage.crash(1)
    stage.await_isr({0, 2})
    stage.acknowledge(stage.send(0, "r0"), "r0")
    stage.crash(2)
    stage.await_isr({0})
    stage.lose_machine(0)
    stage.restart(2)
    stage.restart(0)
    leader = stage.await_leader()
    stage.await_agreement(leader)  # Broker 2, which never lost anything, truncates.
    return stage.judge(leader)


def shutdowns_and_a_lost_page_cache(stage: Stage) -> StoryOutcome:
    """KIP-966: as with kills, but two brokers are shut down in an orderly way, so their logs are known to be whole.

    Without eligible leader replicas the last member of the ISR is elected, although its machine lost its page cache. With
    them nobody leads until one of the two is back.
    """
    stage.create([0, 1, 2])
    stage.shut_down(2)
    stage.await_isr({0, 1})
    stage.acknowledge(stage.send(0, "r0"), "r0")
    stage.shut_down(1)
    stage.await_isr({0})
    stage.lose_machine(0)
    stage.restart(0)  # Who leads now was decided with its return, in one record of the controller's.
    view = stage.view(0)
    if view is not None and view.leader == -1:
        stage.tell("nobody leads")
        stage.restart(1)
    return stage.judge(stage.await_leader())


def leader_without_its_epoch(stage: Stage) -> StoryOutcome:
    """KAFKA-7415: a leader that has appended nothing in its epoch sends a follower back to its high watermark.

    No broker dies; leadership moves from 0 to 1, back to 0 of which 1 does not hear in time, and to 1 again.
    """
    network = stage.cluster.network
    stage.create([0, 1])
    fetches = stage.hold_fetches(1, 0)
    producer = stage.send(0, "r0")
    stage.fetch_once(fetches)
    late = stage.fetch_unanswered(fetches)  # Broker 1 has r0, and does not know that broker 0 has heard of it.
    stage.acknowledge(producer, "r0")
    learning = network.hold(0, 1, (Api.FETCH, Api.OFFSET_FOR_LEADER_EPOCH))  # As a follower, broker 0 learns nothing.
    stage.move_leadership(1)
    stage.await_follower(1, 1)
    learning.wait(SECONDS)
    late.lift()
    stage.await_leader(1)
    orders = network.hold(CONTROLLER, 1, Api.LEADER_AND_ISR)
    stage.move_leadership(0)
    stage.await_follower(0, 0)
    wait_for(lambda: stage.answers_as_leader(0), "that broker 0 leads", SECONDS)
    stage.send(1, "r1").close()  # Broker 1 still believes that it leads.
    orders.lift()
    stage.await_follower(1, 0)
    fetches.wait(SECONDS)
    stage.move_leadership(1)
    return stage.judge(stage.await_leader(1))


def leader_answers_alone(stage: Stage) -> StoryOutcome:
    """With acks=1 the leader answers and dies before its follower has fetched."""
    stage.create([0, 1])
    stage.hold_fetches(1, 0)
    stage.acknowledge(stage.send(0, "r0", acks=1), "r0")
    stage.crash(0)
    return stage.judge(stage.await_leader(1))


def unclean_election(stage: Stage) -> StoryOutcome:
    """A broker outside the ISR is elected, as unclean.leader.election.enable allows."""
    stage.create([0, 1, 2])
    stage.hold_fetches(2, 0)
    stage.send(0, "x", acks=1).close()  # Since 2.1 only a follower that lacks a record is too slow (KAFKA-7152).
    stage.await_isr({0, 1})  # The one step that a timer ends: the leader's own, replica.lag.time.max.ms.
    stage.hold_fetches(2, 1, wait=False)
    stage.acknowledge(stage.send(0, "r0"), "r0")
    stage.crash(0)
    stage.await_leader(1)
    stage.crash(1)
    return stage.judge(stage.await_leader(2))


def alone_in_the_isr(stage: Stage) -> StoryOutcome:
    """With min.insync.replicas=1 a leader that is alone answers acks=all, and its machine dies."""
    stage.create([0, 1])
    stage.crash(1)
    stage.await_isr({0})
    stage.acknowledge(stage.send(0, "r0"), "r0")
    stage.lose_machine(0)
    stage.restart(0)
    return stage.judge(stage.await_leader(0))


def diverging_fetch_counts(stage: Stage) -> StoryOutcome:
    """KAFKA-13141: a fetch that is answered with where to truncate has already moved the leader's high watermark."""
    network = stage.cluster.network
    stage.create([0, 2, 1])
    first, _ = stage.hold_fetches(1, 0), stage.hold_fetches(2, 0)
    stage.send(0, "r0").close()
    stage.fetch_once(first)  # Broker 1 has r0 of the first epoch, broker 2 has not.
    later = stage.hold_fetches(1, 2, wait=False)
    stage.crash(0)
    stage.await_leader(2)
    stage.await_follower(1, 2)
    answers = network.hold(1, 2, Api.FETCH, Phase.RESPONSE)
    later.let(seconds=SECONDS)
    response = answers.wait(SECONDS)
    stage.tell("broker 1 fetches from broker 2; the response is held")
    stage.acknowledge(stage.send(2, "r1", timeout_ms=3000), "r1")
    answers.drop(response)
    stage.crash(2)
    return stage.judge(stage.await_leader(1))


def follower_of_a_past_epoch(stage: Stage) -> StoryOutcome:
    """KAFKA-9338: in a fetch session no request says its epoch again, so a follower that missed two elections counts.

    No broker dies; leadership moves from 0 to 2, back to 0, and to 1, which hears of none of it until the end.
    """
    network, asked = stage.cluster.network, (Api.FETCH, Api.OFFSET_FOR_LEADER_EPOCH)
    stage.create([0, 1, 2])
    first, second = stage.hold_fetches(1, 0), stage.hold_fetches(2, 0)
    stage.send(0, "r0", acks=1).close()
    stage.fetch_once(first)  # Broker 1 has r0 of the first epoch, and asks for offset 1, which waits.
    orders = network.hold(CONTROLLER, 1, Api.LEADER_AND_ISR)
    stage.move_leadership(2)
    stage.await_follower(2, 2)
    second.lift()
    stage.await_leader(2)
    wait_for(lambda: not stage.replica(0).log, "that broker 0 truncates r0", SECONDS)
    stage.move_leadership(0)
    stage.await_follower(0, 0)
    wait_for(lambda: stage.answers_as_leader(0), "that broker 0 leads", SECONDS)
    producer = stage.send(0, "r1", timeout_ms=6000)
    wait_for(lambda: "r1" in stage.replica(2).values, "r1 in broker 2's log", SECONDS)
    first.let(seconds=SECONDS)  # At offset 1, where broker 0 has r1 and broker 1 has r0.
    stage.acknowledge(producer, "r1")
    network.hold(1, 0, asked)
    network.hold(1, 2, asked)
    stage.move_leadership(1)
    orders.lift()
    return stage.judge(stage.await_leader(1))


def lost_answer(stage: Stage, is_idempotent: bool = False) -> StoryOutcome:
    """The answer to a producer is lost, and it sends the record again."""
    stage.create([0, 1, 2])
    producer = (-1, -1, -1)
    if is_idempotent:
        with stage.cluster.client(0) as ask:
            producer = (*wait_for(lambda: _new_producer(ask), "a producer id", SECONDS), 0)
    batch = write_records([b"r0"], True, *producer)
    answers = stage.cluster.network.hold(CLIENT, 0, Api.PRODUCE, Phase.RESPONSE)
    first = stage.send(0, "r0", batch=batch)
    answers.close(seconds=SECONDS)
    answers.lift()
    first.close()
    stage.acknowledge(stage.send(0, "r0", batch=batch), "r0")
    return stage.judge(0)


def _new_producer(ask: Client) -> tuple[int, int] | None:
    try:
        return ask.new_producer()
    except NoProducerId:
        return None  # The controller has yet to give the broker a block of them.


_SAFE = {"min.insync.replicas": "2"}
STORIES = {
    story.name: story
    for story in (
        ScriptedStory("acks-1", leader_answers_alone, "the documentation of acks"),
        ScriptedStory(
            "unclean",
            unclean_election,
            "KIP-106",
            _SAFE | {"unclean.leader.election.enable": "true", "replica.lag.time.max.ms": "3000"},
        ),
        ScriptedStory("alone", alone_in_the_isr, "the documentation of min.insync.replicas"),
        ScriptedStory("diverging", diverging_fetch_counts, "KAFKA-13141", _SAFE),
        ScriptedStory("kip101", trailing_high_watermark, "KIP-101", _SAFE),
        ScriptedStory("no-epoch-yet", leader_without_its_epoch, "KAFKA-7415"),
        ScriptedStory("past-epoch", follower_of_a_past_epoch, "KAFKA-9338", _SAFE),
        ScriptedStory("lost-answer", lost_answer, "KIP-98"),
        ScriptedStory("lost-answer-idempotent", partial(lost_answer, is_idempotent=True), "KIP-98"),
        ScriptedStory("library-retries", library_retries, "KIP-98"),
        ScriptedStory("library-retries-idempotent", partial(library_retries, is_idempotent=True), "KIP-98"),
        ScriptedStory("library-overtakes", library_overtakes, "the documentation of max.in.flight.requests.per.connection"),
        ScriptedStory("library-overtakes-idempotent", partial(library_overtakes, is_idempotent=True), "KIP-98"),
        ScriptedStory("shutdowns", shutdowns_and_a_lost_page_cache, "KIP-966", _SAFE),
        ScriptedStory("kills", kills_and_a_lost_page_cache, "KIP-966", _SAFE),
    )
}


def reset(stage: Stage, cluster: Cluster) -> None:
    """Makes the cluster ready for another story: dead brokers back without the topic, the topic deleted, gates lifted."""
    for broker in cluster.plan.brokers:
        if not cluster.nodes[broker].is_running:
            shutil.rmtree(partition_folder(cluster.nodes[broker].data, stage.name), ignore_errors=True)
            cluster.restart(broker)
    cluster.await_known()
    stage.delete()
