"""Build the Typer application: the tree of commands, each imported when it is called."""

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from claude_mem_lite import __version__, config

# Exit status of a command stopped by Ctrl-C: 128 + SIGINT, as in a shell.
INTERRUPTED = 130
# Panel of the help -> command -> its module and its line in the help.
COMMANDS = {
    "To begin": {
        "install-hooks": ("hooks", "Set up memory for Claude Code, saying first what changes."),
        "uninstall-hooks": ("hooks", "Restore Claude Code's settings; your memory stays."),
        "demo": ("demo", "Show what memory does, on one screen; --mine on your sessions."),
        "import": ("exchange", "Import past sessions and other memories."),
    },
    "What is remembered": {
        "search": ("search", "Search the memory by words and meaning."),
        "browse": ("browse", "Browse the memory in a terminal: search, edit, forget."),
        "context": ("context", "Print what a session would be told now."),
        "why": ("context", "Show where a line came from and which sessions saw it."),
        "report": ("report", "Report on the last days; --html writes a page."),
        "learnings": ("learnings", "List and correct the rules learned from your sessions."),
        "findings": ("findings", "List what keeps failing here and what worked instead."),
        "project": ("projects", "Show, merge, move or switch off projects."),
    },
    "The code": {
        "map": ("code", "Scan a project's sources into the code map."),
        "history": ("code", "List the sessions that changed a function."),
        "callers": ("code", "List the callers of a function."),
        "callees": ("code", "List the functions that a function calls."),
        "mermaid": ("code", "Draw what the last session changed, as Mermaid."),
    },
    "The services": {
        "status": ("services", "Show services, queue, memory, cost and problems."),
        "up": ("services", "Start the services."),
        "down": ("services", "Finish the current work and stop the services."),
        "restart": ("services", "Restart the services."),
        "service": ("service", "Keep the services running with launchd or systemd."),
        "config": ("settings", "Show and change the settings."),
        "logs": ("logs", "Print the logs of all processes."),
        "doctor": ("doctor", "Find problems and fix them."),
    },
    "Claude and models": {
        "compress": ("claude", "Have Claude rewrite what the rules wrote."),
        "cost": ("claude", "Show what Claude's rewriting has cost."),
        "model": ("models", "List, fetch and choose embedding models."),
        "reembed": ("models", "Compute missing vectors."),
        "eval": ("evals", "Measure how well the memory works."),
    },
    "Upkeep": {
        "backup": ("backup", "Back up the memory to one file."),
        "restore": ("backup", "Replace the memory with a backup."),
        "export": ("exchange", "Export the memory as JSON Lines."),
        "sync": ("sync", "Share one memory among your machines."),
        "team": ("team", "Share what you choose of a project with colleagues."),
        "forget": ("upkeep", "Delete for good, to the last byte."),
        "prune": ("upkeep", "Delete old raw events and logs."),
        "reindex": ("upkeep", "Rebuild search indexes from the stored memory."),
    },
}


# These run even if the data directory is unsafe: they report the problem or do not need the directory.
_ANYWHERE = frozenset({"doctor", "demo", "uninstall-hooks"})


class _Tree(TyperGroup):
    """The tree of commands; its help and its suggestions for mistyped names import no command."""

    def __init__(self, *, commands: dict[str, Any], **attributes: Any) -> None:
        super().__init__(**attributes)
        self.imported = commands
        self.commands = {
            name: TyperCommand(name, help=does, rich_help_panel=panel)
            for panel, some in COMMANDS.items()
            for name, (_, does) in some.items()
        }

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return a command's name, the command, and its arguments."""
        name, stub, rest = super().resolve_command(ctx, args)
        return name, imported(name) if stub and name else None, rest


def imported(name: str) -> Any:
    """Import the module of a command and return the command; each is built once."""
    if name not in _made:
        module = next(some[name][0] for some in COMMANDS.values() if name in some)
        importlib.import_module(f"claude_mem_lite.cli.{module}")
        tree: Any = typer.main.get_command(app)
        _made.update(tree.imported)
        # get_command builds every registered command on each call: 0.1 s for the whole tree.
        app.registered_commands.clear()
        app.registered_groups.clear()
    return _made[name]


_made: dict[str, Any] = {}
app = typer.Typer(
    cls=_Tree,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
# Groups that several modules add to.
evaluate = typer.Typer(no_args_is_help=True, help="Measure how well the memory works.")
# A group, not a command with a FILE argument: each source has a subcommand of its own, such as `memory`, so
# that no file name can be mistaken for one.
imports = typer.Typer(no_args_is_help=True, help="Import past sessions and other memories.")


def _version(wanted: bool) -> None:  # noqa: FBT001  (Typer's callback)
    if wanted:
        typer.echo(f"claude-mem {__version__}")
        raise typer.Exit


@app.callback()
def claude_mem(
    context: typer.Context,
    *,
    version: Annotated[  # noqa: ARG001  (its callback has ended the command)
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Remember Claude Code sessions and tell new ones what earlier ones found.

    To set it up: [bold]claude-mem install-hooks[/bold].
    To see it work first: [bold]claude-mem demo[/bold].
    """
    if context.invoked_subcommand not in _ANYWHERE and not {"-h", "--help"} & set(sys.argv):
        config.refuse_unsafe_home()
    if context.invoked_subcommand is None:
        from claude_mem_lite.cli import welcome

        welcome.show()
