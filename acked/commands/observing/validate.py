"""The command `validate`: whether what a real cluster's own logs say is a behaviour of `partition`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from acked.asking.completion import known_releases
from acked.asking.options import CONSTANT, Constants, bound, shows
from acked.asking.output import Output, say
from acked.checker.errors import ConfigurationError, ExitCode

if TYPE_CHECKING:
    from acked.checker.observation.subject import Subject
    from acked.cluster.lines.recorded import Begun


@click.command(short_help="Hold the logs of a real cluster against the model: is what it did a behaviour?")
@click.argument("logs", metavar="LOGS...", nargs=-1, required=True)
@click.option("-t", "--topic", required=True, help="The topic.")
@click.option("-p", "--partition", type=click.IntRange(0), default=0, show_default=True, help="The partition's number.")
@click.option(
    "--kafka-version", "version", metavar="V", shell_complete=known_releases,
    help="The release whose rules are meant; default: the one that the brokers' start-up lines name.",
)
@CONSTANT.saying(
    "A setting or rule of `partition`, e.g. -c min_insync_replicas=2; default: what start-up lines say, else the release's."
).under("constants")
@shows
def validate(
    logs: tuple[str, ...], topic: str, partition: int, version: str | None, constants: Constants, output: Output
) -> int:
    """Say whether the logs of a cluster are a behaviour of the model, or which line no behaviour explains.

    LOGS are the files of all brokers and controllers, rotated and compressed ones too, folders of them, or `-` for stdin,
    from the creation of the topic on, written with the configuration that `acked observe` prints. Every line about the
    partition is explained as steps of `partition`, in an order in which they may have happened, and promises are checked on
    the way. If no behaviour explains a line, the answer names it, with the clause of the rules that forbids it and what else
    might come next.

    \b
    acked observe --kafka-version 4.1 --topic orders          how brokers are told to log it
    acked validate logs/ --topic orders --partition 0
    acked validate b0.log b1.log.gz b2.log c.log -t orders -c min_insync_replicas=2

    Exit code 0 valid; 12 if a line is not explained, or a promise does not hold; 150 if a file cannot be read or the logs
    lack what is needed, 151 for usage, 153 system.
    """
    from acked.checker.observation.validation import validate as validated
    from acked.cluster.lines.recorded import Recording
    from acked.reports.observations.counting import EventsExplained
    from acked.reports.observations.document import verdict_document
    from acked.reports.observations.terminal import print_verdict

    recording = Recording(logs, topic, partition)
    begun = recording.begin()
    subject = _subject(begun, version, constants)
    with EventsExplained(output.quiet) as progress:
        verdict = validated(subject, begun.created, recording.events(), progress=progress)
    about = recording.about(subject.rules, begun)
    output.emit(
        lambda: verdict_document(verdict, topic, partition), lambda console: print_verdict(console, verdict, about)
    )
    return int(ExitCode.HOLDS if verdict.is_valid else ExitCode.INVARIANT)


def _subject(begun: Begun, version: str | None, constants: Constants) -> Subject:
    from acked.checker.observation.subject import Subject

    release = version or (begun.releases[0] if begun.releases else None)
    if release is None:
        raise ConfigurationError(
            "no start-up line in these logs says which release of Kafka the brokers are; name it with --kafka-version"
        )
    if version is not None and begun.releases and version not in begun.releases:
        say(f"acked: the logs are of Kafka {', '.join(begun.releases)}; the rules of {version} are taken, as asked for")
    elif version is None and len(begun.releases) > 1:
        say(f"acked: the logs are of Kafka {', '.join(begun.releases)}; the rules of {release} are taken")
    brokers = sorted(begun.created["replicas"])
    return Subject(release, brokers, {**begun.settings, **bound(constants)})
