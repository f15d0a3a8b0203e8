"""config: show and change the settings."""

import os
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config as paths
from claude_mem_lite import keys, settings
from claude_mem_lite.cli import setup
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson
from claude_mem_lite.cli.output import print_json, print_line, print_table
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.settings import Given

_MODEL = ("search.embedding_model", "search.dimension")
# Refused inside a session: these decide where the content of all projects goes, and who pays.
_THE_USERS = (
    "claude.via",
    "claude.client",
    "claude.api_key_from",
    "claude.api_key",
    "claude.base_url",
    "claude.proxy",
)

config = typer.Typer(no_args_is_help=True, help="Show and change the settings.")
app.add_typer(config, name="config")

Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="A setting as `config show` names it, e.g. claude.daily_budget_usd."),
]


@config.command()
def show(*, as_json: AsJson = False) -> None:
    """Show each setting with its value and where that came from; exit 1 if config.toml has an error."""
    given, problem = settings.given(), settings.problem()
    if not print_json({
        "path": paths.config_path(),
        "settings": {each.name: {"value": each.value, "source": each.source} for each in given},
        "problem": problem,
    }, as_json=as_json):  # fmt: skip
        table = Table("setting", "value", "from", box=None, pad_edge=False)
        for each in given:
            style = "dim" if each.source == "default" else ""
            table.add_row(each.name, Text(_text(each.value)), each.source, style=style)
        print_table(table)
        if problem:
            print_line(f"! {problem}", "yellow")
    if problem:
        raise typer.Exit(1)


@config.command()
def get(name: Name, *, as_json: AsJson = False) -> None:
    """Print the current value of one setting."""
    found = _named(name)
    if not print_json({"name": found.name, "value": found.value, "source": found.source}, as_json=as_json):
        typer.echo(_text(found.value))


@config.command(name="set", context_settings={"ignore_unknown_options": True})  # -1 is a value
def set_(
    name: Name,
    value: Annotated[
        str, typer.Argument(metavar="VALUE", help="A number, true or false, a text, or [a list].")
    ],
    *,
    as_json: AsJson = False,
) -> None:
    """Change one setting in config.toml; the rest of the file stays as it is."""
    from claude_mem_lite import settings_file

    parsed = settings.parsed(name, value)
    if name in _THE_USERS:
        keys.refuse_session(name)
    if name in _MODEL:
        raise ClaudeMemError(f"{name} is set by claude-mem model use, which also renews the vectors")
    table, _, key = name.partition(".")
    if name == "claude.via" and parsed == "cli":
        setup.let_client_write()
    else:
        settings_file.write(table, {key: parsed})
    if key == "api_key_from":
        keys.forget() if parsed == keys.NONE else keys.agree(parsed)
    if print_json({"name": name, "value": _named(name).value, "path": paths.config_path()}, as_json=as_json):
        return
    print_line(f"{name} is {_text(_named(name).value)}{_then(name, parsed)}")


def _then(name: str, value: Any) -> str:
    """Return what is left to do after a setting of the key or of the way to Claude has changed."""
    if name == "claude.via" and value == "cli":
        return f": {setup.cost_on_plan()}; to tell the services: claude-mem restart"
    if name == "claude.api_key":
        return "; to pass it to the services: claude-mem restart"
    if name != "claude.api_key_from" or value == keys.NONE:
        return ""
    where = "" if keys.of_variable(value) else ", run in a shell where it is set"
    then = f"; to pass the key to the services: claude-mem up{where}"
    if os.environ.get("ANTHROPIC_BASE_URL") and settings.load().base_url == settings.Settings().base_url:
        then += "; to use another address than Anthropic's: claude-mem config set claude.base_url URL"
    return then


@config.command()
def path(*, as_json: AsJson = False) -> None:
    """Print the path of config.toml, whether or not the file exists."""
    if not print_json({"path": paths.config_path()}, as_json=as_json):
        typer.echo(paths.config_path())


def _named(name: str) -> Given:
    found = next((each for each in settings.given() if each.name == name), None)
    if found is None:
        settings.parsed(name, "")  # raises, and suggests the one that was meant
        raise AssertionError
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(f'"{each}"' for each in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
