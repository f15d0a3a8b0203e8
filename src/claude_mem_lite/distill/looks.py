"""Check what sessions stated against a work tree: names that are gone, branches that were merged."""

import os.path
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from claude_mem_lite import repository
from claude_mem_lite.capture import inbox
from claude_mem_lite.distill.retired import in_code, is_code, is_literal, stated_code, stated_names
from claude_mem_lite.distill.state import State
from claude_mem_lite.quoting import quoted
from claude_mem_lite.redaction.events import redact
from claude_mem_lite.storage import context, queries, retired
from claude_mem_lite.storage.models import PendingEvent, Session, memory_database
from claude_mem_lite.text import one_line

_STATING = 25  # sessions; a start block covers as many
_TITLE_CHARS = 120  # of a pull request
# When git last moved the HEAD of each work tree (Unix seconds), as of the last check.
_moves: dict[str, float] = {}
# Subjects of merge commits: as hosts and git write them, and the subject of a squashed pull request.
_MERGES = (
    re.compile(r"Merge (?:pull request|PR) (?P<pull>#\d+) from [^/\s]+/(?P<branch>\S+)"),
    re.compile(r"Merged in (?P<branch>\S+) \(pull request (?P<pull>#\d+)\)"),
    re.compile(r"Merge branch '(?P<branch>[^']+)' into '[^']+'(?P<pull>)"),
    re.compile(r"(?P<title>.*\S) *\((?P<pull>#\d+)\)(?P<branch>)"),
    re.compile(r"Merge (?:remote-tracking )?branch '(?:origin/)?(?P<branch>[^']+)'(?P<pull>)"),
)
_PULL = re.compile(r"/(?:pull|pulls|merge_requests|pull-requests)/(\d+)")


def look_again(last: PendingEvent) -> None:
    """Check the work tree of a project's last event again if git has moved its HEAD since."""
    tree = last.work_tree or last.project_dir
    at = repository.moved_at(tree)
    if at > _moves.get(tree, inbox.unix_time(last.created_at)):
        _moves[tree] = at
        look_at(last.project_dir, tree)


def look_at(project_dir: str, tree: str = "") -> None:
    """Check the statements of a project's sessions against a work tree, by default the project's folder."""
    rows = [row for row in context.sessions(project_dir, limit=_STATING) if row.state]
    stating = [(row, State.from_json(row.state)) for row in rows]
    _look_for_names(project_dir, tree or project_dir, stating)
    own = [(row, state) for row, state in stating if row.branch not in repository.SHARED_BRANCHES]
    _look_for_merges(tree or project_dir, own)


def _look_for_merges(tree: str, stating: Sequence[tuple[Session, State]]) -> None:
    """Mark the sessions whose branches were merged after they ended, by the work tree's git history."""
    merged = merges(repository.commits(tree)) if stating else {}
    pulls: dict[str, set[str]] = {}
    for row, state in stating:
        numbers = (f"#{pull[1]}" for said in state.thread if (pull := _PULL.search(said.says)))
        pulls.setdefault(row.branch, {row.branch}).update(numbers)
    by_command = {row.branch: row.last_event_at for row, state in stating[::-1] if state.is_merged}
    for row, state in stating:
        ended = inbox.unix_time(row.last_event_at)
        merge = None if state.merged_as else _merge_of(pulls[row.branch], ended, merged)
        if not (merge or state.is_merged) and row.last_event_at < by_command.get(row.branch, ""):
            merge = Merge(ended)
        if merge:
            title = quoted(one_line(redact(merge.title), _TITLE_CHARS))
            as_what = ": ".join(filter(None, [merge.pull, title]))
            state_now = {**row.state, "is_merged": True, "merged_as": as_what}
            queries.save_summary(row.id, row.summary or "", state=state_now)


def _look_for_names(project_dir: str, tree: str, stating: Sequence[tuple[Session, State]]) -> None:
    """Search a work tree for the names that sessions state, and for those seen in it before.

    Names that it has are remembered. Remembered or removed names that it lacks are marked as gone.
    """
    known = [name for name in retired.candidates(project_dir) if name.isascii()]  # as git's answer is
    stated = _stated_names(stating)
    tokens = repository.tokens(tree) if known or stated else None
    if tokens is None:
        return
    names = {*known, *stated}
    code = {name for name in names if is_code(name) or is_literal(name)}
    found = repository.texts(tree, code) if code else set()
    if found is None:
        return
    held, moved = in_code(tokens, names - code)
    paths = {name for name in code if "/" in name}
    folders = repository.tracked_folders(tree) if paths else frozenset()
    held |= found | {path for path in paths if path in folders or os.path.isfile(os.path.join(tree, path))}
    gone = {name: moved.get(name, "") for name in known if name not in held}
    # A name found in a file is not redacted yet, unlike remembered names.
    gone = {name: new if redact(new) == new else "" for name, new in gone.items()}
    with memory_database.atomic():
        retired.set_gone(project_dir, gone, of=known)
        retired.remember(project_dir, [stated[name] for name in stated.keys() & held])


def _stated_names(stating: Sequence[tuple[Session, State]]) -> dict[str, dict[str, str]]:
    """Return the code names in what sessions state, each with the row of the session that named it last."""
    found: dict[str, dict[str, str]] = {}
    for session, state in stating:
        for said in (*state.statements, *state.thread):
            place = {"session_id": session.id, "observation_id": said.row_id, "retired_at": said.at}
            for name in (*stated_names(said.text), *stated_code(said.text)):
                found.setdefault(name, {"name": name, **place})
    return found


class Merge(NamedTuple):
    """A merged branch: when (Unix seconds), its pull request ("#12"), and the title of that."""

    at: float
    pull: str = ""
    title: str = ""


def merges(commits: Iterable[tuple[float, str, str]]) -> dict[str, Merge]:
    """Return the last merge by branch name and pull request ("#12").

    `commits` are (time in Unix seconds, subject, body); a merge's body begins with its pull request's title.
    """
    found: dict[str, Merge] = {}
    for at, subject, body in commits:
        match = next((each for pattern in _MERGES if (each := pattern.fullmatch(subject.strip()))), None)
        if match is None:
            continue
        title = match.groupdict().get("title") or body.strip().partition("\n")[0]
        merge = Merge(at, match["pull"], title)
        for name in filter(None, match.group("branch", "pull")):
            found[name] = max(merge, found.get(name, merge))
    return found


def _merge_of(names: Iterable[str], since: float, found: Mapping[str, Merge]) -> Merge | None:
    """Return the merge of one of a session's branches or pull requests after it ended, at `since`."""
    merged = (found[name] for name in names if name in found)
    return next((merge for merge in merged if merge.at >= since), None)
