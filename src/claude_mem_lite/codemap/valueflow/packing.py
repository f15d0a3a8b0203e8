"""Pack a file's scopes as bytes to be stored: reading them back costs less than parsing the file again.

Terms are written one after another, outer ones first, each as its class and its length: nothing here is
recursive, however deep they are nested.
"""

from __future__ import annotations

import dataclasses
import marshal
import sys
import zlib
from typing import TYPE_CHECKING, Any

from claude_mem_lite.codemap.valueflow import expression_terms, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from claude_mem_lite.codemap.valueflow.terms import Scope

_TERMS: list[Any] = [
    each
    for module in (expression_terms, terms)
    for each in vars(module).values()
    if dataclasses.is_dataclass(each)
]
_FIELDS = [tuple(field.name for field in dataclasses.fields(each)) for each in _TERMS]
_TUPLE = -1  # in the place of a term's number
# marshal's format is its Python's. What another version wrote, of Python or of the terms, is made again.
FORMAT = ("terms", zlib.crc32(repr((_TERMS, _FIELDS)).encode()), sys.version_info[:2])


def pack(scopes: tuple[Scope, ...], shown: Callable[[Collection[str]], Mapping[str, str]]) -> bytes:
    """Return the scopes as bytes, about 20 kB per thousand lines.

    `shown` is given all texts in them, and returns others for those that may not be stored as they are.
    """
    numbers = {each: number for number, each in enumerate(_TERMS)}
    heads: dict[tuple[int, int], tuple[int, int]] = {}  # marshal writes one object once
    written: list[Any] = []
    waiting: list[Any] = [scopes]
    while waiting:
        value = waiting.pop()
        number = numbers.get(value.__class__, _TUPLE)
        if number != _TUPLE:
            value = [getattr(value, name) for name in _FIELDS[number]]
        elif not isinstance(value, tuple):
            written.append(value)
            continue
        head = (number, len(value))
        written.append(heads.setdefault(head, head))
        waiting += value
    others = shown({each for each in written if each.__class__ is str})
    if others:
        written = [others.get(each, each) if each.__class__ is str else each for each in written]
    return zlib.compress(marshal.dumps((FORMAT, written)), 3)


def unpack(data: bytes) -> tuple[Scope, ...] | None:
    """Return the scopes again, or None where another version wrote them or they are damaged."""
    try:
        version, written = marshal.loads(zlib.decompress(data))  # noqa: S302  (our own file; runs nothing)
        return _read(written) if version == FORMAT else None
    except (zlib.error, ValueError, TypeError, EOFError, IndexError):
        return None


def _read(written: list[Any]) -> tuple[Scope, ...]:
    """Build terms from their parts, which come last part first."""
    made: list[Any] = []
    while written:
        value = written.pop()
        if value.__class__ is tuple:
            number, length = value
            start = len(made) - length
            parts = made[start:]
            del made[start:]
            value = tuple(parts) if number == _TUPLE else _TERMS[number](*parts)
        elif value.__class__ is str:
            value = sys.intern(value)  # many files have the same names
        made.append(value)
    (scopes,) = made
    return scopes  # type: ignore[no-any-return]
