"""search: what is remembered of some words."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from claude_mem_lite import config
from claude_mem_lite.capture import client
from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.output import AsJson, console, open_memory, print_json
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.cli.times import moment
from claude_mem_lite.kinds import Type  # noqa: TC001  (read at run time)
from claude_mem_lite.text import clean, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping


_ID_CHARS = 8
_SCORE_CHARS = 6
_TEXT_LINES = 2
_BADGES = {"hybrid": "bold green", "fts": "bold yellow"}
_ANSWER_S = 10


@app.command()
def search(  # noqa: PLR0913  (each is an option of the command)
    query: Annotated[list[str], typer.Argument(help='Words, or a "quoted phrase".')],
    *,
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=100, help="At most this many results.")
    ] = 10,
    type: Annotated[Type, typer.Option("--type", "-t", help="Only this kind.")] = "all",  # noqa: A002
    project: Annotated[
        str, typer.Option(metavar="PATH", help="The project of this folder, instead of the current one's.")
    ] = "",
    all_projects: Annotated[bool, typer.Option("--all-projects", "-a", help="In all projects.")] = False,
    file: Annotated[str, typer.Option(metavar="PATH", help="Only what touched this file.")] = "",
    since: Annotated[
        str | None, typer.Option(parser=moment, metavar="TIME", help="Not older: 2026-11-01, 12h, 2d, 3w.")
    ] = None,
    until: Annotated[
        str | None, typer.Option(parser=moment, metavar="TIME", help="Only older: 2026-11-01, 12h, 2d, 3w.")
    ] = None,
    session: Annotated[str, typer.Option(metavar="ID", help="Only this session.")] = "",
    tool: Annotated[str, typer.Option(metavar="NAME", help="Only this tool: Edit, Bash, …")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Say why each was found.")] = False,
    as_json: AsJson = False,
) -> None:
    """Find what is remembered of this project, by words and meaning; exit 1 when nothing is found.

    Without the services it searches by words alone.
    """
    if project and all_projects:
        raise typer.BadParameter("--project and --all-projects exclude each other")
    scope = {
        "project": "" if all_projects else config.place(os.path.expanduser(project))[1],
        "since": since or "",
        "until": until or "",
        "file": file,
        "session": _whole_id(session) if session else "",
        "tool": tool,
    }
    asked = {"q": " ".join(query), "limit": str(limit), "type": type} | (
        {"explain": "true"} if explain else {}
    )
    found = _ask_web(asked | scope) or _search_here(asked, scope)
    if as_json:
        print_json(found)
    elif found["results"]:
        _show(found, with_project=all_projects)
    else:
        where = (
            f" in {clean(scope['project'])}. --all-projects searches everywhere" if not all_projects else ""
        )
        console.print(Text(f"Nothing found{where}."), soft_wrap=True)
    if not found["results"]:
        raise typer.Exit(1)


def _whole_id(prefix: str) -> str:
    """Return the id of the session that `prefix` is or begins."""
    from claude_mem_lite.storage import queries

    open_memory(read_only=True)
    return prefix if queries.session(prefix) else queries.session_by_prefix(prefix).id


def _ask_web(parameters: Mapping[str, str]) -> dict[str, Any] | None:
    given = {name: value for name, value in parameters.items() if value}
    try:
        return client.get("/api/search", given, timeout_s=_ANSWER_S)
    except client.UnreachableError:
        return None


def _search_here(asked: Mapping[str, str], scope: Mapping[str, str]) -> dict[str, Any]:
    """Return what the web process would answer, by full text alone."""
    from claude_mem_lite.context.superseded import noted
    from claude_mem_lite.search.hybrid import Searcher
    from claude_mem_lite.storage import projects
    from claude_mem_lite.storage.search import Scope

    open_memory(read_only=True)
    started = time.monotonic()
    narrowed = Scope(
        project_dir=projects.of(scope["project"]) if scope["project"] else None,
        since=scope["since"],
        until=scope["until"],
        file=scope["file"],
        session_id=scope["session"],
        tool=scope["tool"],
    )
    kind: Any = asked["type"]
    found = Searcher(by_meaning=False).search(
        asked["q"], type=kind, scope=narrowed, limit=int(asked["limit"]), now=started
    )
    return noted(found.as_json(asked["q"], took_s=time.monotonic() - started, explain="explain" in asked))


def _show(found: dict[str, Any], *, with_project: bool) -> None:
    """Print a line for the whole, then of each hit a line and the beginning of its text."""
    hits, badge = found["results"], str(found["search_type"])
    head = Text.assemble((f"[{badge}]", _BADGES.get(badge, "bold")), f" {len(hits)} found", end="")
    if "took_ms" in found:
        head.append(f" in {found['took_ms']:.0f} ms", style="dim")
    console.print(head)
    now = time.time()
    rows = [(hit, printable(hit["kind"]), age(hit["created_at"], now)) for hit in hits]
    widths = [max(len(kind) for _, kind, _ in rows), max(len(ago) for _, _, ago in rows)]
    for hit, kind, ago in rows:
        line = Table.grid(padding=(0, 2, 0, 0))
        line.add_column(width=_SCORE_CHARS, justify="right", style="green")
        line.add_column(width=widths[0], style="cyan", no_wrap=True)
        line.add_column(width=_ID_CHARS, style="yellow", no_wrap=True)
        line.add_column(width=widths[1], style="dim", no_wrap=True)
        line.add_column()
        title = Text(printable(hit["title"]), style="bold")
        if hit["folded"]:
            title.append(f"  +{len(hit['folded'])} alike", style="not bold magenta")
        score = f"{hit['score']:.2f}"
        line.add_row(*map(Text, (score, kind, printable(hit["id"])[:_ID_CHARS], ago)), title)
        console.print()
        console.print(line)
        for text in _below(hit, with_project=with_project):
            console.print(Padding(text, (0, 2, 0, _SCORE_CHARS + 2), expand=False))


def _below(hit: dict[str, Any], *, with_project: bool) -> list[Text]:
    """Return the lines under a hit: its project, its text, why it was found; those there are."""
    lines = []
    if with_project and hit["project_dir"]:
        lines.append(Text(printable(hit["project_dir"]), style="blue", overflow="fold"))
    title, text = printable(hit["title"]), printable(hit["text"]).strip()
    rest = text.removeprefix(title.rstrip("…"))
    if not rest[:1].isalnum():  # many a title is the first sentence of its text
        text = rest.lstrip(" .,:;")
    if text:
        lines.append(_cut(text, max(console.width - _SCORE_CHARS - 4, 20)))
    if "gone" in hit:
        lines.append(Text(f"no longer: {printable(hit['gone'])}", style="yellow"))
    if "why" in hit:
        lines.append(Text(_reasons(hit["why"]), style="italic"))
    return lines


def _cut(text: str, width: int) -> Text:
    """Return as much of a text as fits in two lines."""
    lines = Text(one_line(text, _TEXT_LINES * width), style="dim").wrap(console, width)
    if len(lines) > _TEXT_LINES:
        lines[_TEXT_LINES - 1].truncate(width - 1)
        lines[_TEXT_LINES - 1].rstrip()
        lines[_TEXT_LINES - 1].append("…")
    return Text("\n").join(lines[:_TEXT_LINES])


def _reasons(why: dict[str, Any]) -> str:
    """Return which legs found a hit, and the parts of its score that count."""
    if "id" in why:
        return "found by its id"
    legs = [
        leg for leg, has in (("words", why.get("words")), ("meaning", why.get("cosine") is not None)) if has
    ]
    numbers = {name: value for name, value in why.items() if isinstance(value, int | float) and value}
    parts = [f"{name} {value:g}" for name, value in numbers.items() if name != "score"]
    named = [printable(name) for name in why.get("exact_found", ())]
    times = [f'matches "{printable(said)}"' for said in why.get("times_found", ())]
    return f"found by {' and '.join(legs) or 'time'}: {', '.join([*parts, *named, *times])}"
