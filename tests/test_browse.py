"""Test the terminal view: lists, stories, search, edit and forget; captured text is never interpreted."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from support.commands import command
from support.databases import PROJECT, fill, observation_row, session_row
from textual.widgets import DataTable, Static

from claude_mem_lite.cli import browse_rows
from claude_mem_lite.cli.browser import Browser, Confirm, Edit
from claude_mem_lite.learnings import curate
from claude_mem_lite.storage import models, queries

HOSTILE = "[bold red]Pay[/] [@click=app.quit]here[/] \x1b[31mred\x1b[0m \x1b]0;owned\x07 [/nothing"


def walk(steps: Callable[[Browser, Any], Awaitable[None]], *, size: tuple[int, int] = (120, 40)) -> None:
    """Take steps in the view of the tests' project."""

    async def run() -> None:
        browser = Browser(PROJECT)
        async with browser.run_test(size=size) as pilot:
            await settled(browser, pilot)
            await steps(browser, pilot)

    models.close_databases()
    asyncio.run(run())


async def settled(browser: Browser, pilot: Any) -> None:
    """Wait until lists and stories are loaded."""
    for _ in range(4):
        waited = [each for each in browser.workers if each.group in {"rows", "story"}]
        if waited:
            await browser.workers.wait_for_complete(waited)
        await pilot.pause()


async def press(browser: Browser, pilot: Any, *keys: str) -> None:
    """Press keys and wait for their effect."""
    await pilot.press(*keys)
    await settled(browser, pilot)


async def until(pilot: Any, holds: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    for _ in range(500):
        if holds():
            return
        await pilot.pause(0.02)
    raise AssertionError("it did not come")


def listed(browser: Browser) -> list[str]:
    """Return the texts in the list."""
    table = browser.query_one(DataTable)
    return [table.get_row_at(row)[1].plain for row in range(table.row_count)]


def story(browser: Browser) -> str:
    """Return the story of the highlighted row."""
    return str(browser.query_one("#lines", Static).render())


@pytest.fixture
def pond(home: Path) -> None:
    """Fill a memory with two sessions, seven observations, a learning, and another project's session."""
    fill(2, 6)
    curate.add("Ponds are dug in autumn.", category="convention", project_dir=PROJECT)
    session_row("other", project_dir="/elsewhere", summary="Built a dam.")


def test_each_tab_lists_its_rows_and_tells_their_story(pond: None) -> None:
    """The keys 1 to 5 open the tabs; beside each list is the highlighted row's origin."""
    seen: dict[str, tuple[list[str], str]] = {}

    async def steps(browser: Browser, pilot: Any) -> None:
        for number, view in enumerate(browse_rows.VIEWS, 1):
            await press(browser, pilot, str(number))
            seen[view] = listed(browser), story(browser)

    walk(steps)

    assert sorted(seen["sessions"][0]) == ["Dug pond 0.", "Dug pond 1."]
    assert "did" in seen["sessions"][1]
    assert len(seen["observations"][0]) == 7
    assert "shown to" in seen["observations"][1]
    assert "Ponds are dug in autumn." in seen["learnings"][0]
    assert "confidence" in seen["learnings"][1]
    assert set(seen["projects"][0]) == {PROJECT, "/elsewhere"}


@pytest.mark.parametrize("width", [40, 80, 120])
def test_typing_searches(pond: None, width: int) -> None:
    """Typing narrows the list at each key."""
    seen = []

    async def steps(browser: Browser, pilot: Any) -> None:
        await press(browser, pilot, "3", "slash", *"aut")
        seen.append(listed(browser))
        await press(browser, pilot, *"umn")
        seen.append(listed(browser))
        await press(browser, pilot, *["backspace"] * 6, *"zebra")
        seen.append(listed(browser))
        seen.append([story(browser)])

    walk(steps, size=(width, 24))

    assert seen == [*[["Ponds are dug in autumn."]] * 2, [], ["Nothing is remembered here."]]


def test_a_project_is_opened_and_all_are_shown(pond: None) -> None:
    """Enter on a project shows its rows; `a` shows the rows of all projects."""
    seen = []

    async def steps(browser: Browser, pilot: Any) -> None:
        await press(browser, pilot, "5")
        browser.query_one(DataTable).move_cursor(row=listed(browser).index("/elsewhere"))
        await press(browser, pilot, "enter")
        await settled(browser, pilot)
        seen.append(listed(browser))
        await press(browser, pilot, "a")
        seen.append(sorted(listed(browser)))

    walk(steps)

    assert seen == [["Built a dam."], ["Built a dam.", "Dug pond 0.", "Dug pond 1."]]


def test_a_learning_is_edited(pond: None) -> None:
    """`e` changes a learning's text in the memory; on other rows it says why it cannot."""
    said: list[str] = []

    async def steps(browser: Browser, pilot: Any) -> None:
        await press(browser, pilot, "e")
        await until(pilot, lambda: bool(browser._notifications))
        said.extend(each.message for each in browser._notifications)
        await press(browser, pilot, "3")
        browser.query_one(DataTable).move_cursor(row=listed(browser).index("Ponds are dug in autumn."))
        await press(browser, pilot, "e")
        await until(pilot, lambda: isinstance(browser.screen, Edit))
        await press(browser, pilot, *["backspace"] * 7, *"May.", "enter")
        await until(pilot, lambda: "Ponds are dug in May." in listed(browser))

    walk(steps)
    models.open_databases(read_only=True)

    assert said == ["only a learning can be edited; the rest is a record of what happened"]
    assert "Ponds are dug in May." in [row.content for row in models.Learning.select()]


def test_a_row_is_forgotten_after_a_yes_alone(pond: None) -> None:
    """`n`, escape and enter delete nothing; only `y` deletes the row from the memory."""

    async def steps(browser: Browser, pilot: Any) -> None:
        await press(browser, pilot, "2")
        for key in ("n", "escape"):
            await press(browser, pilot, "f")
            await until(pilot, lambda: isinstance(browser.screen, Confirm))
            await press(browser, pilot, "enter")
            assert isinstance(browser.screen, Confirm)
            await press(browser, pilot, key)
            await until(pilot, lambda: not isinstance(browser.screen, Confirm))
        assert len(listed(browser)) == 7
        await press(browser, pilot, "f")
        await until(pilot, lambda: isinstance(browser.screen, Confirm))
        await press(browser, pilot, "y")
        await until(pilot, lambda: len(listed(browser)) == 6)

    walk(steps)
    models.open_databases(read_only=True)

    assert models.Observation.select().count() == 6


def test_captured_text_is_only_text(memory: Path) -> None:
    """Markup, links and escape sequences in captured text are shown or dropped, never followed."""
    session_row(project_dir=PROJECT, summary=HOSTILE)
    queries.save_observation(observation_row("a" * 32, project_dir=PROJECT, title=HOSTILE, summary=HOSTILE))
    curate.add(HOSTILE, category="gotcha", project_dir=PROJECT)
    shown: list[str] = []

    async def steps(browser: Browser, pilot: Any) -> None:
        for view in "12345":
            await press(browser, pilot, view)
            shown.extend([*listed(browser), story(browser)])
        await press(browser, pilot, "3", "e")
        await until(pilot, lambda: isinstance(browser.screen, Edit))
        await press(browser, pilot, "escape", "f")
        await until(pilot, lambda: isinstance(browser.screen, Confirm))
        shown.append(str(browser.screen.query_one("#question", Static).render()))

    walk(steps)
    said = "\n".join(shown)

    assert said.count("[bold red]Pay[/] [@click=app.quit]here[/] red") >= 7
    assert "\x1b" not in said
    assert "\x07" not in said


def test_browse_without_a_terminal_or_textual_says_so(pond: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe, or without the extra, `browse` prints one line that says what to do."""
    piped = command("browse")
    monkeypatch.delitem(sys.modules, "claude_mem_lite.cli.browser")
    monkeypatch.setitem(sys.modules, "textual", None)
    missing = command("browse")

    assert piped.stderr.endswith("browse needs a terminal; claude-mem search and report print to a pipe\n")
    assert missing.stderr.endswith("not installed: in the clone, pip install '.[browse]'\n")
    assert [(each.returncode, each.stderr.count("\n")) for each in (piped, missing)] == [(1, 1)] * 2
