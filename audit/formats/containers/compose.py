"""docker-compose: the services that run Kafka, each with its environment, and applications with Spring's variables.

Source: the Compose specification (`environment` as a map or a list, `env_file`, `extends`, `include`, `$$` for a dollar).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from acked.audit.formats.environment import Container, Variable, container_entries
from acked.audit.formats.parts.places import Whose, add_suspects, find_suspects_in
from acked.audit.formats.parts.tree import Field, Fields, Items, Node, Text
from acked.base.errors import SpecUnreadable
from acked.cluster.vocabulary.entry import Scope
from acked.cluster.vocabulary.note import Read, settings_of

_RESOLVED = "audit what `docker compose config` prints, which fills it in"


def is_compose(document: Fields) -> bool:
    """Whether a document has services."""
    services = document.field("services")
    return services is not None and isinstance(services.node, Fields)


def check_services(file: str, document: Fields) -> None:
    """Refuses services by a name with a slip: a chart's values would be read of them, and others of its sections."""
    if is_compose(document):
        return
    for item in document.fields:
        parts = item.node.fields if isinstance(item.node, Fields) else ()
        runs = any(isinstance(one.node, Fields) and one.node.field("image", "build") is not None for one in parts)
        if runs and difflib.get_close_matches(item.key, ["services"], cutoff=_LIKENESS):
            raise SpecUnreadable(f"{file}:{item.line}: {item.key} is no section, and services seems to be meant; write that")


_LIKENESS = 0.8


def compose_entries(file: str, document: Fields) -> list[Read]:
    """The settings of all services, and what seems to be one elsewhere."""
    others = [item for item in document.fields if item.key != "services"]
    found = list(_services(file, document))
    said = {entry.key for entry in settings_of(found)}  # A service may have its own value instead of that of an anchor.
    suspects = [entry for entry in find_suspects_in(Whose(file), others)
                if not (entry.key.startswith("x-") and entry.means in said)]  # fmt: skip
    return add_suspects(found, suspects)


def _services(file: str, document: Fields) -> Iterator[Read]:
    whose = Whose(file)
    for name in _texts(document.field("include")):
        yield whose.import_note(name.value, name.line)
    for service in document.within("services").fields:
        if isinstance(service.node, Fields):
            whose_own = Whose(file, None, service.key)
            found = list(_service(whose_own, service.line, service.node))
            yield from add_suspects(found, find_suspects_in(whose_own, service.node.fields))
        else:
            yield from find_suspects_in(whose, [service], ("services",))


def _service(whose: Whose, line: int, service: Fields) -> Iterator[Read]:
    name = whose.entity or ""
    extends = service.field("extends")
    variables = tuple(_variables(whose, service.field("environment")))
    found = container_entries(whose.file, Container(name, line, service.field("image"), variables))
    is_broker = any(entry.scope is Scope.BROKER for entry in found)
    if extends is not None and (is_broker or "kafka" in name.lower()):
        raise whose.wrong(extends.line, f"the service {name} extends another; {_RESOLVED}")
    yield from found
    if is_broker:
        for text in _texts(service.field("env_file")):
            yield whose.import_note(text.value, text.line)
        for text in _texts(service.field("volumes")):
            source = text.value.split(":")[0]
            if text.value.count(":") and source.endswith((".properties", ".env")):
                yield whose.import_note(source, text.line)


def _variables(whose: Whose, item: Field | None) -> Iterator[Variable]:
    if item is None:
        return
    if isinstance(item.node, Fields):
        for field in item.node.fields:
            if not isinstance(field.node, Text):
                raise whose.wrong(field.line, f"{field.key} is no single value; a variable has one text")
            yield Variable(field.key, None if field.node.is_null else _unescape(field.node.value), field.line)
    elif isinstance(item.node, Items):
        for text in _texts(item):
            name, is_given, value = text.value.partition("=")
            yield Variable(name.strip(), _unescape(value) if is_given else None, text.line)
    else:
        raise whose.wrong(item.line, "environment is neither a map nor a list")


def _unescape(value: str) -> str:
    return value.replace("$$", "$")


def _texts(item: Field | None) -> Iterator[Text]:
    """A text, those of a list, and the paths of its mappings."""
    if item is None:
        return
    nodes: tuple[Node, ...] = item.node.items if isinstance(item.node, Items) else (item.node,)
    for node in nodes:
        if isinstance(node, Text):
            yield node
        elif isinstance(node, Fields):
            path = node.field("path", "source")
            if path is not None and isinstance(path.node, Text):
                target = node.text("target")
                yield Text(f"{path.text}:{target}" if target else path.text, path.line)
