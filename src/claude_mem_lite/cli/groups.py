"""Define the groups of commands that several modules add to: `eval` and `import`."""

import typer

evaluate = typer.Typer(no_args_is_help=True, help="Measure how well the memory does.")

# A group, not a command with a FILE: what else there is to import has a name of its own beside `memory`, and
# no file can be mistaken for it.
imports = typer.Typer(no_args_is_help=True, help="Take in what was remembered elsewhere.")
