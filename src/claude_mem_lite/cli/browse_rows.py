"""List and describe the rows of `claude-mem browse`, with the functions of the other commands."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from claude_mem_lite.cli.context import origin_lines
from claude_mem_lite.cli.guards import sync
from claude_mem_lite.cli.learnings import story_lines
from claude_mem_lite.cli.output import open_memory
from claude_mem_lite.cli.search import find
from claude_mem_lite.cli.text import age, printable
from claude_mem_lite.cli.upkeep import told
from claude_mem_lite.errors import ClaudeMemError

View = Literal["sessions", "observations", "learnings", "findings", "projects"]
VIEWS: tuple[View, ...] = ("sessions", "observations", "learnings", "findings", "projects")

_MOST_ROWS = 200
_MOST_FOUND = 50
_OBSERVATIONS_OF_A_SESSION = 40
_KINDS: dict[View, Any] = {"sessions": "session", "observations": "observation", "learnings": "learning"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a view; `id` is the folder for a project, "" for a finding; `text` is printable."""

    view: View
    id: str
    when: str
    text: str
    lines: tuple[tuple[str, str], ...] = ()


def entries(view: View, project_dir: str | None, words: str = "") -> list[Entry]:
    """Return the newest rows of a view in a project (None: in all projects).

    With words: the rows that search finds, then those that contain them, because search needs whole words.
    """
    open_memory(read_only=True)
    found = _found(view, project_dir, words) if words and view in _KINDS else []
    listed = {"learnings": _learnings, "findings": _findings, "projects": _projects}.get(view)
    rows = list(listed(project_dir)) if listed else _newest(view, project_dir)
    wanted, known = words.casefold().split(), {each.id for each in found}
    has = [row for row in rows if all(word in row.text.casefold() for word in wanted)]
    return found + [row for row in has if row.id not in known]


def described(entry: Entry) -> list[tuple[str, str]]:
    """Return the details of an entry as (name, printable value): what `why` or `learnings show` print."""
    from claude_mem_lite.context.origin import origin
    from claude_mem_lite.learnings import story
    from claude_mem_lite.storage import learnings, queries

    if entry.lines:
        return list(entry.lines)
    open_memory(read_only=True)
    now = time.time()
    if entry.view == "learnings":
        return story_lines(story.whole(learnings.get(entry.id)), now)
    lines = origin_lines(origin(entry.id), now)
    if entry.view == "sessions":
        rows = queries.observations_of(entry.id)
        lines += [("did" if at == 0 else "", printable(row.title)) for at, row in
                  enumerate(rows[:_OBSERVATIONS_OF_A_SESSION])]  # fmt: skip
        if len(rows) > _OBSERVATIONS_OF_A_SESSION:
            lines.append(("", f"and {len(rows) - _OBSERVATIONS_OF_A_SESSION} more"))
    return lines


def words_of(entry: Entry) -> str:
    """Return the text of a learning, to edit it. Raises: ClaudeMemError for any other entry."""
    from claude_mem_lite.storage import learnings

    if entry.view != "learnings":
        raise ClaudeMemError("only a learning can be edited; the rest is a record of what happened")
    open_memory(read_only=True)
    return printable(learnings.get(entry.id).content)


def edit(entry: Entry, content: str) -> None:
    """Change a learning's text, as `claude-mem learnings edit` does. Raises: ClaudeMemError."""
    from claude_mem_lite.learnings import curate
    from claude_mem_lite.storage import learnings

    open_memory()
    curate.edit(learnings.get(entry.id), content=content)
    sync()


def to_forget(entry: Entry) -> str:
    """Return what forgetting an entry would delete, in words. Raises: ClaudeMemError."""
    from claude_mem_lite.forget import purge

    open_memory()
    return told(purge.forgettable(_wanted(entry)))


def forget(entry: Entry) -> list[str]:
    """Forget an entry for good, as `claude-mem forget ID` does; return what went wrong."""
    from claude_mem_lite.forget import purge
    from claude_mem_lite.services import supervise

    open_memory()
    _, problems = purge.forget(_wanted(entry), paused=supervise.paused())
    sync()
    return problems


def _wanted(entry: Entry) -> Any:
    from claude_mem_lite.forget import marking
    from claude_mem_lite.forget.wanted import Wanted

    if entry.view not in _KINDS:
        other = "--project PATH" if entry.view == "projects" else "--match TEXT"
        raise ClaudeMemError(f"{entry.view} cannot be forgotten here: claude-mem forget {other}")
    return Wanted(ids=marking.whole_ids([entry.id]))


def _found(view: View, project_dir: str | None, words: str) -> list[Entry]:
    asked = {"q": words, "limit": str(_MOST_FOUND), "type": _KINDS[view], "project": project_dir or ""}
    return [
        _entry(view, hit["id"], hit["created_at"], hit["text"] if view == "learnings" else hit["title"])
        for hit in find(asked)["results"]
    ]


def _entry(view: View, row_id: str, at: str, text: str) -> Entry:
    return Entry(view, row_id, age(at, time.time()), printable(text))


def _newest(view: View, project_dir: str | None) -> list[Entry]:
    from claude_mem_lite.storage import search

    rows = search.newest(_KINDS[view], search.Scope(project_dir=project_dir), limit=_MOST_ROWS)
    return [_entry(view, row.id, row.created_at, row.title or row.summary) for row in rows]


def _learnings(project_dir: str | None) -> Iterator[Entry]:
    from claude_mem_lite.learnings import story
    from claude_mem_lite.storage import learnings

    for row in learnings.find(project_dir, state="all", limit=_MOST_ROWS):
        state = story.state_of(row)
        noted = "" if state == "active" else f"  ({state})"
        yield _entry("learnings", row.id, row.seen_at, f"{row.content}{noted}")


def _findings(project_dir: str | None) -> Iterator[Entry]:
    from claude_mem_lite.distill import findings
    from claude_mem_lite.storage import findings as finding_rows
    from claude_mem_lite.storage import projects

    folders = [each["project"] for each in projects.all_projects()] if project_dir is None else [project_dir]
    for folder in folders:
        for each in findings.findings(finding_rows.known(folder)):
            yield _whole(
                _entry("findings", "", each.last_at, each.says),
                finding=each.says,
                command=each.command,
                error=each.error,
                worked=each.works,
                times=f"{each.times}, the last {age(each.last_at, time.time())}",
                sessions=", ".join(map(printable, each.sessions)),
                project=folder,
            )


def _projects(project_dir: str | None) -> Iterator[Entry]:  # noqa: ARG001  (all of them, to choose from)
    from claude_mem_lite.storage import projects

    for row in projects.all_projects():
        yield _whole(
            _entry("projects", row["project"], row["last_event_at"], row["project"]),
            project=row["project"],
            folders=", ".join(map(printable, row["folders"])),
            sessions=str(row["sessions"]),
            observations=str(row["observations"]),
            off="yes" if row["is_off"] else "no",
        )


def _whole(entry: Entry, **lines: str) -> Entry:
    """Return an entry with its details; empty ones are left out."""
    told = ((name, printable(value)) for name, value in lines.items())
    return replace(entry, lines=tuple(line for line in told if line[1]))
