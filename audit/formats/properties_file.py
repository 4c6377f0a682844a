"""A file of Java's properties: Kafka's, Spring's or librdkafka's. What shows no other format is one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from acked.audit.formats.clients import client_entries
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.reader import Reader, Sign
from acked.audit.formats.spring import is_spring, spring_properties
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.note import Note, Read, settings_of

_ALIASES = {
    "request.required.acks": keys.ACKS,
    "message.send.max.retries": keys.RETRIES,
    "max.in.flight": keys.IN_FLIGHT,
}
"""Its own names of settings that decide; it knows Kafka's names for them too."""

_OWN = frozenset({
    *_ALIASES,
    "metadata.broker.list", "queue.buffering.max.messages", "queue.buffering.max.kbytes", "queue.buffering.max.ms",
    "queue.buffering.backpressure.threshold", "batch.num.messages", "message.timeout.ms", "enable.gapless.guarantee",
    "statistics.interval.ms", "socket.keepalive.enable", "socket.nagle.disable", "broker.address.family",
    "broker.address.ttl", "log.connection.close", "api.version.request", "enable.partition.eof", "queued.min.messages",
    "topic.metadata.refresh.sparse", "queued.max.messages.kbytes", "delivery.report.only.error", "dr_msg_cb", "dr_cb",
    "debug", "builtin.features", "message.copy.max.bytes", "sticky.partitioning.linger.ms", "enable.auto.offset.store",
    "socket.timeout.ms", "socket.max.fails", "plugin.library.paths", "client.software.name", "go.delivery.reports",
})  # fmt: skip
"""Names that librdkafka has and Kafka's Java client (since its first version of 0.8.2) has not."""

_NAME = "librdkafka"


def kafka_names(read: Iterable[Read]) -> list[Read]:
    """A file's settings by Kafka's names, with librdkafka's defaults for what a producer of it leaves out.

    A file that has no name of librdkafka's own is left as it is: nothing tells whose it is.
    """
    found = [_plain(one) for one in read]
    said = {entry.key: entry.value for entry in settings_of(found)}
    if shown := difflib.get_close_matches(_SCALA, said, n=1, cutoff=_LIKENESS):  # With a slip it is of nobody else.
        shows = next(entry for entry in settings_of(found) if entry.key == shown[0])
        return _of_client("the Scala producer", found, shows, _OF_SCALA)
    own = (entry for entry in settings_of(found) if _is_own(entry.key) and entry.scope in (None, Scope.PRODUCER))
    first = next(own, None)
    if first is None:
        return found
    defaults = {keys.ACKS: "-1", keys.RETRIES: str(keys.MAX_INT), keys.IDEMPOTENCE: "false", keys.IN_FLIGHT: "1000000"}
    if said.get(keys.IDEMPOTENCE, "").lower() == "true" or keys.TRANSACTIONAL_ID in said:
        defaults |= {keys.IDEMPOTENCE: "true", keys.IN_FLIGHT: "5"}
    return _of_client(_NAME, found, first, defaults)


def _is_own(key: str) -> bool:
    """Whether a name is librdkafka's alone; also with a slip, since it would be nobody else's then."""
    if key in _OWN or key in keys.KEYS or len(key) < _LONG:
        return key in _OWN
    return bool(difflib.get_close_matches(key, _OWN, n=1, cutoff=_LIKENESS_OF_OWN))


_LONG = 14
_LIKENESS_OF_OWN = 0.93

_SCALA = "producer.type"
"""A name of the Scala producer (to 0.8.2, gone in 0.11), which had names of librdkafka's, and its own defaults."""

_LIKENESS = 0.84

_OF_SCALA = {keys.ACKS: "0", keys.RETRIES: "3", keys.IDEMPOTENCE: "false", keys.IN_FLIGHT: "1"}
"""By default it waits for nobody, and tries three times (ProducerConfig.scala of 0.8)."""


def _of_client(name: str, found: Sequence[Read], first: SettingEntry, defaults: Mapping[str, str]) -> list[Read]:
    """A client's names as Kafka's, with its defaults, in the line of its `first`, for what is not said."""
    named = [one if isinstance(one, Note) else replace(one, key=_ALIASES.get(one.key, one.key)) for one in found]
    said = {entry.key for entry in settings_of(named)}
    return [*named, *(replace(first, key=key, value=value, scope=Scope.PRODUCER, default_of=name)
                      for key, value in defaults.items() if key not in said)]  # fmt: skip


_OF_TOPICS = (*_ALIASES, keys.ACKS, "message.timeout.ms")


def _plain(one: Read) -> Read:
    """Without the prefix that kcat and old versions have for settings of topics; also before a name with a slip."""
    if isinstance(one, Note):
        return one
    short = one.key.removeprefix("topic.")
    is_meant = short != one.key and difflib.get_close_matches(short, _OF_TOPICS, n=1, cutoff=_LIKENESS)
    return replace(one, key=short) if is_meant else one


# -- a file of any of them ----------------------------------------------------------------------------------------------


def _entries(name: str, text: str) -> list[Read]:
    found = list(property_entries(name, text))
    if any(is_spring(entry.key) for entry in found):
        return spring_properties(name, text)
    return kafka_names(found) if (of_client := client_entries(found)) is None else of_client


READER = Reader("properties", (), lambda source: Sign.LIKELY, _entries)
