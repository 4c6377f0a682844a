"""A reproduction that was saved as JSON, read back to be shown again without brokers.

Nothing that the file says is believed of the model: its trace is replayed step by step, as that of a trace file is. What
brokers did cannot be checked any more; it is read as plain numbers and texts, and anything else is refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from acked.base.errors import ConfigurationError, SpecUnreadable
from acked.base.files import read_text
from acked.checker.question.result import Counterexample
from acked.checker.replay.trace_file import replay
from acked.cluster.observation.promises import PROMISES
from acked.cluster.playing.play import PlayedRun, SeenStep
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Found, LogValidation, Reproduction
from acked.cluster.playing.script import Script, ScriptStep, script_of
from acked.cluster.playing.setting import Brokers, Changed, OtherRule, Setting
from acked.cluster.releases.release import Mode, release
from acked.cluster.reports.reproductions.document import FORMAT
from acked.cluster.reports.reproductions.parts import (
    choice,
    integer,
    integer_or_none,
    integers,
    lines,
    number,
    part,
)
from acked.cluster.reports.reproductions.presentation import Presentation
from acked.cluster.reports.reproductions.words import Answer, presentation_of
from acked.cluster.topics.topic import Difference


def read_answer(path: Path) -> tuple[Answer, dict[str, str]]:
    """What was saved, and the actions that its search left out; `SpecUnreadable` names the part that is wrong."""
    try:
        document = json.loads(read_text(path, "reproduction"))
    except (ValueError, RecursionError) as error:
        raise SpecUnreadable(f"{path} is not a reproduction: not valid JSON ({error})") from None
    try:
        return _answer(document)
    except (SpecUnreadable, ConfigurationError) as error:
        raise SpecUnreadable(f"{path}: {error}") from None


def _answer(document: object) -> tuple[Answer, dict[str, str]]:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise SpecUnreadable(f"not a reproduction: its format should be {FORMAT!r}")
    found = replay(part(document, "trace", dict))
    left_out = {str(name): str(text) for name, text in part(document, "left_out", dict).items()}
    first = _reproduction(document, found, "the reproduction")
    changed = second = None
    if "control" in document:
        control = part(document, "control", dict)
        changed, second = Changed.parse(part(control, "changed", str)), _reproduction(control, found, "the control")
    return Answer(found.title, found.property, first, changed, second), left_out


def _reproduction(document: Mapping[str, Any], found: Counterexample, what: str) -> Reproduction[Any, Any]:
    mode = Mode(choice(document, "control_plane", [one.value for one in Mode]))
    others = tuple(
        OtherRule(*(part(rule, key, str) for key in ("constant", "trace", "release")))
        for rule in part(document, "other_rules", list)
    )
    settings = dict(part(document, "settings", dict))
    acks, clients = integer(settings, "acks"), integer_or_none(settings, "transaction_version")
    topic = {str(key): str(value) for key, value in settings.items() if key not in ("acks", "transaction_version")}
    shown, script = presentation_of(found.question), _script(document, found)
    rows = len(script.initial["log"])
    brokers = Brokers(release(part(document, "kafka", str)).version, mode)
    setting = Setting(rows, acks, topic, transaction_version=clients)
    prepared = PreparedRun(shown.played, found.question, found.run, script, setting, brokers, others)
    played = _played_run(document, script, shown)
    if played.parted is None and len(played.steps) != len(script.steps):
        raise SpecUnreadable(f"not a reproduction: {what} neither takes all steps nor parts at one")
    return Reproduction(prepared, played, number(document, "start_seconds"), None, _log_validation(document))


def _log_validation(document: Mapping[str, Any]) -> LogValidation | None:
    """What a validation of the brokers' logs found, where one was made."""
    if "observed" not in document:
        return None
    noted, broken = part(document, "observed", dict), None
    found, events = Found(choice(noted, "found", [one.value for one in Found])), int(number(noted, "events"))
    if noted.get("broken") is not None:
        broken = choice(noted, "broken", list(PROMISES))
    return LogValidation(found, events, broken, part(noted, "said", str))


def _script(document: Mapping[str, Any], found: Counterexample) -> Script:
    """The steps of the trace, as they were compared."""
    script, steps = script_of(found.question, found.run, None), part(document, "steps", list)
    if not {"log", "producer"} <= script.initial.keys():
        raise SpecUnreadable("not a reproduction: its trace is not one that brokers play")
    if len(steps) != len(script.steps):
        raise SpecUnreadable(f"not a reproduction: it tells {len(steps)} steps of {len(script.steps)}")
    compared = (
        replace(step, is_settled=part(one, "seen", object) is not None)
        for step, one in zip(script.steps, steps, strict=True)
    )
    return replace(script, steps=tuple(compared), order=tuple(integers(document, "assignment")))


def _played_run(document: Mapping[str, Any], script: Script, shown: Presentation[Any, Any]) -> PlayedRun[Any, Any]:
    rows = len(script.initial["log"])
    pairs = list(zip(document["steps"], script.steps, strict=True))
    taken = tuple(_step(one, step, shown, rows) for one, step in pairs if one.get("taken") is True)
    parted, reason, differences = None, "", []
    if document.get("parted") is not None:
        where = part(document, "parted", dict)
        at = where.get("step")
        if type(at) is not int or at != len(taken) + 1 or at > len(script.steps):
            raise SpecUnreadable("not a reproduction: it parts at another step than the one after those that were taken")
        parted, reason = script.steps[at - 1], part(where, "reason", str)
        for one in part(where, "differences", list):
            differences.append(Difference(*(part(one, key, str) for key in ("what", "model", "real"))))
    others = (_step(one, step, shown, rows) for one, step in pairs if parted is not None and one.get("taken") is not True)
    decided, broken = (set(map(str, part(document, key, list))) for key in ("decided", "broken"))
    return PlayedRun(
        shown.read_seen(part(document, "before", dict), rows), taken, parted, reason, shown.read_answers(document),
        shown.read_seen(part(document, "after", dict), rows), {name: name in broken for name in sorted(decided)},
        lines(document), number(document, "seconds"), tuple(differences),
        tuple(one for one in others if one.seen is not None or one.reason),
        {str(name): found is True for name, found in part(document, "sayings", dict).items()},
    )  # fmt: skip


def _step(document: Any, step: ScriptStep, shown: Presentation[Any, Any], rows: int) -> SeenStep[Any, Any]:
    """What was seen after a step."""
    seconds = 0.0 if document.get("seconds") is None else number(document, "seconds")
    seen = None if document["seen"] is None else shown.read_seen(part(document, "seen", dict), rows)
    reason = str(document.get("reason", ""))
    return SeenStep(step, seen, shown.read_answers(document), seconds, lines(document), reason)
