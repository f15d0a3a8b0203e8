"""Read a session's state from the databases, and describe in one line how a file's functions changed."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from claude_mem_lite.distill import echoes
from claude_mem_lite.distill.attempts import is_commit
from claude_mem_lite.distill.state import State, state_of
from claude_mem_lite.quoting import quoted
from claude_mem_lite.storage import code, queries, timeline
from claude_mem_lite.storage import context as context_rows
from claude_mem_lite.storage.models import FunctionChange, Observation
from claude_mem_lite.text import join

_CHANGES, _HEARD_CHARS = 300, 300_000
_NAMES = 6  # functions named per file and verb
_SIGNATURE_CHARS = 60
_STRING = re.compile(r"[\"']")  # a default value can be a sentence
_TEST = re.compile(r"(?i:(?:^|[/_.-])(?:tests?|specs?)[/_.-])|[a-z]Tests?\.")
VERBS = ("new", "changed", "gone")


def standing(
    project_dir: str,
    session_id: str,
    rows: Sequence[Observation],
    later: Sequence[Sequence[Observation]] = (),
) -> State:
    """Return a session's state from its observations and those of each session after it, oldest first."""
    committed = next((row.created_at for row in reversed(rows) if is_commit(row)), "")
    by_file: dict[str, list[FunctionChange]] = {}
    for row in code.changes_of(project_dir, [session_id], since=committed, limit=_CHANGES):
        by_file.setdefault(row.file_path, []).append(row)
    plan = context_rows.plan_events(project_dir, session_id, since=committed)
    told = {path: changed(own) for path, own in by_file.items() if not is_test(path)}
    return state_of(rows, plan=plan, quote=_quoting(session_id), changes=told, later=later)


def _quoting(session_id: str) -> Callable[[str], str]:
    """Return a function that puts quotation marks around passages which the session had read before."""
    last = timeline.last_event(session_id)

    def heard() -> Iterator[str]:
        for payload in queries.answers_before(last, chars=_HEARD_CHARS) if last else ():
            yield from echoes.from_outside(payload)

    return lambda text: echoes.quote_others(text, heard()) if last else text


def changed(
    rows: Sequence[FunctionChange], *, verbs: Sequence[str] = VERBS, docs: Mapping[str, str] | None = None
) -> str:
    """Describe how a file's functions changed: "new allocate(total, weights); changed split".

    `rows` are newest first. A function that was added and then changed is new; one that was added and then
    removed is left out. Only changes named in `verbs` are listed. `docs` are the quoted docstrings of new
    functions: these come first, without signatures.
    """
    docs = docs or {}
    last: dict[str, FunctionChange] = {}
    made = {row.qualified_name for row in rows if row.change_type == "new"}
    for row in rows:
        last.setdefault(row.qualified_name, row)
    told: dict[str, list[str]] = {verb: [] for verb in VERBS}
    for name, row in sorted(
        last.items(), key=lambda each: (each[0] not in docs, each[0].rpartition(".")[2][:1] == "_")
    ):
        is_gone = row.change_type == "deleted"
        if is_gone and name in made:
            continue
        verb = "gone" if is_gone else "new" if name in made else "changed"
        has_room = row.kind == "function" and len(row.signature) <= _SIGNATURE_CHARS
        says = row.signature if verb == "new" and has_room and name not in docs else name
        says = quoted(says) if _STRING.search(says) else says
        doc = docs.get(name, "").replace(f"“{name.rpartition('.')[2]} ", "“") if verb == "new" else ""
        told[verb].append(f"{says} ({doc})" if doc else says)
    return "; ".join(f"{verb} {join(told[verb], _NAMES)}" for verb in verbs if told[verb])


def is_test(path: str) -> bool:
    """Tell whether a file is a test, by the usual names of test files and folders."""
    return _TEST.search(path) is not None
