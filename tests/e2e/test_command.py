"""The command as a user or a CI job meets it: documents on stdout, messages on stderr, verdicts as exit codes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import COMMAND, TINY, acked, environment, installed, interrupted
from tests.places import CHECKOUT

PROMISED: dict[str, type | tuple[type, ...]] = {
    "spec": str,
    "protocol": str,
    "constants": dict,
    "engine": str,
    "verdict": str,
    "distinct_states": int,
    "generated_states": int,
    "depth": int,
    "seconds": float,
    "total_seconds": float,
    "violations": list,
    "actions": dict,
}
"""The names that docs/json.md promises for the JSON of `check`."""

FURTHER: dict[str, type | tuple[type, ...]] = {
    "symmetry": bool,
    "reach": dict,
    "stored_levels": int,
    "title": str,
    "drop": list,
    "workers": int,
    "stopped": str,
    "levels": list,
    "memory_bytes": int,
    "properties": list,
    "never_fired": list,
    "expectation": (dict, type(None)),
    "notes": list,
}
"""What the document says besides."""

LONG = ["kip320-large", "-c", "max_leader_epoch=5", "--memory", "6GB"]
"""A search that nobody waits for."""


def answer(*arguments: str | Path, code: int, **variables: str) -> dict[str, Any]:
    """The one JSON document that `acked check … --format json` prints."""
    done = acked("check", *arguments, "--format", "json", **variables)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return document


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.toml"
    path.write_text(TINY)
    return path


def spec(tmp_path: Path, old: str, new: str) -> Path:
    assert old in TINY
    path = tmp_path / "changed.toml"
    path.write_text(TINY.replace(old, new))
    return path


# -- the document ------------------------------------------------------------------------------------------------------


def test_the_document_of_check_has_the_promised_names_with_the_right_types(tiny: Path) -> None:
    document = answer(tiny, code=0)
    names = PROMISED | FURTHER
    assert set(document) == set(names)
    for name, kind in names.items():
        assert isinstance(document[name], kind), name
        assert isinstance(document[name], bool) == (kind is bool), name
    assert document["constants"] == {"replicas": 2, "log_size": 1, "max_records": 1, "max_leader_epoch": 1}
    assert document["spec"] == str(tiny)
    assert (document["protocol"], document["engine"], document["verdict"]) == ("kip320", "local", "holds")
    assert (document["distinct_states"], document["depth"], document["violations"]) == (277, 12, [])
    assert sum(document["levels"]) == 277
    assert document["seconds"] <= document["total_seconds"]
    assert document["expectation"] == {"met": True, "differences": []}
    enabled = 0
    for fired in document["actions"].values():
        assert set(fired) == {"enabled", "new"}
        assert 0 < fired["new"] <= fired["enabled"]
        enabled += fired["enabled"]
    assert document["generated_states"] == 1 + enabled


def test_a_violation_in_the_document_names_the_property_its_kind_and_its_trace() -> None:
    document = answer("truncate-to-hw", code=12)
    assert document["verdict"] == "violated"
    [violation] = document["violations"]
    assert set(violation) == {"property", "kind", "trace_length", "trace"}
    assert (violation["property"], violation["kind"], violation["trace_length"]) == ("WeakIsr", "invariant", 9)
    trace = violation["trace"]
    assert trace["format"] == "acked-trace/1"
    assert [step["index"] for step in trace["steps"]] == list(range(9))
    for step in trace["steps"]:
        assert set(step) == {"index", "action", "params", "state", "changed", "properties"}
    assert (trace["steps"][0]["action"], trace["steps"][0]["params"]) == (None, {})
    assert trace["steps"][0]["properties"] == {"WeakIsr": True}
    assert trace["steps"][-1]["properties"] == {"WeakIsr": False}


@pytest.mark.slow
def test_progress_stays_off_stdout_and_quiet_says_nothing() -> None:
    done = installed("check", "kip320", "--quiet", "--format", "json")
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["distinct_states"] == 737_794


def test_without_a_reference_to_expect_the_expectation_is_null(tmp_path: Path) -> None:
    path = tmp_path / "open.toml"
    path.write_text(TINY.split("[expect]")[0])
    assert answer(path, code=0)["expectation"] is None


@pytest.mark.slow
def test_the_answer_is_the_same_on_any_number_of_workers() -> None:
    documents = [answer("truncate-to-hw", "--continue", "-w", str(workers), code=12) for workers in (1, 2, 5)]
    for document in documents:
        for name in ("seconds", "total_seconds", "memory_bytes", "workers"):
            del document[name]
    assert documents[1:] == documents[:1] * 2


# -- exit codes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "verdict"),
    [
        (["kip320-2221"], 0, "holds"),
        (["truncate-to-hw"], 12, "violated"),
        (["kip279-3222-committed-stay"], 13, "violated"),
        (["kip320-2221", "--deadlock"], 11, "violated"),
        (["kip320", "--max-depth", "5"], 152, "incomplete"),
        (["kip320", "--max-states", "1000"], 152, "incomplete"),
        (["kip320", "--memory", "1MB"], 152, "incomplete"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else str(value),
)
def test_the_exit_code_tells_the_verdict(arguments: list[str], code: int, verdict: str) -> None:
    assert answer(*arguments, code=code)["verdict"] == verdict


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "reason", "levels"),
    [
        (["--max-depth", "5"], "depth bound", 5),
        (["--max-states", "1000"], "bound on states", 5),
        (["--memory", "1MB"], "memory budget", None),
    ],
    ids=["max-depth", "max-states", "memory"],
)
def test_an_incomplete_search_says_what_it_covered(arguments: list[str], reason: str, levels: int | None) -> None:
    done = acked("check", "kip320", *arguments, COLUMNS="200")
    assert done.returncode == 152
    assert f"incomplete: the {reason} was reached; covered: " in done.stdout
    assert "complete levels" in done.stdout
    assert levels is None or f"{levels} complete levels" in done.stdout


@pytest.mark.slow
def test_a_pin_that_is_off_by_one_fails_a_spec_that_holds(tmp_path: Path) -> None:
    path = spec(tmp_path, 'verdict = "holds"', 'verdict = "holds"\ndistinct_states = 278')
    document = answer(path, code=1)
    assert document["verdict"] == "holds"
    assert document["expectation"] == {"met": False, "differences": ["distinct_states is 277, expected 278"]}
    done = acked("check", path, COLUMNS="200")
    assert done.returncode == 1
    assert "distinct_states is 277, expected 278" in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("pin", "difference"),
    [
        ("depth = 13", "depth is 12, expected 13"),
        ("generated_states = 1", "generated_states is"),
        ('never_fired = ["LeaderWrite"]', "fired: LeaderWrite; expected never to fire"),
    ],
)
def test_every_pin_is_compared(tmp_path: Path, pin: str, difference: str) -> None:
    document = answer(spec(tmp_path, 'verdict = "holds"', f'verdict = "holds"\n{pin}'), code=1)
    assert len(document["expectation"]["differences"]) == 1
    assert document["expectation"]["differences"][0].startswith(difference)


def test_an_unmet_expectation_does_not_hide_the_code_of_a_violation(tmp_path: Path) -> None:
    path = tmp_path / "lies.toml"
    path.write_text(TINY.replace('"kip320"', '"truncate-to-hw"').replace("= 1\nmax_records", "= 2\nmax_records"))
    path.write_text(path.read_text().replace("max_records = 1", "max_records = 2"))
    document = answer(path, code=12)
    assert document["expectation"] == {"met": False, "differences": ["verdict is violated, expected holds"]}


def test_an_action_that_never_fires_fails_a_spec_that_holds(tmp_path: Path) -> None:
    path = spec(tmp_path, "replicas = 2", "replicas = 1")
    document = answer(path, code=1)
    assert document["never_fired"]
    [difference] = document["expectation"]["differences"]
    assert difference.startswith("never fired: ")


def test_a_count_only_run_is_incomplete_though_it_saw_everything(tmp_path: Path) -> None:
    path = tmp_path / "count.toml"
    path.write_text(TINY.split("[check]")[0] + "[check]\ncount_only = true\n")
    document = answer(path, code=152)
    assert (document["verdict"], document["distinct_states"]) == ("incomplete", 277)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_search_still_prints_one_valid_document(workers: str) -> None:
    acked("check", *LONG, "--max-depth", "1")  # compiles, so that the time goes into the search
    done = interrupted("check", *LONG, "-w", workers, "--format", "json", computing=1)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    document = json.loads(done.stdout)
    assert (document["verdict"], document["stopped"]) == ("incomplete", "interrupted")
    assert set(document) == set(PROMISED | FURTHER)
    assert document["depth"] == len(document["levels"]) > 0
    assert document["distinct_states"] == sum(document["levels"])


@pytest.mark.slow
def test_an_interrupted_search_without_a_terminal_says_what_it_covered() -> None:
    done = interrupted("check", *LONG, computing=1)
    assert done.returncode == 130, done.stderr
    assert "Traceback" not in done.stderr
    assert "incomplete: interrupted; covered: " in " ".join(done.stdout.split())


# -- options -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_continue_reports_one_shortest_trace_of_every_violated_property() -> None:
    document = answer("kip320-first-try-3222-weak", "--continue", "--deadlock", code=11)
    lengths = [(item["property"], item["trace_length"]) for item in document["violations"]]
    assert lengths == [("Deadlock", 4), ("WeakIsr", 12)]
    assert document["stopped"] == "complete"
    assert document["distinct_states"] == 1_437_076


def test_a_spec_that_expects_several_violations_is_searched_to_its_end() -> None:
    document = answer("elect-outside-isr", code=12)
    assert document["expectation"] == {"met": True, "differences": []}
    assert document["drop"] == ["ControllerElectLeader: in the ISR"]
    assert len(document["violations"]) > 1


def test_an_option_changes_constants_and_the_expectation_no_longer_speaks_of_it() -> None:
    document = answer("kip320", "-c", "replicas=2", "--constant", "max_leader_epoch=1", code=0)
    assert document["distinct_states"] == 957
    assert document["constants"]["replicas"] == 2
    assert document["expectation"] is None


@pytest.mark.slow
def test_a_spec_is_found_by_name_and_by_path(tiny: Path) -> None:
    by_name = answer("kip320-2221", code=0)
    by_path = answer(CHECKOUT / "specs" / "counts" / "kip320-2221.toml", code=0)
    assert by_name["distinct_states"] == by_path["distinct_states"] == 957
    done = acked("check", "tiny.toml", "--format", "json", cwd=tiny.parent)
    assert json.loads(done.stdout)["distinct_states"] == 277


@pytest.mark.slow
@pytest.mark.parametrize("name", ["acks-0-loses", "claims/acks-0-loses"])
def test_a_bundled_spec_is_found_by_its_name_with_and_without_its_folder(name: str) -> None:
    answer = acked("check", name, "--format", "json")
    assert answer.returncode == 12
    assert json.loads(answer.stdout)["verdict"] == "violated"


@pytest.mark.slow
def test_a_folder_named_like_one_of_bundled_specs_hides_nothing_but_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "claims").mkdir()
    assert acked("check", "claims/acks-0-loses", cwd=tmp_path).returncode == 12
    (tmp_path / "claims" / "acks-0-loses").write_text("title = 3", encoding="utf-8")
    assert acked("check", "claims/acks-0-loses", cwd=tmp_path).returncode == 151


def test_a_file_named_like_a_bundled_spec_is_meant_if_it_is_there(tiny: Path) -> None:
    (tiny.parent / "kip320").write_text(TINY)
    done = acked("check", "kip320", "--format", "json", cwd=tiny.parent)
    assert json.loads(done.stdout)["distinct_states"] == 277


# -- traces ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["truncate-to-hw", "kip279-3222-committed-stay", "elect-outside-isr", "unsent-request"])
def test_a_written_trace_can_be_shown_and_says_what_the_document_says(tmp_path: Path, name: str) -> None:
    path = tmp_path / "trace.json"
    document = answer(name, "--trace-out", path, code=13 if "committed" in name else 12)
    written = json.loads(path.read_text("utf-8"))
    assert written == document["violations"][0]["trace"]
    shown = acked("show", path, "--format", "json")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert json.loads(shown.stdout) == written
    text = acked("show", path)
    assert (text.returncode, text.stderr) == (0, "")
    assert document["violations"][0]["property"] in text.stdout


@pytest.mark.slow
def test_a_deadlock_trace_can_be_shown(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    answer("kip320-2111", "--deadlock", "--trace-out", path, code=11)
    shown = acked("show", path)
    assert (shown.returncode, shown.stderr) == (0, "")


def test_nothing_is_written_where_nothing_is_violated(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    answer("kip320-2111", "--trace-out", path, code=0)
    assert list(tmp_path.iterdir()) == []


def test_a_trace_replaces_the_file_that_was_there(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text("old")
    answer("truncate-to-hw", "--trace-out", path, code=12)
    assert json.loads(path.read_text("utf-8"))["format"] == "acked-trace/1"
    assert list(tmp_path.iterdir()) == [path]


# -- the terminal ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "list specs | head -1",
        pytest.param("list specs --format json | head -1", marks=pytest.mark.long),  # As the table, which takes as long.
        "check truncate-to-hw | head -1",
    ],
)
def test_a_reader_that_goes_away_causes_no_traceback(command: str) -> None:
    done = subprocess.run(
        f'"{COMMAND}" {command}', shell=True, env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.slow
def test_no_colour_is_written_where_none_is_wanted() -> None:
    for variables in ({}, {"NO_COLOR": "1"}, {"NO_COLOR": "1", "FORCE_COLOR": "1"}):
        done = acked("check", "truncate-to-hw", **variables)
        assert done.returncode == 12
        assert "\x1b[3" not in done.stdout, variables


@pytest.mark.parametrize("command", [[], ["check"], ["show"], ["list"]], ids=lambda command: " ".join(command) or "acked")
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_explains_itself(command: list[str], option: str) -> None:
    done = acked(*command, option)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: acked")
    assert "--help" in done.stdout


def test_the_version_is_told() -> None:
    done = installed("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("acked, version ")


@pytest.mark.slow
def test_listings_are_tables_for_people_and_documents_for_programs() -> None:
    kinds = {"protocols", "invariants", "constants", "specs"}
    for what in ("invariants", "all"):
        assert acked("list", what).returncode == 0
    for what in ("all", "protocols", "invariants", "constants"):
        done = acked("list", what, "--format", "json")
        assert done.returncode == 0
        document = json.loads(done.stdout)
        assert set(document) == (kinds if what == "all" else {what})
        assert all(document.values())


@pytest.mark.slow
def test_acked_alone_prints_the_help_and_has_answered_nothing() -> None:
    alone, asked = acked(), acked("--help")
    assert (alone.stdout, alone.stderr) == (asked.stdout, "")
    assert (alone.returncode, asked.returncode) == (151, 0)
    assert "151 usage (also `acked` alone" in " ".join(asked.stdout.split())
    assert acked("kafka").stdout == acked("kafka", "--help").stdout


@pytest.mark.parametrize(
    ("typed", "meant"), [(["audti"], "audit"), (["chekc", "kip320"], "check"), (["kafka", "lst"], "list")]
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(typed: list[str], meant: str) -> None:
    done = acked(*typed)
    group = "acked kafka" if typed[0] == "kafka" else "acked"
    wrong = typed[-1] if typed[0] == "kafka" else typed[0]
    assert (done.returncode, done.stdout) == (151, "")
    assert done.stderr == f"acked: No such command '{wrong}' (did you mean {meant}?); try `{group} --help`\n"
    assert "did you mean" not in acked("zzzzzz").stderr
