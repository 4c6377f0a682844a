"""The gallery: hostile titles are texts, a story is found by promise, version and setting, and all of it stays small."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import acked.cli  # noqa: F401  (the commands are parts of it)
from acked.checker.bounds import Bounds
from acked.checker.question.result import Counterexample, Verdict
from acked.checker.search.local import search
from acked.checker.spec.spec import Spec, load_spec
from acked.commands.gallery import _is_wanted, _settings, _subject
from acked.reports.pages.gallery import MOST_BYTES, Story, front_page
from acked.reports.pages.page import render, trace_data
from tests.places import SPECS

HOSTILE = '</td><script>alert(1)</script><img src=x onerror=alert(1)> "q" \'a\' {{ 7*7 }} \\u202e שלום ' + "long" * 200


class Tags(HTMLParser):
    """What a page consists of: its tags, addresses and texts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def story(**changes: object) -> Story:
    given = {
        "title": "a title", "subject": "partition", "version": "Kafka 4.0", "settings": ("acks=all", "crashes=clean"),
        "promise": "WeakIsr", "kind": "m0", "holds": False, "answer": "✗ broken in 9 steps", "page": "a-WeakIsr.html",
    }  # fmt: skip
    return Story(**{**given, **changes})  # type: ignore[arg-type]


def test_hostile_texts_are_texts_on_the_front_page() -> None:
    given = dict.fromkeys(("title", "subject", "version", "promise", "answer"), HOSTILE)
    page = Tags(front_page([story(**given, settings=(HOSTILE,))], {"WeakIsr": HOSTILE}, {}, HOSTILE))
    assert not page.tags & {"script", "img", "iframe", "object"}
    assert set(page.links) == {"data:,", "#promise", "#version", "#setting", "a-WeakIsr.html"}
    assert sum(HOSTILE[:60] in text for text in page.texts) >= 12


def test_a_story_stands_under_its_promise_its_version_and_each_of_its_settings() -> None:
    one = story()
    other = story(title="another", version="Kafka 3.9", settings=("acks=1",), promise="ReadsStay", page=None, holds=True)
    text = front_page([one, other], {"WeakIsr": "", "ReadsStay": ""}, {"Kafka 3.9": "", "Kafka 4.0": "", "Kafka 4.1": ""}, "")
    titles = [part.partition("<")[0] for part in text.split("<h3><bdi>")[1:]]
    assert titles == ["WeakIsr", "ReadsStay", "Kafka 3.9", "Kafka 4.0", "acks=all", "crashes=clean", "acks=1"]
    assert text.count('href="a-WeakIsr.html"') == 4


def wanted() -> list[Spec]:
    return [spec for path in sorted(SPECS.rglob("*.toml")) if _is_wanted(spec := load_spec(path), (), False)]


@pytest.mark.slow
def test_the_bundled_stories_together_stay_below_ten_megabytes() -> None:
    """The pages of the whole site are made by the command; here the largest kind of page, times the number of stories."""
    violated = [spec for spec in wanted() if spec.expect is not None and spec.expect.verdict is Verdict.VIOLATED]
    stories = sum(len(spec.expect.violates) for spec in violated if spec.expect is not None)
    longest = max(
        (spec for spec in violated if spec.protocol.name == "partition"),
        key=lambda spec: (spec.expect is not None and spec.expect.trace_length) or 0,
    )
    result = search(longest.question(), Bounds(workers=1))
    found = result.violations[0]
    page = render(trace_data(Counterexample.of(longest.title, result.question, found)), packed=True)
    assert stories > 60
    assert stories * len(page.encode()) < MOST_BYTES


def test_settings_are_a_few_always_and_the_others_where_they_are_not_at_their_defaults() -> None:
    assert _settings(load_spec(SPECS / "gallery" / "kip966-bug.toml")) == [
        "acks=all", "min_insync_replicas=2", "unclean_election=false", "crashes=lossy",
        "lossy_crashes=1", "kills=false",
    ]  # fmt: skip
    told = _subject(load_spec(SPECS / "gallery" / "kip966-bug.toml"), "Kafka 4.0", "all of it")
    assert told.startswith("Kafka 4.0: replicas=3, log_size=1, ")
    (left_out,) = _settings(load_spec(SPECS / "controls" / "expand-unfenced.toml"))
    assert left_out == "without FencedLeaderExpandIsr: follows in this epoch"
