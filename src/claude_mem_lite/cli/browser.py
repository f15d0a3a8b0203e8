"""The Textual application of `claude-mem browse`; captured text is shown as `Text`, its markup unread."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ClassVar, Literal, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import DataTable, Footer, Input, Static, Tab, Tabs

from claude_mem_lite.cli import browse_rows
from claude_mem_lite.cli.browse_rows import VIEWS, Entry, View
from claude_mem_lite.cli.text import printable
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.storage import models
from claude_mem_lite.text import count

Answer = TypeVar("Answer")

# A search starts after this pause in typing.
_TYPING_S = 0.15


class Confirm(ModalScreen[bool]):
    """Ask for confirmation; only `y` confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("y", "dismiss(True)", "yes"),
        ("n,escape", "dismiss(False)", "no"),
    ]

    def __init__(self, question: str) -> None:
        super().__init__()
        self.question = question

    def compose(self) -> ComposeResult:
        """Yield the question and its keys."""
        with Vertical(classes="box"):
            yield Static(Text(self.question), id="question")
            yield Static(Text("y: forget for good    n: keep"))


class Edit(ModalScreen[str]):
    """Edit one line of text; the result is "" if nothing is to change."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss('')", "cancel")]

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words

    def compose(self) -> ComposeResult:
        """Yield the text to change."""
        with Vertical(classes="box"):
            yield Static(Text("Edit the learning. enter: save    escape: cancel"))
            yield Input(self.words, id="content", select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Close with the new text, "" if it is the same."""
        event.stop()
        self.dismiss("" if event.value == self.words else event.value)


class Browser(App[None]):
    """Tabs with a list of rows, a search field, and the highlighted row's story beside or below the list."""

    TITLE = "claude-mem"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012  (as Textual declares it)
    CSS = """
    #words { height: 3; }
    #scope { height: 1; padding: 0 1; color: $text-muted; }
    #body { height: 1fr; }
    .-wide #body { layout: horizontal; }
    .-wide #rows { width: 1fr; } .-wide #story { width: 1fr; border-left: solid $panel; }
    .-narrow #rows { height: 1fr; } .-narrow #story { height: 1fr; border-top: solid $panel; }
    #story { padding: 0 1; }
    Confirm, Edit { align: center middle; }
    .box { width: 90%; max-width: 100; height: auto; padding: 1 2; border: solid $primary; }
    .box { background: $surface; }
    #question { margin-bottom: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        ("slash", "search", "search"),
        ("enter", "why", "why"),
        ("e", "edit", "edit"),
        ("f", "forget", "forget"),
        ("a", "all_projects", "all projects"),
        ("escape", "rows", "list"),
        ("q", "quit", "quit"),
        *[(str(number), f"view('{view}')", "") for number, view in enumerate(VIEWS, 1)],
    ]

    def __init__(self, project_dir: str | None) -> None:
        super().__init__()
        self.project_dir = self.chosen = project_dir
        self.shown: list[Entry] = []
        # One thread owns the database connections: queries never overlap, and the view never blocks.
        self.reader = ThreadPoolExecutor(max_workers=1)

    def compose(self) -> ComposeResult:
        """Yield the search, the tabs, the rows and the story."""
        yield Input(placeholder="search: type words", id="words", select_on_focus=False)
        yield Tabs(*(Tab(f"{number} {view}", id=view) for number, view in enumerate(VIEWS, 1)))
        yield Static(id="scope")
        with Container(id="body"):
            yield DataTable[Text](id="rows", cursor_type="row", show_header=False)
            with VerticalScroll(id="story", can_focus=True):
                yield Static(id="lines")
        yield Footer()

    def on_mount(self) -> None:
        """Add the columns of the list and focus it."""
        self.rows_screen.query_one(DataTable).add_columns("when", "text")
        self.rows_screen.query_one(DataTable).focus()

    async def on_unmount(self) -> None:
        """Close the reader's connections."""
        await self._ask(models.close_databases)
        self.reader.shutdown()

    async def _ask(self, question: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self.reader, question)

    @property
    def rows_screen(self) -> Screen[object]:
        """The screen with the list; a dialog may be open above it."""
        return self.screen_stack[0]

    @property
    def view(self) -> View:
        """The view of the open tab."""
        return next(view for view in VIEWS if view == (self.rows_screen.query_one(Tabs).active or VIEWS[0]))

    @property
    def entry(self) -> Entry | None:
        """The highlighted row."""
        row = self.rows_screen.query_one(DataTable).cursor_row
        return self.shown[row] if 0 <= row < len(self.shown) else None

    @on(Input.Changed, "#words")
    def _typed(self, event: Input.Changed) -> None:
        if event.input.screen is self.rows_screen:
            self.list_rows(_TYPING_S)

    @on(Tabs.TabActivated)
    def _turned(self) -> None:
        self.list_rows()

    @on(DataTable.RowHighlighted)
    def _highlighted(self) -> None:
        self.tell()

    @work(exclusive=True, group="rows")
    async def list_rows(self, after_s: float = 0.0) -> None:
        """Wait `after_s`, then fill the list with the rows of the tab, the project and the search."""
        await asyncio.sleep(after_s)
        words = self.rows_screen.query_one("#words", Input).value.strip()
        view, project_dir = self.view, self.project_dir
        try:
            self.shown = await self._ask(lambda: browse_rows.entries(view, project_dir, words))
        except ClaudeMemError as error:
            self._say(str(error))
            return
        table = self.rows_screen.query_one(DataTable)
        table.clear()
        for each in self.shown:
            table.add_row(Text(each.when, style="dim"), Text(each.text))
        where = printable(project_dir) if project_dir else "all projects"
        noun = view.removesuffix("s")
        self.rows_screen.query_one("#scope", Static).update(
            Text(f"{count(len(self.shown), noun)} in {where}")
        )
        self.tell()

    @work(exclusive=True, group="story")
    async def tell(self) -> None:
        """Show the story of the highlighted row."""
        entry = self.entry
        told = Text("Nothing is remembered here." if entry is None else "")
        try:
            for name, value in await self._ask(lambda: browse_rows.described(entry)) if entry else []:
                told.append(f"{name}\n" if name else "", style="bold").append(f"  {value}\n")
        except ClaudeMemError as error:
            told = Text(printable(str(error)))
        self.rows_screen.query_one("#lines", Static).update(told)
        self.rows_screen.query_one("#story").scroll_home(animate=False)

    def action_search(self) -> None:
        """Focus the search field."""
        self.rows_screen.query_one("#words").focus()

    @on(Input.Submitted, "#words")
    def action_rows(self) -> None:
        """Focus the list."""
        self.rows_screen.query_one(DataTable).focus()

    def action_view(self, view: str) -> None:
        """Open a tab."""
        self.rows_screen.query_one(Tabs).active = view

    @on(DataTable.RowSelected)
    def action_why(self) -> None:
        """Focus the story of the highlighted row, or open the highlighted project."""
        entry = self.entry
        if entry and entry.view == "projects":
            self.project_dir = self.chosen = entry.id
            self.action_view("sessions")
        else:
            self.rows_screen.query_one("#story").focus()

    def action_all_projects(self) -> None:
        """Switch between all projects and the chosen one."""
        self.project_dir = self.chosen if self.project_dir is None else None
        self.list_rows()

    @work
    async def action_edit(self) -> None:
        """Edit the highlighted learning."""
        if (entry := self.entry) is None:
            return
        try:
            words = await self._ask(lambda: browse_rows.words_of(entry))
            content = await self.push_screen_wait(Edit(words))
            if content:
                await self._ask(lambda: browse_rows.edit(entry, content))
                self._say("Edited. The learning is your own now.", severity="information")
                self.list_rows()
        except ClaudeMemError as error:
            self._say(str(error))

    @work
    async def action_forget(self) -> None:
        """Forget the highlighted row for good, after a confirmation."""
        if (entry := self.entry) is None:
            return
        try:
            what = await self._ask(lambda: browse_rows.to_forget(entry))
            if not await self.push_screen_wait(Confirm(f"To be forgotten for good: {what}.\n\n{entry.text}")):
                return
            problems = await self._ask(lambda: browse_rows.forget(entry))
            self._say("; ".join(problems) or f"Forgotten: {what}.",
                      severity="warning" if problems else "information")  # fmt: skip
            self.list_rows()
        except ClaudeMemError as error:
            self._say(str(error))

    def _say(self, message: str, *, severity: Literal["information", "warning"] = "warning") -> None:
        """Show a message for a moment."""
        self.notify(printable(message), severity=severity, markup=False)
