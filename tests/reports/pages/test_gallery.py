"""The gallery: hostile titles are texts, and an answer is found by property, version and setting."""

from __future__ import annotations

from html.parser import HTMLParser

from acked.api import load_spec
from acked.reports.pages.gallery import Story, add_broker_outcome, front_page, settings_of, subject_of
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
    text = front_page([story(**given, settings=(HOSTILE,))], {"WeakIsr": HOSTILE}, {}, HOSTILE)
    page = Tags(text)
    assert not page.tags & {"img", "iframe", "object"}
    assert text.count("<script") == front_page([story()], {"WeakIsr": "a promise"}, {}, "a title").count("<script")
    assert set(page.links) == {"data:,", "#promise", "#version", "#setting", "a-WeakIsr.html"}
    assert sum(HOSTILE[:60] in text for text in page.texts) >= 12


def test_a_story_stands_under_its_promise_its_version_and_each_of_itssettings_of() -> None:
    one = story()
    other = story(title="another", version="Kafka 3.9", settings=("acks=1",), promise="ReadsStay", page=None, holds=True)
    text = front_page([one, other], {"WeakIsr": "", "ReadsStay": ""}, {"Kafka 3.9": "", "Kafka 4.0": "", "Kafka 4.1": ""}, "")
    titles = [part.partition("<")[0] for part in text.split("<h3><bdi>")[1:]]
    assert titles == ["WeakIsr", "ReadsStay", "Kafka 3.9", "Kafka 4.0", "acks=all", "crashes=clean", "acks=1"]
    assert text.count('href="a-WeakIsr.html"') == 4


def test_settings_are_a_few_always_and_the_others_where_they_are_not_at_their_defaults() -> None:
    assert settings_of(load_spec("kip966-bug")) == [
        "acks=all", "min_insync_replicas=2", "unclean_election=false", "crashes=lossy",
        "lossy_crashes=1", "kills=false",
    ]  # fmt: skip
    told = subject_of(load_spec("kip966-bug"), "Kafka 4.0", "all of it")
    assert told.startswith("Kafka 4.0: replicas=3, log_size=1, ")
    (left_out,) = settings_of(load_spec(SPECS / "controls" / "expand-unfenced.toml"))
    assert left_out == "without FencedLeaderExpandIsr: follows in this epoch"


def test_a_violation_says_what_real_brokers_did_where_they_were_asked() -> None:
    broken = Story("t", "s", "3.9", (), "AckedRecordsSurvive", "m0", False, "✗ broken in 4 steps", "t.html")
    told = add_broker_outcome(broken, "reproduced on 3.9.1").answer
    assert told == "✗ broken in 4 steps; on real brokers reproduced on 3.9.1"
    kept = Story("t", "s", "3.9", (), "AckedRecordsSurvive", "m1", True, "✓ kept in all 9 states", None)
    assert [add_broker_outcome(broken, None), add_broker_outcome(kept, "reproduced on 3.9.1")] == [broken, kept]
