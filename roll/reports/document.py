"""The answer as a JSON document, for operators' code: `acked-roll/1`, under the names that docs/roll.md promises."""

from __future__ import annotations

from typing import Any

from acked.roll.decision.answered import Answered
from acked.roll.decision.judge import BrokerAnswer, Case, Verdict, Wish, awaited
from acked.roll.questions.ask import Answer


def roll_document(answered: Answered) -> dict[str, Any]:
    """Plain dicts, lists, strings, numbers, booleans and None."""
    quorum = answered.cluster.quorum
    return {
        "format": "acked-roll/1",
        "source": answered.source,
        "asked": {
            "writes": answered.wish.writes,
            "loss": answered.wish.loss,
            "stops": [stop.value for stop in answered.wish.stops],
            "accepts_settings": answered.wish.accepts_settings,
        },
        "verdict": _word(answered.verdict),
        "order": answered.order,
        "partitions": len(answered.cluster.partitions),
        "quorum": None
        if quorum is None
        else {"leader": quorum.leader, "voters": list(quorum.voters), "present": list(quorum.present)},
        "brokers": [_broker(one, answered.wish) for one in answered.answers],
        "notes": list(answered.notes),
    }


def _broker(one: BrokerAnswer, wish: Wish) -> dict[str, Any]:
    return {
        "broker": one.broker,
        "verdict": _word(one.verdict(wish)),
        "leads": one.leads,
        "controllers": one.controllers or None,
        "waits_for": [{"broker": broker, "partitions": count} for broker, count in awaited(one, wish)],
        "cases": [_case(case, wish) for case in one.cases],
    }


def _case(case: Case, wish: Wish) -> dict[str, Any]:
    return {
        "partitions": [{"topic": one.topic, "partition": one.number} for one in case.partitions],
        "verdict": _word(case.counts(wish)),
        "refuses_writes": case.refuses,
        "refuses_writes_already": case.refused_before,
        "refuses_by_settings": case.refuses_by_settings,
        "loss_by_settings": case.worst is not None and case.loss_by_settings,
        "loss": {stop.value: _loss(answer) for stop, answer in case.losses},
        "story": list(case.story),
        "undecided": case.open_ or None,
    }


def _loss(answer: Answer) -> dict[str, Any]:
    worst = answer.worst
    return {
        "lost": None if answer.open_ else worst is not None,
        "takes": None if worst is None else worst.failing.value,
        "by": [failing.value for failing in answer.by],
    }


def _word(verdict: Verdict) -> str:
    return verdict.value.replace(" ", "-")
