"""A working copy of a shipped protocol: its rules as files of the user's own, over the state and the constants as they are.

Because the state stays the shipped one, so do the properties, the pictures, the lemmas and `acked diff` with the original.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

from acked.base.errors import SystemFailure
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.model.language.protocol import Protocol

_RULES = re.compile(
    r"^from acked\.model\.language\.(?:action|protocol) import .*\b(?:action|require|Protocol)\b", re.MULTILINE
)
"""What a module with rules imports; the others of a package have the state, the constants and the words."""


@frozen
class WorkingCopy:
    """The texts of the rules by the path of their file, and what names the copied protocol beside them."""

    texts: dict[Path, str]
    reference: str


def working_copy(protocol: Protocol, name: str) -> WorkingCopy:
    """A protocol's rules under another name: one file where the protocol has one, a package where it has several."""
    identifier = name.replace("-", "_")
    home, variable = _home(protocol)
    text = _rename(_source(home), variable, identifier, name)
    if f"@{variable}.action" in _source(home):  # It adds rules of its own to those that it shares with others.
        return WorkingCopy({Path(f"{identifier}.py"): text}, f"{identifier}.py:{identifier}")
    package = home.__name__.rpartition(".")[0]
    sources = {module.__name__.rpartition(".")[2]: _source(module) for module in _beside(package)}
    rules = {stem: source for stem, source in sources.items() if _RULES.search(source)}
    main = home.__name__.rpartition(".")[2]
    rules[main] = text
    texts = {Path(identifier, f"{stem}.py"): _relative(source, package, set(rules)) for stem, source in rules.items()}
    return WorkingCopy(texts, f"{identifier}/{main}.py:{identifier}")


def example_copy(example: Path, name: str) -> WorkingCopy:
    """An example's file under another name; the example is named as its protocol is."""
    identifier = name.replace("-", "_")
    text = _rename(read_text(example, "example"), example.stem, identifier, name)
    return WorkingCopy({Path(f"{identifier}.py"): text}, f"{identifier}.py:{identifier}")


def _home(protocol: Protocol) -> tuple[ModuleType, str]:
    """The module that makes a shipped protocol, and its name there."""
    for module in [item for name, item in sys.modules.items() if name.startswith("acked.model.")]:
        for variable, value in vars(module).items():
            if value is protocol and f"\n{variable} = Protocol(" in _source(module):
                return module, variable
    raise SystemFailure(f"the source of {protocol.name} is missing from this installation; reinstall acked")


def _beside(package: str) -> Iterator[ModuleType]:
    """The modules of a package, and of packages in it: all go into one folder."""
    return (item for name, item in sorted(sys.modules.items()) if name.startswith(f"{package}."))


def _source(module: ModuleType) -> str:
    try:
        return Path(module.__file__ or "").read_text("utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise SystemFailure(f"the source of {module.__name__} cannot be read: {reason}; reinstall acked") from None


def _rename(text: str, variable: str, identifier: str, name: str) -> str:
    """The text with another name of the variable, and of the protocol that it holds, which says what it is a copy of."""
    lines = text.splitlines(keepends=True)
    found = list(tokenize.generate_tokens(io.StringIO(text).readline))
    named = next(at for at, token in enumerate(found) if token.string == "Protocol" and found[at + 1].string == "(")
    called = next(token for token in found[named:] if token.type == tokenize.STRING)
    # After a dot it is part of another name, such as that of a module.
    names = [token for before, token in pairwise(found) if token.string == variable and before.string != "."]
    changes = [*((token.start, token.string, identifier) for token in names), (called.start, called.string, f'"{name}"')]
    told = next(at for at, token in enumerate(found) if at > named and token.string == "source")
    source = next(token for token in found[told:] if token.type == tokenize.STRING)
    changes.append((source.start, source.string, f'"a copy of {called.string[1:-1]}, whose source is {source.string[1:]}'))
    for (row, column), old, new in sorted(changes, reverse=True):
        line = lines[row - 1]
        lines[row - 1] = line[:column] + new + line[column + len(old) :]
    return "".join(lines)


def _relative(text: str, package: str, copied: set[str]) -> str:
    """The text with imports of the modules that are copied from beside it."""
    modules = "|".join(sorted(copied))
    text = re.sub(rf"^from {re.escape(package)}(?:\.\w+)?\.({modules}) import", r"from .\1 import", text, flags=re.MULTILINE)

    def together(found: re.Match[str]) -> str:
        return f"from . import {found[1]}" if copied.issuperset(re.findall(r"\w+", found[1])) else found[0]

    several = rf"^from {re.escape(package)}(?:\.\w+)? import ([\w, ]+|\([\w,\s]+\))$"
    return re.sub(several, together, text, flags=re.MULTILINE)
