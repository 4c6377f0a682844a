"""The version of acked and the address of its repository, where the lowest floor can read them."""

from __future__ import annotations

__version__ = "0.1.0"


def source_address() -> str | None:
    """Where the repository is, as the installed package says (`Source` of its URLs); None where it says nothing."""
    from importlib.metadata import PackageNotFoundError, metadata

    for name in ("acked", "acked-slim"):
        try:
            urls = dict(line.split(", ", 1) for line in metadata(name).get_all("Project-URL", []))
        except PackageNotFoundError:
            continue
        return urls.get("Source")
    return None
