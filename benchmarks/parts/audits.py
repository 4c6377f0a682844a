"""How long an audit takes: of one topic, and of 200 topics in ten groups, by what ships, by search, and again.

Wall and processor seconds of whole commands, those of their processes too. A running cluster's topics are asked about with
two kinds of producers, those of files with one. With --no-shipped everything is searched, first with nothing compiled, then
with what was compiled. 200 topics by search take minutes. Real brokers are three of Kafka 4.1 on this machine, which answer
while they are asked, and share its processors; they need Java and a release.
"""

from __future__ import annotations

import os
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from local import ROOT

from acked.cluster.nodes.cluster import Cluster
from acked.cluster.nodes.plan import make_plan
from acked.cluster.releases.release import Mode

SERVER = "process.roles=broker,controller\nmin.insync.replicas=1\n"
RELEASE = ("--kafka-version", "4.1", "--set", "eligible.leader.replicas.version=1", "--quiet")
ONE = ("--set", "replication.factor=3", "--set", "min.insync.replicas=2", "--set", "acks=all", *RELEASE)


LIVE = """
import sys
from acked.audit.commands import options
from acked.audit.commands.audit import audit
from tests.audit.commands.clusters import cluster

options.ask_apart = lambda *_, **__: cluster(200)
sys.exit(audit(["--bootstrap-server", "kafka:9092", *sys.argv[2:]], standalone_mode=False))
"""
"""The command, of a cluster of 200 topics that answers at once."""


def topics(count: int) -> Iterator[tuple[str, int, dict[str, str]]]:
    """Topics in ten groups, their replicas and settings: by replicas, min.insync.replicas, unclean elections."""
    kinds = [(least, factor, unclean) for factor in (2, 3) for least in range(1, factor + 1) for unclean in (False, True)]
    for at in range(count):
        least, factor, unclean = kinds[at % len(kinds)]
        is_unclean = {"unclean.leader.election.enable": "true"} if unclean else {}
        yield f"topic-{at}", factor, {"min.insync.replicas": str(least), **is_unclean}


def described(count: int) -> Iterator[str]:
    """What `kafka-topics --describe` prints of them."""
    for name, factor, settings in topics(count):
        own = ",".join(f"{key}={value}" for key, value in settings.items())
        replicas = ",".join(map(str, range(1, factor + 1)))
        yield f"Topic: {name}\tPartitionCount: 1\tReplicationFactor: {factor}\tConfigs: {own}"
        yield f"\tTopic: {name}\tPartition: 0\tLeader: 1\tReplicas: {replicas}\tIsr: {replicas}"


def timed(program: Sequence[str], arguments: Sequence[str], cache: str) -> tuple[float, float]:
    """Wall and processor seconds of one audit."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "ACKED_CACHE_DIR": cache}
    done = subprocess.run([*program, "audit", *arguments], env=environment, cwd=ROOT, capture_output=True, text=True)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 12, 152):
        raise SystemExit(f"{' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, used


def seconds_of(program: Sequence[str], arguments: Sequence[str], cache: str) -> str:
    """The seconds of one audit, to be printed."""
    return "{:7.2f} /{:7.2f}".format(*timed(program, arguments, cache))


def is_shipping(program: Sequence[str]) -> bool:
    """Whether a checkout has answers that ship."""
    told = subprocess.run([*program, "audit", "--help"], capture_output=True, text=True, cwd=ROOT)
    return "--no-shipped" in told.stdout


def print_of_brokers(programs: Sequence[Sequence[str]], runs: int) -> None:
    """The same 200 topics of three real brokers, of each program in turn: medians, with nothing cached and again."""
    found: dict[str, list[tuple[float, float]]] = {}
    with Cluster(make_plan("4.1.0", Mode.KRAFT)) as kafka, tempfile.TemporaryDirectory() as folder:
        with kafka.admin() as ask:
            for name, factor, settings in topics(200):
                if error := ask.create_topic(name, range(factor), settings):
                    raise SystemExit(f"topic {name} is refused, error {error}")
        arguments = ("--bootstrap-server", kafka.bootstrap(), "--quiet")
        for _ in range(runs + 1):
            for at, program in enumerate(programs):
                cache = tempfile.mkdtemp(dir=folder)
                for again in ("nothing cached", "again"):
                    name = f"200 topics of real brokers{', before' if at else ''}: {again}"
                    found.setdefault(name, []).append(timed(program, arguments, cache))
    for name, seconds in found.items():  # The first run finds brokers that have answered nobody.
        wall, used = map(statistics.median, zip(*seconds[1:], strict=True))
        print(f"{name:<44}{wall:7.2f} /{used:7.2f}")


def print_audits(programs: Sequence[Sequence[str]], searches_many: bool) -> None:
    """Runs and prints everything, of each program in turn; 200 topics by search if `searches_many`."""
    with tempfile.TemporaryDirectory() as folder:
        server, listing = Path(folder, "server.properties"), Path(folder, "topics.txt")
        server.write_text(SERVER)
        listing.write_text("\n".join(described(200)) + "\n")
        many = (str(server), str(listing), *RELEASE)
        for name, arguments, has_search in (("one topic", ONE, True), ("200 topics, 10 groups", many, searches_many)):
            for at, program in enumerate(programs):
                if arguments is many:
                    live = [str(Path(program[0]).with_name("python")), "-c", LIVE]
                    cache, whose = tempfile.mkdtemp(dir=folder), f"200 topics of a cluster{', before' if at else ''}"
                    print(f"{whose + ': what ships':<44}{seconds_of(live, ['--quiet'], cache)}", flush=True)
                    print(f"{whose + ': again':<44}{seconds_of(live, ['--quiet'], cache)}", flush=True)
                cache, ships = tempfile.mkdtemp(dir=folder), is_shipping(program)
                whose = f"{name}{', before' if at else ''}"
                if ships:
                    print(f"{whose + ': what ships':<44}{seconds_of(program, arguments, cache)}", flush=True)
                    print(f"{whose + ': again':<44}{seconds_of(program, arguments, cache)}", flush=True)
                if not has_search:
                    continue
                searched = [*arguments, *(["--no-shipped"] if ships else [])]
                print(f"{whose + ': searched, nothing compiled':<44}{seconds_of(program, searched, cache)}", flush=True)
                print(f"{whose + ': again':<44}{seconds_of(program, searched, cache)}", flush=True)
                shutil.rmtree(Path(cache) / "results", ignore_errors=True)
                print(f"{whose + ': searched, compiled':<44}{seconds_of(program, searched, cache)}", flush=True)
