"""up, down and restart."""

from __future__ import annotations

from claude_mem_lite.cli.app import AsJson, Quiet, app, console, print_json, working


@app.command()
def up(*, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Start the services and wait until they answer."""
    from claude_mem_lite.services import supervise

    with working("starting", quiet=quiet or as_json):
        started = supervise.up()
    if as_json:
        print_json({"started": started})
    elif not quiet:
        console.print("Services started." if started else "Services are running already.")


@app.command()
def down(*, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Stop the services, finishing the work in hand."""
    from claude_mem_lite.services import supervise

    with working("stopping", quiet=quiet or as_json):
        stopped = supervise.down()
    if as_json:
        print_json({"stopped": stopped})
    elif not quiet:
        console.print("Services stopped." if stopped else "Services were not running.")


@app.command()
def restart(*, quiet: Quiet = False, as_json: AsJson = False) -> None:
    """Stop the services and start them again, with this version and this environment."""
    from claude_mem_lite.services import supervise

    with working("restarting", quiet=quiet or as_json):
        supervise.down()
        supervise.up()
    if as_json:
        print_json({"restarted": True})
    elif not quiet:
        console.print("Services restarted.")
