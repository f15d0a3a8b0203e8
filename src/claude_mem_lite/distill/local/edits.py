"""Read an edit and its two versions from the event, and describe it: functions, lines, what says most.

No file is read; a version that the event does not hold whole is None, and nothing is concluded from it.
"""

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from claude_mem_lite.codemap import languages
from claude_mem_lite.codemap.extract import Function
from claude_mem_lite.codemap.languages import Change, diff
from claude_mem_lite.codemap.sources import PYTHON
from claude_mem_lite.distill.local import fields, hunks
from claude_mem_lite.distill.local.evidence import best_lines, code_worth, plain_worth
from claude_mem_lite.distill.local.hunks import Hunk
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, Capture, Observation, Skip
from claude_mem_lite.quoting import named, quote_long_names, quoted
from claude_mem_lite.repository import PROSE
from claude_mem_lite.text import TITLE_CHARS, count, join, one_line, unique

_NEW_FILE_CHARS = 1_200
_SMALL_EDIT_CHARS = 600
_PLAIN_CHARS = 600
_HUNK_CHARS, _COMMENT_CHARS, _PLACE_CHARS = 200, 120, 40
_HUNKS_TOLD, _HUNKS_READ = 4, 40
_NAMES_TOLD = 8

# Python, Java, TypeScript; C; Rust, PHP; a bare path in Go's list.
_IMPORT = re.compile(
    r"^\s*(?:(?:from\s+\S+\s+)?import\s+(?:type\s+|static\s+)?|#include\s+|(?:pub\s+)?use\s+|require(?:_once)?\s+"
    r"|using\s+(?=[\w.]+;)|(?=(?:\w+\s+|_\s+|\.\s+)?\"[\w./-]+\"\s*$))(.+)"
)
_HASH_COMMENT = re.compile(r"(?:^|\s)#[:!]?\s+(\w.*)$")
_SLASH_COMMENT = re.compile(r"(?:^|\s)//[/!]?\s+(\w.*)$")
_HASH_SUFFIXES = frozenset({
    ".py", ".pyi", ".sh", ".rb", ".pl", ".r", ".jl", ".ex", ".exs", ".nix",
})  # fmt: skip

_VERBS = {"new": "Add", "modified": "Edit", "deleted": "Remove"}
_PLACES = {"new": "to", "modified": "in", "deleted": "from"}
_LABELS = {"new": "New", "modified": "Modified", "deleted": "Removed"}
_CELL_VERBS = {"insert": "Insert", "delete": "Delete"}
_PLAIN_SUFFIXES = frozenset({
    ".md", ".rst", ".txt", ".adoc", ".toml", ".yaml", ".yml", ".json", ".jsonc", ".ini", ".cfg",
    ".conf", ".env", ".csv", ".xml", ".html", ".lock", ".properties",
})  # fmt: skip


@dataclass(frozen=True)
class Edit:
    """An edit as far as its event tells; `added` and `removed` are lines without marks."""

    path: str
    is_new: bool
    is_rewrite: bool
    before: str | None
    after: str | None
    added: tuple[str, ...]
    removed: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    @property
    def name(self) -> str:
        """The path as a sentence has it."""
        return named(self.path)

    @property
    def is_plain(self) -> bool:
        """Prose or configuration: its lines are the knowledge."""
        return is_plain(self.path)

    @property
    def is_prose(self) -> bool:
        """Text for people, which may well name what is no more."""
        return self.path.lower().endswith(PROSE)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changed definitions of a source; empty where one of its versions is not known whole."""
        return diff(self.before, self.after, path=self.path) if self.is_whole else ()

    @property
    def is_whole(self) -> bool:
        """Whether both versions are known."""
        return self.after is not None and (self.before is not None or self.is_new)


def is_plain(path: str) -> bool:
    """Tell whether a file is prose or configuration, by its name."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix in _PLAIN_SUFFIXES or not suffix


def edit_of(capture: Capture) -> Edit | None:
    """Return the edit of a file that a tool call made; None for any other event, and for a notebook's."""
    if capture.event_name != "PostToolUse":
        return None
    if capture.tool_name == "Write":
        return _written(capture)
    return _replaced(capture) if capture.tool_name in {"Edit", "MultiEdit"} else None


def _written(capture: Capture) -> Edit:
    """Return what a Write did: a new file, or all of an old one."""
    path = fields.path(capture, "file_path")
    response = fields.value(capture.payload, "tool_response")
    has_before = isinstance(fields.value(response, "originalFile"), str)
    is_new = not has_before or fields.text(response, "type") == "create"
    before = None if is_new else fields.whole(response, "originalFile")
    content = fields.argument(capture, "content")
    added, removed = changed_lines(before or "", content, response)
    after = fields.whole(capture.payload, "tool_input", "content")
    parts = hunks.of_patch(response) or (Hunk(removed, added, -1),)
    return Edit(path, is_new, not is_new, before, after, added, removed, parts)


def _replaced(capture: Capture) -> Edit:
    """Return what an Edit or a MultiEdit did."""
    path = fields.path(capture, "file_path")
    arguments = fields.value(capture.payload, "tool_input")
    response = fields.value(capture.payload, "tool_response")
    replacements = fields.items(arguments, "edits") or [arguments]
    is_known = isinstance(fields.value(response, "originalFile"), str)
    before = fields.whole(response, "originalFile") if is_known else None
    after = None if before is None else _patched(before, response) or _substituted(before, replacements)
    old, new = (
        "\n".join(fields.text(each, key) for each in replacements) for key in ("old_string", "new_string")
    )
    added, removed = changed_lines(old, new, response)
    parts = hunks.of_patch(response) or (Hunk(removed, added, -1),)
    return Edit(path, False, False, before, after, added, removed, parts)


def changed_lines(
    before: str, after: str, response: object = None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return added and removed lines: of the client's patch, else of the middle in which the texts differ."""
    patch = fields.items(response, "structuredPatch")
    lines = [line for hunk in patch for line in fields.texts(hunk, "lines")]
    if lines:
        added, removed = ([line[1:] for line in lines if line[:1] == sign] for sign in "+-")
        return tuple(added), tuple(removed)
    old, new = before.splitlines(), after.splitlines()
    same = hunks.same_start(old, new)
    old, new = old[same:], new[same:]
    same = hunks.same_start(old[::-1], new[::-1])
    return tuple(new[: len(new) - same]), tuple(old[: len(old) - same])


def _substituted(text: str, replacements: Sequence[object]) -> str | None:
    """Return the text after the replacements; None where one of them does not fit it."""
    for each in replacements:
        old = fields.text(each, "old_string")
        if not old or old not in text:
            return None
        times = -1 if fields.value(each, "replace_all") is True else 1
        text = text.replace(old, fields.text(each, "new_string"), times)
    return text


def _patched(text: str, response: object) -> str | None:
    """Return the text after the client's patch; None where there is none or it does not fit."""
    hunks = fields.items(response, "structuredPatch")
    lines = text.split("\n")
    shift = 0
    for hunk in hunks:
        patch = [line for line in fields.texts(hunk, "lines") if line[:1] in {" ", "+", "-"}]
        old = [line[1:] for line in patch if line[0] != "+"]
        start = max(0, fields.number(hunk, "oldStart") - 1 + shift)
        if lines[start : start + len(old)] != old:
            return None
        new = [line[1:] for line in patch if line[0] != "-"]
        lines[start : start + len(old)] = new
        shift += len(new) - len(old)
    return "\n".join(lines) if hunks else None


def observe(edit: Edit) -> Observation | Skip:
    """Describe what an edit changed in a file."""
    if not edit.path:
        return Skip("an edit of an unknown file")
    if not edit.added and not edit.removed:
        return Skip("an edit that changed nothing")
    known = edit.changes or _named_in_code(edit)
    title = one_line(_title(edit, known))
    summary = _summary(edit, known, title)
    room = OBSERVATION_CHARS - len(title) - len(summary)
    if edit.is_new:
        worth = plain_worth if edit.is_plain else code_worth
        detail = best_lines(edit.added, min(room, _NEW_FILE_CHARS), worth)
    else:
        room = min(room, _NEW_FILE_CHARS) if edit.is_rewrite else room
        detail = _evidence(edit.added, edit.removed, room, is_plain=edit.is_plain)
    return Observation(title, summary, detail or None, (edit.path,), edit.changes)


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
    added, removed = changed_lines(old, new)
    deed = f"{_CELL_VERBS.get(mode, 'Edit')} {f'cell {cell}' if cell else 'a cell'} of {named(path)}"
    kind = named(fields.text(response, "cell_type") or fields.argument(capture, "cell_type") or "code")
    summary = f"{deed} ({kind}{_size(added, removed)})."
    title = one_line(deed)
    detail = _evidence(added, removed, OBSERVATION_CHARS - len(title) - len(summary), is_plain=kind != "code")
    changed = diff(old, new) if fields.text(response, "language") == "python" else ()
    return Observation(title, summary, detail or None, (path,), changed)


def _title(edit: Edit, changed: Sequence[Change]) -> str:
    """Return what came of an edit: definitions that came or went, else its most telling hunk."""
    if edit.is_new:
        names = join([change.qualified_name for change in _outermost(changed)])
        return f"Create {edit.name} with {names}" if names else _with_hunk(f"Create {edit.name}", edit)
    renamed = _renames(edit, changed)
    if renamed and 2 * len(renamed) == sum(change.change_type != "modified" for change in changed):
        return f"Rename {join([f'{old}{hunks.ARROW}{new}' for old, new in renamed])} in {_place(edit)}"
    if any(change.change_type != "modified" for change in changed):
        return _title_of_changes(edit, _outermost(changed))
    lines = [line for line in (*edit.added, *edit.removed) if line.strip()]
    if not edit.is_plain and lines and all(map(_IMPORT.match, lines)):
        imported = sorted(_imported(edit.added) - _imported(edit.removed))
        return f"Import {join(imported)} in {edit.name}" if imported else f"Import less in {edit.name}"
    verb = "Rewrite " if edit.is_rewrite else ""
    around = () if edit.is_plain or changed else edit.hunks[:_HUNKS_READ]
    touched = [change.qualified_name for change in changed]
    touched += unique(hunks.around(edit.before, hunk) for hunk in around)
    return _with_hunk(f"{verb}{_place(edit, join(touched, 2))}", edit)


def _with_hunk(place: str, edit: Edit) -> str:
    """Return "place: “old → new” and 2 more"."""
    told = _told(edit)
    if not told:
        return place
    more = f" and {len(told) - 1} more" if len(told) > 1 else ""
    first = max(told, key=lambda each: each.worth)
    gone = "removed " if first.is_gone else ""
    room = TITLE_CHARS - len(place) - len(gone) - len(more) - len(": “”")
    return f"{place}: {gone}{quoted(first.text(max(room, 30)))}{more}"


def _told(edit: Edit) -> list[hunks.Told]:
    """Return what the hunks of an edit say, each thing once, without those that say nothing."""
    worth, tell = (plain_worth, hunks.whole) if edit.is_plain else (code_worth, hunks.telling)
    told = {each: None for hunk in edit.hunks[:_HUNKS_READ] if (each := tell(hunk, worth)).worth}
    return list({(each.old, each.new): each for each in told}.values())


def _place(edit: Edit, names: str = "") -> str:
    """Return "names in path"; of a long path the end that has room beside the names."""
    folders = edit.path.split("/")
    lead = f"{names} in " if names else ""
    ends = ("/".join(folders[-number:]) for number in (len(folders), 2))
    short = next((end for end in ends if len(lead) + len(end) <= _PLACE_CHARS), folders[-1])
    # Of a path that could be a sentence the end could be its.
    is_long = quote_long_names(edit.path) != edit.path
    return f"{lead}{quoted(short) if is_long else named(short)}"


def _renames(edit: Edit, changed: Sequence[Change]) -> list[tuple[str, str]]:
    """Pairs of a removed and a new definition of one place that do the same."""
    gone, come = (
        {each.qualified_name for each in changed if each.change_type == kind} for kind in ("deleted", "new")
    )
    if not gone or not come:
        return []
    old, new = (
        {
            _identity(each): each.qualified_name
            for each in _functions(edit.path, source)
            if each.qualified_name in names
        }
        for source, names in ((edit.before, gone), (edit.after, come))
    )
    return [(name, new[identity]) for identity, name in old.items() if identity in new and identity[-1]]


def _docstrings(edit: Edit) -> dict[str, str]:
    """Return the first docstring line of each definition of a source, as the edit left it."""
    return {
        each.qualified_name: one_line(each.docstring, 110).rstrip(".")
        for each in _functions(edit.path, edit.after)
        if each.docstring
    }


def _functions(path: str, source: str | None) -> tuple[Function, ...]:
    try:
        return languages.extract(path, source or "", limit=languages.ALL)
    except SyntaxError:
        return ()


def _identity(function: Function) -> tuple[str, str, str, bool]:
    """Return what stays when a definition is renamed in its place; False for an empty one."""
    scope = function.qualified_name.rpartition(".")[0]
    return scope, function.kind, function.body_hash, not function.is_empty


def _title_of_changes(edit: Edit, changed: Sequence[Change]) -> str:
    """Return "Add fold, edit match in importer.py"; where that is too long, what was only modified goes."""
    present = {change.change_type for change in changed}
    kinds = [kind for kind in _VERBS if kind in present]
    place = _PLACES[kinds[0]] if len(kinds) == 1 else "in"
    title = ""
    names = {kind: [each.qualified_name for each in changed if each.change_type == kind] for kind in kinds}
    brief = [kind for kind in kinds if kind != "modified"] or kinds
    for shown, limit in ((kinds, 3), (kinds, 2), (brief, 2)):
        deeds = ", ".join(f"{_VERBS[kind].lower()} {join(names[kind], limit)}" for kind in shown)
        rewritten = f"Rewrite {_place(edit)}: {deeds}"
        title = rewritten if edit.is_rewrite else f"{deeds[0].upper()}{deeds[1:]} {place} {_place(edit)}"
        if len(title) <= TITLE_CHARS:
            break
    return title


def _summary(edit: Edit, changed: Sequence[Change], title: str) -> str:
    """Return the file, the size, and what the title does not tell of the changes."""
    verb = "Created" if edit.is_new else "Rewrote" if edit.is_rewrite else "Edited"
    head = f"{verb} {edit.name} ({_size(edit.added, edit.removed).removeprefix(', ')})."
    parts = []
    documented = _docstrings(edit)
    for kind, label in _LABELS.items():
        names = [each.qualified_name for each in changed if each.change_type == kind]
        # What is new is told by what it is for; a change is told by its lines.
        shown = [
            f"{name} ({quoted(documented[name])})" if kind == "new" and name in documented else name
            for name in names
            if name not in title or (kind == "new" and name in documented)
        ]
        parts += [f"{label}: {join(shown, _NAMES_TOLD, '; ')}."] if shown else []
    chars = _PLAIN_CHARS if edit.is_plain else _HUNK_CHARS
    told = [] if parts or title.startswith("Import ") else _told(edit)
    said = [
        f"{'removed ' * each.is_gone}{quoted(each.text(chars))}" for each in told if each.core not in title
    ]
    parts += [f"Changes: {join(said, _HUNKS_TOLD, '; ')}."] if said else []
    if not edit.is_plain and not edit.is_new and (comments := _comments(edit, f"{title} {' '.join(parts)}")):
        parts.append(f"Comment: {quoted(one_line('; '.join(comments), _COMMENT_CHARS))}.")
    return one_line(" ".join([head, *parts]), 900)


def _outermost(changed: Sequence[Change]) -> list[Change]:
    """Without the members of a class that is itself new, or itself gone."""
    whole = tuple(f"{each.qualified_name}." for each in changed if each.change_type != "modified")
    return [each for each in changed if not each.qualified_name.startswith(whole)]


def _named_in_code(edit: Edit) -> list[Change]:
    """Return what came and what went where only a pattern can tell."""
    is_read = edit.is_whole and languages.of(edit.path) is not None
    if edit.is_plain or is_read or edit.path.endswith(PYTHON):
        return []
    come, gone = (unique(map(hunks.defined, lines)) for lines in (edit.added, edit.removed))
    return [
        *(Change(name, "function", "new") for name in come if name not in gone),
        *(Change(name, "function", "deleted") for name in gone if name not in come),
    ]


def _imported(lines: Sequence[str]) -> set[str]:
    matches = (match for line in lines if (match := _IMPORT.match(line)))
    return {named(name.strip(" ()\"';")) for match in matches for name in match[1].split(",")} - {""}


def _comments(edit: Edit, told: str) -> tuple[str, ...]:
    mark = _HASH_COMMENT if os.path.splitext(edit.path)[1] in _HASH_SUFFIXES else _SLASH_COMMENT
    return unique(match[1] for line in edit.added if (match := mark.search(line)) and match[1] not in told)


def _size(added: Sequence[str], removed: Sequence[str]) -> str:
    return f", +{len(added)} -{len(removed)} lines" if removed else f", {count(len(added), 'line')}"


def _evidence(added: Sequence[str], removed: Sequence[str], room: int, *, is_plain: bool) -> str:
    """Return the changed lines with their signs: all of a small edit, the telling ones of a large one."""
    is_small = sum(map(len, (*added, *removed))) < _SMALL_EDIT_CHARS
    worth = plain_worth if is_plain else code_worth

    def worth_of(line: str) -> int:
        return int(bool(line[2:].strip())) if is_small else worth(line[2:])

    minus = best_lines([f"- {line}" for line in removed], room // 3 if added else room, worth_of)
    plus = best_lines([f"+ {line}" for line in added], room - len(minus) - 1, worth_of)
    return "\n".join(filter(None, [minus, plus]))
