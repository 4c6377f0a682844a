"""The gallery's front page: every answer by promise, by version and by setting, each violation with its story's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from acked.reports.console import harmless
from acked.reports.pages.page import environment, hash_of, style_text
from acked.reports.units import plural

MAX_BYTES = 48_000_000
"""What the whole site may take: some 180 violations of 120 kB and 200 pages of kept promises of 60 kB, and room for more."""

MARK = '<meta name="generator" content="acked gallery">'
"""By this line a folder is known as a gallery that may be written again."""


@dataclass(frozen=True)
class Story:
    """One promise asked of one spec; `holds` is None where it was not decided, `page` the file of a violation's story.

    `version` is a key of the front page's versions; `settings` are what the story is found under, each a heading.
    """

    title: str
    subject: str
    version: str
    settings: tuple[str, ...]
    promise: str
    kind: str
    holds: bool | None
    answer: str
    page: str | None


@dataclass(frozen=True)
class Group:
    """Stories under one heading."""

    title: str
    note: str
    stories: tuple[Story, ...]


@dataclass(frozen=True)
class Index:
    """One way to look at all stories."""

    key: str
    title: str
    groups: tuple[Group, ...]


def front_page(stories: Sequence[Story], promises: dict[str, str], versions: dict[str, str], made: str) -> str:
    """The HTML of the index; `promises` and `versions` say in words what each promise and each set of rules is."""
    indexes = [
        Index("promise", "By promise", _groups(stories, lambda story: (story.promise,), promises)),
        Index("version", "By version", _groups(stories, lambda story: (story.version,), versions)),
        Index("setting", "By setting", _groups(stories, lambda story: story.settings, {})),
    ]
    broken = sum(story.holds is False for story in stories)
    kept = sum(story.holds is True for story in stories)
    summary = (
        f"{plural(len(stories), 'question')} about Kafka's partition replication. {kept} promises are kept in every "
        f"reachable state of their model; {broken} are broken, each with the shortest run that breaks it."
    )
    style = style_text()
    policy = f"default-src 'none'; style-src '{hash_of(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return environment().get_template("gallery.html.j2").render(
        indexes=indexes, summary=summary, policy=policy, style=Markup(style), made=harmless(made)
    )


def _groups(
    stories: Iterable[Story], by: Callable[[Story], Iterable[str]], notes: dict[str, str]
) -> tuple[Group, ...]:
    groups: dict[str, list[Story]] = {name: [] for name in notes}
    for story in stories:
        for name in by(story):
            groups.setdefault(name, []).append(story)
    order = {False: 0, None: 1, True: 2}
    return tuple(
        Group(name, notes.get(name, ""), tuple(sorted(group, key=lambda story: (order[story.holds], story.subject))))
        for name, group in groups.items()
        if group
    )
