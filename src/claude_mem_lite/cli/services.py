"""up, down, restart and status: start, stop and show the services."""

import dataclasses
from typing import Annotated

import typer

from claude_mem_lite.capture import inbox
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Quiet
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line, print_warning, working

_TOLD = {
    "": "Services are already running.",
    "started": "Services started.",
    "replaced": "Services restarted, with this code and this environment.",
}
WithKey = Annotated[
    bool, typer.Option("--with-key", help="Use this shell's API key and base URL for this run.")
]


@app.command()
def up(*, with_key: WithKey = False, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Start the services and wait until they answer."""
    from claude_mem_lite.services import memory_state, supervise
    from claude_mem_lite.storage import rebuild

    now = inbox.utc_now()
    with working("starting", quiet=quiet or as_json):
        started = supervise.up(with_key=with_key)
    key = memory_state.about_key()
    open_memory(read_only=True)
    rebuilt = rebuild.state()
    told = {
        "started": bool(started), "replaced": started == "replaced", "key": key,
        "rebuild": dataclasses.asdict(rebuilt) if rebuilt else None,
    }  # fmt: skip
    if not print_json(told, as_json=as_json) and not quiet:
        console.print(_TOLD[started])
        print_line(key)
        if rebuilt and (rebuilt.left or rebuilt.at >= now):
            said = f"{rebuilt.told}. To forget them instead: claude-mem forget --since {rebuilt.since[:19]}Z"
            print_warning(said)


@app.command()
def down(*, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Finish the current work and stop the services."""
    from claude_mem_lite.services import supervise

    with working("stopping", quiet=quiet or as_json):
        stopped = supervise.down()
    if not print_json({"stopped": stopped}, as_json=as_json) and not quiet:
        console.print("Services stopped." if stopped else "Services were not running.")


@app.command()
def restart(*, with_key: WithKey = False, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Stop the services and start them again, with this code and this environment."""
    from claude_mem_lite.services import memory_state, supervise

    with working("restarting", quiet=quiet or as_json):
        supervise.down()
        supervise.up(with_key=with_key)
    if not print_json({"restarted": True}, as_json=as_json) and not quiet:
        console.print("Services restarted.")
        print_line(memory_state.about_key())


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the services, the queue, the memory and the hooks; exit 1 if there is a problem."""
    from claude_mem_lite.cli import standing
    from claude_mem_lite.services.state import state

    found = state()
    if not print_json(found, as_json=as_json):
        standing.show(found)
    if found["problems"]:
        raise typer.Exit(1)
