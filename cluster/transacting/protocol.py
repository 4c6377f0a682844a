"""What the player has to know of `transactions`: which runs brokers can be led through, and with which clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.checker.question.result import Run
from acked.cluster.playing.protocol import PlayedProtocol, questions_without, without_steps
from acked.cluster.playing.script import Script, first_refusal
from acked.cluster.playing.script import script_of as bare_script
from acked.cluster.playing.setting import Brokers, Changed, OtherRule, Setting, differing_rules
from acked.cluster.releases.release import Release, release
from acked.cluster.transacting.compare import TransactionView, differences
from acked.cluster.transacting.driver import STEPS, TransactionsDriver
from acked.cluster.transacting.promises import Answers
from acked.cluster.wire.client import ALL_REPLICAS
from acked.model.releases import TRANSACTIONAL
from acked.model.transactions.protocol import transactions
from acked.model.transactions.settings import RULES, TV1, TV2, transaction_version
from acked.model.transactions.versions import profile

FIRST = (3, 0)
"""Since then a coordinator describes its transactions (KIP-664), which is how they are compared."""
_KNOWS_V2 = (4, 0)
SETTINGS: Mapping[str, str] = {"transaction.state.log.num.partitions": "1"}
"""One partition of the coordinator's log, so that its leader is chosen with the topic."""
_RACE = "it is a race inside the coordinator or a partition's leader"
_REASONS: Mapping[str, str] = {
    "Restart": "epochs of instances that start again are kept by rank",
    "TimeOut": "a coordinator looks for transactions that timed out when its clock says so",
    "MoveCoordinator": "no step of the driver moves the coordinator",
    "DelayMarker": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerArrives": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerIsLost": "a coordinator sends a marker again only when its connection breaks",
    "LateMarkerIsRefused": _RACE,
    "WriteLastMarkerUnnoticed": _RACE,
    "VerifyLateProduce": _RACE,
    "VerifyAnotherCopy": _RACE,
    "ForgetProducer": "it takes a week until a producer is forgotten",
}
"""By action why no step of the driver brings it about, where more can be said than that."""
NOT_PLAYED = without_steps(transactions, STEPS, _REASONS)


def _script(question: Question, run: Run, brokers: Brokers) -> Script:
    chosen = _describing_release(brokers.version)
    script = bare_script(question, run, first_refusal(run, lambda at: NOT_PLAYED.get(run.actions[at].action.name)))
    if question.instance.constants[transaction_version.name] == TV2 and chosen.number < _KNOWS_V2:
        raise ConfigurationError(
            f"the trace is of transaction_version 2, which Kafka {brokers.version} does not have; take --kafka 4.0.0 or later"
        )
    return script


def _describing_release(version: str) -> Release:
    """A release whose coordinator describes its transactions."""
    chosen = release(version)
    if chosen.number < FIRST:
        raise ConfigurationError(
            f"Kafka {version} does not describe its transactions, so nothing could be compared; take 3.0.0 or later (KIP-664)"
        )
    return chosen


def _setting(question: Question, script: Script) -> Setting:
    version = question.instance.constants[transaction_version.name]
    return Setting(len(script.initial["log"]), ALL_REPLICAS, {}, SETTINGS, transaction_version=version)


def _control(setting: Setting, changed: Changed) -> Setting:
    """With the clients of the release."""
    if changed.version is None:
        raise ConfigurationError(f"--control {changed}: transactions are played again on another release, such as 4.0.0")
    return replace(setting, transaction_version=TV2 if _describing_release(changed.version).number >= _KNOWS_V2 else TV1)


def rules_unlike(constants: Mapping[str, int], brokers: Brokers, setting: Setting) -> tuple[OtherRule, ...]:
    """The rules in which constants are not like the release with such clients."""
    newest = number_of(brokers.version).newest_of(TRANSACTIONAL)
    has = {name: rule.value for name, rule in profile(newest, None).items()}
    return differing_rules(RULES, constants, {**has, transaction_version.name: setting.transaction_version or TV1})


TRANSACTIONS: PlayedProtocol[TransactionView, Answers] = PlayedProtocol(
    transactions, NOT_PLAYED, questions_without(NOT_PLAYED), _script, _setting, _control, rules_unlike,
    lambda state, seen, setting: differences(state, seen), lambda prepared: {}, TransactionsDriver,
)  # fmt: skip
