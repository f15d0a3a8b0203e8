"""Export the memory as lines of text, and import such lines from any source.

Raw events, vectors, the code map, logs and settings belong to one machine and are not exported.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import DatabaseError, facts
from claude_mem_lite.storage.models import memory_database
from claude_mem_lite.upkeep import lines, store

# Most lines and bytes in one transaction; it starts after they are parsed, so the consumer waits briefly.
_LINES_AT_ONCE, _BYTES_AT_ONCE = 500, 16 << 20


@dataclass(slots=True)
class TakenIn:
    """Result of an import: counts of new and existing rows by kind, and wrong lines with their reasons.

    `waiting` new learnings wait for the user's approval; `unguarded` new learnings lost their guard.
    """

    added: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    waiting: int = 0
    unguarded: int = 0


def export(project_dir: str | None) -> Iterator[str]:
    """Yield the lines of an export of one project or of everything (None), from one snapshot."""
    yield line(lines.Head().model_dump())
    with facts.snapshot():
        for kind, model in lines.KINDS.items():
            names = [name for name in model.model_fields if name != "kind"]
            for row in store.rows(kind, project_dir):
                yield line({"kind": kind, **{name: row[name] for name in names}})


def take_in(
    said: Iterator[bytes],
    *,
    suspicions: Callable[[str], list[str]],
    progress: Callable[[int], None],
    with_guards: bool = False,
) -> TakenIn:
    """Import the lines of an export; existing rows stay as they are, so importing twice changes nothing more.

    Text is cleaned and redacted like captured text. A new, active learning that is not the user's own waits
    for the user if there are `suspicions` against it. Guards are dropped unless the user vouches for them
    (`with_guards`). `progress` is called with the number of lines read.
    Raises: ClaudeMemError when the first line is not that of an export.
    """
    taken = TakenIn()
    numbered = enumerate(said, 1)
    _, first = next(numbered, (0, b""))
    try:
        is_head = isinstance(lines.parse(first), lines.Head)
    except lines.WrongLineError:
        is_head = False
    if not is_head:
        head = line(lines.Head().model_dump())
        raise ClaudeMemError(f"not a claude-mem export: its first line is not {head}")
    for batch in _batches(numbered, taken.wrong):
        with memory_database.atomic():
            for number, told in batch:
                _take(number, told, taken, suspicions, with_guards=with_guards)
        progress(sum(taken.added.values()) + sum(taken.there.values()) + len(taken.wrong))
    taken.wrong.sort()
    return taken


def _batches(
    numbered: Iterator[tuple[int, bytes]], wrong: list[tuple[int, str]]
) -> Iterator[list[tuple[int, Any]]]:
    """Yield parsed lines with their numbers, one batch per transaction; append wrong lines to `wrong`."""
    batch: list[tuple[int, Any]] = []
    size_bytes = 0
    for number, text in numbered:
        size_bytes += len(text)
        try:
            if text.strip():
                batch.append((number, lines.parse(text)))
        except lines.WrongLineError as error:
            wrong.append((number, str(error)))
        if len(batch) == _LINES_AT_ONCE or size_bytes > _BYTES_AT_ONCE:
            yield batch
            batch, size_bytes = [], 0
    yield batch


def _take(
    number: int, said: Any, taken: TakenIn, suspicions: Callable[[str], list[str]], *, with_guards: bool
) -> None:
    try:
        row = lines.columns(said)
        waits, has_guard = False, "guard" in row
        if not with_guards:
            row.pop("guard", None)
        if isinstance(said, lines.Learning) and not store.knows_learning(said.id):
            found = suspicions(said.content) if said.is_active and not said.is_manual else []
            if found:
                row |= {"is_active": False, "quarantine": list(dict.fromkeys([*said.quarantine, *found]))}
            waits = bool(row["quarantine"])
        if said.kind == "claude-mem":
            return
        with memory_database.atomic():  # a line that cannot be stored must not undo the others
            is_new = store.add(said.kind, row)
    except (ClaudeMemError, DatabaseError) as error:
        taken.wrong.append((number, str(error)))
    else:
        (taken.added if is_new else taken.there)[said.kind] += 1
        taken.waiting += waits and is_new
        taken.unguarded += has_guard and not with_guards and is_new


def line(fields: dict[str, Any]) -> str:
    """Return a line of an export, without its newline."""
    return json.dumps(fields, ensure_ascii=False)
