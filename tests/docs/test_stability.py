"""The page of what users script against has every exit code, every format of a document, and its commands exist."""

from __future__ import annotations

import re

from acked.base.errors import ExitCode
from acked.base.files import ROOMS
from tests.places import CHECKOUT
from tools.parts.commands import commands

PAGE = (CHECKOUT / "docs" / "stability.md").read_text("utf-8")
OF_THE_CACHE = {
    *("acked-all-constants/1", "acked-answer/1", "acked-cache/2", "acked-gallery/1", "acked-question/3"),
    *("acked-shipped/1", "acked-text/1"),
}
"""Formats of entries that only the version that wrote them reads."""


def test_the_page_explains_every_exit_code() -> None:
    explained = re.findall(r"^\| (\d+) \| .{8,} \|$", PAGE, re.MULTILINE)
    assert [int(code) for code in explained] == [int(code) for code in ExitCode]


def test_the_page_has_every_format_that_the_code_writes_or_reads() -> None:
    rooms = [CHECKOUT / room for room in ROOMS] + [CHECKOUT / "acked" / name for name in ("commands", "asking", "explorer")]
    texts = [path.read_text("utf-8") for room in rooms for path in room.rglob("*.py")]
    written = {name for text in texts for name in re.findall(r"""["'](acked-[a-z-]+/\d+)["']""", text)}
    assert written > OF_THE_CACHE
    assert set(re.findall(r"`(acked-[a-z-]+/\d+)`", PAGE)) == written - OF_THE_CACHE


def test_the_commands_of_the_page_and_their_options_are_there() -> None:
    known = {path.removeprefix("acked "): command for path, command, _ in commands()}
    named = re.findall(r"`([a-z]+(?: [a-z-]+)?) (--[a-z-]+)`", PAGE)
    assert len(named) >= 6
    for name, option in named:
        assert any(option in item.opts for item in known[name].params), f"{name} {option}"
