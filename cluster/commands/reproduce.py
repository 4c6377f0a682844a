"""The command `reproduce`: a trace of the model, played on real Kafka brokers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, write_text
from acked.base.optional import optional_packages
from acked.checker.question.result import Counterexample
from acked.cluster.commands.playable import is_trace, playable_run
from acked.cluster.commands.reproductions import is_reproduction, read_saved
from acked.reports.shell.deadline import deadline
from acked.reports.shell.options import (
    CONSTANT,
    KAFKA_VERSION,
    OUT,
    Constants,
    SpecChanges,
    TraceSource,
    bound,
    collects,
    option,
    reads_trace,
    shows,
)
from acked.reports.shell.output import Output, say
from acked.reports.shell.runs import run_of

if TYPE_CHECKING:
    from acked.cluster.playing.protocol import PreparedRun
    from acked.cluster.playing.reproduce import Listener
    from acked.cluster.playing.setting import Brokers, Changed
    from acked.cluster.reports.reproductions.words import Answer, AnyReproduction


@dataclass(frozen=True)
class Machine:
    """On which brokers, and with what limits."""

    kafka: str
    control_plane: str | None
    home: Path | None
    control: str | None
    keep: bool
    expire: bool
    timed: bool
    time_limit: int

    @property
    def brokers(self) -> Brokers:
        """The brokers that play; `ConfigurationError` for a release or a mode that there is not."""
        from acked.cluster.playing.setting import Brokers
        from acked.cluster.releases.release import Mode, mode_of

        mode = None if self.control_plane is None else Mode(self.control_plane)
        brokers = Brokers(self.kafka, mode, self.home, self.expire)
        mode_of(brokers.release, mode)
        return brokers

    def changed(self) -> Changed | None:
        """What is another in the control."""
        from acked.cluster.playing.setting import Changed

        return None if self.control is None else Changed.of(self.control)


_machine = collects(
    "machine",
    Machine,
    kafka=option("--kafka", metavar="RELEASE", required=True,
                 help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`."),
    control_plane=option("--control-plane", type=click.Choice(["zookeeper", "kraft"]),
                         help="Where the brokers keep their metadata; default: as in the trace's rules, if the release can."),
    home=option("--kafka-home", type=click.Path(path_type=Path), metavar="DIR",
                help="An unpacked release to take the jars from, in the place of the cache and Maven."),
    control=option("--control", metavar="RELEASE|KEY=VALUE",
                   help="Play the same steps again on a release that is fixed, or with another setting of Kafka."),
    keep=option("--keep", is_flag=True, help="Leave the brokers' files and say where they are."),
    expire=option("--expire", is_flag=True,
                  help="With KRaft: wait until a dead broker's session expires, rather than tell the controller."),
    timed=option("--timed", is_flag=True,
                 help="Search among steps that end by time too: a leader finds a follower too slow. Else only if need be."),
    time_limit=option("--time-limit", type=click.IntRange(10, 86_400), default=600, show_default=True, metavar="SECONDS",
                      help="Give up and stop everything after so many seconds."),
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """What is changed in a spec, or whether all specs are asked."""

    constants: Constants
    version: str | None
    all_of_release: bool
    slow: bool


@dataclass(frozen=True)
class Written:
    """Files beside the answer."""

    page: Path | None
    out: Path | None

    def check(self) -> None:
        """Fails before long work if they cannot be written."""
        for path, what in ((self.page, "page"), (self.out, "answer")):
            check_writable(path, what)


_asks = collects(
    "asked",
    Asked,
    constants=CONSTANT,
    version=KAFKA_VERSION.saying("The rules of this release in the place of the spec's; --kafka says which brokers start."),
    all_of_release=option("--all", is_flag=True, help="Play all claims and bugs that the model predicts of the release."),
    slow=option("--slow", is_flag=True, help="With --all: also specs with slow = true."),
)
_writes = collects(
    "written",
    Written,
    page=option("--html", type=click.Path(path_type=Path), metavar="FILE",
                help="Also write a page to step through: the model and the brokers side by side, with their log lines."),
    out=OUT.saying("With --all: keep the JSON of what was played in this file; the same command goes on from there."),
)  # fmt: skip


@click.command(short_help="Play a counterexample on real Kafka brokers.")
@click.argument("target", metavar="TRACE|SPEC", required=False)
@_asks
@_machine
@reads_trace
@_writes
@shows
def reproduce(
    target: str | None, asked: Asked, machine: Machine, source: TraceSource, written: Written, output: Output
) -> int:
    """Play a counterexample on real Kafka brokers, step by step, and compare them with the model after every step.

    The brokers are unmodified release jars on this machine, on loopback addresses only. Everything that they say to each
    other about replication waits until a step lets it go on, so the run is the same every time. Of a SPEC the shortest
    counterexample that can be played is searched first; steps that no driver can bring about are left out of the search and
    named. TRACE is a file that `check --trace-out` or `reproduce --format json` wrote. The rules of the trace are those of
    its spec, or of --kafka-version, whatever --kafka says; where they are not those of the release, it is said first.
    `acked view` makes the page of a saved answer again, and `acked show` shows it, without brokers.

    Where the lines of the release are read (KRaft from 3.3, 2.8 with ZooKeeper), what the brokers logged meanwhile is held
    against the model as by `acked kafka validate`; a line of the answer says so, and the exit code does not depend on it.

    Traces of `partition` and of `transactions` can be played; the latter since Kafka 3.0.

    \b
    acked reproduce acks-1-loses --kafka 4.1.0 --control acks=all
    acked reproduce kafka7415-bug --kafka 2.0.0 --control 2.0.1
    acked reproduce replication-instead-of-flush-and-kills-4-1 --kafka 4.3.1 --html kills.html
    acked reproduce kafka14402-bug --kafka 3.5.1 --control 3.6.2
    acked reproduce --all --kafka 4.1.0 -o 4.1.0.json

    Exit codes: 12 the promise was seen broken on real brokers as in the model (and the control, if one was asked for, keeps
    it), 14 the brokers did as the model says and the promise was not seen broken, as where brokers do not show it, 0 the
    trace names no promise and the brokers did as the model says, 1 brokers and model part, 151 nothing can be played, 153
    the brokers did not start. With --all: 1 if brokers and model part anywhere, 152 if a run was not decided in time, 12 if
    anything was reproduced, 14 if all that was played went as the model says and nothing was reproduced.
    It needs Java 17 or newer, and Maven until the release is in the cache (`acked kafka fetch`).
    """
    with optional_packages():
        from acked.cluster.reports.reproductions.document import answer_document
        from acked.cluster.reports.reproductions.terminal import print_answer
        from acked.cluster.reports.reproductions.words import Answer, presentation_of, rules_in_words

    written.check()
    changed = machine.changed()
    if asked.all_of_release:
        return _whole_release(target, asked, machine, source, written, output)
    if target is None:
        raise click.UsageError("Missing argument 'TRACE|SPEC'.")
    if asked.slow or written.out is not None:
        raise ConfigurationError("--slow and --out go with --all; --format json has the answer of one run")
    found, left_out = _run(target, asked, source, machine, output)
    played = presentation_of(found.question).played
    if not played.timed and (machine.expire or machine.timed):
        raise ConfigurationError(f"a trace of {played.model.name} is played without --expire and --timed")
    prepared = played.prepare(found.question, found.run, played.fit(machine.brokers, found.question))
    control = None if changed is None else prepared.control(changed)
    for one in (prepared, control):
        if one is not None and not output.quiet and (rules := rules_in_words(one)):
            say(rules)
    with deadline(machine.time_limit):
        first = _play(prepared, machine.keep, output)
        second = None if control is None else _play(control, machine.keep, output)
    answer = Answer(found.title, found.property, first, changed, second)
    if left_out and not output.is_json and not output.quiet:
        say(f"not in the search, because it cannot be played: {', '.join(left_out)}")
    if written.page is not None:
        _write_page(written.page, answer)
    output.emit(lambda: answer_document(answer, left_out), lambda console: print_answer(console, answer))
    return int(answer.judgement.exit_code)


def _write_page(page: Path, answer: Answer) -> None:
    from acked.cluster.reports.reproductions.page import reproduction_page

    write_text(page, reproduction_page(answer), "page")
    say(f"the page is {page}; open it in a browser")


def _whole_release(
    target: str | None, asked: Asked, machine: Machine, source: TraceSource, written: Written, output: Output
) -> int:
    from acked.cluster.commands.whole_release import play_all

    one_run = (target, asked.constants, asked.version, machine.control, source.spec, written.page)
    if any(one_run) or machine.keep or source.trusts:
        raise ConfigurationError(
            "--all plays what the model predicts of --kafka as it is; leave out the spec, -c, --kafka-version, --control, "
            "--keep, --html and --spec"
        )
    return play_all(machine.brokers, written.out, machine.time_limit, asked.slow, output)


def _run(
    target: str, asked: Asked, source: TraceSource, machine: Machine, output: Output
) -> tuple[Counterexample, dict[str, str]]:
    """The run of a trace file, or the shortest one of a spec that can be played; and what was left out of the search."""
    changes = SpecChanges(asked.constants, asked.version)
    if is_reproduction(target) and changes.are_none and source.spec is None:
        answer, left_out = read_saved(target)
        before = answer.first.prepared
        return Counterexample(answer.title, before.question, before.run, answer.promise), left_out
    if is_trace(target) or source.spec is not None:
        return run_of(target, changes, source.spec, output.quiet, source.trusts), {}
    return playable_run(target, bound(asked.constants), machine.brokers, output.quiet, asked.version, machine.timed)


def _play(prepared: PreparedRun, keep: bool, output: Output) -> AnyReproduction:
    from acked.cluster.playing.reproduce import reproduce as play

    return play(prepared, keep, _listener(prepared, output))


def _listener(prepared: PreparedRun, output: Output) -> Listener:
    """Lines on stderr: what starts, and every step as soon as it has been seen."""
    from acked.cluster.playing.reproduce import Listener
    from acked.reports.runs.view import steps_of

    if output.quiet:
        return Listener()
    views = steps_of(prepared.question, prepared.run)
    steps = {view.index: f"  {view.index}/{len(views) - 1} {view.sentence}" for view in views}
    return Listener(lambda line: say(f"  {line}"), lambda done: say(f"{steps[done.step.index]} ({done.seconds:.1f} s)"))
