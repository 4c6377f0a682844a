"""Pages without a script: reports as one self-contained HTML file, whose Content-Security-Policy allows one style sheet."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from acked.reports.pages.page import environment, hash_of


def render_report(template: str, data: Mapping[str, Any]) -> str:
    """The HTML of a report; the template escapes whatever the data say."""
    from markupsafe import Markup

    style = _style()
    policy = f"default-src 'none'; style-src '{hash_of(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return environment().get_template(template).render(policy=policy, style=Markup(style), **data)


@cache
def _style() -> str:
    return files("acked.reports").joinpath("web", "report.css").read_text("utf-8")
