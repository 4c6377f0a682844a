"""How a search went, level by level and action by action, read from a dataset or a run directory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.checker.store.run_directory import ABOUT, FORMAT, read_commits, read_document


@frozen
class Level:
    """A level: its states, and how many steps were fired from it; None if it was not expanded."""

    number: int
    states: int
    generated: int | None


@frozen
class Profile:
    """Levels in order, and actions as (name, enabled, new)."""

    title: str
    levels: tuple[Level, ...]
    actions: tuple[tuple[str, int, int], ...]


def read_profile(place: Path) -> Profile:
    """The profile of a dataset or a run directory; `ConfigurationError` if the folder is neither."""
    if (place / ABOUT).is_file():
        return _run_profile(place)
    if (place / "about.json").is_file():
        return _dataset_profile(place)
    raise ConfigurationError(
        f"{place} is neither a run directory (acked check --run-dir) nor a dataset (acked states --out)"
    )


def _title(body: dict[str, Any]) -> str:
    constants = ", ".join(f"{name}={value}" for name, value in body.get("constants", {}).items())
    return f"{body.get('protocol', '')}: {constants}"


def _run_profile(place: Path) -> Profile:
    about = read_document(place / ABOUT)
    if about.get("format") != FORMAT:
        raise ConfigurationError(f"{place / ABOUT} is not of the format {FORMAT}")
    names: list[str] = about["identity"]["actions"]
    commits = read_commits(place)
    levels, totals = [], {name: [0, 0] for name in names}
    for number, commit in enumerate(commits, start=1):
        states = sum(file.states for file in commit.files)
        report = commits[number].report if number < len(commits) else None
        if states:
            levels.append(Level(number, states, None if report is None else sum(report.enabled)))
        if report is not None:
            for name, enabled, new in zip(names, report.enabled, report.new, strict=True):
                totals[name][0] += enabled
                totals[name][1] += new
    return Profile(_title(about["identity"]), tuple(levels), tuple((name, e, n) for name, (e, n) in totals.items()))


def _dataset_profile(place: Path) -> Profile:
    with optional_packages():
        import pyarrow as pa
        import pyarrow.parquet as pq

    from acked.checker.dataset.sql import about

    body = about(place)
    try:
        levels = pq.read_table(place / "levels.parquet").to_pylist()
        actions = pq.read_table(place / "actions.parquet").to_pylist()
    except (OSError, pa.ArrowException) as error:
        raise ConfigurationError(f"{place} is damaged: {error}; make the dataset anew") from None
    totals: dict[str, list[int]] = {}
    for row in actions:
        total = totals.setdefault(row["action"], [0, 0])
        total[0] += row["enabled"]
        total[1] += row["new"]
    return Profile(
        _title(body),
        tuple(Level(row["level"], row["states"], row["generated"]) for row in levels),
        tuple((name, enabled, new) for name, (enabled, new) in totals.items()),
    )
