"""Track which rows have a vector, of which model, and which rows wait for one.

`embedding_status` is "pending" or the key of the model whose vector is stored. A trigger sets it back to
"pending" when the text changes. The kinds are those of `search.vectors`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from peewee import fn

from claude_mem_lite.storage.models import FunctionMapEntry, Learning, Observation, Session, memory_database

PENDING = "pending"
_ROWS_PER_READ = 500

# Table and embedded text of each kind. Title and summary together give better results than either alone.
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
    """Return (id, project_dir, text) of the rows without a vector of this model, newest first."""
    rows = _rows(kind).where(_TEXTS[kind][0].embedding_status != model).limit(limit)
    return [(row_id, project_dir or "", str(told)) for _, row_id, project_dir, told in rows.tuples()]


def all_texts(kind: str, *, without: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (id, project_dir, text) of all rows except those marked with the model `without`, newest first.

    A row that is changed during the iteration may have its old or its new text.
    """
    table, before = _TEXTS[kind][0], None
    while True:
        rows = _rows(kind).where(table.embedding_status != without).limit(_ROWS_PER_READ)
        page = list((rows if before is None else rows.where(table.pk < before)).tuples())
        for _, row_id, project_dir, told in page:
            yield row_id, project_dir or "", str(told)
        if len(page) < _ROWS_PER_READ:
            return
        before = page[-1][0]


def mark_embedded(kind: str, rows: Iterable[tuple[str, str]], *, model: str) -> None:
    """Mark rows, given as (id, text), as embedded; a row whose text has changed since stays pending."""
    table, text = _TEXTS[kind]
    with memory_database.atomic():
        for row_id, told in rows:
            unchanged = (table.id == row_id) & (text == told)
            table.update(embedding_status=model).where(unchanged).execute()


def marked_texts(kind: str, model: str) -> dict[str, str]:
    """Return, by id, the embedded texts of the rows that are marked with a model."""
    rows = _rows(kind).where(_TEXTS[kind][0].embedding_status == model)
    return {row_id: str(told) for _, row_id, _, told in rows.tuples()}


def mark_pending(kind: str, ids: Iterable[str]) -> None:
    """Mark some rows for embedding again."""
    table = _TEXTS[kind][0]
    with memory_database.atomic():
        for row_id in ids:
            table.update(embedding_status=PENDING).where(table.id == row_id).execute()


def forget_vectors() -> None:
    """Mark every row for embedding again."""
    with memory_database.atomic():
        for table, _ in _TEXTS.values():
            table.update(embedding_status=PENDING).where(table.embedding_status != PENDING).execute()


def count_embedded(model: str) -> dict[str, tuple[int, int]]:
    """Return per kind how many rows have a vector of this model, and how many can have one."""
    return {
        kind: (_rows(kind).where(table.embedding_status == model).count(), _rows(kind).count())
        for kind, (table, _) in _TEXTS.items()
    }


def count_by_model() -> dict[str, int]:
    """Return the number of rows with a vector, per model."""
    counts: Counter[str] = Counter()
    for table, _ in _TEXTS.values():
        status = table.embedding_status
        rows: Any = table.select(status, fn.COUNT(table.pk)).where(status != PENDING).group_by(status)
        counts.update(dict(rows.tuples()))
    return dict(counts)


def _rows(kind: str) -> Any:
    """Return pk, id, project and text of the rows that have something to embed, newest first.

    Functions that no session has changed are left out: they are found by name only.
    """
    table, text = _TEXTS[kind]
    rows = table.select(table.pk, table.id, table.project_dir, text.alias("text")).order_by(table.pk.desc())
    if kind == "session":
        return rows.where(table.summary.is_null(False))
    return rows.where(table.session_id != "") if kind == "function" else rows
