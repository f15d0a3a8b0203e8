"""learnings guard and guards: switch on and list rules that are checked on tool calls."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import console, errors, open_memory, print_json, print_line
from claude_mem_lite.cli.text import ID_CHARS, age, printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.text import count, one_line

if TYPE_CHECKING:
    from claude_mem_lite.capture.guards import Guard
    from claude_mem_lite.storage.models import Learning

_THEN = {
    "remind": "Claude reads the rule with the call's result (--ask: you are asked before it runs)",
    "ask": "Claude Code asks you before it runs",
}
# A rule may mean more than its words show.
_NOT_SO = " (to look for something else: --command, --file, --text, --message)"
_SHOWN, _CALL_CHARS = 10, 100

Id = Annotated[str, typer.Argument(metavar="ID", help="The id, or its first 6 characters or more.")]


def sync() -> None:
    """Register the guard hook while a guard is on; warn on stderr if no guard can work."""
    from claude_mem_lite.services import install

    try:
        why = install.sync_guard()
    except ClaudeMemError as error:
        why = str(error)
    if why:
        errors.print(Text(f"No guard works yet: {why}", style="yellow"))


def guard(  # noqa: PLR0913  (each is an option of the command)
    learning_id: Id,
    *,
    command: Annotated[
        list[str] | None,
        typer.Option("--command", metavar="TEXT", help="Look for this command, such as `git push`."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option("--without", metavar="WORD", help="… with this in it.")
    ] = None,
    needs: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="WORD", help="… without this; `-n|--name` accepts either."),
    ] = None,
    file: Annotated[
        list[str] | None, typer.Option("--file", metavar="GLOB", help="Look for changes to these files.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", metavar="TEXT", help="Look for edits that add this text.")
    ] = None,
    message: Annotated[
        str, typer.Option(metavar="REGEX", help="Look for commits whose first line does not match this.")
    ] = "",
    ask: Annotated[
        bool | None, typer.Option("--ask/--remind", help="Ask you first, or only remind Claude.")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="Switch the guard off.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the past calls that it would have caught.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a rule before each command and edit; the guard reminds or asks, and never denies.

    What to look for is taken from the rule's words, unless options give it.
    The rule is your own from then on.
    """
    from claude_mem_lite.capture.guards import ASK, REMIND
    from claude_mem_lite.learnings import curate, guarding
    from claude_mem_lite.storage import learnings as learning_rows
    from claude_mem_lite.storage import projects

    described = any((command, without, needs, file, text, message))
    if off and (dry_run or described or ask is not None):
        raise typer.BadParameter("--off takes no other option")
    if os.environ.get("CLAUDECODE") and not dry_run:
        raise ClaudeMemError("only you can switch a guard: run this in a shell outside of Claude Code")
    open_memory(read_only=dry_run)
    row = learning_rows.get(learning_id)
    short = row.id[:ID_CHARS]
    if off:
        curate.guard(row, None)
        sync()
        print_json(_entry(row), as_json=True) if as_json else console.print(f"{short} no longer has a guard")
        return
    project_dir = row.project_dir or projects.of()
    if described:
        wanted = guarding.given(
            message,
            commands=command or (),
            without=without or (),
            needs=needs or (),
            files=file or (),
            texts=text or (),
        )
    else:
        wanted = guarding.guard_of(row) if row.guard else guarding.understood(row, project_dir)
    if ask is not None:
        wanted.mode = ASK if ask else REMIND
    past, calls = guarding.noticed(wanted, project_dir)
    if not dry_run:
        curate.guard(row, wanted)
        sync()
    shown = [{"at": at, "call": call.line or call.file, "because": found} for at, call, found in past]
    entry = {**_entry(row, wanted, is_on=not dry_run), "past_calls": calls, "noticed": shown}
    if print_json(entry, as_json=as_json):
        return
    lines = [
        f"{short}  {row.content}",
        f"{'would look for' if dry_run else 'looks for'}: {wanted.says}{'' if described else _NOT_SO}",
        f"then: {_THEN[wanted.mode]}",
        f"would have noticed {len(past)} of {count(calls, 'past call')}",
        *(f"  {age(at, time.time())}  {one_line(found, _CALL_CHARS)}" for at, _, found in past[:_SHOWN]),
    ]
    if not dry_run:
        lines.append(
            f"applies to sessions that start from now on; to end it: claude-mem learnings guard {short} --off"
        )
    for line in lines:
        print_line(printable(line))


def guards(*, as_json: AsJson = False) -> None:
    """List this project's rules that have or could have a guard, with what the guard looks for."""
    from claude_mem_lite.learnings import guarding
    from claude_mem_lite.storage import projects

    open_memory(read_only=True)
    here = projects.of()
    on = [(row, guarding.guard_of(row), True) for row in guarding.on(here)]
    found = [*on, *((row, guard, False) for row, guard in guarding.possible(here))]
    if print_json([_entry(row, guard, is_on=is_on) for row, guard, is_on in found], as_json=as_json):
        return
    for row, guard, is_on in found:
        told = Text.assemble((row.id[:ID_CHARS], "yellow"), f"  {guard.mode if is_on else 'off':<6}  ")
        told.append(printable(row.content)).append(f"  ({printable(guard.says)})", style="dim")
        console.print(told)
    if len(found) > len(on):
        console.print("[dim]to switch one on: claude-mem learnings guard ID; --dry-run shows it first[/dim]")
    if not found:
        console.print("No rule of this project has a guard, and none names anything that a tool call shows.")


def _entry(row: Learning, guard: Guard | None = None, *, is_on: bool = False) -> dict[str, Any]:
    fields = {"guard": guard.as_json(), "says": guard.says} if guard else {"guard": None, "says": ""}
    return {"id": row.id, "content": row.content, **fields, "is_on": is_on}
