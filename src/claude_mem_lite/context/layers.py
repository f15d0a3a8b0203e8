"""Read the layers of a start block from memory, and value each of their lines.

A layer returns the lines of its section in reading order; `budget` chooses which of them are shown.
"""

import os.path
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from claude_mem_lite.context.budget import Line
from claude_mem_lite.context.coverage import choose
from claude_mem_lite.context.past import FADES, LINE_CHARS, SESSIONS, THREAD, Past, goal_in
from claude_mem_lite.context.text import harmless
from claude_mem_lite.distill.findings import findings
from claude_mem_lite.distill.standing import changed, is_test
from claude_mem_lite.distill.state import State
from claude_mem_lite.distill.statements import names
from claude_mem_lite.distill.thread import GOALS, IN_FLIGHT, OPEN, Said
from claude_mem_lite.quoting import named
from claude_mem_lite.repository import SHARED_BRANCHES
from claude_mem_lite.storage import code
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage import findings as finding_rows
from claude_mem_lite.storage.models import FunctionChange, Learning, Session
from claude_mem_lite.text import CHARS_PER_TOKEN, count, named_path

FUNCTIONS = 30
LEARNINGS = 16
LEAST_CONFIDENCE = 0.5

# The files worked on most: how many, in how many characters, and the worth of a file that was only read.
_FILES, _FILES_CHARS, _READ_ONLY = 10, 450, 0.3
# Weight of a merged session's statements, relative to unfinished work: its title and the code show the rest.
_MERGED = 0.4
# Labels of lines that are obsolete once a session is merged; and those shown of a session on another branch.
_UNMERGED = frozenset({"Failing", IN_FLIGHT, "Pull request"})
_OF_ANOTHER = frozenset({*GOALS[:2], "Came to", "Next", "Said to be open", "Failing", IN_FLIGHT})
_READ = 100  # most function changes that are read
_SAID_AGAIN = 2  # times seen from which a candidate is shown as a rule


def thread(past: Past) -> list[Line]:
    """Return lines on where the work stands, from the newest session of this branch that did any."""
    row = past.newest
    if row is None:
        return []
    left = [said for said in _left(past, row) if said.at > past.since]
    if any(said.label == "Failing" for said in left):
        told = _told_as_findings(past)
        left = [said for said in left if said.label != "Failing" or said.row_id not in told]
    heading = past.heading(row, of_thread=True)
    # A goal that the heading already shows is not repeated.
    goal = goal_in(past.state(row).thread, of_thread=True)
    has_goal = harmless(goal, chars=LINE_CHARS) in heading.says
    goals = [said for said in left if has_goal and said.label in GOALS and said.says == goal]
    heading = replace(heading, stands_for=tuple(said.row_id for said in goals))
    lines = [past.said(said) for said in left if said not in goals]
    return in_order([heading, *lines]) if left else []


def _told_as_findings(past: Past) -> set[str]:
    """Return the event ids of failures with a known cure and of old problems: another layer shows these."""
    found = findings(past.failed or finding_rows.known(past.project_dir))
    told = (each for each in found if (each.is_sure and each.works) or each.is_old)
    return {call for each in told for call in each.event_ids}


def _left(past: Past, row: Session) -> list[Said]:
    """Return the lines of a session's thread; fewer of them for another branch or a merged session.

    The first prompt may be done long since, and an answered one is, so both are left out. The heading shows
    the goal if the branch's name does not.
    """
    state = past.state(row)
    is_ours = row.branch == past.branch or row.branch in SHARED_BRANCHES
    # Commits, the lines without a label, are left out: git shows them.
    told = [said for said in state.thread if said.label and (is_ours or said.label in _OF_ANOTHER)]
    return [
        said
        for said in told
        if said.label not in GOALS[2:] and not (state.is_merged and said.label in _UNMERGED)
    ]


def earlier(past: Past) -> list[Line]:
    """Return what the last sessions state, this branch's first, with one heading per branch.

    The values of the lines follow their importance, not the reading order.
    """
    sessions = past.sessions[:SESSIONS]
    states = [
        (state, past.share(at, row) * (_MERGED if state.is_merged else 1.0))
        for at, row in enumerate(sessions)
        for state in [past.state(row)]
    ]
    headings = [row.id if row.branch in SHARED_BRANCHES else row.branch for row in sessions]
    # A branch's heading is that of its first session in `sessions`.
    heads = {name: past.heading(row) for name, row in zip(headings[::-1], sessions[::-1], strict=True)}
    left = _not_told(sessions, [state for state, _ in states])
    chosen = choose(
        states,
        chars=round(past.room * CHARS_PER_TOKEN),
        since=past.since,
        told=past.told,
        use=lambda said: 0.0 if said in left else past.worth(said),
        branch=past.branch,
        headings=[(name, len(heads[name].text) + len("- \n")) for name in headings],
    )
    turns: dict[tuple[int, str], list[Said]] = {}
    for at, said in chosen:
        turns.setdefault((at, said.row_id), []).append(said)
    places = {turn: place for place, turn in enumerate(turns)}
    lines: list[Line] = []
    for heading in dict.fromkeys(headings):
        own = [turn for turn in turns if headings[turn[0]] == heading]
        if own:
            line = heads[heading]
            lines.append(replace(line, value=line.tokens * 2.0 ** (1 - min(map(places.__getitem__, own)))))
        for turn in sorted(own, key=lambda turn: turns[turn][0].at):
            line = past.stated(turns[turn], states[turn[0]][0])
            value = line.tokens * 2.0 ** -places[turn]
            lines.append(replace(line, value=value, reason=f"in {_place(turn[0])}"))
    return lines


def _not_told(sessions: Sequence[Session], states: Sequence[State]) -> set[Said]:
    """Return the statements that say nothing under a branch's heading; `sessions` are newest first.

    These name only the branch, such as that it was pushed, or what was open in a session that a later one on
    the branch has continued.
    """
    later: set[str] = set()
    left: set[Said] = set()
    for row, state in zip(sessions, states, strict=True):
        is_past, own = row.branch in later, {row.branch.lower()}
        left.update(
            said
            for said in state.statements
            if (is_past and OPEN.search(said.text)) or (not said.is_users and names(said.text) == own)
        )
        if len(state.statements) >= THREAD:
            later.add(row.branch)
    return left


def in_order(lines: Sequence[Line]) -> list[Line]:
    """Return lines with values that make `fill` choose them before all others and in this order."""
    return [replace(line, value=line.tokens * 2.0**-at) for at, line in enumerate(lines)]


def worked_on(past: Past) -> list[Line]:
    """Return one line with the files that sessions changed and read most; recent work weighs more."""
    worth: defaultdict[str, float] = defaultdict(float)
    for at, row in enumerate(past.sessions):
        for path, times in past.state(row).files.items():
            worth[path] += past.share(at, row) * (times**0.5 or _READ_ONLY)
    inside = [path for path in worth if path and path[0] not in "/." and not past.is_renamed(path)]
    best = sorted(inside, key=worth.__getitem__, reverse=True)[:_FILES]
    if not best or past.since:
        return []
    # Each file keeps its last folder, to distinguish it from files of the same name.
    folder = os.path.dirname(os.path.commonpath([os.path.dirname(path) for path in best]))
    head = f"in {named(folder)}: " if folder else ""
    files = [named_path(os.path.relpath(path, folder or ".")) for path in best]
    while len(says := head + ", ".join(files)) > _FILES_CHARS and len(files) > 1:
        files.pop()
    row = past.sessions[0]
    line = past.line(
        row.id, "function", row.last_event_at, says, weight=4.0, reason="edits and reads", chars=_FILES_CHARS
    )
    return [replace(line, is_one_of_many=True)]


def function_map(past: Past) -> list[Line]:
    """Return a line per file with the documented functions that the last sessions added, newest first.

    Tests are left out. Undocumented, changed and deleted functions are too: git shows them.
    """
    files: dict[str, list[FunctionChange]] = {}
    for row in code.changes_of(past.project_dir, list(past.recent), since=past.since, limit=_READ):
        if row.observation_id:
            files.setdefault(row.file_path, []).append(row)
    lines = []
    for path, rows in files.items():
        if is_test(path) or past.gone(os.path.basename(path), rows[0].created_at):
            continue
        has_new = any(row.change_type == "new" for row in rows)
        docs = context_rows.docs_of_new(past.project_dir, path) if has_new else {}
        documented = [row for row in rows if row.qualified_name in docs]
        if told := changed(documented, verbs=("new",), docs=docs):
            lines.append(_made(past, f"{named_path(path)}: {told}", documented))
    return lines


def _made(past: Past, told: str, rows: Sequence[FunctionChange]) -> Line:
    """Return the line for the functions added to a file; `rows` are newest first."""
    rank = past.recent[rows[0].session_id]
    ids = list(dict.fromkeys(row.observation_id for row in rows if row.observation_id))
    return past.line(
        ids[0],
        "function",
        rows[0].created_at,
        told,
        weight=FADES**rank * min(2.0, 1 + 0.2 * (len(ids) - 1)),
        reason=f"edits: {len(ids)}, the last in {_place(rank)}",
        stands_for=ids,
    )


def learnings(past: Past) -> list[Line]:
    """Return lines for the learnings, most confident first; the newest new rule says how to change them."""
    rows = context_rows.learnings(
        past.project_dir, least=LEAST_CONFIDENCE, since=past.since, limit=2 * LEARNINGS
    )
    last = max((row.started_at for row in past.sessions), default="")
    new = sorted((row for row in rows if _is_new(row, last)), key=lambda row: row.updated_at)
    note = f" ({count(len(new), 'new rule')}: `claude-mem learnings` to change)" if new and last else ""
    return [
        past.learned(
            row,
            weight=2 if note and row is new[-1] else row.confidence,
            reason=f"confidence {row.confidence:.2f}",
            note=note if note and row is new[-1] else "",
        )
        for row in rows
    ]


def _is_new(row: Learning, last: str) -> bool:
    """Tell whether a learning became a rule since the start of the last session (UTC text)."""
    return not row.is_manual and (
        row.created_at >= last or (row.times_seen == _SAID_AGAIN and row.updated_at >= last)
    )


def _place(at: int) -> str:
    return f"session {at + 1} from the newest" if at else "the newest session"
