"""Which few lemmas an obligation needs: the file of lemma sets beside the lemmas, and what refutes an obligation.

A lemma set is a hint. Soundness never rests on it: a wrong one leaves an obligation open.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from acked.base.files import PACKAGE, open_file, write_text
from acked.base.frozen import frozen
from acked.base.plain import from_plain
from acked.invariants.proofs import Argument, argument_of
from acked.model.language.protocol import Protocol


def shipped_file(argument: Argument) -> Path:
    """The file of an argument's lemma sets that ships, beside the lemmas."""
    return PACKAGE / "invariants" / argument.cores


def add_older_sets(known: CoreFile, argument: Argument) -> CoreFile:
    """Known lemma sets, with those that steps need under the argument's older rules; nothing if none are known."""
    if not (known.cores and argument.older_cores):
        return known
    older = CoreFile.load(PACKAGE / "invariants" / argument.older_cores)
    return CoreFile(known.fingerprint, {**known.cores, **older.cores})


def add_sets_alike(known: CoreFile, argument: Argument) -> CoreFile:
    """Known lemma sets, and for what is `like` something else the sets of that, with names exchanged."""
    name_of = {other: name for name, other in argument.like.items()}
    made = {}
    for key, core in known.cores.items():
        subject, _, clause = key.partition("|")
        if clause in name_of:
            made[f"{subject}|{name_of[clause]}"] = Core(tuple(name_of.get(one, one) for one in core.lemmas), core.way)
    return CoreFile(known.fingerprint, {**made, **known.cores})


def shipped_sets(protocol: Protocol) -> CoreFile:
    """The lemma sets that ship for a protocol; none if no argument for all constants is known of it."""
    argument = argument_of(protocol)
    return CoreFile() if argument is None else CoreFile.load(shipped_file(argument))


@frozen
class StepCounterexample:
    """A state of a small instance, reachable or not, in which all lemmas hold, and a step of it that breaks a clause.

    `codes` are the state's leaves; `after` is empty if the step leaves a domain.
    """

    constants: Mapping[str, int]
    step: str
    before: dict[str, Any]
    after: dict[str, Any]
    breaks: str
    codes: tuple[int, ...] = ()


@frozen
class Core:
    """The lemmas that an obligation needs, and the number of the way in which the solver proved it with them."""

    lemmas: tuple[str, ...] = ()
    way: int = 0


@frozen
class CoreFile:
    """The lemma sets of a protocol's obligations; `fingerprint` is of the protocol and the lemmas they were found for."""

    fingerprint: str = ""
    cores: Mapping[str, Core] = field(default_factory=dict)

    @staticmethod
    def load(path: Path) -> CoreFile:
        """The file's content; nothing if there is none or it is not of this kind, since a missing hint only costs time."""
        try:
            with open_file(path) as file:
                return from_plain(CoreFile, json.loads(file.read().decode()))
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return CoreFile()

    def save(self, path: Path) -> None:
        """Writes the file, one obligation a line."""
        lines = ",\n".join(
            f'    {json.dumps(key)}: {{"lemmas": {json.dumps(list(core.lemmas))}, "way": {core.way}}}'
            for key, core in self.cores.items()
        )
        text = f'{{\n  "fingerprint": {json.dumps(self.fingerprint)},\n  "cores": {{\n{lines}\n  }}\n}}\n'
        write_text(path, text, "lemma sets")
