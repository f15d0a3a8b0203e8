"""Test calls beyond Python, from scan to storage, and Claude's answers to those that stay unresolved."""

import re
import time
import zlib
from pathlib import Path
from typing import Any

import pytest
from support import cases
from support.code import edited, git, happen
from support.databases import observation_row, session_row
from support.fake_messages import FakeMessages
from support.made_up_secrets import SECRETS

from claude_mem_lite import settings, settings_file
from claude_mem_lite.claude import unresolved_calls
from claude_mem_lite.claude.request_cycle import Step
from claude_mem_lite.codemap import calls, file_index, graph, languages
from claude_mem_lite.codemap.calls import facts
from claude_mem_lite.codemap.calls.ecmascript_modules import Finder
from claude_mem_lite.codemap.confidence import ASKED_CONFIDENCE, STRONG
from claude_mem_lite.codemap.heal import heal
from claude_mem_lite.codemap.languages import tree
from claude_mem_lite.codemap.project import Project, scan_source
from claude_mem_lite.storage import call_edges, code, ledger, models, queries

CASES = cases.load("codemap/calls")
CLI = CASES["cli"]
MONEY = "export function split(sum: number) {\n  return sum\n}\n"


@pytest.fixture
def shop(home: Path, tmp_path: Path) -> Path:
    """Return the folder of a mapped TypeScript project in a repository, with its calls."""
    folder = (tmp_path / "shop").resolve()
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q")
    (folder / "src" / "cli.ts").write_text(CLI)
    (folder / "src" / "money.ts").write_text(MONEY)
    models.open_databases()
    file_index.scan(str(folder))
    graph.refresh(str(folder), "s1")
    return folder


def stored(folder: Path) -> dict[tuple[str, str], tuple[str, int, float]]:
    """Return level, line and confidence of the stored calls, by caller and callee."""
    edges = call_edges.edges(str(folder))
    return {(it.caller_function, it.callee_function): (it.level, it.line, it.confidence) for it in edges}


def test_an_edit_that_changes_a_call_is_followed(shop: Path) -> None:
    """After an edit a refresh has the new call and not the old one; another refresh changes nothing."""
    happen(shop, edited(shop, "src/cli.ts", "this.check(sum)", "this.refuse(sum)"))
    happen(shop, edited(shop, "src/cli.ts", "check(sum: number) {}", "refuse(sum: number) {}"))

    assert graph.refresh(str(shop), "s1")

    assert ("Till.pay", "Till.refuse") in stored(shop)
    assert ("Till.pay", "Till.check") not in stored(shop)
    assert not graph.refresh(str(shop), "s1")


def test_an_edit_of_the_callee_moves_the_call(shop: Path) -> None:
    """A call follows its callee to the file that exports the name after an edit."""
    (shop / "src" / "sums.ts").write_text(MONEY)
    file_index.scan(str(shop))
    happen(shop, edited(shop, "src/money.ts", MONEY, 'export { split } from "./sums"\n'))

    graph.refresh(str(shop), "s1")

    callees = {edge.callee_file for edge in call_edges.edges(str(shop)) if edge.callee_function == "split"}
    assert callees == {"src/sums.ts"}


def test_an_unchanged_file_is_not_parsed_again(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's facts are stored with its digest, so that a second scan and the resolution parse no source."""
    before = stored(shop)
    monkeypatch.setattr(tree.TreeLanguage, "parse", None)

    file_index.scan(str(shop))
    (shop / "src" / "money.ts").unlink()
    file_index.scan(str(shop))

    assert graph.refresh(str(shop), "s1")
    assert before.keys() - stored(shop).keys() == {("Till.pay", "split")}


def test_an_error_of_javascript_confirms_its_calls(shop: Path) -> None:
    """Consecutive frames of a JavaScript stack trace confirm a call; other frames confirm nothing."""
    pairs = ("Till.pay", "split"), ("Till.pay", "Till.check"), ("main", "Till.pay")
    before = [stored(shop)[pair][2] for pair in pairs]
    detail = f"""Error: no
    at split ({shop}/src/money.ts:2:3)
    at Till.pay (file://{shop}/src/cli.ts:9:12)
    at async main ({shop}/src/cli.ts:16:14)
    at Object.<anonymous> ({shop}/node_modules/run.js:1:1)
Error: again
    at check (src/cli.ts:12:1)
Error: other
    at pay (src/cli.ts:9:1)
"""
    session_row(project_dir=str(shop))
    queries.save_observation(observation_row("o1", project_dir=str(shop), detail=detail))

    heal(str(shop))

    after = [stored(shop)[pair][2] for pair in pairs]
    times = {edge.callee_function: edge.times_confirmed for edge in call_edges.edges(str(shop))}
    assert (times["split"], times["Till.pay"], times["Till.check"]) == (1, 1, 0)
    assert after == before  # the confidence is the highest that observation gives


def test_a_call_of_an_unknown_name_is_kept_as_unresolved(shop: Path) -> None:
    """A call of an unknown name is stored as unresolved, so that silence is not taken for no callers."""
    assert stored(shop)["Till.pay", "audit.record"] == ("unresolved", 8, 0.5)
    assert code.counts(str(shop))["unresolved"] == 1


def test_a_unique_method_is_a_guess() -> None:
    """A method of an unknown receiver is found by its unique name, at low confidence, or left unresolved."""
    project = Project("/nowhere")
    source = "class A { settle() {} }\nfunction f(x: any) { x.settle(); x.other() }"
    project.update(scan_source("a.ts", source))

    (guess,) = project.edges()
    (missed,) = project.unresolved()

    assert (guess.callee, guess.level) == ("a.ts.A.settle", "guess")
    assert guess.confidence < STRONG
    assert missed.callee == "x.other"
    assert project.edges(guesses=False) == ()


def test_languages_do_not_see_each_other() -> None:
    """A Python module is not the target of a TypeScript import of the same name."""
    project = Project("/nowhere")
    project.update(scan_source("b.py", "def a(): pass\n"))
    project.update(scan_source("a.ts", 'import { a } from "./b"\na()\n'))

    assert project.edges() == ()


def test_facts_come_back_as_they_were_packed() -> None:
    """Facts read back equal those packed; damaged bytes give None."""
    read = scan_source("a.ts", CLI).facts
    assert read is not None

    packed = facts.pack(read)

    assert facts.unpack(packed) == read
    assert facts.unpack(packed[:-20]) is None
    assert facts.unpack(b"") is None
    assert facts.unpack(zlib.compress(b"i\x01\x00\x00\x00")) is None


def test_facts_hold_no_text_of_the_source() -> None:
    """Facts keep no literal, comment, computed name or template text of the source."""
    source = """
      // hunter2 in a comment
      const password = "hunter2", other = `hunter2 ${f("hunter2")}`, n = 90210
      const o = { "hunter2": 1, key: "hunter2", ["hunter2"]: 2, m() { return "hunter2" } }
      o["hunter2"]("hunter2")
      class A { x = "hunter2"; y: "hunter2" | 90210; constructor(z = "hunter2") { super("hunter2") } }
      export default f`hunter2`
    """
    read = scan_source("a.ts", source).facts

    assert read.calls
    assert "hunter2" not in repr(read)
    assert "90210" not in repr(read)


HOSTILE = {
    "a long chain": "x" + ".m()" * 20_000,
    "calls in calls": "f(" * 20_000 + ")" * 20_000,
    "new of new": "new " * 20_000 + "A()",
    "ternaries": "x = " + "a ? b : " * 20_000 + "c; x()",
    "alternatives": "const x = " + " || ".join(f"f{n}" for n in range(20_000)) + "\nx()",
    "deep functions": "() => " * 3_000 + "f()",
    "deep types": "let x: " + "A<" * 3_000 + "B" + ">" * 3_000 + "\nx.m()",
    "deep classes": "class A { m() { " * 2_000 + "this.m()" + "} }" * 2_000,
    "unions": "let x: " + " | ".join(f"A{n}" for n in range(20_000)) + "\nx.m()",
    "aliases in a circle": "".join(f"const a{n} = a{(n + 1) % 5_000}\n" for n in range(5_000)) + "a0()",
    "types in a circle": "".join(f"type A{n} = A{(n + 1) % 5_000}\n" for n in range(5_000))
    + "let x: A0\nx.m()",
    "bases in a row": "".join(f"class A{n} extends A{n + 1} {{}}\n" for n in range(5_000)) + "new A0().m()",
    "bases in a circle": "class A extends B {}\nclass B extends A {}\nnew A().m()",
    "growing types": "class A<T> extends A<A<T>> { m(): A<A<T>> { return this.m() } }\nnew A().m().m().m()",
    "doubling": "".join(f"const a{n} = c ? a{n + 1}.x : a{n + 1}.y\n" for n in range(5_000)) + "a0()",
    "one name": "let x = f0\n" + "".join(f"x = f{n}\nx()\n" for n in range(10_000)),
    "patterns": "const " + "{a: " * 3_000 + "b" + "}" * 3_000 + " = c; b()",
    "exports of all": "".join('export * from "./a"\n' for _ in range(5_000)) + 'import { q } from "./a"\nq()',
    "NUL": "\x00" * 50_000 + "f()",
    "half characters": "f('\ud800'); \ud800()",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_source_costs_bounded_time(name: str) -> None:
    """Any source is read and its calls resolved, or it is refused, in bounded time."""
    source = HOSTILE[name].replace(";", ";\n").replace("=>", "=>\n").replace("(", "(\n").replace("{", "{\n")
    source = source.replace("<", "<\n").replace("|", "|\n").replace("new ", "new\n").replace("?", "?\n")
    started = time.thread_time()

    project = Project("/nowhere")
    project.update(scan_source("a.ts", source))
    project.edges()

    assert time.thread_time() - started < 20


def test_a_module_of_a_project_with_endless_settings() -> None:
    """Settings that extend themselves, nest deeply or hold wrong types are read in bounded time."""
    texts = {
        "tsconfig.json": '{"extends": "./tsconfig.json", "compilerOptions": {"paths": {"*": 5, "a": [7]}}}',
        "package.json": '{"name": "me", "exports": ' + '{"import": ' * 500 + '"./a.js"' + "}" * 500 + "}",
        "b/package.json": '{"name": ["me"], "exports": 7}',
        "b/tsconfig.json": '"' + "/*" * 100_000,
    }
    started = time.thread_time()

    finder = Finder(["a.ts", "b/c.ts"], lambda path: texts.get(path, ""))

    assert finder.find("b/c.ts", "me") == "a.ts"
    assert finder.find("a.ts", "../" * 1_000 + "a") == ""
    assert finder.find("a.ts", "a/x") == ""
    assert time.thread_time() - started < 5


def test_every_language_with_calls_has_a_family() -> None:
    """Every language marked as having calls belongs to a call family, and no other does."""
    others = [each for each in languages.LANGUAGES if each.name != "Python"]

    of_families = set().union(*(family.languages for family in calls.FAMILIES))
    assert {each.name for each in others if each.has_calls} == of_families


SECRET = SECRETS["github token"]
SOURCE = f"""class Book:
    def save(self): pass
class Index:
    def save(self): pass
def finish(store):
    key = "{SECRET}"
    store.save()
"""


@pytest.fixture
def project(memory: Path, tmp_path: Path) -> str:
    """Return a project with a call of two candidates, in a function that a session changed."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text(SOURCE)
    file_index.scan(str(folder))
    happen(folder, edited(folder, "a.py", "store.save()", "return store.save()"))
    graph.refresh(str(folder), "s1")
    return str(folder)


def step() -> Step:
    """Take a step once the function has been unchanged long enough."""
    return unresolved_calls.step(settings.load(), now=time.time() + 2 * unresolved_calls.QUIET_S)


def asked_for(project: str) -> list[tuple[str, str, float]]:
    """Return the stored calls that Claude named."""
    rows = [row for row in call_edges.edges(project) if row.source == call_edges.BY_CLAUDE]
    return [(row.caller_function, row.callee_function, row.confidence) for row in rows]


def book(body: dict[str, Any]) -> dict[str, Any]:
    """Answer with the first candidate of each call, plus calls and candidates that nobody asked about."""
    ids = re.findall(r'<call-\w+ id="(\d+)">', body["messages"][0]["content"])
    named = [{"call": each, "candidate": f"{each}.0"} for each in ids]
    return {"calls": [*named, {"call": "99", "candidate": "99.0"}, {"call": ids[0], "candidate": "1.99"}]}


def test_nothing_is_asked_unless_it_is_set(fake: FakeMessages, project: str) -> None:
    """A key alone is no consent: without the setting Claude is not asked about calls."""
    assert {each.name: each.value for each in settings.given()}["compress.calls"] == "local"
    assert not step().was_taken
    assert fake.requests == []


def test_an_answer_is_an_edge_that_says_so(fake: FakeMessages, project: str) -> None:
    """Claude's answer is an edge of low confidence, paid once per function body; secrets are not sent."""
    settings_file.write("compress", {"calls": "claude"})
    fake.answer = book

    assert step().written == 1
    assert not step().was_taken

    assert asked_for(project) == [("finish", "Book.save", ASKED_CONFIDENCE)]
    assert [row["calls"] for row in ledger.costs(by="purpose", since="")] == [1]
    (request,) = fake.requests
    content = request.body["messages"][0]["content"]
    assert "return store.save()" in content
    assert "Index.save" in content
    assert SECRET not in content


def test_it_goes_with_the_call(fake: FakeMessages, project: str) -> None:
    """Claude's edge stays while the code has an unresolved call of that name, and goes with it."""
    settings_file.write("compress", {"calls": "claude"})
    fake.answer = book
    step()
    folder = Path(project)

    happen(folder, edited(folder, "a.py", "def finish(store):", "def finish(store, *more):"))
    graph.refresh(project, "s1")
    assert asked_for(project) == [("finish", "Book.save", ASKED_CONFIDENCE)]

    happen(folder, edited(folder, "a.py", "return store.save()", "return key"))
    graph.refresh(project, "s1")
    assert asked_for(project) == []


@pytest.mark.parametrize("answer", ["no JSON", {"calls": [{"call": "1", "candidate": None}]}])
def test_no_answer_is_paid_for_twice(fake: FakeMessages, project: str, answer: Any) -> None:
    """A useless or unsure answer is not asked for again until the function changes."""
    settings_file.write("compress", {"calls": "claude"})
    fake.answer = lambda _body: answer

    assert step().was_taken
    assert not step().was_taken

    assert (asked_for(project), len(fake.requests)) == ([], 1)
