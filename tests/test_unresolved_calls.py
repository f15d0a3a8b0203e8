"""Claude is asked whom a changed function calls where the map cannot tell, if the user wants that."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from support.code import edited, git, happen
from support.fake_messages import FakeMessages
from support.made_up_secrets import SECRETS

from claude_mem_lite import settings, settings_file
from claude_mem_lite.claude import unresolved_calls
from claude_mem_lite.claude.request_cycle import Step
from claude_mem_lite.codemap import file_index, graph
from claude_mem_lite.codemap.confidence import ASKED_CONFIDENCE
from claude_mem_lite.storage import call_edges, ledger

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
    """Return a project with a call that may be one of two, in a function that a session has changed."""
    folder = tmp_path / "ledger"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "a.py").write_text(SOURCE)
    file_index.scan(str(folder))
    happen(folder, edited(folder, "a.py", "store.save()", "return store.save()"))
    graph.refresh(str(folder), "s1")
    return str(folder)


def step() -> Step:
    """Take a step when the session has left the function alone."""
    return unresolved_calls.step(settings.load(), now=time.time() + 2 * unresolved_calls.QUIET_S)


def asked_for(project: str) -> list[tuple[str, str, float]]:
    """Return the calls that Claude was asked for."""
    rows = call_edges.edges(project, source=call_edges.BY_CLAUDE)
    return [(row.caller_function, row.callee_function, row.confidence) for row in rows]


def book(body: dict[str, Any]) -> dict[str, Any]:
    """Answer that each call is one of the first candidate, and of one that nobody asked about."""
    ids = re.findall(r'<call-\w+ id="(\d+)">', body["messages"][0]["content"])
    named = [{"call": each, "candidate": f"{each}.0"} for each in ids]
    return {"calls": [*named, {"call": "99", "candidate": "99.0"}, {"call": ids[0], "candidate": "1.99"}]}


def test_nothing_is_asked_unless_it_is_set(fake: FakeMessages, project: str) -> None:
    """A key alone is no consent to this."""
    assert {each.name: each.value for each in settings.given()}["compress.calls"] == "local"
    assert not step().was_taken
    assert fake.requests == []


def test_an_answer_is_an_edge_that_says_so(fake: FakeMessages, project: str) -> None:
    """Of low confidence, in the ledger, once for each body of a function; no secret goes with the source."""
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
    """It stays while the code has a call of that name whose callee is unknown."""
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
    """What was useless, or said that it is not sure, is not asked again before the function changes."""
    settings_file.write("compress", {"calls": "claude"})
    fake.answer = lambda _body: answer

    assert step().was_taken
    assert not step().was_taken

    assert asked_for(project) == []
    assert len(fake.requests) == 1
