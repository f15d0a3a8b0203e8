"""Test the layers of the package and the page about them: imports go down, events follow the page's path."""

import ast
import contextlib
import datetime as dt
import graphlib
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
from starlette.requests import Request
from support.hooks import edit

import claude_mem_lite
from claude_mem_lite.capture import inbox
from claude_mem_lite.context.shown import ShownSessions
from claude_mem_lite.hooks import event, post_tool_use
from claude_mem_lite.services import install, other_clients
from claude_mem_lite.tasks import broker, consumer
from claude_mem_lite.web import blocks

PACKAGE = Path(claude_mem_lite.__file__).parent
# Lowest first; a module may import from its own layer's part and from the layers below.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"errors"}),
    frozenset({"repository"}),
    frozenset({"config"}),
    frozenset({"installed", "keys"}),
    frozenset({"quoting"}),
    frozenset({"text", "kinds", "logs", "settings", "settings_file", "locks"}),
    frozenset({"redaction"}),
    frozenset({"capture"}),
    frozenset({"storage"}),
    frozenset({"search", "codemap"}),
    frozenset({"distill"}),
    frozenset({"upkeep"}),
    frozenset({"forget", "importers"}),
    frozenset({"learnings"}),
    frozenset({"claude"}),
    frozenset({"context", "reports", "services", "sync"}),
    frozenset({"evals"}),  # measures the layers below
    frozenset({"hooks", "tasks", "web", "cli"}),
)
HEIGHT = {name: height for height, names in enumerate(LAYERS) for name in names}
# The folders and files of the package that may import a library.
LIBRARIES = {
    "peewee": ("storage", "reports/store.py", "upkeep/store.py"),
    "playhouse": ("storage",),
    "huey": ("tasks",),
    "starlette": ("web",),
    "uvicorn": ("web",),
    "typer": ("cli",),
    "rich": ("cli",),
    "textual": ("cli/browser.py",),
    "cryptography": ("sync/signing.py",),
    "psycopg": ("sync/hubs/postgres.py",),
    "supervisor": ("services/supervise.py",),
    "pydantic": ("web", "claude/prompts.py", "upkeep/lines.py"),
    "anthropic": ("claude/api.py",),
    "httpx2": ("claude/api.py",),
    "numpy": ("search", "web", "evals"),
    "lancedb": ("search/lance.py",),
    "pyarrow": ("search/lance.py",),
    "onnxruntime": ("search/embedder/sessions.py",),
    "tree_sitter": ("codemap/languages/tree.py",),
    "tokenizers": ("search/embedder/sessions.py",),
    "torch": ("search/embedder/transformer.py",),
    "transformers": ("search/embedder/transformer.py",),
    "sentence_transformers": ("search/embedder/transformer.py",),
    "huggingface_hub": ("search/embedder/records.py",),
}
MOST_LINES = 400


def sources() -> list[Path]:
    """Return every module of the package, following the links."""
    found: list[Path] = []
    for entry in sorted(PACKAGE.iterdir()):
        found += sorted(entry.rglob("*.py")) if entry.is_dir() else [entry] * (entry.suffix == ".py")
    return found


def imports(path: Path) -> list[str]:
    """Return the dotted names that a module imports, anywhere in it."""
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def part(path: Path) -> str:
    """Return the name of the layer that a module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_has_a_layer() -> None:
    """Every folder and file of the package belongs to a layer."""
    assert {part(path) for path in sources()} - {"__init__"} <= set(HEIGHT)


def test_no_module_has_more_than_400_lines() -> None:
    """No module has more than 400 lines; a longer one holds a second noun."""
    lines = {path.relative_to(PACKAGE).as_posix(): len(path.read_text().splitlines()) for path in sources()}

    assert {path for path, count in lines.items() if count > MOST_LINES} == set()


def test_no_pattern_repeats_a_group_possessively() -> None:
    """No pattern has `(?:…)*+`: before Python 3.11.5 it matches wrongly; `(?>(?:…)*)` is right in all."""
    possessive = re.compile(r"(?<!\\)\)(?:[*+?]|\{\{?[\d,]+\}\}?)\+")
    patterns = (node for path in sources() for node in ast.walk(ast.parse(path.read_text())))
    strings = [ast.unparse(node) for node in patterns if isinstance(node, ast.Constant | ast.JoinedStr)]

    assert [text for text in strings if possessive.search(text)] == []


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down_only(path: Path) -> None:
    """A module imports from its own part and from lower layers only."""
    for name in imports(path):
        target = name.split(".")
        if target[0] != "claude_mem_lite" or target[1] in {part(path), "__version__"}:
            continue

        assert HEIGHT[target[1]] < HEIGHT[part(path)], f"{path} imports {name}"


def test_no_module_imports_itself_by_way_of_others() -> None:
    """No module imports itself through others; imports in functions and for types count too."""
    modules = {module_name(path): path for path in sources()}
    depends = {name: {_module(each, modules) for each in imports(path)} for name, path in modules.items()}
    graph = {name: found - {name, ""} for name, found in depends.items()}

    order = list(graphlib.TopologicalSorter(graph).static_order())  # raises CycleError

    assert len(order) == len(modules) > 1


def module_name(path: Path) -> str:
    """Return the dotted name of a module of the package."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(("claude_mem_lite", *parts)).removesuffix(".__init__")


def _module(name: str, modules: dict[str, Path]) -> str:
    """Return the package's module that an imported name is or belongs to, "" for none."""
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name if name != "claude_mem_lite" else ""


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_library_comes_in_at_one_place(path: Path) -> None:
    """A third-party library is imported only where the table says."""
    inside = path.relative_to(PACKAGE).as_posix()
    for name in imports(path):
        root = name.split(".", 1)[0]
        if root in sys.stdlib_module_names or root == "claude_mem_lite":
            continue

        assert inside.startswith(LIBRARIES[root]), f"{inside} imports {name}"


RUNS = [
    *(("", event, entry["hook"]) for event, entry in sorted(install.hook_events("2.1.80").items())),
    *(
        (client.name, event, entry["hook"])
        for client in other_clients.CLIENTS.values()
        for event, entry in client.events.items()
        if "matcher" not in entry
    ),
]


@pytest.mark.parametrize(("client", "event", "hook"), RUNS)
def test_a_hook_loads_the_standard_library_only(client: str, event: str, hook: str, home: Path) -> None:
    """A hook process that stores an event loads only the standard library and our own code.

    Claude Code's hooks load no code for other clients.
    """
    script = f"""
import os, runpy, sys
def report(status):
    names = [name.partition('.')[0] for name in sys.modules]
    names += [name for name in sys.modules if 'client' in name and name.startswith('claude_mem_lite')]
    os.write(2, ' '.join(sorted(set(names))).encode())
    raise SystemExit
os._exit = report
sys.argv = [{hook!r}, *{[client] * bool(client)}]
runpy.run_path({str(Path(install.HOOKS) / f"{hook}.py")!r}, run_name="__main__")
"""
    event_text = f'{{"session_id": "s1", "hook_event_name": "{event}", "tool_name": "Read"}}'

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script], input=event_text.encode(), capture_output=True, check=True
    )

    loaded = set(done.stderr.decode().split())
    foreign = {name for name in loaded if ".clients" in name or name.endswith(".other_client")}
    assert bool(foreign) == bool(client)
    rest = {name for name in loaded if "." not in name}
    assert rest - sys.stdlib_module_names == {"claude_mem_lite", "__main__"} - sys.stdlib_module_names
    assert (home / "queue.db").exists()


ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text()


@contextlib.contextmanager
def calls() -> Iterator[list[str]]:
    """Record the functions of the package that this thread calls, as `module.function`, by first call."""
    first: dict[str, None] = {}
    found: list[str] = []

    def note(frame: FrameType, happened: str, _: object) -> None:
        module = frame.f_globals.get("__name__") or ""
        if happened == "call" and module.startswith("claude_mem_lite."):
            first[f"{module.removeprefix('claude_mem_lite.')}.{frame.f_code.co_qualname}"] = None

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        found += first


def work(*, later_s: float = 0) -> None:
    """Run the tasks due within `later_s` seconds, as a consumer's worker does."""
    at = dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(seconds=later_s)  # naive, as in Huey
    due = "UPDATE task SET due = max(0, due - ?)"  # 0 is now
    consumer.huey.storage.sql(due, (later_s,), commit=True)
    while task := consumer.huey.dequeue():
        consumer.huey.execute(task, at)


def test_an_event_goes_the_way_of_the_page(
    memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event passes the functions that the page lists, in that order, from a hook's stdin to a context."""
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(tmp_path))
    monkeypatch.setattr(broker, "POLL_S", 0)
    monkeypatch.setattr(consumer.huey, "storage", broker.ClaimStorage(inbox.QUEUE_NAME))
    monkeypatch.setattr(blocks, "shown_sessions", ShownSessions())
    (tmp_path / "book.py").write_text("def f():\n    return 2\n")
    edited = json.dumps(edit(str(tmp_path / "book.py"))).encode()
    ended = json.dumps({"session_id": "s1", "hook_event_name": "SessionEnd"}).encode()
    asked = f"project_path={tmp_path}&session_id=s2&hook=SessionStart&deadline={time.monotonic() + 60}"
    named = re.findall(r"^\d+\. `([\w.]+)`", PAGE, re.MULTILINE)

    with calls() as called:
        event.respond(edited, post_tool_use.ask)
        work()
        work(later_s=60)
        event.respond(ended)
        work()
        answer = blocks.context(Request({"type": "http", "query_string": asked.encode(), "headers": []}))
    consumer.huey.storage.close()

    assert [name for name in called if name in named] == named
    assert len(named) > 30
    told = json.loads(answer.body)["hookSpecificOutput"]["additionalContext"]
    assert "Changed, not committed: book.py (changed f)" in told


def test_the_page_has_every_folder_in_the_order_of_the_layers() -> None:
    """The page's table lists every folder from the top layer down."""
    rows = re.findall(r"^\| (`.+?`) \|", PAGE, re.MULTILINE)

    named = [re.findall(r"`(?:src/claude_mem_lite/)?(\w+)/?(?:\.py)?`", row) for row in rows]

    assert {name for row in named for name in row} == set(HEIGHT)
    heights = [HEIGHT[name] for row in named for name in row]
    assert heights == sorted(heights, reverse=True)


def test_each_path_of_the_page_is_there() -> None:
    """Every path in backticks on the page exists in the repository or the package."""
    paths = re.findall(r"`([\w./-]+(?:/|\.(?:py|md|toml|json|conf)))`", PAGE)

    assert {path for path in paths if not (ROOT / path).exists() and not (PACKAGE / path).exists()} == set()
    assert len(paths) > 20
