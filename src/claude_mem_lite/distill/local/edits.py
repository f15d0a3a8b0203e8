"""What an edit changed, in words: which functions, how many lines, and the lines that say most."""

import os.path
import re
from collections.abc import Sequence

from claude_mem_lite.codemap.diff import Change, diff
from claude_mem_lite.distill.local import fields, versions
from claude_mem_lite.distill.local.evidence import best_lines, code_worth, plain_worth, unique
from claude_mem_lite.distill.local.versions import Edit
from claude_mem_lite.distill.observation import (
    OBSERVATION_CHARS,
    TITLE_CHARS,
    Capture,
    Observation,
    Skip,
    count,
    join,
    one_line,
)
from claude_mem_lite.distill.quoting import named, quoted

_NEW_FILE_CHARS = 1_200
_SMALL_EDIT_CHARS = 600
_PLAIN_CHARS = 800
_SHORT_LINES_CHARS = 60
_NAMES_TOLD = 8

_NAMED_IN_CODE = re.compile(
    r"^\s*(?:export\s+|default\s+|pub(?:\(\w+\))?\s+|public\s+|private\s+|static\s+|async\s+|abstract\s+)*"
    r"(?:function\*?|class|func(?:\s*\([^)]*\))?|fn|interface|struct|enum|trait|type|module)\s+([A-Za-z_$][\w$]*)"
)
_IMPORT = re.compile(r"^\s*(?:from\s+\S+\s+)?import\s+(.+)")
_LIST_MARK = re.compile(r"^\s*(?:[-*#>]+\s+)+")
_HASH_COMMENT = re.compile(r"(?:^|\s)#[:!]?\s+(\w.*)$")
_SLASH_COMMENT = re.compile(r"(?:^|\s)//[/!]?\s+(\w.*)$")
_HASH_SUFFIXES = frozenset({
    ".py", ".pyi", ".sh", ".rb", ".pl", ".r", ".jl", ".ex", ".exs", ".nix",
})  # fmt: skip

_VERBS = {"new": "Add", "modified": "Edit", "deleted": "Remove"}
_PLACES = {"new": "to", "modified": "in", "deleted": "from"}
_LABELS = {"new": "New", "modified": "Modified", "deleted": "Removed"}
_CELL_VERBS = {"insert": "Insert", "delete": "Delete"}


def observe_write(capture: Capture) -> Observation | Skip:
    """Describe a file written as a whole, new or over an old one."""
    return _observation(versions.written(capture))


def observe_edit(capture: Capture) -> Observation | Skip:
    """One or several replacements in a file (Edit, MultiEdit)."""
    return _observation(versions.replaced(capture))


def observe_notebook(capture: Capture) -> Observation | Skip:
    """Describe a notebook's cell replaced, inserted or deleted."""
    path = fields.path(capture, "notebook_path")
    if not path:
        return Skip("an edit of an unknown file")
    response = fields.value(capture.payload, "tool_response")
    mode = fields.argument(capture, "edit_mode")
    cell = named(fields.argument(capture, "cell_id") or fields.text(response, "cell_id"))
    old = "" if mode == "insert" else fields.text(response, "old_source")
    new = "" if mode == "delete" else fields.argument(capture, "new_source")
    added, removed = versions.changed_lines(old, new)
    deed = f"{_CELL_VERBS.get(mode, 'Edit')} {f'cell {cell}' if cell else 'a cell'} of {named(path)}"
    kind = named(fields.text(response, "cell_type") or fields.argument(capture, "cell_type") or "code")
    summary = f"{deed} ({kind}{_size(added, removed)})."
    title = one_line(deed)
    detail = _evidence(added, removed, OBSERVATION_CHARS - len(title) - len(summary), is_plain=kind != "code")
    changed = diff(old, new) if fields.text(response, "language") == "python" else ()
    return Observation(title, summary, detail or None, (path,), changed)


def _observation(edit: Edit) -> Observation | Skip:
    if not edit.path:
        return Skip("an edit of an unknown file")
    if not edit.added and not edit.removed:
        return Skip("an edit that changed nothing")
    changed = versions.changes(edit)
    title = one_line(_title(edit, changed))
    summary = _summary(edit, changed)
    room = OBSERVATION_CHARS - len(title) - len(summary)
    if edit.is_plain and _is_told_whole(edit):
        detail = ""
    elif edit.is_new:
        detail = best_lines(
            edit.added, min(room, _NEW_FILE_CHARS), plain_worth if edit.is_plain else code_worth
        )
    else:
        room = min(room, _NEW_FILE_CHARS) if edit.is_rewrite else room
        detail = _evidence(edit.added, edit.removed, room, is_plain=edit.is_plain)
    return Observation(title, summary, detail or None, (edit.path,), changed)


def _title(edit: Edit, changed: Sequence[Change]) -> str:
    named = _outermost(changed) or _named_in_code(edit)
    if edit.is_new:
        names = join([change.qualified_name for change in named])
        return f"Create {edit.name} with {names}" if names else f"Create {edit.name}{_first_line(edit)}"
    renamed = versions.renames(edit, changed)
    if renamed and 2 * len(renamed) == sum(change.change_type != "modified" for change in changed):
        return f"Rename {join([f'{old} to {new}' for old, new in renamed])} in {edit.name}"
    if named:
        return _title_of_changes(edit, named)
    if all(_IMPORT.match(line) or not line.strip() for line in (*edit.added, *edit.removed)):
        imported = sorted(_imported(edit.added) - _imported(edit.removed))
        return f"Import {join(imported)} in {edit.name}" if imported else f"Edit imports of {edit.name}"
    return f"{'Rewrite' if edit.is_rewrite else 'Edit'} {edit.name}{_first_line(edit)}"


def _title_of_changes(edit: Edit, changed: Sequence[Change]) -> str:
    """Return "Add fold, edit match in importer.py"; where that is too long, what was only modified goes."""
    kinds = [kind for kind in _VERBS if any(change.change_type == kind for change in changed)]
    place = _PLACES[kinds[0]] if len(kinds) == 1 else "in"
    title = ""
    for shown, limit in (
        (kinds, 3),
        (kinds, 2),
        ([kind for kind in kinds if kind != "modified"] or kinds, 2),
    ):
        names = {
            kind: [each.qualified_name for each in changed if each.change_type == kind] for kind in shown
        }
        deeds = ", ".join(f"{_VERBS[kind].lower()} {join(names[kind], limit)}" for kind in shown)
        rewritten = f"Rewrite {edit.name}: {deeds}"
        title = rewritten if edit.is_rewrite else f"{deeds[0].upper()}{deeds[1:]} {place} {edit.name}"
        if len(title) <= TITLE_CHARS:
            break
    return title


def _summary(edit: Edit, changed: Sequence[Change]) -> str:
    verb = "Created" if edit.is_new else "Rewrote" if edit.is_rewrite else "Edited"
    head = f"{verb} {edit.name} ({_size(edit.added, edit.removed).removeprefix(', ')})."
    if edit.is_plain:
        return f"{head} {_plain_lines(edit)}".strip()
    renamed = versions.renames(edit, changed)
    told = {name for pair in renamed for name in pair}
    documented = versions.docstrings(edit)
    parts = [f"Renamed {join([f'{old} to {new}' for old, new in renamed])}."] if renamed else []
    for kind, label in _LABELS.items():
        names = [each.qualified_name for each in changed if each.change_type == kind]
        shown = [
            f"{name} ({quoted(documented[name])})" if name in documented else name
            for name in names
            if name not in told
        ]
        if shown:
            parts.append(f"{label}: {join(shown, _NAMES_TOLD, '; ')}.")
    comments = [] if edit.is_new else _comments(edit)
    if comments:
        parts.append(f"Comment: {quoted(one_line('; '.join(comments), 200))}.")
    return one_line(" ".join([head, *parts]), 900)


def _outermost(changed: Sequence[Change]) -> list[Change]:
    """Without the members of a class that is itself new, or itself gone."""
    whole = {change.qualified_name for change in changed if change.change_type != "modified"}
    return [
        change
        for change in changed
        if not any(change.qualified_name.startswith(f"{name}.") for name in whole)
    ]


def _named_in_code(edit: Edit) -> list[Change]:
    """Return new names in a language that only a pattern reads."""
    added, removed = (
        unique(match[1] for line in lines if (match := _NAMED_IN_CODE.match(line)))
        for lines in (edit.added, edit.removed)
    )
    return [] if edit.is_plain else [Change(name, "function", "new") for name in added if name not in removed]


def _imported(lines: Sequence[str]) -> set[str]:
    matches = (match for line in lines if (match := _IMPORT.match(line)))
    return {named(name.strip(" ()")) for match in matches for name in match[1].split(",")} - {""}


def _comments(edit: Edit) -> tuple[str, ...]:
    mark = _HASH_COMMENT if os.path.splitext(edit.path)[1] in _HASH_SUFFIXES else _SLASH_COMMENT
    return unique(match[1] for line in edit.added if (match := mark.search(line)))


def _first_line(edit: Edit) -> str:
    """Return ": " and the changed line that says most, or all of them where they are short."""
    worth = plain_worth if edit.is_plain else code_worth
    is_added = any(worth(line) for line in edit.added)
    lines = [line for line in (edit.added if is_added else edit.removed) if worth(line)]
    if not lines:
        return ""
    told = _bare(max(lines, key=worth))
    if edit.is_plain and sum(map(len, lines)) < _SHORT_LINES_CHARS:
        told = join([_bare(line) for line in lines], 4)
    return f": {'' if is_added else 'remove '}{quoted(told)}"


def _bare(line: str) -> str:
    """Return a line without list marks and without the punctuation at its end."""
    return _LIST_MARK.sub("", line).strip().rstrip(",.{[ ")


def _plain_lines(edit: Edit) -> str:
    """Return the changed lines of prose or configuration, the new ones first."""
    added = quoted(one_line(_on_one_line(edit.added), _PLAIN_CHARS))
    removed = quoted(one_line(_on_one_line(edit.removed), _PLAIN_CHARS // 2))
    if edit.is_new:
        return f"Content: {added}" if added else ""
    if added and removed:
        return f"Now: {added}\nBefore: {removed}"
    return f"Added: {added}" if added else f"Removed: {removed}"


def _is_told_whole(edit: Edit) -> bool:
    """Whether the summary of a plain file holds all changed lines already."""
    return (
        len(_on_one_line(edit.added)) <= _PLAIN_CHARS and len(_on_one_line(edit.removed)) <= _PLAIN_CHARS // 2
    )


def _on_one_line(lines: Sequence[str]) -> str:
    return " | ".join(" ".join(line.split()) for line in lines if plain_worth(line))


def _size(added: Sequence[str], removed: Sequence[str]) -> str:
    if not removed:
        return f", {count(len(added), 'line')}"
    return f", +{len(added)} -{len(removed)} lines"


def _evidence(added: Sequence[str], removed: Sequence[str], room: int, *, is_plain: bool) -> str:
    """Return the changed lines with their signs: all of a small edit, the telling ones of a large one."""
    is_small = sum(map(len, (*added, *removed))) < _SMALL_EDIT_CHARS
    worth = plain_worth if is_plain else code_worth

    def worth_of(line: str) -> int:
        return int(bool(line[2:].strip())) if is_small else worth(line[2:])

    minus = best_lines([f"- {line}" for line in removed], room // 3 if added else room, worth_of)
    plus = best_lines([f"+ {line}" for line in added], room - len(minus) - 1, worth_of)
    return "\n".join(filter(None, [minus, plus]))
