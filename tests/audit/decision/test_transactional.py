"""What the audit asks about transactions, of whom, and what it answers."""

from __future__ import annotations

import pytest

from acked.audit.decision.audit import Auditor
from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.gather import Given
from acked.audit.decision.joint import Searches
from acked.audit.decision.settings import Configuration, configure
from acked.audit.decision.transactional import (
    Clients,
    TransactionQuestion,
    answers_of,
    clients_of,
    rules_of,
    tasks_of,
)
from acked.audit.reports.transactional import transactions_markdown, transactions_view
from acked.base.release import release
from acked.cluster.vocabulary.entry import OPTION, SettingEntry
from tests.audit.made import audit
from tests.audit.reading import gather

MOST = 1_000_000


def given(**values: str) -> Given:
    named = {"replication_factor": "1", "transactional_id": "orders", **values}
    entries = [SettingEntry(key.replace("_", "."), value, OPTION, 0) for key, value in named.items()]
    return gather([], None, entries, False, ())


def configuration(version: str, **values: str) -> Configuration:
    return configure(given(**values), release(version), None)


def asked(version: str, clients: Clients, **values: str) -> dict[str, int]:
    tasks = tasks_of(configuration(version, **values), MOST)
    return next(dict(task.asked.constants) for _, whose, task in tasks if whose is clients)


def test_nothing_is_asked_without_a_transactional_id_or_before_0_11() -> None:
    entries = [SettingEntry("replication.factor", "1", OPTION, 0)]
    assert tasks_of(configure(gather([], None, entries, False, ()), release("4.3"), None), MOST) == []
    assert tasks_of(configuration("0.10.2"), MOST) == []
    assert len(tasks_of(configuration("3.9"), MOST)) == len(TransactionQuestion)


@pytest.mark.parametrize(
    ("version", "values", "whose"),
    [
        ("3.9", {}, [Clients.OLD]),
        ("4.0", {}, [Clients.NEW, Clients.OLD]),
        ("4.3", {"transaction_version": "1"}, [Clients.OLD]),
        ("4.3", {"transaction_version": "2"}, [Clients.NEW, Clients.OLD]),
    ],
)
def test_newer_clients_count_only_with_brokers_and_a_feature_that_know_them(
    version: str, values: dict[str, str], whose: list[Clients]
) -> None:
    assert list(clients_of(configuration(version, **values))) == whose


def test_rules_are_those_of_the_brokers_release_and_of_what_is_set() -> None:
    releases = ("2.3", "3.6.1", "4.3", "latest")
    assert [rules_of(configuration(version)) for version in releases] == ["2.3", "3.6", "4.3", "latest"]
    assert asked("3.5", Clients.OLD)["verification"] == 0
    assert asked("3.9", Clients.OLD)["verification"] == 1
    assert asked("3.9", Clients.OLD, transaction_partition_verification_enable="false")["verification"] == 0
    assert asked("4.3", Clients.OLD)["transaction_version"] == 1
    assert asked("4.3", Clients.NEW)["transaction_version"] == 2


def test_a_transaction_that_can_hang_is_told_step_by_step() -> None:
    tasks = [item for item in tasks_of(configuration("3.5"), MOST) if item[0].question is TransactionQuestion.HANGING]
    searches = Searches()
    searches.decide(task for _, _, task in tasks)
    (hanging,) = answers_of(tasks, searches.__getitem__)
    assert hanging.reply is AuditVerdict.YES
    assert hanging.story is not None
    assert hanging.story.trace_length == 8
    view = audit(transactions=transactions_view([hanging]))
    assert [item.question for item in view.transactions] == ["hanging"]
    text = "\n".join(transactions_markdown(view))
    assert "### Can a transaction be left open for ever?" in text
    assert "where it opens a transaction" in text
    assert transactions_markdown(audit()) == []


@pytest.mark.long
def test_an_audit_answers_about_transactions_beside_its_five_questions() -> None:
    found = Auditor(given(), release("3.5")).run((AuditQuestion.WRITES,), advise=False)
    assert [item.reply for item in found.transactions] == [AuditVerdict.YES] * 3
    assert found.worst((AuditQuestion.WRITES,)) is found.of(AuditQuestion.WRITES).worst
