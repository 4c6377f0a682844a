"""Which specs readers of the site can check in their browser, and the marks in its pages."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path

from acked.base.errors import ConfigurationError
from acked.checker.spec.spec import Spec, load_spec
from acked.checker.spec.variants import name_of, specs_under
from acked.model.catalogue import PROTOCOLS
from acked.reports.shell.specs import change_spec, find_spec
from tools.examples import FILE
from tools.parts import modules, playground
from tools.parts.modules import Built

ROOT = Path(__file__).resolve().parents[2]

FOLDERS = ("gallery", "claims", "relatives")
"""Of `specs/`: all of them are built."""

NAMED = ("truncate-to-hw", "kip101", "kip279", "kip320-first-try", "kip320", "transactions-client-always-bumps")
"""Others that pages name."""

PAGES = ("claims", "delivery", "findings", "first-counterexample", "gallery", "kills", "quorums", "transactions")
"""Pages, beside those of `found/`, on which every spec that is named can be checked; the tutorial says where."""

TOY = {"brokers": (2, 3, 4), "records": (2, 3, 4)}
"""What the reader of the tutorial may choose of its protocol."""

MENDED = (
    ('"the leader holds it", s.acked < s.end[s.leader]', '"everybody holds it", every(Broker, lambda b: s.acked < s.end[b])'),
    ("each, field", "each, every, field"),
)
"""The fix of the tutorial, which its commands make with `sed`."""

is_chosen: Callable[[str], bool] = bool
"""Which of them are built, by name: all; tests build few."""

MOST_BYTES = 300_000
"""What a page may take with the scripts that it loads to check a spec."""

_CODE = re.compile(r"<code>(?P<text>(?:acked [a-z]+ )?(?:[a-z]+/)?(?P<name>[\w.-]+)(?: [^<]*)?)</code>")
_HEADING = re.compile(r"<(h[1-6])\b.*?</\1>", re.DOTALL)
_MARK = re.compile(r"<!-- check: (?P<name>[\w.-]+) -->")


@cache
def named() -> dict[str, Spec]:
    """The specs of files that a search decides, by name."""
    paths = [path for folder in FOLDERS for path in specs_under(ROOT / "specs" / folder) if is_chosen(name_of(path))]
    specs = [*map(load_spec, paths), *map(find_spec, filter(is_chosen, NAMED))]
    return {spec.name: spec for spec in specs if modules.is_possible(spec)}


def marked(html: str, page: str) -> str:
    """The page with a mark at the first place that names a spec; none twice, nor in headings, nor at names of protocols."""
    if not page.startswith("found/") and page.removesuffix(".md") not in PAGES:
        return html
    seen = {*marks(html)}  # By comments.
    headings = [match.span() for match in _HEADING.finditer(html)]

    def mark(match: re.Match[str]) -> str:
        name, text = match["name"], match["text"]
        is_heading = any(begin <= match.start() < end for begin, end in headings)
        is_protocol = name in PROTOCOLS and not text.startswith("acked ")
        if name in seen or name not in named() or is_heading or is_protocol:
            return match[0]
        seen.add(name)
        return f'<code data-check="{name}">{text}</code>'

    return _CODE.sub(mark, html)


def marks(html: str) -> list[str]:
    """The specs that a page of the site can check."""
    return re.findall(r'data-check="([^"]+)"', html)


def with_marks(markdown: str) -> str:
    """The text of a page with what is to be checked where a comment says so."""
    return _MARK.sub(lambda match: f'<p><code data-check="{match["name"]}">acked check {match["name"]}</code></p>', markdown)


def toys(folder: Path) -> Iterator[Built]:
    """The protocol of the tutorial with and without its fix, at every size, written into a folder."""
    files = {match["name"]: match["body"] for match in FILE.finditer((ROOT / "docs" / "tutorial.md").read_text("utf-8"))}
    for name in ("toylog", "toylog-fixed"):
        place = folder / name
        place.mkdir()
        text = files["toylog.py"]
        for old, new in MENDED if name == "toylog-fixed" else ():
            if old not in text:
                raise ConfigurationError(f"docs/tutorial.md has no {old!r} in toylog.py any more; change MENDED")
            text = text.replace(old, new)
        (place / "toylog.py").write_text(text, encoding="utf-8")
        (place / f"{name}.toml").write_text(files["toylog.toml"], encoding="utf-8")
        spec = load_spec(place / f"{name}.toml")
        for values in product(*TOY.values()):
            yield _toy(spec, dict(zip(TOY, values, strict=True)))


def _toy(spec: Spec, constants: dict[str, int]) -> Built:
    is_written = constants.items() <= spec.constants.items()
    changed = replace(spec, expect=None) if is_written else change_spec(spec, constants, deadlock=False)
    size = "" if is_written else "".join(f"-{value}" for value in constants.values())
    shown = {name: str(value) for name, value in constants.items()}
    return Built(replace(changed, name=f"{spec.name}{size}"), ({"toy": spec.name, **shown},))


def write(site: Path) -> None:
    """Writes what the pages of the built site fetch; `modules.FOLDER` of it."""
    families = playground.families()
    with tempfile.TemporaryDirectory() as folder:
        others = [*toys(Path(folder)), *(item for _, members in families for item in members)]
        built = [*map(Built.of, named().values()), *(item for item in others if is_chosen(item.spec.name))]
        known = modules.write(built, site)
    modules.give(site / modules.FOLDER, "playground", [told for told, _ in families if told["first"] in known])


def complaints(site: Path) -> Iterator[str]:
    """A sentence for every spec of a page that is not built, or takes more than `MOST_BYTES` together with the page."""
    shared = sum((site / "assets" / name).stat().st_size for name in ("pages.js", "pages.css"))
    for page in sorted(site.rglob("*.html")):
        text = page.read_text("utf-8")
        for spec in marks(text):
            name = page.relative_to(site).as_posix()
            if not (site / modules.FOLDER / "specs" / f"{spec}.js").is_file():
                yield f"{name} lets readers check {spec}, which is not built; name it in tools/parts/checked.py"
                continue
            taken = len(text.encode()) + shared + modules.loaded_bytes(site, spec)
            if taken > MOST_BYTES:
                yield f"{name} with the module of {spec} takes {taken:,} bytes, and {MOST_BYTES:,} are allowed"
