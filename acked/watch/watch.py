"""The command `watch`: clusters are asked again when something in them changes, for Prometheus and for people."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.audit.clusters.policy import Cluster, Policy, read_policy
from acked.audit.commands.live import client_properties, host_and_port
from acked.audit.commands.options import ClusterFacts
from acked.audit.decision.faults import AuditVerdict
from acked.base.errors import ExitCode
from acked.base.files import check_writable, write_text
from acked.base.frozen import frozen
from acked.base.release import release
from acked.reports.console import harmless
from acked.reports.shell.batches import MEMORY_EACH, BatchOptions
from acked.reports.shell.options import JOBS, OUT, QUIET, KeyValue, collects, option
from acked.reports.shell.output import make_folder, put_text, say
from acked.roll.commands.roll import ACCEPT_SETTINGS
from acked.roll.decision.judge import Verdict, Wish

if TYPE_CHECKING:
    from acked.watch.clusters import Seen
    from acked.watch.server import WatchServer

FILES = {"acked-alerts.yml": "alerts.yml", "acked-dashboard.json": "dashboard.json"}
"""What `--files` writes, and what of this package it is."""


@frozen
class Watching:
    """How the command line wants clusters watched."""

    bootstrap: str | None
    command_config: Path | None
    policy: Path | None
    version: str | None
    producer: tuple[tuple[str, str], ...]
    overrides: tuple[tuple[str, str], ...]
    timeout: float | None
    every: float
    listen: str
    accepts_settings: bool
    once: bool
    files: Path | None

    @property
    def facts(self) -> ClusterFacts:
        """What holds for each cluster besides what it says itself."""
        return ClusterFacts(
            version=self.version, control_plane=None, topic=None, entities=(), overrides=self.overrides, lenient=False,
            internal=False, bootstrap=None, command_config=None, timeout=self.timeout, producer=self.producer,
        )  # fmt: skip

    def clusters(self) -> tuple[Policy, tuple[Cluster, ...]]:
        """What is required, and the clusters; an error for what would be wrong at every reading."""
        policy = Policy("", (), (), ()) if self.policy is None else read_policy(self.policy)
        clusters = policy.clusters
        if self.bootstrap is not None:
            clusters = (Cluster(self.bootstrap.partition(",")[0].strip(), self.bootstrap, self.command_config),)
        elif self.command_config is not None:
            raise click.UsageError("--command-config is about the cluster of --bootstrap-server; leave it out, or name that.")
        if not clusters:
            raise click.UsageError("nothing to watch: name a cluster with --bootstrap-server, or several in --policy.")
        replace(self.facts, timeout=None).read(())
        if self.version is not None:
            release(self.version)
        for one in clusters:
            host_and_port(one.bootstrap.partition(",")[0])
            client_properties(one.command_config)
        return policy, clusters


_watches = collects(
    "watching", Watching,
    bootstrap=option("--bootstrap-server", metavar="HOST:PORT,…", help="The cluster, which is only read."),
    command_config=option("--command-config", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                          help="The client's properties for --bootstrap-server."),
    policy=option("--policy", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                  help="What is required of which topics, and clusters, each [clusters.NAME]: acked.toml."),
    version=option("--kafka-version", metavar="V", help="The release, where brokers do not tell it: 2.8."),
    producer=option("--producer", type=KeyValue("acks=1"), multiple=True,
                    help="A setting of the producers; default: acks=all with idempotence."),
    overrides=option("--set", type=KeyValue("eligible.leader.replicas.version=1"), multiple=True,
                     help="A setting that brokers do not tell, as the controllers' unclean.leader.election.enable, or "
                     "instead of one; what a topic itself says of unclean elections stays."),
    timeout=option("--timeout", type=click.FloatRange(1, 3600), metavar="SECONDS",
                   help="How long a cluster may be asked; default: 30, and 10 for its first answer."),
    every=option("--every", type=click.FloatRange(1, 86_400), default=30.0, metavar="SECONDS",
                 help="How often it is read; default: 30."),
    listen=option("--listen", default="127.0.0.1:9857", show_default=True, metavar="ADDRESS:PORT",
                  help="Where page (/) and metrics (/metrics) are, for whoever reaches it."),
    accepts_settings=ACCEPT_SETTINGS,
    once=option("--once", is_flag=True, help="Ask once, and print the metrics instead of serving them."),
    files=option("--files", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
                 help="Only write alert rules for Prometheus and a dashboard for Grafana."),
)  # fmt: skip


@click.command(short_help="Audit running clusters all the time: metrics, alerts, a page.")
@_watches
@collects("batch", BatchOptions, jobs=JOBS, memory=MEMORY_EACH)
@QUIET.under("quiet")
@OUT.under("out")
def watch(watching: Watching, batch: BatchOptions, quiet: bool, out: Path | None) -> int:
    """Read running clusters every so often, and ask `acked audit` and `acked roll` again when something has changed.

    Metrics (OpenMetrics) say which promises settings do not keep, and which partitions are one failure from losing what was
    acknowledged, or one broker from refusing writes. Nothing is changed in a cluster; one that hangs or is gone is tried on.

    \b
    acked watch --bootstrap-server kafka:9092 --command-config client.properties
    acked watch --policy acked.toml --listen 0.0.0.0:9857
    acked watch --files monitoring/
    acked watch --policy acked.toml --once --out /var/lib/node_exporter/acked.prom

    \b
    0    ended by SIGTERM; with --once: all is kept, and every broker may go down
    12   with --once: something required is not kept, or a broker may not go down
    152  with --once: undecided; 153 a cluster does not answer, or nobody may listen there
    130  ended by Ctrl-C; 150 a file cannot be read; 151 usage
    """
    if watching.files is not None:
        return _write_files(watching.files)
    if out is not None and not watching.once:
        raise click.UsageError("--out is for --once; without it metrics are served.")
    check_writable(out, "metrics")
    policy, clusters = watching.clusters()
    batch.cache()  # If nothing can be kept, that is said here, and not by every process.
    import confluent_kafka  # noqa: F401  (What is missing is said now.)
    import kio  # noqa: F401

    from acked.watch.answers import Watched
    from acked.watch.clusters import Watch
    from acked.watch.metrics import Metrics
    from acked.watch.server import WatchServer


    def tell(line: str) -> None:
        try:
            if not quiet:
                say(harmless(line))
        except OSError:
            pass  # Nobody reads it, or its disk is full: the metrics go on.

    wish = Wish(accepts_settings=watching.accepts_settings)
    watch = Watch([Watched(one, watching.facts, policy, wish, batch) for one in clusters], watching.every, tell)
    if watching.once:
        watch.once()
        put_text(Metrics(watch.seen).text, out, "metrics")
        return max(map(_code, watch.seen()), key=_WORST.index)
    with WatchServer(watching.listen, watch, watching.every) as server, watch:
        _end_at_sigterm(server)
        tell(f"watching {', '.join(one.name for one in clusters)}; page and metrics: {server.address}; Ctrl-C ends it")
        server.serve_forever(poll_interval=0.2)
    return ExitCode.HOLDS


def _write_files(folder: Path) -> int:
    make_folder(folder)
    for name, source in FILES.items():
        text = files("acked.watch").joinpath(source).read_text("utf-8")
        write_text(folder / name, text, "file")
        say(f"wrote {folder / name}")
    return ExitCode.HOLDS


_WORST = (ExitCode.HOLDS, ExitCode.TOO_LARGE, ExitCode.SYSTEM, ExitCode.INVARIANT)
"""The exit codes of one cluster, the worst last: what is known to be wrong before what is not known."""


def _code(one: Seen) -> ExitCode:
    if one.state is None or one.settings is None:
        return ExitCode.SYSTEM
    verdicts = one.state.value.verdict, one.settings.value.verdict
    if verdicts == (Verdict.MAY, AuditVerdict.NO):
        return ExitCode.HOLDS
    return ExitCode.INVARIANT if Verdict.MAY_NOT in verdicts or AuditVerdict.YES in verdicts else ExitCode.TOO_LARGE


def _end_at_sigterm(server: WatchServer) -> None:
    def end(*_: object) -> None:
        # `shutdown` waits for the loop that this very thread runs.
        threading.Thread(target=server.shutdown, daemon=True).start()

    signal.signal(signal.SIGTERM, end)
