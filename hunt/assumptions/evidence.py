"""Whether Kafka's source forbids what an assumption excludes: read, seen in a log, or not verified, with the place."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from enum import StrEnum, unique
from pathlib import Path
from typing import Any

from acked.base.errors import SpecUnreadable
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.plain import from_plain

EVIDENCE = Path(__file__).with_name("evidence.toml")


@unique
class Basis(StrEnum):
    """How it is known that a broker keeps to an assumption."""

    READ = "source read"
    SEEN = "seen in a log"
    UNVERIFIED = "unverified"


@frozen
class Evidence:
    """What is known of some clauses, `Action: label`, or of a sentence.

    `drop` are the constants, as specs write them, that make the sentence untrue; None if the model has none. `place` is the
    class and method of a release, or the log; `said` what it says there.
    """

    basis: Basis
    place: str
    said: str
    clauses: tuple[str, ...] = ()
    sentence: str = ""
    drop: Mapping[str, Any] | None = None


UNVERIFIED = Evidence(Basis.UNVERIFIED, "", "")


def read_evidence(path: Path = EVIDENCE) -> tuple[Evidence, ...]:
    """The entries of a file; `SpecUnreadable` names the one that is not one."""
    found = []
    try:
        for row in tomllib.loads(read_text(path, "evidence"))["assumption"]:
            found.append(from_plain(Evidence, {"clauses": [], "sentence": "", "drop": None, "place": "", "said": "", **row}))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise SpecUnreadable(f"{path}: assumption {len(found) + 1} cannot be read: {error}") from None
    return tuple(found)


def evidence_of(clause: str, known: tuple[Evidence, ...]) -> Evidence:
    """What is known of a clause; a clause that no entry names is not verified."""
    return next((item for item in known if clause in item.clauses), UNVERIFIED)
