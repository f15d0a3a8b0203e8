"""Which rows have a vector of which model: what is still to be embedded, and what has been.

`embedding_status` is "pending" or the key of the model whose vector is in LanceDB; a changed text is pending
again by a trigger. The kinds are those of `search.vectors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peewee import fn

from claude_mem_lite.storage.models import FunctionMapEntry, Learning, Observation, Session, memory_database

if TYPE_CHECKING:
    from collections.abc import Iterable

PENDING = "pending"

# Of each kind the rows, and what of them is embedded: title and summary together do better than either.
_TEXTS: dict[str, tuple[Any, Any]] = {
    "observation": (Observation, Observation.title.concat("\n").concat(Observation.summary)),
    "session": (
        Session,
        fn.COALESCE(Session.summary, "").concat("\n").concat(fn.COALESCE(Session.key_decisions, "")),
    ),
    "learning": (Learning, Learning.content),
    "function": (
        FunctionMapEntry,
        FunctionMapEntry.qualified_name.concat(" ")
        .concat(FunctionMapEntry.signature)
        .concat("\n")
        .concat(fn.COALESCE(FunctionMapEntry.docstring, "")),
    ),
}


def texts_to_embed(kind: str, model: str, *, limit: int) -> list[tuple[str, str, str]]:
    """Return (id, project_dir, text) of rows without a vector of this model, newest first."""
    table, text = _TEXTS[kind]
    rows = table.select(table.id, table.project_dir, text.alias("text"))
    rows = rows.where(table.embedding_status != model)
    if kind == "session":
        rows = rows.where(table.summary.is_null(False))
    newest = rows.order_by(table.pk.desc()).limit(limit).tuples()
    return [(row_id, project_dir or "", str(told)) for row_id, project_dir, told in newest]


def mark_embedded(kind: str, rows: Iterable[tuple[str, str]], *, model: str) -> None:
    """Note (id, text) pairs whose vector is stored; one whose text has changed meanwhile stays pending."""
    table, text = _TEXTS[kind]
    with memory_database.atomic():
        for row_id, told in rows:
            unchanged = (table.id == row_id) & (text == told)
            table.update(embedding_status=model).where(unchanged).execute()


def forget_vectors() -> None:
    """Have every row embedded anew."""
    with memory_database.atomic():
        for table, _ in _TEXTS.values():
            table.update(embedding_status=PENDING).where(table.embedding_status != PENDING).execute()


def count_embedded(model: str) -> dict[str, tuple[int, int]]:
    """Return of each kind how many rows have a vector of this model, and how many there are."""
    return {
        kind: (table.select().where(table.embedding_status == model).count(), table.select().count())
        for kind, (table, _) in _TEXTS.items()
    }
