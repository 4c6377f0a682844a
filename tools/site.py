"""What mkdocs calls while it builds the site: pages from outside docs/, made parts, and links to files that are not pages."""

from __future__ import annotations

import logging
import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

_log = logging.getLogger("mkdocs.acked")

OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "SECURITY.md": "SECURITY.md",
    "benchmarks/peers.md": "peers.md",
}
"""Pages that lie elsewhere in the repository, and what the site calls them."""

LINK = re.compile(r"(?P<bang>!?)\[(?P<text>[^][]*(?:\[[^][]*\][^][]*)*)\]\((?P<target>[^()\s]+)\)")
FENCE = re.compile(r"^(?P<fence> *(?:```|~~~)).*?^(?P=fence)[ ]*$", re.MULTILINE | re.DOTALL)
PREFORMATTED = re.compile(r"(<pre\b.*?</pre>)", re.DOTALL)
BREAK = re.compile(r"\n\s+")
FILE = re.compile(r"^<!-- file: (?P<name>\S+) -->\n+```(?P<language>\w+)", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from outside docs/."""
    from mkdocs.structure.files import File

    from tools.parts import modules

    for source, name in OUTSIDE.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text("utf-8")))
    files.append(File.generated(config, "assets/pages.js", content=modules.script()))
    files.append(File.generated(config, "assets/pages.css", content=(modules.WEB / "pages.css").read_text("utf-8")))
    return files


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with the specs marked that can be checked in the reader's browser."""
    from tools.parts import checked

    return checked.marked(html, page.file.src_uri)


def on_page_context(context: Any, page: Page, config: MkDocsConfig, nav: Any) -> None:
    """Leaves the traces of the claims out of the list of headings, which a page has twice: their table leads to them."""
    if page.file.src_uri == "claims.md":
        for chapter in page.toc.items:
            for heading in chapter.children:
                heading.children.clear()


def on_post_build(config: MkDocsConfig) -> None:
    """Adds the modules with which pages check specs; what is wrong then, or too large, is a warning."""
    from tools.parts import checked

    checked.write(Path(config.site_dir))
    for complaint in checked.complaints(Path(config.site_dir)):
        _log.warning(complaint)


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page's text with links as the site needs them, and files named above their listings."""
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation"]  # Its tables are the navigation.
    from tools.made import whole
    from tools.parts import checked

    here = page.file.src_uri
    place = {name: source for source, name in OUTSIDE.items()}.get(here, f"docs/{here}")
    text = with_links(checked.with_marks(whole(markdown)), lambda match: _link(match, place, here))
    return FILE.sub(r'```\g<language> title="\g<name>"', text)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """The page without indentation, with a name for the search's dialog, which the theme leaves without one."""
    pieces = PREFORMATTED.split(output.replace('role="dialog"', 'role="dialog" aria-label="Search"'))
    return "".join(piece if piece.startswith("<pre") else BREAK.sub("\n", piece) for piece in pieces)


def with_links(text: str, link: Callable[[re.Match[str]], str]) -> str:
    """The text with every link replaced; what is in fences stays as it is."""
    made, at = "", 0
    for fence in FENCE.finditer(text):
        made += LINK.sub(link, text[at : fence.start()]) + fence[0]
        at = fence.end()
    return made + LINK.sub(link, text[at:])


def _link(match: re.Match[str], place: str, here: str) -> str:
    """The link as the page `here` of the site has it; `place` is the page in the repository."""
    path, mark, anchor = match["target"].partition("#")
    if not path or ":" in path:
        return match[0]
    meant = posixpath.normpath(posixpath.join(posixpath.dirname(place), path))
    if meant in OUTSIDE:
        meant = OUTSIDE[meant]
    elif meant.startswith("docs/"):
        meant = meant.removeprefix("docs/")
    else:
        return match["text"]  # A file of the repository, which the site does not have; the tests look whether it is there.
    return f"{match['bang']}[{match['text']}]({posixpath.relpath(meant, posixpath.dirname(here) or '.')}{mark}{anchor})"
