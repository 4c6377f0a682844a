"""The reachable states of small instances as a graph: states, which action leads where, levels.

Making it, around a state or from the beginning, and collapsing it by chosen fields. A graph is for looking at: above a size
it is refused, the state space left to the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acked.base.bounds import Bounds
from acked.base.errors import AckedError, ConfigurationError, ExitCode
from acked.base.frozen import frozen
from acked.base.names import choices, near
from acked.checker.question.question import Question
from acked.checker.question.result import StopReason, Words
from acked.checker.replay.explain import in_words
from acked.checker.replay.steps import value_at
from acked.checker.search.local import search
from acked.model.language.protocol import Instance

if TYPE_CHECKING:
    import networkx as nx


class TooLarge(AckedError):
    """The graph would have more states than anyone can look at."""

    exit_code = ExitCode.TOO_LARGE


@frozen
class GraphBounds:
    """At most so many states; only the first levels, the beginning counted as 1, if `levels` is given."""

    states: int = 2000
    levels: int | None = None


def state_graph(instance: Instance, bounds: GraphBounds, start: Words | None = None) -> nx.MultiDiGraph:
    """The states reachable from `start` (from the initial states by default), as nodes 0, 1, … in order of discovery.

    Nodes have `state` (decoded) and `level` (from 1), edges have `action` (the instance's label). `TooLarge` names the way
    out.
    """
    import networkx as nx

    if start is None and bounds.levels is None:
        _refuse_early(instance, bounds)
    begins = list(instance.initial) if start is None else [start]
    number = {words: at for at, words in enumerate(begins)}
    graph = nx.MultiDiGraph()
    level, depth = begins, 1
    for words in begins:
        _add(graph, instance, number[words], words, depth)
    while level and (bounds.levels is None or depth < bounds.levels):
        reached: list[Words] = []
        for words in level:
            codes = instance.schema.unpack(words)
            for step in instance.enabled_actions(codes):
                target = instance.schema.pack(instance.fire(step, codes))
                if target not in number:
                    if len(number) >= bounds.states:
                        raise _too_large(bounds, "more", depth)
                    number[target] = len(number)
                    _add(graph, instance, number[target], target, depth + 1)
                    reached.append(target)
                graph.add_edge(number[words], number[target], action=step.label)
        level, depth = reached, depth + 1
    return graph


def collapse_states(graph: nx.MultiDiGraph, instance: Instance, fields: Sequence[str]) -> nx.MultiDiGraph:
    """States that agree in the chosen fields (leaves, or parts of the state such as `quorum`) made one.

    A node's `states` counts what it stands for, its level is the least of theirs; edges that stay inside a node are left out,
    and equal ones are one.
    """
    import networkx as nx

    leaves = _leaves_named(instance, fields)
    groups: dict[tuple[str, ...], int] = {}
    of: dict[int, int] = {}
    result = nx.MultiDiGraph()
    for node, data in graph.nodes(data=True):
        values = {name: in_words(value_at(instance.schema, data["state"], path, None)) for name, path in leaves.items()}
        key = tuple(values.values())
        if key not in groups:
            groups[key] = len(groups)
            result.add_node(groups[key], state=values, level=data["level"], states=0)
        of[node] = groups[key]
        result.nodes[groups[key]]["states"] += 1
    known = set()
    for source, target, action in graph.edges(data="action"):
        name = str(action).partition("(")[0]
        edge = (of[source], of[target], name)
        if edge[0] != edge[1] and edge not in known:
            known.add(edge)
            result.add_edge(edge[0], edge[1], action=name)
    return result


def _leaves_named(instance: Instance, fields: Sequence[str]) -> dict[str, tuple[str | int, ...]]:
    leaves = {leaf.name: leaf.path for leaf in instance.schema.leaves}
    found: dict[str, tuple[str | int, ...]] = {}
    for field in fields:
        mine = {name: path for name, path in leaves.items() if name == field or name.startswith((f"{field}.", f"{field}["))}
        if not mine:
            tops = list(dict.fromkeys(str(path[0]) for path in leaves.values()))
            hint = f"{near(field, [*leaves, *tops])}; its parts are {choices(tops)}"
            raise ConfigurationError(f"the state has no field {field!r}{hint}")
        found |= mine
    return found


def _add(graph: nx.MultiDiGraph, instance: Instance, number: int, words: Words, level: int) -> None:
    graph.add_node(number, state=instance.schema.decode(instance.schema.unpack(words)), level=level)


def _refuse_early(instance: Instance, bounds: GraphBounds) -> None:
    """Counts with the fast search first: walking a thousand states in vain takes longer than counting a million."""
    result = search(Question(instance, ()), Bounds(workers=1, max_states=max(10 * bounds.states, 100_000)))
    more = result.stopped is not StopReason.COMPLETE
    if more or result.distinct_states > bounds.states:
        raise _too_large(bounds, f"{'more than ' if more else ''}{result.distinct_states:,}", result.depth)


def _too_large(bounds: GraphBounds, count: str, depth: int) -> TooLarge:
    return TooLarge(
        f"the graph would have {count} states ({depth} levels looked at), more than the {bounds.states:,} of --max-states; "
        "choose smaller constants with -c, fewer levels with --levels, or a start with --from"
    )
