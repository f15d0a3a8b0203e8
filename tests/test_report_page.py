"""The HTML report: safe for any captured text, drawn correctly, and right in a real browser."""

import dataclasses
import datetime as dt
import html
import json
import os
import random
import re
import shutil
import subprocess
import tempfile
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.databases import observation_row, session_row
from support.processes import finished
from support.recorded import DATA
from support.reports import at, gathered, play_history, run

from claude_mem_lite.capture import inbox
from claude_mem_lite.learnings import curate
from claude_mem_lite.reports import charts, drawing, page
from claude_mem_lite.reports.callgraph import laid_out
from claude_mem_lite.reports.markdown import markdown
from claude_mem_lite.reports.model import Call, Function, Graph, Report
from claude_mem_lite.storage import ledger, models, queries

NOW = inbox.unix_time(at(2026, 11, 21, 12))
EVIL = [
    "EVIL</script><script>alert(1)</script><img src=x onerror=alert(1)>",
    "EVIL]]><!--</style></title><svg onload=alert(1)><a href='javascript:alert(1)' style=\"x\">",
    'EVIL" onmouseover="alert(1)" x=\'',
    "EVIL\u202egnp.exe\u2066 \x00\x1b[31mred\x1b]0;title\x07\x9b2J\x7f &lt;b&gt; &#60;i&#62;",
    "EVIL" + "x" * 100_000,
    "EVIL` ``` [link](javascript:alert(1)) ![i](http://e.example/i.png) | cell | **b** <b>\r\n# h\r\n- item",
    "```mermaid EVIL --> n0[\"]:::x click n0 href 'javascript:alert(1)'",
]
TAGS = {
    "a", "article", "b", "body", "code", "dd", "defs", "details", "div", "dl", "dt", "figcaption", "figure",
    "footer", "g", "h1", "h2", "h3", "h4", "head", "header", "html", "i", "input", "label", "li", "line",
    "main", "marker", "meta", "nav", "p", "path", "rect", "script", "section", "span", "style", "summary",
    "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr", "ul",
}  # fmt: skip
INVISIBLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Reader(HTMLParser):
    """Collects a page's tags, comments and attribute values as a browser parses them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: dict[str, set[str]] = {}
        self.comments: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag and its attributes."""
        self.tags.add(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")

    def handle_comment(self, data: str) -> None:
        """Record a comment."""
        self.comments.append(data)


@pytest.fixture
def evil(memory: Path) -> Report:
    """Return a report on a memory whose every text is an attack."""
    for number, text in enumerate(EVIL):
        folder, moment = f"/evil/{text[:300]}", at(2026, 11, 20, number, 30)
        of_session = {"session_id": f"{number}{text}", "project_dir": folder}
        texts = {"summary": text, "key_decisions": [text, text], "status": text}
        session_row(f"{number}{text}", project_dir=folder, started_at=moment, last_event_at=moment, **texts)
        edit = {"files_touched": [text, f"b{text}"], "title": text, "tier": "high", "created_at": moment}
        queries.save_observation(observation_row(f"o{number}", **of_session, **edit))
        row = {"tool_name": text, "tier": text, "created_at": moment, **of_session}
        queries.save_observation(observation_row(f"p{number}", **row))
        for name in (text, f"other{text}"):
            change = {"qualified_name": name, "kind": text, "signature": text, "change_type": text}
            models.FunctionChange.create(**of_session, file_path=text, **change, created_at=moment)
        ends = {"caller_file": text, "caller_function": text, "callee_file": text, "resolution": text}
        called = {"callee_function": f"other{text}", "created_at": moment}
        models.CallEdge.create(id=f"e{number}", **of_session, **ends, **called)
        row = curate.add("x", category="gotcha", project_dir=folder)
        words = {"content": text, "category": text, "stale": text, "created_at": moment}
        models.Learning.update(**words).where(models.Learning.pk == row.pk).execute()
        ledger.record(ledger.Call(text, text, 0.2, 1, 1, session_id=f"{number}{text}"), now=NOW)
    return gathered(days=3, now=NOW, zone=dt.UTC)


def test_no_captured_text_becomes_an_element_or_an_attribute(evil: Report) -> None:
    """Captured text becomes no tag or attribute, and the page loads nothing and runs only our script."""
    text = page.page(evil)

    found = Reader(text)

    assert text.count("EVIL") > 100
    assert found.tags <= TAGS
    assert found.comments == []
    assert re.findall(r"<script.*?</script>", text, re.DOTALL) == [f"<script>{page.SCRIPT}</script>"]
    assert {name for name in found.attributes if name.startswith("on") or name in {"src", "action"}} == set()
    assert {each for values in found.attributes.values() for each in values if "EVIL" in each} == set()
    assert all(re.fullmatch(r"#\w+", each) for each in found.attributes["href"])
    assert all(re.fullmatch(r"(--natural|min-width):\d+px", each) for each in found.attributes["style"])
    assert found.attributes["content"] >= {page.POLICY}
    assert "url(" not in re.sub(r"marker-end=\"url\(#arrow\d+\)\"", "", text)
    assert INVISIBLE.findall(text) == []
    assert max(map(len, re.findall(r">([^<]*)<", text.split("</style>")[1]))) < 2_000


def test_drawings_are_well_formed_xml(evil: Report) -> None:
    """Each SVG is well-formed XML on its own and has a title."""
    drawings = re.findall(r"<svg.*?</svg>", page.page(evil), re.DOTALL)

    roots = [ET.fromstring(each) for each in drawings]  # noqa: S314  (our own page)

    assert len(roots) >= 6
    assert all(root[0].tag == "title" and root[0].text for root in roots)


def test_markdown_and_terminal_are_inert(evil: Report, memory: Path) -> None:
    """Captured text has no Markdown markup or terminal escapes in a report."""
    told = markdown(evil)

    assert INVISIBLE.findall(told) == []
    outside = re.sub(r"```mermaid\n.*?\n```\n", "", told, flags=re.DOTALL)
    outside = re.sub(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", outside)
    assert re.findall(r"(?<!\\)[<>\[\]`*_]", outside) == []
    for arguments in (["-a", "--days", "3650"], ["-a", "--md", "--days", "3650"]):
        done = run(*arguments, columns=80)
        assert (done.returncode, done.stderr) == (0, "")
        assert "EVIL" in done.stdout
        assert INVISIBLE.findall(done.stdout.replace("\n", "")) == []


def test_graphs_are_laid_out_from_left_to_right_without_overlaps() -> None:
    """Nodes never overlap, and each edge crosses every layer from its caller to its callee."""
    for seed in range(60):
        chance = random.Random(seed)  # noqa: S311
        nodes = list(range(chance.randint(1, 14)))
        edges = [(chance.choice(nodes), chance.choice(nodes)) for _ in range(chance.randint(0, 30))]

        layout = laid_out(nodes, edges)

        assert set(layout.places) == set(nodes)
        layers: dict[int, list[float]] = {}
        for layer, row in layout.places.values():
            layers.setdefault(layer, []).append(row)
        assert sorted(layers) == list(range(layout.layers))
        for rows in layers.values():
            assert all(below - above > 0.999 for above, below in pairwise(sorted(rows)))
        assert set(layout.paths) == {edge for edge in edges if edge[0] != edge[1]}
        forward = set()
        for (caller, callee), path in layout.paths.items():
            assert (path[0], path[-1]) == (layout.places[caller], layout.places[callee])
            steps = {after - before for (before, _), (after, _) in pairwise(path)}
            assert steps in ({1}, {-1})
            forward |= {(caller, callee)} if steps == {1} else set()
        backward = {edge[::-1] for edge in layout.paths} - {edge[::-1] for edge in forward}
        assert all(layout.places[a][0] < layout.places[b][0] for a, b in forward | backward)


def test_a_chain_is_a_line_and_crossings_are_undone() -> None:
    """A call chain lies in one row, and nodes are sorted so that edges don't cross."""
    chain = laid_out([0, 1, 2], [(0, 1), (1, 2)])
    pair = laid_out([0, 1, 2, 3], [(0, 3), (1, 2)])

    assert chain.places == {0: (0, 0.0), 1: (1, 0.0), 2: (2, 0.0)}
    order = [sorted(side, key=lambda node: pair.places[node][1]) for side in ((0, 1), (3, 2))]
    assert [order[0].index(0), order[0].index(1)] == [order[1].index(3), order[1].index(2)]


def test_a_large_graph_is_cut_to_what_was_changed_and_called_most(memory: Path) -> None:
    """A large graph keeps the most changed and called functions; the page lists or counts the rest."""
    functions = [Function("a.py", f"f{number}", "modified") for number in range(300)]
    functions += [Function("b.py", f"g{number}", "unchanged") for number in range(300)]
    calls = [Call(0, number, is_certain=number % 2 == 0) for number in range(300, 600)]
    calls += [Call(number, number - 1, is_certain=True) for number in range(1, 100)]
    graph = Graph("/p", tuple(functions), tuple(calls))

    places = drawing.chosen(graph)
    text = page.page(dataclasses.replace(gathered(now=NOW, zone=dt.UTC), graphs=(graph,)))

    assert 0 in places
    assert len(places) <= drawing.MOST_FUNCTIONS
    assert any(functions[place].change == "unchanged" for place in places)
    svg = ET.fromstring(re.findall(r"<svg.*?</svg>", text, re.DOTALL)[-1])  # noqa: S314
    boxes = [each for each in svg.iter("g") if each.get("class", "").startswith("box")]
    assert len(boxes) == len(places)
    lines = [each.get("class") for each in svg.iter("path") if each.get("class")]
    kept = [call for call in calls if {call.caller, call.callee} <= set(places)]
    assert lines.count("call") == sum(call.is_certain for call in kept)
    assert lines.count("call unsure") == sum(not call.is_certain for call in kept) > 0
    changed = sum(functions[place].change != "unchanged" for place in places)
    assert f"and {300 - changed - 40} more" in text


@pytest.mark.parametrize(
    ("first", "last", "unit", "number"),
    [
        ("2026-11-15", "2026-11-21", "day", 7),
        ("2026-09-21", "2026-11-21", "day", 62),
        ("2026-01-01", "2026-11-21", "week", 47),
        ("2020-01-01", "2026-11-21", "month", 83),
    ],
)
def test_many_days_are_summed_up(first: str, last: str, unit: str, number: int) -> None:
    """Long spans are charted by week or month, every day counted once and empty ones included."""
    values = {first: [1.0, 2.0], "2026-11-18": [3.0, 0.0], last: [5.0, 1.0]}

    labels, rows, told = charts.by_day(first, last, values)

    assert (told, len(labels), len(rows)) == (unit, number, number)
    assert [sum(column) for column in zip(*rows, strict=True)] == [9.0, 3.0]


CHROMIUM = os.environ.get("CLAUDE_MEM_TEST_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), ""
)
in_browser = pytest.mark.skipif(
    not CHROMIUM, reason="no Chromium is installed (CLAUDE_MEM_TEST_CHROMIUM names one)"
)
_MEASURE = (DATA / "measure.html").read_text("utf-8")


def browse(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in headless Chromium with the given options."""
    flags = ["--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags.append("--disable-sync")
    flags += ["--disable-component-update", "--disable-quic", "--hide-scrollbars", "--enable-logging=stderr"]
    flags += ["--no-sandbox"] * (os.geteuid() == 0)
    with tempfile.TemporaryDirectory() as profile:
        command = (CHROMIUM, *flags, f"--user-data-dir={profile}", *options, path.as_uri())
        return finished(*command, check=True, timeout=120)


def first_pixel(png: Path) -> tuple[int, ...]:
    """Return the colour of a PNG's upper left pixel, which no PNG filter changes."""
    data, at_, packed = png.read_bytes(), 8, b""
    while at_ < len(data):
        size = int.from_bytes(data[at_ : at_ + 4])
        if data[at_ + 4 : at_ + 8] == b"IDAT":
            packed += data[at_ + 8 : at_ + 8 + size]
        at_ += size + 12
    return tuple(zlib.decompress(packed)[1:4])


@in_browser
def test_the_page_is_right_in_a_browser(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page fits phone and desktop, labels fit their boxes, and dark, light and print work."""
    folder = (tmp_path / "ledger").resolve()
    play_history(folder, monkeypatch)
    report = tmp_path / "report.html"
    report.write_text(page.page(gathered(project_dir=str(folder))))

    measured = []
    for width in (390, 1_200):
        frame = tmp_path / f"{width}.html"
        text = _MEASURE.replace("WIDTH", str(width)).replace("PAGE", html.escape(report.read_text()))
        frame.write_text(text)
        dumped = browse(frame, "--dump-dom", "--virtual-time-budget=5000", f"--window-size={width + 40},1000")
        found = re.search(r'<pre id="out">(\{.*?\})</pre>', dumped.stdout)
        measured.append((width, json.loads(html.unescape(found[1]))))
        assert "CONSOLE" not in dumped.stderr
    for scheme in ("dark", "light"):
        wanted = f"--blink-settings=preferredColorScheme={('dark', 'light').index(scheme)}"
        shot = browse(report, wanted, f"--screenshot={tmp_path / scheme}.png", "--window-size=1200,900")
        assert "CONSOLE" not in shot.stderr
    browse(report, f"--print-to-pdf={tmp_path / 'page.pdf'}", "--no-pdf-header-footer")

    for width, found in measured:
        assert found["wide"] <= width
        assert found["texts"] > 100
        assert (found["outside"], found["sessions"][1]) == ([], 0)
        assert 0 < found["sessions"][2] < found["sessions"][0] == found["sessions"][3]
    assert max(first_pixel(tmp_path / "dark.png")) < 40
    assert min(first_pixel(tmp_path / "light.png")) > 240
    pdf = (tmp_path / "page.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 12


@in_browser
def test_hostile_text_does_nothing_in_a_browser(evil: Report, tmp_path: Path) -> None:
    """A browser's DOM of the page has only our elements, and no attack runs."""
    report = tmp_path / "report.html"
    report.write_text(page.page(evil))

    dumped = browse(report, "--dump-dom")

    assert Reader(dumped.stdout).tags <= TAGS
    assert "CONSOLE" not in dumped.stderr


def test_a_session_is_lines_and_folds_the_rest(memory: Path) -> None:
    """Each label of a summary has its line; files and earlier prompts are folded."""
    said = "Asked: dig a pond. Files: a.py. Tests: 3 passed. Also asked: fill it."
    moment = at(2026, 11, 20, 9)
    session_row(project_dir="/p", started_at=moment, last_event_at=moment, summary=said)
    queries.save_observation(observation_row("o1", project_dir="/p", created_at=moment))

    text = page.page(gathered(days=3, now=NOW, zone=dt.UTC))
    article = re.findall(r"<article.*?</article>", text, re.DOTALL)[0]
    shown, folded = article.split("<details>")

    assert re.findall(r"<li><b>(.*?)</b>", shown) == ["Asked:", "Tests:"]
    assert re.findall(r"<li><b>(.*?)</b>", folded) == ["Files:", "Also asked:"]
