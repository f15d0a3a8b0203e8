"""Call graphs as Mermaid flowcharts: what is drawn, what is cut, and that no name escapes its label."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.processes import finished

from claude_mem_lite.codemap.mermaid import MAX_ARROWS, render

CASES = cases.load("mermaid")

ROOT = Path(__file__).parent.parent
FOLDER = Path(__file__).parent / "mermaid"
INSTALL = "npm install --prefix tests/mermaid --no-audit --no-fund --no-package-lock --loglevel=error"
PACKAGES = json.loads((FOLDER / "package.json").read_text())["dependencies"]

real_parser = pytest.mark.skipif(
    shutil.which("node") is None or not all((FOLDER / "node_modules" / name).is_dir() for name in PACKAGES),
    reason=f"Mermaid is not installed; with Node 18 or newer: {INSTALL}",
)

POST = ("ledger/journal.py", "Journal.post")
PARSE = ("ledger/money.py", "parse_amount")
OLD = ("ledger/money.py", "to_float")
MODULE = ("ledger/journal.py", "<module>")
OUTSIDE = ("", "dict[str, int].update")
CHANGES = {POST: "modified", PARSE: "new", OLD: "deleted"}

# Hostile labels as captured, each with the text that the reader should see.
KNOWN = cases.load("hostile/labels")
HOSTILE: dict[str, str] = {text: text for text in KNOWN["as_written"]} | dict(KNOWN["shown"])
HOSTILE |= {"\ud800.py": "\\ud800.py", "\udcff\udcfe": "\\udcff\\udcfe"}


def mermaid(*diagrams: str, draw: bool = False) -> list[dict[str, Any]]:
    """Return Mermaid's own parse of each diagram, and its drawing if asked."""
    given = json.dumps({"diagrams": diagrams, "draw": draw})
    done = finished("node", str(FOLDER / "parse.mjs"), input=given, timeout=300)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def parsed(
    *boxes: tuple[str, list[tuple[str, list[str]]]], arrows: list[tuple[int, int, str]]
) -> dict[str, Any]:
    """Return the expected parse: files with their nodes' labels and classes, arrows by node number."""
    nodes = [each for _, inside in boxes for each in inside]
    ids = iter(range(len(nodes)))
    groups = [(file, [f"n{next(ids)}" for _ in inside]) for file, inside in boxes]
    return {
        "nodes": [
            {"id": f"n{number}", "label": label, "classes": classes, "styles": []}
            for number, (label, classes) in enumerate(nodes)
        ],
        "groups": [
            {"id": f"f{number}", "label": file, "nodes": inside}
            for number, (file, inside) in enumerate(group for group in groups if group[0])
        ],
        "arrows": [[f"n{start}", f"n{end}", stroke, "", "arrow_point"] for start, end, stroke in arrows],
        "config": {},
    }


def test_a_graph_is_written_in_the_order_it_came_in() -> None:
    """Files are boxes, certain calls solid arrows, other calls dashed, changes coloured."""
    calls = {(POST, PARSE): True, (MODULE, POST): False, (PARSE, OUTSIDE): True}

    text = render([POST, PARSE, OLD], calls, CHANGES)

    assert text == (
        "flowchart LR\n"
        '    subgraph f0["ledger/journal.py"]\n'
        '        n0["Journal.post"]\n'
        '        n3["#lt;module#gt;"]\n'
        "    end\n"
        '    subgraph f1["ledger/money.py"]\n'
        '        n1["parse_amount"]\n'
        '        n2["to_float"]\n'
        "    end\n"
        '    n4["dict[str, int].update"]\n'
        "    n0 --> n1\n"
        "    n3 -.-> n0\n"
        "    n1 -.-> n4\n"
        "    classDef new fill:#dfd,stroke:#393,color:#000\n"
        "    class n1 new\n"
        "    classDef modified fill:#ffd,stroke:#993,color:#000\n"
        "    class n0 modified\n"
        "    classDef deleted fill:#fdd,stroke:#933,color:#000\n"
        "    class n2 deleted\n"
        "    classDef unresolved stroke-dasharray:4 3\n"
        "    class n4 unresolved\n"
    )


def test_an_empty_graph_says_so() -> None:
    """An empty graph still renders a valid diagram with one node."""
    assert render([], {}, {}) == 'flowchart LR\n    n0["Nothing to show"]\n'


def test_nothing_is_drawn_twice() -> None:
    """A node is identified by file and name and drawn once, however often it is given."""
    text = render([POST, POST], {(POST, PARSE): True, (POST, ("other.py", POST[1])): True}, {})

    assert text.count('["Journal.post"]') == 2
    assert [line.strip() for line in text.splitlines() if "->" in line] == ["n0 --> n1", "n0 --> n2"]


@pytest.mark.parametrize(("name", "label"), CASES["labels"])
def test_a_label_is_readable_and_no_markdown(name: str, label: str) -> None:
    """Labels show names unchanged; what early Mermaid 11 reads as Markdown is escaped."""
    assert f'n0["{label}"]' in render([("a.py", name)], {}, {})


def test_a_change_nobody_knows_is_not_drawn() -> None:
    """Only the three known changes get a colour; any other value never reaches the diagram."""
    text = render([("a.py", "f")], {}, {("a.py", "f"): 'x fill:red"\n'})

    assert text == 'flowchart LR\n    subgraph f0["a.py"]\n        n0["f"]\n    end\n'


def test_a_long_label_is_cut() -> None:
    """A long name keeps its start and a long path its end, both within 80 characters."""
    text = render([("p" * 100 + "/end.py", "start" + "n" * 10_000)], {}, {})

    assert f'["#8230;{"p" * 72}/end.py"]' in text
    assert f'["start{"n" * 74}#8230;"]' in text


def test_a_large_graph_loses_its_tail() -> None:
    """Changed nodes are kept first, then their neighbours; a comment counts the omitted ones."""
    nodes = [(f"src/file_{number % 50}.py", f"Class.method_{number}") for number in range(3_000)]
    changed = ("src/last.py", "changed")
    calls = [*itertools.pairwise(nodes[:2_001]), (nodes[-1], changed), (nodes[0], ("", "x" * 70))]

    text = render([*nodes, changed], dict.fromkeys(calls, True), {changed: "new"})

    lines = text.splitlines()
    drawn = sum('"]' in line and "subgraph" not in line for line in lines)
    assert len(text) < 50_000
    assert sum("-->" in line for line in lines) == MAX_ARROWS
    assert lines[1] == f"%% left out for size: {3_002 - drawn} nodes, {2_002 - MAX_ARROWS} arrows"
    assert f'n{drawn - 1}["changed"]' in text
    assert f'n{drawn - 2}["Class.method_2999"]' in text
    assert f"n{drawn - 2} --> n{drawn - 1}" in text
    assert '["Class.method_0"]' in text
    assert '["Class.method_2998"]' not in text


@pytest.mark.parametrize(("callers", "drawn", "folded"), [(13, 13, 0), (14, 12, 2), (40, 12, 28)])
def test_callers_past_a_dozen_are_folded(callers: int, drawn: int, folded: int) -> None:
    """Past twelve callers, one node counts the rest; changed callers are drawn first."""
    functions = [("b.py", f"f{n}") for n in range(callers)]
    calls = dict.fromkeys([(each, ("a.py", "busy")) for each in functions], True)
    calls[functions[0], ("a.py", "quiet")] = True

    text = render(functions[-1:], calls, {functions[-1]: "modified"})

    assert text.count("-->") == drawn + bool(folded) + 1
    assert (f'["{folded} more callers of busy"]' in text) == bool(folded)
    assert f'["f{callers - 1}"]' in text
    assert text.count('["f') == drawn


@pytest.mark.parametrize("char", ["a", "\x00", "\U0001f600", "\U00020000", '"'])
def test_no_label_makes_a_diagram_too_large(char: str) -> None:
    """The size limit holds in UTF-16 units, as Mermaid counts, for any characters in labels."""
    nodes = [(f"{number}{char * 100}", f"{number}{char * 100}") for number in range(2_000)]
    calls = dict.fromkeys(itertools.product(nodes[:40], repeat=2), True)

    text = render(nodes, calls, dict.fromkeys(nodes, "new"))

    assert 20_000 < len(text.encode("utf-16-le")) // 2 < 50_000


def test_ci_installs_what_the_skip_asks_for() -> None:
    """CI and docs name the same install command, and every version is pinned exactly."""
    assert INSTALL in (ROOT / ".ci" / "run").read_text()
    assert INSTALL in (ROOT / "docs" / "benchmarks.md").read_text()
    assert all(version.replace(".", "").isdigit() for version in PACKAGES.values())


@real_parser
def test_mermaid_reads_what_was_put_in() -> None:
    """Mermaid parses and draws nodes, files, calls and colours as given, also for no nodes."""
    calls = {(POST, PARSE): True, (MODULE, POST): False, (POST, OUTSIDE): True, (POST, POST): True}

    drawn = render([POST, MODULE, PARSE, OLD], calls, CHANGES)
    ordinary, empty = mermaid(drawn, render([], {}, {}), draw=True)

    expected = parsed(
        ("ledger/journal.py", [("Journal.post", ["modified"]), ("<module>", [])]),
        ("ledger/money.py", [("parse_amount", ["new"]), ("to_float", ["deleted"])]),
        ("", [("dict[str, int].update", ["unresolved"])]),
        arrows=[(0, 2, "normal"), (1, 0, "dotted"), (0, 4, "dotted"), (0, 0, "normal")],
    )
    assert {key: ordinary[key] for key in expected} == expected
    assert ordinary["classes"] == {
        "new": ["fill:#dfd", "stroke:#393", "color:#000"],
        "modified": ["fill:#ffd", "stroke:#993", "color:#000"],
        "deleted": ["fill:#fdd", "stroke:#933", "color:#000"],
        "unresolved": ["stroke-dasharray:4 3"],
    }
    assert sorted(ordinary["shown"][0]) == ["ledger/journal.py", "ledger/money.py"]
    assert [node["label"] for node in empty["nodes"]] == empty["shown"][1] == ["Nothing to show"]
    assert (empty["arrows"], empty["groups"], empty["config"]) == ([], [], {})


@real_parser
def test_mermaid_takes_the_largest_graph() -> None:
    """Mermaid parses every node and arrow of a graph at the size limit."""
    nodes = [(f"src/file_{number % 50}.py", f"Class.method_{number}") for number in range(3_000)]
    text = render(nodes, {(nodes[0], node): True for node in nodes}, {})

    (found,) = mermaid(text)

    assert len(found["nodes"]) == text.count('"]\n') - len(found["groups"])
    assert (len(found["groups"]), len(found["arrows"])) == (50, MAX_ARROWS)


@real_parser
def test_no_name_gets_out_of_its_label() -> None:
    """A hostile path, name or unresolved callee stays one label and adds nothing else."""
    texts = list(HOSTILE)
    diagrams = [
        render([(text, "f"), ("a.py", text)], {((text, "f"), ("", text)): True}, {(text, "f"): "new"})
        for text in texts
    ]

    found = mermaid(*diagrams)

    for text, result in zip(texts, found, strict=True):
        expected = parsed(
            (HOSTILE[text], [("f", ["new"])]),
            ("a.py", [(HOSTILE[text], [])]),
            ("", [(HOSTILE[text], ["unresolved"])]),
            arrows=[(0, 2, "dotted")],
        )
        assert {key: result.get(key) for key in expected} == expected, (text, result.get("error"))


@real_parser
def test_names_do_no_harm_together() -> None:
    """Hostile names in one diagram all parse, and draw no elements that plain names don't."""
    texts = list(HOSTILE)
    nodes = [(text, text) for text in texts]
    plain = [("a.py", "f"), ("b.py", "g")]

    result, ordinary = mermaid(
        *(
            render(some, {(some[0], node): True for node in others}, dict.fromkeys(some, "modified"))
            for some, others in ((nodes, nodes), (plain, plain[1:]))
        ),
        draw=True,
    )

    functions = ((HOSTILE[text], [(HOSTILE[text], ["modified"])]) for text in texts)
    expected = parsed(*functions, arrows=[(0, number, "normal") for number in range(len(texts))])
    assert {key: result.get(key) for key in expected} == expected, result.get("error")
    assert [sorted(each) for each in result["shown"]] == [sorted(HOSTILE.values())] * 2
    assert set(result["elements"]) <= set(ordinary["elements"])
