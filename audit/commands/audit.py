"""The command `audit`: what settings promise. What is asked, and of what; `answering` makes the answer.

Of what answers nothing is imported before a cluster is asked: it takes as long as the asking.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked.audit.commands.options import (
    FILES,
    OUTS,
    Assumed,
    ClusterFacts,
    Shown,
    Wanted,
    asks,
    asks_upgrade,
    assumes,
    describes_cluster,
    shows,
)
from acked.base.errors import ExitCode
from acked.base.files import check_writable
from acked.reports.shell.batches import BatchOptions, searches_what_ships
from acked.reports.shell.groups import Branching
from acked.reports.shell.options import FORMAT, QUIET, collects
from acked.reports.shell.output import say

if TYPE_CHECKING:
    from acked.checker.batch.cache import ResultCache


@click.command(
    cls=Branching,
    branches={"plan": "audit.commands.plan:plan", "upgrade": "audit.commands.audit:upgrade",
              "matrix": "audit.commands.durability:matrix"},
    moved={"--plan": "acked audit plan PLAN FILE...", "--upgrade-to": "acked audit upgrade FILE... --to V"},
    short_help="Check what your own settings guarantee; plan, upgrade, matrix.",
)
@FILES.under("files")
@describes_cluster
@assumes
@asks
@searches_what_ships
@shows
@OUTS.under("outs")
def audit(**asked: Any) -> int:
    """Check what your Kafka's settings guarantee for acknowledged records: of a running cluster, or of FILE...

    FILEs are what you have: properties of brokers, producers and consumers; the output of `kafka-configs --describe`,
    `kafka-topics --describe` and `kafka-features describe`; Strimzi's Kafka, KafkaNodePool and KafkaTopic, ConfigMaps and
    workloads of Kubernetes; docker-compose and files of variables (KAFKA_…, KAFKA_CFG_…); Helm values; Terraform
    (kafka_topic, aws_msk_…); Spring's application.yml and .properties; librdkafka's names; JSON; folders of these; - for the
    standard input. What is not understood is refused, and never passed over. With --bootstrap-server a cluster is read, as
    kafka-configs.sh --describe reads it, and nothing in it is changed.

    The table comes first. Its rows: can an acknowledged record be lost, duplicated, reordered, or read and then vanish, and
    can the partition stop accepting writes with one broker down? Its columns: what goes wrong, such as processes or
    machines that die. Every cell is decided on a model of Kafka's replication, by trying every order of events (requests,
    answers that come late, crashes, elections) with a few records; one that takes too long is undecided, never a no. Below,
    every yes has the shortest sequence of events, the settings that cause it, and the smallest change that makes it a no,
    itself checked. Several topics are told in groups of equal settings. If nothing names the release, the required
    questions are asked about every release in use, and the worst answer counts.

    \b
    acked audit server.properties producer.properties --kafka-version 3.6
    acked audit --bootstrap-server kafka:9092 --command-config client.properties
    acked audit --set acks=1 --set replication.factor=3 --ask loss
    acked audit docker-compose.yml --show-settings
    acked audit server.properties --set acks=1 --kafka-version 3.9.1 --prove-it
    kubectl get kafka,kafkanodepool,kafkatopic -o yaml | acked audit - --topic orders

    Exit codes (--require says what is required): 0 if every required answer is no, 12 if one is yes, 152 if one is
    undecided or may not be read, 150 for a file that cannot be read or has no known setting, 151 for settings that Kafka
    refuses, that contradict each other, or that look misspelt, 153 for a cluster that does not answer. With --prove-it 12 if
    the yes was seen on real brokers, 14 if they did as the model says and it was not, 1 if they do something else than the
    model, 153 if they do not start.
    """
    return _audit(**asked)


_OF_UPGRADES = ("text", "markdown", "json")
"""The forms that tell what an upgrade changes."""


@click.command(short_help="Ask the same while brokers are upgraded, and afterwards.")
@FILES.under("files")
@describes_cluster
@assumes
@asks_upgrade
@searches_what_ships
@collects("output", Shown, quiet=QUIET,
          form=FORMAT.having(type=click.Choice(_OF_UPGRADES), help="The form of the answer."))  # fmt: skip
@OUTS.under("outs")
def upgrade(**asked: Any) -> int:
    """Ask what `acked audit` asks while brokers are upgraded to another release, and afterwards.

    It says which answers change, by which rule, and whether one is worse in between. FILEs and exit codes are those of
    `acked audit`.

    \b
    acked audit upgrade server.properties --kafka-version 2.4 --to 2.5
    """
    return _audit(**{**asked, "output": replace(asked["output"], full=True, forms=_OF_UPGRADES)})


def _audit(
    files: tuple[Path, ...],
    cluster: ClusterFacts,
    assumed: Assumed,
    wanted: Wanted,
    batch: BatchOptions,
    output: Shown,
    outs: tuple[Path, ...],
) -> int:
    policy = wanted.by_policy
    clusters = () if policy is None else policy.clusters
    if not files and not cluster.overrides and cluster.bootstrap is None and not clusters:
        raise click.UsageError("nothing to audit: name a FILE..., - for the standard input, --set or --bootstrap-server")
    _ = wanted.questions, wanted.required  # What is wrong with them is said before anything is read.
    places = output.places(outs)
    forms = {form for form, _ in places}
    wanted.check(forms)
    for path, what in (*((out, "audit") for _, out in places), (wanted.trace_out, "trace")):
        check_writable(path, what)
    _ = wanted.earlier  # So is what is wrong with it.
    assumptions = assumed.assumptions().deciding(wanted.decisive)
    opened = cache(partial(_open_answers, batch))
    meanwhile = (lambda: None) if wanted.show_settings else opened
    parts = cluster.read_each(files) if wanted.each else [("", cluster.read(files, False, clusters, meanwhile=meanwhile))]
    if not parts:
        say("none of these files has a setting of Kafka's")
        return ExitCode.HOLDS
    from acked.audit.commands.answering import answer

    return answer(parts, files, cluster, assumptions, wanted, batch, opened, output, places)


def _open_answers(batch: BatchOptions) -> ResultCache | None:
    """The cache of answers, read as far as every answer needs it; imports what answers."""
    from acked.audit.commands.answering import SHIPPED

    opened = batch.cache(SHIPPED)
    if opened is not None:
        opened.prepare()
    return opened
