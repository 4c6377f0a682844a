"""Views of audits that nobody asked for, to look at what reports make of them."""

from __future__ import annotations

from typing import Any

from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.gather import Severity
from acked.audit.reports.view import (
    FORMAT,
    TOPICS_FORMAT,
    AnswerView,
    AuditView,
    ColumnView,
    FaultsView,
    FindingView,
    GroupView,
    ReleaseView,
    SettingView,
    TopicsView,
    TransactionView,
)
from acked.reports.runs.sentences import TraceSentences

YES, NO, UNDECIDED = AuditVerdict.YES, AuditVerdict.NO, AuditVerdict.UNDECIDED
LOSS = AuditQuestion.LOSS
CRASH = TraceSentences("Kept", "Step 1 of 1 breaks it.", ("broker \x00 crashes",), ("Crash",))


def answer(asked: str, faults: str, reply: str, decides: bool = True, **others: Any) -> AnswerView:
    verdict = AuditVerdict(reply)
    made: dict[str, Any] = {
        "question": AuditQuestion(asked),
        "text": f"Can it ({asked})?",
        "faults": FaultsView(faults, faults),
        "decides": decides,
        "answer": verdict,
        "worst": verdict,
        "in_words": reply,
        "promise": "Kept",
        "page": None,
        "bounds": "one broker",
        "constants": {},
        "distinct_states": 1,
        "nothing_accepted": False,
        "story": CRASH if verdict is YES else None,
        "elsewhere": (),
        "tried": None,
        "causes": None,
        "no_cause": None,
        "remedy": None,
        "undecided": None,
        "undecided_in_words": "",
    }
    return AnswerView(**made | others)


def audit(
    *answers: AnswerView, required: tuple[AuditQuestion, ...] = (LOSS,), topics: tuple[str, ...] = (), **others: Any
) -> AuditView:
    made: dict[str, Any] = {
        "format": FORMAT,
        "topics": topics,
        "kafka_version": "4.0",
        "rules": "4.0",
        "control_plane": "kraft",
        "release": ReleaseView(True, "named", "named"),
        "others": (),
        "asked_of_others": (),
        "faults": (),
        "columns": tuple(ColumnView(name, name, name) for name in ("clean", "one-machine", "lossy")),
        "model": "Always.",
        "assumed": "nothing",
        "not_asked": (),
        "required": required,
        "verdict": NO,
        "verdict_in_words": "PASS",
        "settings": (),
        "findings": (),
        "passed_over": (),
        "advice": True,
        "answers": answers,
        "recommended": None,
        "warnings": (),
    }
    return AuditView(**made | others)


def group(number: int, topics: tuple[str, ...], one: AuditView | None, decides: bool = True) -> GroupView:
    refusal = None if one else "it may not be read"
    verdict = UNDECIDED if one is None else one.verdict
    return GroupView(number, topics, (), None, decides, 3, 2, "all", verdict, refusal, one)


def groups(*found: tuple[tuple[str, ...], AuditView | None], **others: Any) -> TopicsView:
    listed = tuple(group(at, topics, one) for at, (topics, one) in enumerate(found, 1))
    made: dict[str, Any] = {"verdict": NO, "verdict_in_words": "PASS", "left_out": ()}
    return TopicsView(TOPICS_FORMAT, (LOSS,), groups=listed, **made | others)


def about_transactions(reply: str, clients: str) -> TransactionView:
    story = TraceSentences("Kept", "Step 1 of 1 breaks it.", ("r0 is <late>",), ("delay_produce",))
    verdict = AuditVerdict(reply)
    words = f"{clients}: {reply}"
    return TransactionView("hanging", "Can one hang?", clients, verdict, words, None, None, "one instance", {}, 1,
                           story if verdict is YES else None)  # fmt: skip


def whole(topics: tuple[str, ...] = (), **others: Any) -> AuditView:
    """An audit of a producer with a transactional.id, all of it."""
    made: dict[str, Any] = {
        "settings": (
            SettingView("acks", "all", "p:1", "p", 1),
            SettingView("transactional.id", "orders", "p:3", "p", 3),
        ),
        "transactions": (about_transactions("no", "new clients"), about_transactions("yes", "old clients")),
    }
    return audit(answer("loss", "clean", "no"), topics=topics, **made | others)


def finding(text: str) -> FindingView:
    return FindingView("rule", Severity.WARNING, text, "p", 1)
