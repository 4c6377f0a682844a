"""The formats of the TLA+ tools: Apalache's ITF and TLC's JSON.

Their forms of our values, and the types that go with ITF; `checker/replay/foreign.py` reads both back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from acked.model.language.domain import BoolDomain, Domain, EnumDomain, OptionalDomain, PresentDomain, SetDomain
from acked.model.language.storage.composites import ArrayDomain, LogDomain, StructDomain
from acked.model.language.storage.messages import MessagesDomain
from acked.model.language.values import Enum
from acked.reports.exports.subject import Exported
from acked.reports.runs.view import StepView

DESCRIPTION = "https://apalache-mc.org/docs/adr/015adr-trace.html"


def itf(exported: Exported) -> str:
    """ITF as Apalache documents it; the action of a step, which ITF does not know, is in its state's `#meta`."""
    view = exported.view
    # Constants may leave fields out; the first state has those that are there.
    declared = exported.found.question.instance.protocol.state.domains()
    domains = {name: domain for name, domain in declared.items() if name in view.steps[0].state}
    document: dict[str, Any] = {
        "#meta": {
            "format": "ITF",
            "format-description": DESCRIPTION,
            "source": view.protocol,
            "description": f"{view.title} ({view.subject})",
            "varTypes": {name: itf_type(domain, view.steps[0].state[name]) for name, domain in domains.items()},
        },
        "vars": list(domains),
        "states": [
            {"#meta": _meta(step), **{name: itf_value(domain, step.state[name]) for name, domain in domains.items()}}
            for step in view.steps
        ],
    }
    if (loop := exported.found.run.loop) is not None:
        # ITF goes on from its last state to that of the loop, so the one that comes back is not there twice.
        document["states"] = document["states"][: max(loop + 1, len(view.steps) - 1)]
        document["loop"] = loop
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _meta(step: StepView) -> dict[str, object]:
    if step.action is None:
        return {"index": step.index}
    return {"index": step.index, "action": step.action, "parameters": dict(step.arguments)}


def itf_type(domain: Domain, sample: Any = None) -> str:
    """The type of a domain in Apalache's notation; a sample value shows which fields there are."""
    if isinstance(domain, PresentDomain):
        return itf_type(domain.inner, sample)
    if isinstance(domain, StructDomain):
        names = sample if isinstance(sample, dict) else _always_there(domain)
        declared = domain.struct.domains()
        parts = ", ".join(f"{name}: {itf_type(declared[name], sample and sample[name])}" for name in names)
        return f"{{ {parts} }}"
    if isinstance(domain, MessagesDomain):
        kind = "Set" if isinstance(domain.leaf, BoolDomain) else "Seq"
        return f"{kind}({itf_type(StructDomain(domain.struct), sample[0] if sample else None)})"
    if isinstance(domain, ArrayDomain):
        return f"Int -> {itf_type(domain.element, sample[0] if sample else None)}"
    if isinstance(domain, LogDomain):
        record = itf_type(domain.content, sample["records"][0] if sample and sample["records"] else None)
        return f"{{ end: Int, records: Seq({record}) }}"
    if isinstance(domain, SetDomain):
        return "Set(Int)"
    if isinstance(domain, OptionalDomain):
        return f"None(UNIT) | Some({'Str' if issubclass(domain.item, Enum) else 'Int'})"
    if isinstance(domain, EnumDomain):
        return "Str"
    return "Bool" if isinstance(domain, BoolDomain) else "Int"


def _always_there(domain: StructDomain) -> list[str]:
    return [name for name, part in domain.struct.domains().items() if not isinstance(part, PresentDomain)]


def itf_value(domain: Domain, value: Any) -> Any:
    """A decoded value in ITF: every integer a `#bigint`, arrays as maps from their ids, options as variants."""
    if isinstance(domain, PresentDomain):
        return itf_value(domain.inner, value)
    if isinstance(domain, StructDomain):
        return {name: itf_value(domain.struct.domains()[name], item) for name, item in value.items()}
    if isinstance(domain, MessagesDomain):
        items = [itf_value(StructDomain(domain.struct), item) for item in value]
        return {"#set": items} if isinstance(domain.leaf, BoolDomain) else items
    if isinstance(domain, ArrayDomain):
        return {"#map": [[_bigint(at), itf_value(domain.element, item)] for at, item in enumerate(value)]}
    if isinstance(domain, LogDomain):
        return {"end": _bigint(value["end"]), "records": [itf_value(domain.content, item) for item in value["records"]]}
    if isinstance(domain, SetDomain):
        return {"#set": [_bigint(item) for item in value]}
    if isinstance(domain, OptionalDomain):
        if value is None:
            return {"tag": "None", "value": {"#tup": []}}
        return {"tag": "Some", "value": _scalar(value)}
    return _scalar(value)


def _scalar(value: Any) -> Any:
    return value if isinstance(value, bool | str) else _bigint(value)


def _bigint(value: int) -> dict[str, str]:
    return {"#bigint": str(value)}


def tlc(exported: Exported) -> str:
    """TLC's JSON form of a counterexample: numbered states, and between each two the action with its place in the source."""
    root = StructDomain(exported.found.question.instance.protocol.state)
    states = [[step.index + 1, tlc_value(root, step.state)] for step in exported.view.steps]
    actions = [
        [
            states[at],
            {
                "name": step.action.name,
                "parameters": dict(step.arguments),
                "location": {"module": Path(step.action.file).stem, "beginLine": step.action.line},
            },
            states[at + 1],
        ]
        for at, step in enumerate(exported.found.run.actions)
    ]
    document = {"counterexample": {"state": states, "action": actions}}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def tlc_value(domain: Domain, value: Any) -> Any:
    """A decoded value as TLC writes it: functions from 0, 1, … as objects, sets as arrays, no value as `"none"`."""
    if isinstance(domain, PresentDomain):
        return tlc_value(domain.inner, value)
    if isinstance(domain, StructDomain):
        return {name: tlc_value(domain.struct.domains()[name], item) for name, item in value.items()}
    if isinstance(domain, MessagesDomain):
        return [tlc_value(StructDomain(domain.struct), item) for item in value]
    if isinstance(domain, ArrayDomain):
        return {str(at): tlc_value(domain.element, item) for at, item in enumerate(value)}
    if isinstance(domain, LogDomain):
        return {"end": value["end"], "records": [tlc_value(domain.content, item) for item in value["records"]]}
    if isinstance(domain, OptionalDomain) and value is None:
        return "none"
    return value
