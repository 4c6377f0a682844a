"""A state graph in files: GraphML, Graphviz, SVG, JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from acked.checker.replay.explain import in_words
from acked.reports.console import harmless
from acked.reports.exports.diagrams import dot_text

if TYPE_CHECKING:
    import networkx as nx

_ACROSS, _DOWN, _RADIUS = 150, 34, 11
_MAX_SHOWN = 60
"""Characters of a label in a picture."""


def flatten(state: Mapping[str, object], where: str = "") -> dict[str, str]:
    """A decoded state as texts by field: `replica[0].isr` to `{0, 1}`."""
    found: dict[str, str] = {}
    for name, value in state.items():
        path = f"{where}.{harmless(name)}" if where else harmless(name)
        found |= _flat(path, value)
    return found


def _flat(path: str, value: object) -> dict[str, str]:
    if isinstance(value, Mapping):
        return flatten(value, path)
    if isinstance(value, list) and value and isinstance(value[0], Mapping):
        parts = [_flat(f"{path}[{at}]", item) for at, item in enumerate(value)]
        return {name: text for part in parts for name, text in part.items()}
    return {path: harmless(in_words(value))}


def _plain(graph: nx.MultiDiGraph) -> nx.MultiDiGraph:
    """The graph with texts and numbers only."""
    import networkx as nx

    plain = nx.MultiDiGraph()
    for node, data in graph.nodes(data=True):
        more = {"states": data["states"]} if "states" in data else {}
        plain.add_node(node, level=data["level"], **more, **flatten(data["state"]))
    for source, target, action in graph.edges(data="action"):
        plain.add_edge(source, target, action=harmless(action))
    return plain


def graphml(graph: nx.MultiDiGraph) -> str:
    """GraphML, as Gephi, yEd and networkx read it: a typed attribute per field."""
    import networkx as nx

    target = io.BytesIO()
    nx.write_graphml(_plain(graph), target)
    return target.getvalue().decode("utf-8") + "\n"


def node_link(graph: nx.MultiDiGraph) -> str:
    """JSON: nodes with their decoded states, edges with their actions."""
    document = {
        "nodes": [{"id": node, **data} for node, data in graph.nodes(data=True)],
        "edges": [
            {"source": source, "target": target, "action": action}
            for source, target, action in graph.edges(data="action")
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def dot(graph: nx.MultiDiGraph) -> str:
    """Graphviz: a rank per level; a node shows how it differs from the first state."""
    lines = ["digraph states {", "  rankdir=LR;", '  node [shape=box, fontname="monospace", fontsize=9];']
    names = _names(graph)
    for level in sorted({level for _, level in graph.nodes(data="level")}):
        here = [node for node, at in graph.nodes(data="level") if at == level]
        lines.append(f"  {{ rank=same; {' '.join(f's{node};' for node in here)} }}")
    lines += [f"  s{node} [label={dot_text(names[node])}];" for node in graph]
    lines += [
        f"  s{source} -> s{target} [label={dot_text(action)}, fontsize=8];"
        for source, target, action in graph.edges(data="action")
    ]
    return "\n".join([*lines, "}"]) + "\n"


def _names(graph: nx.MultiDiGraph) -> dict[int, str]:
    """Per node what differs from the first one, a field a line."""
    texts = {node: flatten(state) for node, state in graph.nodes(data="state")}
    first = next(iter(texts.values()), {})
    names = {}
    for node, fields in texts.items():
        differing = [f"{name} = {text}" for name, text in fields.items() if first.get(name) != text]
        names[node] = "\n".join([str(node), *differing[:8], *(["…"] if len(differing) > 8 else [])])
    return names


def svg(graph: nx.MultiDiGraph) -> str:
    """A picture: a column per level, a circle per state, its fields and the actions in the tooltips."""
    import networkx as nx

    place = nx.multipartite_layout(graph, subset_key="level", scale=1) if len(graph) else {}
    columns: dict[int, list[int]] = {}
    for node, level in graph.nodes(data="level"):
        columns.setdefault(level, []).append(node)
    tallest = max(map(len, columns.values()), default=1)
    width, height = _ACROSS * max(len(columns), 1), _DOWN * (tallest + 1)
    at: dict[int, tuple[float, float]] = {}
    for column, level in enumerate(sorted(columns)):
        nodes = sorted(columns[level], key=lambda node: float(place[node][1]))
        gap = height / (len(nodes) + 1)
        at |= {node: (_ACROSS * (column + 0.5), gap * (row + 1)) for row, node in enumerate(nodes)}
    names = _names(graph)
    box = f"0 0 {width} {height}"
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "viewBox": box, "role": "img"})
    ET.SubElement(root, "title").text = f"{len(graph)} states, {graph.number_of_edges()} steps"
    ET.SubElement(root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
    for source, target, action in graph.edges(data="action"):
        _edge(root, at[source], at[target], harmless(action))
    for node, (x, y) in at.items():
        group = ET.SubElement(root, "g")
        ET.SubElement(group, "title").text = names[node]
        look = {"r": str(_RADIUS), "fill": "#e3edfb", "stroke": "#0b5cad"}
        ET.SubElement(group, "circle", {"cx": f"{x:.1f}", "cy": f"{y:.1f}", **look})
        text = {"x": f"{x:.1f}", "y": f"{y + 3:.1f}", "font-size": "8", "text-anchor": "middle", "fill": "#16191d"}
        ET.SubElement(group, "text", {**text, "font-family": "sans-serif"}).text = str(node)
    return ET.tostring(root, encoding="unicode") + "\n"


def _edge(root: ET.Element, source: tuple[float, float], target: tuple[float, float], action: str) -> None:
    (x1, y1), (x2, y2) = source, target
    # Back and level edges bend away from the columns, so that they are seen between the circles.
    bend = 0 if x2 > x1 else 34
    path = f"M{x1:.1f},{y1:.1f} Q{(x1 + x2) / 2 + bend:.1f},{(y1 + y2) / 2 - bend:.1f} {x2:.1f},{y2:.1f}"
    look = {"fill": "none", "stroke": "#8a94a3", "stroke-width": "0.8"}
    line = ET.SubElement(root, "path", {"d": path, **look})
    ET.SubElement(line, "title").text = action[: _MAX_SHOWN * 4]


FORMATS: dict[str, Callable[[nx.MultiDiGraph], str]] = {"graphml": graphml, "dot": dot, "svg": svg, "json": node_link}
"""What `acked states graph --to` takes."""
