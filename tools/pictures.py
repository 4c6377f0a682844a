"""Draws the pictures of README from real runs: `python tools/pictures.py`."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

WIDTH = 100

# rich's own template fetches a font from the network; a picture in a repository should not.
TEMPLATE = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>{title_text}</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
  line-height: {line_height}px; font-variant-east-asian: full-width; }}
.{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 14px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


def main() -> None:
    """Writes every picture."""
    from acked.checker.question.result import Counterexample
    from acked.checker.search.local import Bounds, search
    from acked.checker.spec.spec import load_spec
    from acked.reports.runs.terminal import print_trace
    from acked.reports.runs.view import view_of

    spec = load_spec(ROOT / "specs" / "truncate-to-hw.toml")
    result = search(spec.question(), Bounds(workers=1))
    violation = result.violations[0]
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", markup=False,
        emoji=False, highlight=False,
    )  # fmt: skip
    print_trace(console, view_of(Counterexample.of(spec.title, result.question, violation)))
    title = "acked check truncate-to-hw"
    picture = console.export_svg(
        title=title, code_format=TEMPLATE.replace("{title_text}", title), unique_id="acked", font_aspect_ratio=0.61
    )
    target = ROOT / "docs" / "truncate-to-hw.svg"
    target.write_text(picture, encoding="utf-8")
    print(f"{target.relative_to(ROOT)}: {len(picture) // 1024} KiB")


if __name__ == "__main__":
    main()
