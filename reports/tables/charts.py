"""Charts as SVG: columns, lines and bars in panels, two to a row. The file refers to nothing outside itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree as ET

from acked.base.frozen import frozen
from acked.reports import units
from acked.reports.console import harmless

_WIDTH, _HEIGHT, _PAD = 540, 320, 16
_LEFT, _TOP, _BOTTOM = 76, 44, 46
"""Room of a panel for the numbers at its left, its title, and the numbers and the name of its axis."""

_INK, _SOFT, _LINE, _PAPER = "#16191d", "#4c545e", "#c9ced6", "#ffffff"
_FONT = "system-ui, 'DejaVu Sans', sans-serif"
_TICKS = 5
"""About so many numbers stand at an axis."""


@frozen
class Series:
    """Values from left to right, or from top to bottom, in a colour; `name` is for the legend, where there is one."""

    values: Sequence[float]
    colour: str
    name: str = ""


@frozen
class ColumnChart:
    """A column per number of `places`."""

    title: str
    axis: str
    places: Sequence[int]
    series: Series


@frozen
class Line(ColumnChart):
    """A point instead, joined by a line; `mark` is a value with a line of its own across the panel."""

    is_logarithmic: bool = False
    mark: float | None = None


@frozen
class Bars:
    """A row per name, with a bar of every series: the later ones lie, thinner, on the earlier ones."""

    title: str
    names: Sequence[str]
    series: Sequence[Series]


Panel = ColumnChart | Bars


def draw(title: str, panels: Sequence[Panel]) -> str:
    """The document."""
    heights = [max(_height(panel) for panel in panels[at : at + 2]) for at in range(0, len(panels), 2)]
    width, height = 2 * _WIDTH + 3 * _PAD, 40 + sum(heights) + _PAD * (len(heights) + 1)
    size = {"width": str(width), "height": str(height), "viewBox": f"0 0 {width} {height}"}
    root = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", "role": "img", **size})
    ET.SubElement(root, "title").text = harmless(title)
    _rect(root, 0, 0, width, height, _PAPER)
    _text(root, width / 2, 30, title, 16, _INK, "middle", weight="bold")
    y = 40 + _PAD
    for row, high in enumerate(heights):
        for column, panel in enumerate(panels[2 * row : 2 * row + 2]):
            group = ET.SubElement(root, "g", {"transform": f"translate({_PAD + column * (_WIDTH + _PAD)} {y})"})
            _text(group, _WIDTH / 2, 18, panel.title, 13, _INK, "middle", weight="bold")
            if isinstance(panel, Bars):
                _bars(group, panel)
            else:
                _over_places(group, panel)
        y += high + _PAD
    ET.indent(root, " ")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _height(panel: Panel) -> int:
    return max(_HEIGHT, _TOP + 20 * len(panel.names) + _BOTTOM) if isinstance(panel, Bars) else _HEIGHT


def _over_places(group: ET.Element, panel: ColumnChart) -> None:
    values, places = panel.series.values, panel.places
    width, height = _WIDTH - _LEFT - _PAD, _HEIGHT - _TOP - _BOTTOM
    is_logarithmic = isinstance(panel, Line) and panel.is_logarithmic
    shown = [*values, *([panel.mark] if isinstance(panel, Line) and panel.mark is not None else [])]
    ticks = _powers(shown) if is_logarithmic else _round_numbers(shown)
    first, last = (math.log(ticks[0]), math.log(ticks[-1])) if is_logarithmic else (ticks[0], ticks[-1])
    step = width / max(len(places), 1)

    def x_of(at: int) -> float:
        return _LEFT + step * (at + 0.5)

    def y_of(value: float) -> float:
        number = math.log(value) if is_logarithmic else value
        return _TOP + height * (1 - (number - first) / (last - first))

    for tick in ticks:
        _line(group, [(_LEFT, y_of(tick)), (_LEFT + width, y_of(tick))], _LINE, 0.5)
        _text(group, _LEFT - 6, y_of(tick) + 4, _number(tick), 11, _SOFT, "end")
    for at in range(0, len(places), math.ceil(len(places) / 12) or 1):
        _text(group, x_of(at), _TOP + height + 16, str(places[at]), 11, _SOFT, "middle")
    _text(group, _LEFT + width / 2, _HEIGHT - 8, panel.axis, 12, _SOFT, "middle")
    if not isinstance(panel, Line):
        for at, value in enumerate(values):
            made = _rect(group, x_of(at) - step * 0.4, y_of(value), step * 0.8, y_of(0) - y_of(value), panel.series.colour)
            _tooltip(made, f"{panel.axis} {places[at]}: {_number(value)}")
        return
    if panel.mark is not None:
        _line(group, [(_LEFT, y_of(panel.mark)), (_LEFT + width, y_of(panel.mark))], _SOFT, 1)
    _line(group, [(x_of(at), y_of(value)) for at, value in enumerate(values)], panel.series.colour, 1.5)
    for at, value in enumerate(values):
        look = {"cx": f"{x_of(at):.1f}", "cy": f"{y_of(value):.1f}", "r": "3", "fill": panel.series.colour}
        _tooltip(ET.SubElement(group, "circle", look), f"{panel.axis} {places[at]}: {_number(value)}")


def _bars(group: ET.Element, panel: Bars) -> None:
    left = min(max((len(name) for name in panel.names), default=0) * 5.5 + 12, _WIDTH / 2)
    width, row = _WIDTH - left - _PAD, 20
    ticks = _round_numbers([value for series in panel.series for value in series.values])
    bottom = _TOP + row * len(panel.names)
    for tick in ticks:
        x = left + width * tick / ticks[-1]
        _line(group, [(x, _TOP), (x, bottom)], _LINE, 0.5)
        _text(group, x, bottom + 16, _number(tick), 11, _SOFT, "middle")
    for at, name in enumerate(panel.names):
        _text(group, left - 6, _TOP + row * at + 14, name, 9, _INK, "end")
        for number, series in enumerate(panel.series):
            value, inset = series.values[at], 3 + 3 * number
            made = _rect(group, left, _TOP + row * at + inset, width * value / ticks[-1], row - 2 * inset, series.colour)
            _tooltip(made, f"{name}: {_number(value)} {series.name}")
    x = left
    for series in panel.series:
        _rect(group, x, 27, 10, 10, series.colour)
        _text(group, x + 14, 36, series.name, 11, _SOFT)
        x += 14 + 7 * len(series.name) + 20


def _round_numbers(values: Iterable[float]) -> list[float]:
    """Ascending multiples of 1, 2 or 5 times a power of ten, from 0 to at least the greatest of the values."""
    most = max((value for value in values if math.isfinite(value)), default=0) or 1
    size = 10.0 ** math.floor(math.log10(most / _TICKS))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor * _TICKS >= most * (1 - 1e-9))
    return [step * at for at in range(math.ceil(most / step - 1e-9) + 1)]


def _powers(values: Iterable[float]) -> list[float]:
    """Ascending powers of ten around positive values."""
    known = [value for value in values if value > 0] or [1]
    first, last = math.floor(math.log10(min(known))), math.ceil(math.log10(max(known)))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def _number(value: float) -> str:
    return units.count(round(value)) if value >= 10 or value == round(value) else f"{value:.3g}"


def _text(
    group: ET.Element, x: float, y: float, text: str, size: int, colour: str, anchor: str = "start", weight: str = "normal"
) -> None:
    look = {"x": f"{x:.1f}", "y": f"{y:.1f}", "font-size": str(size), "fill": colour, "text-anchor": anchor}
    ET.SubElement(group, "text", {**look, "font-weight": weight, "font-family": _FONT}).text = harmless(text)


def _rect(group: ET.Element, x: float, y: float, width: float, height: float, fill: str) -> ET.Element:
    at = {"x": f"{x:.1f}", "y": f"{y:.1f}", "width": f"{width:.1f}", "height": f"{height:.1f}"}
    return ET.SubElement(group, "rect", {**at, "fill": fill})


def _line(group: ET.Element, points: Iterable[tuple[float, float]], colour: str, thick: float) -> None:
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ET.SubElement(group, "polyline", {"points": places, "fill": "none", "stroke": colour, "stroke-width": f"{thick:g}"})


def _tooltip(shape: ET.Element, text: str) -> None:
    ET.SubElement(shape, "title").text = harmless(text)
