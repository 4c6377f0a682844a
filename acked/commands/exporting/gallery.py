"""The command `gallery`: every bundled spec answered, as a static site."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import click

from acked.asking.made_pages import MadePages, PageCache
from acked.base.errors import ConfigurationError, SystemFailure
from acked.base.files import read_bytes, write_text
from acked.base.version import __version__
from acked.checker.question.result import StopReason
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, load_spec
from acked.invariants.catalogue import properties_of
from acked.model.catalogue import PROTOCOLS
from acked.model.partition.protocol import partition
from acked.model.partition.rules.versions import VERSIONS
from acked.reports.pages.gallery import MARK, MAX_BYTES, Story, add_broker_outcome, front_page, release_in_words, stories_of
from acked.reports.shell.bundled import all_bundled, broker_outcomes
from acked.reports.shell.options import CACHE, OUT, QUIET, warn_without_cache
from acked.reports.shell.output import Output, make_folder, say

_REFERENCE = ("counts", "answers", "controls")
"""Folders of specs that check acked itself: the questions of others at other bounds or with a clause left out."""


@click.command(short_help="Write a static site of all claims and bugs.")
@OUT.having(required=True, metavar="DIR", help="The folder of the site.").under("out")
@click.option("--select", metavar="PATTERN", multiple=True, help="Only specs whose name matches, e.g. 'kip320*'.")
@click.option("--slow", is_flag=True, help="Also specs with slow = true.")
@CACHE.under("use_cache")
@QUIET.under("quiet")
def gallery(out: Path, select: tuple[str, ...], slow: bool, use_cache: bool, quiet: bool) -> None:
    """Answer the bundled specs and write a static site: an index by property, version and setting, and pages.

    Nothing is taken from expectations: every answer is found by a search. The index is there from the beginning and grows
    with the answers; after an interruption it has those that are known, and the same command goes on from there. Specs that
    only serve as reference for counts and lengths are left out, and so are slow ones, which the site names. Where a
    counterexample was played on real brokers, the index says on which. There is a page for every violation, and one for
    the promises of a spec that are kept; on both the reader's browser can search again. A site of more than 56 MB is an
    error.

    \b
    acked gallery -o site --select 'kip*'
    """
    bundled = [load_spec(path) for path in all_bundled()]
    specs = [spec for spec in bundled if is_wanted(spec, select, slow)]
    left_out = [] if select else [spec for spec in bundled if is_wanted(spec, select, True) and spec not in specs]
    if not specs:
        raise ConfigurationError(f"no bundled spec matches {', '.join(select)}; see `acked list specs --names`")
    if use_cache:
        warn_without_cache()
    cache = PageCache.usual() if use_cache else None
    _make_ready(out)
    played, stories = broker_outcomes(), list[Story]()
    _write_index(out, stories, 0, specs, left_out)
    for number, spec in enumerate(specs, start=1):
        made = cache.get(spec) if cache is not None else None
        if not quiet:
            say(f"{number} of {len(specs)}: {spec.name}{'' if made is None else ' (known)'}")
        if made is None:
            made = _make_pages(spec, cache, quiet)
        asked = spec.properties[0].name
        stories += [add_broker_outcome(one, played.get(spec.name)) if one.promise == asked else one for one in made.stories]
        for name, text in made.pages.items():
            write_text(out / name, text, "page")
        _write_index(out, stories, number, specs, left_out)
    pages = sum(story.holds is False for story in stories)
    size = sum(entry.stat().st_size for entry in out.iterdir())
    if size > MAX_BYTES:
        raise SystemFailure(f"the site in {out} has {size / 1e6:.1f} MB, more than {MAX_BYTES / 1e6:.0f}; use --select")
    say(f"{len(stories)} answers and {pages} counterexamples are in {out} ({size / 1e6:.1f} MB); open {out / 'index.html'}")


def _make_pages(spec: Spec, cache: PageCache | None, quiet: bool) -> MadePages:
    """The rows and pages of a spec, found by a search."""
    with Output(quiet=quiet).progress() as observer:
        result = search(spec.question(), policy=spec.policy, observer=observer)
        if result.stopped is StopReason.INTERRUPTED:
            raise KeyboardInterrupt
        observer.phase("writing pages")
        made = MadePages(*stories_of(spec, result))
    if cache is not None and result.stopped is not StopReason.MEMORY:  # Another machine may have enough of it.
        cache.put(spec, made)
    return made


def _write_index(out: Path, stories: list[Story], done: int, specs: list[Spec], left_out: list[Spec]) -> None:
    """The front page, of what is answered so far."""
    worded: dict[str, dict[str, list[str]]] = {}  # By property: each of its promises, and the protocols with that one.
    for protocol in PROTOCOLS.values():
        for name, item in properties_of(protocol).items():
            worded.setdefault(name, {}).setdefault(item.promise, []).append(protocol.name)
    promises = {
        name: "; ".join(text if len(texts) == 1 else f"{', '.join(users)}: {text}" for text, users in texts.items())
        for name, texts in worded.items()
    }
    families = {name: f"{item.title} ({item.source})" for name, item in PROTOCOLS.items() if name != partition.name}
    versions = {**families, **{release_in_words(version): "" for version in VERSIONS}}
    made = f"Made by acked {__version__} from {len(specs)} specs."
    if done < len(specs):
        made = (
            f"Being made by acked {__version__}: {done} of {len(specs)} specs are answered. If it was interrupted, the same "
            "command goes on from here."
        )
    if left_out:
        names = ", ".join(spec.name for spec in left_out)
        made += f" Left out, because they are slow: {names}; `acked gallery --slow` answers them, too."
    write_text(out / "index.html", front_page(stories, promises, versions, made), "gallery")


def is_wanted(spec: Spec, select: tuple[str, ...], slow: bool) -> bool:
    if select:
        return any(fnmatch(spec.name, pattern) for pattern in select)
    is_only_reference = spec.path is not None and spec.path.parent.name in _REFERENCE
    return not spec.count_only and not is_only_reference and (slow or not spec.slow)


def _make_ready(out: Path) -> None:
    """An empty folder, or one that held a gallery before; anything else is left alone."""
    if out.exists() and not out.is_dir():
        raise SystemFailure(f"cannot write the gallery to {out}: it is a file; name a folder")
    if out.is_dir() and any(out.iterdir()):
        index = out / "index.html"
        if not index.is_file() or MARK not in read_bytes(index, "page").decode("utf-8", "replace"):
            raise SystemFailure(f"cannot write the gallery to {out}: it holds other files; name an empty or a new folder")
        for page in out.glob("*.html"):
            page.unlink()
    make_folder(out)
