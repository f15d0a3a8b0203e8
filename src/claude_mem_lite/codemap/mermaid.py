"""Draw a call graph as a Mermaid flowchart; the caller chooses its functions and calls.

Names and paths are captured text: they appear only in quoted labels, with an entity code for every
character that Mermaid, Markdown or HTML could interpret.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain

MAX_ARROWS = 400  # Mermaid draws nothing from the 501st on (its setting maxEdges)
MAX_NODES_CHARS = 40_000  # leaves 10,000 of Mermaid's maxTextSize for arrows, colours and the comment
MAX_LABEL_CHARS = 80
MAX_CALLERS = 12  # per function; the others share one node that counts them

_COLOURS = {  # the text colour is fixed, because a dark theme's is light
    "new": "fill:#dfd,stroke:#393,color:#000",
    "modified": "fill:#ffd,stroke:#993,color:#000",
    "deleted": "fill:#fdd,stroke:#933,color:#000",
}
_UNRESOLVED = "stroke-dasharray:4 3"
_EMPTY = 'flowchart LR\n    n0["Nothing to show"]\n'

# Characters that a label may hold unescaped. After a space behind "direction", Mermaid's lexer would read the
# line as a statement, quotes or not. Mermaid 11 up to 11.12 or so reads every label as Markdown:
# an underscore or dash before a letter ends no emphasis and starts no list, "www." starts a link.
# Source: mermaid/src/utils.ts (encodeEntities), diagrams/flowchart/parser/flow.jison,
# rendering-util/handle-markdown-text.ts
_PLAIN = re.compile(
    r"""
    [^\W_]
    | [\[\],/]
    | (?<=\S)(?<!direction)[ ](?=\S)
    | (?<![wW]{3})\.(?=\w)
    | [_-](?=[^\W_])
    """,
    re.VERBOSE,
)
_MARKS = frozenset("ﬂ¶")  # Mermaid marks entities with them, and turns them back in the finished drawing
_ENTITIES = {'"': "#quot;", "&": "#amp;", "<": "#lt;", ">": "#gt;"}

Node = tuple[str, str]  # file, "" where no file of the project defines the function, and qualified name
Call = tuple[Node, Node]  # caller and callee


def render(nodes: Iterable[Node], calls: Mapping[Call, bool], changes: Mapping[Node, str]) -> str:
    """Return a flowchart with a box for each file, nodes in input order.

    `calls` maps each call to whether it is certain; others are drawn dashed. `changes` of nodes are "new",
    "modified" or "deleted". Nodes that only `calls` names are drawn, too. The chart stays below Mermaid's
    default limits, 500 edges and 50,000 characters (UTF-16 units): changed nodes are kept first, then their
    direct neighbours, then the others, and a comment counts what is left out. More than a dozen callers of
    one function are folded into one node that counts them, except for changed ones.
    """
    changed = {node for node, change in changes.items() if change in _COLOURS}
    named = dict.fromkeys(nodes)
    shown, calls = _folded(named, calls, changed)
    if not shown:
        return _EMPTY
    kept = _fitting(shown, calls, changed)
    drawn = _drawn(calls, kept, changed)
    ids = {node: f"n{number}" for number, node in enumerate(node for node in shown if node in kept)}
    nodes_out, calls_out = len(shown) - len(kept), len(calls) - len(drawn)
    lines = [
        "flowchart LR",
        *([f"%% left out for size: {nodes_out} nodes, {calls_out} arrows"] if nodes_out or calls_out else []),
        *_boxes(ids),
        *(_arrow(call, ids, is_certain=is_certain) for call, is_certain in calls.items() if call in drawn),
        *_classes(ids, changes),
    ]
    return "\n".join(lines) + "\n"


def _folded(
    named: Iterable[Node], calls: Mapping[Call, bool], changed: set[Node]
) -> tuple[list[Node], dict[Call, bool]]:
    """Return nodes and calls after folding the excess callers of each function; `named` nodes stay."""
    callers: dict[Node, list[Node]] = {}
    for caller, callee in calls:
        callers.setdefault(callee, []).append(caller)
    gone: set[Call] = set()
    added: dict[Call, bool] = {}
    for callee, all_of_it in callers.items():
        several = sorted(all_of_it, key=lambda node: node not in changed)
        folded = several[max(MAX_CALLERS, len(changed.intersection(several))) :]
        if len(folded) > 1:  # one caller takes no more room than a node that counts it
            more = callee[0], f"{len(folded)} more callers of {callee[1]}"
            gone.update((caller, callee) for caller in folded)
            added[more, callee] = any(calls[caller, callee] for caller in folded)
    kept = {call: is_certain for call, is_certain in calls.items() if call not in gone} | added
    joined = {*named, *chain.from_iterable(kept)}
    order = dict.fromkeys(chain.from_iterable([named, *calls, *added]))
    return [node for node in order if node in joined], kept


def _fitting(nodes: list[Node], calls: dict[Call, bool], changed: set[Node]) -> set[Node]:
    """Return the nodes that there is room for: changed ones first, then their neighbours."""
    beside = {node for call in calls if not changed.isdisjoint(call) for node in call}
    kept: set[Node] = set()
    files = {""}
    size = 0
    for file, name in sorted(nodes, key=lambda node: (node not in changed, node not in beside)):
        size += _units(_label(name, from_end=False)) + 40  # the ids, brackets, line breaks and class entries
        size += 0 if file in files else _units(_label(file, from_end=True)) + 40
        if size > MAX_NODES_CHARS:
            break
        kept.add((file, name))
        files.add(file)
    return kept


def _drawn(calls: dict[Call, bool], kept: set[Node], changed: set[Node]) -> set[Call]:
    """Return the calls that there is room for, those from and to changed nodes first."""
    possible = [call for call in calls if kept.issuperset(call)]
    return set(sorted(possible, key=changed.isdisjoint)[:MAX_ARROWS])


def _boxes(ids: dict[Node, str]) -> Iterator[str]:
    """Yield a subgraph for each file, then the nodes without a file."""
    files: dict[str, list[str]] = {}
    for (file, name), node_id in ids.items():
        files.setdefault(file, []).append(f'{node_id}["{_label(name, from_end=False)}"]')
    outside = files.pop("", [])
    for number, (file, inside) in enumerate(files.items()):
        yield f'    subgraph f{number}["{_label(file, from_end=True)}"]'
        yield from (f"        {line}" for line in inside)
        yield "    end"
    yield from (f"    {line}" for line in outside)


def _arrow(call: Call, ids: dict[Node, str], *, is_certain: bool) -> str:
    caller, callee = call
    return f"    {ids[caller]} {'-->' if is_certain and callee[0] else '-.->'} {ids[callee]}"


def _classes(ids: dict[Node, str], changes: Mapping[Node, str]) -> Iterator[str]:
    """Yield the colours in use and the nodes that have them."""
    wearers = {change: [ids[node] for node in ids if changes.get(node) == change] for change in _COLOURS}
    wearers["unresolved"] = [ids[node] for node in ids if not node[0]]
    for name, node_ids in wearers.items():
        if node_ids:
            yield f"    classDef {name} {_COLOURS.get(name, _UNRESOLVED)}"
            yield f"    class {','.join(node_ids)} {name}"


def _label(text: str, *, from_end: bool) -> str:
    """Return a label's text: truncated, with unprintable characters escaped as in Python.

    `from_end` keeps the end, which tells more of a path than its start.
    """
    parts = [
        char if char.isprintable() and char not in _MARKS else char.encode("unicode_escape").decode()
        for char in text
    ]
    shown = "".join(parts) or "?"
    if len(shown) > MAX_LABEL_CHARS:
        room = MAX_LABEL_CHARS - 1
        shown = f"…{shown[-room:]}" if from_end else f"{shown[:room]}…"
    return "".join(
        char if _PLAIN.match(shown, place) else _ENTITIES.get(char, f"#{ord(char)};")
        for place, char in enumerate(shown)
    )


def _units(text: str) -> int:
    """Count UTF-16 units, as Mermaid's limits do."""
    return len(text.encode("utf-16-le")) // 2
