"""Look words up in an ONNX model's table before it is made float, not after.

MiniLM's file keeps its 30,522 words as one byte a dimension. As it is written, onnxruntime makes the whole
table float when it loads the file (47 MB instead of 12); with the lookup first, only the words of a text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Bytes = bytes | memoryview

# Source: onnx.proto: numbers of fields, and the tag of one that has a length.
_GRAPH, _NODE, _INPUT, _OUTPUT, _NAME, _OP_TYPE, _ATTRIBUTE = 7, 1, 1, 2, 3, 4, 5
_WITH_LENGTH = 2
_MORE = 0x80  # another byte of the number follows


def rewritten(model: bytes, *, table: str, indices: str, result: str) -> bytes:
    """Return a model that computes the same, bit for bit.

    In it, `result` = Gather(`table`, `indices`) with `table` = `table`_f * `table`_scale and `table`_f =
    Cast(`table`_q), one scale a row.
    """
    parts: list[Bytes] = []
    for field, content in _fields(memoryview(model)):
        if field[0] >> 3 == _GRAPH:
            fields = _graph(content, table, indices, result)
            parts += [_head(_GRAPH, sum(map(len, fields))), *fields]
        else:
            parts.append(field)
    return b"".join(parts)


def _graph(graph: memoryview, table: str, indices: str, result: str) -> list[Bytes]:
    fields: list[Bytes] = []
    nodes: dict[str, memoryview] = {}
    for field, content in _fields(graph):
        output = _output(content) if field[0] >> 3 == _NODE else ""
        if output in {f"{table}_f", table}:
            nodes[output] = content
        elif output == result:
            words, scales, cast = f"{table}_words_q", f"{table}_words_scale", f"{table}_words"
            for ends, node in (
                ([f"{table}_q", indices, words], content),
                ([f"{table}_scale", indices, scales], content),
                ([words, cast], nodes[f"{table}_f"]),
                ([cast, scales, result], nodes[table]),
            ):
                fields.append(_encoded(_NODE, _rewired(node, ends)))
        else:
            fields.append(field)
    return fields


def _rewired(node: memoryview, ends: list[str]) -> bytes:
    """Return a node with other inputs and another output, the last of `ends`, named after it."""
    kept = [field for field, _ in _fields(node) if field[0] >> 3 in {_OP_TYPE, _ATTRIBUTE}]
    inputs = [_encoded(_INPUT, name.encode()) for name in ends[:-1]]
    last = ends[-1].encode()
    return b"".join([*inputs, _encoded(_OUTPUT, last), _encoded(_NAME, last), *kept])


def _output(node: memoryview) -> str:
    return next((str(content, "utf-8") for field, content in _fields(node) if field[0] >> 3 == _OUTPUT), "")


def _fields(message: memoryview) -> Iterator[tuple[memoryview, memoryview]]:
    """Yield each field of a protobuf message as it is encoded, and its content if it has a length."""
    at = 0
    while at < len(message):
        start = at
        tag, at = _number(message, at)
        end = at
        if tag & 7 == _WITH_LENGTH:
            length, at = _number(message, at)
            end = at + length
        elif tag & 7 == 0:
            _, end = _number(message, at)
        else:
            end += 8 if tag & 7 == 1 else 4
        yield message[start:end], message[at:end]
        at = end


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    found, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < _MORE:
            return found, at


def _encoded(number: int, content: bytes) -> bytes:
    """Return a field with a length."""
    return _head(number, len(content)) + content


def _head(number: int, length: int) -> bytes:
    """Return what stands before the content of a field with a length."""
    found = [number << 3 | _WITH_LENGTH]
    while length >= _MORE:
        found.append(length & 0x7F | _MORE)
        length >>= 7
    return bytes([*found, length])
