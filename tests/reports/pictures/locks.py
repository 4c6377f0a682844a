"""A protocol without logs that brings its own pictures: clients ask a server for a lock."""

from __future__ import annotations

from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.model.language.action import require
from acked.model.language.context import Constant
from acked.model.language.protocol import Instance, Protocol
from acked.model.language.state import Optional, SetOf, Struct, field
from acked.model.language.telling import Course, Ends, Fault, Role, Tells
from acked.model.language.values import Id
from acked.reports.pictures.picture import Badge, Box, Explained, Fact, Look, Moment, Picture, Pictures, Row, Sign, Tone

clients = Constant("clients", 1, 4, "who asks for the lock")
SERVER = Role("lock server")


class Client(Id, size=clients):
    """Who asks for the lock."""


class Locks(Struct):
    """Who holds the lock, and who would like to."""

    asked = field(SetOf(Client), "whose requests are on their way")
    granted = field(Optional(Client), "whom the server has given the lock")
    holder = field(Optional(Client), "who knows to have it")


class LockPictures(Pictures):
    """Clients are rows with badges, the server is a box."""

    look = Look(row="client", legend=(Explained(Sign.BADGE, "has heard that it may go on", "holds", Tone.STRONG),))

    def tells(self, field: str) -> bool:
        return field in ("asked", "granted", "holder")

    def says_initial(self, state: object) -> str:
        return "initially nobody asks"

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, None]:
        state, count = moment.after, instance.constants["clients"]

        def badges(client: int) -> tuple[Badge, ...]:
            if state["holder"] == client:
                return (Badge("lock", "holds", Tone.STRONG),)
            if client in state["asked"]:
                return (Badge("lock", "waits", Tone.PENDING),)
            return (Badge("lock", "idle", Tone.ABSENT),)

        given = "the lock is free" if state["granted"] is None else f"the lock is client {state['granted']}'s"
        rows = tuple(Row(str(client), f"client {client}", badges=badges(client)) for client in range(count))
        return Picture(rows, (Box("server", SERVER.name, None, (Fact("lock", given),)),), ()), None


locks = Protocol(
    "locks",
    Locks,
    title="a lock service",
    source="none",
    constants=(clients,),
    initial=lambda s: None,
    pictures=LockPictures(),
)


@locks.action(
    says=lambda t: f"client {t.client} asks for the lock",
    messages=(Tells("client", SERVER, "may I?", Course.DEPARTS, "lock"),),
)
def ask(s: Locks, client: Client) -> None:
    """Nobody is declared to act: it is whom the first parameter names."""
    require("idle", ~s.asked.contains(client) & (s.granted != client))
    s.asked = s.asked.add(client)


@locks.action(
    says=lambda t: f"the server gives client {t.client} the lock",
    actor=SERVER,
    messages=(
        Tells("client", SERVER, "may I?", Course.ARRIVES, "lock"),
        Tells(SERVER, "client", "it is yours", Course.DEPARTS, "lock", is_late=True),
    ),
)
def grant(s: Locks, client: Client) -> None:
    require("asked", s.asked.contains(client))
    require("free", s.granted.is_none)
    s.asked = s.asked.remove(client)
    s.granted = client


@locks.action(
    says=lambda t: f"client {t.client} hears that it has the lock",
    actor="client",
    messages=(Tells(SERVER, "client", "it is yours", Course.ARRIVES, "lock"),),
)
def hold(s: Locks, client: Client) -> None:
    require("granted", s.granted == client)
    require("news", s.holder.is_none)
    s.holder = client


@locks.action(
    says=lambda t: f"client {t.client} restarts", actor="client", fault=Fault.RESTARTS, messages=(Ends("client"),)
)
def restart(s: Locks, client: Client) -> None:
    require("takes part", s.asked.contains(client) | (s.granted == client))
    s.asked = s.asked.remove(client)


def run_of(*labels: str) -> tuple[Question, Run]:
    """A run by the beginnings of its actions' labels."""
    instance = locks.instantiate({"clients": 2})
    codes = instance.schema.unpack(instance.initial[0])
    states, actions = [instance.initial[0]], []
    for label in labels:
        step = next(item for item in instance.enabled_actions(codes) if item.label.startswith(label))
        codes = instance.fire(step, codes)
        states.append(instance.schema.pack(codes))
        actions.append(step)
    return Question(instance, ()), Run(tuple(states), tuple(actions))


LABELS = ("Ask(client=0", "Ask(client=1", "Grant(client=1", "Restart(client=0", "Hold(client=1")
"""A run in which a request ends with its client, and an answer is late."""
