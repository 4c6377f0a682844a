"""KRaft's directories: Kafka's own tool formats one, once for a release and its features; every node's is made from that.

What is kept of it decides by which rules a cluster runs, so a listing of it is sealed with the user's key.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

from acked.base.cache import SealedStore, cache_folder
from acked.base.errors import SystemFailure
from acked.base.files import listing
from acked.cluster.nodes.addresses import CONTROLLER
from acked.cluster.nodes.jvm import Program, run_to_end

CLUSTER_ID = "YWNrZWRhY2tlZGFja2VkMA"
"""Sixteen bytes in Base64: all clusters of ours may have the same, as none of them ever meets another."""
META = "meta.properties"
_SECONDS = 120.0


def format_arguments(configuration: Path, features: Mapping[str, int]) -> tuple[str, ...]:
    """What the format tool is asked: some features at levels other than the release's own."""
    levels = [part for name, level in sorted(features.items()) for part in ("--feature", f"{name}={level}")]
    return ("format", "-t", CLUSTER_ID, "-c", str(configuration), *levels)


def format_directories(tool: Program, key: Sequence[str], data: Path, others: Mapping[int, Path], work: Path) -> None:
    """Formats the controller's directory `data` and those of the other nodes.

    The tool writes into `data`, which its configuration names; what it wrote is kept under `key`, which says all that it
    depends on, and copied the next time. A node's id and the directory's own are then put in.
    """
    store = cache_folder("kafka", "formatted")
    name = hashlib.sha256("\n".join(key).encode()).hexdigest()[:24]
    kept = None if store is None else store / name
    if kept is not None and (kept / META).is_file() and SealedStore.of(kept.parent).seals(_seal(kept), _files(kept)):
        shutil.copytree(kept, data, dirs_exist_ok=True)
    else:
        run_to_end("Kafka's format tool", tool, work, _SECONDS)
        if not (data / META).is_file():
            raise SystemFailure(f"Kafka's format tool wrote no {META} in {data}")
        if kept is not None:
            _keep(data, kept)
    meta = (data / META).read_text(encoding="utf-8")
    (data / META).write_text(meta_of(meta, CONTROLLER), encoding="utf-8")
    for node, folder in others.items():
        (folder / META).write_text(meta_of(meta, node), encoding="utf-8")


def meta_of(meta: str, node: int) -> str:
    """Another node's meta.properties: its id, and since 3.7 a directory id of its own."""
    lines = []
    for line in meta.splitlines():
        key, _, _ = line.partition("=")
        # Of random bits, so that it is none of Kafka's reserved ones.
        directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        fresh = {"node.id": str(node), "directory.id": directory}.get(key)
        lines.append(line if fresh is None else f"{key}={fresh}")
    return "\n".join(lines) + "\n"


def _keep(data: Path, kept: Path) -> None:
    """Puts a copy into the cache, whole or not at all; without one the next cluster takes longer, nothing else."""
    try:
        with tempfile.TemporaryDirectory(prefix=".formatting-", dir=kept.parent) as temporary:
            shutil.copytree(data, Path(temporary, "data"))
            if kept.is_dir():  # It was not as it was made.
                os.replace(kept, Path(temporary, "before"))
            os.replace(Path(temporary, "data"), kept)
        SealedStore.of(kept.parent).write(_seal(kept), listing(kept.parent, _files(kept)))
    except OSError:
        pass


def _files(kept: Path) -> list[Path]:
    return [path for path in kept.rglob("*") if not path.is_dir()]


def _seal(kept: Path) -> str:
    return f"{kept.name}.sealed"
