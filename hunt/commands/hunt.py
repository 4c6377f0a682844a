"""The command `hunt`: what a release loses, searched for where nobody has looked, and played where it is new."""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import click

from acked.base.errors import AckedError, ExitCode
from acked.base.files import check_writable, write_text
from acked.base.frozen import frozen
from acked.base.optional import optional_packages
from acked.base.release import release as number_of
from acked.checker.batch.cache import ResultCache
from acked.cluster.commands.reproduce_options import startable_releases
from acked.cluster.releases.jars import is_fetched
from acked.cluster.releases.release import Mode
from acked.hunt.assumptions.drop import drop_assumptions
from acked.hunt.known.losses import KnownLoss, known_losses
from acked.hunt.playing.player import Player
from acked.hunt.questions.spaces import SPACES, HuntedRelease, questions_of
from acked.hunt.reports.assumptions import assumptions_document, print_assumptions
from acked.hunt.reports.rows import Hunted, State, rows_of
from acked.hunt.reports.shown import hunt_document, hunt_page, print_hunt
from acked.hunt.search.hunt import Hunt, Listener, Sighting, Tally, faults_of
from acked.reports import units
from acked.reports.console import put_paragraph
from acked.reports.progress import LiveDisplay
from acked.reports.shell.batches import BatchOptions, searches_many
from acked.reports.shell.deadline import OverTime, deadline
from acked.reports.shell.options import collects, option, shows
from acked.reports.shell.output import Output, say


@frozen
class Scope:
    """What is hunted: protocols, faults, which known losses do not count, and for how long."""

    minutes: float
    seed: int
    faults: str | None
    protocols: str
    forgotten: tuple[str, ...]


@frozen
class Playing:
    """Whether what is new is played, and on which jars."""

    plays: bool
    home: Path | None


_scope = collects(
    "scope", Scope,
    minutes=option("--minutes", type=click.FloatRange(min=0, min_open=True), default=20.0, show_default=True, metavar="N",
                   help="How long; what was decided is kept, and the same command goes on from there."),
    seed=option("--seed", type=click.IntRange(0), default=0, show_default=True, metavar="S",
                help="Which order questions of the same cost have, and which random walks are drawn."),
    faults=option("--faults", metavar="LIST", help="Ask of these faults alone, e.g. clean,leadership_moves; default: all."),
    protocols=option("--protocols", default=",".join(SPACES), show_default=True, metavar="LIST",
                     help="Ask about these protocols alone."),
    forgotten=option("--forget", multiple=True, metavar="ID",
                     help="As if this known loss were not known: what it explains is new then."),
)  # fmt: skip
_playing = collects(
    "playing", Playing,
    plays=option("--play/--no-play", default=True, help="Play what is new on real brokers, if the release's jars are here."),
    home=option("--kafka-home", type=click.Path(path_type=Path, exists=True, file_okay=False), metavar="DIR",
                help="An unpacked release to take the jars from, in the place of the cache and Maven."),
)  # fmt: skip


@click.command(short_help="Look for unknown losses of a release, and play them.")
@click.option(
    "--kafka", "version", metavar="V", required=True, shell_complete=startable_releases,
    help="The release of the brokers, e.g. 4.1.0; see `acked kafka list`.",
)
@click.option(
    "--control-plane", "plane", type=click.Choice(["kraft", "zookeeper"]),
    help="Where the metadata is; default: KRaft where the release has it.",
)
@_scope
@_playing
@click.option(
    "--assumptions", is_flag=True,
    help="Drop what the model takes for granted, one guard clause or sentence after the other: what would break without it?",
)
@searches_many
@click.option(
    "--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write the table as a page."
)
@shows
def hunt(
    version: str, plane: str | None, scope: Scope, playing: Playing, assumptions: bool, batch: BatchOptions,
    page: Path | None, output: Output,
) -> int:  # fmt: skip
    """Ask every promise of a release under every combination of settings and faults that people run.

    Cheap questions come first. Each is searched, and where the search does not end walked at random, rare actions first;
    then it is gone into more deeply. What breaks a promise is reduced to its shortest trace under the safest settings and
    the fewest faults that allow it, and put to what is known: the loss is known if what prevents it is the rule of a row of
    the gallery, of a finding, or a setting that is documented to cost it. Then the question is asked again without that.
    All else is new: it is told in full, and played on unmodified brokers, beside a run one event apart.

    \b
    acked hunt --kafka 4.4.0 --minutes 20
    acked hunt --kafka 3.9.1 --protocols transactions --html hunt.html
    acked hunt --kafka 4.4.0 --faults none,leadership_moves --forget stale-log-ends
    acked hunt --kafka 4.4.0 --assumptions                  what the answers rest on, and whether Kafka's source forbids it

    Answers are kept: stopped by time or Ctrl-C, the same command goes on. Exit code 12 if something is new, 0 if not, 152 if
    nothing at all was decided in the time, 130 after Ctrl-C, 151 for usage.
    """
    hunted = HuntedRelease.of(number_of(version), plane)
    all_known = known_losses()
    known = known_losses(without=scope.forgotten) if scope.forgotten else all_known
    if assumptions:
        return _drop(hunted, all_known, scope, batch, output)
    faults = tuple(part.strip() for part in scope.faults.split(",")) if scope.faults else ()
    questions = questions_of(hunted, tuple(part.strip() for part in scope.protocols.split(",")), faults)
    check_writable(page, "page")
    made = Hunt(questions, known, all_known, scope.seed, brokers=(version, hunted.plane))
    cache = batch.cache()
    player = _player(version, hunted, playing, cache, output)
    reason = _run(made, scope, batch, cache, player, output)
    found = Hunted(version, hunted.plane, scope.seed, made.tally, rows_of(made, player.played), reason)
    if page is not None:
        write_text(page, hunt_page(found), "page")
        say(f"the page is {page}; open it in a browser")
    output.emit(lambda: hunt_document(found), lambda console: print_hunt(console, found))
    if found.count(State.NEW):
        return int(ExitCode.INVARIANT)
    if reason == INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.HOLDS if made.tally.decided else ExitCode.TOO_LARGE)


INTERRUPTED = "interrupted"


def _drop(
    hunted: HuntedRelease, known: tuple[KnownLoss, ...], scope: Scope, batch: BatchOptions, output: Output
) -> int:
    """Drops assumptions until all are answered or the time is over."""
    found, reason = [], ""
    try:
        with output.batch_progress("searches") as progress, deadline(max(int(60 * scope.minutes), 1)):
            for one in drop_assumptions(hunted, known, batch.limits, batch.cache(), progress):
                found.append(one)
    except OverTime:
        reason = f"the {scope.minutes:g} minutes are over, and what was not asked is not listed"
    except KeyboardInterrupt:
        reason = INTERRUPTED
    output.emit(
        lambda: assumptions_document(hunted.release.name, found, reason),
        lambda console: print_assumptions(console, hunted.release.name, found, reason),
    )
    if reason == INTERRUPTED:
        return int(ExitCode.INTERRUPTED)
    return int(ExitCode.TOO_LARGE if reason else ExitCode.HOLDS)


def _run(
    made: Hunt, scope: Scope, batch: BatchOptions, cache: ResultCache | None, player: Player, output: Output
) -> str:
    """Hunts until the time is over; why it ended, empty if all was asked."""
    try:
        with _Progress(scope.minutes, output.quiet) as shown:

            def see(sighting: Sighting) -> None:
                shown.see(sighting)
                if sighting.known is None:
                    player.play(sighting)

            with deadline(max(int(60 * scope.minutes), 1)):
                made.run(batch.limits, cache, Listener(shown.answer, see, shown.go_on))
    except OverTime:
        return f"the {scope.minutes:g} minutes are over"
    except KeyboardInterrupt:
        return INTERRUPTED
    return ""


def _player(
    version: str, hunted: HuntedRelease, playing: Playing, cache: ResultCache | None, output: Output
) -> Player:
    """Who plays what is new, or says in a sentence why nobody does."""
    if not playing.plays:
        return Player(version, reason="--no-play")
    try:
        with optional_packages():
            from acked.cluster.playing.setting import Brokers
            from acked.hunt.playing.play import play_loss
        brokers = Brokers(version, Mode(hunted.plane), playing.home)
        is_here = playing.home is not None or is_fetched(brokers.release)
    except AckedError as error:
        return Player(version, reason=str(error))
    if not is_here:
        return Player(version, reason=f"the jars of {version} are not here; acked kafka fetch {version}")

    def tell(text: str) -> None:
        if not output.quiet:
            say(f"  {text}")

    return Player(version, lambda protocol, loss: play_loss(protocol, loss, brokers, tell), cache=cache)


class _Progress(LiveDisplay):
    """Shows how far a hunt is, and above that everything that is seen for the first time."""

    def __init__(self, minutes: float, is_quiet: bool) -> None:
        super().__init__(sys.stderr, is_quiet)
        self._ends = time.monotonic() + 60 * minutes
        self._tally = Tally()
        self._seen: Counter[bool] = Counter()
        self._states = 0

    def answer(self, tally: Tally) -> None:
        """One more answer."""
        self._tally = tally
        self.update()

    def go_on(self, number: int) -> None:
        """A question has come to so many states or walks."""
        self._states = number
        self.update()

    def see(self, sighting: Sighting) -> None:
        """A loss that this hunt has not seen yet."""
        self._seen[sighting.known is None] += 1
        what = "NEW" if sighting.known is None else sighting.known.id
        text = f"{sighting.loss.promise} in {units.plural(len(sighting.loss.run.fired), 'step')}: {what}"
        faults = ", ".join(faults_of(sighting)) or "nothing goes wrong"
        self.above(lambda console: put_paragraph(console, f"{text} ({faults})", "bold red" if sighting.known is None else ""))

    def line(self) -> str:
        """`round 1: 34 of 350 questions, 12 losses known, none new, 4.2 min left`."""
        tally, left = self._tally, max(self._ends - time.monotonic(), 0.0)
        return (
            f"round {tally.round}: {units.count(tally.asked)} of {units.count(tally.planned)} questions, "
            f"{units.short_count(self._states)} states or walks into one, {self._seen[False]} sightings of known losses, "
            f"{self._seen[True]} new, {units.duration(left)} left"
        )
