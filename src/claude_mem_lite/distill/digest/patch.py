"""Write an edit as a unified diff, from the client's patch or the strings it was made with."""

import difflib
from collections.abc import Iterable, Iterator, Sequence

from claude_mem_lite.distill.local import fields, versions
from claude_mem_lite.text import clean

CONTEXT_LINES = 1

_HUNK_LINES = 20_000
_COMPARED = 40_000  # pairs of lines: beyond, difflib takes longer than all the rest


def of_response(response: object) -> str:
    """Return the client's patch with less context, each stretch of changes under a header of its own."""
    lines: list[str] = []
    for hunk in fields.items(response, "structuredPatch"):
        told = fields.items(hunk, "lines")[: max(0, _HUNK_LINES - len(lines))]
        body = [clean(line) for line in told if isinstance(line, str) and line[:1] in {" ", "+", "-"}]
        lines += _hunks(body, fields.number(hunk, "oldStart"), fields.number(hunk, "newStart"))
    return "\n".join(lines)


def of_strings(pairs: Iterable[tuple[str, str]]) -> str:
    """Return what tells old from new strings, pair by pair; their place in the file is not known."""
    return "\n".join(line for old, new in pairs for line in _compared(old, new))


def _hunks(body: Sequence[str], old: int, new: int) -> Iterator[str]:
    """Yield the changed lines with context and headers; `old` and `new` number the first line of `body`."""
    changed = [index for index, line in enumerate(body) if line[0] != " "]
    start = 0
    while start < len(changed):
        end = start
        while end + 1 < len(changed) and changed[end + 1] - changed[end] <= 2 * CONTEXT_LINES + 1:
            end += 1
        first = max(0, changed[start] - CONTEXT_LINES)
        shown = body[first : changed[end] + CONTEXT_LINES + 1]
        old_at, new_at = (at + _count(body[:first], sign) for at, sign in ((old, "-"), (new, "+")))
        yield f"@@ -{old_at},{_count(shown, '-')} +{new_at},{_count(shown, '+')} @@"
        yield from shown
        start = end + 1


def _count(lines: Iterable[str], sign: str) -> int:
    return sum(line[0] in {" ", sign} for line in lines)


def _compared(old: str, new: str) -> list[str]:
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) <= _COMPARED:
        return list(difflib.unified_diff(before, after, n=CONTEXT_LINES, lineterm=""))[2:]
    added, removed = versions.changed_lines(old, new)
    head = f"@@ -{len(removed)} lines +{len(added)} lines @@"
    return [head, *(f"-{line}" for line in removed), *(f"+{line}" for line in added)]
