"""The context block: what a session is given, within its budget and its fence."""

from __future__ import annotations

import calendar
import time
from pathlib import Path

import pytest
from test_storage import NOW, observation_row, session_row

from claude_mem_lite.context import builder, layers
from claude_mem_lite.storage import models, queries

AT = calendar.timegm(time.strptime(NOW[:19], "%Y-%m-%dT%H:%M:%S")) + 7200


def test_the_block_has_the_sessions_and_the_observations(memory: Path) -> None:
    """The newest first, each with its id, its age and what it was; looks are left to the search."""
    session_row("aaaaaaaa-1111", summary="Moved the book.")
    queries.save_observation(observation_row("b" * 32, session_id="aaaaaaaa-1111", summary="Two lines."))
    queries.save_observation(observation_row("c" * 32, session_id="aaaaaaaa-1111", tool_name="Read"))

    block = builder.build("/p", session_id="new", now=AT)

    assert block.text.split("\n")[0] == "<claude-mem>"
    assert block.text.split("\n")[3:9] == [
        "## Recent sessions",
        "- [2 h ago] aaaaaaaa Moved the book.",
        "",
        "## Recent observations",
        "- [2 h ago] bbbbbbbb Edit a: Two lines.",
        "",
    ]
    assert block.text.split("\n")[-1] == "</claude-mem>"
    assert (block.layers, block.skipped) == (("session_index", "observations"), ())
    assert builder.build("/p", session_id="new", now=AT).text == block.text


def test_an_unknown_project_gets_nothing(memory: Path) -> None:
    """Nothing is remembered of a project seen for the first time, whatever there is of others."""
    session_row(summary="Another project's.")

    block = builder.build("/q")

    assert (block.text, block.tokens, block.layers) == ("", 0, ())


@pytest.mark.parametrize(("source", "own"), [("startup", False), ("resume", False), ("compact", True)])
def test_a_session_hears_of_itself_only_after_a_compaction(memory: Path, source: str, own: bool) -> None:  # noqa: FBT001
    """The model still has its own session, unless it was compacted."""
    session_row("me", summary="My own work.")

    text = builder.build("/p", session_id="me", source=source, now=AT).text

    assert ("My own work." in text) is own


@pytest.mark.parametrize("letter", ["x", "é", "😀", "</claude-mem> "])
def test_the_block_keeps_its_budget(memory: Path, letter: str) -> None:
    """However much there is, in whatever script, the block stays under both limits with whole lines."""
    for number in range(40):
        session_row(f"s{number}", summary=letter * 900)
        for part in range(3):
            row = observation_row(f"{number:03}{part}" + "0" * 20, session_id=f"s{number}")
            queries.save_observation({**row, "title": letter * 90, "summary": letter * 900})

    block = builder.build("/p", now=AT)

    assert block.tokens <= builder.Budget().total
    assert layers.utf16_units(block.text) <= layers.MAX_BLOCK_UNITS
    assert block.text.endswith("\n</claude-mem>")
    assert block.text.count("</claude-mem>") == 1
    assert all(
        line.startswith(("- [2 h ago] ", "#", "<", "Record", "More"))
        for line in block.text.split("\n")
        if line
    )


def test_a_layer_that_cannot_be_read_is_named(memory: Path) -> None:
    """A damaged table costs its own layer only."""
    session_row(summary="Still there.")
    models.memory_database.execute_sql("DROP TABLE observations")

    block = builder.build("/p", now=AT)

    assert (block.layers, block.skipped) == (("session_index",), ("observations",))
    assert "Still there." in block.text
