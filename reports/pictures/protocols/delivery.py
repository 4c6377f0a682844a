"""The picture of `delivery`: the group, its members, the input with the committed offset, and the results.

Everything in the reports that knows what that protocol's fields mean; it works on decoded states, in which a part that the
configuration turns off has no field.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acked.model.delivery.grouping import GROUP
from acked.model.delivery.protocol import delivery
from acked.model.delivery.state import ADDED, COMMITTED, DONE, GOT, OPEN
from acked.model.delivery.writing import BROKERS, COORDINATOR
from acked.model.language.protocol import Instance
from acked.reports.pictures.picture import (
    Badge,
    Box,
    Cell,
    Explained,
    Fact,
    Look,
    Marker,
    MarkerKind,
    Moment,
    Picture,
    Pictures,
    Row,
    Sign,
    State,
    Tone,
)

STAGES = {GOT: "", COMMITTED: ", offset committed", DONE: ", result written", ADDED: ", result and offset written"}


def _input_row(state: State) -> Row:
    inputs = len(state["written"]) - 1
    cells = tuple(Cell(k, f"i{k}", None, k < state["committed"], state["written"][k] > 0) for k in range(inputs))
    markers = (
        Marker(MarkerKind.OTHER, "committed", state["committed"]),
        Marker(MarkerKind.LOG_END, "log end", inputs),
    )
    return Row("input", "input", cells=cells, markers=markers, badges=tuple(_wrong(state)))


def _results(state: State) -> Row:
    cells = []
    for k, times in enumerate(state["written"][:-1]):
        label = None if not times else f"f(i{k})" if times == 1 else f"f(i{k}) ×2"
        cells.append(Cell(k, label, None, times > 0, times > 0))
    badges = [
        Badge(f"pending {m}", f"f(i{txn['result']}) of member {m} not yet readable", Tone.PENDING)
        for m, txn in enumerate(state.get("txn", ()))
        if txn.get("result") is not None
    ]
    return Row("results", "results", cells=tuple(cells), badges=tuple(badges))


def _wrong(state: State) -> Iterator[Badge]:
    for k in _twice(state):
        yield Badge(f"twice {k}", f"i{k} processed twice", Tone.WRONG)
    for k in _unprocessed(state):
        yield Badge(f"lost {k}", f"i{k} lost", Tone.WRONG)


def _member(state: State, number: int) -> Box:
    mine, name = state["member"][number], f"member {number}"
    txn = state["txn"][number] if "txn" in state else {}
    if not mine["assigned"]:
        facts = [Fact("has", "has no partition")]
    else:
        is_owner = number in _owners(state)
        facts = [Fact("has", "has the partition" if is_owner else "has lost the partition, and does not know")]
        if mine["position"] is not None:
            facts.append(Fact("position", f"reads offset {mine['position']} next"))
        if "initialised" in mine and not mine["initialised"]:
            facts.append(Fact("producer", "producer fenced or not initialised"))
    if mine["record"] is not None:
        sent = ", result written without an answer" if mine.get("sent") else ""
        facts.append(Fact("record", f"processes i{mine['record']}{STAGES[mine['stage']]}{sent}"))
    if txn.get("stage"):
        text = "transaction open" if txn["stage"] == OPEN else "transaction committed, markers on their way"
        facts.append(Fact("txn", text))
    return Box(name, name, None, tuple(facts))


def _owners(state: State) -> list[int]:
    return [m for m in (state["owner"], state.get("also")) if m is not None]


def _group(state: State) -> Box:
    owners = " and ".join(f"member {m}'s" for m in _owners(state))
    owner = f"the partition is {owners}" if owners else "nobody has the partition"
    facts = [Fact("owner", owner), Fact("committed", f"committed offset {state['committed']}")]
    for m, txn in enumerate(state.get("txn", ())):
        if txn.get("offset") is not None:
            facts.append(Fact(f"pending {m}", f"offset {txn['offset']} of member {m} not yet valid"))
    return Box(GROUP.name, GROUP.name, None, tuple(facts))


# -- what exactly violates a property -------------------------------------------------------------------------------


def _twice(state: State) -> list[int]:
    return [k for k, times in enumerate(state["written"]) if times > 1]


def _unprocessed(state: State) -> list[int]:
    coming = [mine["record"] for mine in state["member"]] + [txn.get("result") for txn in state.get("txn", ())]
    return [k for k in range(state["committed"]) if not state["written"][k] and k not in coming]


def _processed_twice(state: State) -> Iterator[str]:
    return (f"the result of input {k} is written twice" for k in _twice(state))


def _never_processed(state: State) -> Iterator[str]:
    return (f"the committed offset is {state['committed']}, and nobody is to process input {k}" for k in _unprocessed(state))


_IN_STATE: dict[str, Callable[[State], Iterator[str]]] = {
    "NoInputTwice": _processed_twice,
    "NoInputLost": _never_processed,
}


class DeliveryPictures(Pictures):
    """The provider of `delivery`."""

    protocol = delivery
    beginning = "initially nobody has the partition, and nothing is processed"
    in_state = _IN_STATE
    look = Look(
        row="log",
        legend=(
            Explained(Sign.RECORD, "record of the input, and its result", "i0"),
            Explained(Sign.ACKED, "its result is written"),
            Explained(Sign.LOG_END, "log end"),
        ),
    )

    def tells(self, field: str) -> bool:
        """The picture shows every field."""
        return True

    def picture(self, instance: Instance, moment: Moment) -> tuple[Picture, None]:
        """The picture of a moment; nothing has to be remembered."""
        state = moment.after
        members = [_member(state, m) for m in range(len(state["member"]))]
        boxes = (*members, _group(state))
        others = (BROKERS.name, *((COORDINATOR.name,) if "txn" in state else ()))
        return Picture((_input_row(state), _results(state)), boxes, (*(box.name for box in boxes), *others)), None


DELIVERY = DeliveryPictures()
