"""What the site's pages fetch to check specs: choices, shared modules, sizes, and what is refused."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acked.checker.spec.spec import Spec, load_spec
from tests.docs.test_site import either, site
from tests.places import CHECKOUT
from tools.parts import checked, modules, playground
from tools.parts.modules import FOLDER, Built

__all__ = ["either", "site"]

def spec_of(name: str) -> Spec:
    return load_spec(CHECKOUT / "specs" / name)


def given(place: Path) -> Any:
    """What a script of the folder hands to the page."""
    text = place.read_text("utf-8")
    assert text.startswith(f"ackedTake({json.dumps(place.relative_to(place.parents[1]).with_suffix('').as_posix())},")
    return json.loads(text.partition(",")[2].rstrip().removesuffix(");"))


@pytest.fixture
def _apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACKED_CACHE_DIR", str(tmp_path / "cache"))


def written(site: Path, specs: list[Spec]) -> Mapping[str, Any]:
    modules.write([Built.of(spec) for spec in specs], site)
    return {place.stem: given(place) for place in (site / FOLDER / "specs").iterdir()}


@pytest.mark.slow
@pytest.mark.usefixtures("_apart")
def test_specs_with_equal_kernels_share_a_module_and_nothing_is_compiled_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of("claims/acks-1-loses.toml")
    again = replace(spec, name="another", title="another title")
    made = written(tmp_path / "site", [spec, again])
    assert set(made) == {"acks-1-loses", "another"}
    assert len(list((tmp_path / "site" / FOLDER / "modules").iterdir())) == 1
    monkeypatch.setattr(modules, "_made", None)
    assert written(tmp_path / "second", [spec, again]) == made


@pytest.mark.slow
@pytest.mark.usefixtures("_apart")
def test_an_answer_that_is_not_the_pinned_one_ends_the_build(tmp_path: Path) -> None:
    spec = spec_of("claims/acks-1-loses.toml")
    assert spec.expect is not None
    wrong = replace(spec, expect=replace(spec.expect, distinct_states=193))
    with pytest.raises(SystemExit, match=r"acks-1-loses: states is 192, and the spec pins 193; run tools/pin_specs\.py"):
        written(tmp_path / "site", [wrong])


@pytest.mark.slow
@pytest.mark.usefixtures("_apart")
def test_a_clause_that_keeps_a_field_within_its_domain_is_not_offered(tmp_path: Path) -> None:
    spec = spec_of("counts/kip320-2111.toml")
    clause = ("LeaderWrite", "a record is left")
    without = replace(spec, name="overflows", asked=spec.asked.without(clause), expect=None)
    assert set(written(tmp_path / "site", [spec, without])) == {spec.name}


def test_a_spec_is_changed_into_others_that_differ_in_one_setting_alone() -> None:
    built = [Built.of(spec_of(f"gallery/kip279.toml#{variant}")) for variant in ("bug", "fix", "latest")]
    found = modules.choices(built)
    (variant, truncation) = found["kip279-bug"]
    assert variant == {"name": "variant", "value": "bug", "others": [("fix", "kip279-fix"), ("latest", "kip279-latest")]}
    assert truncation == {"name": "truncation", "value": "leader epoch", "others": [("floor epoch", "kip279-fix")]}
    assert [choice["name"] for choice in found["kip279-latest"]] == ["variant"]


@pytest.mark.slow
def test_names_of_specs_are_marked_once_outside_headings_and_not_where_a_protocol_is_meant() -> None:
    html = (
        '<h3 id="a"><code>acks-1-loses</code></h3><p><code>acks-1-loses</code> and <code>acks-1-loses</code></p>'
        "<p><code>kip320</code>, <code>acked check kip320</code>, <code>nothing</code></p>"
    )
    marked = checked.marked(html, "claims.md")
    assert marked.count("data-check") == 2
    assert '<h3 id="a"><code>acks-1-loses</code></h3><p><code data-check="acks-1-loses">acks-1-loses</code> and' in marked
    assert '<code data-check="kip320">acked check kip320</code>' in marked
    assert checked.marked(html, "engine.md") == html


@pytest.mark.slow
def test_every_family_of_the_playground_begins_with_all_its_rules_and_offers_each_value() -> None:
    families = playground.families()
    assert len(families) == len(tomllib.loads(playground.FAMILIES.read_text("utf-8"))["family"])
    for told, built in families:
        assert told["first"] == built[0].spec.name
        found = modules.choices(built)
        offered = {choice["name"]: 1 + len(choice["others"]) for choice in found[told["first"]]}
        values = [{view[name] for item in built for view in item.views} for name in offered]
        assert list(offered.values()) == [len(value) for value in values]
        assert len({item.spec.name for item in built}) == len(built)
    assert sum(len(built) for _, built in families) < 300


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_page_with_the_search_of_any_of_its_specs_takes_300_kb_at_most(
    either: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(checked.complaints(either)) == []
    monkeypatch.setattr(checked, "MOST_BYTES", 60_000)
    complaints = list(checked.complaints(either))
    assert any(said.startswith("first-counterexample.html with the module of truncate-to-hw takes") for said in complaints)


def test_a_page_that_offers_what_is_not_built_is_a_complaint(tmp_path: Path) -> None:
    (tmp_path / "assets").mkdir()
    for name in ("pages.js", "pages.css"):
        (tmp_path / "assets" / name).touch()
    (tmp_path / "tutorial.html").write_text('<code data-check="no-such-spec">acked check no-such-spec</code>')
    (said,) = checked.complaints(tmp_path)
    assert said.startswith("tutorial.html lets readers check no-such-spec, which is not built")


@pytest.mark.landing("test_names_of_specs_are_marked_once_outside_headings_and_not_where_a_protocol_is_meant")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_page_that_must_has_a_spec_to_check(site: Path) -> None:
    found = sorted((site / "found").glob("*.html"))
    for page in [*(site / f"{name}.html" for name in ("gallery", "claims", "tutorial", "first-counterexample")), *found]:
        # Of what the model has no rule for there is nothing to check.
        assert bool(checked.marks(page.read_text("utf-8"))) is (page.stem != "stalled-fetch"), page.name
