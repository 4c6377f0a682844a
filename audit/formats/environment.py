"""Environment variables: of containers that run Kafka, of applications, and files of them.

The images name Kafka's settings each in its own way, and what one of them reads does nothing in another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum, unique
from pathlib import PurePath

from acked.audit.formats.parts.places import Whose, quorum_of_controller
from acked.audit.formats.parts.reader import Reader, Sign, Source
from acked.audit.formats.parts.tree import Field
from acked.audit.formats.spring import spring_variable
from acked.base.errors import SpecUnreadable
from acked.base.frozen import frozen
from acked.cluster.vocabulary import keys
from acked.cluster.vocabulary.entry import Scope, SettingEntry
from acked.cluster.vocabulary.names import DECIDING, likely_setting, likely_setting_elsewhere, setting_within
from acked.cluster.vocabulary.note import Read


@frozen
class Variable:
    """A variable of an environment; a value of None comes from outside."""

    name: str
    value: str | None
    line: int


@unique
class Family(Enum):
    """What a container's image makes of variables."""

    PLAIN = "KAFKA_…"
    BITNAMI = "KAFKA_CFG_…"


_BITNAMI = re.compile(r"(?:^|/)(?:bitnami|bitnamilegacy|bitnamisecure)/kafka(?:[:@]|$)")
_PLAIN = re.compile(
    r"(?:^|/)(?:apache/kafka(?:-native)?|(?:cp-kafka|cp-server|cp-enterprise-kafka|confluent-local)|wurstmeister/kafka)(?:[:@]|$)"
)
_MARKS = frozenset(
    f"{prefix}{name}" for prefix in ("KAFKA_", "KAFKA_CFG_")
    for name in ("NODE_ID", "BROKER_ID", "PROCESS_ROLES", "LISTENERS", "ADVERTISED_LISTENERS", "ZOOKEEPER_CONNECT",
                 "LOG_DIRS", "CONTROLLER_QUORUM_VOTERS", "MIN_INSYNC_REPLICAS", "DEFAULT_REPLICATION_FACTOR",
                 "UNCLEAN_LEADER_ELECTION_ENABLE")
)  # fmt: skip
"""Variables that nobody sets but for a broker."""

_OF_BITNAMI = {"KAFKA_ZOOKEEPER_CONNECT", "KAFKA_BROKER_ID", "KAFKA_ENABLE_KRAFT"}
_OF_CONTROLLERS = frozenset({keys.ROLES, keys.ZOOKEEPER_CONNECT, keys.IBP, keys.METADATA_VERSION})


def family_of(image: str) -> Family | None:
    """What an image makes of variables; None for one that is not known."""
    name = image.strip().lower()
    return Family.BITNAMI if _BITNAMI.search(name) else Family.PLAIN if _PLAIN.search(name) else None


@frozen
class Container:
    """A container by its name, with the line on which it begins, its image, if it names one, and its environment."""

    name: str
    line: int
    image: Field | None
    variables: tuple[Variable, ...]


def container_entries(file: str, container: Container) -> list[Read]:
    """The settings of a container: a broker's, an application's, or none."""
    name, variables, image = container.name, container.variables, container.image
    family = None if image is None else family_of(image.text)
    if family is None and not any(variable.name in _MARKS for variable in variables):
        return list(application_entries(Whose(file, Scope.PRODUCER, name), variables))
    whose = Whose(file, Scope.BROKER, name)
    found = list(broker_entries(whose, variables, family))
    if _is_controller_only(found):
        return list(quorum_of_controller(found))
    runs = () if image is None else whose.image(image.text, image.line)
    return [whose.description(container.line), *runs, *found]


def _is_controller_only(entries: Iterable[SettingEntry]) -> bool:
    """Whether a node is a controller and says nothing else that counts (KRaft's controllers decide unclean elections)."""
    found = {entry.key: entry.value for entry in entries if entry.key in DECIDING or entry.means}
    return found.get(keys.ROLES) == "controller" and found.keys() <= _OF_CONTROLLERS


def broker_entries(whose: Whose, variables: Iterable[Variable], family: Family | None) -> Iterator[SettingEntry]:
    """The settings of a broker's environment; where the image is not known, either spelling, but not both of one setting."""
    said: dict[str, Variable] = {}
    for variable in variables:
        value = f"${{{variable.name}}}" if variable.value is None else variable.value.strip()
        key, of = _setting(variable.name)
        if of is None:
            yield from _other(whose, variable)
        elif family in (None, of) or variable.name in _OF_BITNAMI:
            before = said.setdefault(key, variable)
            if key in DECIDING and before.name != variable.name and before.value != variable.value:
                raise whose.wrong(variable.line, f"{variable.name} and {before.name} (line {before.line}) name one setting; "
                                  "an image reads one of them, leave the other out")  # fmt: skip
            yield whose.entry(key, value, variable.line)
        elif key in DECIDING or likely_setting(key) is not None:
            assert family is not None
            name = f"{variable.name} (this image reads {family.value})"
            yield whose.suspect(name, value, variable.line, likely_setting(key) or key)


def _setting(name: str) -> tuple[str, Family | None]:
    """`KAFKA_CFG_MIN_INSYNC_REPLICAS` and whose spelling it is; an underscore of a name is two, a hyphen three."""
    for prefix, of in (("KAFKA_CFG_", Family.BITNAMI), ("KAFKA_", Family.PLAIN)):
        if name.startswith(prefix) and len(name) > len(prefix):
            rest = name.removeprefix(prefix).lower()
            return re.sub("_+", lambda run: {1: ".", 2: "_"}.get(len(run[0]), "-"), rest), of
    return "", None


def application_entries(whose: Whose, variables: Iterable[Variable]) -> Iterator[SettingEntry]:
    """The settings of a client's environment: Spring's names are read, others only noticed."""
    for variable in variables:
        value = f"${{{variable.name}}}" if variable.value is None else variable.value.strip()
        spring = spring_variable(replace(whose, scope=None), variable.name, value, variable.line)
        if spring is not None:
            yield spring
        else:
            yield from _other(whose, variable)


def _other(whose: Whose, variable: Variable) -> Iterator[SettingEntry]:
    means = likely_setting_elsewhere(variable.name, ()) or _key_behind_prefix(variable.name)
    means = means or setting_within(variable.value or "")
    if means is not None:
        yield whose.suspect(variable.name, variable.value or "", variable.line, means)


def _key_behind_prefix(name: str) -> str | None:
    """The setting behind a prefix that a client's variables have: `KAFKA_ACKS`, `CONNECT_PRODUCER_ACKS`."""
    plain = name.lower().replace("_", ".")
    if "kafka" not in plain and "producer" not in plain:
        return None
    known = (key for key in DECIDING if plain.endswith(f".{key}"))
    return next(known, None)


# -- files --------------------------------------------------------------------------------------------------------------


_ASSIGNS = re.compile(r"(?:export\s+)?([A-Z][A-Z0-9_]*)=")
_OF_KAFKA = re.compile(r"(?:SPRING_)?KAFKA_")


def _recognises(source: Source) -> Sign:
    """By its name, or where every line gives a value to a variable, and one of them is Kafka's."""
    name = PurePath(source.name).name.lower()
    if name.startswith(".env") or name.endswith(".list"):
        return Sign.LIKELY
    is_kafkas = False
    for line in map(str.strip, source.text.splitlines()):
        if line and not line.startswith("#"):
            found = _ASSIGNS.match(line)
            if found is None:
                return Sign.NONE
            is_kafkas = is_kafkas or _OF_KAFKA.match(found[1]) is not None
    return Sign.LIKELY if is_kafkas else Sign.NONE


def _entries(name: str, text: str) -> list[SettingEntry]:
    """A file of variables, as `env_file`, `docker run --env-file` and the shell read it."""
    from io import StringIO

    from dotenv.parser import parse_stream

    found: list[Variable] = []
    for binding in parse_stream(StringIO(text)):
        source = binding.original.string
        line = binding.original.line + len(source) - len(source.lstrip("\r\n"))
        if binding.error:
            raise SpecUnreadable(f"{name}:{line}: {source.strip()[:60]!r} is not NAME=value")
        if binding.key is not None:
            found.append(Variable(binding.key, binding.value, line))
    if any(_setting(variable.name)[1] is not None for variable in found):
        whose = Whose(name, Scope.BROKER)
        entries = list(broker_entries(whose, [item for item in found if item.name.startswith("KAFKA_")], None))
        others = [item for item in found if not item.name.startswith("KAFKA_")]
        return entries + list(application_entries(Whose(name, Scope.PRODUCER), others))
    return list(application_entries(Whose(name, Scope.PRODUCER), found))


READER = Reader("a file of environment variables", (".env",), _recognises, _entries)
