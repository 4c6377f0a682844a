"""The commands below `new`: the starters of `acked/starters/`, filled in and written as new files; editors' schemas."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from acked.asking.working_copy import example_copy, working_copy
from acked.audit.clusters.policy import policy_schema
from acked.base.bounds import Bounds
from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, read_text, write_text
from acked.checker.question.question import Question
from acked.checker.search.local import search
from acked.checker.spec.resolve import protocol_named
from acked.checker.spec.tables import spec_schema
from acked.checker.spec.user_protocol import is_reference
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.language.protocol import Protocol
from acked.reports.shell.bundled import bundled_specs
from acked.reports.shell.completion import origins, shipped_protocols
from acked.reports.shell.groups import Paragraphs
from acked.reports.shell.options import option
from acked.reports.shell.output import json_text, make_folder, say
from acked.reports.shell.specs import bundled_spec

MAX_STATES = 1_000_000
"""Distinct states at which the search for a new spec's answer ends."""

_OUT = option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="The folder; default: the working directory.",
)


@click.group(cls=Paragraphs, short_help="Write a small working protocol or spec to start from.")
def new() -> None:
    """Write a small working example: a protocol of your own, or a spec of a shipped one, or schemas for editors."""


@new.command(short_help="Write a small protocol of your own, with its spec and its test.")
@click.argument("name")
@click.option("--from", "origin", metavar="PROTOCOL", shell_complete=origins,
              help="Begin with a shipped protocol, e.g. kip320 or partition, or an example, e.g. paxos.")  # fmt: skip
@_OUT.under("out")
def protocol(name: str, origin: str | None, out: Path) -> None:
    """Write NAME.py (a small replicated log), NAME.toml (properties it should have) and test_NAME.py (a test of them).

    NAME consists of lower-case letters, digits, - and _. Existing files are never overwritten. `acked check NAME.toml` then
    checks the protocol; change a rule, and check it again. With --from you get a working copy of a shipped protocol: the
    same fields, constants and properties, under your name, with the spec of the original; of `partition`, today's Kafka, the
    rules are a folder of files, one for each party. `acked diff NAME.toml PROTOCOL` then shows what your change allows and
    forbids. The examples are two_phase_commit, paxos, raft, chain_replication, lease and bounded_queue, each with a bug.

    \b
    acked new protocol my-log && acked check my_log.toml
    acked new protocol my-paxos --from paxos && acked gate my_paxos.toml
    acked new protocol my-kip --from kip320 && acked check my_kip.toml
    """
    if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
        raise ConfigurationError(f"{name!r} cannot name a protocol; use lower-case letters, digits, - and _, e.g. my-log")
    identifier = name.replace("-", "_")
    texts = {"name": name, "identifier": identifier, "module": identifier}
    if name in PROTOCOLS:
        raise ConfigurationError(f"{name} is a shipped protocol; choose another name for yours")
    if origin is None:
        made = {
            out / f"{identifier}.py": _fill_in("protocol.py.txt", texts),
            out / f"{identifier}.toml": _fill_in("protocol.toml.txt", texts),
        }
    else:
        made = {out / path: text for path, text in _copy(origin, name).items()}
    made[out / f"test_{identifier}.py"] = _fill_in("test.py.txt", texts)
    for folder in {path.parent for path in made} - {out}:
        make_folder(folder)
    _write(made)
    asks = "gate" if "\nvariants" in made[out / f"{identifier}.toml"] else "check"
    click.echo(f"next: acked {asks} {out / identifier}.toml")


def _copy(origin: str, name: str) -> dict[Path, str]:
    """A working copy of a shipped protocol, and the spec of the original with the copy's name."""
    if is_reference(origin):
        raise ConfigurationError(f"--from {origin}: a file of your own is copied without acked; name a shipped protocol")
    example = bundled_specs() / "examples" / f"{origin.replace('-', '_')}.toml"
    is_example = example.is_file()
    copy = example_copy(example.with_suffix(".py"), name) if is_example else working_copy(protocol_named(origin), name)
    original = example if is_example else bundled_spec(origin)
    if original is None:
        raise ConfigurationError(f"{origin} has no spec of its own to begin with; copy another one")
    lines = read_text(original, "spec file").splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith("protocol"))
    lines[at] = f'protocol = "{copy.reference}"  # The rules of {origin}, copied; the answer below is that of the original.\n'
    return {**copy.texts, Path(f"{name.replace('-', '_')}.toml"): "".join(lines)}


@new.command(short_help="Write a spec of a shipped protocol, with its answer.")
@click.argument("name")
@click.option("--protocol", "protocol_name", metavar="PROTOCOL", default="kip320", show_default=True,
              shell_complete=shipped_protocols,
              help="One of `acked list protocols`.")  # fmt: skip
@_OUT.under("out")
def spec(name: str, protocol_name: str, out: Path) -> None:
    """Write NAME.toml, a spec of a shipped protocol with small constants, and the answer of a search as its [expect].

    The spec of a protocol of your own is written with it, by `acked new protocol`.

    \b
    acked new spec my-question --protocol partition && acked check my-question.toml
    """
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ConfigurationError(f"{name!r} cannot name a spec; use letters, digits, - and _, e.g. my-question")
    if is_reference(protocol_name):
        raise ConfigurationError("the spec of a protocol of your own is written by `acked new protocol`; use that command")
    path = out / f"{name}.toml"
    _refuse_existing([path])
    asked = protocol_named(protocol_name)
    constants = _small(asked)
    promises = list(properties_of(asked).values())[:2]
    question = Question(asked.instantiate(constants), tuple(promises))
    result = search(question, Bounds(workers=1, max_states=MAX_STATES))
    measured = [f'verdict = "{result.verdict.value}"', f"distinct_states = {result.distinct_states}"]
    if result.violations:
        measured.insert(1, f"violates = {json.dumps(list(result.reported))}")
    elif result.never_fired:
        measured.append(f"never_fired = {json.dumps(result.never_fired)}")
    lines = [
        f"{item.name} = {json.dumps(item.show(constants[item.name]))}  # {item.doc}; {item.range}"
        for item in asked.constants
        if item.name in constants
    ]
    texts = {
        "file": path.name,
        "protocol": asked.name,
        "title": f"Which properties does {asked.name} have with these constants?",
        "constants": "\n".join(lines),
        "invariants": ", ".join(json.dumps(item.name) for item in promises),
        "expectation": "\n".join(measured),
    }
    _write({path: _fill_in("spec.toml.txt", texts)})
    click.echo(f"next: acked check {path}")


@new.command(short_help="Write the JSON Schemas of spec files and of acked.toml, for editors.")
@_OUT.under("out")
def schema(out: Path) -> None:
    """Write spec.schema.json and acked.schema.json, by which editors complete keys and mark mistakes.

    An editor that knows TOML takes one from a comment on the first line of a file: #:schema ./spec.schema.json

    \b
    acked new schema --out .schemas
    """
    made = {"spec": spec_schema(), "acked": policy_schema()}
    make_folder(out)
    _write({out / f"{name}.schema.json": json_text(document) for name, document in made.items()})


def _small(asked: Protocol) -> dict[str, int]:
    """Values at which a search takes no time: two brokers, and the least of whatever has no default."""
    chosen = {}
    for item in asked.constants:
        if item.name == "replicas":
            chosen[item.name] = 2
        elif item.default is None or item.name in ("records", "log_size"):
            chosen[item.name] = max(item.lo, 1)
    return chosen


def _fill_in(starter: str, texts: dict[str, str]) -> str:
    return Template(files("acked").joinpath("starters", starter).read_text("utf-8")).substitute(texts)


def _refuse_existing(paths: list[Path]) -> None:
    for path in paths:
        if path.exists() or path.is_symlink():
            raise ConfigurationError(f"{path} already exists; choose another name, or another folder with --out")
        check_writable(path, "file")


def _write(made: dict[Path, str]) -> None:
    _refuse_existing(list(made))
    for path, text in made.items():
        write_text(path, text, "file")
        say(f"wrote {path}")
