"""sync: share one memory between a user's machines through a hub."""

import dataclasses
import socket
from typing import Annotated

import typer

from claude_mem_lite import keys
from claude_mem_lite.cli import hubs
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Quiet, Yes
from claude_mem_lite.cli.output import (
    confirmed,
    console,
    open_memory,
    print_json,
    print_line,
    print_warnings,
    working,
)
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.sync.setup import Outcome
from claude_mem_lite.text import count

sync = typer.Typer(help="Share one memory among your machines.", invoke_without_command=True)
app.add_typer(sync, name="sync")


@sync.callback()
def sync_now(
    context: typer.Context,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print every line that would be sent, and send none.")
    ] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fetch what your other machines and your team share, and send what is new here.

    It also runs by itself as a session starts or ends, and every few minutes.
    """
    if context.invoked_subcommand is not None:
        return

    open_memory(may_be_new=True)
    if dry_run:
        _print_lines(as_json=as_json)
        return
    with working("syncing", quiet=quiet or as_json):
        outcome, shared, trouble = _sync_all()
    if trouble and not (outcome or shared):
        raise trouble
    team = {"team": dataclasses.asdict(shared)} if shared else {}
    is_silent = print_json((dataclasses.asdict(outcome) if outcome else {}) | team, as_json=as_json) or quiet
    if outcome and not is_silent:
        said = f"{count(outcome.sent, 'line')} sent, {count(outcome.taken, 'line')} new here"
        said += f", {count(outcome.forgotten, 'row')} forgotten" if outcome.forgotten else ""
        console.print(f"{said}.")
        print_warnings(hubs.problems_in(outcome))
    if shared and not is_silent:
        console.print(f"Team: {count(shared.sent, 'line')} sent, {count(shared.taken, 'line')} new here.")
        print_warnings(hubs.problems_in(shared))
    if trouble:
        raise trouble


def _hubs() -> tuple[bool, bool]:
    """Return whether to sync with the user's hub and a team's; with neither, the user's, which reports it."""
    from claude_mem_lite.sync import setup

    has_team = setup.is_set_up(setup.TEAM)
    return setup.is_set_up() or not has_team, has_team


def _sync_all() -> tuple[Outcome | None, Outcome | None, ClaudeMemError | None]:
    """Sync with each hub, even if the other one fails; return both outcomes and the first error."""
    from claude_mem_lite.cli import guards
    from claude_mem_lite.services import supervise
    from claude_mem_lite.sync import run
    from claude_mem_lite.sync.team import run as team_run

    has_own, has_team = _hubs()
    outcome, shared, trouble = None, None, None
    try:
        outcome = run.sync(paused=supervise.paused) if has_own else None
    except ClaudeMemError as error:
        trouble = error
    try:
        shared = team_run.sync() if has_team else None
    except ClaudeMemError as error:
        trouble = trouble or error
    if outcome and outcome.taken:
        guards.sync()
    return outcome, shared, trouble


def _print_lines(*, as_json: bool) -> None:
    from claude_mem_lite.sync import run
    from claude_mem_lite.sync.team import run as team_run

    has_own, has_team = _hubs()
    found = [*(run.to_send() if has_own else ()), *(team_run.to_send() if has_team else ())]
    for line in () if print_json(found, as_json=as_json) else found:
        typer.echo(line)


@sync.command("init")
def init(
    hub: Annotated[
        str, typer.Argument(metavar="HUB", help="folder:PATH, git:URL, git:PATH#BRANCH or postgres:URL.")
    ],
    *,
    code: Annotated[str, typer.Option(metavar="CODE", help="The code that your first machine printed.")] = "",
    name: Annotated[
        str, typer.Option(metavar="NAME", help="A name for this machine; default: its host name.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Set up a hub: a folder shared between your machines, a git repository or a PostgreSQL database.

    All of your memory goes there, redacted once more.
    [bold]claude-mem sync --dry-run[/bold] shows it first.
    """
    keys.refuse_session("where your memory is sent")
    from claude_mem_lite.sync import run

    open_memory(may_be_new=True)
    chosen = run.begin(hub, name=name or socket.gethostname(), code=code)
    if print_json(dataclasses.asdict(chosen), as_json=as_json):
        return
    print_line(f"{chosen.hub} is set up. Nothing is sent yet; to send your memory: claude-mem sync")
    if not code:
        joins = f"claude-mem sync init HUB --code {chosen.code}"
        print_line(f"On your other machines: {joins}")
        console.print("Keep the code secret: anyone with it and the hub counts as one of your machines.")


@sync.command("status")
def status(*, as_json: AsJson = False) -> None:
    """Show the hub, its machines, and how the last sync went."""
    from claude_mem_lite.sync import run, setup

    chosen = setup.load()
    if chosen is None:
        if not print_json({"hub": ""}, as_json=as_json):
            console.print("No hub is set up: claude-mem sync init folder:PATH or git:REPOSITORY")
        return
    open_memory(may_be_new=True)
    found = run.overview(chosen)
    if print_json(found, as_json=as_json):
        return
    print_line(f"{found['hub']}, as {printable(found['name'])}")
    last = found["last"]
    console.print(f"last synced: {hubs.synced(last)}; {count(found['waiting'], 'change')} to send")
    for name in found["machines"]:
        print_line(f"with {printable(name)}")
    print_warnings(hubs.problems_of(last, found["error"]))


@sync.command("leave")
def leave(
    *,
    erase: Annotated[
        bool, typer.Option("--erase", help="Remove what this machine has published from the hub.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Leave the hub; the memory here stays, and so does what was published, unless you say --erase."""
    from claude_mem_lite.sync import run

    if erase:
        confirmed(
            "This removes what this machine published from the hub. "
            "What no other machine has synced stays on this one only.",
            yes=yes,
        )
    open_memory(may_be_new=True)
    run.leave(erase=erase)
    if not print_json({"left": True, "erased": erase}, as_json=as_json):
        console.print("This machine has left the hub; its memory stays as it is.")
