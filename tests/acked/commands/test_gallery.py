"""The gallery's command: which bundled specs it answers, and that the site they make stays small."""

from __future__ import annotations

import pytest

from acked.checker.bounds import Bounds
from acked.checker.question.result import Counterexample, Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, load_spec
from acked.commands.gallery import is_wanted
from acked.reports.pages.gallery import MAX_BYTES
from acked.reports.pages.page import render, trace_data
from tests.places import SPECS


def wanted() -> list[Spec]:
    return [spec for path in sorted(SPECS.rglob("*.toml")) if is_wanted(spec := load_spec(path), (), False)]


@pytest.mark.slow
def test_the_bundled_stories_together_stay_below_ten_megabytes() -> None:
    """The pages of the whole site are made by the command; here the largest kind of page, times the number of stories."""
    violated = [spec for spec in wanted() if spec.expect is not None and spec.expect.verdict is Verdict.VIOLATED]
    stories = sum(len(spec.expect.violates) for spec in violated if spec.expect is not None)
    longest = max(
        (spec for spec in violated if spec.protocol.name == "partition"),
        key=lambda spec: (spec.expect is not None and spec.expect.trace_length) or 0,
    )
    result = search(longest.question(), Bounds(workers=1))
    found = Counterexample.of(longest.title, result.question, result.violations[0])
    page = render(trace_data(found), packed=True)
    assert stories > 60
    assert stories * len(page.encode()) < MAX_BYTES


def test_specs_that_only_check_acked_itself_are_left_out_unless_they_are_selected() -> None:
    reference = load_spec(SPECS / "controls" / "expand-unfenced.toml")
    assert not is_wanted(reference, (), slow=True)
    assert is_wanted(reference, ("expand-*",), slow=False)
