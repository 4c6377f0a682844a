"""Partitions and rules as tests of `roll` write them."""

from __future__ import annotations

from collections.abc import Mapping

from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.roll.questions.ask import Answer, Asked, Asker, Stop, constants_with
from acked.roll.questions.start import Role, Shape

ROLES: Mapping[str, Role] = {
    "L": Role(leads=True, in_sync=True),
    "I": Role(in_sync=True),
    "S": Role(in_sync=True, is_up=False),
    "E": Role(eligible=True, is_up=False),
    "U": Role(),
    "D": Role(is_up=False),
    "K": Role(led_last=True, is_up=False),
}
"""The leader; in sync, and in sync though down; eligible and down; out of sync, up and down; who led last, down."""


def shape(text: str, asked: int | None) -> Shape:
    """`LIU` with the broker at a place asked about."""
    return Shape(tuple(
        Role(one.leads, one.in_sync, one.eligible, one.led_last, one.is_up or at == asked, is_asked=at == asked)
        for at, one in enumerate(ROLES[letter] for letter in text)
    ))  # fmt: skip


def rules(version: str, min_isr: int, unclean: bool = False, **more: int) -> dict[str, int]:
    """A release's constants with a producer of acks=all."""
    constants = {name: setting.value for name, setting in partition.profile(version, "kraft").items()}
    own = {"acks": settings.ACKS_ALL, "idempotence": 1, "retries": 1, "crashes": settings.LOSSY_CRASHES}
    return {**constants, **own, "min_insync_replicas": min_isr, "unclean_election": int(unclean), **more}


def answer(asker: Asker, has: Mapping[str, int], of: Shape, stop: Stop = Stop.CLEANLY) -> Answer:
    """What the model answers."""
    return asker.answer(Asked(of, stop, constants_with(has, of)))
