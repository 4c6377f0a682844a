"""A file of Java's properties: Kafka's, Spring's or librdkafka's. What shows no other format is one."""

from __future__ import annotations

from acked.audit.formats.librdkafka import as_kafkas
from acked.audit.formats.parts.properties import property_entries
from acked.audit.formats.parts.reader import Reader, Sign
from acked.audit.formats.spring import is_spring, spring_properties
from acked.cluster.vocabulary.note import Read


def _entries(name: str, text: str) -> list[Read]:
    found = list(property_entries(name, text))
    return spring_properties(name, text) if any(is_spring(entry.key) for entry in found) else as_kafkas(found)


READER = Reader("properties", (), lambda source: Sign.LIKELY, _entries)
