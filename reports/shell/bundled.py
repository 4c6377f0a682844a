"""Where the specs that come with acked are, and what they are called; of none more is read than tells its name.

They are in `acked/specs`, which in a checkout is a link to `specs/`. Apart from what reads a spec, because a shell waits for
these names.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from acked.base.errors import SystemFailure
from acked.base.files import PACKAGE
from acked.checker.spec.variants import name_of, specs_in, specs_under


def bundled_specs() -> Path:
    """The folder of the bundled specs."""
    folder = PACKAGE / "specs"
    if folder.is_dir():
        return folder
    raise SystemFailure(f"the specs that come with acked are missing from {folder.parent}; reinstall acked")


def all_bundled(begun: str = "") -> list[Path]:
    """Every bundled spec, a variant of a file as `kip966.toml#bug`, in order of name, those at the top first.

    Of others than those whose names begin so not all files are read.
    """
    return sorted(specs_under(bundled_specs(), begun), key=lambda path: (len(path.parts), name_of(path)))


def full_name(path: Path) -> str:
    """The name of a bundled spec with its folder, e.g. `claims/acks-1-loses`."""
    return (path.parent.relative_to(bundled_specs()) / name_of(path)).as_posix()


def broker_outcomes() -> dict[str, str]:
    """By name of a bundled spec what real brokers did with it; none for those that were not played (docs/real.md)."""
    found: dict[str, str] = json.loads((bundled_specs() / "on_brokers.json").read_text("utf-8"))
    return found


def bundled_of(name: str) -> Path | None:
    """The bundled spec of a name, with or without its folder, whatever is in the working directory; None if there is none.

    The name of a file with variants stands for the file.
    """
    last = name.rpartition("/")[2]
    meant = (f"{last}.toml", f"{last.rpartition('-')[0]}.toml")
    # Names as strings, because most commands need this and there are hundreds; only files that may be meant are opened.
    files = [Path(place, file) for place, _, names in os.walk(bundled_specs()) for file in names if file in meant]
    places = (*(path for file in files for path in specs_in(file)), *files)
    return next((path for path in places if name in (name_of(path), full_name(path))), None)
