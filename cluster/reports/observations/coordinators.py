"""What coordinators' lines say of loads, unloads and generations, in the terminal and as a JSON document."""

from __future__ import annotations

from typing import Any

from acked.cluster.reports.observations.quorum import print_breaches
from acked.cluster.validating.coordinators import CoordinatorsJudged, Said
from acked.reports import units
from acked.reports.console import Console

FORMAT = "acked-validate-coordinators/1"


def coordinators_document(judged: CoordinatorsJudged, topic: str) -> dict[str, Any]:
    """What was read and judged."""
    return {
        "format": FORMAT,
        "topic": topic,
        "lines": judged.lines,
        "brokers": list(judged.nodes),
        "partitions": list(judged.partitions),
        "loads": [
            {"partition": one.partition, "epoch": one.epoch, "broker": one.node}
            for one in judged.told if one.said is Said.LOADED
        ],
        "failed_loads": judged.count(Said.FAILED),
        "unloads": judged.count(Said.UNLOADED),
        "groups": list(judged.groups),
        "generations": judged.count(Said.NEW),
        "breaches": [{"promise": one.promise, "in_words": one.text} for one in judged.breaches],
        "is_valid": judged.is_valid,
    }  # fmt: skip


def print_coordinators(console: Console, judged: CoordinatorsJudged) -> None:
    """What was read, and each breach."""
    read = (
        f"{units.plural(judged.lines, 'line')} of {units.plural(len(judged.nodes), 'broker')}, "
        f"{units.plural(len(judged.partitions), 'partition')}: {units.plural(judged.count(Said.LOADED), 'load')}, "
        f"{units.plural(judged.count(Said.UNLOADED), 'unload')}, {units.plural(judged.count(Said.NEW), 'generation')} of "
        f"{units.plural(len(judged.groups), 'group')}"
    )
    print_breaches(console, read, judged.breaches)
