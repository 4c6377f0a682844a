"""Where the specs that come with acked are: in a wheel beside this file, in a checkout in `specs/`.

What does not live here: reading them (`checker/spec.py`).
"""

from __future__ import annotations

from pathlib import Path

from checker.errors import SystemFailure


def bundled_specs() -> Path:
    """The folder of the bundled specs; the name of a bundled spec is its file's name without `.toml`."""
    package = Path(__file__).resolve().parent
    for folder in (package / "specs", package.parent / "specs"):
        if folder.is_dir():
            return folder
    raise SystemFailure(f"The specs that come with acked are missing from {package}; reinstall acked.")
