"""The command `gallery`: every bundled question answered, as a static site."""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from acked import __version__
from acked.asking.options import say
from acked.asking.specs import all_bundled
from acked.checker.errors import ConfigurationError, SystemFailure
from acked.checker.files import read_bytes, write_text
from acked.checker.spec.spec import Spec, load_spec

if TYPE_CHECKING:
    from acked.checker.question.ledger import StopPolicy
    from acked.checker.question.result import Result, Violation
    from acked.reports.pages.gallery import Story


_SHOWN = ("acks", "min_insync_replicas", "unclean_election", "crashes")
"""Settings of `partition` under which every story is listed; the others, where they are not at their defaults."""

_REFERENCE = ("counts", "answers", "controls")
"""Folders of specs that repeat what the others ask, at other bounds or with a clause left out, to try acked itself."""


@click.command(short_help="Write a static site of all claims and bugs.")
@click.option("-o", "--out", type=click.Path(path_type=Path), required=True, help="The folder of the site.")
@click.option("--select", metavar="PATTERN", multiple=True, help="Only specs whose name matches, such as 'kip320*'.")
@click.option("--slow", is_flag=True, help="Also the specs that say they are slow.")
@click.option("-q", "--quiet", is_flag=True, help="No progress on stderr.")
def gallery(out: Path, select: tuple[str, ...], slow: bool, quiet: bool) -> None:
    """Answer the bundled specs and write a static site: an index by promise, version and setting, a page per violation.

    Nothing is taken from expectations: every answer is searched anew. Specs that only serve as reference for
    counts and lengths are left out, and so are slow ones, which the site names. A site of more than 10 MB is an error.
    """
    from acked.checker.search.local import search
    from acked.invariants.catalogue import properties_of
    from acked.model.catalogue import PROTOCOLS
    from acked.model.partition.protocol import partition
    from acked.model.partition.versions import VERSIONS
    from acked.reports.pages.gallery import MOST_BYTES, front_page
    from acked.reports.progress import ProgressReporter

    bundled = [load_spec(path) for path in all_bundled()]
    specs = [spec for spec in bundled if _is_wanted(spec, select, slow)]
    left_out = [] if select else [spec for spec in bundled if _is_wanted(spec, select, True) and spec not in specs]
    if not specs:
        raise ConfigurationError(f"no bundled spec matches {', '.join(select)}; see `acked list specs`")
    _make_ready(out)
    stories: list[Story] = []
    for number, spec in enumerate(specs, start=1):
        if not quiet:
            say(f"{number} of {len(specs)}: {spec.name}")
        with ProgressReporter(sys.stderr, quiet=quiet) as observer:
            result = search(spec.question(), policy=_policy(spec), observer=observer)
        stories += _stories(out, spec, result)
    promises = {
        name: item.promise for protocol in PROTOCOLS.values() for name, item in properties_of(protocol).items()
    }
    families = {name: f"{item.title} ({item.source})" for name, item in PROTOCOLS.items() if name != partition.name}
    versions = {**families, **{_release(version): "" for version in VERSIONS}}
    made = f"Made by acked {__version__} from {len(specs)} specs."
    if left_out:
        names = ", ".join(spec.name for spec in left_out)
        made += f" Left out, because they are slow: {names}; `acked gallery --slow` answers them, too."
    write_text(out / "index.html", front_page(stories, promises, versions, made), "gallery")
    pages = sum(story.page is not None for story in stories)
    size = sum(entry.stat().st_size for entry in out.iterdir())
    if size > MOST_BYTES:
        raise SystemFailure(f"the site in {out} has {size / 1e6:.1f} MB, more than {MOST_BYTES / 1e6:.0f}; use --select")
    say(f"{len(stories)} answers and {pages} stories are in {out} ({size / 1e6:.1f} MB); open {out / 'index.html'}")


def _is_wanted(spec: Spec, select: tuple[str, ...], slow: bool) -> bool:
    if select:
        return any(fnmatch(spec.name, pattern) for pattern in select)
    is_only_reference = spec.path is not None and spec.path.parent.name in _REFERENCE
    return not spec.count_only and not is_only_reference and (slow or not spec.slow)


def _policy(spec: Spec) -> StopPolicy:
    from acked.checker.question.ledger import StopPolicy

    return StopPolicy.EVERY_PROPERTY if spec.wants_every_property else StopPolicy.FIRST_VIOLATION


def _make_ready(out: Path) -> None:
    """An empty folder, or one that held a gallery before; anything else is left alone."""
    from acked.reports.pages.gallery import MARK

    if out.exists() and not out.is_dir():
        raise SystemFailure(f"cannot write the gallery to {out}: it is a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        index = out / "index.html"
        if not index.is_file() or MARK not in read_bytes(index, "page").decode("utf-8", "replace"):
            raise SystemFailure(f"cannot write the gallery to {out}: it holds other files; name an empty or a new folder")
        for page in out.glob("*.html"):
            page.unlink()
    try:
        os.makedirs(out, exist_ok=True)
    except OSError as error:
        raise SystemFailure(f"cannot make the folder {out}: {error.strerror}") from None


def _stories(out: Path, spec: Spec, result: Result) -> list[Story]:
    from acked.checker.question.result import StopReason
    from acked.model.partition.protocol import partition
    from acked.model.partition.versions import LATEST
    from acked.reports.console import harmless
    from acked.reports.pages.gallery import Story
    from acked.reports.runs.answers import answers, violated_how
    from acked.reports.runs.view import subject_in_words
    from acked.reports.units import plural

    instance = result.question.instance
    settings = tuple(map(harmless, _settings(spec)))
    version = instance.protocol.name if instance.protocol is not partition else _release(spec.version or LATEST)
    seen = plural(result.distinct_states, "state")
    stories = []
    for answer in answers(result):
        page = None
        if answer.violation is not None:
            page = _page(out, spec, result, answer.violation)
            text = f"✗ broken {violated_how(answer.violation)}"
        elif answer.holds:
            text = f"✓ kept in all {seen}"
        else:
            why = "the search ended at another violation" if result.stopped is StopReason.VIOLATION else result.stopped.value
            text = f"? not decided: {why}"
        kind = {True: "m1", False: "m0", None: "mn"}[answer.holds]
        subject, title = harmless(_subject(spec, version, subject_in_words(instance))), harmless(spec.title)
        stories.append(Story(title, subject, version, settings, answer.property.name, kind, answer.holds, text, page))
    return stories


def _subject(spec: Spec, version: str, in_full: str) -> str:
    """What the spec itself says, where a release says the rest; the story's page has all of it."""
    shown = {item.name: item.show(spec.constants[item.name]) for item in spec.protocol.constants}
    if not set(_SHOWN) <= shown.keys():
        return in_full
    named = [name for name in shown if f"constants.{name}" in spec.line_of]
    return f"{version}: {', '.join(_setting(name, shown[name]) for name in named)}" if named else version


def _setting(name: str, value: Any) -> str:
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


def _release(version: str) -> str:
    return "Kafka with every known fix" if version == "latest" else f"Kafka {version}"


def _settings(spec: Spec) -> list[str]:
    """What a story is found under: what was left out of the rules, what is not at its default, or else the bounds."""
    from acked.model.partition import settings

    if spec.drop:
        return [f"without {action}: {label}" for action, label in sorted(spec.drop)]
    shown = {item.name: item.show(spec.constants[item.name]) for item in spec.protocol.constants}
    default = {item.name: item.default for item in spec.protocol.constants}
    if not set(_SHOWN) <= shown.keys():
        return [", ".join(f"{name}={value}" for name, value in shown.items())]
    more = [item.name for item in (*settings.CONFIGURED, *settings.CIRCUMSTANCES, settings.replicas)]
    names = [*_SHOWN, *(name for name in more if name not in _SHOWN and spec.constants[name] != default[name])]
    return [_setting(name, shown[name]) for name in names]


def _page(out: Path, spec: Spec, result: Result, violation: Violation) -> str:
    from acked.checker.question.result import Counterexample
    from acked.reports.pages.page import render, trace_data

    name = f"{spec.name}-{violation.property.name}.html"
    data = trace_data(Counterexample.of(spec.title, result.question, violation), decides=True)
    write_text(out / name, render({**data, "home": "index.html"}, packed=True), "page")
    return name
