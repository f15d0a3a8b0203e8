"""Cut a text by content: keep the most valuable lines, in order, with marks where lines are missing.

`rules.evidence` rates a single line; this module rates it among its neighbours.
"""

import itertools
import json
import re
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from claude_mem_lite.distill.rules.evidence import code_worth, output_worth, plain_worth
from claude_mem_lite.text import clean

# Rates each line of a text among the others; a line rated 0 is cut first and never fills spare room.
Worths = Callable[[Sequence[str]], list[int]]

_HEADER = 100
_MARK_CHARS = len("[… 1,234 lines left out …]\n")
_MARK = re.compile(r"\[… [\d,]+ (?:lines? left out|characters cut) …\]")
# Lines that are read at all, and lines of output that are rated: keeps every digest within milliseconds.
_LINES = 6_000
_LINES_READ = 3_000
_LOUD = re.compile(
    r"[Ee]rror|[Ee]xception|[Ff]ail|ERR|FAIL|[Ff]atal|[Pp]anic|[Ww]arn|[Dd]enied|[Rr]efused|passed"
)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=\S)")
_LONG = 300  # characters; a longer line of prose is split into sentences
_SHORTEST_LINE_CHARS = 160
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|[-*+•]\s|\d+[.)]\s|\[)")
_SIGNATURE_LINES = 6
_SAME_SHAPE = 3
_HUNKS_HEADED = 24
_SIGNS = {"+": 1, "-": -3}
_NUMBERS = re.compile(r"\d+")
# (items, characters of a string) that an outline keeps; the first pair that fits is used.
_OUTLINES = ((1_000, 10_000), (50, 1_000), (20, 400), (8, 200), (4, 100), (2, 50))
_OUTLINE_DEPTH = 12


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a digest, and the function that cuts it if there is not enough room."""

    text: str
    cut: Callable[[str, int], str]


def code(text: str) -> Part:
    """Return a part with source code: definitions, docstrings, comments and constants are cut last."""
    return Part(text, lambda whole, room: _select_from(whole, code_worths, room))


def prose(text: str) -> Part:
    """Return a part with prose or configuration: headings and beginnings of paragraphs are cut last."""
    return Part(text, lambda whole, room: _select_from(_sentences(whole), prose_worths, room))


def output(text: str) -> Part:
    """Return a part with a command's output: errors and verdicts are cut last."""
    return Part(text, lambda whole, room: _select_from(whole, output_worths, room))


def patch(text: str, *, is_plain: bool) -> Part:
    """Return a part with a diff; keeps hunk headers first, then added lines, removed lines and context."""
    worths = prose_worths if is_plain else code_worths
    return Part(
        text, lambda whole, room: _select_from(whole, lambda lines: _patch_worths(lines, worths), room)
    )


def structure(value: object) -> Part:
    """Return a part with a JSON value on one line: its shape and its first items are cut last."""
    return Part(outline(value), lambda _, room: outline(value, room))


def answer(text: str) -> Part:
    """Return a part with a tool's answer of unknown kind: JSON, or else lines as a command prints them."""
    if text.lstrip()[:1] in {"{", "["}:
        try:
            value = json.loads(text)
            return Part(text, lambda _, room: outline(value, room))
        except (ValueError, RecursionError):
            pass
    return output(text)


def assemble(head: str, parts: Iterable[Part], limit: int) -> str:
    """Join the head and the parts in at most `limit` characters; room that one part leaves goes to others."""
    head = shorten(head, max(0, limit // 3))
    shown = [part for part in parts if part.text.strip()]
    room = limit - len(head)
    rooms: dict[int, int] = {}
    for done, index in enumerate(sorted(range(len(shown)), key=lambda index: len(shown[index].text))):
        share = room // (len(shown) - done) - 1
        rooms[index] = min(len(shown[index].text), share)
        room -= rooms[index] + 1
    texts = [
        part.text.strip("\n") if len(part.text) <= rooms[index] else part.cut(part.text, max(0, rooms[index]))
        for index, part in enumerate(shown)
    ]
    return "\n".join(text for text in (head, *texts) if text)[: max(0, limit)]


def select(lines: Sequence[str], worths: Worths, limit: int) -> str:
    """Return the highest-rated lines that fit into `limit` characters, with marks for those left out."""
    told = [(worth, line) for worth, line in zip(worths(lines), lines, strict=True) if line.strip()]
    longest = max(_SHORTEST_LINE_CHARS, limit // min(8, len(told) or 1) - _MARK_CHARS)
    kept = [shorten(line.rstrip(), longest) for _, line in told]
    is_kept = [False] * len(kept)
    room = limit - _MARK_CHARS
    for _, index in sorted((-worth, index) for index, (worth, _) in enumerate(told) if worth > 0):
        cost = len(kept[index]) + 1 + _MARK_CHARS * (_gaps_beside(is_kept, index) - 1)
        if cost <= room:
            is_kept[index] = True
            room -= cost
    for index, line in enumerate(kept):
        # Keep a line that is shorter than the mark that would replace it.
        if not is_kept[index] and len(line) < _MARK_CHARS and not _gaps_beside(is_kept, index):
            is_kept[index] = True
    return _with_marks(kept, is_kept)


def first_and_last(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines; of more than 6,000, the first and last 3,000 with a mark between them."""
    if len(lines) <= _LINES:
        return lines
    half = _LINES // 2
    return [*lines[:half], f"[… {len(lines) - 2 * half:,} lines left out …]", *lines[-half:]]


def shorten(line: str, limit: int) -> str:
    """Shorten a line to `limit` characters: a mark with the line's length replaces its middle."""
    if len(line) <= limit:
        return line
    mark = f" [… {len(line):,} characters …] "
    if limit < 2 * len(mark):
        return line[:limit]
    head = (limit - len(mark)) * 2 // 3
    return f"{line[:head]}{mark}{line[len(line) - (limit - len(mark) - head) :]}"


def outline(value: object, limit: int | None = None) -> str:
    """Return a value as JSON on one line; to fit `limit`, drop later items and the middles of strings."""
    for most_items, most_chars in _OUTLINES:
        text = _json(_outlined(value, most_items, most_chars, 0))
        if limit is None or len(text) <= limit:
            return text
    return shorten(text, limit or 0)


def without(value: object, known: Container[str], depth: int = 0) -> object:
    """Return a JSON value without the strings in `known`, and without objects that this leaves empty."""
    if isinstance(value, str):
        return None if value in known else value
    if not isinstance(value, dict) or depth == _OUTLINE_DEPTH:
        return value
    left = {key: without(item, known, depth + 1) for key, item in value.items()}
    return {key: item for key, item in left.items() if item is not None and item != {}}


def code_worths(lines: Sequence[str]) -> list[int]:
    """Rate each line of source code, 0 to 5; lines inside docstrings and signatures get at least 3."""
    points: list[int] = []
    is_docstring, signature_lines = False, 0
    for line in lines:
        worth = _mark_worth(line) or code_worth(line)
        if is_docstring or signature_lines:
            worth = max(worth, 3 if line.strip() else 0)
        if (line.count('"""') + line.count("'''")) % 2:
            is_docstring = not is_docstring
        is_open = line.rstrip().endswith(("(", ",")) and (worth == 4 or signature_lines > 0)  # noqa: PLR2004 - a definition
        signature_lines = (signature_lines or _SIGNATURE_LINES) - 1 if is_open else 0
        if worth == 5 and points and points[-1] == 4:  # noqa: PLR2004 - a docstring needs its definition
            points[-1] = worth
        points.append(worth)
    return _first_of_equals(lines, points)


def prose_worths(lines: Sequence[str]) -> list[int]:
    """Rate each line of prose or configuration, 0 to 4."""
    points: list[int] = []
    is_first = True
    for line in lines:
        if not line.strip():
            points.append(0)
            is_first = True
            continue
        worth = 4 if _HEADING.match(line) else 3 if is_first else plain_worth(line)
        points.append(_mark_worth(line) or worth)
        is_first = False
    return _first_of_equals(lines, points)


def output_worths(lines: Sequence[str]) -> list[int]:
    """Rate each line of output, 0 to 5; lines beside an error rise, and repeated similar lines fall."""
    points = [0] * len(lines)
    shapes: dict[str, list[int]] = {}
    for index in _read_closely(lines):
        line = lines[index]
        shape = " ".join(_NUMBERS.sub("0", line[:200]).split())
        same = shapes.setdefault(shape, [])
        worth = _mark_worth(line) or (same[0] if same else output_worth(line))
        same.append(worth)
        is_more_of_it = len(same) > _SAME_SHAPE and worth < _HEADER
        points[index] = int(worth > 3) if is_more_of_it else worth  # noqa: PLR2004 - an error or a verdict
    lifted = [index for index, worth in enumerate(points) if worth == 5]  # noqa: PLR2004 - the most
    for index in (*range(min(3, len(lines))), *range(max(0, len(lines) - 3), len(lines))):
        points[index] = max(points[index], 4 if lines[index].strip() else 0)
    for index in lifted:
        for beside in (index - 1, index + 1):
            if 0 <= beside < len(points):
                points[beside] = max(points[beside], 3)
    return points


def _read_closely(lines: Sequence[str]) -> Iterable[int]:
    """Return the indexes of the lines to rate: all, or of over 3,000 both ends and lines like errors."""
    if len(lines) <= _LINES_READ:
        return range(len(lines))
    third = _LINES_READ // 3
    loud = [index for index, line in enumerate(lines) if _LOUD.search(line[:300])][:third]
    return sorted({*range(third), *loud, *range(len(lines) - third, len(lines))})


def _patch_worths(lines: Sequence[str], worths: Worths) -> list[int]:
    """Rate each line of a diff; with more than 24 hunks, a header rates as high as its hunk's best line."""
    points = [
        10 + 2 * worth + _SIGNS[line[0]] if worth and line[:1] in _SIGNS else worth
        for line, worth in zip(lines, worths([line[1:] for line in lines]), strict=True)
    ]
    headers = [index for index, line in enumerate(lines) if line.startswith("@@")]
    for start, end in itertools.pairwise((*headers, len(lines))):
        best = max(points[start + 1 : end], default=0)
        points[start] = _HEADER if len(headers) <= _HUNKS_HEADED else best
    return points


def _select_from(text: str, worths: Worths, limit: int) -> str:
    return select(first_and_last(text.split("\n")), worths, limit)


def _mark_worth(line: str) -> int:
    return _HEADER if line.startswith("[…") and _MARK.match(line) else 0


def _first_of_equals(lines: Sequence[str], points: Sequence[int]) -> list[int]:
    """Return the points, at most 1 for a line that repeats an earlier one."""
    seen: set[str] = set()
    found: list[int] = []
    for line, worth in zip(lines, points, strict=True):
        bare = line.strip()
        found.append(min(worth, 1) if bare in seen and worth < _HEADER else worth)
        seen.add(bare)
    return found


def _gaps_beside(is_kept: Sequence[bool], index: int) -> int:
    """Return the number of a line's neighbours that are left out, 0 to 2."""
    before, after = index > 0 and not is_kept[index - 1], index + 1 < len(is_kept) and not is_kept[index + 1]
    return before + after


def _with_marks(lines: Sequence[str], is_kept: Sequence[bool]) -> str:
    shown: list[str] = []
    missing = 0
    for line, kept in zip((*lines, ""), (*is_kept, True), strict=True):
        if kept and missing:
            shown.append(f"[… {missing:,} {'line' if missing == 1 else 'lines'} left out …]")
        missing = 0 if kept else missing + 1
        shown += [line] * kept
    return "\n".join(shown[:-1])


def _sentences(text: str) -> str:
    """Split each line of more than 300 characters into one sentence per line."""
    lines = text.split("\n")
    return "\n".join(_SENTENCE_END.sub("\n", line) if len(line) > _LONG else line for line in lines)


def _outlined(value: object, most_items: int, most_chars: int, depth: int) -> Any:
    if isinstance(value, str):
        return shorten(clean(value), most_chars)
    if not isinstance(value, dict | list) or not value:
        return value
    if depth == _OUTLINE_DEPTH:
        return "…"
    left_out = len(value) - most_items
    if isinstance(value, list):
        items = [_outlined(item, most_items, most_chars, depth + 1) for item in value[:most_items]]
        return [*items, f"… {left_out:,} more"] if left_out > 0 else items
    pairs = {
        shorten(clean(str(key)), most_chars): _outlined(item, most_items, most_chars, depth + 1)
        for key, item in list(value.items())[:most_items]
    }
    return {**pairs, "…": f"{left_out:,} more"} if left_out > 0 else pairs


def _json(value: object) -> str:
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=str, skipkeys=True))
    except ValueError:
        return ""
