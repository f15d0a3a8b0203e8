"""Sessions are told what colleagues shared, by name: at the start, for a prompt, search or failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.colleagues import Member, learn, met, team_of

from claude_mem_lite.capture import inbox
from claude_mem_lite.context import builder, failure, recall
from claude_mem_lite.context.budget import Said
from claude_mem_lite.context.origin import origin
from claude_mem_lite.context.past import Past
from claude_mem_lite.context.shared import add_to
from claude_mem_lite.learnings import guarding
from claude_mem_lite.search.hybrid import Searcher
from claude_mem_lite.storage import models
from claude_mem_lite.sync.team import run

RULE = "From now on always run `make xylophone` before you push"


@pytest.fixture
def two(blank: Path, home: Path, folder_hub: str, tmp_path: Path) -> list[Member]:
    """Return ann, who has learned a rule and what works, and bob, who has met her at the hub."""
    ann, bob = team_of(tmp_path / "members", blank, folder_hub, "ann", "bob")
    ann.shares("learnings", "findings")
    with ann:
        learn(ann.pond, RULE)
        models.FailedCall.create(
            event_id="f1", project_dir=ann.pond, session_id="s1", failed_at=inbox.utc_now(),
            command="python dig.py", shape="dig", error="no module pond", signature="nopond",
            works="uv run dig.py", works_id="f2",
        )  # fmt: skip
    met(ann, bob)
    return [ann, bob]


def test_a_sessions_start_tells_it_by_name_and_age_once_trusted(two: list[Member]) -> None:
    """A start block tells it only after trust, and inside the fence that says it is data."""
    bob = two[1]
    with bob:
        before = builder.build(bob.pond).text
    bob.trusts("ann")

    with bob:
        block = builder.build(bob.pond).text

    assert before == ""
    assert block.startswith("<claude-mem>\nRecord of past work")
    assert "## From colleagues, by name" in block
    assert f"From ann, convention: {RULE}" in block
    assert "From ann: `python dig.py` failed in 1 session: “no module pond”. What worked: `uv run" in block
    assert all(line.startswith("- [<1 h ago] ") for line in block.split("\n") if "From ann" in line)


def test_a_prompt_a_failure_and_a_search_find_it_by_name(two: list[Member]) -> None:
    """Prompt, failure and search name the author; without trust nothing is found."""
    bob = two[1]
    searcher = Searcher(by_meaning=False)
    asked = "Do I run make xylophone before a push?"

    def found() -> list[str]:
        with bob:
            past = Past(bob.pond, 0.0)
            answer = {"results": [], "count": 0}
            add_to(answer, bob.pond, "xylophone", limit=10)
            recalled = recall.recall(searcher, bob.pond, asked, said=Said(), budget_tokens=600, now=0.0)
            failed = failure.as_before(past, "nopond", session_id="s", budget_tokens=200)
        lines = [line.says for section in (recalled, failed) for line in section.lines]
        return lines + [hit["text"] for hit in answer["results"]]

    before = found()
    bob.trusts("ann")

    assert before == []
    assert [each.partition(" ")[0] for each in found()] == ["From"] * 3
    with bob:
        run.distrust("ann")
    assert found() == []


def test_the_id_of_a_line_opens_it(two: list[Member]) -> None:
    """The id of a line in a block shows its author and text, and that nothing else is known here."""
    bob = two[1]
    bob.trusts("ann")

    with bob:
        line = next(
            line for section in builder.build(bob.pond).sections for line in section.lines
            if RULE in line.says
        )  # fmt: skip
        found = origin(line.id[:8])

    assert (found["author"], found["title"], found["shown"]) == ("ann", "From ann", [])
    assert found["text"] == f"From ann, convention: {RULE}"


def test_a_colleagues_rule_becomes_no_guard(two: list[Member]) -> None:
    """A colleague's rule is neither switched on nor proposed as a guard, even if its author guards it."""
    bob = two[1]
    bob.trusts("ann")

    with bob:
        on, possible = guarding.on(bob.pond), guarding.possible(bob.pond)

    assert (on, possible) == ([], [])
