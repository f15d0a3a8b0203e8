"""Tell in a line what became of a file's functions. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from claude_mem_lite.quoting import quoted
from claude_mem_lite.text import join

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from claude_mem_lite.storage.models import FunctionChange

_NAMES = 6  # functions named of a file
_SIGNATURE_CHARS = 60
_STRING = re.compile(r"[\"']")  # a default value can be a sentence


VERBS = ("new", "changed", "gone")


def changed(
    rows: Sequence[FunctionChange], *, verbs: Sequence[str] = VERBS, docs: Mapping[str, str] | None = None
) -> str:
    """Return what became of a file's functions: "new allocate(total, weights); changed split".

    `rows` are newest first. What was made and changed is new, what was made and removed again is not told.
    Only what `verbs` name is told. `docs` say what new functions are for, each quoted: these come first, and
    without their signatures.
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
        doc = (
            docs[name].replace(f"“{name.rpartition('.')[2]} ", "“") if verb == "new" and name in docs else ""
        )
        told[verb].append(f"{says} ({doc})" if doc else says)
    return "; ".join(f"{verb} {join(told[verb], _NAMES)}" for verb in verbs if told[verb])
