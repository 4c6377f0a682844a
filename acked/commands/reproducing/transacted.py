"""`acked reproduce` of a trace of `transactions`."""

from __future__ import annotations

from pathlib import Path

from acked.asking.limited import limited
from acked.asking.output import Output, say
from acked.checker.errors import ConfigurationError
from acked.checker.question.result import Counterexample
from acked.cluster.releases.release import Mode
from acked.cluster.transacting.play import Heed, Prepared, Reproduction, SeenStep, prepare, reproduce
from acked.reports.reproductions.transacted import Transacted, print_transacted, rules_in_words, transacted_document
from acked.reports.runs.view import steps_of


def play_transactions(
    found: Counterexample,
    left_out: dict[str, str],
    on: tuple[str, Mode, Path | None],
    control: str | None,
    keep: bool,
    time_limit: int,
    output: Output,
) -> int:
    """Plays a trace on a release, its mode and its home, and again on the release of a control; returns the exit code."""
    prepared = prepare(found.question, found.run, *on)
    again = None if control is None else _control(prepared, control)
    for one in (prepared, again):
        if one is not None and not output.quiet and (rules := rules_in_words(one)):
            say(rules)
    with limited(time_limit):
        first = _play(prepared, keep, output)
        second = None if again is None else _play(again, keep, output)
    answer = Transacted(found.title, found.property, first, second)
    if left_out and not output.is_json and not output.quiet:
        say(f"not in the search, because it cannot be played: {', '.join(left_out)}")
    output.emit(lambda: transacted_document(answer, left_out), lambda console: print_transacted(console, answer))
    return int(answer.judgement.exit_code)


def _control(prepared: Prepared, control: str) -> Prepared:
    if "=" in control:
        raise ConfigurationError(f"--control {control}: transactions are played again on another release, such as 4.0.0")
    return prepared.control(control)


def _play(prepared: Prepared, keep: bool, output: Output) -> Reproduction:
    sentences = {view.index: view.sentence for view in steps_of(prepared.question, prepared.run)}
    count = len(prepared.script.steps)

    def took(done: SeenStep) -> None:
        say(f"  {done.step.index}/{count} {sentences[done.step.index]} ({done.seconds:.1f} s)")

    heed = Heed() if output.quiet else Heed(lambda line: say(f"  {line}"), took)
    return reproduce(prepared, keep, heed)
