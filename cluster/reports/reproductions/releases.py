"""The Kafka releases that can be started, for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acked.cluster.releases.jars import Jars, is_fetched
from acked.cluster.releases.release import Release, releases
from acked.cluster.reports.reproductions.words import MODES
from acked.reports.console import Console, put_paragraph
from acked.reports.table import print_table, table
from acked.reports.units import plural, size


def print_releases(console: Console) -> None:
    """A line for each release."""
    rows = [
        (
            one.version,
            " or ".join(MODES[mode] for mode in one.modes),
            "yes" if is_fetched(one) else "",
            "yes" if one.is_tried else "",
        )
        for one in releases()
    ]
    print_table(console, table(("release", "metadata in", "on this machine", "tried"), rows))
    console.print()
    put_paragraph(
        console,
        "Tried are those that have played at least one trace on Java 17; others are expected to do so. "
        "`acked kafka fetch RELEASE` brings one here.",
    )


def releases_document() -> list[dict[str, Any]]:
    """The releases as JSON, oldest first."""
    return [
        {
            "release": one.version,
            "control_planes": [mode.value for mode in one.modes],
            "fetched": is_fetched(one),
            "tried": one.is_tried,
        }
        for one in releases()
    ]


def print_fetched(console: Console, got: Sequence[tuple[Release, Jars]]) -> None:
    """What is on this machine now."""
    for one, jars in got:
        found = f"{plural(len(jars.paths), 'jar')}, {size(_bytes(jars))}"
        put_paragraph(console, f"Kafka {one.version}: {found}, in {_folder(jars)}")


def fetched_document(got: Sequence[tuple[Release, Jars]]) -> list[dict[str, Any]]:
    """The same as JSON."""
    return [
        {"release": one.version, "jars": len(jars.paths), "bytes": _bytes(jars), "folder": _folder(jars)} for one, jars in got
    ]


def _bytes(jars: Jars) -> int:
    return sum(path.stat().st_size for path in jars.paths)


def _folder(jars: Jars) -> str:
    return str(jars.paths[-1].parent)
