"""The losses that are known: from the gallery by the rule of each fix, and from `known.toml` what no such rule mends."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.base.plain import from_plain
from acked.checker.spec.resolve import no_constant, protocol_named
from acked.checker.spec.spec import load_spec
from acked.checker.spec.variants import specs_under
from acked.hunt.known.mend import Bar, Mend
from acked.model.formulas.errors import ModelError
from acked.reports.shell.bundled import bundled_specs, full_name
from acked.reports.tables.findings import read_findings

KNOWN = Path(__file__).with_name("known.toml")


@frozen
class KnownLoss:
    """A loss that is known: what it is called, what prevents it, and the bundled specs that show it.

    `is_open`: it is a defect or a surprise, and not what a setting or a fault is documented to cost. `under` are constants
    that it takes: of a rule those of a release that lacks it. Of `promises` alone it is said to break some; none stands for
    any.
    """

    id: str
    title: str
    protocol: str
    mend: Mend
    specs: tuple[str, ...]
    is_open: bool = False
    promises: tuple[str, ...] = ()
    under: Mapping[str, int] = field(default_factory=dict)

    def concerns(self, protocol: str, constants: Mapping[str, int], promise: str) -> bool:
        """Whether it can explain a loss under these constants: they are not mended yet."""
        if protocol != self.protocol or (self.promises and promise not in self.promises):
            return False
        if any(constants[name] != value for name, value in self.under.items()):
            return False
        return bool(self.mend.bars or self.mend.changes(constants))


def known_losses(without: Iterable[str] = ()) -> tuple[KnownLoss, ...]:
    """All that are known but some, by id: what settings and faults cost, then defects; `ConfigurationError` for an id
    that there is not.
    """
    rows = (*gallery_losses(), *read_losses(KNOWN))
    left_out = set(without)
    for name in left_out - {row.id for row in rows}:
        names = [row.id for row in rows]
        raise ConfigurationError(f"there is no known loss {name!r}{near(name, names)}; choose from {choices(names)}")
    return tuple(sorted((row for row in rows if row.id not in left_out), key=lambda row: row.is_open))


def gallery_losses() -> tuple[KnownLoss, ...]:
    """A row for every bug of the gallery with a fix: the constants in which the two differ prevent it.

    Where a finding's command shows the bug it is called as the finding is, else as the gallery calls it.
    """
    found, findings = [], read_findings(read_text(bundled_specs() / "found.json", "list of findings"))
    shown = {word: one.id for one in findings for word in one.command.split()}
    loaded = {full_name(path): load_spec(path) for path in specs_under(bundled_specs() / "gallery")}
    for name, bug in loaded.items():
        fix = loaded.get(name.removesuffix("-bug") + "-fix")
        if bug.gallery is None or bug.gallery.role != "bug" or fix is None:
            continue
        mend = {key: value for key, value in fix.constants.items() if bug.constants[key] != value}
        lacking = {key: bug.constants[key] for key in mend}
        called = shown.get(name.removeprefix("gallery/"), bug.gallery.id)
        title = bug.title.partition(": ")[2] or bug.title  # Its name stands before, which is what it is called.
        found.append(KnownLoss(called, title, bug.protocol.name, Mend(mend), (name,), is_open=True, under=lacking))
    return tuple(found)


@frozen
class _LossText:
    """A row as the file has it; constants are as specs write them."""

    id: str
    title: str
    protocol: str
    specs: tuple[str, ...]
    open: bool
    promises: tuple[str, ...]
    under: Mapping[str, Any]
    mend: Mapping[str, Any]
    bars: tuple[Bar, ...]

    def loss(self) -> KnownLoss:
        """The loss; `ModelError` or `ConfigurationError` for a name that the protocol does not have."""
        protocol = protocol_named(self.protocol)
        declared = {constant.name: constant for constant in protocol.constants}
        for name in (*self.mend, *self.under):
            if name not in declared:
                raise ConfigurationError(no_constant(protocol, name, declared))
        mend, under = (
            {name: declared[name].read(value) for name, value in given.items()} for given in (self.mend, self.under)
        )
        prevented = Mend(mend, self.bars)
        return KnownLoss(self.id, self.title, protocol.name, prevented, self.specs, self.open, self.promises, under)


_LEFT_OUT: Mapping[str, Any] = {"specs": [], "open": False, "promises": [], "under": {}, "mend": {}, "bars": []}


def read_losses(path: Path) -> tuple[KnownLoss, ...]:
    """The rows of a file; `SpecUnreadable` names the row that is not one."""
    try:
        rows = tomllib.loads(read_text(path, "list of known losses"))["loss"]
    except (tomllib.TOMLDecodeError, KeyError) as error:
        raise SpecUnreadable(f"{path} is not a list of known losses: {error}") from None
    found = []
    for number, row in enumerate(rows, 1):
        try:
            found.append(from_plain(_LossText, {**_LEFT_OUT, **row}).loss())
        except (KeyError, TypeError, ModelError, ConfigurationError) as error:
            raise SpecUnreadable(f"{path}: loss {number} cannot be read: {error}") from None
    return tuple(found)
