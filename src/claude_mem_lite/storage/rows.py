"""Select whole rows of a table: their columns are written at once, which peewee does one by one.

That is four fifths of what it takes to make the SQL of such a query.
"""

from __future__ import annotations

import functools
from typing import Any, Self

from peewee import Model, ModelSelect


class Table(Model):
    """A model of whose rows all columns are asked for at once."""

    @classmethod
    def select(cls, *fields: Any) -> ModelSelect[Self]:
        """Return a query for fields, or for whole rows."""
        if fields:
            return super().select(*fields)
        rows: Any = _WholeRows(cls, cls._meta.sorted_fields, is_default=True)
        return rows  # type: ignore[no-any-return]


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
