"""The command `list`. What it lists is imported where it is not known from before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from acked.asking.kept_text import kept_text
from acked.reports.shell.completion import completions, known_releases
from acked.reports.shell.options import CONTROL_PLANE, shows_without_progress
from acked.reports.shell.output import Output

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _parts(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from acked.asking.listing import PARTS
    from acked.model.catalogue import PROTOCOLS

    return completions((*PARTS, *PROTOCOLS), incomplete)


@click.command("list", short_help="List protocols, properties, constants, specs or findings.")
@click.argument("what", default="all",
                shell_complete=_parts)  # fmt: skip
@click.argument("words", nargs=-1, metavar="[WORD]…")
@click.option("--names", is_flag=True, help="Names only, one a line.")
@click.option("--version", "--kafka-version", "version", metavar="V", shell_complete=known_releases,
              help="With a protocol: its constants as in this release of Kafka.")  # fmt: skip
@CONTROL_PLANE.under("control_plane")
@shows_without_progress
def list_(
    what: str, words: tuple[str, ...], names: bool, version: str | None, control_plane: str | None, output: Output
) -> None:
    """List protocols, invariants, constants or bundled specs, with their docs, or what was found in Kafka.

    WHAT is one of protocols, invariants (or properties), constants, specs, all, found, or the name of a protocol. With
    WORDs only what has all of them in its name, title or promise; a WORD such as 'claims/*' is a pattern of names.

    \b
    acked list specs acks loses               the bundled specs about both words
    acked list specs 'claims/*' --names       the names of the claims, one a line
    acked list found                          losses of today's Kafka: releases, commands, pages
    acked list kip320                         a protocol's constants, actions and properties
    acked list partition --kafka-version 2.1  which rules and defaults that release has, and why
    """
    asked = ["list", what, words, names, version, control_plane, output.form]
    click.echo(kept_text(asked, lambda: _list(what, words, names, version, control_plane, output)), nl=False, color=True)


def _list(
    what: str, words: tuple[str, ...], names: bool, version: str | None, control_plane: str | None, output: Output
) -> None:
    from acked.asking.listing import Filter, check_what, listing_document, names_with, print_listing, release_listing

    check_what(what, version, control_plane)
    what = "invariants" if what == "properties" else what
    if (version or control_plane) and not names:
        document, show = release_listing(what, version, control_plane)
        output.emit(lambda: document, show)
        return
    found = names_with(what, words) if names or words else []
    if names:
        output.emit(lambda: found, lambda console: click.echo("\n".join(found)))
    else:
        chosen = Filter(words)
        output.emit(lambda: listing_document(what, chosen), lambda console: print_listing(console, what, chosen))
