"""Every export is valid in its own format, tells the whole run, and takes no text for more than text."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.base.errors import SpecUnreadable
from acked.checker.question.result import Counterexample, Result, Run
from acked.checker.replay.foreign import read_foreign
from acked.checker.replay.retrace import retrace
from acked.checker.search.local import search
from acked.model.catalogue import PROTOCOLS
from acked.reports.exports.catalogue import FORMATS
from acked.reports.exports.diagrams import SHIVIZ_PARSER
from acked.reports.exports.subject import Exported
from acked.reports.runs.refusals import blocked_in_words
from acked.reports.runs.view import view_of
from tests.places import CHECKOUT

HOSTILE = '</script><img src=x onerror=alert(1)> "q" \'a\' `b` | *c* [d](javascript:e) =1+1;--\u202eevil שלום\nend\x1b[2J'
UNSAFE = {"\n", "\x1b", "\u202e"}


@pytest.fixture
def exported(violated: Result) -> Exported:
    found = Counterexample.of("truncation loses records", violated.question, violated.violations[0])
    view = view_of(found)
    return Exported(view, found, len(view.steps) - 1)


@pytest.fixture
def hostile(exported: Exported) -> Exported:
    steps = tuple(dataclasses.replace(step, sentence=f"{HOSTILE} {step.sentence}") for step in exported.view.steps)
    return dataclasses.replace(exported, shown=dataclasses.replace(exported.view, title=HOSTILE * 20, steps=steps))


def test_itf_has_the_root_and_values_that_apalache_documents(exported: Exported) -> None:
    document = json.loads(FORMATS["itf"](exported))
    assert document["#meta"]["format"] == "ITF"
    assert set(document["vars"]) == set(document["#meta"]["varTypes"]) == set(document["states"][0]) - {"#meta"}
    assert [state["#meta"]["index"] for state in document["states"]] == list(range(9))
    last = document["states"][-1]
    assert last["#meta"]["action"] == "BecomeFollowerTruncateToHighWatermark"
    assert last["#meta"]["parameters"] == {"leader": 0, "replica": 1, "epoch": 1}
    assert last["quorum"] == {
        "leader_epoch": {"tag": "Some", "value": {"#bigint": "1"}},
        "leader": {"tag": "Some", "value": {"#bigint": "0"}},
        "isr": {"#set": [{"#bigint": "0"}]},
    }
    assert last["log"]["#map"][1] == [{"#bigint": "1"}, {"end": {"#bigint": "0"}, "records": []}]
    assert document["#meta"]["varTypes"]["log"] == "Int -> { end: Int, records: Seq({ id: Int, epoch: Int }) }"
    assert not _bare_integers({name: value for name, value in last.items() if name != "#meta"})


def _bare_integers(value: Any) -> list[int]:
    if isinstance(value, dict):
        return [found for item in value.values() for found in _bare_integers(item)]
    if isinstance(value, list):
        return [found for item in value for found in _bare_integers(item)]
    return [value] if isinstance(value, int) and not isinstance(value, bool) else []


@pytest.mark.parametrize("form", ["itf", "tlc"])
def test_what_is_exported_for_tla_tools_reads_back_as_the_same_run(exported: Exported, form: str, tmp_path: Path) -> None:
    target = tmp_path / "run.json"
    target.write_text(FORMATS[form](exported), encoding="utf-8")
    foreign = read_foreign(target, exported.found.question.instance)
    assert foreign.states == exported.found.run.states
    found = retrace(exported.found.question.instance, foreign.states, foreign.hints)
    assert found.blocked is None
    assert [step.label for step in found.run.actions] == [step.label for step in exported.found.run.actions]


def test_tlcs_form_numbers_states_and_names_actions_between_them(exported: Exported) -> None:
    document = json.loads(FORMATS["tlc"](exported))["counterexample"]
    assert [number for number, _ in document["state"]] == list(range(1, 10))
    (before, state), label, (after, _) = document["action"][-1]
    assert (before, after) == (8, 9)
    assert state == document["state"][7][1]
    assert label["location"]["module"] == "truncate_to_hw"


def test_a_shiviz_log_has_its_parser_on_top_and_clocks_that_grow(exported: Exported) -> None:
    parser, empty, *events = FORMATS["shiviz"](exported).splitlines()
    assert (parser, empty) == (SHIVIZ_PARSER, "")
    pattern = re.compile(parser.replace("(?<", "(?P<"))
    own: dict[str, int] = {}
    for event in events:
        match = pattern.fullmatch(event)
        assert match is not None, event
        clock = json.loads(match["clock"])
        assert clock[match["host"]] == own.get(match["host"], 0) + 1
        own[match["host"]] = clock[match["host"]]
    last = json.loads(pattern.fullmatch(events[-1])["clock"])  # type: ignore[index]
    assert last == {"controller": 2, "broker-1": 3, "broker-0": 3, "producer": 1}


def test_a_mermaid_diagram_has_every_step_and_message(exported: Exported) -> None:
    text = FORMATS["mermaid"](exported)
    assert text.startswith("sequenceDiagram\n")
    assert len(re.findall(r"Note over a\d(?:,a\d)?: \d+ ", text)) == 9
    assert "a0->>a2: r0·e0\n" in text
    assert "a1--)a3: LeaderAndIsr e1: leader 0, ISR {0} (arrives in step 8)" in text
    assert "a1-xa2: LeaderAndIsr e1" in text
    for line in text.splitlines()[1:]:
        assert re.fullmatch(
            r"    (participant a\d as [^;]+|Note over a\d(,a\d)?: .*|a\d(->>|--\)|-x)a\d: .*)", line
        ), line


def test_the_still_picture_is_xml_that_refers_to_nothing(exported: Exported) -> None:
    text = FORMATS["svg"](exported)
    root = ET.fromstring(text)
    texts = ["".join(item.itertext()) for item in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "broker 1" in texts
    assert "r0·e0 ✓" in texts
    assert "✗ WeakIsr is violated" in texts
    assert {"HW", "LEO", "stale leader"} <= set(texts)
    assert "href" not in text
    assert "<script" not in text
    first = FORMATS["svg"](dataclasses.replace(exported, step=0))
    assert "no broker leads" in first


def test_every_state_and_action_is_in_the_graphviz_path(exported: Exported) -> None:
    text = FORMATS["dot"](exported)
    assert len(re.findall(r"^  s\d \[label=", text, re.MULTILINE)) == 9
    assert len(re.findall(r"^  s\d -> s\d ", text, re.MULTILINE)) == 8


def test_markdown_tells_the_story_the_steps_and_the_grid(exported: Exported) -> None:
    text = FORMATS["markdown"](exported)
    assert text.startswith("### truncation loses records\n")
    assert len(re.findall(r"^\| \d+ \|", text, re.MULTILINE)) == 9
    assert "**✗ WeakIsr**" in text
    assert "broker 1   *e1 ║*×" in text


def test_a_csv_has_a_line_per_step_and_a_column_per_field(exported: Exported) -> None:
    rows = list(csv.DictReader(io.StringIO(FORMATS["csv"](exported))))
    assert len(rows) == 9
    assert (rows[-1]["step"], rows[-1]["violated"], rows[-1]["log[1].end"]) == ("8", "WeakIsr", "0")
    assert rows[0]["log[0].records[0].id"] == "nothing"


def test_the_page_about_viewing_names_every_format() -> None:
    page = (CHECKOUT / "docs" / "viewing.md").read_text("utf-8")
    row = re.search(r"^\| `acked export TRACE --to FORMAT` \| (.*) \|$", page, re.MULTILINE)
    assert row is not None
    assert re.findall(r"`(\w+)`", row[1]) == list(FORMATS)


@pytest.mark.parametrize("form", list(FORMATS))
def test_hostile_texts_stay_texts_in_every_format(exported: Exported, hostile: Exported, form: str) -> None:
    text = FORMATS[form](hostile)
    for letter in ("\u202e", "\x1b"):
        assert letter not in text
    if form in ("itf", "tlc"):
        json.loads(text)
    elif form == "svg":
        tags = {item.tag.rpartition("}")[2] for item in ET.fromstring(text).iter()}
        assert tags <= {"svg", "title", "rect", "text", "line"}
    elif form == "markdown":
        outside = text.partition("```text")[0].replace("<details><summary>The log grid, step by step</summary>", "")
        assert re.search(r"(?<!\\)<(?!/?details|/?summary)", outside) is None
        assert "[d](" not in outside
        assert all(line.count("|") - line.count("\\|") == 4 for line in outside.splitlines() if line.startswith("| "))
    elif form == "mermaid":
        assert re.search(r"[<>\"`|\[\]]", text.partition("\n")[2].replace("->>", "")) is None
        assert re.search(r"(?<!#101;n)\bend\b", text) is None
    elif form == "dot":
        for label in re.findall(r'label="((?:[^"\\]|\\.)*)"[,\]]', text):
            assert "\n" not in label
    elif form == "csv":
        for row in csv.reader(io.StringIO(text)):
            assert not any(cell.startswith(("=", "+", "@")) for cell in row)
            assert len(row) == 4 + len(hostile.found.question.instance.schema.leaves)
    else:
        assert form == "shiviz", f"ask here, in a branch of its own, what a text could mean to a reader of {form}"
    if form not in ("svg", "markdown"):  # These fold what is long.
        assert len(text.splitlines()) == len(FORMATS[form](exported).splitlines())


def test_every_text_that_a_format_is_given_is_one_line_without_control_characters(hostile: Exported) -> None:
    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from (text for item in value for text in texts(item))
        elif dataclasses.is_dataclass(value):
            yield from (text for item in vars(value).values() for text in texts(item))

    assert any(set(text) & UNSAFE for text in texts(hostile.shown))
    assert [text for text in texts(hostile.view) if set(text) & UNSAFE] == []
    assert hostile.view.steps[3].sentence.replace("\\n", "\n").replace("\\x1b", "\x1b").replace("\\u202e", "\u202e") == (
        hostile.shown.steps[3].sentence
    )


# -- an answer that is late -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def late() -> Exported:
    """KAFKA-18991: the answer departs in step 5 and arrives in step 14; the still picture is of its arrival."""
    spec = load_spec("kafka18991-bug")
    result = search(spec.question(), Bounds(workers=1))
    found = result.violations[0]
    view = view_of(Counterexample.of(spec.title, result.question, found))
    labels = [step.label for step in view.steps]
    departs, arrives = labels.index("FetchDivergingLate(follower=0, leader=1)"), labels.index("LateAnswerCounts(follower=0)")
    assert (departs, arrives) == (5, 14)
    return Exported(view, Counterexample.of(spec.title, result.question, found), arrives)


@pytest.mark.slow
def test_the_clock_of_a_late_answers_arrival_includes_the_event_in_which_it_departed(late: Exported) -> None:
    parser, _, *events = FORMATS["shiviz"](late).splitlines()
    pattern = re.compile(parser.replace("(?<", "(?P<"))
    told = [match for event in events if (match := pattern.fullmatch(event)) is not None]
    assert len(told) == len(events)
    departs = next(item for item in told if item["event"] == "tells broker 0: diverging: truncate to 0")
    arrives = next(item for item in told if item["event"].startswith("the late answer of broker 1 arrives"))
    assert (departs["host"], arrives["host"]) == ("broker-1", "broker-0")
    sent, heard = json.loads(departs["clock"]), json.loads(arrives["clock"])
    assert all(heard[host] >= time for host, time in sent.items())
    assert sent["broker-1"] > 0


@pytest.mark.slow
def test_no_event_knows_of_another_that_it_did_not_hear_of(late: Exported) -> None:
    """Whoever is known to have come far was there: an entry of a clock is never beyond that host's own count by then."""
    _, _, *events = FORMATS["shiviz"](late).splitlines()
    count: dict[str, int] = {}
    asked = 0
    for event in events:
        host, clock = event.partition(" ")[0], json.loads(event.partition(" ")[2].partition("}")[0] + "}")
        count[host] = count.get(host, 0) + 1
        assert clock[host] == count[host]
        assert all(time <= count.get(other, 0) for other, time in clock.items())
        if "tells broker 1: r0" in event:
            # The leader answers a fetch after it has heard it.
            assert clock["broker-1"] == count["broker-1"]
            asked += 1
    assert asked == 1


@pytest.mark.slow
@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"shiviz", "markdown", "csv", "svg"}))
def test_what_draws_messages_draws_one_that_is_late_in_both_steps(form: str, late: Exported) -> None:
    """`shiviz` has it in clocks, `markdown` and `csv` tell steps and no messages, `svg` is one picture: see above and below."""
    told = [line for line in FORMATS[form](late).splitlines() if "truncate to 0" in line]
    for words in ("arrives in step 14, late", "sent in step 5, late"):
        assert not told or any(words in line for line in told), f"{form} draws messages; take `arrows` of diagrams.py"


@pytest.mark.slow
def test_a_late_answer_is_drawn_twice_by_mermaid_and_told_by_the_still_picture(late: Exported) -> None:
    text = FORMATS["mermaid"](late)
    assert "a3--)a2: diverging: truncate to 0 (arrives in step 14, late)\n" in text
    assert "a3->>a2: diverging: truncate to 0 (sent in step 5, late)\n" in text
    assert "Note over a2: 5 broker 0 fetches" in text
    assert "Note over a2: 14 the late answer" in text
    texts = ["".join(item.itertext()) for item in ET.fromstring(FORMATS["svg"](late)).iter()]
    assert "broker 1 → broker 0: diverging: truncate to 0 (sent in step 5, received in step 14, late)" in texts


# -- traces of other tools -------------------------------------------------------------------------------------------


def tla_state(state: dict[str, Any], itf: bool) -> dict[str, Any]:
    """A decoded state as the published TLA+ modules would have it, in ITF or as TLC writes JSON."""
    def number(value: int) -> Any:
        return {"#bigint": str(value)} if itf else value

    def members(ids: list[int]) -> Any:
        names = [f"b{at + 1}" for at in ids]
        return {"#set": names} if itf else names

    def function(pairs: list[tuple[Any, Any]]) -> Any:
        return {"#map": [list(pair) for pair in pairs]} if itf else {str(key): value for key, value in pairs}

    def leader(value: int | None) -> str:
        return "NONE" if value is None else f"b{value + 1}"

    def view(held: dict[str, Any]) -> dict[str, Any]:
        epoch = -1 if held["leader_epoch"] is None else held["leader_epoch"]
        return {"leaderEpoch": number(epoch), "leader": leader(held["leader"]), "isr": members(held["isr"])}

    def log(held: dict[str, Any]) -> dict[str, Any]:
        slots: list[Any] = [{"id": number(item["id"]), "epoch": number(item["epoch"])} for item in held["records"]]
        slots += [number(-1)] * (2 - len(slots))
        keys = [number(at) if itf else at for at in range(2)]
        return {"endOffset": number(held["end"]), "records": function(list(zip(keys, slots, strict=True)))}

    requests = [
        view({**request, "leader_epoch": epoch})
        for epoch, request in enumerate(state["requests"])
        if epoch < state["next_leader_epoch"]
    ]
    return {
        "replicaLog": function([(f"b{at + 1}", log(held)) for at, held in enumerate(state["log"])]),
        "replicaState": function(
            [(f"b{at + 1}", {**view(held), "hw": number(held["hw"])}) for at, held in enumerate(state["replica"])]
        ),
        "quorumState": view(state["quorum"]),
        "nextRecordId": number(state["next_record_id"]),
        "nextLeaderEpoch": number(state["next_leader_epoch"]),
        "leaderAndIsrRequests": {"#set": requests} if itf else requests,
    }


def written(exported: Exported, itf: bool, target: Path) -> Path:
    states = [tla_state(dict(step.state), itf) for step in exported.view.steps]
    if itf:
        document: Any = {"#meta": {"format": "ITF"}, "vars": list(states[0]), "states": states}
    else:
        numbered = [[at, state] for at, state in enumerate(states, start=1)]
        names = [step.action for step in exported.view.steps[1:]]
        actions = [[numbered[at], {"name": name, "location": {}}, numbered[at + 1]] for at, name in enumerate(names)]
        document = {"counterexample": {"state": numbered, "action": actions}}
    target.write_text(json.dumps(document), encoding="utf-8")
    return target


@pytest.mark.parametrize("itf", [True, False])
def test_a_trace_in_the_variables_of_the_tla_modules_is_replayed(exported: Exported, itf: bool, tmp_path: Path) -> None:
    foreign = read_foreign(written(exported, itf, tmp_path / "t.json"), exported.found.question.instance)
    assert foreign.states == exported.found.run.states
    assert retrace(exported.found.question.instance, foreign.states, foreign.hints).blocked is None


def test_the_first_step_that_is_none_is_named_with_the_clause(exported: Exported, tmp_path: Path) -> None:
    other = PROTOCOLS["kip320"].instantiate(exported.found.question.instance.constants)
    foreign = read_foreign(written(exported, True, tmp_path / "t.json"), other)
    blocked = retrace(other, foreign.states, foreign.hints).blocked
    assert blocked is not None
    assert blocked.index == 8
    assert blocked_in_words(blocked) == (
        "FencedBecomeFollowerAndTruncate(leader=0, replica=1, epoch=1) is not enabled, “leader is in the request's "
        "epoch” does not hold (replica[0].leader_epoch is 0, not 1)"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "not valid JSON"),
        ("[]", "neither an ITF trace"),
        ("{}", "neither an ITF trace"),
        ('{"states": []}', "neither an ITF trace"),
        ('{"counterexample": {"state": [1]}}', "neither an ITF trace"),
        ('{"states": [{"x": {"#bigint": "1"}}]}', "state 0 is not a state of truncate-to-hw: the state must have exactly"),
        ('{"states": [{"x": {"#bigint": "no"}}]}', "neither an ITF trace"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_trace_is_refused_in_one_sentence(exported: Exported, text: str, message: str, tmp_path: Path) -> None:
    target = tmp_path / "t.json"
    target.write_text(text, encoding="utf-8")
    with pytest.raises(SpecUnreadable) as refused:
        read_foreign(target, exported.found.question.instance)
    assert message in str(refused.value)


def test_a_state_out_of_range_names_the_field(exported: Exported, tmp_path: Path) -> None:
    document = json.loads(FORMATS["itf"](exported))
    document["states"][3]["next_record_id"] = {"#bigint": "99"}
    target = tmp_path / "t.json"
    target.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(SpecUnreadable, match="state 3 is not a state of truncate-to-hw: next_record_id: 99 is not one of"):
        read_foreign(target, exported.found.question.instance)


def test_a_short_run_exports_as_well(violated: Result) -> None:
    run = violated.violations[0].run
    first = Run(run.states[:1], ())
    found = Counterexample("one state", violated.question, first)
    view = view_of(found)
    for form, export in FORMATS.items():
        assert export(Exported(view, found, 0)), form
