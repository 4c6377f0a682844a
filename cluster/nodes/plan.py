"""What is to be started: a release with its jars and Java, a mode, brokers and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.frozen import frozen
from acked.cluster.nodes.addresses import MAX_BROKERS
from acked.cluster.nodes.jvm import broker_java
from acked.cluster.releases.jars import Jars, release_jars, zookeeper_jars
from acked.cluster.releases.release import Mode, Release, mode_of, release


@frozen
class ClusterPlan:
    """What is started. `settings` are Kafka's own, for all nodes; `features` those of KRaft that are not at their default.

    `archive` is a class archive for these jars, which halves what a start costs. With `keep` the cluster's folder stays.
    `witness` is a broker of KRaft without replicas, which hears of everything at once and is asked what the controller has
    decided; with ZooKeeper the controller is asked. `logging` is another configuration of what nodes log, a text
    in which `acked.log` names the file. `other_candidates` are brokers of ZooKeeper without replicas, which may become the
    controller after the first one, and `of_controller` are settings of the first one alone.
    """

    release: Release
    mode: Mode
    jars: Jars
    zookeeper_jars: Jars | None
    java: Path
    brokers: tuple[int, ...] = (0, 1, 2)
    settings: Mapping[str, str] = field(default_factory=dict)
    features: Mapping[str, int] = field(default_factory=dict)
    archive: Path | None = None
    keep: bool = False
    witness: int | None = None
    logging: str | None = None
    other_candidates: tuple[int, ...] = ()
    of_controller: Mapping[str, str] = field(default_factory=dict)


def make_plan(version: str, mode: Mode | None = None, home: Path | None = None, brokers: Sequence[int] = (0, 1, 2),
              settings: Mapping[str, str] | None = None, features: Mapping[str, int] | None = None, keep: bool = False,
              progress: Callable[[str], None] | None = None, has_witness: bool = False,
              logging: str | None = None, other_candidates: int = 0,
              of_controller: Mapping[str, str] | None = None) -> ClusterPlan:  # fmt: skip
    """A plan for a release by its version; jars that are missing are fetched. `has_witness`: with KRaft, one broker more;
    `other_candidates`: with ZooKeeper, so many more.

    Raises `ConfigurationError` for what cannot be asked, `SystemFailure` for what this machine lacks, a sentence each.
    """
    chosen = release(version)
    found = mode_of(chosen, mode)
    if not 1 <= len(set(brokers)) == len(brokers) <= MAX_BROKERS or not set(brokers) <= set(range(MAX_BROKERS)):
        raise ConfigurationError(
            f"brokers {list(brokers)} cannot be started; name 1 to {MAX_BROKERS} of 0 to {MAX_BROKERS - 1}"
        )
    java = broker_java()
    jars = release_jars(chosen, home, progress)
    server = zookeeper_jars(progress) if found is Mode.ZOOKEEPER else None
    witness = max(brokers) + 1 if has_witness and found is Mode.KRAFT else None
    others = tuple(range(max(brokers) + 1, max(brokers) + 1 + (other_candidates if found is Mode.ZOOKEEPER else 0)))
    nodes = (*brokers, *others) if witness is None else (*brokers, witness)
    return ClusterPlan(chosen, found, jars, server, java, nodes, settings or {}, features or {}, keep=keep, witness=witness,
                       logging=logging, other_candidates=others, of_controller=of_controller or {})  # fmt: skip
