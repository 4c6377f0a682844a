"""The command `check`. What answers it is imported when it is asked: a shell that completes its options waits for none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from acked.reports.shell.engines import AUTO, ENGINE_CHOICES, EngineOptions
from acked.reports.shell.groups import Epilogue
from acked.reports.shell.options import (
    AskedSpec,
    KeyValue,
    RunPlace,
    SearchLimits,
    asks_spec,
    collects,
    option,
    searches,
    shows,
    warn_without_cache,
    writes_trace,
)
from acked.reports.shell.output import Output, TraceFile

_chooses_engine = collects(
    "options",
    partial(EngineOptions, ""),
    engine=option("--engine", type=click.Choice(ENGINE_CHOICES), default=AUTO, show_default=True,
                  help="Where to search; auto: here, and over the executors of --master once memory is full."),
    master=option("--master", help="Spark's master, e.g. local[2] or spark://HOST:PORT; --engine spark: default local[*]."),
    run_dir=option("--run-dir", type=RunPlace(), metavar="DIR",
                   help="Keep every completed level in this new folder, for --resume; over Spark also hdfs:, s3a: or file:."),
    resume=option("--resume", type=RunPlace(), metavar="DIR",
                  help="Go on after the completed levels of a run directory."),
    disk=option("--disk", type=click.Path(path_type=Path), metavar="DIR",
                help="Go on in this folder when memory is full: slower, but as far as the disk reaches. The same command "
                     "continues a run that was stopped."),
    buckets=option("--buckets", type=int, help="Parts into which a stored search divides the states; default: 64."),
    conf=option("--conf", type=KeyValue("spark.executor.memory=2g"), multiple=True,
                help="A setting for Spark, e.g. spark.executor.memory=2g."),
    ship=option("--ship/--no-ship", default=None,
                help="Bring acked and llvmlite to Spark's executors; by default to those of other machines."),
)  # fmt: skip


@click.command(
    cls=Epilogue,
    short_help="Explore every reachable state of a spec.",
    epilog="""\
A spec is a TOML file that asks one question:

  title    = "KIP-320 fencing keeps every committed record"
  protocol = "kip320"
  [constants]
  replicas = 3
  log_size = 2
  max_records = 2
  max_leader_epoch = 2
  [check]
  invariants = ["WeakIsr", "StrongIsr"]
  [expect]
  verdict = "holds"

Instead of, or besides, invariants: [liveness.NAME] leads_to = ["TRIGGER", "GOAL"] or eventually = "GOAL", under
[fairness] weak = ["Action"], strong = ["Action(parameter)"]; [check] recoverable = ["GOAL"].

Exit codes: 0 holds, 1 holds but not as expected, 11 deadlock, 12 invariant violated, 13 step property, liveness or
recoverability violated, 14 real brokers did as the model says, and no promise was seen broken, 130 interrupted,
150 file unreadable, 151 usage or configuration (also `acked` alone), 152 incomplete, 153 system.""",
)
@asks_spec
@searches
@click.option("--continue", "go_on", is_flag=True, help="Go on after a violation: a shortest trace for every property.")
@click.option("--deadlock", is_flag=True, help="Also ask whether some action is enabled in every reachable state.")
@click.option("--symmetry", is_flag=True, help="Visit states that differ only in the names of brokers once.")
@_chooses_engine
@click.option("--easiest", is_flag=True, help="Of all shortest counterexamples show the one that is easiest to follow.")
@click.option("--explain", is_flag=True, help="Also show which actions a violation needs, and the nearest trace without it.")
@writes_trace
@shows
def check(
    asked: AskedSpec,
    search: SearchLimits,
    go_on: bool,
    deadlock: bool,
    symmetry: bool,
    options: EngineOptions,
    easiest: bool,
    explain: bool,
    trace_out: TraceFile,
    output: Output,
) -> int:
    """Explore every reachable state of SPEC, a TOML file or the name of a bundled spec.

    Level by level from the initial state (breadth first): invariants and step properties are decided in every state and on
    every step, so the first counterexample is a shortest one. Once all states are known, so are the other properties:
    whether the cluster can always recover (recoverable), and whether it does in every fair infinite trace ([liveness.NAME]);
    a counterexample to the latter is a lasso, shown with the steps that repeat. The exit code is the verdict: 0 only if all
    reachable states were explored and every property holds.

    \b
    acked check kip320                              a bundled spec
    acked check kip320 -c replicas=2 -c log_size=3  with other constants
    acked check acks-1-loses --kafka-version 3.6    `partition` with the rules of a release
    acked check my.toml --trace-out trace.json      keep the counterexample; then `acked view trace.json`
    """
    from acked.asking.checking import answer_spec

    options = replace(options, spec=asked.name, memory=search.memory)
    options.check(has_workers=search.workers is not None)
    warn_without_cache()
    return answer_spec(asked, search, go_on, deadlock, symmetry, options, easiest, explain, trace_out, output)
