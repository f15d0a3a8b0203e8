"""Test that after a change, resolving only what it can reach gives the same map as resolving everything."""

import ast
import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import cases

from claude_mem_lite.codemap import file_index, graph, renewal
from claude_mem_lite.codemap.file_index import Seen
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.codemap.resolution import Edge, Resolution
from claude_mem_lite.codemap.valueflow import solver
from claude_mem_lite.storage import call_edges, code

CASES = cases.load("codemap/renewal")


FILES = CASES["files"]
SEEDS = range(12)


def edited(source: str, chance: random.Random) -> str:
    """Return a source with one function or class changed, added, renamed or removed at random."""
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    functions = [each for each in nodes if isinstance(each, ast.FunctionDef)]
    bodies = [each for each in nodes if isinstance(each, ast.ClassDef | ast.Module)]
    calls: list[Any] = [each for each in nodes if isinstance(each, ast.Call)]
    if not functions:
        return source + "\nimport shop.run\n"
    function, owner = chance.choice(functions), chance.choice(bodies)
    more = copy.deepcopy(function)
    changes: list[Callable[[], object]] = [
        lambda: function.body.insert(0, ast.Expr(chance.choice(calls))),
        lambda: function.body.append(ast.Return(chance.choice(calls))),
        lambda: function.body.__setitem__(slice(None), chance.choice(functions).body),
        lambda: function.args.args.append(ast.arg("one_more")),
        lambda: function.args.kwonlyargs.clear() or function.args.kw_defaults.clear(),
        lambda: setattr(function, "name", chance.choice(["sold", "take", "other"])),
        lambda: (setattr(more, "name", chance.choice(["label", "close", "new"])), owner.body.append(more)),
        lambda: owner.body.append(copy.deepcopy(chance.choice([more, *tree.body[-2:]]))),
        lambda: owner.body.pop() if len(owner.body) > 1 else None,
        getattr(owner, "bases", []).clear,
        function.decorator_list.clear,
        tree.body.reverse,
    ]
    chance.choice(changes)()
    return "\n" * chance.randrange(2) + ast.unparse(ast.fix_missing_locations(tree))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_renewed_map_is_that_of_a_whole_resolution(seed: int) -> None:
    """After each of many random edits the renewed map equals a full resolution, in every file."""
    chance = random.Random(seed)  # noqa: S311
    texts = dict(FILES)
    maps = {path: scan_source(path, text) for path, text in texts.items()}
    names = Project("/nowhere", maps).python_modules()
    kept = Resolution({path: each.scopes for path, each in maps.items()}, names, is_kept=True)
    seen = 0
    for _ in range(25):
        before = calls_in(kept)
        assert kept.rest(lambda path: scan_source(path, texts[path]).scopes)
        path = chance.choice(list(texts))
        texts[path] = FILES[path] if chance.random() < 0.3 else edited(texts[path], chance)

        changed = kept.renew({path: scan_source(path, texts[path]).scopes})

        whole = Resolution({each: scan_source(each, text).scopes for each, text in texts.items()}, names)
        found = calls_in(kept)
        assert found == calls_in(whole)
        assert {each for each in texts if found[each] != before[each]} <= changed
        seen += sum(len(edges) for edges, _ in found.values())
    assert seen > 25 * 30


def calls_in(resolution: Resolution) -> dict[str, tuple[set[Edge], set[Edge]]]:
    """Return the calls of each file as sets."""
    return {path: (set(edges), set(missed)) for path, (edges, missed) in resolution.calls.items()}


@pytest.fixture
def shop(memory: Path, tmp_path: Path) -> Path:
    """Return a project's folder, with its calls resolved."""
    folder = tmp_path / "project"
    for path, text in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    file_index.scan(str(folder))
    graph.refresh(str(folder), "s1")
    return folder


def refreshed(folder: Path) -> set[Any]:
    """Rescan a project and return its stored calls, checked to equal those of a full resolution."""
    project = str(folder)
    file_index.scan(project)
    assert graph.refresh(project, "s2")
    found = {each[1:-2] for each in call_edges.known_edges(project)}
    fresh = renewal.Resolved(project, code.mapped_files(project))
    told = graph.rows(project, fresh.modules, fresh.calls(None), "").items()
    said = ("resolution", "level", "shape", "line", "confidence")
    assert found == {(pair, *(row[name] for name in said)) for pair, row in told}
    return {pair for pair, *_ in found}


def test_only_what_a_change_can_reach_is_evaluated(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit that nothing depends on evaluates the scopes of its own file only."""
    evaluated = set()
    real = solver.evaluate_scope
    monkeypatch.setattr(
        solver, "evaluate_scope", lambda frame: (evaluated.add(frame.unit.module.path), real(frame))
    )
    text = FILES["shop/run.py"].replace("async def main():", "async def main():\n    Till().total()")
    (shop / "shop/run.py").write_text(text)
    file_index.scan(str(shop))

    graph.refresh(str(shop), "s2")

    assert evaluated == {"shop/run.py", "shop/base.py"}  # a `__get__` is always evaluated
    pairs = {each.pair for each in call_edges.known_edges(str(shop))}
    assert ("shop/run.py", "main", "shop/till.py", "Till.total") in pairs


def test_files_come_and_go(shop: Path) -> None:
    """With files added, unparsable or removed, the stored calls equal those of a full resolution."""
    (shop / "shop/more.py").write_text("from shop.goods import cheapest\n\n\ndef more(): cheapest([])\n")
    assert any(pair[0] == "shop/more.py" for pair in refreshed(shop))
    (shop / "shop/run.py").write_text("def again(:")
    assert any(pair[0] == "shop/run.py" for pair in refreshed(shop))
    (shop / "shop/more.py").unlink()
    assert not any(pair[0] == "shop/more.py" for pair in refreshed(shop))
    (shop / "shop/till.py").write_text(FILES["shop/till.py"].replace("self.total()", "opened()"))
    pairs = refreshed(shop)
    assert ("shop/till.py", "Till.close", "shop/till.py", "opened") in pairs
    assert ("shop/till.py", "Till.close", "shop/till.py", "Till.total") not in pairs


def test_a_folder_may_be_a_package_without_a_file_that_says_so(shop: Path) -> None:
    """Importers of a module in a folder without `__init__.py` are renewed like others."""
    (shop / "parts").mkdir()
    (shop / "parts/bolt.py").write_text("def turn(): ...\n")
    (shop / "shop/more.py").write_text("import parts.bolt\n\n\ndef more(): parts.bolt.turn()\n")
    refreshed(shop)
    (shop / "shop/more.py").write_text("import parts.bolt\n\n\ndef again(): parts.bolt.turn()\n")

    assert ("shop/more.py", "again", "parts/bolt.py", "turn") in refreshed(shop)


def test_what_another_process_resolved_is_resolved_whole(shop: Path) -> None:
    """If another process resolved last, everything is resolved, because this one's state may be outdated."""
    call_edges.delete_edges([each.pk for each in call_edges.known_edges(str(shop))])
    file_index.note(str(shop), resolved="by another")
    (shop / "shop/base.py").write_text("\n" + FILES["shop/base.py"])

    assert len(refreshed(shop)) > 30


def test_an_observed_call_outlives_edits_elsewhere(shop: Path) -> None:
    """An observed call survives edits elsewhere and goes with its callee, even from an unchanged file."""
    row = {
        "project_dir": str(shop), "caller_file": "shop/run.py", "caller_function": "again",
        "callee_file": "shop/base.py", "callee_function": "Owner.call", "resolution": "import",
        "level": "observed", "shape": "", "line": 0, "confidence": 0.7, "source": "observation",
        "session_id": "s1", "created_at": "2026-01-01T00:00:00Z", "observation_id": None,
    }  # fmt: skip
    call_edges.add_edge(row)

    def is_there() -> bool:
        return any(each.source == "observation" for each in call_edges.known_edges(str(shop)))

    for old, new, is_expected in (("times)]", "times)][:1]", True), ("def call", "def called", False)):
        path = shop / ("shop/goods.py" if is_expected else "shop/base.py")
        path.write_text(path.read_text().replace(old, new))
        file_index.rescan(str(shop), Seen("s2"))
        graph.refresh(str(shop), "s2")
        assert is_there() == is_expected
