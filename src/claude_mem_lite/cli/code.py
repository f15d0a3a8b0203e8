"""map, history, callers, callees and mermaid: print the code map of a project."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import typer
from rich.progress import track
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.options import AsJson, Project, Quiet, project_of
from claude_mem_lite.cli.output import console, errors, open_memory, print_json, print_line, working
from claude_mem_lite.cli.text import ID_CHARS, age, printable
from claude_mem_lite.errors import ClaudeMemError

_MOST_TOLD = 12  # overriding methods, or unresolved calls, of a function
_COLOURS = {"new": "green", "modified": "yellow", "deleted": "red"}

Name = Annotated[str, typer.Argument(help="A function: post, Journal.post, ledger/journal.py:post.")]


@app.command("map")
def map_project(
    path: Annotated[str, typer.Argument(metavar="PATH", help="A folder of the project.")] = ".",
    *,
    edges: Annotated[
        bool,
        typer.Option("--edges", help="Print the calls below PATH (Cls() is Cls.__init__); store nothing."),
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Scan a project's sources into the code map: functions, their changes and calls.

    Only changed files are read. Sessions keep the map of a git repository of
    up to 2,000 files current by themselves; use this for other projects, or
    to update a map at once.
    """
    folder = os.path.realpath(os.path.expanduser(path))
    if not os.path.isdir(folder):
        raise ClaudeMemError(f"{path}: no such folder")
    if edges:
        _print_edges(folder, as_json=as_json, quiet=quiet)
        return
    project = config.place(folder)[1]
    if project in {"/", os.path.expanduser("~")} and not os.path.exists(os.path.join(project, ".git")):
        raise ClaudeMemError(
            f"{project} is not a project: its map would cover everything below it."
            " To map a project: claude-mem map FOLDER"
        )
    _scan(project, as_json=as_json, quiet=quiet)


def _print_edges(folder: str, *, as_json: bool, quiet: bool) -> None:
    """Print the strong calls between functions; making an instance counts as a call of `__init__`."""
    from claude_mem_lite.codemap import sources
    from claude_mem_lite.codemap.confidence import STRONG
    from claude_mem_lite.codemap.project import Project, no_collection

    project = Project(folder)
    with no_collection():
        for path in _track(quiet=quiet)(list(sources.source_files(folder))):
            project.scan([path])
        edges = project.edges(guesses=False)
    calls: dict[str, list[str]] = {}
    for edge in edges:
        if edge.confidence >= STRONG and not edge.is_class:
            calls.setdefault(edge.caller, []).append(edge.callee)
    if not print_json({caller: sorted(calls[caller]) for caller in sorted(calls)}, as_json=as_json):
        for caller in sorted(calls):
            line = f"{caller} → {', '.join(sorted(calls[caller]))}"
            print_line(printable(line))


def _scan(project_dir: str, *, as_json: bool, quiet: bool) -> None:
    """Bring the map of a project up to date, and print what has changed."""
    from claude_mem_lite.codemap import file_index, graph
    from claude_mem_lite.learnings.evolve import check_code
    from claude_mem_lite.storage import code

    started = time.monotonic()
    open_memory(may_be_new=True)
    found = file_index.scan(project_dir, track=_track(quiet=quiet or as_json))
    with working("resolving calls", quiet=quiet or as_json):
        graph.refresh(project_dir, "")
    check_code(project_dir)
    counts = code.counts(project_dir)
    changes = {name: found.changes[name] for name in ("new", "modified", "deleted")}
    scan: dict[str, Any] = {
        "project_dir": project_dir,
        "files": found.files,
        "changed": found.changed,
        "gone": found.gone,
        "errors": found.errors,
        "changes": changes | {"unchanged": counts["functions"] - changes["new"] - changes["modified"]},
        **counts,
        "took_ms": round((time.monotonic() - started) * 1000),
    }
    if print_json(scan, as_json=as_json):
        return
    for path, error in scan["errors"].items():
        errors.print(Text(printable(f"{path}: {error}"), style="yellow"))
    if not quiet:
        told = ", ".join(f"{count:,} {name}" for name, count in scan["changes"].items() if count)
        print_line(printable(scan["project_dir"]), "bold")
        console.print(
            f"{scan['files']:,} files, {len(scan['changed']):,} of them read, {len(scan['gone']):,} gone;"
            f" {scan['functions']:,} functions{f' ({told})' if told else ''};"
            f" {scan['calls']:,} calls, {scan['unresolved']:,} unresolved; {scan['took_ms'] / 1000:.1f} s"
        )


@app.command()
def history(name: Name, *, project: Project = "", as_json: AsJson = False) -> None:
    """List the sessions that changed a function, and what they did; exit 1 if it is unknown."""
    from claude_mem_lite.codemap import answers

    project_dir, now = _open(project), time.time()
    found = answers.history(project_dir, name)
    for function in () if print_json(found, as_json=as_json) else found:
        _print_head(function)
        _print_rows(
            [
                (age(change["at"], now), "dim"),
                (change["change_type"], _COLOURS.get(change["change_type"], "")),
                ((change["observation_id"] or "")[:ID_CHARS], "yellow"),
                (change["title"] or f"in session {change['session_id'][:ID_CHARS]}", ""),
            ]
            for change in function["history"]
        )
    _fail_without(found, name, project_dir)


@app.command()
def callers(name: Name, *, project: Project = "", as_json: AsJson = False) -> None:
    """List the callers of a function, with confidence and evidence; exit 1 if it is unknown."""
    _print_calls(name, project, side="callee", other="caller", as_json=as_json)


@app.command()
def callees(name: Name, *, project: Project = "", as_json: AsJson = False) -> None:
    """List the functions that a function calls, with confidence and evidence; exit 1 if it is unknown."""
    _print_calls(name, project, side="caller", other="callee", as_json=as_json)


def _print_calls(name: str, project: str, *, side: str, other: str, as_json: bool) -> None:
    from claude_mem_lite.codemap import answers

    project_dir = _open(project)
    found = answers.calls(project_dir, name, side=side)
    shown = () if print_json(found, as_json=as_json) else found
    for function in shown:
        _print_head(function)
        _print_rows(
            [
                (f"{edge['confidence']:.2f}", "green"),
                (edge[other], "bold"),
                (edge[f"{other}_file"], "cyan"),
                (f"line {edge['line']}" if edge["line"] else "", "dim"),
                (f"{edge['source']}: {edge['why']}", "dim"),
            ]
            for edge in function["edges"]
        )
        _print_doubts(function)
    if any(function["is_stale"] for function in shown):
        told = (
            "files have changed since calls were resolved; a session resolves them again later, "
            "claude-mem map does so now"
        )
        errors.print(Text(told, style="yellow"))
    _fail_without(found, name, project_dir)


def _print_doubts(function: dict[str, Any]) -> None:
    """Print further candidates: overriding methods, and unresolved calls of the same name."""
    name = function["name"].rpartition(".")[2]
    others = [f"{each['name']} ({each['file']})" for each in function["overridden_by"]]
    calls = [f"{each['caller_file']}:{each['line']} {each['caller']}" for each in function["unresolved"]]
    for head, told in (
        ("overridden by ", others),
        (f"and {len(calls)} unresolved call{'s' * (len(calls) != 1)} of {name}(): ", calls),
    ):
        if told:
            more = f", and {len(told) - _MOST_TOLD} more" if len(told) > _MOST_TOLD else ""
            line = printable(f"{head}{', '.join(told[:_MOST_TOLD])}{more}")
            print_line(f"  {line}", "dim")


@app.command()
def mermaid(  # noqa: PLR0913  (each is an option of the command)
    file: Annotated[str, typer.Argument(metavar="FILE", help="Only calls from and to this file.")] = "",
    *,
    session: Annotated[
        str, typer.Option(metavar="ID", help="Draw the changes of this session instead of the last one.")
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="Draw all functions, changed or not.")] = False,
    output: Annotated[str, typer.Option("--output", "-o", metavar="PATH", help="Write to this file.")] = "",
    project: Project = "",
    as_json: AsJson = False,
) -> None:
    """Draw the functions that the last session changed, with their callers and callees, as Mermaid."""
    from claude_mem_lite.codemap import answers
    from claude_mem_lite.storage import code, queries

    project_dir = _open(project)
    full = os.path.realpath(os.path.expanduser(file))
    rows = (code.find_files(None, full) or code.find_files(project_dir, file)) if file else []
    files = [row.file_path for row in rows]
    project_dir = rows[0].project_dir if rows else project_dir
    if file and not files:
        raise ClaudeMemError(f"{file} is not in the code map of {project_dir}; to update it: claude-mem map")
    session_id = queries.session_by_prefix(session).id if session else None
    text = answers.diagram(project_dir, files=files, session_id=session_id, is_whole=everything)
    if output:
        with open(output, "w", encoding="utf-8") as target:
            target.write(text)
    if (
        not print_json(
            {"project": project_dir, "files": files, "mermaid": text, "written_to": output}, as_json=as_json
        )
        and not output
    ):
        typer.echo(text, nl=False)


def _open(project: str) -> str:
    open_memory(read_only=True)
    return project_of(project)


def _print_head(function: dict[str, Any]) -> None:
    place = f"{function['file']}:{function['line']}" if "line" in function else str(function["file"])
    place += " (gone)" if function["change_type"] == "deleted" else ""
    head = Text.assemble((printable(function["name"]), "bold"), "  ", (printable(place), "cyan"))
    head.append(f"  {printable(function['signature'])}", style="dim")
    if function.get("inherited_by"):
        head.append(f"  inherited by {printable(function['inherited_by'])}", style="yellow")
    console.print(head)


def _print_rows(rows: Iterable[list[tuple[str, str]]]) -> None:
    """Print rows of (text, style) cells in aligned columns, each on one long line; "none" without rows."""
    cells = [[(printable(text), style) for text, style in row] for row in rows]
    widths = [max(len(text) for text, _ in column) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = ((text.ljust(width), style) for (text, style), width in zip(row, widths, strict=True))
        line = Text("  ").join([Text(""), *(Text(text, style) for text, style in padded)])
        line.rstrip()
        console.print(line)
    if not cells:
        console.print("  none", style="dim")


def _fail_without(found: Sequence[Any], name: str, project_dir: str) -> None:
    if not found:
        line = f"{name}: no such function in the code map of {project_dir}; to update it: claude-mem map"
        errors.print(Text(printable(line)))
        raise typer.Exit(1)


def _track(*, quiet: bool) -> Callable[[Sequence[str]], Iterable[str]]:
    """Return a function that wraps a list of paths in a progress bar on a terminal."""
    return lambda paths: track(
        paths, "scanning", console=errors, transient=True, disable=quiet or not errors.is_terminal
    )
