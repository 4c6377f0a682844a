"""A policy file, `acked.toml`: answers that are required of topics, risks that are accepted until some day, clusters.

What it may hold is one table here, by which a file is checked and its JSON Schema is made.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from itertools import chain, repeat
from pathlib import Path
from typing import Any, TypeVar

from acked.audit.clusters.several import Audited
from acked.audit.decision.faults import BY_DEFAULT, AuditQuestion, AuditVerdict, Faults, Wanted, read_faults
from acked.audit.decision.questions import worst_of
from acked.base.errors import ConfigurationError
from acked.base.files import read_text
from acked.base.frozen import frozen
from acked.base.names import first_of, near


@frozen
class Cluster:
    """A running cluster: its address, and the client's properties, relative to the policy file."""

    name: str
    bootstrap: str
    command_config: Path | None


@frozen
class Requirement:
    """What must be a no of the topics of some patterns, in clusters, folders or files of some pattern, and its line."""

    topics: tuple[str, ...]
    unit: str
    answers: tuple[Wanted, ...]
    line: int


@frozen
class Accepted:
    """A risk that somebody accepts, why, and until which day, and its line in the file; without faults under any."""

    topics: tuple[str, ...]
    unit: str
    question: AuditQuestion
    faults: Faults | None
    reason: str
    until: date
    line: int

    @property
    def words(self) -> str:
        """What it is about, for a sentence."""
        return f"{self.question.value}{'' if self.faults is None else f' ({self.faults.name})'} of {', '.join(self.topics)}"


@frozen
class Policy:
    """All of it; of several requirements the first that is about a topic counts, and loss is required where none is."""

    file: str
    required: tuple[Requirement, ...]
    accepted: tuple[Accepted, ...]
    clusters: tuple[Cluster, ...]

    def answers_for(self, topic: str, unit: str) -> tuple[Wanted, ...]:
        """What is required of a topic."""
        return next((one.answers for one in self.required if _is_about(one, topic, unit)), _BY_DEFAULT)

    def answers_for_all(self, topics: Sequence[str], unit: str) -> tuple[Wanted, ...]:
        """What is required of any of these topics; without topics, of those that nothing names."""
        found = (wanted for topic in (topics or ("",)) for wanted in self.answers_for(topic, unit))
        return tuple(dict.fromkeys(found))

    @property
    def every(self) -> tuple[Wanted, ...]:
        """All that is required of any topic; what is by default only where some topic may be in no requirement."""
        is_whole = any("*" in one.topics and one.unit == "*" for one in self.required)
        every = [one.answers for one in self.required] + ([] if is_whole else [_BY_DEFAULT])
        return tuple(dict.fromkeys(wanted for answers in every for wanted in answers))


def _is_about(one: Requirement | Accepted, topic: str, unit: str) -> bool:
    return fnmatchcase(unit, one.unit) and any(fnmatchcase(topic, pattern) for pattern in one.topics)


# -- what a file may hold -----------------------------------------------------------------------------------------------

_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1}
_TEXTS: Mapping[str, Any] = {"type": "array", "items": _TEXT, "minItems": 1}
_DAY: Mapping[str, Any] = {"type": "string", "format": "date"}
_TABLES: Mapping[str, tuple[Mapping[str, Mapping[str, Any]], tuple[str, ...]]] = {
    "require": ({"topics": _TEXTS, "cluster": _TEXT, "answers": _TEXTS}, ("topics", "answers")),
    "accept": (
        {"topics": _TEXTS, "cluster": _TEXT, "question": {"enum": [one.value for one in AuditQuestion]}, "faults": _TEXT,
         "reason": _TEXT, "until": _DAY},
        ("topics", "question", "reason", "until"),
    ),
    "clusters": ({"bootstrap": _TEXT, "command-config": _TEXT}, ("bootstrap",)),
}  # fmt: skip
"""Of each table its keys with what their values are, and the keys that it must have; `clusters` has a table for each name."""


def policy_schema() -> dict[str, Any]:
    """The JSON Schema of a policy file, for editors that know it."""

    def table(name: str) -> dict[str, Any]:
        keys, needed = _TABLES[name]
        return {"type": "object", "properties": dict(keys), "required": list(needed), "additionalProperties": False}

    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "acked.toml: what an audit requires and accepts",
        "type": "object",
        "properties": {
            **{name: {"type": "array", "items": table(name)} for name in ("require", "accept")},
            "clusters": {"type": "object", "additionalProperties": table("clusters")},
        },
        "additionalProperties": False,
    }


def read_policy(path: Path) -> Policy:
    """A policy; `ConfigurationError` says in one sentence what is wrong with it, and where."""
    try:
        text = read_text(path, "policy")
        document = tomllib.loads(text)
    except ValueError as error:  # A TOMLDecodeError, or a number of more digits than Python reads.
        raise ConfigurationError(f"{path} is no valid TOML: {error}") from None
    for name in document:
        _check_name(f"{path}", name, _TABLES)
    heads = {name: chain(_heads(text, name), repeat(1)) for name in ("require", "accept")}
    required = (_requirement(where, one, next(heads["require"])) for where, one in _rows(path, document, "require"))
    accepted = (_accepted(where, one, next(heads["accept"])) for where, one in _rows(path, document, "accept"))
    clusters = document.get("clusters", {})
    if not isinstance(clusters, dict):
        raise ConfigurationError(f"{path}: clusters must be tables, [clusters.NAME]; write them so")
    found = []
    for name, one in clusters.items():
        _check_table(f"{path}: clusters.{name}", one, "clusters")
        config = one.get("command-config")
        found.append(Cluster(name, one["bootstrap"], None if config is None else path.parent / config))
    return Policy(str(path), tuple(required), tuple(accepted), tuple(found))


def _heads(text: str, name: str) -> Iterator[int]:
    """The lines at which tables of a list begin."""
    return (at for at, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*\[\[\s*{name}\s*\]\]", line))


def _rows(path: Path, document: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    rows = document.get(name, [])
    if not isinstance(rows, list):
        raise ConfigurationError(f"{path}: {name} must be a list of tables; begin each with [[{name}]]")
    for number, row in enumerate(rows, 1):
        where = f"{path}: {name} {number}"
        _check_table(where, row, name)
        yield where, row


def _check_table(where: str, table: object, name: str) -> None:
    keys, needed = _TABLES[name]
    if not isinstance(table, dict):
        raise ConfigurationError(f"{where} must be a table")
    for key, value in table.items():
        _check_name(where, key, keys)
        _check_value(f"{where}: {key}", value, keys[key])
    for key in needed:
        if key not in table:
            raise ConfigurationError(f"{where} has no {key}; add it")


def _check_name(where: str, name: str, known: Iterable[str]) -> None:
    if name not in known:
        raise ConfigurationError(f"{where}: there is no key {name!r}{near(name, known)}; there are {', '.join(known)}")


def _check_value(where: str, value: object, kind: Mapping[str, Any]) -> None:
    if kind is _DAY:
        is_right, what = type(value) is date, "a day without quotes, as 2027-01-31"
    elif kind is _TEXTS:
        is_right = isinstance(value, list) and bool(value) and all(isinstance(one, str) and one for one in value)
        what = 'a list of texts, as ["orders"]'
    elif "enum" in kind:
        is_right, what = value in kind["enum"], f"one of {', '.join(kind['enum'])}"
    else:
        is_right, what = isinstance(value, str) and bool(value), "a text that is not empty"
    if not is_right:
        raise ConfigurationError(f"{where} must be {what}, and is {value!r}")


def _requirement(where: str, row: Mapping[str, Any], line: int) -> Requirement:
    answers = [wanted for text in row["answers"] for wanted in _told(where, _wanted, text)]
    return Requirement(tuple(row["topics"]), row.get("cluster", "*"), tuple(dict.fromkeys(answers)), line)


def _accepted(where: str, row: Mapping[str, Any], line: int) -> Accepted:
    faults = None if "faults" not in row else _told(where, read_faults, row["faults"])
    unit, question = row.get("cluster", "*"), AuditQuestion(row["question"])
    return Accepted(tuple(row["topics"]), unit, question, faults, row["reason"], row["until"], line)


def _wanted(text: str) -> list[Wanted]:
    """`loss` under the faults of an audit by default, `loss=one-lossy+zombies` under those."""
    name, separator, faults = text.partition("=")
    known = [one.value for one in AuditQuestion]
    if name not in known:
        raise ConfigurationError(f"there is no question {name!r}{near(name, known)}; choose from {', '.join(known)}")
    question = AuditQuestion(name)
    under = (read_faults(faults.replace("+", ",")),) if separator else BY_DEFAULT.under(question)
    return [(question, one) for one in under]


_BY_DEFAULT: tuple[Wanted, ...] = tuple(_wanted("loss"))


T = TypeVar("T")


def _told(where: str, read: Callable[[str], T], text: str) -> T:
    try:
        return read(text)
    except ConfigurationError as error:
        raise ConfigurationError(f"{where}: {error}") from None


# -- an audit by a policy -----------------------------------------------------------------------------------------------


@frozen
class JudgedAnswer:
    """An answer that is required of some topics and is not a no, and what it counts as; without a question none was asked.

    `accepted` is the risk that was accepted, also where its day is over; `line` that of a requirement that is about no topic.
    """

    verdict: AuditVerdict
    text: str
    question: AuditQuestion | None = None
    faults: Faults | None = None
    accepted: Accepted | None = None
    line: int | None = None


@frozen
class JudgedTopics:
    """What is so of these topics, named with their cluster, folder or file; of none what the policy says for nothing."""

    judged: JudgedAnswer
    topics: tuple[str, ...]

    @property
    def in_words(self) -> str:
        """As it is told."""
        return f"{first_of(self.topics, _NAMED)}: {self.judged.text}" if self.topics else self.judged.text


@frozen
class Judgement:
    """What a policy makes of audits: its verdict, and a line for each thing that is required or accepted and not a no."""

    verdict: AuditVerdict
    lines: tuple[JudgedTopics, ...]

    @property
    def words(self) -> str:
        """The verdict in few words."""
        found = [line.judged.verdict for line in self.lines]
        return f"{found.count(AuditVerdict.YES)} required and not kept, {found.count(AuditVerdict.UNDECIDED)} undecided"


_NAMED = 3
"""Topics that one line names."""


def judge(policy: Policy, audited: Sequence[Audited], today: date, is_whole: bool = True) -> Judgement:
    """What is required and not kept, by topic; what is accepted counts as kept until its day is over.

    Where these `is_whole` all that the policy is about, what it requires of topics that are not there is said.
    """
    found: dict[JudgedAnswer, list[str]] = {}
    used: set[Accepted] = set()
    answered = {(topic, one.group.unit) for one in audited if one.audit is not None and one.group.decides
                for topic in one.group.topics}  # fmt: skip
    for one in audited:
        for topic in (one.group.topics or ("",)) if one.group.decides else ():
            if one.group.is_unread and (topic, one.group.unit) in answered:
                text = f"judged by the other brokers' settings: {one.refusal}"
                found.setdefault(JudgedAnswer(AuditVerdict.NO, text), []).append(topic_name(topic, one.group.unit))
                continue
            for question, faults in policy.answers_for(topic, one.group.unit):
                reply = reply_of_group(one, question, faults)
                if reply is AuditVerdict.NO:
                    continue
                excuse = _excuse(policy, topic, one.group.unit, question, faults)
                used |= set() if excuse is None else {excuse}
                what = f"{question.value} ({faults.name}) is {reply.value}{_hinge(one, question, faults)}"
                if excuse is not None and excuse.until >= today:
                    verdict, text = AuditVerdict.NO, f"{what}, accepted until {excuse.until}: {excuse.reason}"
                elif excuse is not None:
                    verdict = AuditVerdict.YES
                    text = f"{what}, and was accepted until {excuse.until} ({excuse.reason}): decide anew"
                else:
                    verdict, text = reply, f"{what}{f': {one.refusal}' if one.refusal else ''}"
                judged = JudgedAnswer(verdict, text, question, faults, excuse)
                found.setdefault(judged, []).append(topic_name(topic, one.group.unit))
    topics = [(topic, one.group.unit) for one in audited for topic in one.group.topics or ("",)]
    lines = list(_about_nothing(policy, topics)) if is_whole else []
    lines += [JudgedTopics(judged, tuple(of)) for judged, of in found.items()]
    lines.sort(key=lambda line: (AuditVerdict.YES, AuditVerdict.UNDECIDED, AuditVerdict.NO).index(line.judged.verdict))
    for risk in policy.accepted:
        if risk not in used and any(_is_about(risk, *topic) for topic in topics):
            text = f"{risk.words} is accepted and does not happen: remove it from {policy.file}"
            lines.append(JudgedTopics(JudgedAnswer(AuditVerdict.NO, text, accepted=risk), ()))
    return Judgement(worst_of(line.judged.verdict for line in lines), tuple(lines))


def _about_nothing(policy: Policy, topics: Sequence[tuple[str, str]]) -> Iterator[JudgedTopics]:
    """Every requirement with a pattern that no topic has, as one with a slip; also where topics have no names."""
    for one in policy.required:
        names = {topic for topic, unit in topics if fnmatchcase(unit, one.unit)}
        absent = [pattern for pattern in one.topics if not any(fnmatchcase(name, pattern) for name in names)]
        if absent:
            where = "" if one.unit == "*" else f" of {one.unit}"
            text = f"no topic{where} is called {' or '.join(absent)}, of which something is required: correct {policy.file}"
            if names == {""}:
                text = f"no topic is named here, so what is required of {' and '.join(absent)} is not asked"
            yield JudgedTopics(JudgedAnswer(AuditVerdict.NO, text, line=one.line), ())


NAMELESS = "every topic"
"""What settings that name no topic are of."""


def topic_name(topic: str, unit: str | None) -> str:
    """A topic with what it is of: `eu: orders`; empty for every topic."""
    name = topic or NAMELESS
    return f"{unit}: {name}" if unit else name


def reply_of_group(one: Audited, question: AuditQuestion, faults: Faults) -> AuditVerdict:
    """The answer of a group, today and on the way of an upgrade; undecided where it was not asked, or hangs on what is not
    known.
    """
    open_ = [(hinge.answer.question.asked, hinge.answer.faults) for hinge in one.hinges]
    if one.audit is None or (question, faults) in open_:
        return AuditVerdict.UNDECIDED
    answers = [answer.worst for answer in one.audit.all_of(question) if answer.faults == faults]
    on_the_way = () if one.upgrade is None else one.upgrade.answers
    answers += [answer.on_the_way for answer in on_the_way
                if answer.question.asked is question and answer.faults == faults]  # fmt: skip
    return worst_of(answers) if answers else AuditVerdict.UNDECIDED


def _hinge(one: Audited, question: AuditQuestion, faults: Faults) -> str:
    """What an answer hangs on that is not known, as the end of a sentence; empty where it hangs on nothing."""
    found = (hinge.on for hinge in one.hinges if (hinge.answer.question.asked, hinge.answer.faults) == (question, faults))
    return next((f": it hangs on {on}" for on in found), "")


def _excuse(policy: Policy, topic: str, unit: str, question: AuditQuestion, faults: Faults) -> Accepted | None:
    """What accepts it, and of several the one that holds longest."""
    found = [one for one in policy.accepted
             if _is_about(one, topic, unit) and one.question is question and one.faults in (None, faults)]  # fmt: skip
    return max(found, key=lambda one: one.until, default=None)
