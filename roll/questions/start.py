"""A partition's present state as states of the model: what is known of it, and every way in which the rest may be.

A leader, an ISR and eligible leaders say who certainly holds what was acknowledged: they do. Whoever else is a replica may
hold it or not, and a broker that is down may have been stopped cleanly or not; each way is a state of its own, and what one
of them loses can be lost. So is the beginning without any record yet: what is acknowledged from now on may be lost, too.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from acked.base.frozen import frozen
from acked.model.language.protocol import Instance
from acked.model.partition.state import ACKED, UNSENT
from acked.roll.questions.protocol import ASKED, OPEN

RECORD = {"id": 0, "epoch": 0}
"""What was acknowledged, as logs hold it; a producer id stands beside it where there are several."""


@frozen(order=True)
class Role:
    """What one replica of a partition is now; where nobody knows whether it is up it is down, and may be back at once."""

    leads: bool = False
    in_sync: bool = False
    eligible: bool = False
    led_last: bool = False
    is_up: bool = True
    adding: bool = False
    removing: bool = False
    is_asked: bool = False

    @property
    def holds(self) -> bool:
        """Whether it certainly holds what was acknowledged."""
        return self.in_sync or self.eligible


@frozen
class Shape:
    """A partition up to the names of its brokers: the roles of its replicas, in order."""

    roles: tuple[Role, ...]

    @property
    def asked(self) -> int | None:
        """The replica whose broker is to be stopped; None if none is."""
        return next((at for at, role in enumerate(self.roles) if role.is_asked), None)

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment is under way."""
        return any(role.adding or role.removing for role in self.roles)

    @property
    def in_sync(self) -> int:
        """Members of the ISR."""
        return sum(role.in_sync for role in self.roles)

    def healthy_but(self, asks_leader: bool | None) -> Shape:
        """As many replicas, all in sync and up; the leader's broker is to be stopped, or a follower's, or (None) nobody's."""
        count = sum(not role.adding for role in self.roles)
        asked = None if asks_leader is None else int(not asks_leader and count > 1)
        return Shape(tuple(Role(leads=at == 0, in_sync=True, is_asked=at == asked) for at in range(count)))


def starts(instance: Instance, shape: Shape, failing: int) -> Iterator[tuple[int, ...]]:
    """The packed states in which a partition of that shape may be, with what may fail after its broker has been stopped."""
    blank = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    roles = shape.roles
    unknown = [at for at, role in enumerate(roles) if not role.holds]
    down_eligible = [at for at, role in enumerate(roles) if role.eligible and not role.is_up]
    for killed in _subsets(down_eligible if "killed" in blank else []):
        for last in _last_leaders(roles):
            base = _state(blank, shape, failing, killed, last)
            yield _packed(instance, base)
            for besides in _subsets(unknown):
                holders = [at for at, role in enumerate(roles) if role.holds or at in besides]
                if holders:
                    yield _packed(instance, _with_record(base, shape, holders))


def _subsets(members: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for chosen in product((False, True), repeat=len(members)):
        yield tuple(member for member, is_in in zip(members, chosen, strict=True) if is_in)


def _last_leaders(roles: Sequence[Role]) -> list[int | None]:
    """Who may have led last: it matters while the ISR is empty, and then Kafka names it only where nobody is eligible."""
    if any(role.in_sync for role in roles):
        return [None]
    named = [at for at, role in enumerate(roles) if role.led_last]
    return [*(named or [at for at, role in enumerate(roles) if role.eligible])] or [None]


def _state(blank: dict[str, Any], shape: Shape, failing: int, killed: Sequence[int], last: int | None) -> dict[str, Any]:
    """A state without records."""
    s = copy.deepcopy(blank)
    roles = shape.roles
    leader = next((at for at, role in enumerate(roles) if role.leads), None)
    isr = [at for at, role in enumerate(roles) if role.in_sync]
    for at, role in enumerate(roles):
        mine = s["broker"][at]
        follows = role.is_up and leader is not None
        mine |= {
            "down": not role.is_up, "leader": leader if follows else None, "leader_epoch": 0 if follows else None, "isr": [],
        }  # fmt: skip
        if "assigned" in mine:
            mine["assigned"] = []
    controller = s["controller"]
    controller |= {"leader": leader, "leader_epoch": 0, "isr": isr}
    if "elr" in controller:
        controller |= {"elr": [at for at, role in enumerate(roles) if role.eligible], "last_leader": last}
    if "replicas" in controller:
        target = [at for at, role in enumerate(roles) if not role.removing]
        controller |= {
            "replicas": [*range(len(roles))],
            "adding": [at for at, role in enumerate(roles) if role.adding],
            "removing": [at for at, role in enumerate(roles) if role.removing],
        }
        if "asked" in controller:
            controller["asked"] = target
    if leader is not None:
        s["broker"][leader]["isr"] = isr
        if "assigned" in s["broker"][leader]:
            s["broker"][leader]["assigned"] = [*range(len(roles))]
    for budget in ("lossy_left", "disks_left", "moves_left"):
        if budget in s:
            s[budget] = 0
    if "killed" in s:
        s["killed"] = list(killed)
    s["unflushed"] = [at for at, role in enumerate(roles) if not role.is_up]
    s |= {"phase": OPEN if shape.asked is None else ASKED, "failing": failing}
    s["producer"]["status"] = [UNSENT] * len(s["producer"]["status"])
    return s


def _with_record(base: dict[str, Any], shape: Shape, holders: Sequence[int]) -> dict[str, Any]:
    """The state with a record that was acknowledged, in the logs of the holders; those in sync know that it is committed."""
    s = copy.deepcopy(base)
    for at in holders:
        s["log"][at] = {"end": 1, "records": [RECORD]}
        s["broker"][at]["hw"] = int(shape.roles[at].holds)
        if (leader := s["controller"]["leader"]) is not None and shape.roles[at].in_sync and at != leader:
            s["known_end"][leader][at] = 1
    s["producer"]["status"][0] = ACKED
    return s


def _packed(instance: Instance, state: dict[str, Any]) -> tuple[int, ...]:
    return instance.schema.pack(instance.schema.encode(state))
