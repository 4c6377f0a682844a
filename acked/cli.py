"""The command line: options in, questions asked, answers shown, exit codes out.

What lives here: click commands, and the translation of every foreseen failure into one sentence and its exit code. What
does not: search (`checker/`), drawing (`reports/`). Heavy imports wait inside the commands, so that `--help` and small
specs answer at once.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked import __version__
from acked.bundle import bundled_specs
from acked.engines import EngineOptions, answer
from acked.stories import Story, more_of, stories_document
from checker.errors import AckedError, ConfigurationError, ExitCode, SpecUnreadable
from checker.files import check_writable, write_text
from checker.loading import is_reference
from checker.names import near
from checker.spec import Spec, load_spec, protocol_in
from model.errors import DomainOverflow, ModelError

if TYPE_CHECKING:
    from checker.result import Result

_STARTED = time.perf_counter()
_FORMATS = click.Choice(["text", "json"])


_ELSEWHERE = {
    "ablate": "ablate", "audit": "audit", "coverage": "ablate", "diff": "diff", "explore": "explore", "export": "export",
    "find": "find", "gallery": "gallery", "gate": "gate", "graph": "graph", "matrix": "matrix", "new": "new",
    "prove": "prove", "query": "data", "simulate": "simulate", "states": "data", "stats": "data", "view": "view",
}  # fmt: skip
"""The commands that are not written here, with the module of this package that has each."""


class _Paragraphs(click.Group):
    """A group whose help keeps the examples as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        for line in (self.epilog or "").splitlines():
            formatter.write(f"  {line}\n" if line else "\n")


class _Commands(_Paragraphs):
    """All commands; a module is imported when one of its commands is asked for, so that the others cost no time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *_ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in _ELSEWHERE and cmd_name not in self.commands:
            self.add_command(getattr(import_module(f"acked.{_ELSEWHERE[cmd_name]}"), cmd_name))
        return super().get_command(ctx, cmd_name)


@click.group(
    cls=_Commands,
    no_args_is_help=False,  # Help that nobody asked for would hide the error: that no command was named.
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\
Examples:

  acked check kip320                     explore every reachable state of a bundled spec
  acked check truncate-to-hw             ... of one that fails: see the shortest run that breaks it
  acked check my.toml --trace-out t.json keep that run, and
  acked show t.json                      look at it again (it is replayed, not believed)
  acked view t.json                      ... or in a browser, as one HTML page
  acked check kip320 -c replicas=2       the same question with other constants
  acked find kip320 "quorum.isr == {0}"  the shortest run to a state of your choice
  acked list specs                       what can be checked by name
  acked list protocols                   their rules, constants and actions

A spec is a TOML file that asks one question:

  title    = "KIP-320 fencing keeps every committed record"
  protocol = "kip320"
  [constants]
  replicas = 3
  log_size = 2
  max_records = 2
  max_leader_epoch = 2
  [check]
  invariants = ["WeakIsr", "StrongIsr"]
  [expect]
  verdict = "holds"

Instead of, or besides, invariants: [liveness.NAME] leads_to = ["TRIGGER", "GOAL"] or eventually = "GOAL", under
[fairness] weak = ["Action"], strong = ["Action(parameter)"]; [check] recoverable = ["GOAL"]. See docs/liveness.md.

Exit codes: 0 holds, 11 deadlock, 12 invariant violated, 13 step property, liveness or recoverability violated,
1 holds but not as expected, 152 incomplete, 130 interrupted, 150 file unreadable, 151 usage or configuration, 153 system.""",
)
@click.version_option(__version__, prog_name="acked")
def cli() -> None:
    """Does your Kafka keep what it acknowledged?

    acked explores every reachable state of Kafka's partition replication protocol and answers with a verdict, or with the
    shortest run that breaks a promise.
    """


class _Memory(click.ParamType[int]):
    """A number of bytes such as 800MB or 4GiB."""

    name = "size"
    _UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}  # noqa: RUF012

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(value), re.IGNORECASE)
        size = float(match[1]) * self._UNITS[match[2].upper()] if match else 0
        if not 1 <= size < 1 << 62:
            self.fail(f"{value!r} is no amount of memory; write, say, 800MB or 4GB", param, ctx)
        return int(size)


class _Binding(click.ParamType[tuple[str, Any]]):
    """NAME=VALUE: a number, true or false, or the name of a choice."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        name, separator, text = (part.strip() for part in str(value).partition("="))
        if not separator or not name or not text:
            self.fail(f"{value!r} binds no constant; write, say, replicas=2", param, ctx)
        if re.fullmatch(r"-?\d{1,18}", text):
            return name, int(text)
        return name, {"true": True, "false": False}.get(text, text)


class _Setting(click.ParamType[tuple[str, str]]):
    """KEY=VALUE."""

    name = "key=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        name, separator, text = str(value).partition("=")
        if not separator or not name.strip():
            self.fail(f"{value!r} is no setting; write, say, spark.executor.memory=2g", param, ctx)
        return name.strip(), text.strip()


@cli.command(short_help="Explore every reachable state of a spec.")
@click.argument("spec")
@click.option("-c", "--constant", "constants", type=_Binding(), multiple=True, help="Change a constant of the spec.")
@click.option("-w", "--workers", type=click.IntRange(1, 256), help="Threads that search; default: one per core.")
@click.option("--continue", "go_on", is_flag=True, help="Go on after a violation; one shortest trace per property.")
@click.option("--deadlock", is_flag=True, help="Also ask whether some action is enabled in every reachable state.")
@click.option("--symmetry", is_flag=True, help="Visit states that differ only in the names of brokers once.")
@click.option("--max-depth", type=click.IntRange(1), help="Stop after so many levels.")
@click.option("--max-states", type=click.IntRange(1), help="Stop when more distinct states are known.")
@click.option("--memory", type=_Memory(), help="Bytes for the visited states, e.g. 4GB; default: most of what is free.")
@click.option("--engine", type=click.Choice(["auto", "local", "spark"]), default="auto", show_default=True,
              help="Where to search; auto: here, and over a --master's executors once memory is full.")  # fmt: skip
@click.option("--master", help="Spark's master: local[2], spark://HOST:PORT, …; with --engine spark default local[*].")
@click.option("--run-dir", type=click.Path(path_type=Path), help="Keep every completed level in this new folder.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on after the completed levels of a run directory.")
@click.option("--buckets", type=int, help="Parts that the states are dealt into, many more than tasks; default: 64.")
@click.option("--conf", type=_Setting(), multiple=True, help="A setting for Spark, e.g. spark.executor.memory=2g.")
@click.option("--easiest", is_flag=True, help="Of all shortest violating runs show the one that is easiest to tell.")
@click.option("--explain", is_flag=True, help="Also tell which events a violation takes, and the nearest run without it.")
@click.option("--trace-out", type=click.Path(path_type=Path), help="Write the shortest violating run to this file.")
@click.option("--format", "form", type=_FORMATS, default="text", help="What stdout gets.", show_default=True)
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def check(
    spec: str,
    constants: tuple[tuple[str, int], ...],
    workers: int | None,
    go_on: bool,
    deadlock: bool,
    symmetry: bool,
    max_depth: int | None,
    max_states: int | None,
    memory: int | None,
    engine: str,
    master: str | None,
    run_dir: Path | None,
    resume: Path | None,
    buckets: int | None,
    conf: tuple[tuple[str, str], ...],
    easiest: bool,
    explain: bool,
    trace_out: Path | None,
    form: str,
    quiet: bool,
) -> int:
    """Explore every reachable state of SPEC, a TOML file or the name of a bundled spec.

    Level by level from the initial state; the properties are decided in every state and on every step, and the first
    violation is the shortest there is. Once all states are known: whether the cluster can always get back
    (recoverable), and whether it does so in every fair run ([liveness.NAME]); a run that never does is shown with the
    steps that repeat. The exit code tells the verdict: 0 only if everything was seen and holds.
    """
    from checker.bounds import Bounds, default_memory, default_workers
    from checker.levels import StopPolicy
    from reports.progress import ProgressReporter

    options = EngineOptions(spec, engine, master, run_dir, resume, buckets, conf, memory)
    options.check(has_workers=workers is not None)
    warn_without_cache()
    chosen = find_spec(spec)
    if repeated := {name for name, _ in constants if [other for other, _ in constants].count(name) > 1}:
        raise ConfigurationError(f"constant {', '.join(sorted(repeated))} is given twice; give each once")
    if constants or deadlock:
        chosen = _changed(chosen, dict(constants), deadlock)
    if symmetry and not chosen.symmetry:
        chosen = _with_symmetry(chosen)
    if trace_out is not None:
        check_writable(trace_out, "trace")
    bounds = Bounds(workers or default_workers(), memory or default_memory(), max_depth, max_states)
    policy = StopPolicy.EVERY_PROPERTY if go_on or chosen.wants_every_property else StopPolicy.FIRST_VIOLATION
    question = chosen.question()
    for warning in chosen.warnings:
        _say(f"warning: {chosen.where('constants')}{warning}")
    with ProgressReporter(sys.stderr, quiet=quiet) as observer:
        result = answer(question, options, bounds, policy, observer)
        stories = more_of(result, bounds, observer, easiest, explain)
    seconds = time.perf_counter() - _STARTED
    differences = chosen.expect.differences(result) if chosen.expect else None
    if trace_out is not None and stories:
        from reports.document import trace_document

        first = stories[0].violation
        document = trace_document(chosen.title, question, first.run, first.property.name)
        write_text(trace_out, json.dumps(document, indent=1) + "\n", "trace")
    if form == "json":
        _print_json(spec, chosen, result, stories, seconds, differences)
    else:
        _print_text(chosen, result, stories, seconds, differences)
        if trace_out is not None:
            _say(f"the trace is in {trace_out}" if result.violations else "nothing is violated, so no trace was written")
    code = result.exit_code
    return int(ExitCode.UNMET_EXPECTATION if differences and code == ExitCode.HOLDS else code)


def _print_json(
    name: str, spec: Spec, result: Result, stories: list[Story], seconds: float, differences: list[str] | None
) -> None:
    from reports.document import check_document

    expectation = None if differences is None else {"met": not differences, "differences": differences}
    document = check_document(name, spec.title, result, seconds, expectation)
    click.echo(json.dumps({**document, **stories_document(spec.title, result, stories)}, indent=1))


def _print_text(
    spec: Spec, result: Result, stories: list[Story], seconds: float, differences: list[str] | None
) -> None:
    from reports.console import open_console
    from reports.summary import print_expectation, print_result
    from reports.terminal import print_trace
    from reports.view import view_of

    console = open_console(sys.stdout)
    for story in stories:
        violation = story.violation
        print_trace(console, view_of(spec.title, result.question, violation.run, violation.property))
        if story.easiest is not None:
            from reports.necessity import print_easiest

            console.print()
            print_easiest(console, story.easiest)
        if story.necessity is not None:
            from reports.necessity import print_necessity

            print_necessity(console, result.question, violation, story.necessity)
        console.print()
    print_result(console, spec.title, result, seconds)
    if differences is not None:
        print_expectation(console, differences)


@cli.command(short_help="Show a trace that check wrote.")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--spec", metavar="SPEC", help="What TRACE is a run of, if it is of TLC or Apalache, or of your own protocol.")
@click.option("--trust", is_flag=True, help="Run the protocol file that TRACE names, if its protocol is not shipped.")
@click.option("--format", "form", type=_FORMATS, default="text", help="What stdout gets.", show_default=True)
def show(trace: Path, spec: str | None, trust: bool, form: str) -> None:
    """Show a trace that `check --trace-out` wrote.

    The run is replayed with the plain evaluator first: a file that is not a run of its protocol is refused, with the step
    and the clause that forbids it.
    """
    from acked.runs import read_checked_trace, trace_of

    shown = read_checked_trace(trace, trusts=trust) if spec is None else trace_of(trace, spec)
    if form == "json":
        from reports.document import trace_document

        violates = None if shown.violates is None else shown.violates.name
        click.echo(json.dumps(trace_document(shown.title, shown.question, shown.run, violates), indent=1))
        return
    from reports.console import open_console
    from reports.terminal import print_trace
    from reports.view import view_of

    print_trace(open_console(sys.stdout), view_of(shown.title, shown.question, shown.run, shown.violates))


@cli.command("list", short_help="List protocols, promises, constants or specs.")
@click.argument("what", default="all")
@click.option("--version", "version", metavar="V", help="With a protocol: its constants as in this release of Kafka.")
@click.option("--control-plane", metavar="P", help="With --version: zookeeper or kraft.")
@click.option("--format", "form", type=_FORMATS, default="text", help="What stdout gets.", show_default=True)
def list_(what: str, version: str | None, control_plane: str | None, form: str) -> None:
    """List protocols, invariants, constants or bundled specs, with their docs.

    WHAT is one of protocols, invariants, constants, specs, all, or the name of a protocol:
    `acked list partition --version 2.1` shows which rules and defaults that release has, and why.
    """
    from acked.listing import as_document, check_what, print_listing, print_release

    check_what(what, version, control_plane)
    if version or control_plane:
        print_release(what, version, control_plane, form == "json")
    elif form == "json":
        click.echo(json.dumps(as_document(what), indent=1))
    else:
        print_listing(what)


def all_bundled() -> Iterator[Path]:
    """Every bundled spec file, in order of name, those at the top first."""
    # Strings, because most commands ask for this and there are hundreds.
    found = [
        (folder.count(os.sep), name.removesuffix(".toml"), folder)
        for folder, _, names in os.walk(bundled_specs())
        for name in names
        if name.endswith(".toml")
    ]
    return (Path(folder, f"{stem}.toml") for _, stem, folder in sorted(found))


def bundled_spec(name: str) -> Path | None:
    """The bundled spec of a name, with or without its folder, such as `claims/acks-1-loses`; None if it is no such name.

    A file of that name is what is meant, unless it would run another one: `ConfigurationError`, because whoever writes the
    name of a bundled spec may know nothing of that file.
    """
    if name.endswith(".toml"):
        return None
    root = bundled_specs()
    known = {path.relative_to(root).with_suffix("").as_posix() if "/" in name else path.stem: path for path in all_bundled()}
    if name not in known or not os.path.isfile(name):
        return known.get(name)
    if is_reference(protocol := protocol_in(Path(name))):
        raise ConfigurationError(
            f"{name} is a bundled spec, and also a file here whose protocol is {protocol}; write ./{name} to run that"
        )
    return None


def find_spec(name: str) -> Spec:
    """A spec by path, or a bundled one by name, with or without its folder; `SpecUnreadable` if there is neither."""
    if (bundled := bundled_spec(name)) is not None:
        return load_spec(bundled)
    path = Path(name)
    # os.path.lexists, because Path's own raises for a name that is too long.
    is_path = path.suffix == ".toml" or os.sep in name
    if name and (os.path.lexists(path) or (is_path and not path.parent.is_dir())):
        return load_spec(path)
    known = [item.stem for item in all_bundled()]
    if is_path:
        beside = sorted(item.name for item in path.parent.glob("*.toml"))
        hint = near(path.name, beside) or near(path.stem, known).replace("mean ", "mean the bundled spec ")
        raise SpecUnreadable(f"there is no file {name}{hint}")
    raise SpecUnreadable(
        f"there is no file {name or repr(name)} and no bundled spec of that name{near(name, known)}; see `acked list specs`"
    )


def _changed(spec: Spec, constants: dict[str, Any], deadlock: bool) -> Spec:
    """The spec with other constants or another question; its expectation does not speak of that."""
    from dataclasses import replace

    from checker.question import DEADLOCK
    from checker.spec import bind_constants, refuse_unasked, settle

    for name in constants:
        if name not in spec.constants:
            raise ConfigurationError(
                f"{spec.protocol.name} has no constant {name!r}{near(name, spec.constants)}; "
                f"it has {', '.join(spec.constants)}"
            )
    properties = spec.properties
    if deadlock and DEADLOCK not in properties:
        properties = (*properties, DEADLOCK)
    bound = bind_constants(spec.protocol, {**spec.constants, **constants})
    bound, warnings = settle(spec.protocol, constants, bound, None)
    refuse_unasked(properties, bound)
    # Without its path, because the file is not to blame for what the command line says.
    return replace(spec, path=None, constants=bound, warnings=warnings, properties=properties, expect=None)


def _with_symmetry(spec: Spec) -> Spec:
    """The spec with symmetry: the verdict and the length of the shortest run stay what they were, the counts do not."""
    from dataclasses import replace

    expect = spec.expect
    if expect is not None:
        expect = replace(
            expect, distinct_states=None, generated_states=None, depth=None, at_least_distinct_states=None
        )
    return replace(spec, path=None, symmetry=True, expect=expect)


def _say(text: str) -> None:
    click.echo(text, err=True)


def warn_without_cache() -> None:
    """Says why the usual place for the cache is not used; `ConfigurationError` if the chosen one must not be."""
    from checker.cache import cache_folder, why_no_cache

    if cache_folder() is None and (reason := why_no_cache()):
        _say(f"warning: {reason}")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; every foreseen failure is one sentence on stderr and its exit code, never a traceback."""
    try:
        code = cli.main(arguments, prog_name="acked", standalone_mode=False)
        sys.stdout.flush()
        return int(code or 0)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.Abort:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except click.UsageError as error:
        hint = f"; try `{error.ctx.command_path} --help`" if error.ctx else ""
        return _fail(f"{error.format_message().rstrip('.')}{hint}", ExitCode.CONFIGURATION)
    except click.ClickException as error:
        return _fail(error.format_message(), ExitCode.CONFIGURATION)
    except AckedError as error:
        return _fail(str(error), error.exit_code)
    except DomainOverflow as error:
        return _fail(str(error), ExitCode.ASSUMPTION)
    except ModelError as error:
        return _fail(str(error), ExitCode.CONFIGURATION)
    except KeyboardInterrupt:
        return _fail("interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # Whoever reads stdout has gone; nothing is wrong, but Python must not try to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(ExitCode.SYSTEM)
    except RecursionError:
        return _fail("the input is nested too deeply", ExitCode.SPEC_UNREADABLE)
    except MemoryError:
        return _fail("out of memory; use smaller constants or lower --memory", ExitCode.SYSTEM)
    except OSError as error:
        return _fail(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.SYSTEM)
    except Exception as error:
        return _internal(error)


def _internal(error: Exception) -> int:
    """A defect of ours, told in one sentence; ACKED_DEBUG=1 shows where it happened."""
    if os.environ.get("ACKED_DEBUG"):
        raise error
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return _fail(f"internal error ({what}); please report it with what `ACKED_DEBUG=1 acked …` prints", ExitCode.OTHER)


def _fail(message: str, code: ExitCode) -> int:
    _say("acked: " + "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in message))
    return int(code)
