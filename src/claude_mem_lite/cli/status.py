"""status: print the state of the installation."""

import typer

from claude_mem_lite.cli import standing
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import print_json


@app.command()
def status(*, as_json: AsJson = False) -> None:
    """Show the services, the queue, what is remembered and the hooks; 1 when something is wrong."""
    from claude_mem_lite.services.state import state

    found = state()
    if as_json:
        print_json(found)
    else:
        standing.show(found)
    if found["problems"]:
        raise typer.Exit(1)
