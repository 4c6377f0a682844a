"""A still picture of one step as SVG, for issues and slides: the log grid with its markers and badges, and messages.

The file refers to nothing outside itself.
"""

from __future__ import annotations

import textwrap
from xml.etree import ElementTree as ET

from acked.reports import palette
from acked.reports.console import harmless
from acked.reports.pictures.picture import Box, Cell, Differences, MarkerKind, Message, Picture, Row, Tone
from acked.reports.runs.lanes import fate_in_words, lanes_of
from acked.reports.runs.view import StepView, TraceView

_LETTER = 7.3
"""Width of a character at 12 px in the widest of the usual sans-serif faces; monospaced ones are no wider."""

_CELL, _ROW, _LEFT, _PAD = 84, 46, 150, 16
_INK, _SOFT, _LINE, _CHANGE, _BAD = "#16191d", "#4c545e", "#c9ced6", "#8a3ffc", "#b3131e"
_COLOURS, _HEAVY = {Tone.WRONG: _BAD, Tone.ABSENT: _SOFT}, (Tone.STRONG, Tone.WRONG)
_MOST = 60
"""Letters of one name or badge; the whole text is in its tooltip."""

_ABOVE = {place: number for number, place in enumerate((MarkerKind.OTHER, MarkerKind.HIGH_WATERMARK, MarkerKind.LOG_END))}
"""In which order names of markers stand that are at one offset."""
_SHORT = {"high watermark": "HW", "log end": "LEO"}


def still(view: TraceView, index: int) -> str:
    """The picture of step `index` of a run."""
    step = view.steps[index]
    drawing = _Drawing(view, step)
    return drawing.text()


class _Drawing:
    def __init__(self, view: TraceView, step: StepView) -> None:
        self._step = step
        self._look = view.look
        pictures = [other.picture for other in view.steps if other.picture is not None]
        markers = [marker for picture in pictures for row in picture.rows for marker in row.markers]
        used = max((marker.offset for marker in markers), default=0)
        room = max((len(row.cells) for picture in pictures for row in picture.rows), default=0)
        self._offsets = min(max(1, used), room)
        has_others = any(marker.place is MarkerKind.OTHER for marker in markers)
        self._grid_end = _LEFT + _CELL * self._offsets + (80 if has_others else 60)
        self._width = max(720.0, self._grid_end + 330.0)
        self._y = 14.0
        self._root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img"})
        self._title(view)
        if step.picture is not None and step.picture.is_drawn and step.differs is not None:
            self._picture(step.picture, step.differs)
        else:
            for change in step.changes:
                self._line(f"{change.field}: {change.before} → {change.after}", 12, _INK)
        for message in lanes_of(view.steps).messages:
            if step.index in (message.sent, message.received, message.dropped):
                self._message(message)
        for name in step.violated:
            self._line(f"✗ {name} is violated", 13, _BAD, weight="bold")

    def text(self) -> str:
        height = self._y + 12
        self._root.set("viewBox", f"0 0 {self._width:.0f} {height:.0f}")
        self._root.set("width", f"{self._width:.0f}")
        self._root.set("height", f"{height:.0f}")
        ET.indent(self._root, " ")
        return ET.tostring(self._root, encoding="unicode") + "\n"

    # -- pieces ---------------------------------------------------------------------------------------------------

    def _title(self, view: TraceView) -> None:
        step = self._step
        ET.SubElement(self._root, "title").text = harmless(f"{view.title}: step {step.index}")
        ET.SubElement(self._root, "rect", {"width": "100%", "height": "100%", "fill": "#ffffff"})
        self._line(view.title, 16, _INK, weight="bold")
        self._line(view.subject, 11, _SOFT)
        self._line(f"{step.index}  {step.sentence}", 14, _INK, weight="bold")
        if step.label:
            self._line(step.label, 11, _SOFT)
        self._y += 6

    def _line(self, text: str, size: int, colour: str, weight: str = "normal") -> None:
        """Text over the whole width, on as many lines as it needs."""
        per_line = int((self._width - 2 * _PAD) / (_LETTER * size / 12 * (1.06 if weight == "bold" else 1)))
        for line in textwrap.wrap(harmless(text), max(per_line, 20)) or [""]:
            self._y += size * 1.35
            self._text_at(_PAD, self._y, line, size, colour, weight=weight)

    def _text_at(
        self, x: float, y: float, text: str, size: int, colour: str, *, weight: str = "normal", more: str = ""
    ) -> None:
        style = {
            "x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(size), "fill": colour, "font-weight": weight,
            "font-family": "system-ui, 'DejaVu Sans', sans-serif", "direction": "ltr", "unicode-bidi": "isolate",
        }  # fmt: skip
        shown = harmless(text)
        made = ET.SubElement(self._root, "text", style)
        made.text = shown if len(shown) <= _MOST * 4 else f"{shown[: _MOST * 4]}…"
        if more:
            made.set("text-decoration", more)

    def _rect(
        self, x: float, y: float, width: float, height: float, fill: str, line: str, thick: float = 1, radius: float = 0
    ) -> None:
        at = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
        look = {"fill": fill, "stroke": line, "stroke-width": f"{thick:g}", "rx": f"{radius:g}"}
        ET.SubElement(self._root, "rect", {**at, **look})

    def _message(self, message: Message) -> None:
        fate = fate_in_words(message)
        colour = _BAD if message.is_late else _SOFT
        self._line(f"{message.sender} → {message.receiver}: {message.text}{f' ({fate})' if fate else ''}", 12, colour)

    # -- the picture ----------------------------------------------------------------------------------------------

    def _picture(self, picture: Picture, differs: Differences) -> None:
        for box in picture.boxes:
            self._box(box, differs)
        self._y += 20
        for offset in range(self._offsets):
            self._text_at(_LEFT + _CELL * offset + 8, self._y, str(offset), 11, _SOFT)
        self._y += 4
        for row in picture.rows:
            self._row(row, differs)
        self._y += 8

    def _box(self, box: Box, differs: Differences) -> None:
        self._y += 20
        change = differs.boxes[box.key]
        self._text_at(_PAD, self._y, _short(box.name), 12, _INK, weight="bold")
        texts = [("" if box.epoch is None else f"{self._look.epoch}{box.epoch}", change.epoch, Tone.PLAIN)]
        texts += [(fact.text, fact.key in change.facts, fact.tone) for fact in box.facts]
        letter, x = _LETTER * 1.06, float(_LEFT)
        most = int((self._width - _PAD - _LEFT) / letter)
        for text, is_new, tone in texts:
            for line in textwrap.wrap(harmless(text), most):
                if x > _LEFT and x + len(line) * letter > self._width - _PAD:
                    x, self._y = float(_LEFT), self._y + 17
                colour = _CHANGE if is_new else _COLOURS.get(tone, _INK)
                self._text_at(x, self._y, line, 12, colour, weight="bold" if is_new or tone in _HEAVY else "normal")
                x += len(line) * letter + 18

    def _row(self, row: Row, differs: Differences) -> None:
        change, top = differs.rows[row.key], self._y
        middle = top + _ROW / 2 + 5
        self._text_at(_PAD, middle, _short(row.name), 13, _INK, weight="bold")
        if self._look.epoch:
            epoch = f"{self._look.epoch}{'–' if row.epoch is None else row.epoch}"
            self._text_at(_LEFT - 34, middle, epoch, 12, _CHANGE if change.epoch else _SOFT)
        for offset in range(min(self._offsets, len(row.cells))):
            self._cell(row.cells[offset], _LEFT + _CELL * offset, top, offset in change.edits)
        for place in (MarkerKind.OTHER, MarkerKind.LOG_END, MarkerKind.HIGH_WATERMARK):
            self._markers(row, place, top)
        bottom = self._badges(row, differs, top)
        self._y = max(top + _ROW, bottom)

    def _cell(self, cell: Cell, x: float, top: float, is_changed: bool) -> None:
        colour = None if cell.epoch is None else palette.epoch_colour(cell.epoch)
        self._rect(x, top, _CELL, _ROW - 4, "#ffffff" if colour is None else colour.background, _LINE)
        if is_changed:
            self._rect(x + 2, top + 2, _CELL - 4, _ROW - 8, "none", _CHANGE, 3)
        ink = _INK if colour is None else colour.text
        if cell.record is not None:
            sign = " ✓" if cell.acked else ""
            epoch = "" if cell.epoch is None else f"·{self._look.epoch}{cell.epoch}"
            self._text_at(x + 8, top + 33, f"{cell.record}{epoch}{sign}", 12, ink)
        elif is_changed and cell.lost is None:
            self._text_at(x + 8, top + 33, "×", 13, _SOFT, weight="bold")
        if cell.lost is not None:
            at, down = (8.0, 33) if cell.record is None else (_CELL - 8 - 6.0 * len(cell.lost), 20)
            self._text_at(x + at, top + down, cell.lost, 12, _BAD, weight="bold", more="line-through")

    def _markers(self, row: Row, place: MarkerKind, top: float) -> None:
        for marker in row.markers:
            if marker.place is not place or marker.offset > self._offsets:
                continue
            x = _LEFT + _CELL * marker.offset
            thick = 4 if place is MarkerKind.HIGH_WATERMARK else 1.5
            ends = {"x1": f"{x:.1f}", "x2": f"{x:.1f}", "y1": f"{top:.1f}", "y2": f"{top + _ROW - 4:.1f}"}
            ET.SubElement(self._root, "line", {**ends, "stroke": _INK, "stroke-width": f"{thick:g}"})
            name = _SHORT.get(marker.name, marker.name)
            before = [other for other in row.markers if other.offset == marker.offset and _ABOVE[other.place] < _ABOVE[place]]
            left = sum(max(22.0, len(_SHORT.get(other.name, other.name)) * _LETTER * 9 / 12 + 4) for other in before)
            self._text_at(x + 4 + left, top + 11, name, 9, _INK, weight="bold")

    def _badges(self, row: Row, differs: Differences, top: float) -> float:
        x, y = float(self._grid_end), top + 4
        for badge in row.badges:
            text, is_new = _short(badge.text), badge in differs.rows[row.key].badges
            width = len(text) * _LETTER * 0.95 + 16
            if x + width > self._width - _PAD and x > self._grid_end:
                x, y = float(self._grid_end), y + 20
            self._rect(x, y, width, 17, "#f5f6f8", _CHANGE if is_new else _LINE, 2 if is_new else 1, 8)
            self._text_at(x + 8, y + 12.5, text, 11, _INK)
            x += width + 6
        return y + 22


def _short(text: str) -> str:
    line = harmless(text)
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
