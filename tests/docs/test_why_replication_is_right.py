"""The essay names specs, lengths and lemmas; they are as it says."""

from __future__ import annotations

import re

from acked.api import load_spec
from acked.checker.question.result import Verdict
from acked.invariants.partition.lemmas.catalogue import PARTITION_LEMMAS
from tests.places import CHECKOUT

TEXT = (CHECKOUT / "docs" / "why-replication-is-right.md").read_text("utf-8")
PAGE = re.sub(r"(?<=[^\n])\n(?=[^\n])", " ", TEXT.replace("\n## ", "\n\n## ")).replace("\n\n\n", "\n\n")
"""The page with a paragraph a line."""
STEPS = re.split(r"^## (\d+)\. .*\n", PAGE.split("\n## Put together")[0], flags=re.MULTILINE)[1:]
CHECKED = re.compile(r"`acked check ([\w-]+)`(?:: |,\s+)(\d+)\s+steps")
LINKED = re.compile(r"\[([\w, ]+)\]\(partition_proof")
LEMMAS = {item.name for item in PARTITION_LEMMAS}


def test_there_are_ten_steps_each_with_a_bug_and_a_lemma() -> None:
    assert STEPS[::2] == [str(number) for number in range(1, 11)]
    for text in STEPS[1::2]:
        bug, _, lemma = text.partition("**Lemma**")
        assert "**Without it**" in bug
        assert len(CHECKED.findall(bug)) >= 1
        assert set(re.findall(r"\w+", " ".join(LINKED.findall(lemma)))) & LEMMAS


def test_every_spec_is_violated_in_as_many_steps_as_the_page_says() -> None:
    named = set(re.findall(r"`acked check ([\w-]+)`", PAGE))
    told = dict(CHECKED.findall(PAGE)) | {"kip101-1-bug": "8"}
    assert set(told) == named
    assert "takes 8: `acked check kip101-1-bug`" in PAGE
    for name, steps in told.items():
        expect = load_spec(name).expect
        assert expect is not None
        assert expect.verdict is Verdict.VIOLATED
        assert expect.trace_length == int(steps) + 1, name


def test_every_bug_but_the_last_has_a_fix_that_holds() -> None:
    bugs = [name for name, _ in CHECKED.findall(PAGE) if name.endswith("-bug")]
    assert len(bugs) == 11
    for name in bugs:
        expect = load_spec(f"{name.removesuffix('-bug')}-fix").expect
        assert expect is not None
        assert expect.verdict is Verdict.HOLDS


def test_every_lemma_that_the_page_links_is_one_and_all_are_accounted_for() -> None:
    linked = {name for names in LINKED.findall(" ".join(STEPS[1::2])) for name in re.findall(r"\w+", names)}
    assert linked <= LEMMAS
    assert len(linked) >= 14
    assert {"CommitQuorum", "AckedInPlace"} <= LEMMAS - linked
    assert "the other 22 lemmas" in PAGE
    assert len(LEMMAS) == 24
