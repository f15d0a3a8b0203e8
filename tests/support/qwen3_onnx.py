"""Write a tiny Qwen3 decoder as an ONNX file, with the inputs and outputs of Transformers.js."""

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, Any]


# The sizes of the tiny model of `tiny_qwen3`.
VOCABULARY, HIDDEN, INNER, LAYERS = 1_024, 64, 128, 2
HEADS, CACHE_HEADS, HEAD, THETA = 4, 2, 16, 10_000.0


def random_weights() -> dict[str, Any]:
    """Return random weights under the names that transformers gives them."""
    random = np.random.default_rng(7)
    queries, keys = HEADS * HEAD, CACHE_HEADS * HEAD

    def matrix(rows: int, columns: int) -> Any:
        return random.standard_normal((rows, columns), np.float32) * np.float32(0.2)

    found = {"embed_tokens.weight": matrix(VOCABULARY, HIDDEN), "norm.weight": _ones(HIDDEN)}
    for layer in range(LAYERS):
        found |= {
            f"layers.{layer}.{name}.weight": value
            for name, value in (
                ("input_layernorm", _ones(HIDDEN)),
                ("self_attn.q_proj", matrix(queries, HIDDEN)),
                ("self_attn.k_proj", matrix(keys, HIDDEN)),
                ("self_attn.v_proj", matrix(keys, HIDDEN)),
                ("self_attn.o_proj", matrix(HIDDEN, queries)),
                ("self_attn.q_norm", _ones(HEAD)),
                ("self_attn.k_norm", _ones(HEAD)),
                ("post_attention_layernorm", _ones(HIDDEN)),
                ("mlp.gate_proj", matrix(INNER, HIDDEN)),
                ("mlp.up_proj", matrix(INNER, HIDDEN)),
                ("mlp.down_proj", matrix(HIDDEN, INNER)),
            )
        }
    return found


def write(
    path: Path,
    weights: Weights,
    *,
    int8: bool = False,
    output: str = "last_hidden_state",
    extra_input: str = "",
) -> Path:
    """Write the graph; `int8` quantizes as onnxruntime does, `output` may be sentence_embedding."""
    graph = _Graph(weights, int8=int8)
    hidden = graph.decoder()
    if output == "sentence_embedding":  # of the last token
        hidden = graph.node("Gather", hidden, graph.constant(-1), axis=1)
    graph.nodes.append(helper.make_node("Identity", [hidden], [output]))
    value, whole, number = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    tokens, total = ["batch_size", "sequence_length"], "total_sequence_length"
    past, present = (["batch_size", CACHE_HEADS, size, HEAD] for size in ("past_sequence_length", total))
    inputs = [
        value("input_ids", whole, tokens),
        value("attention_mask", whole, [tokens[0], total]),
        value("position_ids", whole, tokens),
        *(value(f"past_key_values.{name}", number, past) for name in graph.caches),
        *([value(extra_input, number, [1])] if extra_input else []),
    ]
    sizes = [tokens[0], HIDDEN] if output == "sentence_embedding" else [*tokens, HIDDEN]
    caches = (value(f"present.{name}", number, present) for name in graph.caches)
    outputs = [value(output, number, sizes), *caches]
    made = helper.make_graph(graph.nodes, "qwen3", inputs, outputs, graph.initializers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))
    return path


class _Graph:
    """The nodes of a decoder; every method returns the name of its output."""

    def __init__(self, weights: Weights, *, int8: bool) -> None:
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.caches = [f"{layer}.{part}" for layer in range(LAYERS) for part in ("key", "value")]
        self._weights, self._int8 = weights, int8
        self._numbers = itertools.count()

    def node(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        name = f"{kind}_{next(self._numbers)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """Add an initializer."""
        name = f"constant_{next(self._numbers)}"
        self.initializers.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def decoder(self) -> str:
        """Add the whole decoder and return its hidden states: (batch, tokens, hidden)."""
        hidden = self._embedded()
        rotation, mask = self._rotation(), self._mask()
        for layer in range(LAYERS):
            name = f"layers.{layer}"
            normed = self._norm(hidden, f"{name}.input_layernorm")
            hidden = self.node("Add", hidden, self._attention(normed, layer, rotation, mask))
            normed = self._norm(hidden, f"{name}.post_attention_layernorm")
            gate = self._linear(normed, f"{name}.mlp.gate_proj")
            gate = self.node("Mul", gate, self.node("Sigmoid", gate))
            inner = self.node("Mul", gate, self._linear(normed, f"{name}.mlp.up_proj"))
            hidden = self.node("Add", hidden, self._linear(inner, f"{name}.mlp.down_proj"))
        return self._norm(hidden, "norm")

    def _embedded(self) -> str:
        table = self._weights["embed_tokens.weight"]
        if not self._int8:
            return self.node("Gather", self.constant(table, np.float32), "input_ids")
        whole, scale = _quantized(table)
        rows = self.node("Gather", self.constant(whole, np.int8), "input_ids")
        scaled, zero = self.constant(scale, np.float32), self.constant(0, np.int8)
        return self.node("DequantizeLinear", rows, scaled, zero)

    def _linear(self, value: str, name: str) -> str:
        matrix = np.ascontiguousarray(self._weights[f"{name}.weight"].T)
        if not self._int8:
            return self.node("MatMul", value, self.constant(matrix, np.float32))
        whole, scale = _quantized(matrix)
        number = next(self._numbers)
        parts = [f"quantized_{number}", f"scale_{number}", f"zero_{number}"]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [value], parts))
        weights, zero = self.constant(whole, np.int8), self.constant(0, np.int8)
        product = self.node("MatMulInteger", parts[0], weights, parts[2], zero)
        scales = self.node("Mul", parts[1], self.constant(scale, np.float32))
        return self.node("Mul", self.node("Cast", product, to=TensorProto.FLOAT), scales)

    def _norm(self, value: str, name: str) -> str:
        squares = self.node("Mul", value, value)
        mean = self.node("ReduceMean", squares, axes=[-1])
        root = self.node("Sqrt", self.node("Add", mean, self.constant(1e-6, np.float32)))
        weight = self.constant(self._weights[f"{name}.weight"], np.float32)
        return self.node("Mul", self.node("Div", value, root), weight)

    def _attention(self, value: str, layer: int, rotation: tuple[str, str], mask: str) -> str:
        name = f"layers.{layer}.self_attn"
        group = HEADS // CACHE_HEADS
        query = self._rotated(self._heads(value, f"{name}.q", HEADS), rotation)
        key = self._rotated(self._heads(value, f"{name}.k", CACHE_HEADS), rotation)
        found = self.node("Reshape", self._linear(value, f"{name}.v_proj"), self.constant([0, 0, -1, HEAD]))
        found = self.node("Transpose", found, perm=[0, 2, 1, 3])
        for part, new in (("key", key), ("value", found)):
            whole = [f"past_key_values.{layer}.{part}", new]
            self.nodes.append(helper.make_node("Concat", whole, [f"present.{layer}.{part}"], axis=2))
        axis = self.constant([2])
        key = self.node("Unsqueeze", f"present.{layer}.key", axis)
        found = self.node("Unsqueeze", f"present.{layer}.value", axis)
        query = self.node("Reshape", query, self.constant([0, CACHE_HEADS, group, -1, HEAD]))
        scores = self.node("MatMul", query, self.node("Transpose", key, perm=[0, 1, 2, 4, 3]))
        scores = self.node("Mul", scores, self.constant(HEAD**-0.5, np.float32))
        shares = self.node("Softmax", self.node("Add", scores, mask), axis=-1)
        mixed = self.node("MatMul", shares, found)
        mixed = self.node("Reshape", mixed, self.constant([0, HEADS, -1, HEAD]))
        mixed = self.node("Transpose", mixed, perm=[0, 2, 1, 3])
        mixed = self.node("Reshape", mixed, self.constant([0, 0, HEADS * HEAD]))
        return self._linear(mixed, f"{name}.o_proj")

    def _heads(self, value: str, name: str, heads: int) -> str:
        split = self.constant([0, 0, heads, HEAD])
        found = self.node("Reshape", self._linear(value, f"{name}_proj"), split)
        return self.node("Transpose", self._norm(found, f"{name}_norm"), perm=[0, 2, 1, 3])

    def _rotation(self) -> tuple[str, str]:
        """Return cosine and sine of each position: (batch, 1, tokens, head)."""
        frequencies = THETA ** -(np.arange(0, HEAD, 2) / HEAD)
        positions = self.node("Cast", "position_ids", to=TensorProto.FLOAT)
        positions = self.node("Unsqueeze", positions, self.constant([1, 3]))
        angles = self.node("Mul", positions, self.constant(np.tile(frequencies, 2), np.float32))
        return self.node("Cos", angles), self.node("Sin", angles)

    def _rotated(self, value: str, rotation: tuple[str, str]) -> str:
        half = HEAD // 2
        ends = [self.constant([at]) for at in (0, half, 2 * half)]
        axis = self.constant([3])
        first = self.node("Slice", value, ends[0], ends[1], axis)
        second = self.node("Neg", self.node("Slice", value, ends[1], ends[2], axis))
        turned = self.node("Concat", second, first, axis=-1)
        straight = self.node("Mul", value, rotation[0])
        return self.node("Add", straight, self.node("Mul", turned, rotation[1]))

    def _mask(self) -> str:
        """Return 0 where a token may attend, else a large negative number: (batch, 1, 1, tokens, all)."""
        one, zero = self.constant(1), self.constant(0)
        tokens = self.node("Gather", self.node("Shape", "input_ids"), one)
        whole = self.node("Gather", self.node("Shape", "attention_mask"), one)
        columns = self.node("Range", zero, whole, one)
        rows = self.node("Range", self.node("Sub", whole, tokens), whole, one)
        before = self.node("LessOrEqual", columns, self.node("Unsqueeze", rows, self.constant([1])))
        real = self.node("Cast", "attention_mask", to=TensorProto.BOOL)
        seen = self.node("And", self.node("Unsqueeze", real, self.constant([1, 2, 3])), before)
        return self.node("Where", seen, self.constant(0.0, np.float32), self.constant(-1e30, np.float32))


def _quantized(matrix: Any) -> tuple[Any, float]:
    scale = float(np.abs(matrix).max()) / 127
    return np.round(matrix / scale).astype(np.int8), scale


def _ones(size: int) -> Any:
    return np.ones(size, np.float32)
