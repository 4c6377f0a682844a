"""The pages made from specs say what the specs say and what the search finds now.

That pages and folders keep the shape that readers count on; `test_made.py` holds what git keeps of them, and their runs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from functools import cache

import pytest

from acked.base.release import LATEST
from acked.checker.question.result import Verdict
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import specs_under
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import planes_of
from tests.places import CHECKOUT
from tests.shipped import history_of, with_releases
from tools.parts.gallery import untold
from tools.parts.quorums import quorums_markdown
from tools.parts.spec_pages import AnsweredSpec, NotReproduced, claims_markdown, gallery_markdown
from tools.real import OPEN as _OPEN
from tools.real import on_brokers

GALLERY = [load_spec(path) for path in specs_under(CHECKOUT / "specs" / "gallery")]
CLAIMS = [load_spec(path) for path in specs_under(CHECKOUT / "specs" / "claims")]
STANDSTILLS = [
    spec for path in specs_under(CHECKOUT / "specs" / "recoverable") if (spec := load_spec(path)).gallery
]
AVAILABILITY_ONLY = {13, 21, 27, 31}
"""Rows of the table of known bugs that break nothing but availability."""
KNOWN = set(range(1, 36)) - {4, 12, 16, 22, 28, 32}
"""The rows of that table."""


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


# -- the gallery -------------------------------------------------------------------------------------------------------


def test_at_least_sixteen_bugs_that_break_more_than_availability_are_told() -> None:
    assert len(set(shown()) - AVAILABILITY_ONLY) >= 16


def test_every_known_row_is_told_or_an_open_question() -> None:
    assert set(rows()) | set(rows(STANDSTILLS)) | {item.number for item in untold()} >= KNOWN


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


BOUNDED = {18, 62}
"""Rows whose elections are bounded, as they say: ranks tell 14 apart, and with more of them another row breaks the same."""


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
    if bug.protocol is not partition:
        changed = {item.constant for item in history_of(bug.protocol).changes}
        kept = {item.name for item in bug.protocol.constants if item not in changed}
        assert not differing & kept
    elif number not in BOUNDED:
        assert bug.constants["max_leader_epoch"] == 0, "any number of elections"
    assert {name: bug.constants[name] for name in kept} == {name: latest.constants[name] for name in kept}


def test_a_bug_whose_mending_takes_more_than_its_own_rule_says_why() -> None:
    for number, parts in shown().items():
        bug, fix = parts["bug"], parts["fix"]
        differing = [name for name in bug.constants if bug.constants[name] != fix.constants[name]]
        assert fix.gallery is not None
        assert len(differing) + len(bug.drop) == 1 or "row" in fix.gallery.also, number


# -- what a row says, its specs, the table of releases and the brokers say alike ------------------------------------------

FOLDERS = {"gallery": GALLERY, "recoverable": STANDSTILLS}
ALL_ROWS = [(folder, number) for folder, specs in FOLDERS.items() for number in rows(specs)]
"""Every row, in each of the folders that have specs of it."""


def parts_of(folder: str, number: int) -> dict[str, Spec]:
    return rows(FOLDERS[folder])[number]


@pytest.mark.parametrize(("folder", "number"), ALL_ROWS)
def test_the_specs_of_a_row_name_one_bug_and_the_same_releases(folder: str, number: int) -> None:
    entries = [spec.gallery for spec in parts_of(folder, number).values() if spec.gallery]
    assert len({(entry.id, entry.fixed) for entry in entries}) == 1


said_of_brokers = cache(on_brokers)

_SEEN = re.compile(r"(?P<never>\bnot |\bnever )?(?:been )?(?:seen|observed|played) on (?:a cluster|unmodified|real)")


def seen_on_brokers(texts: list[str]) -> set[bool]:
    """What texts say of whether a cluster was seen to do it."""
    return {match["never"] is None for text in texts for match in _SEEN.finditer(text)}


def test_what_was_seen_is_read_from_the_sentences_that_specs_write() -> None:
    assert seen_on_brokers(["The race was read and has not been seen on a cluster by us."]) == {False}
    assert seen_on_brokers(["That was seen on a cluster.", "not seen on a cluster"]) == {True, False}
    assert seen_on_brokers(["Read from the sources."]) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("folder", "number"), ALL_ROWS)
def test_the_specs_of_a_row_and_the_brokers_agree_on_what_was_seen(folder: str, number: int) -> None:
    entries = [spec.gallery for spec in parts_of(folder, number).values() if spec.gallery]
    said = seen_on_brokers([text for entry in entries for text in (entry.mechanism, entry.rule, entry.also)])
    assert len(said) < 2
    if said_of_brokers()[number].words != "not played":
        assert False not in said


def turning_points(bug: Spec, fix: Spec) -> dict[str, str]:
    """From which releases on the one rule in which the two differ has the fix's value, and all that the table says of it."""
    differing = [name for name in bug.constants if bug.constants[name] != fix.constants[name]]
    if len(differing) != 1 or bug.drop or bug.protocol not in with_releases():
        return {}
    (name,) = differing
    changes = [item for item in history_of(bug.protocol).changes if item.constant.name == name]
    plane, wanted, found, was = control_plane_of(bug), fix.constants[name], set(), None
    for item in (item for item in changes if getattr(item, "plane", None) in (None, plane)):
        now = item.constant.read(item.value)
        runs = item.since != LATEST and (plane is None or plane in planes_of(item.since))
        if was is not None and was != now == wanted and runs:
            found.add(item.since)
        was = now
    return dict.fromkeys(found, " ".join(item.source for item in changes))


def control_plane_of(spec: Spec) -> str | None:
    return spec.control_plane or (planes_of(spec.version)[0] if spec.protocol is partition and spec.version else None)


def names(text: str, release: str) -> bool:
    """Whether a text names a release, `3.7` also as 3.7.0."""
    return re.search(rf"(?<![\d.]){re.escape(release)}(?:\.0)?(?!\.?\d)", text) is not None


@pytest.mark.parametrize(("folder", "number"), ALL_ROWS)
def test_a_row_names_every_release_in_which_its_rule_came(folder: str, number: int) -> None:
    parts = parts_of(folder, number)
    if not {"bug", "fix"} <= parts.keys() or not parts["bug"].gallery or not parts["fix"].gallery:
        return
    fixed, rule = parts["bug"].gallery.fixed, parts["fix"].gallery.rule
    if not re.search(r"\d", fixed):  # Open, unverified, or never shipped.
        return
    said = re.findall(r"\d+(?:\.\d+)+", fixed)
    for release, sources in turning_points(parts["bug"], parts["fix"]).items():
        # Where the table has no such patch release, or the rule was off at first, its source says what the row says.
        explained = any(names(sources, other) for other in said)
        assert names(f"{fixed} {rule}", release) or explained, f"row {number} says {fixed!r}, and the table {release}"


def test_a_bug_told_with_other_rules_than_its_release_had_says_which_and_why() -> None:
    for number, parts in shown().items():
        bug, fix = parts["bug"], parts["fix"]
        release = bug.protocol.profile(bug.version, None)
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


def test_a_row_without_a_latest_part_or_without_a_release_is_unresolved() -> None:
    told = [AnsweredSpec(spec, "version x", ("a step",) if verdict(spec) is Verdict.VIOLATED else ()) for spec in GALLERY]
    page = "\n".join(gallery_markdown(told, [], [NotReproduced(999, "KAFKA-0", "Nothing.")], {}))
    before, after = page.split("## Unresolved")
    assert "## 1. KIP-101" in before
    assert "### 36. " in after
    assert "### 999. KAFKA-0\n\nNot in the model. Nothing." in after
    assert "999." not in before
    told_of_35 = before[before.index("## 35. KAFKA-15591") :]
    assert "**What stays open.**\nThe partition holds a record" in told_of_35[: told_of_35.index("\n## ")]


@pytest.mark.slow
def test_every_row_says_what_real_brokers_did_or_why_they_were_not_asked() -> None:
    found = on_brokers()
    assert set(found) == set(rows()) | set(rows(STANDSTILLS))
    for number, said in found.items():
        assert said.words, number
        assert said.told.startswith(("Reproduced on ", "Not played: ")), number
        assert said.told.endswith("."), number
        assert _OPEN not in said.told, f"row {number}: play it, or say why not in [not_played] of docs/real_brokers.toml"
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
    assert "[a trace of 4 steps](#acks-1-loses) | `acks-1-loses` |" in page
    assert "### acks-1-loses\n" in page
    assert "### acks-all-min-2-clean" not in page
