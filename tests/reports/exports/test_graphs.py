"""State graphs in files: whatever a name or a value says stays a text in every format."""

from __future__ import annotations

import io
import json
import re
from xml.etree import ElementTree as ET

import networkx as nx
import pytest

from acked.reports.exports.graphs import FORMATS

HOSTILE = '</title><script>alert(1)</script> "q" \\" \'a\' ]]> -- {0} \\N | <b> & \u202eevil שלום\nend\x1b[2J' + "long" * 50
SHOWN = "</title><script>alert(1)</script> \"q\""


@pytest.fixture
def graph() -> nx.MultiDiGraph:
    made = nx.MultiDiGraph()
    made.add_node(0, state={"quorum": {HOSTILE: 0}, "log": [{"end": HOSTILE}]}, level=1)
    made.add_node(1, state={"quorum": {HOSTILE: 1}, "log": [{"end": HOSTILE + "2"}]}, level=2)
    made.add_edge(0, 1, action=HOSTILE)
    return made


def test_graphml_reads_back_as_it_was_told(graph: nx.MultiDiGraph) -> None:
    read = nx.read_graphml(io.BytesIO(FORMATS["graphml"](graph).encode()))
    (action,) = (action for _, _, action in read.edges(data="action"))
    assert action.startswith(SHOWN)
    assert "\\x1b" in action
    assert len(read) == 2


def test_svg_holds_the_text_and_no_markup_of_it(graph: nx.MultiDiGraph) -> None:
    root = ET.fromstring(FORMATS["svg"](graph))
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags == {"svg", "title", "rect", "path", "g", "circle", "text"}
    assert any((element.text or "").startswith(SHOWN) for element in root.iter() if element.tag.endswith("title"))
    assert "\u202e" not in "".join(root.itertext())


def test_dot_has_one_quoted_string_where_a_text_stands(graph: nx.MultiDiGraph) -> None:
    text = FORMATS["dot"](graph)
    quoted = r'"(?:[^"\\]|\\.)*"'
    bare = re.sub(quoted, '""', text)
    assert "script" not in bare
    assert '"' not in bare.replace('""', "")
    labels = [match for match in re.findall(quoted, text) if "alert" in match]
    assert len(labels) == 2
    assert all("\n" not in label and "\x1b" not in label and "\u202e" not in label for label in labels)


def test_json_keeps_the_values_as_they_are(graph: nx.MultiDiGraph) -> None:
    document = json.loads(FORMATS["json"](graph))
    assert document["edges"][0]["action"] == HOSTILE
    assert document["nodes"][1]["state"]["log"][0]["end"] == HOSTILE + "2"
