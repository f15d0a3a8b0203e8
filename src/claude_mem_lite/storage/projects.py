"""Determine which folders belong to one project: work trees, clones, and a folder that was moved.

A project is a repository, wherever it is worked on. It is identified by the folder that it was first seen in,
and its memory is stored under that folder; a code map belongs to a single folder. Two folders with the same
`origin` or, without one, the same first commit are one project, unless `[projects] apart` names one of them.
"""

import os
from typing import Any

from claude_mem_lite import config, repository, settings
from claude_mem_lite.capture import inbox
from claude_mem_lite.storage import facts
from claude_mem_lite.storage.models import PendingEvent, ProjectFolder, State, memory_database

_MEMORY = ("sessions", "observations", "learnings", "function_changes", "retired_names", "failed_calls")
_CODE = ("source_files", "function_map", "call_graph")
# The vectors of these tables are stored with their project, so a moved row has to be embedded again.
_EMBEDDED = ("sessions", "observations", "learnings")
# Moves events to another project; the folder they were captured in stays their work tree.
_RENAME = (
    "UPDATE pending_queue SET project_dir = ?,"
    " work_tree = CASE work_tree WHEN '' THEN project_dir ELSE work_tree END"
)
MOVED = "project moved"

_seen: dict[tuple[str, str], str] = {}


def of(path: str = "") -> str:
    """Return the project of a folder, by default of the current working directory."""
    project, tree, _ = config.place(path)
    known = _row(tree) or _row(project)
    if known is not None:
        return known.project_dir
    # Finding the first commit makes git read all history: only done if a folder is missing, perhaps moved.
    same = _same(project, _key(project) if _misses_one() else repository.key(project))
    return same[0] if same else project


def noted(folder: str) -> str:
    """Return the project that a folder is recorded for, "" for none."""
    row = _row(folder)
    return row.project_dir if row else ""


def in_project(path: str) -> str:
    """Return the path that a file of a work tree or clone has in its project's own folder."""
    _, tree, _ = config.place(os.path.dirname(path) or "/")
    project = of(tree)
    inside = os.path.relpath(os.path.realpath(path), tree)
    return path if project == tree or inside.startswith("..") else os.path.join(project, inside)


def adopt(event: PendingEvent) -> None:
    """Assign an event to its project, in the event and in its row.

    A folder is examined when it is new to this process, and again at each session start.
    """
    place = (event.project_dir, event.work_tree)
    if place not in _seen or event.event_name == "SessionStart":
        _seen[place] = see(*place)
    if (project := _seen[place]) != event.project_dir:
        with inbox.Transaction() as connection:
            values = (project, event.session_id, event.project_dir)
            connection.execute(f"{_RENAME} WHERE session_id = ? AND project_dir = ?", values)
        event.work_tree = event.work_tree or event.project_dir
        event.project_dir = project


def see(folder: str, tree: str = "") -> str:
    """Record that a folder, and a work tree of it, are worked in; return the project they belong to.

    A folder with the key of a known project joins it. If that project's own folder is gone, the folder was
    moved, and the memory moves along.
    """
    key, known = _key(folder), _row(folder)
    project = known.project_dir if known else folder
    same = [] if known and known.key == key else _same(folder, key)
    if same and (project == folder or same[0] != project):
        if os.path.isdir(same[0]):
            join(project, same[0])
            project = same[0]
        else:
            join(same[0], folder)
            facts.write(MOVED, {"from": same[0], "to": folder, "at": inbox.utc_now()})
            project = folder
    _note(folder, project, key)
    if tree:
        _note(tree, project, "")
    return project


def foresee(folder: str, tree: str, met: dict[str, str], *, has_memory: bool = True) -> str:
    """Return the project that `see` will return, without recording anything.

    `met` maps unknown folders and their keys to their projects; it gets those of `folder`.
    """
    project = of(tree or folder) if has_memory else folder
    if project != folder or (has_memory and noted(folder)) or _is_apart(folder):
        return project
    if folder not in met:
        key = _key(folder)
        same = _same(folder, key) if has_memory else []
        met[folder] = met.setdefault(key, same[0] if same else folder) if key else folder
    return met[folder]


def join(old: str, new: str) -> dict[str, int]:
    """Move a project's memory to another project; return the number of moved rows per table."""
    moved = {}
    with memory_database.atomic():
        for table in _MEMORY:
            pending = ", embedding_status = 'pending'" if table in _EMBEDDED else ""
            query = f"UPDATE OR REPLACE {table} SET project_dir = ?{pending} WHERE project_dir = ?"  # noqa: S608
            moved[table] = memory_database.execute_sql(query, (new, old)).rowcount
        ProjectFolder.update(project_dir=new).where(ProjectFolder.project_dir == old).execute()
        _note(new, new, _key(new))
        if os.path.isdir(old):
            _note(old, new, _key(old))
        else:
            _drop_code(old)
    with inbox.Transaction() as connection:
        connection.execute(f"{_RENAME} WHERE project_dir = ?", (new, old))
    _seen.clear()
    return moved


def tidy() -> None:
    """Record the folders of projects that have none, and drop the code maps of work trees that are gone.

    A linked work tree that has its own memory is joined with the project of its repository, and a folder of
    another project with that project.
    """
    known = {row.folder: row.project_dir for row in ProjectFolder.select()}
    found = memory_database.execute_sql("SELECT DISTINCT project_dir FROM sessions").fetchall()
    for (folder,) in found:
        if (project := known.get(folder, folder)) != folder and os.path.isdir(project):
            join(folder, project)
        if folder in known or not folder:
            continue
        project = config.place(folder)[0]
        is_linked = os.path.exists(os.path.join(folder, ".git")) or repository.is_clients_tree(folder)
        if project != folder and is_linked:
            see(project)
            join(folder, of(project))
        elif os.path.isdir(folder):
            see(folder)
    for row in list(ProjectFolder.select().where(ProjectFolder.folder != ProjectFolder.project_dir)):
        if not os.path.isdir(row.folder):
            _drop_code(row.folder)
            row.delete_instance()


def folders(project: str) -> list[str]:
    """Return the folders of a project, its own first."""
    rows = ProjectFolder.select().where(ProjectFolder.project_dir == project)
    return list(dict.fromkeys([project, *(row.folder for row in rows.order_by(ProjectFolder.folder))]))


def all_projects() -> list[dict[str, Any]]:
    """Return each project with its key, its folders and the size of its memory, most recent first."""
    rows = memory_database.execute_sql(
        "SELECT project_dir, count(*), sum(observation_count), max(last_event_at) FROM sessions"
        " GROUP BY project_dir ORDER BY max(last_event_at) DESC"
    ).fetchall()
    known = {row.folder: row.key for row in ProjectFolder.select()}
    return [
        {
            "project": project,
            "key": known.get(project, ""),
            "folders": folders(project),
            "sessions": sessions,
            "observations": observations or 0,
            "last_event_at": last,
            "is_there": os.path.isdir(project),
            "is_off": config.is_off(project),
        }
        for project, sessions, observations, last in rows
    ]


def moved() -> dict[str, str]:
    """Return `from`, `to` and `at` of the last project that was moved; {} for none."""
    return facts.read(MOVED)


def _same(folder: str, key: str) -> list[str]:
    """Return the projects with a key, longest known first; none for a folder configured to stay apart."""
    if not key or _is_apart(folder):
        return []
    rows = ProjectFolder.select().where((ProjectFolder.key == key) & (ProjectFolder.folder != folder))
    found = (row.project_dir for row in rows.order_by(ProjectFolder.seen_at))
    return [project for project in dict.fromkeys(found) if not _is_apart(project)]


def _key(folder: str) -> str:
    return repository.key(folder) or repository.first_commit(folder)


def _misses_one() -> bool:
    """Tell whether a folder is missing whose key is a first commit: a hash, without a slash."""
    rows = ProjectFolder.select(ProjectFolder.folder).where(
        (ProjectFolder.key != "") & ~ProjectFolder.key.contains("/")
    )
    return any(not os.path.isdir(row.folder) for row in rows)


def _is_apart(folder: str) -> bool:
    return any(os.path.expanduser(each).rstrip("/") == folder for each in settings.load().projects_apart)


def _row(folder: str) -> ProjectFolder | None:
    return ProjectFolder.get_or_none(ProjectFolder.folder == folder)


def _note(folder: str, project: str, key: str) -> None:
    """Record a folder or update its project and key; `seen_at` stays the time of the first record."""
    ProjectFolder.insert(folder=folder, project_dir=project, key=key, seen_at=inbox.utc_now()).on_conflict(
        conflict_target=[ProjectFolder.folder], update={"project_dir": project, "key": key}
    ).execute()


def _drop_code(folder: str) -> None:
    for table in _CODE:
        memory_database.execute_sql(f"DELETE FROM {table} WHERE project_dir = ?", (folder,))  # noqa: S608
    State.delete().where(State.name == f"code map {folder}").execute()
