"""The command `reproduce`: a trace of the model, played on real Kafka brokers."""

from __future__ import annotations

import click

from acked.base.errors import ConfigurationError
from acked.cluster.commands.reproduce_options import Asked, Machine, Written, asks, chooses_machine, writes
from acked.reports.shell.completion import bundled_or_file
from acked.reports.shell.options import TraceSource, reads_trace, shows
from acked.reports.shell.output import Output


@click.command(short_help="Play a counterexample on real Kafka brokers.")
@click.argument("target", metavar="TRACE|SPEC", required=False, shell_complete=bundled_or_file)
@asks
@chooses_machine
@reads_trace
@writes
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
    from acked.cluster.commands.single_play import brokers_of, play_one
    from acked.cluster.commands.whole_release import play_all

    written.check()
    if asked.all_of_release:
        one_run = (target, asked.constants, asked.version, machine.control, source.spec, written.page)
        if any(one_run) or machine.keep or source.trusts:
            raise ConfigurationError(
                "--all plays what the model predicts of --kafka as it is; leave out the spec, -c, --kafka-version, "
                "--control, --keep, --html and --spec"
            )
        return play_all(brokers_of(machine), written.out, machine.time_limit, asked.slow, output)
    if target is None:
        raise click.UsageError("Missing argument 'TRACE|SPEC'.")
    if asked.slow or written.out is not None:
        raise ConfigurationError("--slow and --out go with --all; --format json has the answer of one run")
    return play_one(target, asked, machine, source, written.page, output)
