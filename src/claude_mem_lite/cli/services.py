"""up, down and restart."""

from __future__ import annotations

from claude_mem_lite.cli.app import Quiet, app, console, working


@app.command()
def up(*, quiet: Quiet = False) -> None:
    """Start the services and wait until they answer."""
    from claude_mem_lite.services import supervise

    with working("starting", quiet=quiet):
        started = supervise.up()
    if not quiet:
        console.print("Services started." if started else "Services are running already.")


@app.command()
def down(*, quiet: Quiet = False) -> None:
    """Stop the services, finishing the work in hand."""
    from claude_mem_lite.services import supervise

    with working("stopping", quiet=quiet):
        stopped = supervise.down()
    if not quiet:
        console.print("Services stopped." if stopped else "Services were not running.")


@app.command()
def restart(*, quiet: Quiet = False) -> None:
    """Stop the services and start them again, with this version and this environment."""
    from claude_mem_lite.services import supervise

    with working("restarting", quiet=quiet):
        supervise.down()
        supervise.up()
    if not quiet:
        console.print("Services restarted.")
