"""A loss played on unmodified brokers of the release, a few times, and once the nearest run that keeps the promise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ConfigurationError
from acked.checker.diagnosis.necessary import nearest_kept
from acked.checker.question.question import Question
from acked.checker.question.result import Run, Violation
from acked.checker.search.local import search
from acked.checker.spec.question_text import QuestionText
from acked.cluster.playing.protocol import PlayedProtocol, PreparedRun, restore_actions
from acked.cluster.playing.reproduce import Listener, reproduce
from acked.cluster.playing.script import NotPlayable
from acked.cluster.playing.setting import Brokers
from acked.cluster.reports.reproductions.words import presentation_of
from acked.hunt.playing.outcome import Played
from acked.hunt.search.task import Loss
from acked.reports.shell.deadline import OverTime

PLAYS = 3
"""How often a loss is played."""

PLAYABLE_WITHIN = 1_000_000
"""Distinct states that are looked at for a trace that can be played."""

Tell = Callable[[str], None]


def play_loss(protocol: str, loss: Loss, brokers: Brokers, tell: Tell, times: int = PLAYS) -> Played:
    """Plays a loss; whatever cannot be played is said as its reason."""
    try:
        question = question_of(protocol, loss)
        played = presentation_of(question).played
        promise = question.properties[0]
        prepared = _prepare(played, question, _run_of(question, loss), brokers)
        results = [_breaks(prepared, promise.name, tell) for _ in range(times)]
        near = nearest_kept(question, Violation(promise, prepared.run))
        beside = None if near is None else _prepare_nearest(played, question, near.run, brokers)
        apart = [_breaks(beside, promise.name, tell)] if beside is not None else []
    except OverTime:
        raise
    except (AckedError, OSError) as error:
        return Played(reason=str(error))
    reason = next((why for is_broken, why in results if not is_broken), "")
    return Played(
        len(results), sum(is_broken for is_broken, _ in results), len(apart), sum(is_broken for is_broken, _ in apart),
        near.change if near is not None and apart else "", len(prepared.script.steps), reason,
    )  # fmt: skip


def question_of(protocol: str, loss: Loss) -> Question:
    """The question that a loss answers, under its own constants."""
    return QuestionText(protocol, loss.constants, (loss.promise,)).question()


def _run_of(question: Question, loss: Loss) -> Run:
    steps = tuple(question.instance.action_instance(name, arguments) for name, arguments in loss.run.fired)
    return Run(loss.run.states, steps)


def _prepare(played: PlayedProtocol[Any, Any], question: Question, run: Run, brokers: Brokers) -> PreparedRun:
    """The run ready to be played, or the shortest other one of its question that is; `ConfigurationError` with the reason."""
    brokers = played.fit(brokers, question)
    try:
        return played.prepare(question, run, brokers)
    except NotPlayable as error:
        refused = error
    bounds = Bounds(1, max_states=PLAYABLE_WITHIN)
    for is_timed in (False, True):
        found = search(played.playable(question, brokers, is_timed), bounds)
        if found.violations:
            return played.prepare(question, restore_actions(question, found.violations[0].run), brokers)
    raise ConfigurationError(f"{refused}; and within {PLAYABLE_WITHIN:,} states no other trace of it can be played")


def _prepare_nearest(played: PlayedProtocol[Any, Any], question: Question, run: Run, brokers: Brokers) -> PreparedRun | None:
    try:
        return played.prepare(question, run, played.fit(brokers, question))
    except NotPlayable:
        return None


def _breaks(prepared: PreparedRun, promise: str, tell: Tell) -> tuple[bool, str]:
    """Whether brokers broke the promise, and where they went another way than the model."""
    tell(f"playing {len(prepared.script.steps)} steps on Kafka {prepared.brokers.version}")
    done = reproduce(prepared, False, Listener())
    is_broken = bool(done.played.is_broken(promise))
    parted = done.played.parted
    why = "" if parted is None else f"brokers part at step {parted.index}: {done.played.reason}"
    return is_broken, why or ("" if is_broken else "brokers did as the model says, and the promise was not seen broken")
