"""The options of an audit and their values: questions, what decides the exit code, what is written, what is assumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from acked.audit.clusters.live import LiveCluster, live_entries
from acked.audit.commands.live import ask_apart, client_properties
from acked.audit.decision.fault_words import BESIDES, CRASHES, WORDS, legend_of
from acked.audit.decision.faults import BY_DEFAULT, Assumptions, AuditQuestion, AuditVerdict, Faults, read_faults
from acked.audit.decision.gather import Recognised, recognise
from acked.base.errors import ConfigurationError, ExitCode
from acked.base.frozen import frozen
from acked.base.names import near
from acked.base.release import Release, release
from acked.cluster.vocabulary.entry import OPTION, PRODUCER_OPTION, Scope, SettingEntry
from acked.cluster.vocabulary.keys import KEYS
from acked.cluster.vocabulary.note import Read
from acked.reports.shell.completion import completions_in_list, known_releases
from acked.reports.shell.options import FORMAT, OUT, QUIET, KeyValue, argument, collects, option
from acked.reports.shell.output import Output, say

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from acked.audit.clusters.policy import Cluster, Policy
    from acked.audit.clusters.topics import TopicGroup
    from acked.audit.reports.baseline import Cells

CODES = {
    AuditVerdict.NO: ExitCode.HOLDS, AuditVerdict.YES: ExitCode.INVARIANT, AuditVerdict.UNDECIDED: ExitCode.TOO_LARGE
}  # fmt: skip
"""The exit code of an audit's verdict."""

ALL = "all"
LOSS = "loss"
_NAMES = (*(question.value for question in AuditQuestion), ALL)


@frozen
class Wanted:
    """Which questions are asked, and which of them decide the exit code."""

    ask: str
    require: str
    advice: bool
    fix: Path | None
    baseline: Path | None
    pages: Path | None
    trace_out: Path | None
    show_settings: bool = False
    prove_it: bool = False
    policy: Path | None = None
    each: bool = False
    upgrade_to: str | None = None

    @cached_property
    def by_policy(self) -> Policy | None:
        """The policy that decides the exit code, if one is named."""
        if self.policy is None:
            return None
        from acked.audit.clusters.policy import read_policy

        return read_policy(self.policy)

    @cached_property
    def earlier(self) -> Cells | None:
        """The answers of the earlier audit, if one is named."""
        if self.baseline is None:
            return None
        from acked.audit.reports.baseline import read_baseline

        return read_baseline(self.baseline)

    def check(self, forms: Collection[str]) -> None:
        """Refuses forms and options that do not go with what is wanted."""
        if self.policy is not None and (self.prove_it or self.require != LOSS):
            raise click.UsageError("--policy says what is required and decides the exit code; leave out --require and "
                                   "--prove-it")  # fmt: skip
        if self.prove_it and (not {"text", "json"}.issuperset(forms) or self.show_settings):
            raise click.UsageError("--prove-it is text or JSON, and goes without --show-settings")
        if self.show_settings and not {"text", "json"}.issuperset(forms):
            others = " or ".join(sorted({*forms} - {"text", "json"}))
            raise click.UsageError(f"--show-settings is text or JSON, and not {others}; leave one out")
        if self.prove_it and (self.fix is not None or self.pages is not None or self.trace_out is not None):
            raise click.UsageError("--prove-it plays the story of a yes; ask for --fix, --pages and --trace-out without it")

    @cached_property
    def target(self) -> Release | None:
        """The release of `audit upgrade --to`; `ConfigurationError` for one that is not known."""
        return None if self.upgrade_to is None else release(self.upgrade_to)

    @cached_property
    def questions(self) -> tuple[AuditQuestion, ...]:
        """What is asked."""
        return _questions(self.ask, "--ask")

    @cached_property
    def decisive(self) -> tuple[tuple[AuditQuestion, Faults], ...]:
        """The faults that --require names for a question, `loss=one-machine`, instead of those of --faults."""
        parts = [part.partition("=") for part in self.require.split(",")]
        return tuple((asked, read_faults(faults.replace("+", ","))) for name, separator, faults in parts if separator
                     for asked in _questions(name, "--require"))  # fmt: skip

    def of_group(self, group: TopicGroup) -> tuple[tuple[AuditQuestion, Faults], ...]:
        """What the policy requires of the topics of a group."""
        assert self.by_policy is not None
        return self.by_policy.answers_for_all(group.topics, group.unit)

    @cached_property
    def required(self) -> tuple[AuditQuestion, ...]:
        """The questions whose answer must be no; `ConfigurationError` if one of them is not asked."""
        if self.by_policy is not None:
            return tuple(asked for asked in AuditQuestion if asked in dict(self.by_policy.every))
        required = _questions(",".join(part.partition("=")[0] for part in self.require.split(",")), "--require")
        if self.require == ALL or (self.require == LOSS and self.ask != ALL):
            required = self.questions  # What is asked and not required would be asked for nothing.
        if missing := [item.value for item in required if item not in self.questions]:
            raise ConfigurationError(f"--require {missing[0]} is not among the questions of --ask; ask it too")
        return required


def _complete_questions(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return completions_in_list(_NAMES, incomplete)


def _complete_required(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return completions_in_list(_NAMES, incomplete, {"=": WORDS, "+": WORDS})


def _complete_faults(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return completions_in_list(WORDS, incomplete)


_ASKS = {
    "ask": option("--ask", metavar="Q,…", default=ALL, shell_complete=_complete_questions,
                  help="Ask only these questions; default: all."),
    "require": option("--require", metavar="Q[=F],…", default=LOSS, show_default=True, shell_complete=_complete_required,
                   help="Exit with 0 only if the answer to these is no: loss, duplicates, reordering, vanishing, writes, "
                   "or all; of a question under one fault only: loss=one-machine, loss=one-lossy+zombies."),
    "advice": option("--advice/--no-advice", default=True, help="Find the settings that cause a yes, and the smallest fix."),
    "baseline": option("--baseline", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                    help="An earlier audit (--format json): only what got worse since is red (with --policy, what that "
                    "says), and text has only what changed."),
    "policy": option("--policy", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                  help="What is required of which topics, accepted risks with reason and day, and clusters: acked.toml. "
                  "It decides the exit code, and where nothing else is named its clusters are audited."),
    "pages": option("--pages", metavar="DIR", type=click.Path(path_type=Path, file_okay=False),
                 help="Write the audit as index.html into DIR, and beside it a page for every counterexample, which of the "
                 "shortest is the easiest to follow."),
    "trace_out": option("--trace-out", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                     help="Write the trace of the first required yes, for acked view, explore or reproduce."),
    "fix": option("--fix", metavar="OUT", type=click.Path(path_type=Path, file_okay=False),
               help="Write copies of FILE..., with the recommended change made, into the folder OUT; "
               "of several topics, for one --topic."),
}  # fmt: skip
asks = collects(
    "wanted",
    Wanted,
    **_ASKS,
    show_settings=option("--show-settings", is_flag=True,
                         help="Say what is read, with files and lines, and ask nothing (text or JSON)."),
    each=option("--each", is_flag=True, help="Audit every FILE for itself, with three replicas where it says no number, and "
                "pass those of nothing of Kafka's: for a hook that is given what changed."),
    prove_it=option("--prove-it", is_flag=True, help="Play the story of a yes on a throw-away cluster of your release, with "
                    "your settings (text or JSON)."),
)  # fmt: skip
asks_upgrade = collects(
    "wanted",
    Wanted,
    **_ASKS,
    upgrade_to=option("--to", metavar="V", required=True, shell_complete=known_releases,
                      help="The release to which the brokers are upgraded."),
)
FORMS = ("text", "markdown", "html", "json", "sarif", "junit")
Places = Sequence[tuple[str, Path | None]]
"""Forms of an answer, each with the file that it is written to, or stdout."""


@frozen
class Shown(Output):
    """How an audit is shown, and whether all of it, or what fits a screen."""

    full: bool = False
    forms: tuple[str, ...] = FORMS

    def places(self, outs: Sequence[Path]) -> Places:
        """Every file that is written with its form; stdout with that of --format where none is."""
        found = [self._place(out) for out in outs]
        twice = [str(path) for path, count in Counter(path for _, path in found).items() if count > 1]
        if twice:
            raise click.UsageError(f"--out names {twice[0]} twice; name a file for each form")
        for form, path in found:
            if form not in self.forms:
                raise click.UsageError(f"{path} would be {form}, which this command has not; choose {', '.join(self.forms)}")
        return found or [(self.form, None)]

    def _place(self, out: Path) -> tuple[str, Path]:
        """A file with the form that stands before it, or by its suffix where --format says none.

        `UsageError` where suffix and --format say another, and for what is like a form.
        """
        said, separator, name = str(out).partition("=")
        if separator and said in FORMS:
            return said, Path(name)
        of_suffix = _FORMS.get(f".{said.lower()}")
        meant = f" (did you mean {of_suffix[0]}?)" if of_suffix else near(said.lower(), FORMS)
        if separator and meant:
            raise click.UsageError(f"--out {out}: {said!r} is no form{meant}; for a file of that name write ./{out}")
        forms = _FORMS.get(out.suffix.lower(), (self.form,))
        if self.form not in ("text", *forms):
            raise click.UsageError(f"--format says {self.form}, and {out} has the suffix of {forms[0]}; leave one out")
        return self.form if self.form in forms else forms[0], out


_FORMS = {
    ".html": ("html",), ".htm": ("html",), ".json": ("json", "sarif"), ".md": ("markdown",), ".markdown": ("markdown",),
    ".sarif": ("sarif", "json"), ".xml": ("junit",), ".txt": ("text",),
}  # fmt: skip
"""The forms that a file of this suffix may have, and first the one that it has if nobody says."""

OUTS = OUT.having(multiple=True, metavar="[FORM=]FILE",
                  help="Write to this file, in the form of its suffix, or in FORM; repeat it for several, and stdout has the "
                  "answer in short. Default: stdout.")  # fmt: skip
FULL = option("--full", is_flag=True, help="Tell everything: the steps of every yes, settings with their sources, remarks. "
              "Without it text is a summary of 25 lines at most.")  # fmt: skip
shows = collects(
    "output",
    Shown,
    form=FORMAT.having(
        type=click.Choice(FORMS), help="The form of the answer."
    ),
    quiet=QUIET,
    full=FULL,
)


def _questions(text: str, option: str) -> tuple[AuditQuestion, ...]:
    wanted = [part.strip() for part in text.split(",")]
    for name in wanted:
        if name not in _NAMES:
            raise ConfigurationError(
                f"{option}: there is no question {name!r}{near(name, _NAMES)}; choose from {', '.join(_NAMES)}"
            )
    return tuple(item for item in AuditQuestion if item.value in wanted or ALL in wanted)


# -- the cluster, and what is assumed -----------------------------------------------------------------------------------


FILES = argument(metavar="FILE...", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
"""What settings are read from."""


@frozen
class ClusterFacts:
    """What the command line says about the cluster besides its files."""

    version: str | None
    control_plane: str | None
    topic: str | None
    entities: tuple[str, ...]
    overrides: tuple[tuple[str, str], ...]
    lenient: bool
    internal: bool
    bootstrap: str | None
    command_config: Path | None
    timeout: float | None
    producer: tuple[tuple[str, str], ...]

    def read(
        self,
        files: tuple[Path, ...],
        with_moves: bool = False,
        clusters: Sequence[Cluster] = (),
        live: LiveCluster | None = None,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Recognised:
        """What the files and --set say, and a running cluster, which is asked `with_moves` what is being reassigned.

        Where it has been asked already it is `live`; without files and without a cluster all of `clusters` are asked. While
        one is asked, `meanwhile` is done.
        """
        entries: list[Read] = []
        if files:
            from acked.audit.formats.reading import read_all

            entries += read_all(files)
        if live is not None:
            entries += live_entries(live)
        elif self.bootstrap is not None:
            entries += live_entries(self.ask(self.bootstrap, self.command_config, with_moves, meanwhile))
        elif not files and clusters and self.command_config is None:
            for one in clusters:
                found = live_entries(self.ask(one.bootstrap, one.command_config, with_moves, meanwhile))
                entries += [replace(entry, cluster=one.name) for entry in found]
        elif self.command_config is not None or self.timeout is not None:
            raise click.UsageError("--command-config and --timeout are about a running cluster; name it with "
                                   "--bootstrap-server, or leave them out.")  # fmt: skip
        return self._recognise(entries)

    def read_each(self, files: tuple[Path, ...]) -> list[tuple[str, Recognised]]:
        """What each file says for itself; one of nothing of Kafka's is left out."""
        if not files or self.bootstrap is not None or self.command_config is not None or self.timeout is not None:
            raise click.UsageError("--each audits every FILE for itself, and no running cluster; name files alone")
        from acked.audit.formats.reading import read_each

        return [(str(path), self._recognise(found)) for path, found in read_each(files)]

    def _recognise(self, entries: list[Read]) -> Recognised:
        """What was read, with --producer and --set."""
        producer = [SettingEntry(key, value, PRODUCER_OPTION, 0, Scope.PRODUCER) for key, value in self.producer]
        for key, _ in self.overrides:
            if key not in KEYS:  # In a file it may be none of our business; here it was typed for us.
                raise ConfigurationError(f"--set: {key} is not a setting that the audit uses{near(key, KEYS)}")
        overrides = [SettingEntry(key, value, OPTION, 0) for key, value in self.overrides]
        return recognise([*entries, *producer], overrides, self.lenient)

    def ask(
        self, address: str, config: Path | None, with_moves: bool, meanwhile: Callable[[], object] = lambda: None
    ) -> LiveCluster:
        """What a running cluster says of itself; `meanwhile` is done while it is asked."""
        properties = client_properties(config)
        return ask_apart(address, properties, self.timeout, self.topic, with_moves, say, meanwhile)


@frozen
class Assumed:
    """The faults and bounds that the command line chooses."""

    faults: tuple[str, ...]
    log_size: int | None
    records: int | None
    thorough: bool
    max_states: int | None

    def assumptions(self) -> Assumptions:
        """Faults and bounds as the audit takes them; the default of each question where nothing is chosen."""
        assumptions = replace(BY_DEFAULT, log_size=self.log_size, records=self.records, is_thorough=self.thorough)
        if self.max_states is not None:
            assumptions = replace(assumptions, max_states=self.max_states, max_states_besides=self.max_states)
        if self.faults:
            faults = tuple(dict.fromkeys(read_faults(text) for text in self.faults))
            assumptions = replace(assumptions, faults=faults, of_loss=(), besides=(), of_loss_besides=())
        return assumptions


describes_cluster = collects(
    "cluster",
    ClusterFacts,
    version=option("--kafka-version", metavar="V", shell_complete=known_releases,
                   help="The release, e.g. 3.6.1; default: what the files say, or every release in use."),
    control_plane=option("--control-plane", type=click.Choice(["kraft", "zookeeper"]),
                         help="Where the metadata is; default: what the files say, or both."),
    topic=option("--topic", help="The topic to audit; default: every one, in groups of equal settings."),
    entities=option("--entity", multiple=True, metavar="NAME",
                    help="The cluster, node, service or profile to audit, where the files describe several that differ."),
    overrides=option("--set", type=KeyValue("replication.factor=3"), multiple=True,
                     help="A setting besides those of the files, or instead of one: replication.factor=3. Of a running "
                     "cluster a topic's own unclean.leader.election.enable stays: this is that of its controllers."),
    lenient=option("--lenient", is_flag=True, help="Warn of names that resemble settings instead of refusing them."),
    bootstrap=option("--bootstrap-server", metavar="HOST:PORT,…",
                     help="Read a running cluster: brokers, topics and features, and change nothing."),
    command_config=option("--command-config", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False),
                          help="The client's properties for --bootstrap-server, as kafka-configs.sh takes them."),
    timeout=option("--timeout", type=click.FloatRange(1, 3600), metavar="SECONDS",
                   help="How long the cluster may be asked; default: 30, and 10 for its first answer."),
    producer=option("--producer", type=KeyValue("acks=1"), multiple=True,
                    help="A setting of the producers: acks=1. A cluster does not know them; default there: acks=all with "
                    "idempotence, and acks=1 for comparison."),
    internal=option("--internal", is_flag=True, help="Audit Kafka's own topics, too: __consumer_offsets and its like."),
)  # fmt: skip
assumes = collects(
    "assumed",
    Assumed,
    faults=option("--faults", multiple=True, metavar="F,…", shell_complete=_complete_faults,
                  help=f"What may go wrong: one of ({legend_of(CRASHES)}) and any of ({legend_of(BESIDES)}), "
                  "as in one-lossy,zombies. "
                  "Repeat the option to ask about each. Default: clean, and for loss also one-machine, which decide the exit "
                  "code; the table shows more."),
    log_size=option("--log-size", type=click.IntRange(1, 4),
                    help="Try it with logs of so many offsets at least, which takes longer; default: 1 or 2, by question."),
    records=option("--records", type=click.IntRange(1, 4),
                   help="Try it with so many records at least, which takes longer; default: 1 or 2, by question."),
    thorough=option("--thorough", is_flag=True, help="Check the order of records with all brokers instead of three."),
    max_states=option("--max-states", type=click.IntRange(1),
                      help="Give a question up as undecided once so many different states of the partition are known; "
                      "default: 20,000,000, and 2,000,000 where the answer does not decide."),
)  # fmt: skip
