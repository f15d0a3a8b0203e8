"""Rewrite MiniLM's ONNX model so that each weight stays one byte in memory, as in its file.

With the original, onnxruntime multiplies the bytes by their scales on loading: four bytes each. Rewritten,
`MatMulNBits` uses the bytes, and the word vectors, half of the file, are looked up in the file itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Bytes = bytes | memoryview
Tensors = dict[str, NDArray[Any]]

EMBEDDED = "embedding"
_TABLE, _TOKENS = "inner.embeddings.word_embeddings.weight", "input_ids"
# Field numbers, and the wire type of fields with a length. Source: onnx.proto.
_GRAPH, _OPSET = 7, 8  # of a model
_NODE, _INITIALIZER, _GRAPH_INPUT, _VALUE_INFO = 1, 5, 11, 13  # of a graph
_INPUT, _OUTPUT, _OP_TYPE, _ATTRIBUTE, _DOMAIN = 1, 2, 4, 5, 7  # of a node
_DIMS, _DATA_TYPE, _NAME, _RAW = 1, 2, 8, 9  # of a tensor
_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype(np.float32), 2: np.dtype(np.uint8), 3: np.dtype(np.int8)}
_WITH_LENGTH = 2
_MORE = 0x80  # bit that says another byte of the number follows

# At level 4, MatMulNBits rounds a token's vector to bytes, too, block by block, so that other texts in the
# run change nothing. Larger blocks are less exact: the cosine to the float model's vectors is 0.9998, with
# blocks of 128 it is 0.9994. Source: onnxruntime, ContribOperators.md, MatMulNBits.
_CONTRIBUTED = "com.microsoft"
_BLOCK, _LEVEL, _ZERO = 32, 4, 128


@dataclass(frozen=True, slots=True)
class Words:
    """The word vectors as stored in the file: (n, dim) int8, with a scale each, (n, 1) float32."""

    table: NDArray[np.int8]
    scales: NDArray[np.float32]

    def of(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of token ids: (..., dim) float32."""
        found: NDArray[np.float32] = self.table[ids] * self.scales[ids]
        return found


@dataclass(frozen=True, slots=True)
class _Node:
    type: str
    inputs: list[str]
    output: str


def rewritten(model: Bytes) -> tuple[bytes, Words]:
    """Return a model that takes word vectors (EMBEDDED) instead of token ids (_TOKENS), and the words.

    The given model has EMBEDDED = Gather(_TABLE, _TOKENS). Every weight matrix in it is NAME = NAME_f *
    NAME_scale with NAME_f = Cast(NAME_q), with one scale per column, in _TABLE one per row.
    """
    parts: list[Bytes] = []
    tensors: Tensors = {}
    for number, field, content in _fields(memoryview(model)):
        if number == _GRAPH:
            tensors = dict(_tensors(content))
            parts.append(_encoded(_GRAPH, b"".join(_graph(content, tensors))))
        else:
            parts.append(field)
    parts.append(_encoded(_OPSET, _encoded(1, _CONTRIBUTED.encode()) + _counted(2, 1)))
    return b"".join(parts), Words(tensors[f"{_TABLE}_q"], tensors[f"{_TABLE}_scale"])


def _graph(graph: memoryview, tensors: Tensors) -> Iterator[Bytes]:
    """Yield the fields of the rewritten graph."""
    nodes = [_node(content) for number, _, content in _fields(graph) if number == _NODE]
    weights = {node.inputs[1] for node in nodes if node.type == "MatMul" and f"{node.inputs[1]}_q" in tensors}
    gone = {EMBEDDED, *(f"{name}{end}" for name in (*weights, _TABLE) for end in ("", "_f", "_q", "_scale"))}
    left = iter(nodes)
    for number, field, content in _fields(graph):
        if number == _NODE:
            node = next(left)
            if node.type == "MatMul" and node.inputs[1] in weights:
                yield _encoded(_NODE, _product(node, tensors[f"{node.inputs[1]}_q"].shape))
            elif node.output not in gone:
                yield field
        elif number == _GRAPH_INPUT and _text(content, 1) == _TOKENS:
            yield _encoded(_GRAPH_INPUT, _encoded(1, EMBEDDED.encode()) + _shape_of(tensors[f"{_TABLE}_q"]))
        elif number != _VALUE_INFO and not (number == _INITIALIZER and _text(content, _NAME) in gone):
            yield field
    for name in sorted(weights):
        yield from _packed(name, tensors[f"{name}_q"], tensors[f"{name}_scale"])


def _product(node: _Node, shape: tuple[int, ...]) -> bytes:
    """Return the node that multiplies by the bytes of a matrix of a given shape."""
    inner, outer = shape
    numbers = {"K": inner, "N": outer, "bits": 8, "block_size": _BLOCK, "accuracy_level": _LEVEL}
    inputs = (node.inputs[0], f"{node.inputs[1]}_bytes", f"{node.inputs[1]}_scales")
    ends = [*(_encoded(_INPUT, name.encode()) for name in inputs), _encoded(_OUTPUT, node.output.encode())]
    given = (
        _encoded(1, name.encode()) + _counted(3, value) + _counted(20, 2) for name, value in numbers.items()
    )
    attributes = [_encoded(_ATTRIBUTE, each) for each in given]
    return b"".join(
        [*ends, _encoded(_OP_TYPE, b"MatMulNBits"), *attributes, _encoded(_DOMAIN, _CONTRIBUTED.encode())]
    )


def _packed(name: str, matrix: NDArray[np.int8], scales: NDArray[np.float32]) -> Iterator[bytes]:
    """Yield a matrix and its scales in the layout of `MatMulNBits`: by column, each in blocks."""
    inner, outer = matrix.shape
    # A signed byte becomes an unsigned one with a zero point of 128 by flipping its highest bit.
    flat = np.ascontiguousarray(matrix.T).view(np.uint8) ^ np.uint8(_ZERO)
    yield _tensor(f"{name}_bytes", flat.reshape(outer, inner // _BLOCK, _BLOCK))
    yield _tensor(f"{name}_scales", np.repeat(scales.reshape(outer, 1), inner // _BLOCK, axis=1))


def _tensor(name: str, array: NDArray[Any]) -> bytes:
    kind = next(number for number, dtype in _TYPES.items() if dtype == array.dtype)
    dims = [_counted(_DIMS, size) for size in array.shape]
    parts = [
        *dims,
        _counted(_DATA_TYPE, kind),
        _encoded(_NAME, name.encode()),
        _encoded(_RAW, array.tobytes()),
    ]
    return _encoded(_INITIALIZER, b"".join(parts))


def _shape_of(table: NDArray[Any]) -> bytes:
    """Return the type of the word vectors: float, (batch, sequence, dim)."""
    sizes = [_encoded(2, b"batch"), _encoded(2, b"sequence"), _counted(1, table.shape[1])]
    shape = b"".join(_encoded(1, size) for size in sizes)
    return _encoded(2, _encoded(1, _counted(1, 1) + _encoded(2, shape)))


def _tensors(graph: memoryview) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the names and values of byte and float tensors, without copying."""
    for number, _, tensor in _fields(graph):
        if number == _INITIALIZER:
            dims, kind, raw = [], 0, memoryview(b"")
            for part, field, content in _fields(tensor):
                if part == _DIMS:
                    dims.append(_number(field, 1)[0])
                elif part == _DATA_TYPE:
                    kind = _number(field, 1)[0]
                elif part == _RAW:
                    raw = content
            if kind in _TYPES and len(raw):
                yield _text(tensor, _NAME), np.frombuffer(raw, _TYPES[kind]).reshape(dims)


def _node(node: memoryview) -> _Node:
    inputs = [str(content, "utf-8") for number, _, content in _fields(node) if number == _INPUT]
    return _Node(_text(node, _OP_TYPE), inputs, _text(node, _OUTPUT))


def _text(message: memoryview, wanted: int) -> str:
    return next((str(content, "utf-8") for number, _, content in _fields(message) if number == wanted), "")


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview, memoryview]]:
    """Yield each field of a protobuf message: its number, its bytes, and its content if it has a length."""
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
        yield tag >> 3, message[start:end], message[at:end]
        at = end


def _number(message: memoryview, at: int) -> tuple[int, int]:
    """Return a varint, and where it ends."""
    found, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        found |= (byte & 0x7F) << shift
        shift += 7
        if byte < _MORE:
            return found, at


def _encoded(number: int, content: bytes) -> bytes:
    """Return an encoded field with a length."""
    return _varint(number << 3 | _WITH_LENGTH) + _varint(len(content)) + content


def _counted(number: int, value: int) -> bytes:
    """Return an encoded field that is a number."""
    return _varint(number << 3) + _varint(value)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value >= _MORE:
        found.append(value & 0x7F | _MORE)
        value >>= 7
    return bytes([*found, value])
