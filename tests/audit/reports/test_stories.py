"""The pages of an audit show the easiest of the shortest stories."""

from __future__ import annotations

import pytest

from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import Assumptions, AuditQuestion
from acked.audit.reports import pages
from acked.audit.reports.pages import counterexample, easiest_counterexample
from acked.base.release import release
from acked.checker.diagnosis.easiest import cost_of
from acked.cluster.vocabulary.entry import SettingEntry
from acked.reports.runs.effort import effort_of
from tests.audit.decision.kept import KEPT
from tests.audit.reading import gather


@pytest.mark.slow
def test_the_page_of_a_story_leaves_out_what_it_does_not_need(monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"replication.factor": "3", "acks": "1", "min.insync.replicas": "1"}
    given = gather([SettingEntry(key, value, "a file", 1) for key, value in values.items()])
    auditor = Auditor(given, release("2.8.1"), assumed=Assumptions(), runner=KEPT)
    answer = auditor.run((AuditQuestion.DUPLICATES,), advise=False).of(AuditQuestion.DUPLICATES)
    first, easiest = counterexample(answer), easiest_counterexample(answer)
    assert len(first.run.actions) == len(easiest.run.actions) == 5
    costs = [cost_of(found.run, effort_of(found.question.instance)) for found in (first, easiest)]
    assert [cost.faults for cost in costs] == [2, 0]
    assert [step.action.name for step in first.run.actions[:2]] == ["Crash", "Crash"]
    assert [step.action.name for step in easiest.run.actions[:2]] == ["Produce", "Retry"]
    monkeypatch.setattr(pages, "MAX_STATES", 10)
    again = easiest_counterexample(answer)
    assert [step.label for step in again.run.actions] == [step.label for step in first.run.actions]
