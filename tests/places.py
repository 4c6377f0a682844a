"""Where things are: this checkout, its specs, and the tests' own data."""

from __future__ import annotations

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
SPECS = CHECKOUT / "specs"
DATA = CHECKOUT / "tests" / "data"
