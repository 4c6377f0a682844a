"""What a run says of its promise, by what was seen of brokers: the same for replication and for transactions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from acked.base.errors import ExitCode
from acked.cluster.commands.whole_release import _judgement
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.page import page_data
from acked.cluster.reports.reproductions.reading import read_answer
from acked.cluster.reports.reproductions.release_table import Deed, Predicted, ReleaseRow
from acked.cluster.reports.reproductions.verdict import Control, Judgement, Verdict, control_of, judge
from acked.cluster.reports.reproductions.words import Answer, verdicts_in_words
from tests.cluster.reports.made import answer, played, prepared
from tests.cluster.transacting.test_transacting import bug
from tests.cluster.transacting.test_transacting import played as transacted
from tests.cluster.transacting.test_transacting import question as about_transactions


@dataclass(frozen=True)
class Ended:
    """How a run ended, as far as a verdict asks."""

    parted: object | None
    broken: Mapping[str, bool]

    def is_broken(self, promise: str) -> bool | None:
        return self.broken.get(promise) if promise else any(self.broken.values())


def replicated(parts: bool, broken: Mapping[str, bool]) -> Answer:
    made = answer(0 if parts else 4)
    return replace(made, first=replace(made.first, played=replace(made.first.played, broken=broken)))


def of_transactions(parts: bool, broken: Mapping[str, bool]) -> Answer:
    made = transacted(bug(), True, parts)
    end = replace(made.played, broken=broken)
    return Answer("t", about_transactions().properties[0], replace(made, played=end))


OUTCOMES = [
    (False, True, Verdict.REPRODUCED, 12, "reproduced on Kafka"),
    (False, False, Verdict.AS_MODELLED, 14, "was not seen broken"),
    (False, None, Verdict.AS_MODELLED, 14, "brokers do not show whether"),
    (True, True, Verdict.PARTED, 1, "at step"),
    (True, False, Verdict.PARTED, 1, "at step"),
    (True, None, Verdict.PARTED, 1, "at step"),
]


@pytest.mark.parametrize(("parts", "is_broken", "verdict", "code", "words"), OUTCOMES)
@pytest.mark.parametrize("made", [replicated, of_transactions])
def test_a_run_is_reproduced_only_if_the_promise_was_seen_broken(
    made: Callable[[bool, Mapping[str, bool]], Answer],
    parts: bool, is_broken: bool | None, verdict: Verdict, code: int, words: str,
) -> None:  # fmt: skip
    name = made(False, {}).name
    found = made(parts, {} if is_broken is None else {name: is_broken})
    assert found.judgement == Judgement(verdict)
    [(_, said), *_], document = verdicts_in_words(found), answer_document(found, {})
    assert page_data(found)["played"]["verdicts"][0][1] == said
    assert words in said
    assert said.startswith("reproduced") == (verdict is Verdict.REPRODUCED)
    assert said.startswith("as the model says on ") == (verdict is Verdict.AS_MODELLED)
    assert (document["verdict"], document["exit_code"]) == (verdict.value, code)


def test_every_verdict_has_an_exit_code_of_its_own() -> None:
    assert {one: one.exit_code for one in Verdict} == {
        Verdict.REPRODUCED: ExitCode.INVARIANT,
        Verdict.AS_MODELLED: ExitCode.NOT_SHOWN,
        Verdict.KEPT: ExitCode.HOLDS,
        Verdict.PARTED: ExitCode.UNMET_EXPECTATION,
    }


@pytest.mark.parametrize(
    ("parts", "is_broken", "control"),
    [
        (False, True, Control.SAME_WAY),
        (False, None, Control.SAME_WAY),
        (True, False, Control.KEEPS),
        (True, True, Control.BREAKS),
        (True, None, Control.NOT_SHOWN),
    ],
)
def test_a_control_keeps_a_promise_only_if_it_goes_another_way_and_was_seen_to_hold(
    parts: bool, is_broken: bool | None, control: Control
) -> None:
    second = Ended("step 3" if parts else None, {} if is_broken is None else {"P": is_broken})
    assert control_of("P", second) is control
    reproduced = judge("P", Ended(None, {"P": True}), second)
    assert reproduced.exit_code == (12 if control is Control.KEEPS else 1)
    assert judge("P", Ended(None, {}), second).exit_code == 14, "what was not reproduced has nothing to be held against"
    assert judge("P", Ended("step 1", {}), second).exit_code == 1


def test_a_run_that_parted_has_no_control_that_is_good_news() -> None:
    made = answer(0, 0)
    endings = [ending.value for ending, text in verdicts_in_words(made) if "control" in text]
    assert endings == ["open"]


def test_a_trace_without_a_promise_is_not_called_kept_where_a_record_is_lost() -> None:
    made = answer()
    lost = Answer(made.title, None, made.first)
    assert lost.judgement == Judgement(Verdict.KEPT)
    [(ending, said), *_] = verdicts_in_words(lost)
    assert (ending.value, said.split(": ")[0]) == (
        "open", "as the model says on Kafka 3.9.1 with KRaft, and the trace names no promise",
    )  # fmt: skip
    end = replace(made.first.played, broken={"AckedRecordsSurvive": False})
    [(ending, said), *_] = verdicts_in_words(Answer(made.title, None, replace(made.first, played=end)))
    assert (ending.value, said.split(":")[0]) == ("good", "kept on Kafka 3.9.1 with KRaft, as the model says")


@pytest.mark.slow
def test_an_answer_that_was_saved_before_is_judged_by_what_it_says_was_seen(tmp_path: Path) -> None:
    """Documents of before say "reproduced" and 12 of every run that did not part."""
    document = answer_document(answer(), {})
    assert (document["verdict"], document["decided"]) == ("reproduced", ["AckedRecordsSurvive"])
    path = tmp_path / "before.json"
    path.write_text(json.dumps(document), "utf-8")
    assert read_answer(path)[0].judgement == Judgement(Verdict.REPRODUCED)
    document.update(decided=[], broken=[], lost=[], verdict="reproduced", exit_code=12)
    path.write_text(json.dumps(document), "utf-8")
    assert read_answer(path)[0].judgement == Judgement(Verdict.AS_MODELLED)


@pytest.mark.parametrize(
    ("taken", "broken", "deed", "reason"),
    [
        (4, {"P": True}, Deed.REPRODUCED, ""),
        (4, {"P": False}, Deed.AS_MODELLED, "P was not seen broken"),
        (4, {}, Deed.AS_MODELLED, "brokers do not show whether P holds"),
        (0, {"P": True}, Deed.PARTED, "the producer of r0 has no answer"),
    ],
)
def test_a_row_of_a_whole_release_has_the_verdict_of_its_run(
    taken: int, broken: Mapping[str, bool], deed: Deed, reason: str
) -> None:
    row = ReleaseRow("s", "t", None, "P", (), Predicted.VIOLATED, Deed.NOTHING)
    found = _judgement(row, replace(played(prepared(), taken).played, broken=broken), "P")
    assert (found.deed, found.reason) == (deed, reason)
