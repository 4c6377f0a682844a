"""Asking a running cluster for what it is set to: read only, with a bound of requests and of time.

A client's properties as librdkafka takes them, the questions that are asked, and what became of each. What brokers answer is
read by a library in C, which ends its process where an answer is malformed enough: `ask_apart` has that end the asking alone.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from acked.audit.clusters.live import (
    NOT_RUNNING,
    LiveBroker,
    LiveCluster,
    LivePartition,
    LiveTopic,
    LiveValue,
)
from acked.audit.formats.parts.properties import property_entries
from acked.base.bounds import threads
from acked.base.errors import AckedError, ConfigurationError, SystemFailure
from acked.base.files import read_text
from acked.base.names import near
from acked.base.optional import optional_packages
from acked.base.processes import Done, Limits, Lost, Note, ProcessPool, Service
from acked.cluster.vocabulary import keys

if TYPE_CHECKING:
    from concurrent.futures import Future

    from confluent_kafka.admin import AdminClient

    from acked.audit.commands.requests import Clock, Eligible, Moving

T = TypeVar("T")

Settings = tuple[LiveValue, ...]
"""What a broker or a topic is set to."""

SECONDS = 30.0
"""How long all questions together may take, unless the user says otherwise."""

_FIRST_ANSWER = 10.0
"""How long of it a cluster may say nothing at all, unless the user says how long it may take."""

_SILENCE = 3.0
"""Seconds after which it is told that there is no answer yet."""

MAX_BROKERS, MAX_TOPICS = 500, 20_000
"""More than these are not asked about: a request for each broker, and one for a hundred topics."""

_PATIENCE = 1.0
"""Seconds after which it is looked why there is no first answer yet."""

_AT_ONCE, _UNDER_WAY = 100, 4
"""Topics whose settings are asked for in one request, and such requests that are sent before an answer is read."""

_AS_THEY_ARE = (
    "security.protocol", "sasl.mechanism", "sasl.mechanisms", "sasl.username", "sasl.password", "ssl.ca.location",
    "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem", "ssl.key.password",
    "ssl.endpoint.identification.algorithm", "ssl.cipher.suites", "client.id", "enable.ssl.certificate.verification",
    "sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab",
)  # fmt: skip
"""Properties that mean the same to librdkafka. No others are passed on: some of librdkafka's load or run programs."""

_PEM = {"ssl.truststore.location": "ssl.ca.location", "ssl.truststore.certificates": "ssl.ca.pem",
        "ssl.keystore.key": "ssl.key.pem", "ssl.keystore.certificate.chain": "ssl.certificate.pem"}  # fmt: skip
"""Java's names for files and texts in PEM."""

_PASSED_OVER = ("bootstrap.servers", "ssl.truststore.type", "ssl.keystore.type", "request.timeout.ms",
                "default.api.timeout.ms", "retries", "key.deserializer", "value.deserializer", "group.id")  # fmt: skip
"""What a client's file may have besides, and does not matter here."""

_SOURCES = {
    "DYNAMIC_TOPIC_CONFIG": "dynamic",
    "DYNAMIC_BROKER_CONFIG": "dynamic",
    "DYNAMIC_DEFAULT_BROKER_CONFIG": "dynamic for all brokers",
    "STATIC_BROKER_CONFIG": "static",
    "DEFAULT_CONFIG": "default",
}
_OWN = "DYNAMIC_TOPIC_CONFIG"


# -- the client's properties ----------------------------------------------------------------------------------------------


def client_properties(path: Path | None) -> dict[str, str]:
    """What a file of Java's client properties (`--command-config`) says, as librdkafka takes it.

    `ConfigurationError` names what cannot be taken over, and never a secret.
    """
    if path is None:
        return {}
    found: dict[str, str] = {}
    entries = {entry.key: entry for entry in property_entries(str(path), read_text(path, "client properties"))}
    for key, entry in entries.items():
        if key in _AS_THEY_ARE:
            found[{"sasl.mechanism": "sasl.mechanisms"}.get(key, key)] = entry.value
        elif key in _PEM:
            kind = entries.get(key.replace("location", "type").replace("certificates", "type"))
            if key == "ssl.truststore.location" and (kind is None or kind.value.upper() != "PEM"):
                raise ConfigurationError(
                    f"{entry.where}: a truststore of Java's cannot be read here; export its certificates as PEM and write "
                    "ssl.truststore.type=PEM, or ssl.ca.location"
                )
            found[_PEM[key]] = entry.value
        elif key == "sasl.jaas.config":
            found.update(_jaas(entry.where, entry.value))
        elif key not in _PASSED_OVER:
            known = (*_AS_THEY_ARE, *_PEM, "sasl.jaas.config")
            raise ConfigurationError(f"{entry.where}: {key} is not taken over from a client's properties{near(key, known)}; "
                                     "remove it, or write what librdkafka calls it")  # fmt: skip
    return found


def _jaas(where: str, text: str) -> dict[str, str]:
    """User and password of the modules that have them."""
    import re

    values = dict(re.findall(r"(\w+)\s*=\s*\"((?:[^\"\\]|\\.)*)\"", text))
    if not re.search(r"\.(?:Plain|Scram)LoginModule\s", text) or not {"username", "password"} <= values.keys():
        raise ConfigurationError(f"{where}: of sasl.jaas.config only PlainLoginModule and ScramLoginModule with username and "
                                 "password are understood; write sasl.username and sasl.password")  # fmt: skip
    return {"sasl.username": values["username"], "sasl.password": values["password"]}


# -- asking ---------------------------------------------------------------------------------------------------------------


def ask_cluster(
    address: str,
    properties: Mapping[str, str],
    seconds: float | None = None,
    topic: str | None = None,
    with_moves: bool = False,
    note: Callable[[object], None] = lambda said: None,
) -> LiveCluster:
    """What the cluster at `HOST:PORT` says of its brokers, topics and features; of `topic` alone, if one is named.

    It is asked `with_moves` which partitions are being reassigned, and for the controllers' quorum. Without, their old and
    new replicas are all replicas. While nobody answers, that is noted as a sentence.

    `SystemFailure` if nobody answers; what one broker or topic does not say is a failure of that one.
    """
    from acked.audit.commands import requests

    host_and_port(address.partition(",")[0])
    began = time.monotonic()
    clock = requests.Clock(began + (seconds or SECONDS))
    admin, listed = _connect(address, properties, requests.Clock(began + (seconds or _FIRST_ANSWER)), note)
    topics = {name: found for name, found in listed.topics.items() if topic is None or name == topic}
    if topic is not None and (topic not in topics or topics[topic].error is not None):
        raise ConfigurationError(f"the cluster at {address} lists no topic {topic!r}{near(topic, listed.topics)}")
    if len(topics) > MAX_TOPICS or len(listed.brokers) > MAX_BROKERS:
        raise ConfigurationError(f"the cluster at {address} has {len(topics):,} topics and {len(listed.brokers):,} brokers, "
                                 f"more than {MAX_TOPICS:,} or {MAX_BROKERS:,}; name a --topic")  # fmt: skip
    members = {replica for found in topics.values() for part in found.partitions.values() for replica in part.replicas}
    numbers = sorted({*listed.brokers, *members})
    running = [number for number in numbers if number in listed.brokers]
    # All that the library asks is under way while what it does not know is asked for, which is asked together, too; a
    # controller that is slow is waited for last.
    of_racks = admin.describe_cluster(request_timeout=clock.left)
    of_brokers = _settings(admin, "BROKER", list(map(str, running)), 1, len(running), clock)
    of_topics = _settings(admin, "TOPIC", sorted(topics), _AT_ONCE, _UNDER_WAY, clock)
    addresses = {number: (listed.brokers[number].host or "", listed.brokers[number].port) for number in running}
    with threads(2) as beside:
        of_moves, of_quorum = None, None
        if with_moves and addresses:
            controller = addresses.get(listed.controller_id) or next(iter(addresses.values()))
            of_moves = beside.submit(requests.moves_under_way, controller, properties, clock)
            of_quorum = beside.submit(requests.quorum_of, controller, properties, clock)
        of_each = requests.features_of_all(addresses, properties, clock)
        answering, features = requests.levels_of(of_each)
        eligible: Eligible = {}
        if answering is not None and features and features.get(keys.ELR):
            short = [name for name, found in topics.items() if any(_is_short(part) for part in found.partitions.values())]
            eligible = requests.eligible_leaders(addresses[answering], properties, short, clock)
        racks = _racks(of_racks, clock)
        told = dict(zip(running, of_brokers, strict=True))
        levels = {number: newest for number, (_, newest) in of_each.items()}
        brokers = [_broker(number, told.get(number, NOT_RUNNING), racks.get(number), levels.get(number)) for number in numbers]
        found = [_topic(topics[name], name, eligible, answer) for name, answer in zip(sorted(topics), of_topics, strict=True)]
        moving = None if of_moves is None else of_moves.result()
        found = [_mark_moves(one, moving or {}) for one in found]
        quorum = None if of_quorum is None else of_quorum.result()
    first, _, _ = address.partition(",")  # It names the cluster at every value, where a list of all brokers would drown it.
    return LiveCluster(first, tuple(brokers), tuple(found), features, quorum, moving is not None)


def _mark_moves(topic: LiveTopic, moving: Moving) -> LiveTopic:
    def mark(part: LivePartition) -> LivePartition:
        if (move := moving.get((topic.name, part.number))) is None:
            return part
        return replace(part, adding=move[0], removing=move[1])

    return replace(topic, partitions=tuple(map(mark, topic.partitions)))


def _is_short(partition: Any) -> bool:
    return len(partition.isrs) < len(partition.replicas)


def _connect(
    address: str, properties: Mapping[str, str], clock: Clock, note: Callable[[object], None]
) -> tuple[AdminClient, Any]:
    """The client with what it was answered first; `SystemFailure` at once where trying again is of no use.

    `clock` is that of the first answer.
    """
    from acked.audit.commands import connection

    with optional_packages():
        from confluent_kafka import KafkaError, KafkaException
        from confluent_kafka.admin import AdminClient

    said: list[KafkaError] = []
    quiet: dict[str, Any] = {
        "log_level": 0, "error_cb": said.append, "socket.connection.setup.timeout.ms": "5000",
        "reconnect.backoff.ms": "20",  # Half of it passes before the first connection, too.
    }  # fmt: skip
    hopeless = (KafkaError._AUTHENTICATION, KafkaError._SSL)
    silent_from = time.monotonic() + _SILENCE

    def reason(otherwise: str) -> str:
        return next((_plain(error.str()) for error in said if error.code() == KafkaError._TRANSPORT), otherwise)

    try:
        admin = AdminClient({"bootstrap.servers": address, **properties, **quiet})
        connection.prepare()
        while True:
            try:
                return admin, admin.list_topics(timeout=min(clock.left, _PATIENCE))
            except KafkaException:
                admin.poll(0)  # Has the library say what it met.
                if clock.is_over or any(error.code() in hopeless for error in said):
                    raise
                if time.monotonic() > silent_from:
                    silent_from = clock.until
                    note(f"the cluster at {address} does not answer yet: {reason('it says nothing')}; it is asked for "
                         f"{clock.left:.0f} s more")  # fmt: skip
    except KafkaException as error:
        if met := [one for one in said if one.code() in hopeless]:
            raise SystemFailure(f"the cluster at {address} cannot be read: {_plain(met[0].str())}; look at "
                                "--command-config") from None  # fmt: skip
        raise SystemFailure(f"the cluster at {address} does not answer: {reason(_reason(error))}; look at "
                            "--bootstrap-server and --command-config, or wait longer with --timeout") from None  # fmt: skip


def _plain(text: str) -> str:
    """What the client library met, without the address before it and the state of its connection behind."""
    import re

    whole = re.sub(r"error:[0-9A-F]+:[\w ]*::", "", " ".join(text.split()))
    before, behind = r"(?:\S+://\S+: |\S+:\d+/\S+: )?(?:Connect to \S+ failed: )?", r"(?: \(after \d+ms in state \w+.*\))?"
    found = re.match(rf"{before}(.*?){behind}$", whole)
    return (found.group(1) if found else whole).rstrip(".")


def host_and_port(address: str) -> tuple[str, int]:
    """Of one address of --bootstrap-server; `ConfigurationError` if it is not HOST:PORT."""
    host, separator, port = address.strip().rpartition(":")
    if not separator or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise ConfigurationError(f"--bootstrap-server {address} is not HOST:PORT; write e.g. localhost:9092")
    return host.strip("[]"), int(port)


def _reason(error: BaseException) -> str:
    """The error's own words, without what is only of use to a programmer."""
    inner = error.args[0] if error.args else error
    text = inner.str() if hasattr(inner, "str") else str(inner)
    return " ".join(str(text).split()) or type(error).__name__


def _answer(asked: Future[T], clock: Clock) -> T | str:
    """The answer, or why there is none."""
    from confluent_kafka import KafkaException

    try:
        return asked.result(timeout=clock.left)
    except KafkaException as error:
        return _reason(error)
    except TimeoutError:
        return "no answer within the time (--timeout)"


def _settings(
    admin: AdminClient, kind: str, names: Sequence[str], at_once: int, under_way: int, clock: Clock
) -> Iterator[Settings | str]:
    """What each resource is set to, or why that is not known; so many requests are sent before the first is read."""
    from confluent_kafka.admin import ConfigResource, ResourceType  # type: ignore[attr-defined]

    def send() -> Iterator[list[Future[Any] | None]]:
        for at in range(0, len(names), at_once):
            resources = [ConfigResource(ResourceType[kind], name) for name in names[at : at + at_once]]
            asked = {} if clock.is_over else admin.describe_configs(resources, request_timeout=clock.left)
            yield [asked.get(resource) for resource in resources]

    later = send()
    sent = deque(islice(later, under_way))

    def read() -> Iterator[Settings | str]:
        while sent:
            for asked in sent.popleft():
                answer = "it was not asked within the time (--timeout)" if asked is None else _answer(asked, clock)
                yield answer if isinstance(answer, str) else _values(answer)
            sent.extend(islice(later, 1))

    return read()


def _racks(asked: Future[Any], clock: Clock) -> dict[int, str | None]:
    found = _answer(asked, clock)
    return {} if isinstance(found, str) else {node.id: node.rack for node in found.nodes}


def _broker(number: int, told: Settings | str, rack: str | None, level: int | None) -> LiveBroker:
    if isinstance(told, str):
        return LiveBroker(number, rack, failure=told, newest_level=level)
    return LiveBroker(number, rack, told, newest_level=level)


def _topic(listed: Any, name: str, eligible: Eligible, told: Settings | str) -> LiveTopic:
    parts = sorted(listed.partitions.values(), key=lambda part: int(part.id))
    partitions = tuple(_partition(part, eligible.get((name, part.id))) for part in parts)
    if listed.error is not None:
        return LiveTopic(name, partitions, failure=str(listed.error))
    return LiveTopic(name, partitions, failure=told) if isinstance(told, str) else LiveTopic(name, partitions, told)


def _partition(part: Any, eligible: tuple[tuple[int, ...], tuple[int, ...]] | None) -> LivePartition:
    elr, led_last = eligible or (None, ())
    leader = part.leader if part.leader >= 0 else None
    return LivePartition(part.id, tuple(part.replicas), tuple(part.isrs), elr, leader, led_last)


def _values(answer: Mapping[str, Any]) -> Settings:
    from confluent_kafka.admin import ConfigSource  # type: ignore[attr-defined]

    found = []
    for key, entry in answer.items():
        source = ConfigSource(entry.source).name
        if entry.value is not None and key in keys.KEYS:  # Most of what a topic has is nothing that is asked about.
            found.append(LiveValue(key, entry.value, _SOURCES.get(source, "unknown"), source == _OWN))
    return tuple(found)


# -- asking in a process of its own -------------------------------------------------------------------------------------


_MEMORY = 4 << 30
"""Bytes of address space, of which most are stacks of threads that are never used."""
_SERVICE = Service("acked.audit.commands.live:Asker", "client library")
_MORE = 15.0
"""Seconds beyond those that the questions may take, for the process to begin and end."""


def ask_apart(
    address: str,
    properties: Mapping[str, str],
    seconds: float | None = None,
    topic: str | None = None,
    with_moves: bool = False,
    on_silence: Callable[[str], None] = lambda text: None,
    meanwhile: Callable[[], object] = lambda: None,
) -> LiveCluster:
    """`ask_cluster` in a process of its own; `SystemFailure` too if that ends or finds no end.

    While the cluster is asked, `meanwhile` is done.
    """
    asking = partial(ask_cluster, address, properties, seconds, topic, with_moves)
    with ProcessPool(Limits(1, (seconds or SECONDS) + _MORE, _MEMORY), _SERVICE) as pool:
        pool.load(None)
        replies = pool.run([asking])
        meanwhile()
        for reply in replies:
            match reply:
                case Done(value=AckedError() as error):
                    raise error
                case Done(value=LiveCluster() as found):
                    return found
                case Note(value=text):
                    on_silence(str(text))
                case Lost(reason=reason):
                    raise SystemFailure(
                        f"the cluster at {address} cannot be read: {reason}, so what it answered is not Kafka's protocol, or "
                        "too much; look at --bootstrap-server"
                    )
    raise SystemFailure(f"the cluster at {address} was not asked; look at --bootstrap-server")


class Asker:
    """Asks in such a process; a refusal is an answer as well."""

    def __init__(self, problem: None, timeout: float) -> None:
        # kio tells hypothesis of its types wherever that is installed, which takes longer than all that is asked here.
        sys.modules["hypothesis"] = None  # type: ignore[assignment]

    def answer(self, ask: Callable[..., LiveCluster], note: Callable[[object], None]) -> LiveCluster | AckedError:
        """What the cluster says, or why it cannot be asked."""
        try:
            return ask(note=note)
        except AckedError as error:
            return error
