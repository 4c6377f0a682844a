"""The commands gate, ablate and coverage as a CI job meets them: exit codes, files, the cache, --update."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.driver import TINY, acked, assert_one_sentence
from tests.places import CHECKOUT

LOSES = (CHECKOUT / "specs/answers/truncate-to-hw-2221-weak.toml").read_text("utf-8")


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    folder = tmp_path / "specs"
    folder.mkdir()
    (folder / "tiny.toml").write_text(TINY, "utf-8")
    (folder / "loses.toml").write_text(LOSES, "utf-8")
    return folder


def document(*arguments: str | Path, code: int, cwd: Path) -> dict[str, Any]:
    done = acked("gate", *arguments, "--format", "json", cwd=cwd)
    assert done.returncode == code, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_a_green_gate_exits_with_0_and_says_so_of_every_spec(specs: Path) -> None:
    done = acked("gate", specs.name, cwd=specs.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"✓ specs/loses.toml  violated: WeakIsr in 8 steps  565 distinct states", done.stdout)
    assert re.search(r"✓ specs/tiny.toml  holds  277 distinct states", done.stdout)
    assert re.search(r"✓ green: 2 specs as expected", done.stdout)


@pytest.mark.slow
def test_a_second_run_is_answered_from_the_cache_as_the_first_was(specs: Path) -> None:
    first = document(specs.name, code=0, cwd=specs.parent)
    again = document(specs.name, code=0, cwd=specs.parent)
    fresh = document(specs.name, "--no-cache", code=0, cwd=specs.parent)
    assert [entry["cached"] for entry in again["specs"]] == [True, True]
    assert [entry["cached"] for entry in fresh["specs"]] == [False, False]
    for one, two in ((first, again), (again, fresh)):
        for mine, other in zip(one["specs"], two["specs"], strict=True):
            for entry in (mine, other):
                entry["outcome"].pop("seconds", None)
                entry.pop("cached", None)
            assert mine == other


@pytest.mark.slow
def test_a_red_gate_exits_with_1_and_tells_the_story(specs: Path) -> None:
    (specs / "loses.toml").write_text(LOSES.replace("trace_length = 9", "trace_length = 8"), "utf-8")
    done = acked("gate", specs.name, "--artifacts", "runs", cwd=specs.parent)
    assert done.returncode == 1, done.stdout + done.stderr
    said = " ".join(done.stdout.split())
    assert "longer-trace: the shortest counterexample has 8 steps, expected 7 steps (trace_length = 8 states)" in said
    assert "✗ WeakIsr is violated" in done.stdout
    assert "✗ red: 1 of 2 specs not as expected" in done.stdout
    runs = specs.parent / "runs"
    assert {path.name for path in runs.iterdir()} == {f"specs-loses-WeakIsr.{ending}" for ending in ("json", "html", "svg")}
    assert acked("show", runs / "specs-loses-WeakIsr.json").returncode == 0


def test_an_unreadable_spec_exits_with_150_after_the_others_were_run(specs: Path) -> None:
    (specs / "broken.toml").write_text("title =", "utf-8")
    found = document(specs.name, code=150, cwd=specs.parent)
    assert [entry["green"] for entry in found["specs"]] == [False, True, True]


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments", [("empty",), ("nosuch",), ("specs/*.tml",), ("specs", "nosuch"), ("specs", "--select", "x*")]
)
def test_where_something_asked_for_is_not_there_the_gate_is_red(specs: Path, arguments: tuple[str, ...]) -> None:
    (specs.parent / "empty").mkdir()
    found = document(*arguments, code=1, cwd=specs.parent)
    assert "no spec found" in found["refusal"] or "none of 2 specs is selected" in found["refusal"]


@pytest.mark.slow
def test_select_and_shard_choose_each_spec_once(specs: Path) -> None:
    def chosen(*arguments: str) -> list[str]:
        found = document("specs", *arguments, code=0, cwd=specs.parent)
        return [Path(entry["path"]).stem for entry in found["specs"]]

    assert chosen("--select", "lo*") == ["loses"]
    assert chosen("specs/tiny.toml", "specs/*.toml") == ["loses", "tiny"]
    assert sorted(chosen("--shard", "1/2") + chosen("--shard", "2/2")) == ["loses", "tiny"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("specs", "--shard", "3/2"), "is not a shard"),
        (("specs", "--accept-violations"), "add --update"),
        ((), "Missing argument"),
        (("specs", "--junit", "no/such/folder.xml"), "does not exist"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_sentence(specs: Path, arguments: tuple[str, ...], part: str) -> None:
    code = 153 if "--junit" in arguments else 151
    assert_one_sentence(acked("gate", *arguments, cwd=specs.parent), code, part)


# -- --update ----------------------------------------------------------------------------------------------------------

COMMENTED = """\
# Why this is asked.
title    = "tiny"   # a comment
protocol = "kip320"
constants = { replicas = 2, log_size = 1, max_records = 1, max_leader_epoch = 1 }

[check]
invariants = [
  "WeakIsr",   # the weaker one
]

[expect]   # measured
verdict         = "holds"
distinct_states = 1   # off
"""


def test_update_writes_what_was_measured_and_keeps_comments_and_layout(specs: Path) -> None:
    path = specs / "tiny.toml"
    path.write_text(COMMENTED, "utf-8")
    done = acked("gate", "specs", "--update", cwd=specs.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_text("utf-8") == COMMENTED.replace("= 1   # off", "= 277   # off")
    assert "-distinct_states = 1   # off\n+distinct_states = 277   # off" in done.stderr
    assert (specs / "loses.toml").read_text("utf-8") == LOSES


@pytest.mark.slow
def test_update_adds_an_expectation_where_there_is_none(specs: Path) -> None:
    path = specs / "tiny.toml"
    path.write_text(TINY.partition("[expect]")[0], "utf-8")
    assert document("specs", code=1, cwd=specs.parent)["specs"][1]["departures"][0]["reason"] == "no-expectation"
    assert acked("gate", "specs", "--update", cwd=specs.parent).returncode == 0
    assert 'verdict = "holds"\ndistinct_states = 277\ndepth = 12' in path.read_text("utf-8")
    document("specs", code=0, cwd=specs.parent)


@pytest.mark.slow
def test_update_refuses_to_make_a_promise_that_held_a_violated_one(specs: Path) -> None:
    path = specs / "loses.toml"
    wrong = LOSES.partition("[expect]")[0] + '[expect]\nverdict = "holds"\n'
    path.write_text(wrong, "utf-8")
    done = acked("gate", "specs", "--update", cwd=specs.parent)
    assert done.returncode == 1
    assert "--accept-violations" in done.stderr
    assert path.read_text("utf-8") == wrong
    done = acked("gate", "specs", "--update", "--accept-violations", cwd=specs.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'verdict = "violated"\nviolates = "WeakIsr"\ntrace_length = 9' in path.read_text("utf-8")
    document("specs", code=0, cwd=specs.parent)


VARIANTS = (
    LOSES.partition("[expect]")[0].replace("[constants]", 'variants = ["one", "two", "three"]\n\n[constants]', 1)
    + '# the first\n[one.expect]\nverdict = "violated"\nviolates = "WeakIsr"\ntrace_length = 8  # off\n\n'
    + '[two]\ntitle = "two"\nexpect.verdict = "holds"  # wrong\n\n[three]\ntitle = "three"\n'
)


@pytest.mark.slow
def test_update_writes_into_the_variant_that_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "row.toml"
    path.write_text(VARIANTS, "utf-8")
    done = acked("gate", "row.toml#one", "--update", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert path.read_text("utf-8") == VARIANTS.replace("= 8  # off", "= 9  # off")
    done = acked("gate", "row.toml", "--update", "--accept-violations", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [entry["green"] for entry in document("row.toml", code=0, cwd=tmp_path)["specs"]] == [True] * 3
    text = path.read_text("utf-8")
    assert text.startswith(VARIANTS.replace("= 8  # off", "= 9  # off").partition("[two]")[0]), "nothing else has changed"
    written = tomllib.loads(text)
    assert written["two"] == {
        "title": "two", "expect": {"verdict": "violated", "violates": "WeakIsr", "trace_length": 9},
    }  # fmt: skip
    assert written["three"] == {
        "title": "three", "expect": written["two"]["expect"] | {"distinct_states": 565, "depth": 9},
    }  # fmt: skip


@pytest.mark.slow
def test_artifacts_of_variants_are_apart(tmp_path: Path) -> None:
    (tmp_path / "row.toml").write_text(VARIANTS, "utf-8")
    acked("gate", "row.toml", "--artifacts", "runs", cwd=tmp_path)
    runs = {path.name for path in (tmp_path / "runs").glob("*.json")}
    assert runs == {"row-one-WeakIsr.json", "row-two-WeakIsr.json"}


# -- ablate and coverage -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_ablate_says_what_each_clause_is_for_and_agrees_with_a_weakened_spec(specs: Path) -> None:
    (specs / "two.toml").write_text(
        TINY.replace("log_size = 1", "log_size = 2").replace("records = 1", "records = 2"), "utf-8"
    )
    done = acked("ablate", specs / "two.toml", "--format", "json", "--markdown", "table.md", "-q", cwd=specs.parent)
    assert done.returncode == 0, done.stderr
    clauses = {item["clause"]: item for item in json.loads(done.stdout)["clauses"]}
    assert clauses["LeaderWrite: a record is left"]["state"] == "bounds"
    needed = clauses["FencedLeaderExpandIsr: caught up to HW"]
    [broken] = needed["breaks"]
    assert (needed["state"], broken["property"], len(needed["story"])) == ("needed", "WeakIsr", broken["trace_length"])
    text = (
        (specs / "two.toml")
        .read_text("utf-8")
        .replace("[check]", '[weaken]\ndrop = ["FencedLeaderExpandIsr: caught up to HW"]\n[check]')
    )
    (specs / "weak.toml").write_text(text, "utf-8")
    weak = json.loads(acked("check", specs / "weak.toml", "--format", "json").stdout)
    assert [item["trace_length"] for item in weak["violations"]] == [broken["trace_length"]]
    assert {item["state"] for item in clauses.values()} == {"needed", "idle", "bounds"}
    table = (specs.parent / "table.md").read_text("utf-8")
    assert "## FencedLeaderExpandIsr: caught up to HW" in table


@pytest.mark.slow
def test_coverage_is_merged_over_specs(specs: Path) -> None:
    def decisive(*names: str) -> set[str]:
        found = json.loads(acked("coverage", *names, "--format", "json", cwd=specs.parent).stdout)["protocols"]["kip320"]
        return {item["clause"] for item in found["clauses"] if item["decisive"]}

    (specs / "more.toml").write_text(TINY.replace("records = 1", "records = 2"), "utf-8")
    both = decisive("specs/tiny.toml", "specs/more.toml")
    assert both == decisive("specs/tiny.toml") | decisive("specs/more.toml")
    done = acked("coverage", "specs", cwd=specs.parent)
    assert done.returncode == 0
    assert "decided by the parameters" in done.stdout
