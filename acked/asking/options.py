"""What the options of commands have in common: the types of their values, and what they say on stderr."""

from __future__ import annotations

import re
import time
from typing import Any

import click

STARTED = time.perf_counter()
FORMATS = click.Choice(["text", "json"])


class Paragraphs(click.Group):
    """A group whose help keeps the examples as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"  {line}\n" if line else "\n")


class MemorySize(click.ParamType[int]):
    """A number of bytes such as 800MB or 4GiB."""

    name = "size"
    _UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(value), re.IGNORECASE)
        size = float(match[1]) * self._UNITS[match[2].upper()] if match else 0
        if not 1 <= size < 1 << 62:
            self.fail(f"{value!r} is no amount of memory; write, say, 800MB or 4GB", param, ctx)
        return int(size)


class Binding(click.ParamType[tuple[str, Any]]):
    """NAME=VALUE: a number, true or false, or the name of a choice."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, separator, text = (part.strip() for part in str(value).partition("="))
        if not separator or not name or not text:
            self.fail(f"{value!r} binds no constant; write, say, replicas=2", param, ctx)
        if re.fullmatch(r"-?\d{1,18}", text):
            return name, int(text)
        return name, {"true": True, "false": False}.get(text, text)


class KeyValue(click.ParamType[tuple[str, str]]):
    """KEY=VALUE."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, separator, text = str(value).partition("=")
        if not separator or not name.strip():
            self.fail(f"{value!r} is no setting; write, say, spark.executor.memory=2g", param, ctx)
        return name.strip(), text.strip()


def say(text: str) -> None:
    click.echo(text, err=True)


def warn_without_cache() -> None:
    """Says why the usual place for the cache is not used; `ConfigurationError` if the chosen one must not be."""
    from acked.checker.cache import cache_folder, why_no_cache

    if cache_folder() is None and (reason := why_no_cache()):
        say(f"warning: {reason}")
