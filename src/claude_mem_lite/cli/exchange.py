"""export and import: write the memory as JSON Lines, read it back, and import Claude Code's own notes."""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import typer

from claude_mem_lite import keys
from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import app, imports
from claude_mem_lite.cli.guards import sync
from claude_mem_lite.cli.options import AsJson, OnlyProject, Project
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line, print_warnings, working
from claude_mem_lite.cli.text import added_told
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count

if TYPE_CHECKING:
    from claude_mem_lite.upkeep.exchange import TakenIn


app.add_typer(imports, name="import")


@app.command()
def export(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help='The output file; "-" (default) prints it.')
    ] = "-",
    *,
    project: OnlyProject = "",
) -> None:
    """Export the memory as JSON Lines: sessions, observations, learnings, failures, history, calls, costs.

    Each line is an object with a "kind"; the same memory gives the same bytes.
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
    print_line(f"Wrote {path}: {count(number, 'line')}.")


@imports.command("memory")
def import_memory(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help='A file written by claude-mem export; "-" reads stdin.')
    ],
    *,
    guards: Annotated[
        bool, typer.Option("--guards", help="Switch on the guards of these rules, because they are your own.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import what [bold]claude-mem export[/bold] wrote; existing rows stay as they are.

    Invalid lines are reported and skipped. Suspicious learnings await review.
    """
    if guards:
        keys.refuse_session("which guards are on")
    from claude_mem_lite.distill.suspicion import suspicions
    from claude_mem_lite.upkeep import exchange, lines

    path = "-" if file == "-" else os.path.abspath(os.path.expanduser(file))
    if path != "-" and (os.path.isdir(path) or not os.path.exists(path)):  # it may be a pipe
        raise ClaudeMemError(f"there is no file {path}")
    open_memory(may_be_new=True)
    try:
        with working("importing", quiet=as_json) as spinner:
            file_in = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115  (closed below)
            with file_in:
                taken = exchange.take_in(
                    lines.read(file_in),
                    # A file is untrusted: its text is not the user's, even if it claims to be.
                    suspicions=lambda content: suspicions(content, origin="assistant"),
                    progress=lambda number: spinner(f"importing, {number} lines"),
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


@imports.command("auto-memory")
def import_auto_memory(*, project: Project = "", as_json: AsJson = False) -> None:
    """Import your preferences from Claude Code's own notes on this project (entries of kind feedback).

    They become learnings. Each session's end does the same; a learning that
    you removed does not come back.
    """
    from claude_mem_lite.distill import auto_memory
    from claude_mem_lite.forget import marking
    from claude_mem_lite.learnings import client_notes

    open_memory(may_be_new=True)
    project_dir = marking.project_of(project, may_be_new=True)
    folders = auto_memory.folders(project_dir)
    taken = client_notes.take(project_dir)
    actions = Counter(outcome.action for _, outcome in taken.outcomes)
    if actions:
        inbox.ask_for_vectors()
    if print_json({
        "project_dir": project_dir, "folders": folders, "known": taken.known, "others": taken.others,
        "entries": [
            {"file": file, "action": each.action, "id": each.learning_id, "reason": each.reason}
            for file, each in taken.outcomes
        ],
    }, as_json=as_json):  # fmt: skip
        return
    if not folders:
        print_line(f"Claude Code has no notes on {project_dir}.")
        return
    new = actions["inserted"] + actions["contradicted"]
    said = [
        f"{count(new, 'new learning')}" if new else "Nothing new",
        f"imported before: {taken.known}" if taken.known else "",
        f"known already: {known}" if (known := actions["merged"] + actions["known"]) else "",
        f"not of kind feedback: {taken.others}" if taken.others else "",
    ]
    print_line(f"{'; '.join(filter(None, said))}.")
    if waiting := actions["quarantined"]:
        console.print(f"{waiting} waiting for you: claude-mem learnings list --quarantine")


def _print_taken(taken: TakenIn, *, as_json: bool) -> None:
    if not print_json({
        "added": dict(taken.added), "there": dict(taken.there), "waiting": taken.waiting,
        "unguarded": taken.unguarded,
        "wrong": [{"line": number, "error": reason} for number, reason in taken.wrong],
    }, as_json=as_json):  # fmt: skip
        print_line(added_told(taken.added, taken.there))
        if taken.waiting:
            waits = f"{taken.waiting} waiting for you: claude-mem learnings list -a --quarantine"
            print_line(waits)
        if taken.unguarded:
            said = count(taken.unguarded, "guard")
            print_line(f"{said} left off; to switch one on: claude-mem learnings guard ID")
            print_line("to switch on all, because the rules are yours: import with --guards")
        print_warnings([f"line {number}: {reason}" for number, reason in taken.wrong])


from claude_mem_lite.cli import original, transcripts  # noqa: E402, F401  (they add theirs to `import`)
