"""The commands that show runs: view, export, graph, gallery; what they write, and what they refuse in one sentence."""

from __future__ import annotations

import html
import json
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from tests.e2e.driver import TINY, acked


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The trace of truncate-to-hw's violation."""
    target = tmp_path_factory.mktemp("trace") / "lost.json"
    assert acked("check", "truncate-to-hw", "--quiet", "--trace-out", target).returncode == 12
    return target


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    spec = tmp_path / "tiny.toml"
    spec.write_text(TINY)
    return spec


def refused(done: subprocess.CompletedProcess[str], code: int, *parts: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("acked: ")
    for part in parts:
        assert part in lines[0]


@pytest.mark.slow
def test_a_trace_becomes_a_page(trace: Path, tmp_path: Path) -> None:
    page = tmp_path / "lost.html"
    done = acked("view", trace, "--out", page)
    assert done.returncode == 0
    assert "open it in a browser" in done.stderr
    text = page.read_text("utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "Truncating to the high watermark loses agreement below it" in text
    assert len(text) < 1_000_000


@pytest.mark.slow
def test_a_spec_is_searched_first_and_one_that_holds_has_a_page_of_its_states(tiny: Path, tmp_path: Path) -> None:
    assert acked("view", "kip101", "--quiet", cwd=tmp_path).returncode == 0
    assert (tmp_path / "kip101.html").is_file()
    assert acked("view", tiny, "--quiet", cwd=tmp_path).returncode == 0
    assert "Kept in all" in (tmp_path / "tiny.html").read_text("utf-8")


@pytest.mark.slow
def test_what_asks_nothing_and_what_has_no_run_to_compare_have_no_page(tiny: Path, tmp_path: Path) -> None:
    counted = tmp_path / "counted.toml"
    counted.write_text(f"{TINY.partition('[check]')[0]}[check]\ncount_only = true\n")
    refused(acked("view", counted, "--quiet", cwd=tmp_path), 151, "has no counterexample", "acked explore")
    refused(acked("view", "kip101", tiny, "--quiet", cwd=tmp_path), 151, "has no counterexample", "acked explore")
    assert not list(tmp_path.glob("*.html"))


@pytest.mark.slow
def test_two_runs_stand_side_by_side(trace: Path, tmp_path: Path) -> None:
    assert acked("view", trace, "--against", "kip320", "--out", tmp_path / "a.html").returncode == 0
    text = (tmp_path / "a.html").read_text("utf-8")
    assert "The same trace under kip320: step 8 does not happen" in text
    assert acked("view", trace, "kip101", "--out", tmp_path / "b.html", "--quiet").returncode == 0


@pytest.mark.slow
def test_view_refuses_what_it_cannot_show(trace: Path, tmp_path: Path) -> None:
    refused(acked("view", trace, "--against", "kip999"), 151, "there is no protocol 'kip999'")
    refused(acked("view", trace, trace, "--against", "kip320"), 151, "not both")
    refused(acked("view", trace, "--out", tmp_path / "no" / "a.html"), 153, "does not exist")
    refused(acked("view", tmp_path / "none.json"), 150, "cannot read the trace file")
    edited = json.loads(trace.read_text())
    edited["steps"][3]["state"]["next_record_id"] = 2
    (tmp_path / "edited.json").write_text(json.dumps(edited))
    refused(acked("view", tmp_path / "edited.json"), 150, "the state of step 3 is not what")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["itf", "tlc"])
def test_a_foreign_trace_is_replayed_under_a_spec(trace: Path, tmp_path: Path, form: str) -> None:
    foreign = tmp_path / f"{form}.json"
    assert acked("export", trace, "--to", form, "--out", foreign).returncode == 0
    assert acked("view", foreign, "--spec", "truncate-to-hw", "--out", tmp_path / "f.html").returncode == 0
    assert "Step 8 of 8 breaks it" in (tmp_path / "f.html").read_text("utf-8")
    spec = tmp_path / "other.toml"
    spec.write_text(TINY.replace("log_size = 1", "log_size = 2").replace("max_records = 1", "max_records = 2"))
    done = acked("view", foreign, "--spec", spec, "--out", tmp_path / "g.html")
    refused(done, 150, "step 8 is not a transition of kip320", "“leader is in the request's epoch” does not hold")
    assert not (tmp_path / "g.html").exists()


@pytest.mark.slow
def test_an_export_goes_to_stdout_or_to_a_file(trace: Path, tmp_path: Path) -> None:
    done = acked("export", trace, "--to", "markdown")
    assert done.stdout.startswith("### Truncating to the high watermark")
    target = tmp_path / "still.svg"
    assert acked("export", trace, "--to", "svg", "--step", "4", "--out", target).returncode == 0
    assert "appends record 0 at offset 0" in "".join(ET.parse(target).getroot().itertext())
    refused(acked("export", trace, "--to", "svg", "--step", "99"), 151, "the trace has the steps 0 to 8")
    refused(acked("export", trace, "--to", "csv", "--step", "1"), 151, "csv has all steps")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["graphml", "dot", "svg", "json"])
def test_a_small_state_space_becomes_a_graph(tiny: Path, tmp_path: Path, form: str) -> None:
    target = tmp_path / f"graph.{form}"
    done = acked("graph", tiny, "--to", form, "--out", target)
    assert (done.returncode, done.stderr) == (0, "277 states, 464 transitions\n")
    if form == "graphml":
        read = nx.read_graphml(target)
        assert (len(read), read.number_of_edges()) == (277, 464)
        assert read.nodes["0"]["quorum.isr"] == "{0, 1}"
        assert max(level for _, level in read.nodes(data="level")) == 12
    elif form == "json":
        document = json.loads(target.read_text())
        assert (len(document["nodes"]), len(document["edges"])) == (277, 464)
    elif form == "svg":
        assert len(list(ET.parse(target).getroot().iter("{http://www.w3.org/2000/svg}circle"))) == 277


@pytest.mark.slow
def test_a_graph_begins_elsewhere_ends_earlier_and_is_collapsed(trace: Path, tiny: Path) -> None:
    levels = json.loads(acked("check", "kip320", "--max-depth", "3", "--format", "json", "--quiet").stdout)["levels"]
    nodes = json.loads(acked("graph", "kip320", "--levels", "3", "--to", "json").stdout)["nodes"]
    assert [sum(node["level"] == level for node in nodes) for level in (1, 2, 3)] == levels
    done = acked("graph", "truncate-to-hw", "--from", trace, "--to", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["nodes"][0]["state"]["replica"][0]["hw"] == 1
    done = acked("graph", tiny, "--collapse", "quorum.isr", "--to", "json")
    nodes = json.loads(done.stdout)["nodes"]
    assert nodes[0]["state"] == {"quorum.isr": "{0, 1}"}
    assert sum(node["states"] for node in nodes) == 277
    refused(acked("graph", tiny, "--collapse", "quorm", "--to", "json"), 151, "no field 'quorm'", "did you mean quorum?")


def test_a_large_graph_is_refused_with_its_size_and_the_way_out() -> None:
    done = acked("graph", "kip320", "--to", "svg")
    refused(done, 152, "more than the 2,000 of --max-states", "--levels", "--from", "-c")
    assert done.stdout == ""


@pytest.mark.slow
def test_the_gallery_is_an_index_and_a_page_per_violation(tmp_path: Path) -> None:
    site = tmp_path / "site"
    command = ("gallery", "--out", site, "--quiet", "--select", "expand-unfenced", "--select", "kip320-2111")
    assert acked(*command).returncode == 0
    index = (site / "index.html").read_text("utf-8")
    pages = sorted(path.name for path in site.iterdir())
    assert "expand-unfenced-WeakIsr.html" in pages
    for title in ("By promise", "By version", "By setting", "broken in 9 steps", "kept in all"):
        assert title in index
    for page in pages:
        assert page == "index.html" or f'href="{page}"' in index
    assert index.count("<script") == 1
    assert re.search(r"default-src 'none'; script-src 'sha256-[\w+/=]{44}'; style-src 'sha256-", html.unescape(index))
    assert acked(*command).returncode == 0
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    refused(acked("gallery", "--out", tmp_path / "other"), 153, "holds other files")
    refused(acked("gallery", "--out", tmp_path / "x", "--select", "zzz"), 151, "no bundled spec matches")
