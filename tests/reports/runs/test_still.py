"""A picture of one step as SVG: whatever stands in a box is seen whole."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from acked.base.bounds import Bounds
from acked.checker.question.result import Counterexample
from acked.checker.search.local import search
from acked.checker.spec.spec import load_spec
from acked.reports.runs.still import still
from acked.reports.runs.view import view_of
from tests.places import SPECS

LETTER = 7.3 / 12


def test_what_a_controller_believes_is_neither_cut_off_nor_shortened() -> None:
    spec = load_spec(SPECS / "claims" / "one-controller.toml")
    result = search(spec.question(), Bounds(workers=1))
    drawn = ET.fromstring(still(view_of(Counterexample.of(spec.title, result.question, result.violations[0])), 2))
    texts = {str(text.text): text for text in drawn.iter("{http://www.w3.org/2000/svg}text")}
    wrong = texts["takes itself for the controller, and is not, controller epoch 0"]
    assert wrong.get("fill") == "#b3131e"
    assert "is the controller, controller epoch 1" in texts
    assert sum(text.startswith("knows leader 0 in leader epoch 0, ISR {0, 1}") for text in texts) == 1
    room = float(drawn.get("width", "0"))
    for text, at in texts.items():
        assert float(at.get("x", "0")) + len(text) * LETTER * float(at.get("font-size", "0")) <= room, text
