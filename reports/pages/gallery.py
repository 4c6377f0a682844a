"""The gallery's front page: every answer by promise, by version and by setting, each violation with its story's page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from acked.base.frozen import frozen
from acked.base.release import LATEST
from acked.checker.question.result import Counterexample, Result, StopReason
from acked.checker.spec.spec import Spec
from acked.model.partition.protocol import partition
from acked.model.partition.rules import settings
from acked.reports.console import harmless
from acked.reports.pages.checking import check_data, kept_page
from acked.reports.pages.page import INDEX, render, render_report, style_text, trace_data
from acked.reports.runs.answers import PropertyAnswer, answers, subject_in_words, violated_how
from acked.reports.units import plural

MAX_BYTES = 64_000_000
"""What the whole site may take: some 180 violations of 120 kB and 200 pages of kept promises of 60 kB, and room for more."""

MARK = '<meta name="generator" content="acked gallery">'
"""By this line a folder is known as a gallery that may be written again."""


@frozen
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


def front_page(stories: Sequence[Story], promises: dict[str, str], versions: dict[str, str], made: str) -> str:
    """The HTML of the index; `promises` and `versions` say in words what each promise and each set of rules is."""
    indexes = [
        ("promise", "By promise", _groups(stories, lambda story: (story.promise,), promises)),
        ("version", "By version", _groups(stories, lambda story: (story.version,), versions)),
        ("setting", "By setting", _groups(stories, lambda story: story.settings, {})),
    ]
    broken = sum(story.holds is False for story in stories)
    kept = sum(story.holds is True for story in stories)
    summary = (
        f"{plural(len(stories), 'question')} about Kafka's partition replication. {kept} promises are kept in every "
        f"reachable state of their model; {broken} are broken, each with the shortest run that breaks it."
    )
    data = {"indexes": indexes, "summary": summary, "made": harmless(made)}
    return render_report("gallery.html.j2", data, style_text("filter.css"), INDEX)


def _groups(
    stories: Iterable[Story], by: Callable[[Story], Iterable[str]], notes: dict[str, str]
) -> list[tuple[str, str, list[Story]]]:
    """By heading, each with its note, the stories under it: first what is broken."""
    groups: dict[str, list[Story]] = {name: [] for name in notes}
    for story in stories:
        for name in by(story):
            groups.setdefault(name, []).append(story)
    order = {False: 0, None: 1, True: 2}
    return [
        (name, notes.get(name, ""), sorted(group, key=lambda story: (order[story.holds], story.subject)))
        for name, group in groups.items()
        if group
    ]


# -- what is shown of one spec's answers: texts, colours, headings ------------------------------------------------------


_SHOWN = ("acks", "min_insync_replicas", "unclean_election", "crashes")
"""Settings of `partition` under which every answer is listed; the others, where they are not at their defaults."""

_KINDS = {True: "m1", False: "m0", None: "mn"}
"""The CSS class of a promise that is kept, is broken, or was not decided."""


def stories_of(spec: Spec, result: Result) -> tuple[list[Story], dict[str, str]]:
    """The answers of a spec for the front page, and its pages: their HTML by the name of the file.

    A page for each violation, and one for the promises that a complete search saw kept.
    """
    instance = result.question.instance
    headings = tuple(map(harmless, settings_of(spec)))
    version = instance.protocol.name if instance.protocol is not partition else release_in_words(spec.version or LATEST)
    subject = harmless(subject_of(spec, version, subject_in_words(instance)))
    stories, pages = [], {}
    for answer in answers(result):
        page = None
        if answer.violation is not None:
            page = f"{spec.name}-{answer.violation.property.name}.html"
            data = trace_data(Counterexample.of(spec.title, result.question, answer.violation), decides=True)
            check = check_data(result, spec.policy, answer.violation)
            pages[page] = render({**data, **check, "home": "index.html"}, packed=True)
        elif answer.holds and not result.violations and not result.question.graph_properties:
            page = f"{spec.name}.html"
            if page not in pages:
                pages[page] = kept_page(spec.title, subject, result, "index.html")
        text, kind, name = _words(result, answer), _KINDS[answer.holds], answer.property.name
        stories.append(Story(harmless(spec.title), subject, version, headings, name, kind, answer.holds, text, page))
    return stories, pages


def add_broker_outcome(story: Story, brokers: str | None) -> Story:
    """A violation with what real brokers did, where they were asked."""
    if brokers is None or story.holds is not False:
        return story
    return replace(story, answer=f"{story.answer}; on real brokers {brokers}")


def _words(result: Result, answer: PropertyAnswer) -> str:
    if answer.violation is not None:
        return f"✗ broken {violated_how(answer.violation)}"
    if answer.holds:
        return f"✓ kept in all {plural(result.distinct_states, 'state')}"
    if result.stopped is StopReason.VIOLATION:
        return "? undecided: the search ended at a violation of another property"
    return f"? undecided: {result.stopped.value}"


def subject_of(spec: Spec, version: str, in_full: str) -> str:
    """The settings that the spec itself names, where a release decides the others; the page of a trace has all of them."""
    shown = {item.name: item.show(spec.constants[item.name]) for item in spec.protocol.constants}
    if not set(_SHOWN) <= shown.keys():
        return in_full
    named = [name for name in shown if f"constants.{name}" in spec.line_of]
    return f"{version}: {', '.join(_setting(name, shown[name]) for name in named)}" if named else version


def _setting(name: str, value: int | str) -> str:
    return f"{name}={str(value).lower() if isinstance(value, bool) else value}"


def release_in_words(version: str) -> str:
    """What the gallery calls a version of `partition`."""
    return "Kafka with every known fix" if version == "latest" else f"Kafka {version}"


def settings_of(spec: Spec) -> list[str]:
    """The headings under which a spec is listed: the clauses that it leaves out, the users' settings, or else the bounds."""
    if spec.drop:
        return [f"without {action}: {label}" for action, label in sorted(spec.drop)]
    shown = {item.name: item.show(spec.constants[item.name]) for item in spec.protocol.constants}
    default = {item.name: item.default for item in spec.protocol.constants}
    if not set(_SHOWN) <= shown.keys():
        return [", ".join(f"{name}={value}" for name, value in shown.items())]
    more = [item.name for item in (*settings.CONFIGURED, *settings.CIRCUMSTANCES, settings.replicas)]
    names = [*_SHOWN, *(name for name in more if name not in _SHOWN and spec.constants[name] != default[name])]
    return [_setting(name, shown[name]) for name in names]
