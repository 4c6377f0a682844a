"""The command `explore`: a local server with the viewer's page, live."""

from __future__ import annotations

import signal
import threading
import webbrowser

import click

from acked.explorer.server import ExplorerServer, page_of
from acked.explorer.session import Walk
from acked.reports.shell.options import AskedSpec, asks_spec
from acked.reports.shell.output import say


@click.command(short_help="Walk through the states in a browser.")
@asks_spec
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port; default: any that is free.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the default browser.")
def explore(asked: AskedSpec, port: int, opens: bool) -> None:
    """Walk through the states of SPEC in a browser: choose an enabled action, go back, branch, see why others are disabled.

    States are computed when they are looked at, so every spec starts at once. The server listens on this machine only and
    answers only requests with the token in the address that it prints. Ctrl-C ends it.

    \b
    acked explore kip320 --open
    """
    spec = asked.load()
    walk = Walk(spec.title, spec.question())
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
