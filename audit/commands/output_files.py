"""What an audit leaves: pages, a trace, and copies of files with the recommended change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path

from acked.audit.clusters.several import Audited
from acked.audit.clusters.topics import TopicGroup
from acked.audit.reports.view import View
from acked.base.errors import ConfigurationError
from acked.base.files import write_text
from acked.reports.shell.output import TraceFile, make_folder, say


def write_pages(audited: list[Audited], view: View, folder: Path) -> None:
    """Writes the audit as a page, and a page for every story that it tells."""
    from acked.audit.reports.pages import audit_page, link_pages, story_pages

    make_folder(folder)
    pages = list(story_pages(audited, view))
    for page in pages:
        write_text(folder / page.name, page.text, "page")
    write_text(folder / "index.html", audit_page(link_pages(view, pages), date.today()), "page")


def write_trace(audited: list[Audited], path: Path) -> None:
    """Writes the trace of the first required yes, or says on stderr why there is none."""
    from acked.audit.reports.pages import worst_counterexample

    found = worst_counterexample(audited)
    if found is not None:
        TraceFile(path).write(found)
    say(f"the trace is in {path}" if found is not None else "no required answer is a yes, so no trace was written")


def check_fixable(groups: Sequence[TopicGroup], folder: Path | None) -> None:
    """Refuses to change files for several groups at once, before anything is asked; one for comparison does not count."""
    deciding = sum(group.decides for group in groups)
    if folder is not None and deciding > 1:
        raise ConfigurationError(f"--fix is about one group of topics, and there are {deciding}; name a --topic")


def write_fixes(audited: list[Audited], folder: Path | None) -> None:
    """Writes what is recommended into copies of the files, if that is wanted, and says on stderr what that leaves to do."""
    if folder is None:
        return
    from acked.audit.commands.patch import make_patches, write_patches

    one = next(item for item in audited if item.group.decides)
    found = None if one.audit is None else one.audit.recommended
    if found is None:
        say("nothing is written: no change is needed, or none was found after which every required answer is a no")
        return
    patches = make_patches(one.group.given, found.settings)
    for place in write_patches(patches, folder):
        say(f"written: {place}")
    for text in patches.by_hand:
        say(f"to do by hand: {text}")
