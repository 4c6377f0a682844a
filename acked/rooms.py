"""Our packages have common names (`model`, `checker` …): this makes sure that they mean ours.

What lives here: an import finder that resolves exactly these names beside the package `acked`, so that a folder
`model/` in the working directory or on PYTHONPATH does not take their place. What does not: any import of ours, because
this runs before all of them; a process that is started by other means than the command (a Spark worker) calls `claim`
itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

ROOMS = ("model", "invariants", "checker", "reports")
"""The top-level packages that stand beside `acked`."""

HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
"""The folder that contains `acked`: a checkout, or site-packages."""


class RoomFinder:
    """Finds our top-level packages beside `acked` and leaves every other name to the finders after it."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The package's location; an ImportError if it is one of ours and not there, never a stranger's."""
        if fullname not in ROOMS:
            return None
        spec = PathFinder.find_spec(fullname, [HOME], target)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(
                f"acked's own package “{fullname}” is missing from {HOME}; reinstall acked.", name=fullname
            )
        return spec


def claim() -> None:
    """From now on, our package names mean our packages. Calling it again changes nothing."""
    if RoomFinder not in sys.meta_path:
        sys.meta_path.insert(0, RoomFinder)


def stranger() -> str | None:
    """A sentence about a module that was imported under one of our names before `claim`, or None."""
    for name in ROOMS:
        module = sys.modules.get(name)
        if module is None:
            continue
        origin = getattr(module, "__file__", None)
        if origin is None or os.path.realpath(os.path.dirname(origin)) != os.path.realpath(os.path.join(HOME, name)):
            place = origin or "a folder without __init__.py"
            return (
                f"A module named “{name}” was already imported from {place}, where acked needs its own package "
                f"of that name; start acked in a Python process of its own."
            )
    return None
