"""`acked audit --prove-it`: the story of a yes, played on brokers of the user's release with the user's settings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from acked.audit.decision.audit import Answer as AuditAnswer
from acked.audit.decision.audit import Audit
from acked.audit.decision.faults import AuditQuestion, AuditVerdict
from acked.audit.decision.questions import NEEDS
from acked.audit.decision.release import Deployment
from acked.audit.decision.settings import Configuration
from acked.base.errors import ConfigurationError, ExitCode
from acked.base.frozen import frozen
from acked.base.release import release as number_of
from acked.checker.question.question import Question
from acked.cluster.commands.playable import playable_counterexample
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Listener, reproduce
from acked.cluster.playing.setting import Brokers, Setting
from acked.cluster.releases.release import Mode, releases
from acked.cluster.replicating.protocol import REPLICATION
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.terminal import print_answer
from acked.cluster.reports.reproductions.words import Answer
from acked.cluster.vocabulary import keys
from acked.model.partition.rules.settings import idempotence, in_flight_refused
from acked.model.partition.rules.versions import rules_of
from acked.reports.console import open_console
from acked.reports.shell.deadline import deadline
from acked.reports.shell.output import Output, say

OF_TOPIC = {
    keys.MIN_ISR: keys.MIN_ISR,
    keys.UNCLEAN: keys.UNCLEAN,
    keys.FLUSH_MESSAGES: keys.TOPIC_FLUSH_MESSAGES,
}
"""Settings that the throw-away topic gets as the user has them, each with what topics call it."""
_SILENT = {rule.name for rule in NEEDS} | {in_flight_refused.name}
"""Rules that an audit sets where they say nothing, so that releases which differ in them alone are searched once."""


_SECONDS = 600
"""After so long brokers that play a story are stopped."""


@frozen
class ToProve:
    """A yes that can be played, and what is said of it; `refused` are those before it that cannot be, with the reasons."""

    prepared: PreparedRun
    title: str
    refused: tuple[str, ...]
    without_idempotence: bool


def prove_first(
    audits: Sequence[Audit], required: Sequence[AuditQuestion], code: ExitCode, output: Output
) -> tuple[int, dict[str, Any]]:
    """Plays the story of the first yes that can be played: the exit code, which is `code` without one, and keys for JSON."""
    chosen, why_not = None, "there is no yes to prove"
    for result in audits:
        try:
            chosen = chosen or first_provable(result, required, output.quiet)
        except ConfigurationError as error:
            why_not = str(error)
    if chosen is None:
        say(f"--prove-it: {why_not}")
        return code, {"proof": None, "not_proved": why_not}
    if chosen.without_idempotence and not output.quiet:
        say("--prove-it: the producer has no producer id, which makes no difference to what is lost")
    answer = prove(chosen, _SECONDS, Listener() if output.quiet else Listener(lambda line: say(f"  {line}")))
    if not output.is_json:
        print_answer(open_console(sys.stdout), answer)
    return int(answer.judgement.exit_code), {"proof": answer_document(answer, {})}


def first_provable(audit: Audit, required: Sequence[AuditQuestion], quiet: bool) -> ToProve | None:
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


def prove(chosen: ToProve, time_limit: int, listener: Listener) -> Answer:
    """Plays it."""
    with deadline(time_limit):
        played = reproduce(chosen.prepared, False, listener)
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
    prepared = replace(prepared, setting=apply_settings(prepared.setting, configuration), others=others)
    return ToProve(prepared, f"{answer.question.text} Yes", refused, is_without)


def _prepare(answer: AuditAnswer, question: Question, brokers: Brokers, quiet: bool) -> PreparedRun:
    text, name = answer.question.text, answer.question.asked.value
    found, _ = playable_counterexample(question, text, name, brokers, quiet)
    return REPLICATION.prepare(found.question, found.run, brokers)


def apply_settings(setting: Setting, configuration: Configuration) -> Setting:
    """The topic's settings as the user has them, where the user has any."""
    values = configuration.values
    given = {
        name: values[key].value for key, name in OF_TOPIC.items() if key in values and values[key].entry is not None
    }
    return replace(setting, topic={**setting.topic, **given})
