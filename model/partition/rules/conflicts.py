"""Settings that contradict each other: what Kafka refuses, what it drops silently, and what it accepts and ignores.

`settle`, which makes of a spec's settings those that a cluster would run with, and warns of every difference; and Kafka's own
checks of enable.idempotence (KIP-98, KIP-679, KAFKA-5494, KAFKA-13673).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from acked.model.formulas.errors import ModelError
from acked.model.partition.rules import controllers
from acked.model.partition.rules.settings import ACKS_0, ACKS_1, ACKS_ALL, NO_CRASHES, acks
from acked.model.partition.rules.versions import KRAFT, ZOOKEEPER

MAX_IN_FLIGHT = 5
"""Requests in flight for which a leader remembers the batches of a producer (KIP-98; KAFKA-5494, 1.0)."""

MAX_IN_FLIGHT_AT_FIRST = 1
"""What it was in 0.11."""

ACKS, RETRIES, IN_FLIGHT = "acks", "retries", "max.in.flight.requests.per.connection"


def conflicts_of_idempotence(
    acks: str, retries: int, in_flight: int, most_in_flight: int = MAX_IN_FLIGHT
) -> Iterator[tuple[str, str]]:
    """The settings that idempotence cannot be had with, each with what it must be, in the order in which Kafka looks.

    `acks` is all, 0 or 1.
    """
    if retries == 0:
        yield RETRIES, "must not be 0 when the idempotent producer is used"
    if acks != "all":
        yield ACKS, "must be all when the idempotent producer is used, or it could guarantee nothing"
    if in_flight > most_in_flight:
        yield IN_FLIGHT, f"must be at most {most_in_flight} when the idempotent producer is used"


_KRAFT_ONLY = ("isr_checks_broker_epoch", "alter_bumps_epoch", "eligible_leader_replicas")
"""Rules that only a KRaft controller can apply: KIP-903, KAFKA-15021, KIP-966."""


_WITHOUT_EFFECT: tuple[tuple[str, Callable[[Mapping[str, int]], bool], str], ...] = (
    ("empty_disks", lambda c: c["crashes"] == NO_CRASHES, "no broker is ever down (crashes)"),
    (
        "unnoticed_restarts",
        lambda c: bool(c["reregistration_noticed"]),
        "a broker that registers again is taken out of the ISR first (reregistration_noticed)",
    ),
    ("late_reads", lambda c: not c["late_answers"], "no answer is late (late_answers)"),
    ("config_changes", lambda c: not c["eligible_leader_replicas"], "there are no eligible leader replicas to forget"),
    (
        "directories_move",
        lambda c: bool(not c["eligible_leader_replicas"] or c["assignment_keeps_elr"]),
        "there are no eligible leader replicas, or they are kept (assignment_keeps_elr)",
    ),
)
"""What a spec may ask for and does not get under its other settings, and why."""


def settle(
    given: Mapping[str, int], constants: Mapping[str, int], control_plane: str | None
) -> tuple[dict[str, int], tuple[str, ...]]:
    """The constants in effect, and a warning for each that is not what one may think; `ModelError` for what Kafka refuses.

    `given` are those that the spec itself names, `constants` all of them with the release's defaults.
    """
    if control_plane == ZOOKEEPER:
        for name in _KRAFT_ONLY:
            if given.get(name):
                raise ModelError(f"{name} needs control_plane = \"{KRAFT}\": a ZooKeeper controller does not have it")
    if controllers.are_many(constants):
        _check_controllers(constants)
    settled = dict(constants)
    warnings: list[str] = []
    if constants["idempotence"] and not constants["five_in_flight"] and "in_flight" not in given:
        settled["in_flight"] = MAX_IN_FLIGHT_AT_FIRST
        warnings.append(f"{IN_FLIGHT} is 1: before 1.0 there may be no more with idempotence")
    conflict = _conflict(settled)
    if constants["idempotence"] and conflict:
        if given.get("idempotence"):
            raise ModelError(f"enable.idempotence=true is refused by the producer together with {conflict}")
        if constants["in_flight"] > MAX_IN_FLIGHT and constants["in_flight_refused"]:
            raise ModelError(
                f"from 4.0 the producer refuses {IN_FLIGHT}={constants['in_flight']} unless "
                f"enable.idempotence=false is set; with idempotence there may be {MAX_IN_FLIGHT}"
            )
        settled["idempotence"] = 0
        warnings.append(f"idempotence, the release's default, is dropped in silence because of {conflict}")
    for name, rule, why in _WITHOUT_EFFECT:
        if given.get(name) and rule(constants):
            warnings.append(f"{name} has no effect: {why}")
    wanted, replicas = constants["min_insync_replicas"], constants["replicas"]
    if wanted > replicas:
        text = f"min.insync.replicas={wanted} is more than the {replicas} replicas"
        if constants["strict_min_isr"]:
            warnings.append(f"{text}; from 3.7 it counts as {replicas}")
        elif constants["acks"] == ACKS_ALL:
            warnings.append(f"{text}: no record with acks=all is ever accepted")
    if given.get("min_insync_replicas", 1) > 1 and constants["acks"] in (ACKS_0, ACKS_1):
        warnings.append(unused_min_isr(wanted, str(acks.show(constants["acks"])), bool(constants["strict_min_isr"])))
    return settled, tuple(warnings)


def _check_controllers(constants: Mapping[str, int]) -> None:
    """`ModelError` for what several controllers cannot be had with."""
    many = 'controllers = "many"'
    if constants["moves_in_one_record"] or constants["eligible_leader_replicas"]:
        raise ModelError(
            f"{many} is about brokers that race for /controller in ZooKeeper; set control_plane = \"{ZOOKEEPER}\" and a "
            "version from 0.8 to 3.9"
        )
    if constants["reassignment"]:
        raise ModelError(f"{many} and reassignment are not modelled together; leave one of them out")


def unused_min_isr(least: int, mode: str, holds_hw: bool) -> str:
    """What min.insync.replicas is worth to a producer whose acks are not "all".

    `holds_hw` says whether the high watermark waits for that many in-sync replicas, too (3.7, KAFKA-15583).
    """
    delays = "; it only delays what consumers see" if holds_hw else ""
    return f"min.insync.replicas={least} does not protect records with acks={mode}{delays}"


def _conflict(constants: Mapping[str, int]) -> str:
    """The first setting that idempotence cannot be had with, if any."""
    mode = str(acks.show(constants["acks"]))
    said = {
        ACKS: mode,
        RETRIES: constants["retries"],
        IN_FLIGHT: constants["in_flight"],
    }
    most = MAX_IN_FLIGHT if constants["five_in_flight"] else MAX_IN_FLIGHT_AT_FIRST
    found = conflicts_of_idempotence(mode, constants["retries"], constants["in_flight"], most)
    return next((f"{name}={said[name]}" for name, _ in found), "")
