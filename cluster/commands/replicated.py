"""`acked reproduce` of a trace of `partition`."""

from __future__ import annotations

from pathlib import Path

from acked.base.files import write_text
from acked.checker.question.result import Counterexample
from acked.cluster.playing.play import SeenStep
from acked.cluster.playing.reproduce import Brokers, Changed, Heed, Prepared, Reproduction, prepare, reproduce
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.page import reproduction_page
from acked.cluster.reports.reproductions.terminal import print_answer
from acked.cluster.reports.reproductions.words import Answer, rules_in_words
from acked.reports.runs.view import steps_of
from acked.reports.shell.deadline import limited
from acked.reports.shell.output import Output, say


def play_replication(
    found: Counterexample,
    left_out: dict[str, str],
    on: tuple[Brokers, Changed | None],
    keep: bool,
    time_limit: int,
    page: Path | None,
    output: Output,
) -> int:
    """Plays a trace on brokers, and again with what a control changes; writes the page, and returns the exit code."""
    brokers, changed = on
    prepared = prepare(found.question, found.run, brokers)
    control = None if changed is None else prepared.control(changed)
    for one in (prepared, control):
        if one is not None and not output.quiet and (rules := rules_in_words(one)):
            say(rules)
    with limited(time_limit):
        first = _play(prepared, keep, output)
        second = None if control is None else _play(control, keep, output)
    answer = Answer(found.title, found.property, first, changed, second)
    if left_out and not output.is_json and not output.quiet:
        say(f"not in the search, because it cannot be played: {', '.join(left_out)}")
    if page is not None:
        write_text(page, reproduction_page(answer), "page")
        say(f"the page is {page}; open it in a browser")
    output.emit(lambda: answer_document(answer, left_out), lambda console: print_answer(console, answer))
    return int(answer.judgement.exit_code)


def _play(prepared: Prepared, keep: bool, output: Output) -> Reproduction:
    """Plays with lines on stderr: what starts, and every step as soon as it has been seen."""
    sentences = {view.index: view.sentence for view in steps_of(prepared.question, prepared.run)}
    count = len(prepared.script.steps)

    def took(done: SeenStep) -> None:
        say(f"  {done.step.index}/{count} {sentences[done.step.index]} ({done.seconds:.1f} s)")

    return reproduce(prepared, keep, Heed() if output.quiet else Heed(lambda line: say(f"  {line}"), took))
