"""Store the names gone from a project's code, their replacements and names that may go; read its edits."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from peewee import JOIN, Case, chunked, fn

from claude_mem_lite.capture.priority import EDITORS
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage.models import Observation, PendingEvent, RetiredName, Session

# Most candidates, and most gone names, that are returned; the newest are kept.
_CANDIDATES, _GONE = 5_000, 1_000
_AT_ONCE = 500  # SQLite variables in one statement
_OF_AN_EDIT = 600  # characters that are read of an edit's text
# Matches values that are not names: a path, a host with its port.
_IS_TEXT = RetiredName.name % "*[:/@]*"


def note(
    event: PendingEvent, retired: Iterable[Mapping[str, Any]], brought: Collection[tuple[str, str]]
) -> None:
    """Store the names that an edit removed from a project's code, and delete those that it brought back.

    `retired` are columns of the rows; `brought` are pairs of a name and the setting that has it, "" for none.
    """
    names = sorted({name for name, _ in brought})[:_AT_ONCE]
    rows = RetiredName.select().where(
        (RetiredName.project_dir == event.project_dir)
        & RetiredName.name.in_(names)
        & (RetiredName.retired_at <= event.created_at)
    )
    back = [row.pk for row in rows if (row.name, row.beside) in brought]
    RetiredName.delete().where(RetiredName.pk.in_(back)).execute()
    place = {"project_dir": event.project_dir, "session_id": event.session_id, "observation_id": event.id}
    found = [{**place, **each, "retired_at": event.created_at} for each in retired]
    if found:
        RetiredName.insert_many(found).on_conflict_replace().execute()


def candidates(project_dir: str) -> list[str]:
    """Return the names that were seen in a project or removed somewhere in it, and may be gone from it."""
    rows = RetiredName.select(RetiredName.name).where(
        (RetiredName.project_dir == project_dir) & (RetiredName.beside == "")
    )
    return [row.name for row in rows.order_by(RetiredName.retired_at.desc()).limit(_CANDIDATES)]


def remember(project_dir: str, seen: Iterable[Mapping[str, str]]) -> None:
    """Store names that the work tree has (columns of their rows); beyond 5,000 the oldest are dropped."""
    rows = ({"project_dir": project_dir, **each} for each in seen)
    for some in chunked(rows, _AT_ONCE):
        RetiredName.insert_many(some).on_conflict_ignore().execute()
    is_seen = ~RetiredName.is_gone & (RetiredName.replacement == "") & (RetiredName.beside == "")
    mine = RetiredName.select(RetiredName.pk).where((RetiredName.project_dir == project_dir) & is_seen)
    newest = mine.order_by(RetiredName.retired_at.desc())
    RetiredName.delete().where(RetiredName.pk.in_(newest.offset(_CANDIDATES).limit(-1))).execute()


def set_gone(project_dir: str, gone: Mapping[str, str], *, of: Collection[str]) -> None:
    """Mark the names in `of` as gone if they are in `gone`, else as present; store their replacements."""
    mine = (RetiredName.project_dir == project_dir) & (RetiredName.beside == "")
    for some in chunked(of, _AT_ONCE):
        here = mine & RetiredName.name.in_(some)
        lost = [name for name in some if name in gone]
        RetiredName.update(is_gone=RetiredName.name.in_(lost)).where(here).execute()
    for name, replacement in gone.items():
        if replacement:
            RetiredName.update(replacement=replacement).where(mine & (RetiredName.name == name)).execute()


class Gone(NamedTuple):
    """A name that is gone, with columns of `RetiredName`; if `branch` is set, gone on that branch only."""

    name: str
    beside: str
    replacement: str
    retired_at: str
    branch: str


def gone_from(project_dir: str, names: Collection[str] | None = None, *, branch: str = "") -> list[Gone]:
    """Return the names and old values that are gone from a project's code; `names` limits the plain names.

    Names that another branch has renamed are included with that branch, unless it is the current `branch`,
    whose work tree is checked directly. Names that only the final message of the last session on an unmerged
    branch reports as gone are left out: the code still has them.
    """
    columns = (RetiredName.name, RetiredName.beside, RetiredName.replacement, RetiredName.retired_at)
    elsewhere = Case(None, [(RetiredName.is_gone, "")], Session.branch)
    rows = RetiredName.select(*columns, elsewhere).join(
        Session, JOIN.LEFT_OUTER, on=(Session.id == RetiredName.session_id)
    )
    rows = rows.join_from(
        RetiredName, Observation, JOIN.LEFT_OUTER, on=(Observation.id == RetiredName.observation_id)
    )
    has_own = Session.branch.not_in({*SHARED_BRANCHES, branch}) & ~Session.branch.startswith("@")
    is_renamed = (
        (RetiredName.replacement != "")
        & ~RetiredName.replacement.startswith(RetiredName.name)
        & (RetiredName.beside == "")
        & has_own
    )
    has_come_in = fn.coalesce(fn.json_extract(Session.state, "$.is_merged"), 0) == 1
    own = Session.alias()
    last = own.select(own.id).where(own.project_dir == project_dir).group_by(own.branch)
    last = last.having(own.started_at == fn.MAX(own.started_at))  # of each branch
    is_reported = (RetiredName.replacement == "") & (Observation.tool_name == "Stop") & Session.id.in_(last)
    is_gone = RetiredName.is_gone & (~fn.coalesce(has_own & is_reported, 0) | has_come_in)
    rows = rows.where((RetiredName.project_dir == project_dir) & (is_gone | is_renamed))
    if names is not None:
        some = sorted(names)[:_AT_ONCE]
        rows = rows.where(RetiredName.name.in_(some) | (RetiredName.beside != "") | _IS_TEXT)
    # If there are too many, the requested names come first.
    order = (*([RetiredName.beside != ""] if names is not None else []), RetiredName.retired_at.desc())
    newest: Any = rows.order_by(*order).limit(_GONE).tuples()
    return [Gone._make(row) for row in newest]


def edits(project_dir: str, sessions: Collection[str], *, limit: int) -> list[tuple[str, str]]:
    """Return (time, text) of some sessions' edits in a project, newest first; texts are cut to 600 chars."""
    told = fn.substr(
        Observation.title + "\n" + Observation.summary + "\n" + fn.coalesce(Observation.detail, ""),
        1,
        _OF_AN_EDIT,
    )
    rows = Observation.select(Observation.created_at, told).where(
        (Observation.project_dir == project_dir)
        & Observation.session.in_(list(sessions))
        & Observation.tool_name.in_(sorted(EDITORS))
    )
    found: Any = rows.order_by(Observation.created_at.desc()).limit(limit).tuples()
    return list(found)
