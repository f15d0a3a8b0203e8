"""Test `eval replay`: what memory would have shown past sessions, against lists that need no memory."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support import cases, installed
from support.commands import command
from support.processes import wait_until
from support.transcripts_on_disk import CWD, FOLDER, Lines

from claude_mem_lite.cli import output
from claude_mem_lite.evals.replay import files_named

CASES = cases.load("eval_replay")

BEFORE, AFTER = "mode = 'half up'\n", "mode = 'down'\n"
PACKAGES = [f"packages/p{number:02}/setup.cfg" for number in range(12)]


def session(number: int, prompt: str) -> Lines:
    """Begin the transcript of a session on a day of November."""
    whose = f"{number:08}-0000-4000-8000-000000000000"
    return Lines(session_id=whose, began=f"2026-11-{number:02}T10:00:00").user(prompt)


def edit(lines: Lines, *paths: str, is_empty: bool = False) -> Lines:
    """Add edits of the project's files to a session."""
    for path in paths:
        new = BEFORE if is_empty else AFTER
        lines.edited(f"{CWD}/{path}", BEFORE, BEFORE, new)
    return lines


def remembered_of_old(root: Path) -> Path:
    """Write a history whose last session edits an old file that only its prompt's subject points to."""
    rounding = "invoices/rounding.py"
    first = edit(session(1, "Round the totals of every invoice half up"), rounding)
    first.said(f"The totals of every invoice are rounded half up now, in {rounding}.").write(root)
    second = edit(session(2, "Bump the version of all the packages, please"), *PACKAGES, *PACKAGES)
    second.said("All are bumped.").write(root)
    third = edit(session(3, "The totals of every invoice should be rounded down instead"), rounding)
    third.said("Done.").write(root)
    return root / FOLDER


def edited_in_vain(root: Path, sessions: int = 3) -> Path:
    """Write a history of edits that change nothing: memory omits them, lists of edits do not."""
    for number in range(1, sessions + 1):
        lines = edit(session(number, "Look after the limits once more, please"), "limits.cfg", is_empty=True)
        lines.said("Nothing had to be changed.").write(root)
    return root / FOLDER


def replay(*arguments: str, **environment: str) -> dict[str, Any]:
    """Return the command's JSON answer."""
    done = command("eval", "replay", "--json", *arguments, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_memory_wins_where_a_session_goes_back_to_old_work(home: Path, tmp_path: Path) -> None:
    """For a session that returns to old work, memory names the file and no list of ten does."""
    folder = remembered_of_old(tmp_path)

    told = replay(str(folder))
    said = command("eval", "replay", str(folder), columns=200).stdout

    assert [told[name] for name in ("sessions", "measured", "with_known_files")] == [3, 3, 1]
    names = ("memory", "most_edited", "last_edited", "prompt")
    assert [told["files"][name] for name in names] == [1.0, 0.0, 0.0, 0.0]
    assert [(row["session_id"][:8], row["files"]) for row in told["rows"]] == [("00000003", 1)]
    assert 0 < told["start_tokens"] <= told["budget_tokens"] == 2_000
    assert told["share_of_budget"] == round(told["start_tokens"] / 2_000, 3)
    assert "Memory helps here: it named 100% of the files that 1 of 3 sessions edited again" in said
    assert "with so few sessions this may be chance" in said


def test_the_figures_fit_into_80_columns(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a terminal of 80 columns no name and no heading is cut."""
    monkeypatch.setattr(output.console, "_force_terminal", True)

    said = command("eval", "replay", str(remembered_of_old(tmp_path))).stdout

    assert "…" not in said
    assert "files edited again" in said


def test_a_list_wins_where_memory_has_nothing(home: Path, tmp_path: Path) -> None:
    """For files that no observation names, the lists of edits beat memory, and the answer says so."""
    folder = edited_in_vain(tmp_path)

    told = replay(str(folder))
    said = command("eval", "replay", str(folder), columns=200).stdout

    assert told["with_known_files"] == 2
    assert told["files"] == {
        "memory": 0.0, "start": 0.0, "most_edited": 1.0, "last_edited": 1.0, "prompt": 0.0,
    }  # fmt: skip
    assert "Memory does not help to find files here: it named 0%" in said
    assert "100 points less than the best list without it (the ten files edited most often so far)" in said


def test_shares_are_means_over_sessions_and_the_prompt_is_a_list_too(home: Path, tmp_path: Path) -> None:
    """A figure is the mean over sessions of the share of known files named, also for the prompt."""
    edited_in_vain(tmp_path)
    raised = session(4, "Raise what stands in limits.cfg by a tenth")
    both = edit(raised, "limits.cfg", "fees.cfg", is_empty=True)
    both.write(tmp_path)
    edit(session(5, "Raise what stands in limits.cfg by a half"), "limits.cfg", "fees.cfg").write(tmp_path)

    told = replay(str(tmp_path / FOLDER))
    newest = replay(str(tmp_path / FOLDER), "--last", "2")

    assert [row["prompt"] for row in told["rows"]] == [0.0, 0.0, 1.0, 0.5]
    assert told["files"]["prompt"] == 0.375
    assert [newest[name] for name in ("sessions", "measured", "with_known_files")] == [5, 2, 2]
    assert newest["files"]["prompt"] == 0.75


def test_files_that_were_read_count_as_known(home: Path, tmp_path: Path) -> None:
    """Files that an earlier session only read count as known; files outside of the project do not."""
    lines = session(1, "Explain how the fees are made up").read(f"{CWD}/fees.cfg", "fee = 1")
    lines.read("/etc/hosts", "localhost").said("They are one.").write(tmp_path)
    for number in (2, 3):
        again = edit(session(number, "Double all that is paid"), *(["fees.cfg"] if number == 2 else []))
        again.edited("/etc/hosts", BEFORE, BEFORE, AFTER).write(tmp_path)

    told = replay(str(tmp_path / FOLDER))

    assert [(row["session_id"][:8], row["files"]) for row in told["rows"]] == [("00000002", 1)]
    assert told["rows"][0]["last_edited"] == 0.0


def test_a_replay_touches_nothing(home: Path, tmp_path: Path) -> None:
    """A replay changes neither memory nor transcripts, and deletes its temporary folder."""
    folder, temporary = remembered_of_old(tmp_path), tmp_path / "temporary"
    temporary.mkdir()
    (home / "config.toml").write_text('[projects]\noff = ["*"]\n')
    before = installed.files(home), installed.files(folder)

    told = replay(str(folder), TMPDIR=str(temporary))

    assert (installed.files(home), installed.files(folder)) == before
    assert (told["with_known_files"], list(temporary.iterdir())) == (1, [])


def test_the_folder_is_that_of_the_current_project(home: Path, tmp_path: Path) -> None:
    """Without DIR the current project's own transcripts are replayed."""
    edited_in_vain(tmp_path / "projects")

    assert replay(CLAUDE_CONFIG_DIR=str(tmp_path), CLAUDE_PROJECT_DIR=CWD)["sessions"] == 3


@pytest.mark.parametrize(
    ("sessions", "says"),
    [(None, "is not a folder"), (0, "there are no transcripts (*.jsonl)"), (2, "has 2 of the 3 sessions")],
)
def test_too_little_to_replay_is_said_in_one_line(
    sessions: int | None, says: str, home: Path, tmp_path: Path
) -> None:
    """A missing folder, no transcripts or too few sessions are each refused in one line."""
    folder = tmp_path / FOLDER
    if sessions is not None:
        folder.mkdir()
        edited_in_vain(tmp_path, sessions)

    done = command("eval", "replay", str(folder))

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert says in done.stderr


def test_nothing_edited_again_is_said(home: Path, tmp_path: Path) -> None:
    """Without a file edited again there are no figures, and the answer says so."""
    for number in (1, 2, 3):
        session(number, "Explain the limits to me").said("They are high.").write(tmp_path)

    told = replay(str(tmp_path / FOLDER))
    said = command("eval", "replay", str(tmp_path / FOLDER), columns=200).stdout

    assert set(told["files"].values()) == {None}
    assert "None of 3 sessions edited a file that an earlier one had edited or read." in said


def test_ctrl_c_leaves_nothing_behind(home: Path, tmp_path: Path) -> None:
    """Ctrl-C deletes the temporary memory and exits 130."""
    folder, temporary = edited_in_vain(tmp_path, 28), tmp_path / "temporary"
    temporary.mkdir()
    running = subprocess.Popen(
        [sys.executable, "-m", "claude_mem_lite.cli", "eval", "replay", str(folder)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": "/usr/bin:/bin", "CLAUDE_MEM_HOME": str(home), "TMPDIR": str(temporary)},
    )
    wait_until(lambda: list(temporary.glob("*/claude-mem.db")))

    running.send_signal(signal.SIGINT)
    printed, said = running.communicate(timeout=60)

    assert (running.returncode, printed) == (130, "")
    assert said == "stopped: nothing of the replay is kept\n"
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("text", "named"), CASES["named"])
def test_a_text_names_files_surely(text: str, named: list[str]) -> None:
    """A text names a file by a path or ending that no other known file has, not by part of a longer name."""
    known = {"src/a/tax.py", "src/b/tax.py", "src/invoice.py", "src/go.py", "src/main.py", "main.py"}

    assert files_named(text, known) == named
