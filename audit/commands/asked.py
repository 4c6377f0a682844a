"""What the command line of an audit says of the cluster, and what it assumes: for `audit`, `audit plan`, `audit upgrade`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import click

from acked.audit.clusters.live import live_entries
from acked.audit.commands.apart import ask_apart
from acked.audit.commands.live import SECONDS, client_properties
from acked.audit.decision.fault_words import BESIDES, CRASHES, legend_of
from acked.audit.decision.faults import read_faults
from acked.audit.decision.gather import Recognised, recognise
from acked.audit.decision.questions import BY_DEFAULT, Assumptions
from acked.audit.formats.read import read_all
from acked.base.errors import ConfigurationError
from acked.base.names import near
from acked.cluster.vocabulary.entry import OPTION, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Read
from acked.reports.shell.options import KeyValue, argument, collects, option

FILES = argument(metavar="FILE...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
"""What settings are read from."""


@dataclass(frozen=True)
class ClusterFacts:
    """What the command line says about the cluster besides its files."""

    version: str | None
    control_plane: str | None
    topic: str | None
    entities: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...]
    lenient: bool
    internal: bool
    bootstrap: str | None
    command_config: Path | None
    timeout: float | None
    producer: tuple[tuple[str, str], ...]

    def read(self, files: tuple[Path, ...], with_moves: bool = False) -> Recognised:
        """What the files and --set say, and a running cluster, which is asked `with_moves` what is being reassigned."""
        entries = read_all(files)
        if self.bootstrap is not None:
            entries += self._live(self.bootstrap, with_moves)
        elif self.command_config is not None or self.timeout is not None:
            raise click.UsageError("--command-config and --timeout are about a running cluster; name it with "
                                   "--bootstrap-server, or leave them out.")  # fmt: skip
        entries += [SettingEntry(key, value, "--producer", 0, Scope.PRODUCER) for key, value in self.producer]
        for key, _ in self.overrides:
            if key not in KEYS:  # In a file it may be none of our business; here it was typed for us.
                raise ConfigurationError(f"--set: {key} is not a setting that the audit uses{near(key, KEYS)}")
        overrides = [SettingEntry(key, value, OPTION, 0) for key, value in self.overrides]
        return recognise(entries, overrides, self.lenient)

    def _live(self, address: str, with_moves: bool) -> list[Read]:
        properties = client_properties(self.command_config)
        asked = ask_apart(address, properties, self.timeout or SECONDS, self.topic, with_moves=with_moves)
        return live_entries(asked)


@dataclass(frozen=True)
class Assumed:
    """The faults and bounds that the command line chooses."""

    faults: tuple[str, ...]
    log_size: int | None
    records: int | None
    thorough: bool
    max_states: int | None

    def assumptions(self) -> Assumptions:
        """Faults and bounds as the audit takes them; the default of each question where nothing is chosen."""
        assumptions = replace(BY_DEFAULT, log_size=self.log_size, records=self.records, is_thorough=self.thorough)
        if self.max_states is not None:
            assumptions = replace(assumptions, max_states=self.max_states, max_states_besides=self.max_states)
        if self.faults:
            faults = tuple(dict.fromkeys(read_faults(text) for text in self.faults))
            assumptions = replace(assumptions, faults=faults, of_loss=(), besides=(), of_loss_besides=())
        return assumptions


describes_cluster = collects(
    "cluster",
    ClusterFacts,
    version=option("--kafka-version", metavar="V",
                   help="The release, e.g. 3.6.1; default: what the files say, or every release in use."),
    control_plane=option("--control-plane", type=click.Choice(["kraft", "zookeeper"]),
                         help="Where the metadata is; default: what the files say, or both."),
    topic=option("--topic", help="The topic to audit; default: every one, in groups of equal settings."),
    entities=option("--entity", multiple=True, metavar="NAME",
                    help="The cluster, node, service or profile to audit, where the files describe several that differ."),
    overrides=option("--set", type=KeyValue("replication.factor=3"), multiple=True,
                     help="A setting besides those of the files, or instead of one: replication.factor=3."),
    lenient=option("--lenient", is_flag=True, help="Warn of names that resemble settings instead of refusing them."),
    bootstrap=option("--bootstrap-server", metavar="HOST:PORT,…",
                     help="Read a running cluster: brokers, topics and features, and change nothing."),
    command_config=option("--command-config", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                          help="The client's properties for --bootstrap-server, as kafka-configs.sh takes them."),
    timeout=option("--timeout", type=click.FloatRange(1, 3600), metavar="SECONDS",
                   help="How long the cluster may be asked; default: 30."),
    producer=option("--producer", type=KeyValue("acks=1"), multiple=True,
                    help="A setting of the producers: acks=1. A cluster does not know them; default there: acks=all with "
                    "idempotence, and acks=1 for comparison."),
    internal=option("--internal", is_flag=True, help="Audit Kafka's own topics, too: __consumer_offsets and its like."),
)  # fmt: skip
assumes = collects(
    "assumed",
    Assumed,
    faults=option("--faults", multiple=True, metavar="F,…",
                  help=f"What may go wrong: one of ({legend_of(CRASHES)}) and any of ({legend_of(BESIDES)}), "
                  "as in one-lossy,zombies. "
                  "Repeat the option to ask about each. Default: clean, and for loss also one-machine, which decide the exit "
                  "code; the table shows more."),
    log_size=option("--log-size", type=click.IntRange(1, 4),
                    help="Try it with logs of so many offsets at least, which takes longer; default: 1 or 2, by question."),
    records=option("--records", type=click.IntRange(1, 4),
                   help="Try it with so many records at least, which takes longer; default: 1 or 2, by question."),
    thorough=option("--thorough", is_flag=True, help="Check the order of records with all brokers instead of three."),
    max_states=option("--max-states", type=click.IntRange(1),
                      help="Give a question up as undecided once so many different states of the partition are known; "
                      "default: 20,000,000, and 2,000,000 where the answer does not decide."),
)  # fmt: skip
