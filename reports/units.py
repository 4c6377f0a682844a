"""Numbers as people read them."""

from __future__ import annotations


def count(number: int) -> str:
    """1,234,567."""
    return f"{number:,}"


def plural(number: int, noun: str) -> str:
    """`1 state`, `1,200 states`."""
    return f"{count(number)} {noun}" if number == 1 else f"{count(number)} {noun}s"


def short_count(number: float) -> str:
    """At most four digits and a unit: `840`, `12.3 k`, `7.51 M`, `1.20 G`; never more digits than were measured."""
    scaled, unit = float(number), ""
    for larger in ("k", "M", "G", "T"):
        if scaled < 999.5:
            break
        scaled, unit = scaled / 1000, larger
    return f"{_three_digits(scaled) if unit else f'{scaled:.0f}'} {unit}".rstrip()


def rate(number: int, seconds: float) -> str:
    """`7.51 M/s`; `-` for a time too short to divide by."""
    return f"{short_count(number / seconds)}/s" if seconds > 0 else "-"


def size(number: float) -> str:
    """`120 B`, `4.20 KiB`, `1.07 GiB`."""
    scaled, unit = float(number), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if scaled < 999.5:
            break
        scaled, unit = scaled / 1024, larger
    return f"{scaled:.0f} {unit}" if unit == "B" else f"{_three_digits(scaled)} {unit}"


def duration(seconds: float) -> str:
    """`4.2 ms`, `7.30 s`, `3 min 05 s`, `2 h 04 min`."""
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        return f"{milliseconds:.1f} ms" if milliseconds < 9.95 else f"{milliseconds:.0f} ms"
    if seconds < 59.95:
        return f"{_three_digits(seconds)} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def _three_digits(number: float) -> str:
    decimals = 2 if number < 9.995 else 1 if number < 99.95 else 0
    return f"{number:.{decimals}f}"
