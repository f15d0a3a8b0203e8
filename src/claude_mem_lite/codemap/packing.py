"""A file's scopes as bytes, to be kept: reading them back costs a tenth of parsing the file again."""

from __future__ import annotations

import dataclasses
import marshal
import sys
import zlib
from typing import Any

from claude_mem_lite.codemap.scopes import Parameter, Scope

# marshal's format is its Python's; what another version wrote is read as damaged, and made again.
FORMAT = ("scopes", 1, sys.version_info[:2])


def pack(scopes: tuple[Scope, ...]) -> bytes:
    """Return the scopes as bytes, about 20 kB per thousand lines."""
    return zlib.compress(marshal.dumps((FORMAT, [_plain(scope) for scope in scopes])), 3)


def unpack(data: bytes) -> tuple[Scope, ...] | None:
    """Return the scopes again, or None where another version wrote them or they are damaged."""
    try:
        written, scopes = marshal.loads(zlib.decompress(data))  # noqa: S302  (our own file; runs nothing)
        return tuple([_scope(*fields) for fields in scopes]) if written == FORMAT else None
    except (zlib.error, ValueError, TypeError, EOFError):
        return None


def _plain(scope: Scope) -> tuple[Any, ...]:
    fields = _values(scope)
    return (tuple([_values(each) for each in scope.parameters]), fields)


def _scope(parameters: tuple[Any, ...], fields: tuple[Any, ...]) -> Scope:
    return dataclasses.replace(Scope(*fields), parameters=tuple([Parameter(*each) for each in parameters]))


def _values(value: Parameter | Scope) -> tuple[Any, ...]:
    names = [field.name for field in dataclasses.fields(value)]
    return tuple([() if name == "parameters" else getattr(value, name) for name in names])
