"""The table of releases and promises, with made-up answers: the real ones are on docs/releases.md."""

from __future__ import annotations

import json
from collections.abc import Callable

from acked.audit.releases.report import print_releases, releases_document, releases_markdown
from acked.audit.releases.table import FaultClass, Kept, Refutation, ReleaseCell, ReleaseVerdict

AT = ("2.0.1", "zookeeper")
CELLS = (
    ReleaseCell(
        AT, FaultClass.CLEAN, Kept.ACKED, ReleaseVerdict.REFUTED,
        refutation=Refutation("a-spec", AT, {"retries": True}, "AckedRecordsSurvive", 18),
    ),
    ReleaseCell(
        AT, FaultClass.CLEAN, Kept.ONCE, ReleaseVerdict.OPEN, 20,
        ("FetchRecord: RecordsAscend", "FetchAtOnce: RecordsAscend"), ("FetchRecord: RecordsAscend",),
    ),
    ReleaseCell(AT, FaultClass.CLEAN, Kept.ORDER, ReleaseVerdict.PROVED, 30),
)  # fmt: skip
OPEN = "open, because there is no proof of FetchRecord: RecordsAscend (a step breaks it); FetchAtOnce: RecordsAscend"


def test_the_terminal_tells_what_refutes_and_what_is_missing(drawn: Callable[..., object]) -> None:
    text = " ".join(str(drawn(print_releases, CELLS, 73.0).text).split())  # type: ignore[attr-defined]
    assert "acked check a-spec --kafka-version 2.0.1 --control-plane zookeeper -c retries=true" in text
    assert f"2.0.1 zookeeper, clean crashes: {OPEN}" in text


def test_the_document_keeps_apart_what_a_step_breaks() -> None:
    document = json.loads(json.dumps(releases_document(CELLS, 73.0)))
    assert [item["broken"] for item in document["cells"]] == [[], ["FetchRecord: RecordsAscend"], []]
    assert [len(item["missing"]) for item in document["cells"]] == [0, 2, 0]


def test_the_page_names_the_command_that_wrote_it() -> None:
    page = list(releases_markdown(CELLS, "acked prove releases --markdown page.md"))
    assert "`acked prove releases --markdown page.md` wrote this page" in page
    assert f"- 2.0.1 zookeeper, clean crashes: {OPEN}" in page
    assert not any("that asked everything" in line for line in page)
    anew = list(releases_markdown(CELLS, "acked prove releases --markdown page.md --no-cache"))
    assert any(line.startswith("in one run that asked everything") for line in anew)
