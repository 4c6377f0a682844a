"""What draws to a screen in the tests of reports draws here, too."""

from __future__ import annotations

from tests.reports.conftest import drawn

__all__ = ["drawn"]
