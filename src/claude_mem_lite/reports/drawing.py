"""Draw the call graph of changed functions as SVG: boxes for functions, curves for calls."""

import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from claude_mem_lite.reports import words
from claude_mem_lite.reports.callgraph import Layout, laid_out
from claude_mem_lite.reports.element import Element, element
from claude_mem_lite.reports.model import Function, Graph

MOST_FUNCTIONS = 40
_MOST_CHANGED = 28  # leaves room for their callers and callees
_NAME_CHARS, _FILE_CHARS = 25, 28
# Px: heights of row and box, gap of columns, padding; then widths of a character (monospaced, 12 and 10 px).
_ROW, _BOX, _GAP, _PAD = 44, 36, 42, 8
_NAME_PX, _FILE_PX = 7.25, 6.05
_SMALLEST = 0.75  # smallest scale at which the graph shrinks to the screen; below that it scrolls


def chosen(graph: Graph) -> list[int]:
    """Return the indexes of the functions to draw: the changed ones with most calls, and some neighbours."""
    calls = [call for call in graph.calls if call.caller != call.callee]
    degree = Counter(end for call in calls for end in (call.caller, call.callee))

    def busiest(places: Collection[int]) -> list[int]:
        return sorted(places, key=lambda place: (-degree[place], place))

    changed = [place for place in degree if graph.functions[place].change != "unchanged"]
    kept = set(busiest(changed)[:_MOST_CHANGED])
    beside = {
        end for call in calls for end in (call.caller, call.callee) if {call.caller, call.callee} & kept
    }
    kept |= set(busiest(beside - kept)[: MOST_FUNCTIONS - len(kept)])
    linked = {
        end for call in calls if {call.caller, call.callee} <= kept for end in (call.caller, call.callee)
    }
    return sorted(linked, key=lambda place: (graph.functions[place].file, graph.functions[place].name))


def call_graph(graph: Graph, places: Sequence[int], *, name: str) -> Element:
    """Return the drawing of some functions; `name` is the id of its arrow head, unique in the page."""
    drawn = set(places)
    edges = {
        (call.caller, call.callee): call.is_certain
        for call in graph.calls
        if {call.caller, call.callee} <= drawn
    }
    layout = laid_out(places, edges)
    columns, width = _columns(graph, layout)
    height = layout.rows * _ROW + 2
    return element(
        "svg",
        element(
            "title",
            f"Call graph: {len(places)} functions, {len(edges)} calls, callers left of what they call",
        ),
        element("defs", _head(name)),
        [
            _curve(layout, edge, columns, name=name, is_certain=is_certain)
            for edge, is_certain in edges.items()
            if edge in layout.paths
        ],
        [
            _box(graph.functions[place], columns[layer], row, calls_itself=(place, place) in edges)
            for place, (layer, row) in layout.places.items()
        ],
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        style=f"min-width:{_SMALLEST * width:.0f}px",
        role="img",
        class_="graph",
    )


def _columns(graph: Graph, layout: Layout) -> tuple[list[tuple[float, float]], float]:
    """Return the left and right edge of each column's boxes, and the width of the drawing, in px."""
    widths = [0.0] * layout.layers
    for place, (layer, _) in layout.places.items():
        name, file = _labels(graph.functions[place])
        wide = max(_cells(name) * _NAME_PX, _cells(file) * _FILE_PX) + 2 * _PAD
        widths[layer] = max(widths[layer], wide)
    lefts = [1 + sum(widths[:layer]) + _GAP * layer for layer in range(layout.layers)]
    ends = [left + width for left, width in zip(lefts, widths, strict=True)]
    return list(zip(lefts, ends, strict=True)), max(ends, default=0.0) + 1


def _labels(function: Function) -> tuple[str, str]:
    """Return a function's name, cut at its end, and its file, cut at its start, which says least."""
    sign = words.SIGNS.get(function.change, "")
    name, file = function.name or "?", function.file or "not in this project"
    if len(name) > _NAME_CHARS:
        name = name[: _NAME_CHARS - 1] + "…"
    if len(file) > _FILE_CHARS:
        file = "…" + file[1 - _FILE_CHARS :]
    return f"{sign} {name}".strip(), file


def _cells(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _box(function: Function, column: tuple[float, float], row: float, *, calls_itself: bool) -> Element:
    name, file = _labels(function)
    change = function.change if function.change in words.SIGNS else "unchanged"
    said = f"{function.name} in {function.file or 'no file of the project'}: {function.change}"
    (left, end), top = column, row * _ROW + 1
    return element(
        "g",
        element("title", said[:300] + (", calls itself" if calls_itself else "")),
        element("rect", x=left, y=top, width=end - left, height=_BOX, rx=5),
        element("text", name, x=left + _PAD, y=top + 15, class_="name"),
        element("text", file, x=left + _PAD, y=top + 29, class_="file"),
        element("text", "↻", x=end - 14, y=top + 14, class_="file") if calls_itself else None,
        class_=f"box {change}",
    )


def _curve(
    layout: Layout,
    edge: tuple[int, int],
    columns: Sequence[tuple[float, float]],
    *,
    name: str,
    is_certain: bool,
) -> Element:
    """Return a call as a curve from box to box, straight where it crosses a column in between."""
    path = layout.paths[edge]
    out, into = (1, 0) if path[-1][0] > path[0][0] else (0, 1)  # the sides of a column
    x, y = columns[path[0][0]][out], path[0][1] * _ROW + 1 + _BOX / 2
    parts = [f"M{x:.1f} {y:.1f}"]
    for layer, row in path[1:]:
        end, below = columns[layer][into], row * _ROW + 1 + _BOX / 2
        middle = (x + end) / 2
        parts.append(f"C{middle:.1f} {y:.1f} {middle:.1f} {below:.1f} {end:.1f} {below:.1f}")
        x, y = columns[layer][out], below
        if layer != path[-1][0]:
            parts.append(f"H{x:.1f}")
    line = "call" if is_certain else "call unsure"
    return element("path", d="".join(parts), class_=line, marker_end=f"url(#{name})")


def _head(name: str) -> Element:
    return element(
        "marker",
        element("path", d="M0 0L8 4L0 8z"),
        id=name,
        viewBox="0 0 8 8",
        refX=7,
        refY=4,
        markerWidth=7,
        markerHeight=7,
        orient="auto",
    )
