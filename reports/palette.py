"""Colours, defined once for the terminal and for pages.

The epochs wear Okabe and Ito's palette, which people with any common colour blindness can tell apart. A colour is never
the only sign of anything: epochs are always written out, too.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """A background and the text colour that is readable on it, as `#rrggbb`."""

    background: str
    text: str


EPOCHS = (
    Colour("#56b4e9", "#000000"),
    Colour("#e69f00", "#000000"),
    Colour("#009e73", "#000000"),
    Colour("#f0e442", "#000000"),
    Colour("#0072b2", "#ffffff"),
    Colour("#d55e00", "#000000"),
    Colour("#cc79a7", "#000000"),
)
"""Sky blue, orange, bluish green, yellow, blue, vermillion, reddish purple: neighbours differ in lightness as well."""


def epoch_colour(epoch: int) -> Colour:
    """The colour of a leader epoch; they repeat after seven."""
    return EPOCHS[epoch % len(EPOCHS)]
