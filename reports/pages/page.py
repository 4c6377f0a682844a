"""Pages: one self-contained HTML file made of the template, the style sheet, the scripts and the data in `reports/web/`.

Putting them together under a Content-Security-Policy that allows this very script and style and nothing else; and the
documents that pages show.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from acked.checker.question.result import Counterexample
from acked.reports import palette
from acked.reports.console import harmless
from acked.reports.runs.answers import subject_in_words
from acked.reports.runs.packet import Packer, head_of
from acked.reports.runs.view import story_of

if TYPE_CHECKING:
    from jinja2 import Environment

STILL = ("dom", "check", "packet", "members", "grid", "lanes", "moves", "motion", "panels", "pane", "page", "main", "still")
EXPLORER = (*STILL[:-1], "python", "instance", "explain", "teller", "walk", "tried", "served", "tab", "live", "explorer")
PLAYED = (*STILL[:-1], "played", "reproduction")
KEPT = ("dom", "check", "kept")
INDEX = ("dom", "filter", "index")
AUDIT = ("dom", "filter", "audit")
"""The modules in `reports/web/` of the kinds of pages, each after those that it imports."""

_SEARCHES = "'wasm-unsafe-eval'; worker-src blob:"
"""What the policy of a page allows besides if it searches in a worker (`check.js`)."""

_IMPORT = re.compile(r"^import \{[^}]*\} from \"\./\w+\.js\";\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def trace_data(found: Counterexample, decides: bool = False, beginning: str | None = None) -> dict[str, Any]:
    """What the page of one run shows; with `decides`, also with which rule the property would hold, which is searched.

    `beginning` is what is said of the first state, unless it is the initial one.
    """
    question = found.question
    packer = Packer(question)
    packet, steps = packer.run(found.run, beginning)
    story = story_of(found, steps, decides)
    subject = harmless(subject_in_words(question.instance))
    sentences = None
    if story is not None:
        sentences = {
            "promised": harmless(story.promised),
            "happened": harmless(story.happened),
            "prevented": None if story.prevented is None else harmless(story.prevented),
            "source": harmless(story.source),
        }
    name = question.instance.protocol.name
    trace = {"name": name, "subject": subject, "head": head_of(question), "packet": packet, "end": None}
    return {"title": harmless(found.title), "subject": subject, "story": sentences, "traces": [trace]}


def pair_data(first: Mapping[str, Any], second: Mapping[str, Any], note: str, end: str | None = None) -> dict[str, Any]:
    """Two runs side by side; `end` says why the second goes no further than it does."""
    left, right = dict(first["traces"][0]), dict(second["traces"][0])
    if left["name"] == right["name"]:
        left["name"], right["name"] = f"{left['name']} (left)", f"{right['name']} (right)"
    right["end"] = None if end is None else harmless(end)
    return {**first, "note": harmless(note), "traces": [left, right]}


def render(data: Mapping[str, Any], *, packed: bool = False) -> str:
    """The HTML of a page; a `packed` one holds its data compressed, a fifth of the size."""
    is_played = "played" in data
    return page_of(data, PLAYED if is_played else STILL, ("played.css",) if is_played else (), packed=packed)


def page_of(
    data: Mapping[str, Any],
    modules: tuple[str, ...],
    styles: tuple[str, ...] = (),
    *,
    more: str = "",
    packed: bool = False,
) -> str:
    """The HTML of data under a title that these modules of `reports/web/` show, with `more` script; see `render`.

    A page that explores and has a token may talk to the server that it came from.
    """
    from markupsafe import Markup

    script, style, live = f"{more}{script_text(modules)}", style_text(*styles), data.get("live", {})
    policy = [
        "default-src 'none'",
        f"script-src '{hash_of(script)}'{' ' + _SEARCHES if 'check' in data or 'search' in live else ''}",
        f"style-src '{hash_of(style)}'",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *(["connect-src 'self'"] if "token" in live else []),
    ]
    return environment().get_template("viewer.html.j2").render(
        title=data["title"],
        policy="; ".join(policy),
        style=Markup(style),
        script=Markup(script),
        packed=packed,
        data=Markup(_compress(data) if packed else embed_json(data)),
    )


def embed_json(data: object) -> str:
    """JSON that may stand in a script element, whatever its texts say."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _compress(data: object) -> str:
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


@cache
def environment() -> Environment:
    """The templates of `reports/web/`, which escape whatever they are given."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = PackageLoader("acked.reports", "web")
    return Environment(
        loader=templates, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )


@cache
def script_text(modules: tuple[str, ...]) -> str:
    """Modules as one: they share a scope, so their imports of each other are left out."""
    texts = [files("acked.reports").joinpath("web", f"{name}.js").read_text("utf-8") for name in modules]
    joined = _EXPORT.sub("", _IMPORT.sub("", "\n".join(texts)))
    return _slim(f"const EPOCHS = {len(palette.EPOCHS)};\n{joined}")


@cache
def style_text(*more: str) -> str:
    """The style sheets of pages with a script, then `more` of them, and the palette's colours of leader epochs."""
    colours = "\n".join(
        f".epoch-{number} {{ background: {colour.background}; color: {colour.text}; }}"
        for number, colour in enumerate(palette.EPOCHS)
    )
    return _slim(f"{_sheets('style.css', *more)}\n{colours}\n")


def _sheets(*names: str) -> str:
    texts = [files("acked.reports").joinpath("web", name).read_text("utf-8") for name in ("tokens.css", "base.css", *names)]
    return re.sub(r"/\*.*?\*/", "", "\n".join(texts), flags=re.DOTALL)


def _slim(text: str) -> str:
    """Without indentation, empty lines and lines that are comments; no text of ours goes over more than one line."""
    lines = (line.strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line and not line.startswith("//"))


def hash_of(text: str) -> str:
    """How a Content-Security-Policy names this very text."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


# -- pages that are there without a script: their Content-Security-Policy allows one style sheet, and at most one script -----


def render_report(
    template: str, data: Mapping[str, Any], style: str | None = None, modules: tuple[str, ...] = ()
) -> str:
    """The HTML of a report, in its own style sheet or this, with these modules; the template escapes what the data say."""
    from markupsafe import Markup

    style, script = report_style() if style is None else style, script_text(modules) if modules else ""
    allowed = f"script-src '{hash_of(script)}'; " if modules else ""
    policy = f"default-src 'none'; {allowed}style-src '{hash_of(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    return environment().get_template(template).render(policy=policy, style=Markup(style), script=Markup(script), **data)


@cache
def report_style(*more: str) -> str:
    """The style sheet of reports, then `more` of them."""
    return _slim(_sheets("report.css", *more))
