"""Build the Typer application: the tree of commands, each imported when it is called."""

from __future__ import annotations

import importlib
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from claude_mem_lite import __version__, config

# What a command that Ctrl-C has stopped ends with, as a shell has it.
INTERRUPTED = 130
# The commands by the panel of the help in which they stand: the module of each, and what it does.
COMMANDS = {
    "To begin": {
        "install-hooks": ("hooks", "Set up memory for Claude Code, saying first what changes."),
        "uninstall-hooks": ("hooks", "Restore Claude Code's settings; your memory stays."),
        "demo": ("demo", "See it at work, touching nothing of yours."),
        "import": ("exchange", "Take in what was remembered elsewhere."),
    },
    "What is remembered": {
        "search": ("search", "Find what is remembered, by words and meaning."),
        "context": ("context", "Print what a session would be given of memory now."),
        "why": ("context", "Tell where a line came from, and who was shown it."),
        "report": ("report", "Tell what the last days have brought; --html for a page."),
        "learnings": ("learnings", "What the sessions have taught: list it, correct it."),
        "findings": ("findings", "What fails here again and again, and what worked instead."),
        "project": ("projects", "Which folders are one project, and which are left alone."),
    },
    "The code": {
        "map": ("code", "Scan a project's sources into the code map."),
        "history": ("code", "Tell which sessions changed a function."),
        "callers": ("code", "Tell who calls a function, how surely."),
        "callees": ("code", "Tell whom a function calls, how surely."),
        "mermaid": ("code", "Draw what the last session changed, as Mermaid."),
    },
    "The services": {
        "status": ("status", "Show services, queue, memory and cost, and what is wrong."),
        "up": ("services", "Start the services."),
        "down": ("services", "Stop the services, finishing the work in hand."),
        "restart": ("services", "Stop them and start them again."),
        "service": ("service", "Have supervisord, launchd or systemd keep them running."),
        "config": ("settings", "Show and change the settings."),
        "logs": ("logs", "Print what the processes have logged."),
        "doctor": ("doctor", "Look for what is wrong, and cure it."),
    },
    "Claude and models": {
        "compress": ("claude", "Have Claude rewrite what is still in local words."),
        "cost": ("claude", "Show what Claude's words have cost."),
        "model": ("models", "The embedding models that search by meaning can use."),
        "reembed": ("models", "Make the vectors that are missing."),
        "eval": ("evals", "Measure how well the memory does."),
    },
    "Upkeep": {
        "backup": ("backup", "Write all that is remembered into one file."),
        "restore": ("backup", "Put a backup in the place of what is remembered."),
        "export": ("exchange", "Write what is remembered as text."),
        "sync": ("sync", "Have one memory on all your machines."),
        "forget": ("upkeep", "Forget for good: not a byte is left of it."),
        "prune": ("upkeep", "Take out what is worked off: raw events, logs."),
        "reindex": ("upkeep", "Make anew what is derived from what is remembered."),
    },
}


# These go on where the data directory is not safe to use: they say what is wrong, or do not need it.
_ANYWHERE = frozenset({"doctor", "demo", "uninstall-hooks"})


class _Tree(TyperGroup):
    """The tree of commands: its help, and the help of what is mistyped, import none of them."""

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
    """Return a command of the tree, as its module makes it; each is made once."""
    if name not in _made:
        module = next(some[name][0] for some in COMMANDS.values() if name in some)
        importlib.import_module(f"claude_mem_lite.cli.{module}")
        tree: Any = typer.main.get_command(app)
        _made.update(tree.imported)
        # Typer makes all that are registered for each call of the application: 0.1 s for the whole tree.
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
    """Keep a memory of Claude Code's sessions.

    To set it up: [bold]claude-mem install-hooks[/bold].
    To see it at work, touching nothing of yours: [bold]claude-mem demo[/bold].
    """
    if context.invoked_subcommand not in _ANYWHERE and not {"-h", "--help"} & set(sys.argv):
        config.refuse_unsafe_home()
    if context.invoked_subcommand is None:
        from claude_mem_lite.cli import welcome

        welcome.show()
