"""Lay out a call graph in layers, callers left of what they call; `drawing` draws it.

Source: the steps of Sugiyama, Tagawa and Toda (1981): reverse the edges that close a cycle, assign layers by
the longest path, order each layer by barycentres, assign rows.
"""

import bisect
import itertools
from collections import defaultdict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Edge = tuple[int, int]
_SWEEPS = 12
_SHIFTS = 16
_WAY = 0.4  # height in rows of an edge where it crosses a layer


@dataclass(frozen=True, slots=True)
class Layout:
    """Positions of a graph's nodes as (layer, row), counted from 0; rows may be fractional.

    `paths` gives for each edge the positions that it goes through, from caller to callee, both included; a
    reversed edge runs to the left.
    """

    places: Mapping[int, tuple[int, float]]
    paths: Mapping[Edge, Sequence[tuple[int, float]]]

    @property
    def layers(self) -> int:
        """Number of layers."""
        return max((layer for layer, _ in self.places.values()), default=-1) + 1

    @property
    def rows(self) -> float:
        """Height in rows."""
        points = [row for path in self.paths.values() for _, row in path]
        return max([row for _, row in self.places.values()] + points, default=-1.0) + 1


def laid_out(nodes: Sequence[int], edges: Iterable[Edge]) -> Layout:
    """Return the layout; the order of `nodes` breaks ties, and edges from a node to itself are ignored."""
    edges = [edge for edge in dict.fromkeys(edges) if edge[0] != edge[1]]
    forward = {
        edge: edge if is_forward else edge[::-1] for edge, is_forward in _directed(nodes, edges).items()
    }
    layers = _layers(nodes, set(forward.values()))
    chains = _chains(layers, set(forward.values()), first_free=max(nodes, default=0) + 1)
    columns = _ordered(layers, chains)
    rows = _rows(columns, _neighbours(chains.values()), set(nodes))
    at = {node: (number, rows[node]) for number, column in enumerate(columns) for node in column}
    return Layout(
        {node: at[node] for node in nodes},
        {
            edge: [at[node] for node in chains[way][:: 1 if way == edge else -1]]
            for edge, way in forward.items()
        },
    )


def _directed(nodes: Sequence[int], edges: Sequence[Edge]) -> dict[Edge, bool]:
    """Return for each edge whether it goes forward; the forward edges alone contain no cycle."""
    after: dict[int, list[int]] = defaultdict(list)
    for caller, callee in edges:
        after[caller].append(callee)
    called = {callee for _, callee in edges}
    is_open: dict[int, bool] = {}
    found: dict[Edge, bool] = {}
    for start in sorted(nodes, key=called.__contains__):  # nodes without callers first
        if start in is_open:
            continue
        is_open[start] = True
        stack = [(start, iter(after[start]))]
        while stack:
            node, left = stack[-1]
            callee = next(left, -1)
            if callee < 0:
                is_open[node] = False
                stack.pop()
                continue
            found[node, callee] = not is_open.get(callee, False)
            if callee not in is_open:
                is_open[callee] = True
                stack.append((callee, iter(after[callee])))
    return found


def _layers(nodes: Sequence[int], edges: Iterable[Edge]) -> dict[int, int]:
    """Return each node's layer: the longest path to it, or for a source the one before its nearest callee."""
    after, before = defaultdict(list), defaultdict(list)
    for caller, callee in edges:
        after[caller].append(callee)
        before[callee].append(caller)
    layers = dict.fromkeys(nodes, 0)
    waiting = {node: len(before[node]) for node in nodes}
    ready = deque(node for node in nodes if not waiting[node])
    while ready:
        node = ready.popleft()
        for callee in after[node]:
            layers[callee] = max(layers[callee], layers[node] + 1)
            waiting[callee] -= 1
            if not waiting[callee]:
                ready.append(callee)
    for node in nodes:
        if after[node] and not before[node]:
            layers[node] = min(layers[callee] for callee in after[node]) - 1
    return layers


def _chains(layers: dict[int, int], edges: Iterable[Edge], *, first_free: int) -> dict[Edge, list[int]]:
    """Return the nodes along each edge, one per layer; add new nodes between its ends to `layers`."""
    chains = {}
    for caller, callee in sorted(edges):
        between = range(layers[caller] + 1, layers[callee])
        inner = range(first_free, first_free + len(between))
        layers |= dict(zip(inner, between, strict=True))
        first_free += len(between)
        chains[caller, callee] = [caller, *inner, callee]
    return chains


def _ordered(layers: Mapping[int, int], chains: Mapping[Edge, Sequence[int]]) -> list[list[int]]:
    """Return each layer's nodes from top to bottom, in the order found with the fewest crossings."""
    columns: list[list[int]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
    for node, layer in layers.items():
        columns[layer].append(node)
    links = [link for chain in chains.values() for link in itertools.pairwise(chain)]
    beside = _neighbours(chains.values())
    best, fewest = [list(column) for column in columns], _crossings(columns, links)
    for sweep in range(_SWEEPS):
        step = 1 if sweep % 2 == 0 else -1  # to the right, then to the left
        for number in range(len(columns))[::step][1:]:
            _sort(columns[number], columns[number - step], beside)
        crossings = _crossings(columns, links)
        if crossings < fewest:
            best, fewest = [list(column) for column in columns], crossings
    return best


def _sort(column: list[int], fixed: Sequence[int], beside: Mapping[int, Sequence[int]]) -> None:
    """Sort a layer by the mean position of each node's neighbours in the adjacent layer `fixed`."""
    at = {node: place for place, node in enumerate(fixed)}
    centres = {}
    for place, node in enumerate(column):
        met = [at[each] for each in beside.get(node, ()) if each in at]
        centres[node] = sum(met) / len(met) if met else float(place)
    column.sort(key=centres.__getitem__)


def _crossings(columns: Sequence[Sequence[int]], links: Iterable[Edge]) -> int:
    """Return how many pairs of links cross."""
    at = {node: (layer, row) for layer, column in enumerate(columns) for row, node in enumerate(column)}
    gaps: dict[int, list[Edge]] = defaultdict(list)
    for left, right in links:
        gaps[at[left][0]].append((at[left][1], at[right][1]))
    crossings = 0
    for gap in gaps.values():
        ends: list[int] = []
        for _, end in sorted(gap):
            crossings += len(ends) - bisect.bisect_right(ends, end)
            bisect.insort(ends, end)
    return crossings


def _rows(
    columns: Sequence[Sequence[int]], beside: Mapping[int, Sequence[int]], nodes: Collection[int]
) -> dict[int, float]:
    """Return each node's row: near the mean of its neighbours, without overlaps; crossing edges take less."""
    offsets = [_offsets([1.0 if node in nodes else _WAY for node in column]) for column in columns]
    rows = {
        node: row for column, places in zip(columns, offsets, strict=True)
        for node, row in zip(column, places, strict=True)
    }  # fmt: skip
    for shift in range(_SHIFTS):
        for number in range(len(columns))[:: 1 if shift % 2 == 0 else -1]:
            column = columns[number]
            wanted = [
                sum(rows[each] for each in near) / len(near) if (near := beside.get(node, ())) else rows[node]
                for node in column
            ]
            rows |= dict(zip(column, _apart(wanted, offsets[number]), strict=True))
    top = min(rows.values(), default=0.0)
    return {node: row - top for node, row in rows.items()}


def _offsets(sizes: Sequence[float]) -> list[float]:
    """Return for each node of a layer its least distance below the first."""
    return list(itertools.accumulate([0.0] + [(a + b) / 2 for a, b in itertools.pairwise(sizes)]))


def _apart(wanted: Sequence[float], offsets: Sequence[float]) -> list[float]:
    """Return the rows nearest to those wanted (least squares) that keep the order and least distances."""
    blocks: list[tuple[float, int]] = []  # sum of wanted starts, size: pool adjacent violators
    for row, offset in zip(wanted, offsets, strict=True):
        total, size = row - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / size:
            before = blocks.pop()
            total, size = total + before[0], size + before[1]
        blocks.append((total, size))
    starts = [total / size for total, size in blocks for _ in range(size)]
    return [start + offset for start, offset in zip(starts, offsets, strict=True)]


def _neighbours(chains: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """Return the nodes before and after each node on the chains through it."""
    beside: dict[int, list[int]] = defaultdict(list)
    for chain in chains:
        for left, right in itertools.pairwise(chain):
            beside[left].append(right)
            beside[right].append(left)
    return dict(beside)
