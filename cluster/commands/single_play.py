"""`acked reproduce TRACE|SPEC`: one run, played on brokers, and its control."""

from __future__ import annotations

from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.base.files import write_text
from acked.checker.question.result import Counterexample
from acked.cluster.commands.playable import is_trace, playable_run
from acked.cluster.commands.reproduce_options import Asked, Machine
from acked.cluster.commands.reproductions import is_reproduction, read_saved
from acked.cluster.playing.protocol import PreparedRun
from acked.cluster.playing.reproduce import Listener, reproduce
from acked.cluster.playing.setting import Brokers, Changed
from acked.cluster.releases.release import Mode, mode_of
from acked.cluster.reports.reproductions.document import answer_document
from acked.cluster.reports.reproductions.page import reproduction_page
from acked.cluster.reports.reproductions.terminal import print_answer
from acked.cluster.reports.reproductions.words import Answer, AnyReproduction, presentation_of, rules_in_words
from acked.reports.runs.view import steps_of
from acked.reports.shell.deadline import deadline
from acked.reports.shell.options import SpecChanges, TraceSource, bound
from acked.reports.shell.output import Output, say
from acked.reports.shell.runs import run_of


def brokers_of(machine: Machine) -> Brokers:
    """The brokers that play; `ConfigurationError` for a release or a mode that there is not."""
    mode = None if machine.control_plane is None else Mode(machine.control_plane)
    brokers = Brokers(machine.kafka, mode, machine.home, machine.expire)
    mode_of(brokers.release, mode)
    return brokers


def play_one(target: str, asked: Asked, machine: Machine, source: TraceSource, page: Path | None, output: Output) -> int:
    """Plays a run and its control, shows the answer, and returns the exit code."""
    changed = None if machine.control is None else Changed.parse(machine.control)
    found, left_out = _run(target, asked, source, machine, output)
    played = presentation_of(found.question).played
    if not played.timed and (machine.expire or machine.timed):
        raise ConfigurationError(f"a trace of {played.model.name} is played without --expire and --timed")
    prepared = played.prepare(found.question, found.run, played.fit(brokers_of(machine), found.question))
    control = None if changed is None else prepared.control(changed)
    for one in (prepared, control):
        if one is not None and not output.quiet and (rules := rules_in_words(one)):
            say(rules)
    with deadline(machine.time_limit):
        first = _play(prepared, machine.keep, output)
        second = None if control is None else _play(control, machine.keep, output)
    answer = Answer(found.title, found.property, first, changed, second)
    if left_out and not output.is_json and not output.quiet:
        say(f"not in the search, because it cannot be played: {', '.join(left_out)}")
    if page is not None:
        write_text(page, reproduction_page(answer), "page")
        say(f"the page is {page}; open it in a browser")
    output.emit(lambda: answer_document(answer, left_out), lambda console: print_answer(console, answer))
    return int(answer.judgement.exit_code)


def _run(
    target: str, asked: Asked, source: TraceSource, machine: Machine, output: Output
) -> tuple[Counterexample, dict[str, str]]:
    """The run of a trace file, or the shortest one of a spec that can be played; and what was left out of the search."""
    changes = SpecChanges(asked.constants, asked.version)
    if is_reproduction(target) and changes.are_none and source.spec is None:
        answer, left_out = read_saved(target)
        before = answer.first.prepared
        return Counterexample(answer.title, before.question, before.run, answer.promise), left_out
    if is_trace(target) or source.spec is not None:
        return run_of(target, changes, source, output.quiet), {}
    return playable_run(target, bound(asked.constants), brokers_of(machine), output.quiet, asked.version, machine.timed)


def _play(prepared: PreparedRun, keep: bool, output: Output) -> AnyReproduction:
    """Plays, with lines on stderr: what starts, and every step as soon as it has been seen."""
    if output.quiet:
        return reproduce(prepared, keep, Listener())
    views = steps_of(prepared.question, prepared.run)
    steps = {view.index: f"  {view.index}/{len(views) - 1} {view.sentence}" for view in views}
    listener = Listener(lambda line: say(f"  {line}"), lambda done: say(f"{steps[done.step.index]} ({done.seconds:.1f} s)"))
    return reproduce(prepared, keep, listener)
