"""Define what our models have beyond peewee's: whole rows in one go, ids of places, and columns of JSON.

The statements for whole rows are written once. peewee writes them column by column, which is four fifths of
what such a query takes, and most of what an insert does.
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
    """A list or an object as JSON text; peewee's own field refuses SQLite before 3.38 (Ubuntu 22.04)."""

    def db_value(self, value: Any) -> str:
        """Return what is stored."""
        return json.dumps(value, ensure_ascii=False)

    def python_value(self, value: str) -> Any:
        """Return what was stored."""
        return json.loads(value)


class Table(Model):
    """A model of whose rows all columns are asked for at once."""

    @classmethod
    def select(cls, *fields: Any) -> ModelSelect[Self]:
        """Return a query for fields, or for whole rows."""
        if fields:
            return super().select(*fields)
        rows: Any = _WholeRows(cls, cls._meta.sorted_fields, is_default=True)
        return rows  # type: ignore[no-any-return]

    @classmethod
    def rows(cls, *where: Any, by: Sequence[Any] = (), limit: int | None = None) -> list[Self]:
        """Return the whole rows that meet all of some conditions, in an order."""
        return list(cls.select().where(*where).order_by(*by).limit(limit))

    @classmethod
    def put(cls, *rows: Mapping[str, Any], on_conflict: str = "") -> None:
        """Insert rows of the same columns, and the defaults of the others; `on_conflict` is SQL's clause."""
        meta = cls._meta
        whole = [meta.get_default_dict() | dict(row) for row in rows]
        values = [meta.columns[name].db_value(value) for row in whole for name, value in row.items()]
        meta.database.execute_sql(f"{_insert(cls, tuple(whole[0]), len(whole))} {on_conflict}", values)

    @classmethod
    def upsert(cls, *rows: Mapping[str, Any], place: Sequence[str], kept: Collection[str] = ()) -> None:
        """Insert rows, or replace all but the `kept` columns of those at their `place`, which is unique."""
        for some in chunked(rows, ROWS):
            names = [name for name in some[0] if name not in {*place, *kept}]
            renewed = ", ".join(f"{name} = excluded.{name}" for name in names)
            cls.put(*some, on_conflict=f"ON CONFLICT ({', '.join(place)}) DO UPDATE SET {renewed}")


def id_of_place(row: Mapping[str, Any], place: Sequence[str]) -> str:
    """Return an id that stays with the place, however often the row comes and goes."""
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
    """Return the columns of a model's table under an alias, as peewee writes them."""
    return ", ".join(f'"{alias}"."{field.column_name}"' for field in model._meta.sorted_fields)  # noqa: SLF001


@functools.cache
def _insert(model: type[Model], columns: tuple[str, ...], count: int) -> str:
    """Return the statement that inserts so many rows of these columns."""
    table, row = model._meta.table_name, f"({', '.join('?' * len(columns))})"  # noqa: SLF001
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * count)}"  # noqa: S608  (ours)
