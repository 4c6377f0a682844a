"""What releases of Kafka changed in a protocol's constants: tables of changes, and the settings of a release made from one.

Floor 3.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from acked.base.frozen import frozen
from acked.base.names import near
from acked.base.release import LATEST
from acked.model.formulas.errors import ModelError
from acked.model.language.context import Constant, Setting, known_version

TRANSACTIONAL = (
    "0.11", "0.11.0.2", "1.0", "1.1", "2.0", "2.0.1", "2.1", "2.2", "2.3", "2.4", "2.4.1", "2.5", "2.6", "2.7", "2.8",
    "2.8.1", "3.0", "3.1", "3.2", "3.3", "3.4", "3.4.1", "3.5", "3.5.1", "3.6", "3.7", "3.8", "3.9", "3.9.1", "4.0",
    "4.0.1", "4.1", "4.2", "4.3", "4.4", LATEST,
)  # fmt: skip
"""Releases with transactions at which something changed in some protocol, and those in between, oldest first."""


@frozen
class Change:
    """From a release on a constant has another value; `plane` says with which control plane, None with both."""

    constant: Constant
    since: str
    value: bool | str | int
    source: str
    plane: str | None = None


@frozen
class History:
    """The `versions` that a protocol tells apart, oldest first, and what changed at which.

    The `table` is a file that says by constant, oldest first, from which release on it has which value, and why; a third
    entry names the control plane where only one has it so.
    """

    versions: Sequence[str]
    constants: Sequence[Constant]
    table: Path
    one_plane: str = ""
    """Of a protocol that has no control planes to choose from: why."""

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Every rule and default that a release changed, oldest first for each constant; `ModelError` for what is unknown."""
        known = {constant.name: constant for constant in self.constants}
        table = tomllib.loads(self.table.read_text("utf-8"))
        for name, rows in table.items():
            if name not in known:
                raise ModelError(
                    f"{self.table.name} has [{name}], which is no constant of the protocol{near(name, known)}; declare it "
                    "above the end of its group in the settings beside it"
                )
            for since in rows.keys() - set(self.versions):
                hint = near(since, self.versions)
                raise ModelError(
                    f"{self.table.name} changes {name} in {since}, a release that is not told apart{hint}; name it in the "
                    "versions beside it"
                )
        return tuple(Change(known[name], since, *change) for name, rows in table.items() for since, change in rows.items())

    def changes_of(self, version: str, plane: str | None = None) -> dict[str, Change]:
        """By constant the change that decides it in a release, with its source."""
        at = self.versions.index(version)
        reached = (change for change in self.changes if self.versions.index(change.since) <= at)
        return {change.constant.name: change for change in reached if change.plane in (None, plane)}

    def settings(self, version: str | None, plane: str | None = None) -> dict[str, Setting]:
        """The constants as a release has them, by default the newest; `ModelError` if there is no such release."""
        decided = self.changes_of(known_version(version, self.versions), plane)
        return {name: Setting(change.constant.read(change.value), change.source) for name, change in decided.items()}

    def profile(self, version: str | None, control_plane: str | None) -> dict[str, Setting]:
        """The settings of a release, where there are no control planes to choose from; `ModelError` if one is named."""
        if control_plane is not None:
            raise ModelError(f"{self.one_plane}; remove the control plane")
        return self.settings(version)
