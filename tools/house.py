"""The floors of the house, as each package says itself: the contract that imports go down, and the tables of ARCHITECTURE.md.

    python tools/house.py            writes the tables of ARCHITECTURE.md anew

The docstring of a package (or of a module that stands beside packages) ends with `Floor 3.`: it may import what says a lower
number in the same room, and nothing that says the same or a higher one. A module that says none is ground, below every floor
of its room. So a new protocol, engine, format or application says where it stands, and nothing else is told of it.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp
from importlinter.application import output
from importlinter.domain import fields
from importlinter.domain.contract import Contract, ContractCheck

CHECKOUT = Path(__file__).resolve().parents[1]
_FLOOR = re.compile(r"\n*^Floor (\d+)\.$\n*", re.MULTILINE)
_ROOM = re.compile(r"(<!-- floors of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Part:
    """A package or module with what it says of itself: its floor (0 is ground) and what it is for, in one paragraph."""

    name: str
    floor: int
    purpose: str
    is_package: bool


def part_of(module: str) -> Part:
    """What the module of a dotted name, such as `acked.model.language`, says of itself."""
    place = CHECKOUT / ".import" / Path(*module.split("."))
    is_package = place.is_dir()
    text = (place / "__init__.py" if is_package else place.with_suffix(".py")).read_text("utf-8")
    docstring = ast.get_docstring(ast.parse(text)) or ""
    found = _FLOOR.search(docstring)
    purpose = " ".join(docstring.split("\n\n")[0].split())
    return Part(module, int(found[1]) if found else 0, purpose, is_package)


class FloorsContract(Contract):  # type: ignore[misc]  # The base class has no types.
    """In every room a part imports only parts of lower floors; on the ground, modules import modules."""

    type_name = "floors"
    rooms = fields.ListField(subfield=fields.StringField())

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Every import between two parts of a room that does not go down."""
        wrong = [line for room in self.rooms for line in upward(graph, str(room))]
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints each of those imports."""
        for line in check.metadata["wrong"]:
            output.print_error(line)


def upward(graph: grimp.ImportGraph, room: str) -> Iterator[str]:
    """The imports between two parts of a room that do not go down, a sentence each."""
    parts = {name: part_of(name) for name in graph.find_children(room)}
    depth = room.count(".") + 2
    for module in sorted(graph.modules):
        importer = parts.get(".".join(module.split(".")[:depth]))
        for other in sorted(graph.find_modules_directly_imported_by(module)) if importer else ():
            imported = parts.get(".".join(other.split(".")[:depth]))
            if importer is None or imported is None or imported.name == importer.name or imported.floor < importer.floor:
                continue
            if importer.floor or imported.floor or importer.is_package or imported.is_package:
                yield f"{module} (floor {importer.floor} of {room}) imports {other} (floor {imported.floor})"


def table(room: str) -> str:
    """A room's packages as rows of Markdown, upper floors first."""
    folder = CHECKOUT / room
    names = [path.parent.name for path in folder.glob("*/__init__.py") if not path.parent.is_symlink()]
    dotted = "acked" if room == "acked" else f"acked.{room}"
    parts = sorted((part_of(f"{dotted}.{name}") for name in names), key=lambda part: (-part.floor, part.name))
    rows = [f"| {part.floor or 'ground'} | `{room}/{part.name.rpartition('.')[2]}/` | {part.purpose} |" for part in parts]
    return "\n".join(["| floor | package | what it is for |", "|---|---|---|", *rows, ""])


def with_tables(text: str) -> str:
    """A page with the table of each room that it has a mark for made anew."""
    return _ROOM.sub(lambda found: f"{found[1]}{table(found[2])}{found[3]}", text)


def main() -> int:
    """Writes ARCHITECTURE.md."""
    page = CHECKOUT / "ARCHITECTURE.md"
    page.write_text(with_tables(page.read_text("utf-8")), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
