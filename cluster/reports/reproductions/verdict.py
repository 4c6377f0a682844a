"""What a run that was played says of its promise: decided here alone, for replication and for transactions."""

from __future__ import annotations

from enum import StrEnum, unique
from typing import Any

from acked.base.errors import ExitCode
from acked.base.frozen import frozen
from acked.cluster.playing.play import PlayedRun

Played = PlayedRun[Any, Any]


@unique
class Verdict(StrEnum):
    """What a run says; the value is the word for it, in sentences, tables and documents."""

    REPRODUCED = "reproduced"
    AS_MODELLED = "as the model says"
    KEPT = "kept"
    PARTED = "parted"

    @property
    def exit_code(self) -> ExitCode:
        """12 for a promise that was seen broken on real brokers, 14 where they did as the model says and it was not, 0 for a
        trace that breaks none, 1 where model and brokers part.
        """
        return _CODES[self]


_CODES = {
    Verdict.REPRODUCED: ExitCode.INVARIANT,
    Verdict.AS_MODELLED: ExitCode.NOT_SHOWN,
    Verdict.KEPT: ExitCode.HOLDS,
    Verdict.PARTED: ExitCode.UNMET_EXPECTATION,
}


@unique
class Control(StrEnum):
    """What the same steps did on the release, or with the setting, of the control. Only `KEEPS` is what a control is for."""

    KEEPS = "keeps it"
    BREAKS = "breaks it all the same"
    NOT_SHOWN = "does not show it"
    SAME_WAY = "goes the same way"


@frozen
class Judgement:
    """The verdict of a run, and what its control did; None if there is none."""

    verdict: Verdict
    control: Control | None = None

    @property
    def exit_code(self) -> ExitCode:
        """That of the verdict; one that was reproduced counts with a control only if that keeps the promise."""
        if self.verdict is Verdict.REPRODUCED and self.control not in (None, Control.KEEPS):
            return ExitCode.UNMET_EXPECTATION
        return self.verdict.exit_code


def judge(promise: str, first: Played, control: Played | None = None) -> Judgement:
    """Judges a run, and that of its control, by the promise that the trace breaks in the model; empty: it breaks none."""
    return Judgement(verdict_of(promise, first), None if control is None else control_of(promise, control))


def verdict_of(promise: str, played: Played) -> Verdict:
    """The verdict of a run: reproduced only if the promise was seen broken, whatever the model says of the last state."""
    if played.parted is not None:
        return Verdict.PARTED
    if not promise:
        return Verdict.KEPT
    return Verdict.REPRODUCED if played.is_broken(promise) else Verdict.AS_MODELLED


def control_of(promise: str, played: Played) -> Control:
    """What a control did: it keeps a promise only if that was seen to hold."""
    if played.parted is None:
        return Control.SAME_WAY
    is_broken = played.is_broken(promise)
    if is_broken is None:
        return Control.NOT_SHOWN
    return Control.BREAKS if is_broken else Control.KEEPS


# -- words -------------------------------------------------------------------------------------------------------------


@unique
class Ending(StrEnum):
    """Whether a sentence about the end is good news; the value is for style sheets."""

    GOOD = "good"
    BAD = "bad"
    OPEN = "open"


def verdict_in_words(verdict: Verdict, where: str, promise: str, played: Played, end: str) -> tuple[Ending, str]:
    """What a run that did not part says, in a sentence: `where` names the brokers, `end` is what has become of them."""
    if verdict is Verdict.REPRODUCED:
        return Ending.BAD, f"{verdict.value} on {where} ({promise}): {end}"
    if verdict is Verdict.KEPT and not played.is_broken(promise):
        return Ending.GOOD, f"{verdict.value} on {where}, as the model says: {end}"
    if verdict is Verdict.KEPT:
        return Ending.OPEN, f"as the model says on {where}, and the trace names no promise: {end}"
    return Ending.OPEN, f"{verdict.value} on {where}, and {why_not_reproduced(promise, played)}: {end}"


def why_not_reproduced(promise: str, played: Played) -> str:
    """Of a run as the model says: why it is no reproduction."""
    if played.is_broken(promise) is None:
        return f"brokers do not show whether {promise} holds"
    return f"{promise} was not seen broken"


def ending_of_control(found: Judgement) -> Ending:
    """Whether what a control did is good news: it is neither where nothing was reproduced."""
    if found.verdict is not Verdict.REPRODUCED or found.control is Control.NOT_SHOWN:
        return Ending.OPEN
    return Ending.GOOD if found.control is Control.KEEPS else Ending.BAD
