"""Read an edit and the file's two versions from the event; describe changed functions and telling lines.

Reads no file. A version that the event does not hold whole is None, and nothing is concluded from it.
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
from claude_mem_lite.distill.observation import OBSERVATION_CHARS, Capture, Observation, Skip
from claude_mem_lite.distill.rules import fields, hunks
from claude_mem_lite.distill.rules.evidence import best_lines, code_worth, plain_worth
from claude_mem_lite.distill.rules.hunks import Hunk
from claude_mem_lite.quoting import named, quote_long_names, quoted
from claude_mem_lite.repository import PROSE
from claude_mem_lite.text import TITLE_CHARS, count, join, one_line, unique

_NEW_FILE_CHARS = 1_200
_SMALL_EDIT_CHARS = 600
_PLAIN_CHARS = 600
_HUNK_CHARS, _COMMENT_CHARS, _PLACE_CHARS = 200, 120, 40
_HUNKS_TOLD, _HUNKS_READ = 4, 40
_NAMES_TOLD = 8

# Imports of Python, Java and TypeScript; of C; of Rust, PHP and C#; a bare path in a Go import list.
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
    """An edit as far as its event shows it; `added` and `removed` are lines without diff marks."""

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
        """The path in the form used in sentences."""
        return named(self.path)

    @property
    def is_plain(self) -> bool:
        """Whether the file is prose or configuration, where the lines themselves are worth remembering."""
        return is_plain(self.path)

    @property
    def is_prose(self) -> bool:
        """Whether the file is prose for people, which may mention names that are gone."""
        return self.path.lower().endswith(PROSE)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """The changed definitions of a source file; empty if one version is not known whole."""
        return diff(self.before, self.after, path=self.path) if self.is_whole else ()

    @property
    def is_whole(self) -> bool:
        """Whether both versions of the file are known."""
        return self.after is not None and (self.before is not None or self.is_new)


def is_plain(path: str) -> bool:
    """Tell by its name whether a file is prose or configuration."""
    suffix = os.path.splitext(path)[1].lower()
    return suffix in _PLAIN_SUFFIXES or not suffix


def edit_of(capture: Capture) -> Edit | None:
    """Return the file edit that a tool call made; None for any other event and for notebook edits."""
    if capture.event_name != "PostToolUse":
        return None
    if capture.tool_name == "Write":
        return _written(capture)
    return _replaced(capture) if capture.tool_name in {"Edit", "MultiEdit"} else None


def _written(capture: Capture) -> Edit:
    """Return the edit of a Write: a new file, or a whole file rewritten."""
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
    """Return the edit of an Edit or a MultiEdit."""
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
    """Return added and removed lines: of the client's patch, else all lines between equal start and end."""
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
    """Return the text after the replacements; None if one of them does not match."""
    for each in replacements:
        old = fields.text(each, "old_string")
        if not old or old not in text:
            return None
        times = -1 if fields.value(each, "replace_all") is True else 1
        text = text.replace(old, fields.text(each, "new_string"), times)
    return text


def _patched(text: str, response: object) -> str | None:
    """Return the text after the client's patch; None if there is none or it does not match."""
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
    """Describe the changes that an edit made to a file."""
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
    """Describe the replacement, insertion or deletion of a notebook cell."""
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
    """Return an edit's title: added or removed definitions, else the most telling hunk."""
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
    """Return the distinct changes of an edit's hunks, without those that say nothing."""
    worth, tell = (plain_worth, hunks.whole) if edit.is_plain else (code_worth, hunks.telling)
    told = {each: None for hunk in edit.hunks[:_HUNKS_READ] if (each := tell(hunk, worth)).worth}
    return list({(each.old, each.new): each for each in told}.values())


def _place(edit: Edit, names: str = "") -> str:
    """Return "names in path", with only the end of a long path."""
    folders = edit.path.split("/")
    lead = f"{names} in " if names else ""
    ends = ("/".join(folders[-number:]) for number in (len(folders), 2))
    short = next((end for end in ends if len(lead) + len(end) <= _PLACE_CHARS), folders[-1])
    # A path that reads like a sentence goes into quotation marks, even if only its end is shown.
    is_long = quote_long_names(edit.path) != edit.path
    return f"{lead}{quoted(short) if is_long else named(short)}"


def _renames(edit: Edit, changed: Sequence[Change]) -> list[tuple[str, str]]:
    """Return (old, new) names of definitions that were renamed: same scope, same body."""
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
    """Return the first docstring line of each definition after the edit."""
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
    """Return what a rename leaves unchanged: scope, kind, body hash, and whether there is a body."""
    scope = function.qualified_name.rpartition(".")[0]
    return scope, function.kind, function.body_hash, not function.is_empty


def _title_of_changes(edit: Edit, changed: Sequence[Change]) -> str:
    """Return a title like "Add fold, edit match in importer.py"; if too long, without modified names."""
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
    """Return a summary: the file, the size, and the changes that the title leaves out."""
    verb = "Created" if edit.is_new else "Rewrote" if edit.is_rewrite else "Edited"
    head = f"{verb} {edit.name} ({_size(edit.added, edit.removed).removeprefix(', ')})."
    parts = []
    documented = _docstrings(edit)
    for kind, label in _LABELS.items():
        names = [each.qualified_name for each in changed if each.change_type == kind]
        # Show a new definition with its docstring; a change is shown by its lines.
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
    """Return the changes without members of a class that is itself new or removed."""
    whole = tuple(f"{each.qualified_name}." for each in changed if each.change_type != "modified")
    return [each for each in changed if not each.qualified_name.startswith(whole)]


def _named_in_code(edit: Edit) -> list[Change]:
    """Return added and removed definitions, found by a pattern, for a file that the code map cannot parse."""
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
    """Return changed lines with their signs: all of a small edit, the most telling of a large one."""
    is_small = sum(map(len, (*added, *removed))) < _SMALL_EDIT_CHARS
    worth = plain_worth if is_plain else code_worth

    def worth_of(line: str) -> int:
        return int(bool(line[2:].strip())) if is_small else worth(line[2:])

    minus = best_lines([f"- {line}" for line in removed], room // 3 if added else room, worth_of)
    plus = best_lines([f"+ {line}" for line in added], room - len(minus) - 1, worth_of)
    return "\n".join(filter(None, [minus, plus]))
