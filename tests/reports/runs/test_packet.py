"""What pages give as reasons has the values that pages show, also where the search numbers leader epochs by rank."""

from __future__ import annotations

import re

import pytest

from acked.api import load_spec
from acked.base.bounds import Bounds
from acked.checker.search.local import search
from acked.reports.runs.packet import Packer, head_of


@pytest.mark.slow
def test_reasons_have_the_leader_epochs_that_the_fields_show() -> None:
    result = search(load_spec("kafka7415-bug").question(), Bounds(workers=1))
    packer = Packer(result.question)
    packet, steps = packer.run(result.violations[0].run)
    names = head_of(result.question)["fields"]
    shown: dict[str, str] = {}
    ranked = compared = 0
    for raw, view in zip(packet["steps"], steps, strict=True):
        shown |= {names[at]: packet["texts"][text] for at, text in raw["fields"]}
        ranked += view.state != view.told
        reasons = [text for at in raw["refused"] for _, texts in packet["refusals"][at][1] for text in texts]
        for said in (packet["texts"][text] for text in reasons):
            field = re.match(r"(\S*epoch) is (\d+)\b", said)
            if field is not None and field[1] in shown:
                assert shown[field[1]] == field[2], (view.index, said)
                compared += 1
    assert ranked >= 3
    assert compared > 50
