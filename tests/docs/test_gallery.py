"""The pages made from specs say what the specs say and what the search finds now.

That docs/gallery.md, docs/claims.md and docs/quorums.md are what `tools/gallery.py` makes, and that pages and folders
keep the shape that readers count on.
"""

from __future__ import annotations

import importlib.util
import re
import tomllib
from collections import defaultdict
from dataclasses import replace
from types import ModuleType

import pytest

from acked.checker.question.result import Verdict
from acked.checker.spec.spec import Spec, load_spec
from acked.model.transactions.settings import CIRCUMSTANCES, SIZES
from acked.reports.pages.quorums import quorums_markdown
from acked.reports.pages.spec_pages import AnsweredSpec, NotReproduced, claims_markdown, gallery_markdown
from tests.places import CHECKOUT
from tools.real import OPEN as _OPEN
from tools.real import on_brokers

GALLERY = [load_spec(path) for path in sorted((CHECKOUT / "specs" / "gallery").glob("*.toml"))]
CLAIMS = [load_spec(path) for path in sorted((CHECKOUT / "specs" / "claims").glob("*.toml"))]
STANDSTILLS = [
    spec for path in sorted((CHECKOUT / "specs" / "recoverable").glob("*.toml")) if (spec := load_spec(path)).gallery
]
AVAILABILITY_ONLY = {13, 21, 27, 31}
"""Rows of the table of known bugs that break nothing but availability."""
KNOWN = set(range(1, 36)) - {4, 12, 16, 22, 28, 32}
"""The rows of that table."""
FOUND_SINCE = {36, 37, 38, 39}
"""Rows that came after it: a question of this model's, KAFKA-9338, KAFKA-18106, and eligible leaders that JBOD forgets."""
OF_TRANSACTIONS = {*range(40, 48), 52, 53, 54, 61}
"""Rows of the table of bugs of transactions."""
OF_REASSIGNMENT = {48, 49, 50}
"""Rows of reassignment."""
OF_CONTROLLERS = {*range(55, 61)}
"""Rows of several controllers with ZooKeeper."""


def script() -> ModuleType:
    place = importlib.util.spec_from_file_location("make_gallery", CHECKOUT / "tools" / "gallery.py")
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def rows(specs: list[Spec] = GALLERY) -> dict[int, dict[str, Spec]]:
    found: dict[int, dict[str, Spec]] = defaultdict(dict)
    for spec in specs:
        assert spec.gallery is not None
        assert spec.gallery.role not in found[spec.gallery.row], f"two specs are the {spec.gallery.role} of one row"
        found[spec.gallery.row][spec.gallery.role] = spec
    return found


def verdict(spec: Spec) -> Verdict:
    assert spec.expect is not None
    return spec.expect.verdict


def shown() -> dict[int, dict[str, Spec]]:
    return {
        number: parts for number, parts in rows().items()
        if {"bug", "fix", "latest"} <= parts.keys() and parts["bug"].gallery and parts["bug"].gallery.fixed != "open"
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("of", "names"), [("pages_of_bugs", {"gallery.md"}), ("pages_of_claims", {"claims.md", "quorums.md"})]
)
def test_the_pages_are_what_specs_and_search_make_of_them(of: str, names: set[str]) -> None:
    made = getattr(script(), of)()
    assert set(made) == names
    for name, text in made.items():
        assert (CHECKOUT / "docs" / name).read_text("utf-8") == text, "run tools/gallery.py"


# -- the gallery -------------------------------------------------------------------------------------------------------


def test_at_least_sixteen_bugs_that_break_more_than_availability_are_told() -> None:
    assert len(set(shown()) - AVAILABILITY_ONLY) >= 16


def test_every_known_row_is_told_or_an_open_question() -> None:
    assert set(rows()) | set(rows(STANDSTILLS)) | {item.number for item in script().untold()} == (
        KNOWN | FOUND_SINCE | OF_TRANSACTIONS | OF_REASSIGNMENT | OF_CONTROLLERS
    )


def test_at_least_six_bugs_of_availability_are_dead_ends_that_their_fix_opens_at_the_same_constants() -> None:
    found = rows(STANDSTILLS)
    assert len(found) >= 6
    assert set(found) >= AVAILABILITY_ONLY
    for parts in found.values():
        bug, fix = parts["bug"], parts["fix"]
        assert (verdict(bug), verdict(fix)) == (Verdict.VIOLATED, Verdict.HOLDS)
        wanted, again = (spec.properties[0].name.partition(": ")[2] for spec in (bug, fix))
        assert wanted == again
        differing = [name for name in bug.constants if bug.constants[name] != fix.constants[name]]
        helped = set(bug.properties[0].without) - set(fix.properties[0].without)
        assert len(differing) + len(bug.drop) + len(helped) == 1, "one rule, one clause or one step mends it"
        if "latest" in parts:
            assert verdict(parts["latest"]) is Verdict.HOLDS
            sizes = ("replicas", "log_size", "records", "crashes", "leadership_moves", "max_leader_epoch")
            assert all(bug.constants[name] == parts["latest"].constants[name] for name in sizes if name in bug.constants)


MANY_EPOCHS = 18
"""The row whose elections are bounded, as it says: records on their way have epochs, too, and ranks tell 14 apart."""


@pytest.mark.parametrize("number", sorted(shown()))
def test_a_told_bug_is_violated_and_mended_at_the_same_constants(number: int) -> None:
    parts = shown()[number]
    bug, fix, latest = parts["bug"], parts["fix"], parts["latest"]
    assert [verdict(spec) for spec in (bug, fix, latest)] == [Verdict.VIOLATED, Verdict.HOLDS, Verdict.HOLDS]
    assert bug.properties == fix.properties == latest.properties
    differing = {name for name in bug.constants if bug.constants[name] != fix.constants[name]}
    sizes = {"replicas", "log_size", "records", "max_leader_epoch", "crashes", "lossy_crashes", "consumer", "acks"}
    assert differing or bug.drop
    assert not differing & sizes
    assert not fix.drop | latest.drop
    kept = {"replicas", "log_size", "records", "max_leader_epoch", "crashes", "lossy_crashes", "consumer"}
    if number in OF_TRANSACTIONS:
        kept = {item.name for item in (*SIZES, *CIRCUMSTANCES)}
        assert not differing & kept
    elif number != MANY_EPOCHS:
        assert bug.constants["max_leader_epoch"] == 0, "any number of elections"
    assert {name: bug.constants[name] for name in kept} == {name: latest.constants[name] for name in kept}


def test_a_bug_whose_mending_takes_more_than_its_own_rule_says_why() -> None:
    for number, parts in shown().items():
        bug, fix = parts["bug"], parts["fix"]
        differing = [name for name in bug.constants if bug.constants[name] != fix.constants[name]]
        assert fix.gallery is not None
        assert len(differing) + len(bug.drop) == 1 or "row" in fix.gallery.also, number


def test_a_bug_told_with_other_rules_than_its_release_had_says_which_and_why() -> None:
    for number, parts in shown().items():
        bug, fix = parts["bug"], parts["fix"]
        assert bug.path is not None
        release = bug.protocol.profile(tomllib.loads(bug.path.read_text("utf-8"))["version"], None)
        rules = set(release) - {"acks", "retries", "idempotence", "unclean_election", "in_flight"}
        own = {name for name in rules if bug.constants[name] != fix.constants[name]}
        others = {name for name in rules - own if bug.constants[name] != release[name].value}
        assert bug.gallery is not None
        assert not others or bug.gallery.also, f"row {number}: {others}"


def test_at_most_five_specs_of_claims_and_gallery_are_slow() -> None:
    assert sum(spec.slow for spec in (*GALLERY, *CLAIMS)) <= 5


# -- the claims --------------------------------------------------------------------------------------------------------


def test_at_least_thirty_claims_have_a_verdict_a_source_and_a_trace_or_a_complete_search() -> None:
    assert len(CLAIMS) >= 30
    for spec in CLAIMS:
        assert spec.claim is not None
        assert spec.claim.source
        assert bool(spec.claim.corrected) != spec.claim.true
        assert spec.expect is not None
        pinned = spec.expect.trace_length if spec.expect.verdict is Verdict.VIOLATED else spec.expect.distinct_states
        assert pinned


def test_claims_are_true_and_false_by_run_and_by_complete_search() -> None:
    kinds = {(spec.claim.true, verdict(spec)) for spec in CLAIMS if spec.claim}
    assert {(True, Verdict.HOLDS), (True, Verdict.VIOLATED), (False, Verdict.VIOLATED)} <= kinds


# -- the layout --------------------------------------------------------------------------------------------------------


def test_links_of_the_pages_lead_to_headings() -> None:
    for name in ("gallery.md", "claims.md"):
        text = (CHECKOUT / "docs" / name).read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert set(re.findall(r"\]\(#([^)]+)\)", text)) <= anchors


def test_a_row_without_a_latest_part_or_without_a_release_is_unresolved() -> None:
    told = [AnsweredSpec(spec, "version x", ("a step",) if verdict(spec) is Verdict.VIOLATED else ()) for spec in GALLERY]
    page = "\n".join(gallery_markdown(told, [], [NotReproduced(99, "KAFKA-0", "Nothing.")], {}))
    before, after = page.split("## Unresolved")
    assert "## 1. KIP-101" in before
    assert "### 35. KAFKA-15591" in after
    assert "### 36. " in after
    assert "### 99. KAFKA-0\n\nNot in the model. Nothing." in after
    assert "99." not in before


def test_every_row_says_what_real_brokers_did_or_why_they_were_not_asked() -> None:
    found = on_brokers()
    assert set(found) == set(rows()) | set(rows(STANDSTILLS))
    for number, said in found.items():
        assert said.words, number
        assert said.told.startswith(("Reproduced on ", "Not played: ")), number
        assert said.told.endswith("."), number
        assert _OPEN not in said.told, number
    assert "not on 2.0.1" in found[7].told
    page = "\n".join(gallery_markdown([AnsweredSpec(spec, "version x") for spec in GALLERY], [], [], found))
    assert page.count("**On real brokers.**") == len(rows())


def test_copies_for_n_failures_are_told_by_the_verdicts_of_their_specs() -> None:
    told = [AnsweredSpec(spec, "version x", ("a step",) if verdict(spec) is Verdict.VIOLATED else ()) for spec in CLAIMS]
    rows = [line for line in quorums_markdown(told) if line.startswith(("| ISR", "| majority"))]
    assert [row.count("✓") for row in rows] == [2, 1, 2, 0, 2, 1, 2, 0, 2]
    assert [row.count("✗") for row in rows] == [0, 1, 0, 1, 0, 1, 0, 1, 0]
    turned = [AnsweredSpec(replace(item.spec, expect=None), item.settings, item.steps) for item in told]
    assert not any("✓" in line for line in quorums_markdown(turned))


def test_a_claim_that_holds_tells_states_and_one_with_a_run_tells_it() -> None:
    told = [AnsweredSpec(spec, "version x", ("a step",) if verdict(spec) is Verdict.VIOLATED else ()) for spec in CLAIMS]
    page = "\n".join(claims_markdown(told))
    assert re.search(r"\| true \|  \| all [\d,]+ states \| `acks-all-min-2-clean` \|", page)
    assert "[a trace of 1 step](#acks-1-loses) | `acks-1-loses` |" in page
    assert "### acks-1-loses\n" in page
    assert "### acks-all-min-2-clean" not in page
