"""Makes the pictures of the pages in docs/ from real runs, in a real browser.

    python tools/screenshots.py                 all of them
    python tools/screenshots.py viewer phone    some of them
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

WIDTH, HEIGHT = 1360, 800


def main() -> None:
    """Writes the pictures that are named, or every one."""
    made = (viewer, side_by_side, phone, explorer, gallery, reproduction)
    pictures = {picture.__name__.replace("_", "-"): picture for picture in made}
    names = sys.argv[1:] or list(pictures)
    if unknown := [name for name in names if name not in pictures]:
        raise SystemExit(f"there is no picture {', '.join(unknown)}; choose from {', '.join(pictures)}")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
        browser = playwright.chromium.launch(executable_path=found, args=[] if os.geteuid() else ["--no-sandbox"])
        for name in names:
            pictures[name](browser, Path(folder))
        browser.close()


def opened(browser: Browser, address: str, width: int = WIDTH, height: int = HEIGHT, scheme: str = "light") -> Page:
    """A page that is ready."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(address)
    page.wait_for_selector("main")
    return page


def keep(page: Page, name: str, full: bool = False) -> None:
    """Saves what the page shows."""
    target = ROOT / "docs" / f"{name}.png"
    # Few colours are enough for text, and keep the repository small.
    shot = Image.open(io.BytesIO(page.screenshot(full_page=full))).convert("RGB")
    shot.quantize(256, dither=Image.Dither.NONE).save(target, optimize=True)
    print(f"{target.relative_to(ROOT)}: {target.stat().st_size // 1024} KiB")
    page.close()


def page_of(folder: Path, *arguments: str) -> str:
    """A page that the command made."""
    from acked.cli import main as run

    target = folder / f"{'-'.join(arguments).strip('-')}.html"
    if run(["view", *arguments, "--out", str(target), "--quiet"]):
        raise SystemExit(f"acked view {' '.join(arguments)} failed")
    return target.as_uri()


def viewer(browser: Browser, folder: Path) -> None:
    """The last step of truncate-to-hw."""
    page = opened(browser, page_of(folder, "truncate-to-hw"), height=1120)
    page.keyboard.press("End")
    page.locator("details[data-action=LeaderExpandIsr] summary").click()
    page.mouse.move(0, 0)
    page.evaluate("scrollTo(0, 0)")
    keep(page, "viewer")


def side_by_side(browser: Browser, folder: Path) -> None:
    """A run beside itself under kip320, in the dark."""
    page = opened(browser, page_of(folder, "truncate-to-hw", "--against", "kip320"), scheme="dark")
    page.keyboard.press("End")
    keep(page, "side-by-side")


def phone(browser: Browser, folder: Path) -> None:
    """A phone's width."""
    page = opened(browser, page_of(folder, "kip101"), width=390, height=1500)
    page.keyboard.press("End")
    keep(page, "phone")


def explorer(browser: Browser, folder: Path) -> None:
    """kip320 explored: the nearest state in which a follower has a committed record."""
    from acked.explorer.server import ExplorerServer, page_of
    from acked.explorer.session import Walk
    from acked.reports.shell.specs import find_spec

    spec = find_spec("kip320")
    with ExplorerServer(0, Walk(spec.title, spec.question()), lambda token: page_of(walk, token)) as server:
        walk = server.walk
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        page = opened(browser, server.address, height=900)
        page.locator("[data-key=predicate]").fill("replica[1].hw == 1 and quorum.leader == 1")
        page.locator("[data-key=predicate]").press("Enter")
        page.get_by_text("steps away").wait_for(timeout=120_000)
        page.evaluate("document.activeElement.blur()")
        keep(page, "explorer")
        server.shutdown()
        thread.join()


def gallery(browser: Browser, folder: Path) -> None:
    """The gallery's front page, of the replication family."""
    from acked.cli import main as run

    site = folder / "site"
    if run(["gallery", "--out", str(site), "--quiet", "--select", "*promises", "--select", "expand-*", "--select", "kip320"]):
        raise SystemExit("acked gallery failed")
    keep(opened(browser, (site / "index.html").as_uri()), "gallery")


def reproduction(browser: Browser, folder: Path) -> None:
    """KAFKA-7415 on real brokers, at the step where the fixed release goes another way; needs Java and the jars."""
    from acked.cli import main as run

    target = folder / "reproduction.html"
    asked = ["kafka7415-bug", "--kafka", "2.0.0", "--control", "2.0.1", "--html", str(target), "--quiet"]
    if run(["reproduce", *asked]) != 12:
        raise SystemExit("the counterexample was not reproduced")
    page = opened(browser, f"{target.as_uri()}#step=10", width=1440, height=860)
    page.locator("main").evaluate("main => scrollTo(0, main.getBoundingClientRect().top - 110)")
    keep(page, "reproduction")


if __name__ == "__main__":
    main()
