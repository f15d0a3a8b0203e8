"""Tell in a line what became of a file's functions. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import join

if TYPE_CHECKING:
    from collections.abc import Sequence

    from claude_mem_lite.storage.models import FunctionChange

_NAMES = 6  # functions named of a file
_SIGNATURE_CHARS = 60
_STRING = re.compile(r"[\"']")  # a default value can be a sentence


def changed(rows: Sequence[FunctionChange]) -> str:
    """Return what became of a file's functions: "new allocate(total, weights); changed split".

    `rows` are newest first. What was made and changed is new, what was made and removed again is not told.
    """
    last: dict[str, FunctionChange] = {}
    made = {row.qualified_name for row in rows if row.change_type == "new"}
    for row in rows:
        last.setdefault(row.qualified_name, row)
    verbs: dict[str, list[str]] = {"new": [], "changed": [], "gone": []}
    for name, row in sorted(
        last.items(), key=lambda each: each[1].qualified_name.rpartition(".")[2][:1] == "_"
    ):
        is_gone = row.change_type == "deleted"
        if is_gone and name in made:
            continue
        verb = "gone" if is_gone else "new" if name in made else "changed"
        has_room = row.kind == "function" and len(row.signature) <= _SIGNATURE_CHARS
        told = row.signature if verb == "new" and has_room else name
        verbs[verb].append(quoted(told) if _STRING.search(told) else told)
    return "; ".join(f"{verb} {join(names, _NAMES)}" for verb, names in verbs.items() if names)
