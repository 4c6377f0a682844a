"""Modules that `acked export --to tla` writes: TLC has counted what we count, and its traces come back as runs."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from acked.api import load_spec
from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.checker.replay.foreign import read_foreign
from acked.checker.replay.mapping import read_mapping
from acked.checker.replay.retrace import retrace
from acked.checker.spec.spec import Spec, parse_spec
from acked.cli import main
from acked.reports.exports.tla_module import module_of
from benchmarks.tlc import ASKED, Row, asked, differences, expected, kept, module, plain

HERE = Path(__file__).parent
EXAMPLES = Path(__file__).parents[3] / "specs" / "examples"
TRACES = HERE / "tlc"
"""What TLC's `-dumpTrace json` wrote, of our modules and of TwoPhase of tlaplus/Examples with RM = {r1, r2, r3}."""

MAP = """
[fields]
phase = "rmState"
decision = "tmState"
heard = "tmPrepared"
sent = "msgs[type=Prepared].rm"

[values.decision]
init = "none"
committed = "commit"
"""


def example(name: str) -> Spec:
    return load_spec(EXAMPLES / name)


@pytest.mark.slow
@pytest.mark.parametrize("row", kept(), ids=lambda row: row.spec)
def test_tlc_has_read_this_very_module_and_answered_as_acked_does(row: Row) -> None:
    """Where the digest differs, another module is written now: `python benchmarks/tlc.py --jar tla2tools.jar --keep`."""
    assert differences(expected(row.spec), row) == []


def test_what_is_asked_of_tlc_by_default_is_what_was_kept() -> None:
    assert [row.spec for row in kept()] == [*ASKED]


def test_a_difference_in_a_count_of_what_holds_is_told() -> None:
    row = kept()[0]
    assert differences(row, dataclasses.replace(row, generated=row.generated + 1)) == [
        f"generated: acked {row.generated}, TLC {row.generated + 1}"
    ]


def test_an_action_is_a_definition_with_its_clauses_and_what_it_leaves_alone() -> None:
    text = module(example("two_phase_commit.toml#holds")).text
    assert "VARIABLES phase, sent, heard, decision\n" in text
    assert 'Phase == {"working", "prepared", "committed", "aborted"}\n' in text
    assert "  /\\ phase \\in [Participant -> Phase]\n" in text
    prepare = text.partition("\nPrepare(who) ==\n")[2].partition("\n\n")[0]
    assert prepare.splitlines() == [
        '  /\\ phase[who] = "working"  \\* it is working',
        '  /\\ phase\' = [phase EXCEPT ![who] = "prepared"]',
        "  /\\ sent' = sent \\cup {who}",
        "  /\\ UNCHANGED <<heard, decision>>",
    ]
    assert "  \\/ \\E who \\in Participant : Prepare(who)\n" in text


def test_fairness_is_in_the_specification_and_liveness_is_a_property() -> None:
    made = module(asked("liveness/kip320-led-again"))
    fair = "SF_vars(\\E replica_ \\in Replica : ControllerElectLeader(replica_))"
    assert f"Spec == Init /\\ [][Next]_vars /\\ {fair}\n" in made.text
    assert "LedAgain == (quorum.leader = none) ~> (quorum.leader # none)\n" in made.text
    assert "PROPERTY LedAgain\n" in made.configuration


def test_fairness_to_a_parameter_is_quantified_outside() -> None:
    text = """
title = "led again"
protocol = "kip320"
constants = { replicas = 2, log_size = 1, max_records = 1, max_leader_epoch = 2 }
liveness.LedAgain.leads_to = ["quorum.leader is None", "quorum.leader is not None"]
fairness.weak = ["BecomeLeader(leader)"]
"""
    made = module(parse_spec(text, Path("led.toml")))
    assert "(\\A leader \\in Replica : WF_vars(\\E epoch \\in Epoch : BecomeLeader(leader, epoch)))" in made.text


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("recoverable/kip320-leader-again", "asks that something stays possible, for which TLA+ has no formula"),
        ("majority", "computes with the bits of numbers, such as for ranks of epochs, which the module has no words for"),
    ],
)
def test_what_a_module_cannot_say_is_refused_in_a_sentence_and_nothing_is_written(
    spec: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", spec, "--to", "tla", "-o", str(tmp_path / "out")]) not in (0, 255)
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_promises_that_assume_different_fairness_are_asked_apart() -> None:
    question = plain(asked("liveness/kip320-led-again"))
    (item,) = question.properties
    assert item.liveness is not None
    other = dataclasses.replace(item, name="Other", liveness=dataclasses.replace(item.liveness, strong=()))
    with pytest.raises(ConfigurationError, match="assume different fairness"):
        module_of(dataclasses.replace(question, properties=(item, other)), "")


CLASHING = """
from acked import Id, Optional, Protocol, Struct, field, require

class Node(Id, size=2):
    "A node."

class State(Struct):
    node = field(Optional(Node), "somebody")

clashing = Protocol("clashing", State, title="names", source="nothing", constants=(), initial=lambda s: None)

@clashing.action()
def next(s: State, node: Node) -> None:
    require("nobody", s.node.is_none)
    s.node = node

@clashing.action()
def node(s: State) -> None:
    s.node = None
"""


def test_what_has_a_name_that_means_something_else_gets_another_one(tmp_path: Path) -> None:
    (tmp_path / "clashing.py").write_text(CLASHING, "utf-8")
    spec = tmp_path / "clashing.toml"
    spec.write_text(
        'title = "names"\nprotocol = "clashing.py:clashing"\n[check]\ninvariants = ["Node"]\n'
        '[invariants.Node]\nholds = "node is None or node == 0 or node == 1"\n[reach]\nNext = "node == 1"\n',
        "utf-8",
    )
    loaded = load_spec(spec)
    text = module(loaded).text
    for line in (
        "Node__ == 0..1", "  /\\ node \\in Node__ \\cup {none}", "Next_(node_) ==", "  /\\ node' = node_", "Node ==",
        "  \\/ \\E node_ \\in Node__ : Next_(node_)", "Node_ ==", "NoNext == ~(node # none /\\ node = 1)",
    ):  # fmt: skip
        assert f"\n{line}\n" in text
    assert "NoNext" not in module(loaded).configuration


def test_the_command_writes_a_module_and_its_configuration(tmp_path: Path) -> None:
    assert main(["export", "kip320", "-c", "replicas=2", "--format", "tla", "--out", str(tmp_path / "new")]) == 0
    made = module(asked("kip320 replicas=2"))
    assert (tmp_path / "new" / "kip320.tla").read_text("utf-8") == made.text
    assert (tmp_path / "new" / "kip320.cfg").read_text("utf-8") == made.configuration


# -- traces of TLC -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trace", "spec", "last"),
    [
        ("two_phase_commit", "two_phase_commit.toml#bug", "ObeyCommit(who=0)"),
        ("paxos", "paxos.toml#bug", "Accept(by=1, ballot=1, value=1)"),
        ("bounded_queue", "bounded_queue.toml#bug", "WaitForPlace(who=1)"),
        ("kinds", str(HERE / "kinds.toml"), "Write(at=0)"),
    ],
)
def test_a_counterexample_of_tlc_to_our_module_is_a_run_of_the_protocol(trace: str, spec: str, last: str) -> None:
    question = plain(example(spec))
    foreign = read_foreign(TRACES / f"{trace}.json", question.instance)
    found = retrace(question.instance, foreign.states, foreign.hints)
    assert found.blocked is None
    assert found.run.actions[-1].label == last
    told = [(hint.action, {*(hint.arguments or {})}) for hint in foreign.hints if hint is not None]
    assert told == [(step.action.name, {name.replace(".", "_") for name in step.arguments}) for step in found.run.actions]


@pytest.fixture
def mapping(tmp_path: Path) -> Path:
    path = tmp_path / "map.toml"
    path.write_text(MAP, "utf-8")
    return path


def test_a_trace_of_a_published_module_with_model_values_is_shown_by_a_mapping_file(
    mapping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = str(EXAMPLES / "two_phase_commit.toml#holds")
    assert main(["show", str(TRACES / "published.json"), "--spec", spec, "--map", str(mapping)]) == 0
    shown = capsys.readouterr().out
    assert " 7  the coordinator decides to commit\n    DecideCommit()\n" in shown
    assert "10  participant 2 commits\n    ObeyCommit(who=2)\n" in shown


def test_constants_on_the_command_line_change_the_spec_of_a_trace(mapping: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, trace = str(EXAMPLES / "two_phase_commit.toml#holds"), str(TRACES / "published.json")
    assert main(["show", trace, "--spec", spec, "--map", str(mapping), "-c", "participants=4"]) not in (0, 255)
    assert "phase must be a list of 4" in capsys.readouterr().err
    assert main(["show", trace, "-c", "participants=4"]) not in (0, 255)
    assert "name that with --spec" in capsys.readouterr().err


def test_without_a_mapping_the_variables_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    spec = str(EXAMPLES / "two_phase_commit.toml#holds")
    assert main(["show", str(TRACES / "published.json"), "--spec", spec]) not in (0, 255)
    fields, variables = "phase, sent, heard, decision", "msgs, rmState, tmState, tmPrepared"
    assert f"fields {fields}, and the trace has {variables}; say in a mapping file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[fields]\nfase = 'rmState'", "two_phase_commit has no field 'fase' (did you mean phase?)"),
        ("[fields]\nphase = 'rm State'", "phase = 'rm State' is neither a path"),
        ("[fields]\nphase = 3", "phase = 3 is neither a path"),
        ("[field]\nphase = 'rmState'", "'field' is no table of a mapping file, which has fields, values, ids"),
        ("[values]\ndecision = 3", "[values.decision] is a table of their values"),
        ("[ids]\nParticipant = 'r1'", "is not a list of names"),
        ("[fields]\nphase = ", "is not valid TOML"),
    ],
)
def test_a_mistake_in_a_mapping_file_is_told_with_the_file(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text(text, "utf-8")
    with pytest.raises((ConfigurationError, SpecUnreadable)) as refused:
        read_mapping(path, example("two_phase_commit.toml#holds").protocol)
    assert message in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('"rmState"', '"rmStates"'), "the path rmStates leads to no rmStates"),
        (('"msgs[type=Prepared].rm"', '"tmState[type=Prepared].rm"'), "[type=Prepared] selects members of a set"),
        (('committed = "commit"', ""), "'committed' is not one of none, commit, abort"),
        (("[fields]", '[ids]\nParticipant = ["a", "b", "c"]\n[fields]'), "'r1'"),
    ],
)
def test_what_a_mapping_file_says_wrongly_of_a_trace_is_told_with_the_state(
    change: tuple[str, str], message: str, mapping: Path
) -> None:
    mapping.write_text(MAP.replace(*change), "utf-8")
    instance = plain(example("two_phase_commit.toml#holds")).instance
    with pytest.raises(SpecUnreadable) as refused:
        read_foreign(TRACES / "published.json", instance, read_mapping(mapping, instance.protocol))
    assert message in str(refused.value)
    assert "state 0" in str(refused.value) or "committed" in message


def itf(path: Path, **values: object) -> Path:
    path.write_text(json.dumps({"#meta": {"format": "ITF"}, "vars": [*values], "states": [values]}), "utf-8")
    return path


LEASE = {"holder": "n2", "given": 1, "is_writing": {"#map": [["n1", False], ["n2", True]]}, "written": 0}


def test_a_field_in_an_array_and_a_value_that_is_not_there_are_mapped(tmp_path: Path) -> None:
    instance = plain(example("lease.toml#holds")).instance
    (tmp_path / "map.toml").write_text(
        '[fields]\nmine = "clients.lease"\nis_overwritten = { value = false }\n[ids]\nNode = ["n2", "n1"]\n', "utf-8"
    )
    clients = {"#map": [["n1", {"lease": 0}], ["n2", {"lease": 1}]]}
    trace = itf(tmp_path / "itf.json", **LEASE, clients=clients)
    foreign = read_foreign(trace, instance, read_mapping(tmp_path / "map.toml", instance.protocol))
    decoded = instance.schema.decode(instance.schema.unpack(foreign.states[0]))
    assert decoded == {
        "holder": 0, "given": 1, "mine": [1, 0], "is_writing": [True, False], "written": 0, "is_overwritten": False,
    }  # fmt: skip


def test_a_bag_of_apalache_is_a_map_from_records(tmp_path: Path) -> None:
    instance = plain(load_spec(HERE / "kinds.toml")).instance
    state = instance.schema.decode(instance.schema.unpack(instance.initial[0]))
    nothing = {"tag": "None", "value": {"#tup": []}}
    letters = {"#map": [[{"to": {"#bigint": "1"}, "about": about}, {"#bigint": "1"}] for about in (nothing, "blue")]}
    colours = {"#map": [[name, nothing] for name in ("red", "none", "blue")]}
    foreign = read_foreign(itf(tmp_path / "itf.json", **{**state, "letters": letters, "colour": colours}), instance)
    found = instance.schema.decode(instance.schema.unpack(foreign.states[0]))
    assert found == {**state, "letters": [{"to": 1, "about": None}, {"to": 1, "about": "blue"}]}


@pytest.mark.parametrize(
    ("names", "order"),
    [
        *((("n1", "n2"), (0, 1)), (("b", "a"), (1, 0)), ((0, 1), (0, 1)), ((1, 2), (0, 1)), (("p10", "p9"), (1, 0))),
        (("2_OF_N", "1_OF_N"), (1, 0)),
    ],
)
def test_names_are_ids_in_their_natural_order(names: tuple[object, object], order: tuple[int, int], tmp_path: Path) -> None:
    instance = plain(example("lease.toml#holds")).instance
    mine = {"#map": [[names[0], 2], [names[1], 1]]}
    writing = {"#map": [[name, False] for name in names]}
    values = {"holder": names[0], "given": 2, "mine": mine, "is_writing": writing, "written": 0, "is_overwritten": False}
    foreign = read_foreign(itf(tmp_path / "itf.json", **values), instance)
    decoded = instance.schema.decode(instance.schema.unpack(foreign.states[0]))
    assert decoded["holder"] == order[0]
    assert [decoded["mine"][at] for at in order] == [2, 1]
