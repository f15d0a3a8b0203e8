"""Find calls in an observation, from functions that it changed or names and from traceback frames."""

import ast
import json
import os
import re
from collections.abc import Iterator, Sequence

from claude_mem_lite.codemap.extract import TYPES
from claude_mem_lite.storage.models import FunctionMapEntry, Observation

Place = tuple[str, str]  # file and qualified name

# Python's frames; pytest's short ones, which name the function; its long ones, which do not; separators.
_FRAME = re.compile(
    r'^[ \t]*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>\S+)'
    r"|^(?P<short>[^\s:]+\.py):(?P<at>\d+): in (?P<in>\S+)"
    r"|^(?P<long>[^\s:]+\.py):(?P<where>\d+):(?: \w+)?[ \t]*$"
    r"|^(?P<end>_{5,} .* _{5,}|={5,} .* ={5,}|During handling of .*|The above exception .*)$",
    re.MULTILINE,
)
# A JavaScript stack frame; those of one error are on consecutive lines, innermost first.
_JS_FRAME = re.compile(
    r"^[ \t]*(?:at|\u276f) (?:(?:async )?(?:new )?(?P<name>[^\s()]{1,200}) (?:\[as \w+\] )?)?"
    r"\(?(?:file://)?(?P<file>[^\s():]{1,500}\.[cm]?[jt]sx?):(?P<line>\d+):\d+\)?[ \t]*$",
    re.MULTILINE,
)
_NAMED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+\b|\b[A-Za-z_]\w*(?=\(\))")
_TEXT_CHARS = 200_000
_MOST_TOGETHER = 30  # functions of one observation; with more, none count as neighbours


class Functions:
    """A project's functions by place, by name and by line."""

    def __init__(self, rows: Sequence[FunctionMapEntry]) -> None:
        """Index the rows of the function map."""
        self.places: dict[Place, FunctionMapEntry] = {
            (row.file_path, row.qualified_name): row for row in rows
        }
        self._by_file: dict[str, list[FunctionMapEntry]] = {}
        self._by_name: dict[str, list[FunctionMapEntry]] = {}
        for row in rows:
            self._by_file.setdefault(row.file_path, []).append(row)
            self._by_name.setdefault(row.qualified_name, []).append(row)

    def named(self, name: str) -> Place | None:
        """Return the only function with a qualified name; None where there is none, or more than one."""
        rows = self._by_name.get(name, [])
        return (rows[0].file_path, rows[0].qualified_name) if len(rows) == 1 else None

    def has_parameter(self, place: Place, name: str) -> bool:
        """Tell whether a function has a parameter of that name, which hides other functions of that name."""
        row = self.places.get(place)
        try:
            tree = ast.parse(f"def {row.signature}: pass" if row else "")
        except SyntaxError:  # a class, or a truncated or redacted signature
            return False
        return any(isinstance(node, ast.arg) and node.arg == name for node in ast.walk(tree))

    def around(self, path: str, line: int, name: str) -> Place | None:
        """Return the innermost function around a line; None if its name is not `name` ("": any)."""
        inside = [row for row in self._by_file.get(path, ()) if row.line <= line <= row.end_line]
        if not inside:
            return None
        row = max(inside, key=lambda each: each.line)
        is_it = not name or row.qualified_name.rpartition(".")[2] == name
        return (path, row.qualified_name) if is_it and row.kind not in TYPES else None


def neighbours(observation: Observation, functions: Functions) -> list[Place]:
    """Return the functions that an observation changed or names, in arbitrary order."""
    found: dict[Place, None] = {}
    for change in observation.functions_changed:
        for path in observation.files_touched:
            place = (path, str(change.get("qualified_name")))
            if place in functions.places:
                found[place] = None
    for name in _NAMED.findall(f"{observation.title}\n{observation.summary}"):
        place_named = functions.named(name)
        if place_named is not None:
            found[place_named] = None
    return list(found) if len(found) <= _MOST_TOGETHER else []


def called(text: str, functions: Functions, project_dir: str) -> Iterator[tuple[Place, Place]]:
    """Yield pairs of caller and callee from the tracebacks in a text, by adjacent frames."""
    before: Place | None = None
    for match in _FRAME.finditer(text[:_TEXT_CHARS]):
        here = None
        if match["end"] is None:
            path = match["file"] or match["short"] or match["long"]
            line = int((match["line"] or match["at"] or match["where"])[:9])
            here = functions.around(_inside(path, project_dir), line, match["name"] or match["in"] or "")
        if before is not None and here is not None:
            yield before, here
        before = here
    yield from _called_in_javascript(text[:_TEXT_CHARS], functions, project_dir)


def _called_in_javascript(text: str, functions: Functions, project_dir: str) -> Iterator[tuple[Place, Place]]:
    inner: Place | None = None
    end = -1
    for match in _JS_FRAME.finditer(text):
        name = (match["name"] or "").rpartition(".")[2]
        is_named = name.isidentifier() and "new " not in match[0]
        line = int(match["line"][:9])
        here = functions.around(_inside(match["file"], project_dir), line, name if is_named else "")
        if here is not None and inner is not None and not text[end : match.start()].strip():
            yield here, inner
        inner, end = here, match.end()


def _inside(path: str, project_dir: str) -> str:
    return os.path.relpath(path, project_dir) if os.path.isabs(path) else os.path.normpath(path)


def output_of(raw: str) -> str:
    """Return all strings in a tool's error and response, at any depth, from the JSON of its event."""
    try:
        event = json.loads(raw)
    except RecursionError:
        return ""
    texts = []
    waiting = [event.get("error"), event.get("tool_response")]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            texts.append(value)
        elif isinstance(value, dict | list):
            waiting += reversed(value.values() if isinstance(value, dict) else value)
    return "\n".join(texts)
