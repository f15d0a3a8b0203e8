"""learnings: list, add, correct and remove what sessions have taught."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from claude_mem_lite.cli.app import app
from claude_mem_lite.cli.guards import Id, guard, guards, sync
from claude_mem_lite.cli.options import AllProjects, AsJson, Project, exclusive, project_of
from claude_mem_lite.cli.output import console, open_memory, print_json, print_line, print_table, story_table
from claude_mem_lite.cli.text import ID_CHARS, age, printable
from claude_mem_lite.kinds import RULE, Category
from claude_mem_lite.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from claude_mem_lite.storage.models import Learning

Sort = Literal["confidence", "seen", "times", "created"]
Kind = Annotated[Category | None, typer.Option("--category", "-c", help="The kind of rule.")]
Candidates = Annotated[
    bool, typer.Option("--candidates", help="List candidates: said once, or not seen for long.")
]

_MOST_QUESTIONS = 5
# The word for how sure a learning is, by the least confidence.
_SURENESS = ((0.8, "sure"), (0.6, "likely"), (0.4, "maybe"), (0.0, "doubtful"))
_STATES = {
    "candidate": "candidates",
    "quarantine": "learnings waiting for you",
    "stale": "stale learnings",
    "proposed": "proposed learnings",
}
_STYLES = {"quarantine": "bold yellow", "stale": "yellow", "superseded": "dim", "removed": "dim"}

learnings = typer.Typer(help="List and correct the rules learned from your sessions.")
app.add_typer(learnings, name="learnings")
learnings.command()(guard)
learnings.command()(guards)


@learnings.callback(invoke_without_command=True)
def _group(
    context: typer.Context, *, category: Kind = None, candidates: Candidates = False, as_json: AsJson = False
) -> None:
    """List and correct the rules learned from your sessions; without a subcommand, list them."""
    if context.invoked_subcommand is None:
        list_learnings(category=category, candidates=candidates, as_json=as_json)


@learnings.command("list")
def list_learnings(  # noqa: PLR0913  (each is an option of the command)
    *,
    category: Kind = None,
    candidates: Candidates = False,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="List what waits for your decision, and why.")
    ] = False,
    stale: Annotated[bool, typer.Option("--stale", help="List rules about code that has changed.")] = False,
    proposed: Annotated[
        bool,
        typer.Option("--proposed", help="List candidates, and rules that three or more projects share."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Include superseded, removed and waiting ones.")
    ] = False,
    project: Project = "",
    all_projects: AllProjects = False,
    sort: Annotated[
        Sort, typer.Option(help="What comes first: surest, last seen, most often seen, or newest.")
    ] = ("confidence"),
    limit: Annotated[int | None, typer.Option("--limit", "-n", min=1, help="Show at most this many.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the learnings that sessions of this project are told, and those for all projects.

    They have a confidence of 0.5 or more; --candidates have less.
    """
    from claude_mem_lite.learnings import guarding, story
    from claude_mem_lite.storage import learnings as learning_rows

    states = {"candidate": candidates, "quarantine": quarantine, "stale": stale, "proposed": proposed}
    exclusive(**states, all=everything)
    exclusive(project=project, all_projects=all_projects)
    open_memory(read_only=True)
    project_dir = None if all_projects else project_of(project)
    state: Any = next((name for name, wanted in states.items() if wanted), "all" if everything else "active")
    rows = learning_rows.find(project_dir, state=state, category=category or "", sort=sort, limit=limit)
    counts = learning_rows.counts(project_dir)
    if print_json([story.entry(row) for row in rows], as_json=as_json):
        return
    _print_rows([story.entry(row) for row in rows], with_project=all_projects)
    if not rows:
        where = "any project" if project_dir is None else printable(project_dir)
        print_line(f"No {_STATES.get(state, 'learnings')} in {where}.")
    _print_questions(story.questions(project_dir, candidates=state in {"candidate", "all"}))
    where = "--all-projects " if all_projects else ""
    for name, option, says in (
        ("quarantine", "quarantine", "waiting for you"),
        ("candidate", "candidates", "said only once or not seen for long"),
        ("shared", "proposed", "shared by three or more projects"),
    ):
        if counts[name] and state not in {name, option, "all"}:
            console.print(f"[dim]{counts[name]} {says}: claude-mem learnings list {where}--{option}[/dim]")
    if project_dir is not None and (possible := len(guarding.possible(project_dir))):
        console.print(f"[dim]{possible} could be checked on tool calls: claude-mem learnings guards[/dim]")


@learnings.command()
def show(learning_id: Id, *, as_json: AsJson = False) -> None:
    """Show a learning's story: evidence, code, what it replaced, its changes, and which sessions saw it."""
    from claude_mem_lite.learnings import story
    from claude_mem_lite.storage import learnings as learning_rows

    open_memory(read_only=True)
    found = story.whole(learning_rows.get(learning_id))
    if print_json(found, as_json=as_json):
        return
    print_table(story_table(story_lines(found, time.time())), wraps=True)


def story_lines(found: dict[str, Any], now: float) -> list[tuple[str, str]]:
    """Return a learning's story as (name, printable value); a name's further values have "" as name."""
    from claude_mem_lite.capture.guards import Guard

    seen = f"seen in {count(found['times_seen'], 'session')}, the last {age(found['seen_at'], now)}"
    lines: dict[str, list[str]] = {
        "learning": [found["id"]],
        "says": [f"{found['category']}: {found['content']}"],
        "state": ["; ".join(filter(None, [found["state"], found["stale"], *found["quarantine"]]))],
        "confidence": [f"{found['confidence']:.2f}{', your own' if found['is_manual'] else f', {seen}'}"],
        "guard": [f"{found['guard']['mode']}: {Guard(**found['guard']).says}"] if found["guard"] else [],
        "holds in": [found["project_dir"] or "all projects"],
        "code": [_code(each) for each in found["code"]],
        "from": [
            f"{each['id'][:ID_CHARS]}  {age(each['started_at'], now)}  {each['summary']}"
            for each in found["sessions"]
        ],
        "evidence": [f"{each['id'][:ID_CHARS]}  {each['title']}" for each in found["observations"]],
        "replaced": [_other(each) for each in found["supersedes"]],
        "replaced by": [_other(each) for each in found["successors"]],
        "also in": [f"{each['project_dir']}  {_other(each)}" for each in found["kin"]],
        "story": [_event(each, now) for each in found["events"]],
        "shown to": [
            f"{each['session_id'][:ID_CHARS]}  {age(each['at'], now)}, via {each['via']}"
            for each in found["shown"]
        ],
    }
    return [
        ("" if at else name, printable(value))
        for name, values in lines.items()
        for at, value in enumerate(values)
    ]


@learnings.command()
def add(
    content: Annotated[str, typer.Argument(help="One or two sentences, at most 300 characters.")],
    *,
    category: Kind = None,
    everywhere: Annotated[bool, typer.Option("--global", help="The rule holds in all projects.")] = False,
    project: Project = "",
    as_json: AsJson = False,
) -> None:
    """Add a learning of your own: confidence 1.0, told from the next session on, changed only by you.

    It replaces those that it contradicts, and those that say the same and no more.
    """
    from claude_mem_lite.learnings import curate
    from claude_mem_lite.storage import learnings as learning_rows

    exclusive(**{"global": everywhere}, project=project)
    open_memory(may_be_new=True)
    project_dir = None if everywhere else project_of(project)
    row = curate.add(content, category=category or RULE, project_dir=project_dir)
    _done("added", row, replaced=learning_rows.superseded_by(row.id), as_json=as_json)


@learnings.command()
def edit(
    learning_id: Id,
    *,
    content: Annotated[str, typer.Option("--content", metavar="TEXT", help="The new text.")] = "",
    category: Kind = None,
    as_json: AsJson = False,
) -> None:
    """Change a learning's text or category; from then on it is your own, with confidence 1.0."""
    from claude_mem_lite.learnings import curate

    if not content and not category:
        raise typer.BadParameter("nothing to change: give --content TEXT or --category KIND")
    _written(
        "edited",
        learning_id,
        lambda row: curate.edit(row, content=content, category=category or ""),
        as_json=as_json,
    )


@learnings.command()
def remove(learning_id: Id, *, as_json: AsJson = False) -> None:
    """Remove a learning: it is kept, but never told, and does not come back by itself."""
    from claude_mem_lite.learnings import curate

    _done("removed", curate.remove(_row(learning_id)), as_json=as_json)


@learnings.command()
def reset(learning_id: Id, *, as_json: AsJson = False) -> None:
    """Reset a learning to confidence 0.5: no longer removed, superseded, stale, guarded or your own."""
    from claude_mem_lite.learnings import curate

    _done("reset", curate.reset(_row(learning_id)), as_json=as_json)


@learnings.command()
def accept(learning_id: Id, *, as_json: AsJson = False) -> None:
    """Accept a candidate or a learning that waits for you; it becomes your own."""
    from claude_mem_lite.learnings import curate

    _written("accepted", learning_id, curate.accept, as_json=as_json)


@learnings.command()
def merge(
    learning_id: Annotated[str, typer.Argument(metavar="ID", help="The learning to keep.")],
    others: Annotated[list[str], typer.Argument(metavar="OTHER…", help="Learnings that say the same.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Merge learnings into the first one; it keeps its text and gets the evidence of all."""
    from claude_mem_lite.learnings import curate
    from claude_mem_lite.storage import learnings as learning_rows

    kept = _row(learning_id)
    _done("merged", curate.merge(kept, [learning_rows.get(other) for other in others]), as_json=as_json)


@learnings.command()
def both(
    learning_id: Id,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The learning that contradicts it.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Confirm that two learnings on the same matter both hold."""
    from claude_mem_lite.learnings import curate
    from claude_mem_lite.storage import learnings as learning_rows

    row = _row(learning_id)
    curate.keep_both(row, learning_rows.get(other))
    _done("kept both:", row, as_json=as_json)


@learnings.command()
def promote(learning_id: Id, *, as_json: AsJson = False) -> None:
    """Make a learning hold in all projects; others that say the same are merged into it."""
    from claude_mem_lite.learnings import curate

    _done("promoted", curate.promote(_row(learning_id)), as_json=as_json)


def _row(learning_id: str) -> Learning:
    from claude_mem_lite.storage import learnings as learning_rows

    open_memory()
    return learning_rows.get(learning_id)


def _written(what: str, learning_id: str, write: Callable[[Learning], Learning], *, as_json: bool) -> None:
    """Make a learning the user's own by `write`, and print that with the learnings that it has replaced."""
    from claude_mem_lite.storage import learnings as learning_rows

    row = _row(learning_id)
    before = {each.id for each in learning_rows.superseded_by(row.id)}
    row = write(row)
    replaced = [each for each in learning_rows.superseded_by(row.id) if each.id not in before]
    _done(what, row, replaced=replaced, as_json=as_json)


def _done(what: str, row: Learning, *, as_json: bool, replaced: Sequence[Learning] | None = None) -> None:
    """Print what was done to a learning and, where given, which ones it has replaced."""
    from claude_mem_lite.learnings import story

    sync()
    others = [{"id": each.id, "content": each.content} for each in replaced or ()]
    if print_json(story.entry(row) | ({} if replaced is None else {"replaced": others}), as_json=as_json):
        return
    for did, each in ((what, story.entry(row)), *(("it replaces", each) for each in others)):
        shown = printable(each["content"])
        console.print(Text.assemble(f"{did} ", (each["id"][:ID_CHARS], "yellow"), f"  {shown}"))


def _print_rows(rows: list[dict[str, Any]], *, with_project: bool) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("id", "confidence", "category", "content"):
        table.add_column(name, no_wrap=name != "content", overflow="fold")
    for row in rows:
        notes = {
            "": "your own" if row["is_manual"] else "",
            "everywhere": "all projects" if row["project_dir"] is None else "",
            "project": row["project_dir"] or "" if with_project else "",
            "guard": f"guard: {row['guard']['mode']}" if row["guard"] else "",
            "state": row["state"] if row["state"] not in {"active", "stale", "quarantine"} else "",
            "stale": f"may be outdated: {row['stale']}" if row["stale"] else "",
            "waits": f"waits: {'; '.join(row['quarantine'])}" if row["quarantine"] else "",
        }
        told = Text(
            printable(row["content"]), style="dim" if row["state"] in {"superseded", "removed"} else ""
        )
        note = "; ".join(filter(None, notes.values()))
        if note:
            told.append(f"  ({printable(note)})", style=_STYLES.get(row["state"], "dim"))
        table.add_row(
            Text(row["id"][:ID_CHARS], style="yellow"),
            Text(next(word for least, word in _SURENESS if row["confidence"] >= least), style="green"),
            Text(printable(row["category"]), style="cyan"),
            told,
        )
    if rows:
        print_table(table)


def _print_questions(pairs: list[dict[str, Any]]) -> None:
    for pair in pairs[:_MOST_QUESTIONS]:
        newer, older = pair["newer"], pair["older"]
        ids = f"{newer['id'][:ID_CHARS]} {older['id'][:ID_CHARS]}"
        asks = "Is it one rule? " if pair["is_again"] else "Do both hold? "
        told = Text.assemble(asks, (printable(newer["content"]), "bold"), " / ")
        told.append(printable(older["content"]), style="bold")
        told.append(f"  (claude-mem learnings both {ids}, merge {ids}, or remove one)", style="dim")
        console.print(told)
    if len(pairs) > _MOST_QUESTIONS:
        console.print(f"[dim]and {count(len(pairs) - _MOST_QUESTIONS, 'more pair')} like these[/dim]")


def _code(each: dict[str, Any]) -> str:
    place = f"{each['name']} in {each['file']}" if each["name"] else each["file"]
    return f"{place} ({each['stale']})" if each["stale"] else place


def _other(each: dict[str, Any]) -> str:
    return f"{each['id'][:ID_CHARS]}  {each['content']}"


def _event(each: dict[str, Any], now: float) -> str:
    """Return one line of a learning's story: when, what, the confidence it led to, and why."""
    moved = "before" in each and each["before"] != each["confidence"]
    parts = [
        f"{age(each['at'], now)}  {each['event']}",
        f"{each['before']:.2f} → {each['confidence']:.2f}" if moved else "",
        f"by {each['superseded_by'][:ID_CHARS]}" if each.get("superseded_by") else "",
        each.get("stale", ""),
        "; ".join(each.get("quarantine", [])),
        each.get("reason", ""),
        f"session {each['session_id'][:ID_CHARS]}" if each["session_id"] else "",
    ]
    return ", ".join(filter(None, parts))
