"""Faulty brokers: a release of Kafka of which one place in one class is changed, as `mutants.toml` says."""

from __future__ import annotations

import struct
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acked.cluster.releases.jars import Jars, fetch_jars
from tests.found.playing.java import ASM, compiled, home_with, ran
from tests.places import CHECKOUT, DATA

FILE = CHECKOUT / "tests" / "mutants" / "mutants.toml"
SOURCES = DATA / "java" / "mutants"
KINDS = ("returns", "plus", "jumps", "skips")
_COUNTS = struct.Struct(">qq")


@dataclass(frozen=True)
class Mutant:
    """One place, and what is done there instead. `value` is a number, 1 and 0 for what is true and false, or when a jump is
    taken. `min_isr` is min.insync.replicas of the topic that is exercised, `unseen` says why nothing convicts it.
    """

    name: str
    breaks: str
    owner: str
    method: str
    call: str
    which: int
    among: int
    kind: str
    value: int | str
    every: int
    thread: str
    min_isr: int
    unseen: str

    @property
    def line(self) -> str:
        """As `Mutate.java` reads it."""
        fields = (self.name, self.owner, self.method, self.call, self.which, self.among, self.kind, self.value, self.every)
        return "\t".join(map(str, (*fields, self.thread)))


@dataclass(frozen=True)
class Counts:
    """How often the place was reached in all processes, and how often Kafka would have done there what the mutant did not."""

    reached: int
    differed: int


def mutants() -> tuple[str, dict[str, Mutant]]:
    """The release, and its mutants by their names."""
    found = tomllib.loads(FILE.read_text("utf-8"))
    release = found.pop("kafka")
    return release, {name: _mutant(name, fields) for name, fields in found.items()}


def _mutant(name: str, fields: Mapping[str, Any]) -> Mutant:
    [kind] = [one for one in KINDS if one in fields]
    value = fields[kind]
    known = {"breaks", "class", "method", "call", "nth", "of", "every", "thread", "min_isr", "unseen", kind}
    assert fields.keys() <= known, f"{name}: {fields.keys() - known}"
    return Mutant(
        name, fields["breaks"], fields["class"], fields["method"], fields["call"], fields.get("nth", 1), fields.get("of", 1),
        kind, value if kind == "jumps" else int(value), fields.get("every", 1), fields.get("thread", ""),
        fields.get("min_isr", 2), fields.get("unseen", ""),
    )  # fmt: skip


def mutate(asked: Iterable[Mutant], jars: Jars, work: Path) -> Path:
    """A folder with the changed class of each mutant, below its name; fails where a place is not there as often as said."""
    asm = fetch_jars("asm-9.7.1", (ASM,), "ASM", None)
    tool, counting, listed, folder = work / "tool", work / "counting", work / "mutants.tsv", work / "mutants"
    for place, source in ((tool, "Mutate.java"), (counting, "Mutated.java")):
        place.mkdir(parents=True, exist_ok=True)
        compiled(asm.class_path, [SOURCES / source], place)
    listed.write_text("".join(f"{one.line}\n" for one in asked), "utf-8")
    done = ran((tool, asm.class_path, jars.class_path), "Mutate", listed, folder)
    assert done.returncode == 0, done.stderr
    return folder


def mutant_home(name: str, jars: Jars, work: Path) -> Path:
    """An unpacked release whose class path begins with the mutant's class, which `mutate` has made in `work`."""
    return home_with((work / "mutants" / name, work / "counting"), jars, work / "homes" / name)


def counts(home: Path) -> Counts:
    """What the nodes of a mutant have counted so far."""
    read = [_COUNTS.unpack(path.read_bytes()) for path in sorted((home / "counts").glob("*"))]
    return Counts(sum(reached for reached, _ in read), sum(differed for _, differed in read))
