"""The command `roll`: may this broker go down now?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from acked.audit.clusters.live import is_kraft
from acked.audit.commands.options import FILES, ClusterFacts, describes_cluster
from acked.audit.decision.gather import Recognised
from acked.audit.moves.plan import read_plan
from acked.base.errors import ExitCode
from acked.base.files import check_writable
from acked.base.frozen import frozen
from acked.model.partition.rules.versions import ZOOKEEPER
from acked.reports.shell.batches import BatchOptions
from acked.reports.shell.options import CACHE, FORMAT, OUT, QUIET, collects, option
from acked.reports.shell.output import Output, json_text, put_drawn, put_text
from acked.roll.decision.answered import Answered
from acked.roll.decision.judge import Judge, Verdict, Wish, brokers_to_ask
from acked.roll.decision.moves import lost_by_moving, with_plan
from acked.roll.decision.rules import rules_of_topics
from acked.roll.partitions.described import described, read_quorum
from acked.roll.partitions.living import cluster_now
from acked.roll.partitions.now import ClusterNow, PartitionNow
from acked.roll.questions.ask import Asker, Stop
from acked.roll.reports.document import roll_document
from acked.roll.reports.text import print_answer

CODES = {Verdict.MAY: ExitCode.HOLDS, Verdict.MAY_NOT: ExitCode.INVARIANT, Verdict.UNDECIDED: ExitCode.TOO_LARGE}
NO_CONTROLLER = "none"
WRITES, LOSS, ALL = "writes", "loss", "all"
BOTH = "both"


@frozen
class Rolling:
    """What the command line asks about brokers."""

    brokers: tuple[int, ...]
    ask: str
    stop: str
    accepts_settings: bool
    plan: Path | None
    quorum: str | None
    full: bool

    @property
    def wish(self) -> Wish:
        """What counts."""
        stops = tuple(Stop) if self.stop == BOTH else (Stop(self.stop),)
        return Wish(self.ask in (ALL, WRITES), self.ask in (ALL, LOSS), stops, self.accepts_settings)


ACCEPT_SETTINGS = option(
    "--accept-settings", is_flag=True, help="Do not count what a topic's settings bring even while all its replicas are in "
    "sync: RF 1, RF 2, or min.insync.replicas as large as RF.",
)  # fmt: skip

_rolls = collects(
    "rolling", Rolling,
    brokers=option("--broker", type=click.IntRange(0), multiple=True, metavar="N",
                   help="Ask about this broker alone; default: every one that runs, worst first."),
    ask=option("--ask", type=click.Choice([ALL, WRITES, LOSS]), default=ALL, show_default=True,
               help="What must not happen: refused writes, lost records, or either."),
    stop=option("--stop", type=click.Choice([BOTH, Stop.CLEANLY.value, Stop.BY_KILL.value]), default=BOTH, show_default=True,
                help="How it goes down: by a controlled shutdown, by SIGKILL, or as may be."),
    accepts_settings=ACCEPT_SETTINGS,
    plan=option("--plan", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
                help="Ask as if the moves of this reassignment (kafka-reassign-partitions) had begun."),
    quorum=option("--quorum", metavar="FILE",
                  help="What kafka-metadata-quorum describe --status printed; `none` if no broker here is a controller. A "
                  "running cluster is asked for it."),
    full=option("--full", is_flag=True, help="Every broker, every partition that is in the way, every step."),
)  # fmt: skip


@click.command(short_help="Ask whether a broker may go down now, and in what order all may.")
@FILES.under("files")
@describes_cluster
@_rolls
@collects("batch", BatchOptions, use_cache=CACHE)
@collects("output", Output, form=FORMAT, quiet=QUIET)
@OUT.under("out")
def roll(
    files: tuple[Path, ...], cluster: ClusterFacts, rolling: Rolling, batch: BatchOptions, output: Output, out: Path | None
) -> int:
    """May this broker go down now? Asked of every partition as it is at this moment.

    The state of each partition (leader, ISR, eligible leaders, moves under way) begins a question to the model of your
    release: the broker is stopped, cleanly or by a crash, and then one thing more fails: a process, a machine with what it
    had not flushed, or a disk. A broker may go down if no partition then refuses writes (acks=all), and none can lose what
    was acknowledged. FILEs are what `kafka-topics --describe` printed, with settings as for `acked audit`.

    \b
    acked roll --bootstrap-server kafka:9092                  every broker, worst first, and an order
    acked roll --bootstrap-server kafka:9092 --broker 2 -q && systemctl restart kafka
    acked roll topics.txt brokers.txt --kafka-version 3.9 --quorum quorum.txt
    acked roll --bootstrap-server kafka:9092 --plan reassignment.json --full

    \b
    0    every broker that was asked about may go down
    12   one may not: writes would be refused, or one failure more would lose acknowledged records
    152  undecided: something was not read, or the question was too large
    150  a file cannot be read; 151 usage; 153 the cluster does not answer
    """
    check_writable(out, "answer")
    if (cluster.bootstrap is None) == (not files):
        raise click.UsageError("name the cluster with --bootstrap-server, or files that kafka-topics --describe printed, and "
                               "not both.")  # fmt: skip
    found, now, notes, has_controllers = _read(files, cluster, rolling)
    moved: list[PartitionNow] = []
    if rolling.plan is not None:
        now, moved = with_plan(now, read_plan(rolling.plan))
    rules = rules_of_topics(found, now.sizes, cluster.version, cluster.control_plane, cluster.entities)
    asker = Asker(batch.cache())
    with output.batch_progress("questions") as progress:
        judge = Judge(now, rules, asker, rolling.wish, has_controllers, progress)
        answers = judge.answers(brokers_to_ask(now, rolling.brokers))
        notes += lost_by_moving(moved, judge)
    answered = Answered(cluster.bootstrap or ", ".join(map(str, files)), now, rolling.wish, tuple(answers), tuple(notes))
    if output.is_json:
        put_text(json_text(roll_document(answered)), out, "answer")
    else:
        put_drawn(lambda console: print_answer(console, answered, rolling.full), out, "answer")
    return int(CODES[answered.verdict])


def _read(files: tuple[Path, ...], cluster: ClusterFacts, rolling: Rolling) -> tuple[Recognised, ClusterNow, list[str], bool]:
    """The settings, the partitions, remarks on what was read, and whether a broker may be one of KRaft's controllers."""
    notes = [] if cluster.topic is None else [f"Only topic {cluster.topic} was asked about."]
    is_none, named = rolling.quorum == NO_CONTROLLER, rolling.quorum
    told = None if named is None or is_none else read_quorum(Path(named))
    if cluster.bootstrap is not None:
        live = cluster.ask(cluster.bootstrap, cluster.command_config, with_moves=True)
        now = cluster_now(live)
        return cluster.read((), live=live), replace(now, quorum=told or now.quorum), notes, is_kraft(live) and not is_none
    if told is not None:
        voters = ", ".join(map(str, told.voters))
        notes.append(f"That the controllers {voters} are there is taken from {named}, which says who votes, not who runs.")
    has_controllers = not is_none and cluster.control_plane != ZOOKEEPER
    return cluster.read(files), described(files, cluster.topic, told), notes, has_controllers
