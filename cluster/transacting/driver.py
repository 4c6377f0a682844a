"""The steps of transactions on real brokers: each is a request, one that is held on its way, or a marker that is let go.

Broker 0 is the coordinator of the one transactional id, and leads partition 0; broker 1 leads partition 1. A partition is a
topic of its own; with offsets the last one is `__consumer_offsets`, whose leader is the group's coordinator. What is late
waits in a proxy between client and broker, as the bytes that the client has sent; markers wait between the coordinator and
the partitions' leaders until a step lets them go.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from acked.base.errors import SystemFailure
from acked.base.frozen import frozen
from acked.cluster.nodes.addresses import CLIENT
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.playing.driver import Driver, Parted
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.script import ScriptStep
from acked.cluster.proxies.gate import Gate
from acked.cluster.topics.topic import Topic
from acked.cluster.transacting.compare import TransactionView, name_of, view_of
from acked.cluster.transacting.promises import ABORTED, ASKED, COMMITTED, Answers, broken_promises
from acked.cluster.waiting import NotSeen, wait_for
from acked.cluster.wire.apis import Api, error_name
from acked.cluster.wire.client import Client
from acked.cluster.wire.transactional import (
    CONCURRENT,
    COORDINATOR_AWAY,
    Asked,
    Identity,
    add_offsets_request,
    add_request,
    committed_offset,
    describe_id,
    describe_partition,
    end_request,
    init_request,
    offset_request,
    produce_request,
)
from acked.model.transactions.settings import TV2, offsets

COORDINATOR, TRANSACTIONAL_ID, LOG = 0, "played", "__transaction_state"
GROUP, INPUT, OFFSETS = "group", "input", "__consumer_offsets"
TIMEOUT_MS = 600_000
"""transaction.timeout.ms: so long that nothing ends by it; brokers allow up to 15 minutes."""
HANGS_FOR = 5.0
"""After the last step markers are let go, and what is open after so many seconds, though nobody is to end it, hangs."""
NOT_DONE = ("PrepareCommit", "PrepareAbort")


@frozen
class _Late:
    """A request on its way: what was asked, on which connection, the gate that holds it, and what it is in words."""

    asked: Asked
    client: Client
    gate: Gate
    words: str


class TransactionsDriver(Driver[TransactionView, Answers]):
    """Leads a coordinator, leaders of partitions, and clients with one transactional id."""

    def __init__(self, prepared: PreparedRun, cluster: Cluster, topic: str, seconds: float) -> None:
        self.cluster, self.seconds = cluster, seconds
        constants = prepared.question.instance.constants
        self.has_offsets = bool(constants[offsets.name])
        self.is_v2 = prepared.setting.transaction_version == TV2
        results = range(prepared.setting.replicas - self.has_offsets)
        self.topics = (*(f"{topic}-{p}" for p in results), *((OFFSETS,) if self.has_offsets else ()))
        self._log, self._ledgers = Topic(cluster, LOG), [Topic(cluster, name) for name in self.topics]
        self._fates: dict[int, str] = {}
        self._inputs: dict[int, int] = {}
        """With offsets, by transaction the input that it has read: where its instance was told to go on."""
        self._positions: dict[int, int] = {}
        self._known: dict[int, Identity] = {}
        self._late: dict[str, _Late] = {}
        self._markers: dict[int, Gate] = {}

    # -- before and after -------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Creates the coordinator's log and the partitions, and has markers wait from now on."""
        compacted = {"cleanup.policy": "compact"}
        self._log.create([COORDINATOR], compacted)
        if self.has_offsets:
            Topic(self.cluster, INPUT).create([COORDINATOR])
        for p, topic in enumerate(self._ledgers):
            topic.create([p], compacted if topic.name == OFFSETS else {})
            self._markers[p] = self.cluster.network.hold(COORDINATOR, p, Api.WRITE_TXN_MARKERS)
        for topic in (self._log, *self._ledgers):
            topic.begin_lines()
        wait_for(self._is_coordinator, "the transaction coordinator", self.seconds, self.cluster.check)

    def _is_coordinator(self) -> bool:
        with self.cluster.client(COORDINATOR, self.seconds) as ask:
            return describe_id(ask, TRANSACTIONAL_ID)[0] == 0

    def close(self) -> None:
        for late in self._late.values():
            late.client.close()
        self.cluster.network.lift()

    def observe(self) -> TransactionView:
        with self.cluster.client(COORDINATOR, self.seconds) as ask:
            error, coordinator = describe_id(ask, TRANSACTIONAL_ID)
        producer = next((one.producer for one in self._known.values()), -1)
        ledgers = []
        for p, topic in enumerate(self.topics):
            with self.cluster.client(p, self.seconds) as ask:
                refused, ledger = describe_partition(ask, topic, producer)
            error = error or refused
            ledgers.append(ledger)
        if error:
            raise SystemFailure(f"transactions are not described: {error_name(error)}")
        return view_of(coordinator, tuple(ledgers), self.topics)

    def lines(self) -> tuple[str, ...]:
        return tuple(line for topic in (self._log, *self._ledgers) for line in topic.new_lines())

    def losses(self) -> tuple[str, ...]:
        return tuple(line for topic in (self._log, *self._ledgers) for line in topic.losses())

    def answers(self) -> Answers:
        return Answers(dict(self._fates), dict(self._inputs) if self.has_offsets else None)

    def broken_promises(self, moments: Sequence[TransactionView]) -> Mapping[str, bool]:
        return broken_promises(moments[-1], self.answers())

    def end(self) -> TransactionView:
        """Lets markers go until no transaction is in its markers, then looks whether what is open stays so."""
        for gate in self._markers.values():
            gate.lift()

        def look() -> TransactionView | None:
            seen = self.observe()
            return None if seen.state in NOT_DONE else seen

        with suppress(NotSeen):
            wait_for(look, "the end of the transaction", self.seconds, self.cluster.check)
        last, begun = self.observe(), time.monotonic()
        while self.broken_promises([last])["NoHangingTransaction"] and time.monotonic() - begun < HANGS_FOR:
            time.sleep(0.5)
            last = self.observe()
        return last

    # -- steps ------------------------------------------------------------------------------------------------------------

    def perform(self, step: ScriptStep) -> None:
        STEPS[step.action](self, step)

    def _begin(self, step: ScriptStep) -> None:
        if self.has_offsets:
            self._inputs[step.arguments["txn"]] = self._positions.get(step.arguments["producer"], 0)

    def _init(self, step: ScriptStep, named: bool = False) -> None:
        i = step.arguments["producer"]
        self._known[i] = self._result(COORDINATOR, self._initializing(i, named), f"InitProducerId of producer {i}")

    def _initializing(self, i: int, named: bool = True) -> Asked:
        return init_request(TRANSACTIONAL_ID, TIMEOUT_MS, self._known.get(i) if named else None)

    def _init_aborts(self, step: ScriptStep, named: bool = False) -> None:
        i = step.arguments["producer"]
        error, _ = self._answer(COORDINATOR, self._initializing(i, named), COORDINATOR_AWAY)
        if error != CONCURRENT:
            raise Parted(f"InitProducerId of producer {i} is answered with {error_name(error)}, not CONCURRENT_TRANSACTIONS")

    def _add(self, step: ScriptStep) -> None:
        i, p = step.arguments["producer"], step.arguments["partition"]
        if not self.is_v2:  # Else the partition's leader adds it.
            self._result(COORDINATOR, self._adding(i, p), f"adding partition {p}")

    def _adding(self, i: int, p: int) -> Asked:
        if self.topics[p] == OFFSETS:
            return add_offsets_request(TRANSACTIONAL_ID, self._known[i], GROUP)
        return add_request(TRANSACTIONAL_ID, self._known[i], self.topics[p])

    def _fetch_offset(self, step: ScriptStep) -> None:
        wanted = step.after["producer"][step.arguments["producer"]]["position"]
        last: list[tuple[int, int]] = []

        def look() -> bool:
            with self.cluster.client(len(self.topics) - 1, self.seconds) as ask:
                last[:] = [committed_offset(ask, GROUP, INPUT)]
            return last[0][0] not in COORDINATOR_AWAY

        wait_for(look, "the group's coordinator", self.seconds, self.cluster.check)
        error, found = last[0]
        self._positions[step.arguments["producer"]] = found
        if error or found != wanted:
            said = error_name(error) if error else f"offset {found}"
            raise Parted(f"the group's coordinator answers with {said}, and in the model with offset {wanted}")

    def _produce(self, step: ScriptStep) -> None:
        i, p = step.arguments["producer"], step.arguments["partition"]
        self._result(p, self._record(step), f"{name_of(_txn(step))} of producer {i} to partition {p}")

    def _record(self, step: ScriptStep) -> Asked:
        i, p = step.arguments["producer"], step.arguments["partition"]
        numbers = step.before["producer"][i].get("sequence")
        sequence = 0 if self.is_v2 or numbers is None else numbers[p]
        value = name_of(_txn(step))
        if self.topics[p] == OFFSETS:
            offset = self._inputs[_txn(step)] + 1
            return offset_request(TRANSACTIONAL_ID, self._known[i], GROUP, INPUT, offset, value, self.is_v2)
        return produce_request(TRANSACTIONAL_ID, self._known[i], self.topics[p], value, sequence, self.is_v2)

    def _end(self, step: ScriptStep, commits: bool) -> None:
        i, txn = step.arguments["producer"], _txn(step)
        given = self._result(COORDINATOR, self._ending(step, commits), f"EndTxn of producer {i}")
        self._fates[txn] = COMMITTED if commits else ABORTED
        if commits and self.has_offsets:
            self._positions[i] = self._inputs[txn] + 1
        if self.is_v2:
            self._known[i] = given

    def _ending(self, step: ScriptStep, commits: bool) -> Asked:
        if commits:
            self._fates[_txn(step)] = ASKED
        return end_request(TRANSACTIONAL_ID, self._known[step.arguments["producer"]], commits, self.is_v2)

    # -- what is late -----------------------------------------------------------------------------------------------------

    def _delay_init(self, step: ScriptStep) -> None:
        self._delay("init", COORDINATOR, self._initializing(step.arguments["producer"]), "InitProducerId")

    def _delay_add(self, step: ScriptStep) -> None:
        i, p = step.arguments["producer"], step.arguments["partition"]
        if not self.is_v2:
            self._delay("add", COORDINATOR, self._adding(i, p), "AddPartitionsToTxn")

    def _delay_produce(self, step: ScriptStep) -> None:
        self._delay("produce", step.arguments["partition"], self._record(step), name_of(_txn(step)))

    def _delay_end(self, step: ScriptStep, commits: bool) -> None:
        self._delay("end", COORDINATOR, self._ending(step, commits), f"EndTxn ({'COMMIT' if commits else 'ABORT'})")

    def _delay(self, kind: str, broker: int, asked: Asked, words: str) -> None:
        gate = self.cluster.network.hold(CLIENT, broker, asked.api)
        client = self.cluster.client(broker, self.seconds, gated=True)
        asked.send(client)
        gate.wait(self.seconds)
        self._late[kind] = _Late(asked, client, gate, words)

    def _arrives(self, step: ScriptStep, kind: str) -> None:
        late = self._late.pop(kind, None)
        if late is None:
            return  # A client of transaction_version 2 did not send it.
        late.gate.let(seconds=self.seconds)
        error, _ = late.asked.receive(late.client)
        late.client.close()
        late.gate.lift()
        if error and not (kind == "init" and error == CONCURRENT):  # That aborts the open transaction first.
            raise Parted(f"the late {late.words} is refused with {error_name(error)}")

    def _is_lost(self, step: ScriptStep, kind: str) -> None:
        late = self._late.pop(kind, None)
        if late is not None:
            late.gate.close(seconds=self.seconds)
            late.client.close()
            late.gate.lift()

    # -- asking -----------------------------------------------------------------------------------------------------------

    def _answer(self, broker: int, asked: Asked, again: frozenset[int]) -> tuple[int, Identity]:
        """The answer that counts: of these errors a client asks again, for a while."""
        last: list[tuple[int, Identity]] = []

        def look() -> bool:
            with self.cluster.client(broker, self.seconds) as ask:
                asked.send(ask)
                last[:] = [asked.receive(ask)]
            return last[0][0] not in again

        wait_for(look, "an answer that is not “ask again”", self.seconds, self.cluster.check)
        return last[0]

    def _result(self, broker: int, asked: Asked, words: str) -> Identity:
        error, given = self._answer(broker, asked, COORDINATOR_AWAY | {CONCURRENT})
        if error:
            raise Parted(f"{words} is refused with {error_name(error)}")
        return given


def _txn(step: ScriptStep) -> int:
    """The transaction that the step's producer is in."""
    txn: int = step.before["producer"][step.arguments["producer"]]["txn"]
    return txn


_LATE = ("Init", "Add", "Produce", "End")
STEPS: Mapping[str, Callable[[TransactionsDriver, ScriptStep], object]] = {
    "InitProducerId": TransactionsDriver._init,
    "BumpEpoch": partial(TransactionsDriver._init, named=True),
    "AbortOpenTransaction": TransactionsDriver._init_aborts,
    "AbortBeforeBump": partial(TransactionsDriver._init_aborts, named=True),
    "FetchOffset": TransactionsDriver._fetch_offset,
    "Begin": TransactionsDriver._begin,
    "AddPartitionToTxn": TransactionsDriver._add,
    "Produce": TransactionsDriver._produce,
    "ProduceAgain": TransactionsDriver._produce,
    "Commit": partial(TransactionsDriver._end, commits=True),
    **dict.fromkeys(("Abort", "AbortBeforeFailure"), partial(TransactionsDriver._end, commits=False)),
    "WriteMarker": lambda driver, step: driver._markers[step.arguments["partition"]].let(seconds=driver.seconds),
    "DelayInit": TransactionsDriver._delay_init,
    "DelayAdd": TransactionsDriver._delay_add,
    "DelayProduce": TransactionsDriver._delay_produce,
    "DelayCommit": partial(TransactionsDriver._delay_end, commits=True),
    "DelayAbort": partial(TransactionsDriver._delay_end, commits=False),
    **{f"Late{name}Arrives": partial(TransactionsDriver._arrives, kind=name.lower()) for name in _LATE},
    **{f"Late{name}IsLost": partial(TransactionsDriver._is_lost, kind=name.lower()) for name in _LATE},
}
"""The actions of the model that have a step here."""
