"""export and import: write the memory as JSON Lines, and read it back."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from claude_mem_lite import keys
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.groups import imports
from claude_mem_lite.cli.guards import sync
from claude_mem_lite.cli.options import AsJson, OnlyProject
from claude_mem_lite.cli.output import open_memory, print_json, print_line, print_warnings, working
from claude_mem_lite.cli.text import added_told
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count

if TYPE_CHECKING:
    from claude_mem_lite.upkeep.exchange import TakenIn


app.add_typer(imports, name="import")


@app.command()
def export(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Where to; -, or none: print it.")] = "-",
    *,
    project: OnlyProject = "",
) -> None:
    """Write what is remembered as text: sessions, observations, learnings, failures, history, calls, costs.

    One JSON object a line, each with its "kind"; the same memory gives the same bytes.
    """
    from claude_mem_lite.forget import marking
    from claude_mem_lite.upkeep import exchange, outfile

    open_memory(read_only=True)
    lines = exchange.export(marking.project_of(project) if project else None)
    if file == "-":
        for line in lines:
            sys.stdout.buffer.write(f"{line}\n".encode())
        return
    path, number = os.path.abspath(os.path.expanduser(file)), 0
    with working("exporting", quiet=False), outfile.created(path) as out:
        for number, line in enumerate(lines, 1):  # noqa: B007  (the last is how many there are)
            out.write(f"{line}\n".encode())
    print_line(f"{path}: {count(number, 'line')}.")


@imports.command("memory")
def import_memory(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A file that claude-mem export wrote; - for stdin.")
    ],
    *,
    guards: Annotated[
        bool, typer.Option("--guards", help="These are your own rules: their guards hold here, too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Take in what [bold]claude-mem export[/bold] has written; what is there already stays as it is.

    A line that is wrong is named and left out. Learnings that look suspicious wait for you.
    """
    if guards:
        keys.refuse_session("which guards hold")
    from claude_mem_lite.distill.suspicion import suspicions
    from claude_mem_lite.upkeep import exchange, lines

    path = "-" if file == "-" else os.path.abspath(os.path.expanduser(file))
    if path != "-" and (os.path.isdir(path) or not os.path.exists(path)):  # it may be a pipe
        raise ClaudeMemError(f"there is no file {path}")
    open_memory(may_be_new=True)
    try:
        with working("taking it in", quiet=as_json) as spinner:
            file_in = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115  (closed below)
            with file_in:
                taken = exchange.take_in(
                    lines.read(file_in),
                    # Nobody can vouch for a file: it is not the user who says so, even if it says that.
                    suspicions=lambda content: suspicions(content, origin="assistant"),
                    progress=lambda number: spinner(f"taking it in, {number} lines"),
                    with_guards=guards,
                )
    except ClaudeMemError as error:
        raise ClaudeMemError(f"{path}: {error}") from error
    if taken.added:
        inbox.ask_for_vectors()
    if guards:
        sync()
    _print_taken(taken, as_json=as_json)
    if taken.wrong:
        raise typer.Exit(1)


def _print_taken(taken: TakenIn, *, as_json: bool) -> None:
    if as_json:
        print_json({
            "added": dict(taken.added), "there": dict(taken.there), "waiting": taken.waiting,
            "unguarded": taken.unguarded,
            "wrong": [{"line": number, "error": reason} for number, reason in taken.wrong],
        })  # fmt: skip
    else:
        print_line(added_told(taken.added, taken.there))
        if taken.waiting:
            waits = f"{count(taken.waiting, 'learning')} for you: claude-mem learnings list -a --quarantine"
            print_line(f"waiting {waits}")
        if taken.unguarded:
            off = f"{count(taken.unguarded, 'guard')} left off: claude-mem learnings guard ID, or import with"
            print_line(f"{off} --guards if the rules are yours")
        print_warnings([f"line {number}: {reason}" for number, reason in taken.wrong])


from claude_mem_lite.cli import auto_memory, original, transcripts  # noqa: E402, F401  (they add theirs to `import`)
