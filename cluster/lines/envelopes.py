"""What stands around a node's lines in files that it did not write itself, and layouts that say the same in another order.

The registry of what is read beside the layout that `acked kafka observe` prints: colours, the JSON lines of Docker and
journald, the prefixes of container runtimes (CRI), `kubectl logs --prefix`, `docker compose logs` and journald, Log4j's
JSON layouts, and the default layout of Strimzi's images. What is none of these stays as it is, and `facts.py` says what is
wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from acked.base.errors import SpecUnreadable

HEAD = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[.,](\d{3}) ([A-Z]+) +\[([^\]]*)\] ([^\s.]+\.\S+) (.*)")
"""The layout that `acked kafka observe` asks for: date with milliseconds, level, thread, logger, which has a dot, message."""
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
_RUNTIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d) (?:stdout|stderr) ([FP])(?:[^ ]*) ")
"""A container runtime's (CRI): F where a line is whole, P where it goes on in the next."""
_OF_POD = re.compile(r"\[(?:pod/)?([^\s\]/]+/[^\s\]]+)\] (?:\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-][\d:]+) )?(?=[^ ])")
_OF_CONTAINER = re.compile(r"([\w.-]+) +\| ")
_JOURNAL = re.compile(
    r"(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?[+-]\d\d:?\d\d) "
    r"\S+ [^\s:\[]+(?:\[\d+\])?: "
)
_STRIMZI = re.compile(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)[.,](\d{3}) ([A-Z]+) +(.*) \(([\w.$]+)\) \[([^\]]*)\]\s*$")
_PLACES = {
    "time": ("@timestamp", "timestamp", "time"),
    "level": ("log.level", "level"),
    "thread": ("process.thread.name", "thread_name", "threadName", "thread"),
    "logger": ("log.logger", "logger_name", "loggerName", "logger"),
    "message": ("message",),
}
"""Where Log4j's JSON layouts have the parts of a line: EcsLayout, LogstashJsonEventLayoutV1, JsonLayout."""
_DEEPEST = 4
"""Envelopes in one another that are opened."""


class Opener:
    """Takes the lines of one file out of what stands around them; `file` is for what is said of it.

    It is called with one line after the other, and gives one for each; a line in parts is where its last part is, and the
    others are empty. A file whose first line that tells stands in nothing is read as it is.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self.is_plain = False
        self._begun = ""
        self._whose: str | None = None

    def __call__(self, text: str) -> str:
        if self.is_plain:
            return text
        found = text
        for _ in range(_DEEPEST):
            if HEAD.match(found):
                break
            opened = self._open(found)
            if opened is None:
                break
            found = opened
        if found is text:
            self.is_plain = HEAD.match(text) is not None
            return text
        whole = self._begun + found
        self._begun = whole if text.endswith("\n") and not whole.endswith("\n") else ""
        return "\n" if self._begun else whole

    def _open(self, text: str) -> str | None:
        """What stands in the outermost envelope; None of none, without an end of the line where it goes on."""
        if "\x1b" in text:
            return _COLOUR.sub("", text)
        if text.startswith("{"):
            return _opened_json(text)
        if found := _RUNTIME.match(text):
            return text[found.end() :] if found[1] == "F" else text[found.end() :].rstrip("\n")
        if found := _OF_POD.match(text) or _OF_CONTAINER.match(text):
            rest = text[found.end() :]
            if HEAD.match(rest):
                self._refuse_others(found[1])
            return rest
        if found := _JOURNAL.match(text):
            return text[found.end() :]
        if found := _STRIMZI.match(text):
            second, ms, level, message, logger, thread = found.groups()
            return f"{second}.{ms} {level} [{thread}] {logger} {message}\n"
        return None

    def _refuse_others(self, whose: str) -> None:
        if self._whose is not None and whose != self._whose:
            raise SpecUnreadable(
                f"{self._file} has lines of {self._whose} and of {whose}; write one file for each node, such as with "
                f"kubectl logs POD, or grep -F {whose}"
            )
        self._whose = whose


def _opened_json(text: str) -> str | None:
    try:
        item = json.loads(text)
    except ValueError:
        return None
    if isinstance(item.get("log"), str):  # Docker's json-file, and collectors that take it up.
        return str(item["log"])
    if isinstance(item.get("MESSAGE"), str):  # journalctl -o json
        return f"{item['MESSAGE']}\n"
    fields = dict(_flat(item))
    told = {name: next((fields[place] for place in places if place in fields), None) for name, places in _PLACES.items()}
    at = _moment(fields, told["time"])
    if at is None or not all(isinstance(told[name], str) for name in ("level", "thread", "logger", "message")):
        return None
    message = str(told["message"]).split("\n")[0]
    return f"{at} {str(told['level']).strip()} [{told['thread']}] {told['logger']} {message}\n"


def _flat(item: Mapping[str, Any], before: str = "") -> list[tuple[str, object]]:
    """The fields of an object, those of objects in it by names with dots."""
    found: list[tuple[str, object]] = []
    for name, value in item.items():
        found += _flat(value, f"{before}{name}.") if isinstance(value, dict) else [(f"{before}{name}", value)]
    return found


def _moment(fields: Mapping[str, object], told: object) -> str | None:
    """Date and time to the millisecond, as the line has them, or as it has the seconds since 1970."""
    seconds, nanos, ms = (fields.get(name) for name in ("instant.epochSecond", "instant.nanoOfSecond", "timeMillis"))
    if isinstance(seconds, int) and isinstance(nanos, int):
        ms = 1000 * seconds + nanos // 1_000_000
    if isinstance(ms, int) and 0 <= ms < 10**14:
        return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d %H:%M:%S}.{ms % 1000:03d}"
    found = re.match(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)[.,](\d{3})", told) if isinstance(told, str) else None
    return None if found is None else f"{found[1]} {found[2]}.{found[3]}"

