"""A class archive (AppCDS) for each release: made once by a small cluster, then it halves what a start costs.

An archive belongs to one Java and one class path. Java ignores one that does not fit, so that costs time, nothing else. What
is in one is run, so its digest is sealed with the user's key, and one that is not as it was made is made anew.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from acked.base.cache import SealedStore, cache_folder
from acked.base.errors import SystemFailure
from acked.base.files import listing
from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import ClusterPlan
from acked.cluster.waiting import NotSeen, wait_for

_TOPIC = "warm"
_SECONDS = 120.0


def add_archive(plan: ClusterPlan, progress: Callable[[str], None] = lambda line: None) -> ClusterPlan:
    """The plan with its release's class archive, which is made if there is none; without one where nothing can be kept."""
    place = archive_path(plan)
    if place is None:
        return plan
    if not SealedStore.of(place.parent).seals(_seal(place), [place]):
        progress(f"making a class archive for Kafka {plan.release.version}, once")
        try:
            _make(plan, place)
            keep(place)
        except (SystemFailure, OSError) as error:
            progress(f"no class archive could be made, so starts take longer: {error}")
            return plan
    return replace(plan, archive=place)


def archive_path(plan: ClusterPlan) -> Path | None:
    """Where the archive of this Java, these jars and this mode is or would be; None where nothing is cached."""
    folder = cache_folder("kafka", "archives")
    if folder is None:
        return None
    status = plan.java.resolve().stat()
    key = f"{plan.java.resolve()}:{status.st_size}:{status.st_mtime_ns}:{plan.jars.digest}:{plan.mode}"
    return folder / f"{plan.release.version}-{hashlib.sha256(key.encode()).hexdigest()[:16]}.jsa"


def keep(place: Path) -> None:
    """Seals an archive that was made here."""
    SealedStore.of(place.parent).write(_seal(place), listing(place.parent, [place]))


def _seal(place: Path) -> str:
    return f"{place.name}.sealed"


def _make(plan: ClusterPlan, place: Path) -> None:
    """Starts one broker that writes its classes when it is shut down, after a record has been produced and fetched."""
    temporary = place.with_name(f".{place.name}.{os.getpid()}")
    small = replace(plan, brokers=(0,), settings={}, features={}, archive=None, keep=False, witness=None,
                    other_candidates=(), of_controller={})  # fmt: skip
    try:
        with Cluster(small, options={0: (f"-XX:ArchiveClassesAtExit={temporary}",)}) as cluster:
            with cluster.admin() as ask:
                ask.create_topic(_TOPIC, [0], {})
            wait_for(lambda: _serves(cluster), f"a leader of {_TOPIC}", _SECONDS)
            cluster.shut_down(0)
        if not temporary.is_file():
            raise NotSeen("Java wrote no archive")
        os.replace(temporary, place)
    finally:
        temporary.unlink(missing_ok=True)


def _serves(cluster: Cluster) -> bool:
    with cluster.client(0) as ask:
        return ask.fetch(_TOPIC).error == 0 and ask.produce(_TOPIC, b"r").error == 0
