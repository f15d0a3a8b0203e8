"""Export the memory as text, line by line, and take such lines in, from whoever they come.

What stays behind is what belongs to this machine: raw events, vectors, the code map, logs, settings.
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

# In one transaction, which begins when they are read and cleaned: the consumer waits no longer than that.
_LINES_AT_ONCE, _BYTES_AT_ONCE = 500, 16 << 20


@dataclass(slots=True)
class TakenIn:
    """What an import has come to: new rows and those there already, by kind, and the lines that were wrong.

    `waiting` is how many of the new learnings wait for the user, `unguarded` how many lost their guard.
    """

    added: Counter[str] = field(default_factory=Counter)
    there: Counter[str] = field(default_factory=Counter)
    wrong: list[tuple[int, str]] = field(default_factory=list)
    waiting: int = 0
    unguarded: int = 0


def export(project_dir: str | None) -> Iterator[str]:
    """Yield the lines of an export, of a project or of everything (None), as of one moment."""
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
    """Take in the lines of an export; what is there already stays as it is, so that twice is as once.

    Text is cleaned and redacted as what is captured. A learning that is new here and not the user's own waits
    for the user if there are `suspicions` against it. Guards are left off, unless `with_guards` is the
    user's word that they are theirs. `progress` takes how many lines are read.
    Raises: ClaudeMemError when it is no export.
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
        raise ClaudeMemError(f"no export of claude-mem: its first line is not {head}")
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
    """Yield what the lines say, with their numbers, as much as goes into one transaction; note wrong ones."""
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
        with memory_database.atomic():  # a line that cannot be stored takes no other with it
            is_new = store.add(said.kind, row)
    except (ClaudeMemError, DatabaseError) as error:
        taken.wrong.append((number, str(error)))
    else:
        (taken.added if is_new else taken.there)[said.kind] += 1
        taken.waiting += waits and is_new
        taken.unguarded += has_guard and not with_guards and is_new


def line(fields: dict[str, Any]) -> str:
    """Return a line of an export without its end."""
    return json.dumps(fields, ensure_ascii=False)
