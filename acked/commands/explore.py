"""The command `explore`: the page in which one walks through the states, from a local server or as a file."""

from __future__ import annotations

import signal
import threading
import webbrowser
from pathlib import Path

import click

from acked.base.errors import ConfigurationError
from acked.base.files import check_writable, write_text
from acked.checker.wasm.script import explorer_script
from acked.explorer.server import ExplorerServer, page_of
from acked.explorer.session import Walk
from acked.reports.pages.exploring import explorer_page
from acked.reports.shell.options import AskedSpec, asks_spec
from acked.reports.shell.output import say


@click.command(short_help="Walk through the states in a browser.")
@asks_spec
@click.option("--out", "-o", type=click.Path(path_type=Path), metavar="FILE",
              help="Write the page as a file that needs no server.")  # fmt: skip
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; default: any that is free.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the default browser.")
def explore(asked: AskedSpec, out: Path | None, port: int, opens: bool) -> None:
    """Walk through the states of SPEC in a browser: choose an enabled action, go back, branch, see why others are disabled.

    States are computed when they are looked at, so every spec starts at once. The server listens on this machine only and
    answers only requests with the token in the address that it prints. Ctrl-C ends it.

    With --out the page is one file that needs no server and no network, to be sent to others: it has everything in it, and
    searches in the reader's browser.

    \b
    acked explore kip320 --open
    acked explore kip320 --out kip320.html
    """
    if out is not None and (port or opens):
        raise ConfigurationError("--out writes a page that needs no server; leave out --port and --open")
    check_writable(out, "page")
    spec = asked.load()
    question = spec.question()
    if out is not None:
        write_text(out, explorer_page(spec.title, asked.name, question, {"search": explorer_script(question)}), "page")
        say(f"the page is {out} ({out.stat().st_size / 1e6:.2f} MB); open it in a browser")
        return
    walk = Walk(spec.title, question, asked.name)
    with ExplorerServer(port, walk, lambda token: page_of(walk, token)) as server:
        _end_at_signals(server)
        click.echo(server.address)
        say("open this address in a browser; Ctrl-C ends the server")
        if opens:
            # Beside the server, because some browsers are waited for.
            threading.Thread(target=webbrowser.open, args=(server.invite(),), daemon=True).start()
        server.serve_forever(poll_interval=0.2)
    say("closed")


def _end_at_signals(server: ExplorerServer) -> None:
    def end(*_: object) -> None:
        # `shutdown` waits for the loop that this very thread runs.
        threading.Thread(target=server.shutdown, daemon=True).start()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
