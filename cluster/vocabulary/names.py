"""What an unknown name of a setting seems to mean, and whether a file says anything that is Kafka's.

The names that Kafka has, those that other clients and tools have for the same, and resemblance.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import IMAGE, OLDEST, REPLICATION_FACTOR, STATED
from acked.cluster.vocabulary.keys import KEYS

MAX_UNKNOWN = 1000
"""Unknown names that are looked at: a file with more of them is not Kafka's."""

SILENT = frozenset({keys.ISOLATION, keys.OFFSET_RESET, keys.AUTO_COMMIT, keys.GROUP_INSTANCE})
"""Settings that are read and change no answer: to misspell one of them costs a warning, not an answer."""

DECIDING = tuple(key for key in KEYS if key not in SILENT and key not in (IMAGE, STATED, OLDEST))
"""Settings that can turn an answer: misspelling one of them would yield a wrong answer."""

_OTHER_WORDS = {
    "request.required.acks": keys.ACKS,  # Kafka's producer of 0.8, librdkafka
    "message.send.max.retries": keys.RETRIES,  # Kafka's producer of 0.8, librdkafka
    "max.in.flight": keys.IN_FLIGHT,  # librdkafka
    "max.in.flight.requests": keys.IN_FLIGHT,
    "required.acks": keys.ACKS,
    "idempotence": keys.IDEMPOTENCE,
    "idempotent": keys.IDEMPOTENCE,
    "min.isr": keys.MIN_ISR,
    "insync.replicas": keys.MIN_ISR,
    "unclean.leader.election": keys.UNCLEAN,
    "replicas": REPLICATION_FACTOR,
    "rf": REPLICATION_FACTOR,
}
"""What else the settings that decide are called."""

_IN_OTHERS = (
    keys.MIN_ISR, keys.UNCLEAN, keys.IDEMPOTENCE, keys.IN_FLIGHT, keys.FLUSH_MESSAGES, keys.IBP, keys.ELR, keys.SELECTOR,
    keys.DEFAULT_FACTOR,
)  # fmt: skip
"""Names so long that one which ends with them means them: `broker.config.min.insync.replicas`."""

_PRODUCERS = (keys.ACKS, keys.RETRIES, keys.TRANSACTIONAL_ID)
"""Names so short that they are meant only behind `producer`: `spring.kafka.producer.acks`."""

_NEVER = ("confluent.", "topic.creation.", "listener.name.")
"""Beginnings of names that other parts of a platform have, which may end as they like."""

_LIKENESS = 0.84


@cache
def known_names() -> frozenset[str]:
    """Names that Kafka has, as far as they could be mistaken for misspelt ones."""
    return read_names("names.txt") | KEYS.keys()


def read_names(file: str) -> frozenset[str]:
    """The names of settings in one of the lists beside this module."""
    text = Path(__file__).with_name(file).read_text("utf-8")
    return frozenset(name for line in text.splitlines() if not line.startswith("#") for name in line.split())


def is_known(name: str) -> bool:
    """Whether Kafka has a setting of that name, or files of its tools say this by another name."""
    return name in known_names() or name.startswith(("listener.name.", "sasl.", "ssl."))


def likely_setting(name: str) -> str | None:
    """The setting of `KEYS`, or of the quorum, that an unknown name seems to mean; None if Kafka has it or nothing is near.

    Names as environment variables, Terraform, Spring and other clients have them are recognised.
    """
    if is_known(name):
        return None
    plain = _plain(name)
    for candidate in (plain, plain.removeprefix("kafka."), plain.removeprefix("kafka.cfg.")):
        if candidate in known_names():
            return candidate if candidate in KEYS else None
        if candidate in _OTHER_WORDS:
            return _OTHER_WORDS[candidate]
    return _ending(plain) or _near(plain)


def likely_setting_elsewhere(name: str, path: Sequence[str]) -> str | None:
    """The setting that a name seems to mean which stands under the keys `path`, where settings are not read.

    Names as short as `retries` mean Kafka's only where a part of the path is about Kafka or a producer.
    """
    plain = _plain(name)
    if plain in known_names() and plain not in KEYS:
        return None
    for key in (*_IN_OTHERS, REPLICATION_FACTOR):
        if plain == key or (key != REPLICATION_FACTOR and plain.endswith(f".{key}") and not plain.startswith(_NEVER)):
            return key
    about = " ".join((*path, name)).lower()
    if "kafka" in about or "producer" in about:
        for key in _PRODUCERS:
            if plain == key or plain.endswith(f".{key}"):
                return key
        if plain in _OTHER_WORDS and plain != "replicas":
            return _OTHER_WORDS[plain]
    near = _near(plain) if _LIKELY.search(plain) else None
    return near if near in (*_IN_OTHERS, REPLICATION_FACTOR) else None


_LIKELY = re.compile("isr|sync|idempot|uncl|flight|flush|broker|leader|replic")
"""What a name that is near one of `_IN_OTHERS` has in it; comparing all names of a large file would take long."""


def _plain(name: str) -> str:
    """`KAFKA_MIN_ISR`, `"minInsyncReplicas"` and `min-insync-replicas` in lower case with dots."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", ".", name.strip().strip("\"'`"))
    return re.sub(r"[_\-. ]+", ".", apart).strip(".").lower()


def _ending(plain: str) -> str | None:
    if plain.startswith(_NEVER):
        return None
    for key in _IN_OTHERS:
        if plain.endswith(f".{key}"):
            return key
    parts = plain.split(".")
    for key in _PRODUCERS:
        if plain.endswith(f".{key}") and "producer" in parts:
            return key
    return keys.ACKS if parts[-1] == keys.ACKS and _ABOUT_PRODUCERS.search(plain) else None


_ABOUT_PRODUCERS = re.compile("kafka|producer|outgoing|messaging|required")
"""What a name that ends with `acks` has in it where a producer's are meant, if with a slip."""


def _near(plain: str) -> str | None:
    edited = next((key for key in (*KEYS, *sorted(keys.QUORUM | keys.OF_COORDINATORS)) if _is_one_edit(plain, key)), None)
    edited = edited or next((key for name, key in _OTHER_WORDS.items() if len(name) > 8 and _is_one_edit(plain, name)), None)
    if edited is not None:
        return edited
    close = difflib.get_close_matches(plain, KEYS, n=1, cutoff=_LIKENESS)
    if not close:
        return None
    closest = difflib.get_close_matches(plain, sorted({*close, *known_names()}), n=1, cutoff=_LIKENESS)[0]
    return closest if closest in KEYS else None


def _is_one_edit(first: str, second: str) -> bool:
    """Whether one letter is missing, added or another, or two stand in the wrong order."""
    while first and second and first[0] == second[0]:
        first, second = first[1:], second[1:]
    while first and second and first[-1] == second[-1]:
        first, second = first[:-1], second[:-1]
    return max(len(first), len(second)) <= 1 or (len(first) == 2 and first == second[::-1])


@cache
def _naming() -> re.Pattern[str]:
    """A setting that decides, in its own spelling or that of the environment, with a sign behind it that gives it a value."""
    words = "|".join(sorted(map(re.escape, DECIDING), key=len, reverse=True))
    variables = "|".join(sorted((key.replace(".", "_").upper() for key in DECIDING), key=len, reverse=True))
    prefixes = r"(?:[A-Z]+_)*(?:KAFKA_(?:CFG_)?|PRODUCER_)"
    return re.compile(rf"(?<![\w.])(?:(?P<name>{words})|{prefixes}(?P<variable>{variables}))[\"'`]?\s*[=:]")


@cache
def _anywhere() -> re.Pattern[str]:
    words = {key for key in (*_IN_OTHERS, REPLICATION_FACTOR) if key != keys.SELECTOR}
    return re.compile("|".join(re.sub(r"\\\.", "[._-]?", re.escape(word)) for word in sorted(words)), re.IGNORECASE)


def names_setting(text: str) -> bool:
    """Whether the name of a setting that decides stands anywhere in a text, in any spelling."""
    return _anywhere().search(text) is not None or setting_within(text) is not None


def setting_within(text: str) -> str | None:
    """The setting that decides and that a text names without being the line of a setting itself.

    `KAFKA_MIN_INSYNC_REPLICAS=1`, `--override min.insync.replicas=1`, or its name and nothing else.
    """
    if text.strip() in DECIDING:
        return text.strip()
    found = _naming().search(text)
    return None if found is None else (found["name"] or found["variable"]).lower().replace("_", ".")
