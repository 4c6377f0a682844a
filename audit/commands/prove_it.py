"""`acked audit --prove-it`: the story of a yes, played on brokers of the user's release with the user's settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from acked.audit.decision.audit import Answer as AuditAnswer
from acked.audit.decision.audit import Audit
from acked.audit.decision.questions import NEEDS, AuditQuestion, AuditVerdict
from acked.audit.decision.release import Deployment
from acked.audit.decision.settings import Configuration
from acked.base.errors import ConfigurationError
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.cluster.commands.playable import On, playable_counterexample
from acked.cluster.playing.reproduce import Brokers, Heed, Prepared, prepare, reproduce
from acked.cluster.playing.setting import Setting
from acked.cluster.releases.release import Mode, releases
from acked.cluster.reports.reproductions.words import Answer
from acked.cluster.vocabulary import keys
from acked.model.partition.rules.settings import idempotence, in_flight_refused
from acked.model.partition.rules.versions import rules_of
from acked.reports.shell.deadline import limited

OF_TOPIC = {
    keys.MIN_ISR: keys.MIN_ISR,
    keys.UNCLEAN: keys.UNCLEAN,
    keys.FLUSH_MESSAGES: keys.TOPIC_FLUSH_MESSAGES,
}
"""Settings that the throw-away topic gets as the user has them, each with what topics call it."""
_SILENT = {rule.name for rule in NEEDS} | {in_flight_refused.name}
"""Rules that an audit sets where they say nothing, so that releases which differ in them alone are searched once."""


@dataclass(frozen=True)
class ToProve:
    """A yes that can be played, and what is said of it; `refused` are those before it that cannot be, with the reasons."""

    prepared: Prepared
    title: str
    refused: tuple[str, ...]
    without_idempotence: bool


def to_prove(audit: Audit, required: Sequence[AuditQuestion], quiet: bool) -> ToProve | None:
    """The first required yes whose story can be played; None without a yes, `ConfigurationError` if none can be played."""
    bad = [answer for asked in required for answer in audit.all_of(asked) if answer.reply is AuditVerdict.YES]
    if not bad:
        return None
    brokers = brokers_of(audit.context)
    refused: list[str] = []
    for answer in bad:
        name = f"{answer.question.asked.value}, {answer.faults.name}"
        try:
            return _ready(answer, audit.configuration, brokers, tuple(refused), quiet)
        except ConfigurationError as error:
            refused.append(f"{name}: {error}")
    raise ConfigurationError(f"no yes can be played on Kafka {brokers.version} ({'; '.join(refused)})")


def brokers_of(context: Deployment) -> Brokers:
    """The newest release that can be started of those that the audit is about."""
    named = [one for one in releases() if one.version == context.release.name]
    alike = [one for one in releases() if rules_of(number_of(one.version)) == rules_of(context.release)]
    mode = Mode(context.plane)
    fitting = [one for one in named or alike if mode in one.modes]
    if not fitting:
        raise ConfigurationError(f"there are no brokers of {context.words} to start; `acked kafka list` has those there are")
    return Brokers(fitting[-1].version, mode)


def prove(chosen: ToProve, time_limit: int, heed: Heed) -> Answer:
    """Plays it."""
    with limited(time_limit):
        played = reproduce(chosen.prepared, False, heed)
    [promise] = chosen.prepared.question.properties
    return Answer(chosen.title, promise, played)


def _ready(
    answer: AuditAnswer, configuration: Configuration, brokers: Brokers, refused: tuple[str, ...], quiet: bool
) -> ToProve:
    asked = replace(answer.task.asked, symmetry=False)
    question = replace(answer.task, asked=asked).question()
    try:
        prepared, is_without = _prepare(answer, question, brokers, quiet), False
    except ConfigurationError:
        if not question.instance.constants[idempotence.name] or answer.question.asked is not AuditQuestion.LOSS:
            raise
        # Whether a record is lost does not hang on the producer's number; one without it is driven where the other is not.
        constants = tuple((name, 0 if name == idempotence.name else value) for name, value in asked.constants)
        question = replace(answer.task, asked=replace(asked, constants=constants)).question()
        prepared, is_without = _prepare(answer, question, brokers, quiet), True
    others = tuple(rule for rule in prepared.others if rule.constant not in _SILENT)
    prepared = replace(prepared, setting=with_users(prepared.setting, configuration), others=others)
    return ToProve(prepared, f"{answer.question.text} Yes", refused, is_without)


def _prepare(answer: AuditAnswer, question: Question, brokers: Brokers, quiet: bool) -> Prepared:
    text, name = answer.question.text, answer.question.asked.value
    found, _ = playable_counterexample(question, text, name, On(brokers.version, brokers.mode), quiet)
    return prepare(found.question, found.run, brokers)


def with_users(setting: Setting, configuration: Configuration) -> Setting:
    """The topic's settings as the user has them, where the user has any."""
    values = configuration.values
    given = {
        name: values[key].value for key, name in OF_TOPIC.items() if key in values and values[key].entry is not None
    }
    return replace(setting, topic={**setting.topic, **given})
