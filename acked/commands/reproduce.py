"""The command `reproduce`: a trace of the model, played on real Kafka brokers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.asking.options import CONSTANT, Constants, SpecChanges, TraceSource, bound, collects, option, reads_trace, shows
from acked.asking.output import Output, say
from acked.checker.errors import ConfigurationError, SystemFailure
from acked.checker.optional import optional_packages

if TYPE_CHECKING:
    from types import FrameType

    from acked.checker.question.result import Counterexample
    from acked.cluster.playing.reproduce import Brokers, Changed, Heed, Prepared, Reproduction


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

    def brokers(self) -> Brokers:
        """The brokers that play."""
        from acked.cluster.playing.reproduce import Brokers
        from acked.cluster.releases.release import Mode

        mode = None if self.control_plane is None else Mode(self.control_plane)
        return Brokers(self.kafka, mode, self.home, self.expire)

    def changed(self) -> Changed | None:
        """What is another in the control."""
        from acked.cluster.playing.reproduce import Changed
        from acked.cluster.releases.release import release

        if self.control is None:
            return None
        key, separator, value = self.control.partition("=")
        if not separator:
            release(self.control)
            return Changed(version=self.control)
        if not key.strip() or not value.strip():
            raise ConfigurationError(f"--control {self.control} is neither a release nor KEY=VALUE, such as acks=all")
        return Changed(setting=(key.strip(), value.strip()))


_machine = collects(
    "machine",
    Machine,
    kafka=option("--kafka", metavar="RELEASE", required=True,
                 help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`."),
    control_plane=option("--control-plane", type=click.Choice(["zookeeper", "kraft"]),
                         help="Where the brokers keep their metadata; default: as the release does it."),
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


@click.command(short_help="Play a counterexample on real Kafka brokers.")
@click.argument("target", metavar="TRACE|SPEC")
@CONSTANT.under("constants")
@_machine
@reads_trace
@shows
def reproduce(target: str, constants: Constants, machine: Machine, source: TraceSource, output: Output) -> int:
    """Play a counterexample on real Kafka brokers, step by step, and compare them with the model after every step.

    The brokers are unmodified release jars on this machine, on loopback addresses only. Everything that they say to each
    other about replication waits until a step lets it go on, so the run is the same every time. Of a SPEC the shortest
    counterexample that can be played is searched first; steps that no driver can bring about are left out of the search and
    named. TRACE is a file that `check --trace-out` wrote. The rules of the trace are those of its spec, whatever --kafka
    says; where they are not those of the release, it is said.

    \b
    acked reproduce acks-1-loses --kafka 4.1.0 --control acks=all
    acked reproduce kafka7415-bug --kafka 2.0.0 --control 2.0.1
    acked reproduce replication-instead-of-flush-and-kills-4-1 --kafka 4.3.1

    Exit codes: 12 the promise is broken on real brokers as in the model (and the control, if one was asked for, keeps it),
    0 it is kept as the model says, 1 brokers and model part, 151 nothing can be played, 153 the brokers did not start.
    It needs Java 17 or newer, and Maven until the release is in the cache (`acked kafka fetch`).
    """
    with optional_packages():
        from acked.cluster.playing.reproduce import prepare
        from acked.reports.reproductions.document import answer_document
        from acked.reports.reproductions.terminal import print_answer
        from acked.reports.reproductions.words import Answer

    brokers, changed = machine.brokers(), machine.changed()
    found, left_out = _run(target, constants, source, machine, output)
    prepared = prepare(found.question, found.run, brokers)
    control = None if changed is None else prepared.control(changed)
    with _limited(machine.time_limit):
        first = _play(prepared, machine.keep, output)
        second = None if control is None else _play(control, machine.keep, output)
    answer = Answer(found.title, found.property, first, changed, second)
    if left_out and not output.is_json and not output.quiet:
        say(f"not in the search, because it cannot be played: {', '.join(left_out)}")
    output.emit(lambda: answer_document(answer, left_out), lambda console: print_answer(console, answer))
    return int(answer.exit_code)


def _run(
    target: str, constants: Constants, source: TraceSource, machine: Machine, output: Output
) -> tuple[Counterexample, dict[str, str]]:
    """The run of a trace file, or the shortest one of a spec that can be played; and what was left out of the search."""
    from acked.asking.playable import is_trace, playable_run

    if is_trace(target) or source.spec is not None:
        from acked.asking.runs import run_of

        return run_of(target, SpecChanges(constants), source.spec, output.quiet, source.trusts), {}
    brokers = machine.brokers()
    return playable_run(target, bound(constants), brokers.chosen_mode, output.quiet, brokers.version, machine.timed)


def _play(prepared: Prepared, keep: bool, output: Output) -> Reproduction:
    from acked.cluster.playing.reproduce import reproduce as play

    return play(prepared, keep, _heed(prepared, output))


def _heed(prepared: Prepared, output: Output) -> Heed:
    """Lines on stderr: what starts, and every step as soon as it has been seen."""
    from acked.cluster.playing.play import SeenStep
    from acked.cluster.playing.reproduce import Heed
    from acked.reports.runs.view import steps_of

    if output.quiet:
        return Heed()
    sentences = {view.index: view.sentence for view in steps_of(prepared.question, prepared.run)}
    count = len(prepared.script.steps)

    def took(done: SeenStep) -> None:
        say(f"  {done.step.index}/{count} {sentences[done.step.index]} ({done.seconds:.1f} s)")

    return Heed(lambda line: say(f"  {line}"), took)


@contextmanager
def _limited(seconds: int) -> Iterator[None]:
    """Ends what takes longer with `SystemFailure`; brokers are then ended by those who started them."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise SystemFailure(f"the time limit of {seconds} seconds is over, and everything was stopped; raise --time-limit")

    if not hasattr(signal, "SIGALRM") or sys.platform == "win32":
        yield
        return
    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
