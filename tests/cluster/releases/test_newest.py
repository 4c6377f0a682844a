"""Which release is the newest: the table says it, and everything else that knows releases, documents among it, agrees."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from acked.audit.clusters import live
from acked.base.release import NEWEST
from acked.cluster.lines.configuration import is_read
from acked.cluster.releases.release import newest, release, releases
from acked.model.catalogue import PROTOCOLS
from tests.places import CHECKOUT
from tools.real import on_brokers

POM = """\
<project><modelVersion>4.0.0</modelVersion><groupId>acked</groupId><artifactId>newest</artifactId><version>1</version>
<packaging>pom</packaging><dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>{name}</artifactId>
<version>[{version},)</version></dependency></dependencies></project>
"""
DOCUMENTS = [CHECKOUT / "README.md", *sorted((CHECKOUT / "docs").glob("*.md"))]


def minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


@pytest.mark.parametrize("protocol", [one for one in PROTOCOLS.values() if one.has_profiles], ids=lambda one: one.name)
def test_every_protocol_with_releases_has_the_rules_of_the_newest(protocol: object) -> None:
    assert protocol.profile(minor(newest().version), None)  # type: ignore[attr-defined]


def test_an_audit_knows_the_newest_release_and_its_metadata_version() -> None:
    assert minor(newest().version) == NEWEST
    last = max(level for level in range(1, 100) if live.level_name(level) is not None)
    assert str(live.level_name(last)).partition("-")[0] == NEWEST
    assert [live.level_name(level) for level in (21, 30, 31, 33)] == ["3.9-IV0", "4.3-IV0", "4.4-IV0", "4.4-IV2"]


def test_what_the_newest_release_logs_is_read() -> None:
    assert is_read(newest().number, True)


@pytest.mark.parametrize(
    "says",
    [
        r"\b(\d+\.\d+\.\d+) (?:is|was) the newest release",
        r"from 0\.10\.2\.0 to (\d+\.\d+\.\d+)",
        r"releases from 0\.10 to (\d+\.\d+)\b",
        r"Kafka 4\.1 to (\d+\.\d+) lose",
    ],
)
def test_documents_say_what_the_table_says_of_the_newest_release(says: str) -> None:
    told = {match[1] for path in DOCUMENTS for match in re.finditer(says, " ".join(path.read_text("utf-8").split()))}
    assert told in ({newest().version}, {minor(newest().version)})


@pytest.mark.slow
def test_documents_start_only_releases_that_can_be_started() -> None:
    options = r"(?:--kafka|--control|kafka fetch)[ =](\d+(?:\.\d+)+)\b"
    texts = [*(path.read_text("utf-8") for path in DOCUMENTS), *(said.told for said in on_brokers().values())]
    told = {match[1] for text in texts for match in re.finditer(options, text)}
    assert len(told) >= 10
    assert [version for version in sorted(told) if release(version) not in releases()] == []


@pytest.mark.real
@pytest.mark.slow
def test_maven_offers_no_release_that_the_table_lacks_and_has_all_that_it_has(tmp_path: Path) -> None:
    """Asks for the newest release or a later one, for which Maven reads the list of all that there are."""
    (tmp_path / "pom.xml").write_text(POM.format(name=newest().server.name, version=newest().version), "utf-8")
    command = ["mvn", "-B", "-U", "-X", "-f", str(tmp_path / "pom.xml"), "dependency:list", "-DexcludeTransitive=true"]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True).stdout
    found = re.search(r"Using local repository at (\S+)", said)
    assert found is not None
    lists = Path(found[1], "org/apache/kafka", newest().server.name).glob("maven-metadata-*.xml")
    offered = {str(item.text) for path in lists for item in ElementTree.parse(path).iter("version")}
    known = {one.version for one in releases()}
    assert sorted(offered - known) == []
    assert sorted(one.version for one in releases() if one.scala == newest().scala and one.version not in offered) == []
