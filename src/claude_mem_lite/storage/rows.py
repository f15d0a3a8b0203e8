"""Extend peewee's models with fast whole-row statements, stable ids and JSON columns.

The SQL of whole-row statements is cached. peewee builds it column by column, which takes four fifths of the
time of such a query, and most of the time of an insert.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

from peewee import Model, ModelSelect, TextField, chunked

ROWS = 50  # of an INSERT: SQLite before 3.32 takes at most 999 values


class Json(TextField):
    """A list or an object as JSON text; peewee's own field rejects SQLite before 3.38 (Ubuntu 22.04)."""

    def db_value(self, value: Any) -> str:
        """Return the value as JSON text."""
        return json.dumps(value, ensure_ascii=False)

    def python_value(self, value: str) -> Any:
        """Return the value of a JSON text."""
        return json.loads(value)


class Table(Model):
    """A model that selects and inserts whole rows with cached SQL."""

    @classmethod
    def select(cls, *fields: Any) -> ModelSelect[Self]:
        """Return a query for some fields, by default for whole rows."""
        if fields:
            return super().select(*fields)
        rows: Any = _WholeRows(cls, cls._meta.sorted_fields, is_default=True)
        return rows  # type: ignore[no-any-return]

    @classmethod
    def rows(cls, *where: Any, by: Sequence[Any] = (), limit: int | None = None) -> list[Self]:
        """Return the whole rows that meet all conditions `where`, ordered `by` some columns."""
        return list(cls.select().where(*where).order_by(*by).limit(limit))

    @classmethod
    def put(cls, *rows: Mapping[str, Any], on_conflict: str = "") -> None:
        """Insert rows with the same columns, others by default; `on_conflict` is a clause in SQL."""
        meta = cls._meta
        whole = [meta.get_default_dict() | dict(row) for row in rows]
        values = [meta.columns[name].db_value(value) for row in whole for name, value in row.items()]
        meta.database.execute_sql(f"{_insert(cls, tuple(whole[0]), len(whole))} {on_conflict}", values)

    @classmethod
    def upsert(cls, *rows: Mapping[str, Any], place: Sequence[str], kept: Collection[str] = ()) -> None:
        """Insert rows; where the unique `place` exists, update the given columns except the `kept` ones."""
        for some in chunked(rows, ROWS):
            names = [name for name in some[0] if name not in {*place, *kept}]
            renewed = ", ".join(f"{name} = excluded.{name}" for name in names)
            cls.put(*some, on_conflict=f"ON CONFLICT ({', '.join(place)}) DO UPDATE SET {renewed}")


def id_of_place(row: Mapping[str, Any], place: Sequence[str]) -> str:
    """Return an id derived from a row's `place` columns, so that a row stored again keeps its id."""
    names = [str(row[name]) for name in place]
    return hashlib.sha256("\0".join(names).encode("utf-8", "replace")).hexdigest()[:32]


class _WholeRows(ModelSelect):
    _is_default: bool

    def __sql_selection__(self, ctx: Any, is_subquery: bool = False) -> Any:  # noqa: FBT001, FBT002  (peewee's)
        if is_subquery or not self._is_default:
            return super().__sql_selection__(ctx, is_subquery)
        return ctx.literal(_columns(self.model, ctx.alias_manager[self.model._meta.table]))  # noqa: SLF001


@functools.cache
def _columns(model: type[Model], alias: str) -> str:
    """Return the column list of a model's table under an alias, as peewee writes it."""
    return ", ".join(f'"{alias}"."{field.column_name}"' for field in model._meta.sorted_fields)  # noqa: SLF001


@functools.cache
def _insert(model: type[Model], columns: tuple[str, ...], count: int) -> str:
    """Return the statement that inserts `count` rows of some columns."""
    table, row = model._meta.table_name, f"({', '.join('?' * len(columns))})"  # noqa: SLF001
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * count)}"  # noqa: S608  (ours)
