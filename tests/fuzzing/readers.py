"""What acked reads that others wrote: each reader with what was recorded for it, and one try of it.

`READERS` by name. A try ends with nothing, or with an error that the command line makes a sentence of (`FORESEEN`); whatever
else is raised is a defect.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from pathlib import Path

from acked.audit.clusters.topics import groups_of
from acked.audit.commands.connection import Scram, Unavailable
from acked.audit.decision.gather import recognise
from acked.audit.formats.reading import read_all
from acked.audit.moves.plan import read_plan
from acked.audit.reports.baseline import read_baseline
from acked.base.errors import AckedError
from acked.checker.allconstants.certificate import (
    MANIFEST,
    Derivation,
    derivation_of,
    faults_of,
    read_certificate,
    write_certificate,
)
from acked.checker.allconstants.proof import AllConstantsProof, ObligationResult, SolverVerdict
from acked.checker.replay.foreign import read_foreign
from acked.checker.replay.retrace import retrace
from acked.checker.replay.trace_file import is_ours, read_trace, replay, run_in
from acked.checker.solver.lemma_sets import Core, CoreFile, shipped_sets
from acked.cluster.lines.checking import check
from acked.cluster.lines.recording import Recording
from acked.cluster.observation.subject import Subject
from acked.cluster.observation.validation import validate
from acked.cluster.observe.acknowledgements import read_acknowledged
from acked.cluster.observe.directories import headers
from acked.cluster.observe.disk import read_log
from acked.cluster.observe.metadata import FOLDER, controller_events
from acked.cluster.wire.codec import Unreadable, read_request, read_response
from acked.cluster.wire.facts import request_facts, response_facts
from acked.cluster.wire.records import Damaged, read_entries, write_records
from acked.invariants.proofs import argument_of
from acked.model.catalogue import PROTOCOLS
from acked.model.formulas.errors import ModelError
from acked.model.language.protocol import Instance
from tests.fuzzing.messages import answers, requests
from tests.fuzzing.mutating import Mutator
from tests.observations import LINES, OBSERVED, RUNS
from tests.places import CHECKOUT, SPECS

FORESEEN = (AckedError, ModelError, RecursionError, Unreadable, Damaged, Unavailable)
"""Of the first three `acked.cli.main` makes a sentence; the others are what whoever reads bytes of brokers awaits."""


@dataclass(frozen=True)
class Input:
    """A changed input: its size in bytes, what reads it, and the bytes themselves, to look at.

    `searches`: what was read is explained as well, by a search whose steps are bounded, not its share of the input.
    """

    size: int
    read: Callable[[], object]
    shown: bytes
    searches: bool = False


@dataclass(frozen=True)
class Reader:
    """`corpus` is made once; `make` writes a changed input of it into a folder."""

    corpus: Callable[[], Mapping[str, bytes]]
    make: Callable[[Mapping[str, bytes], Mutator, Path], Input]


# -- logs, metadata logs and segments, records that were acknowledged -------------------------------------------------------


def _logs() -> dict[str, bytes]:
    found = {
        f"{name}/{file.stem}": gzip.decompress(file.read_bytes()) for name in RUNS for file in (LINES / name).glob("*.gz")
    }
    others = [*(LINES / "exercises").glob("*.txt"), LINES / "others.txt", LINES / "reproduced.txt"]
    return found | {file.name: file.read_bytes() for file in others}


def _log(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    """One node's changed file of a run, with the controller's, and now and then with those of all others."""
    pick = mutator.random
    name = pick.choice(RUNS)
    nodes = [key for key in corpus if key.startswith(f"{name}/")]
    changed = pick.choice(nodes)
    text = mutator.bytes_of(corpus[changed])
    explains = pick.random() < 0.02
    files = []
    for key in nodes:
        if explains or key == changed or key.endswith("/100.log"):
            files.append(str(folder / Path(key).name))
            Path(files[-1]).write_bytes(text if key == changed else corpus[key])
    way = _checked if pick.random() < 0.2 else partial(_recorded, explains=explains)
    return Input(sum(Path(file).stat().st_size for file in files), partial(way, files), text, explains)


def _checked(files: list[str]) -> None:
    check(files, "t", 0)


def _recorded(files: list[str], explains: bool) -> None:
    recording = Recording(files, "t", 0)
    begun = recording.begin()
    if explains and begun.releases:
        subject = Subject(begun.releases[0], sorted(begun.created["replicas"]), begun.settings)
        validate(subject, begun.created, islice(recording.events(), 100))
    else:
        for _ in recording.events():
            pass


def _metadata() -> dict[str, bytes]:
    whole = gzip.decompress((OBSERVED / "metadata" / "4.1.0.log.gz").read_bytes())
    return {"metadata": whole, "beginning": whole[:4_000], "segment": write_records([b"a", b"b"]) * 3,
            "older": write_records([b"a", b"b"], epochs=False), "csv": b"offset,value\n0,a\n1,b\n",
            "json": b'{"offset": 0, "value": "a"}\n{"offset": 1}\n'}  # fmt: skip


def _on_disk(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    name = mutator.random.choice(list(corpus))
    data = mutator.bytes_of(corpus[name])
    place = folder / FOLDER
    place.mkdir(exist_ok=True)
    (place / "00000000000000000000.log").write_bytes(data)
    (folder / "acked.csv").write_bytes(data)
    ways: dict[str, Callable[[], object]] = {
        "metadata": lambda: controller_events(folder, "exercise", 0),
        "beginning": lambda: controller_events(folder, "exercise", 0),
        "csv": lambda: list(read_acknowledged(folder / "acked.csv")),
        "json": lambda: list(read_acknowledged(folder / "acked.csv")),
    }
    both: Callable[[], object] = lambda: (list(headers(place)), read_log(place))  # noqa: E731
    return Input(len(data), ways.get(name, both), data)


# -- settings ---------------------------------------------------------------------------------------------------------------


def _settings() -> dict[str, bytes]:
    folder = CHECKOUT / "tests" / "data" / "audit"
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".expected"]
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return found | {name: json.dumps(document).encode() for name, document in _DOCUMENTS.items()}


_DOCUMENTS: Mapping[str, object] = {
    "plan.json": {"version": 1, "partitions": [
        {"topic": "orders", "partition": 0, "replicas": [1, 2, 3], "log_dirs": ["any", "any", "any"]},
        {"topic": "orders", "partition": 1, "replicas": [2, 3, 4]},
    ]},
    "baseline.json": {"format": "acked-audit/2", "topics": ["orders"], "required": ["loss"], "answers": [
        {"decides": True, "question": "loss", "faults": {"name": "clean"}, "worst": "no"},
    ]},
    "lemmas.json": {"fingerprint": "x", "cores": {"Up|In": {"lemmas": ["In"], "way": 0}}},
}  # fmt: skip
"""What else is given to an audit or a proof: a plan of reassignment, an earlier answer, lemma sets."""
_READ: Mapping[str, Callable[[Path], object]] = {
    "plan.json": read_plan, "baseline.json": read_baseline, "lemmas.json": CoreFile.load,
}  # fmt: skip


def _setting(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    name = mutator.random.choice([*corpus, *_DOCUMENTS])
    kept = corpus[name]
    whole = mutator.json_of(kept) if name.endswith(".json") and mutator.random.random() < 0.7 else mutator.bytes_of(kept)
    path = folder / Path(name).name
    path.write_bytes(whole)
    if name in _READ:
        return Input(len(whole), lambda: _READ[name](path), whole)
    return Input(len(whole), lambda: groups_of(recognise(read_all([path]))), whole)


# -- what brokers say -------------------------------------------------------------------------------------------------------


def _wire() -> dict[str, bytes]:
    found = {f"answer {api} {version}": payload for api, version, payload in answers()}
    found |= {f"request {number}": payload for number, payload in enumerate(requests())}
    login = {"challenge": b"r={},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "final": b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="}
    return found | login | {"records": write_records([b"a", b"b"]), "messages": write_records([b"a"], epochs=False)}


def _message(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    name = mutator.random.choice(list(corpus))
    scram = Scram("sha256", "user", "password")
    kept = corpus[name].replace(b"{}", scram.nonce.encode() + b"x")
    data = mutator.bytes_of(kept)
    kind, *told = name.split()
    if kind == "answer":
        api, version = map(int, told)
        return Input(len(data), lambda: (response_facts(api, version, data), read_response(api, version, data)), data)
    if kind == "request":
        return Input(len(data), lambda: (request_facts(data), read_request(data)), data)
    if kind in ("records", "messages"):
        return Input(len(data), lambda: read_entries(data), data)
    if kind == "challenge":
        return Input(len(data), lambda: scram.proof(data), data)
    scram.proof(corpus["challenge"].replace(b"4096", b"1").replace(b"{}", scram.nonce.encode()))
    return Input(len(data), lambda: scram.confirm(data), data)


# -- traces and certificates ------------------------------------------------------------------------------------------------

SMALL = ("-c", "replicas=2", "-c", "log_size=2", "-c", "max_records=2", "-c", "max_leader_epoch=1")
_TRACED = {"truncate-to-hw": SMALL, "acks-1-loses": (), str(SPECS / "liveness" / "kip320-led-again.toml"): ()}
"""Specs with a counterexample: a short one, one of `partition`, and one that goes round for ever."""


def _traces() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for number, (spec, constants) in enumerate(_TRACED.items()):
            path = Path(folder, f"{number}.json")
            _acked("check", spec, *constants, "-q", "--trace-out", str(path))
            found[f"ours {number}"] = path.read_bytes()
        for form in ("itf", "tlc"):
            _acked("export", str(Path(folder, "0.json")), "--to", form, "-o", str(path))
            found[form] = path.read_bytes()
    return found


def _acked(*arguments: str) -> None:
    made = subprocess.run([sys.executable, "-m", "acked", *arguments], cwd=CHECKOUT, capture_output=True)
    assert made.returncode in (0, 12, 13), made.stderr


@cache
def _instance(document: bytes) -> Instance:
    return replay(json.loads(document)).question.instance


def _trace(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    """Most are read against an instance at hand, as the explorer does; of every twentieth the whole question is read."""
    name = mutator.random.choice(list(corpus))
    data = mutator.json_of(corpus[name])
    path = folder / "trace.json"
    path.write_bytes(data)
    instance = _instance(corpus[name if name.startswith("ours") else "ours 0"])
    if not name.startswith("ours"):
        return Input(len(data), lambda: _foreign(path, instance), data)
    if mutator.random.random() < 0.05:
        return Input(len(data), lambda: read_trace(path), data)
    return Input(len(data), lambda: run_in(_read(path), instance), data)


def _read(path: Path) -> object:
    is_ours(path)
    return json.loads(path.read_bytes())


def _foreign(path: Path, instance: Instance) -> None:
    retrace(instance, read_foreign(path, instance).states)


@cache
def _derivation() -> Derivation:
    """The first obligations of kip320's proof: a manifest of all is a hundred kilobytes, most of it alike."""
    argument = argument_of(PROTOCOLS["kip320"], {})
    assert argument is not None
    made = Derivation(PROTOCOLS["kip320"], argument, (), {})
    made.names = made.names[:15]
    return made


def _certificates() -> dict[str, bytes]:
    derived, cores = _derivation(), shipped_sets(PROTOCOLS["kip320"]).cores
    results = tuple(
        ObligationResult(subject, clause, SolverVerdict.UNSAT, 0.5, core.lemmas, core.way)
        for subject, clause in derived.names
        for core in (cores.get(f"{subject}|{clause}", Core()),)
    )
    proof = AllConstantsProof("kip320", derived.goals, {}, (), derived.fingerprint, results, (), (), "z3", 1.0)
    with tempfile.TemporaryDirectory() as folder:
        write_certificate(proof, "kip320", Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _certificate(corpus: Mapping[str, bytes], mutator: Mutator, folder: Path) -> Input:
    """A certificate whose manifest was changed. Whose obligations are made again is decided by what it says it is about."""
    data = mutator.json_of(corpus[MANIFEST])
    for name, text in corpus.items():
        if not (folder / name).exists():
            (folder / name).write_bytes(text)
    (folder / MANIFEST).write_bytes(data)
    return Input(len(data), lambda: _verified(folder), data)


def _verified(folder: Path) -> None:
    told = read_certificate(folder)
    is_same = (told.protocol, told.drop, told.constants) == ("kip320", (), {})
    derived = _derivation() if is_same else derivation_of(told)
    for _ in islice(faults_of(folder, told, derived), 5):
        pass


READERS: Mapping[str, Reader] = {
    "logs": Reader(_logs, _log),
    "disks": Reader(_metadata, _on_disk),
    "settings": Reader(_settings, _setting),
    "messages": Reader(_wire, _message),
    "traces": Reader(_traces, _trace),
    "certificates": Reader(_certificates, _certificate),
}
