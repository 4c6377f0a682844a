"""The floors of the house, as each package says itself: the contracts that they make, its tables and its picture.

    python tools/house.py            draws docs/house.svg anew; `tools/made.py` has the tables of ARCHITECTURE.md

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
HOUSE = ("acked", "hunt", "roll", "audit", "cluster", "reports", "checker", "invariants", "model", "base")
"""The rooms, the uppermost first."""

PICTURE = CHECKOUT / "docs" / "house.svg"


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


class _ImportContract(Contract):  # type: ignore[misc]  # The base class has no types.
    """A contract that has a sentence for every import that it forbids."""

    def wrong(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Those sentences."""
        raise NotImplementedError

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Kept if there is none."""
        wrong = [*self.wrong(graph)]
        return ContractCheck(kept=not wrong, metadata={"wrong": wrong})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints each of them."""
        for line in check.metadata["wrong"]:
            output.print_error(line)


class FloorsContract(_ImportContract):
    """In every room a part imports only parts of lower floors; on the ground, modules import modules."""

    type_name = "floors"
    rooms = fields.ListField(subfield=fields.StringField())

    def wrong(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Every import between two parts of a room that does not go down."""
        for room in self.rooms:
            yield from upward(graph, str(room))


class CeilingContract(_ImportContract):
    """A room imports no package of another one that stands above a floor of it: nobody lists those that it may not know."""

    type_name = "ceiling"
    importer = fields.StringField()
    room = fields.StringField()
    highest = fields.IntegerField()

    def wrong(self, graph: grimp.ImportGraph) -> Iterator[str]:
        """Every import of a package that stands higher."""
        return above(graph, self.importer, self.room, self.highest)


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


def above(graph: grimp.ImportGraph, importer: str, room: str, highest: int) -> Iterator[str]:
    """The imports of a room's packages above a floor by what is in another room, a sentence each."""
    parts = [part for part in map(part_of, sorted(graph.find_children(room))) if part.is_package and part.floor > highest]
    for part in parts:
        for module in sorted({part.name, *graph.find_descendants(part.name)}):
            for other in sorted(graph.find_modules_that_directly_import(module)):
                if other.startswith(f"{importer}."):
                    yield f"{other} imports {module} (floor {part.floor} of {room}); {importer} knows none above {highest}"


def parts_of(room: str) -> list[Part]:
    """The packages of a room, upper floors first."""
    names = [path.parent.name for path in (CHECKOUT / room).glob("*/__init__.py") if not path.parent.is_symlink()]
    dotted = "acked" if room == "acked" else f"acked.{room}"
    return sorted((part_of(f"{dotted}.{name}") for name in names), key=lambda part: (-part.floor, part.name))


def _short(part: Part) -> str:
    return part.name.rpartition(".")[2]


def tables() -> Iterator[str]:
    """Every room's packages with what they are for, as the site has them."""
    for room in HOUSE:
        if parts := parts_of(room):
            yield from (f"### `{room}/`", "", "| floor | package | what it is for |", "|---|---|---|")
            yield from (f"| {part.floor or 'ground'} | `{room}/{_short(part)}/` | {part.purpose} |" for part in parts)
            yield ""


WIDTH, LEFT, LINE, GAP = 960, 150, 26, 8
"""Of the picture, in pixels: how wide it is, where packages begin, how high a box is, and what is between two."""


def picture() -> str:
    """The house as SVG: a band for each room, the lowest at the bottom, with its packages, lower floors first."""
    bands, top = [], GAP
    for number, room in enumerate(HOUSE):
        boxes, x, y = [], LEFT, GAP
        for part in reversed(parts_of(room)):
            wide = 7 * len(f"{part.floor} {_short(part)}") + 16
            if x + wide > WIDTH - 2 * GAP:
                x, y = LEFT, y + LINE + GAP
            boxes.append(_box(x, top + y, wide, part))
            x += wide + GAP
        high = y + LINE + GAP
        shade = "#eaf1f7" if number % 2 else "#f6f9fb"
        wide = WIDTH - 2 * GAP
        bands.append(f'<rect x="{GAP}" y="{top}" width="{wide}" height="{high}" rx="6" fill="{shade}" stroke="#1d3b53"/>')
        bands.append(f'<text x="22" y="{top + high // 2 + 5}" font-weight="bold">{room}/</text>')
        bands += boxes
        top += high + GAP
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {top}" width="{WIDTH}" height="{top}"'
    style = 'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12" fill="#122838" role="img"'
    title = "<title>The rooms of acked, each above those that it imports, with their packages and floors</title>"
    back = f'<rect width="{WIDTH}" height="{top}" fill="#ffffff"/>'
    return "\n".join([f"{head} {style}>", title, back, *bands, "</svg>", ""])


def _box(x: int, y: int, wide: int, part: Part) -> str:
    box = f'<rect x="{x}" y="{y}" width="{wide}" height="{LINE}" rx="4" fill="#ffffff" stroke="#6d8aa3"/>'
    floor = f'<tspan fill="#a3480f">{part.floor}</tspan>'
    return f'{box}<text x="{x + 7}" y="{y + 17}">{floor} {_short(part)}</text>'


def main() -> int:
    """Draws the picture."""
    PICTURE.write_text(picture(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
