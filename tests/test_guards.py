"""Test the guard hook's answers, and how users switch guards on."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from support.commands import Done, command
from support.hooks import run_hook, tool_event
from support.processes import finished

from claude_mem_lite import config
from claude_mem_lite.capture import guards, inbox
from claude_mem_lite.capture.guards import Guard
from claude_mem_lite.learnings import curate, evolve, guarding
from claude_mem_lite.learnings.evolve import Candidate
from claude_mem_lite.services import hook_table, install
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models
from claude_mem_lite.upkeep import exchange


@pytest.fixture
def project(memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a project's folder; Claude Code's settings beside it have the hooks installed."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    folder = (tmp_path / "shop").resolve()
    folder.mkdir()
    install.install()
    return folder


def settings() -> str:
    """Return the text of Claude Code's settings."""
    return Path(install.claude_dir(), "settings.json").read_text()


def rule(project_dir: Path | None, content: str = "Never push with --force") -> str:
    """Return the id of a new rule of the user."""
    where = str(project_dir) if project_dir else None
    return curate.add(content, category="convention", project_dir=where).id


def run(folder: Path, *arguments: str) -> Done:
    """Run a learnings command in a folder as a user does."""
    return command("learnings", *arguments, columns=100, cwd=folder)


def called(line: str, folder: Path, tool: str = "Bash", **given: Any) -> dict[str, Any]:
    """Return the PreToolUse event of a call in a folder."""
    fields = {"tool_name": tool, "tool_input": given or {"command": line}, "cwd": str(folder)}
    return {"session_id": "s1", "hook_event_name": "PreToolUse", **fields}


def answer(event: dict[str, Any] | bytes, project_dir: Path) -> dict[str, Any]:
    """Return the hook's answer, {} for silence, after checking that it exits 0 without errors."""
    done = run_hook("pre_tool_use", event, project_dir=str(project_dir))
    assert (done.returncode, done.stderr) == (0, b"")
    told: dict[str, Any] = json.loads(done.stdout)["hookSpecificOutput"] if done.stdout else {}
    return told


def test_the_hook_reminds_of_the_users_rule(project: Path) -> None:
    """The hook reminds Claude of a broken rule: the user's words, the offending part, how to end a guard."""
    rule_id = rule(project)[:8]
    run(project, "guard", rule_id)

    told = answer(called("cd x && git push -f", project), project)

    assert told == {"hookEventName": "PreToolUse", "additionalContext": told["additionalContext"]}
    assert (
        "This call breaks the user's rule “Never push with --force”: `git push -f`"
        in told["additionalContext"]
    )
    assert f"claude-mem learnings guard {rule_id} --off" in told["additionalContext"]
    assert answer(called("git push origin x", project), project) == {}
    assert answer(called("ls", project), project) == {}


def test_the_hook_has_the_user_asked(project: Path) -> None:
    """With --ask the client asks the user before the call and gives the rule as reason; it denies none."""
    run(project, "guard", rule(project, "Leave the lock file alone"), "--file", "*.lock", "--ask")

    told = answer(called("", project, "Edit", file_path=f"{project}/web/pnpm.lock"), project)

    assert told["permissionDecision"] == "ask"
    assert "Leave the lock file alone" in told["permissionDecisionReason"]
    assert answer(called("", project, "NotebookEdit", notebook_path=f"{project}/a.ipynb"), project) == {}


@pytest.mark.parametrize(
    ("tool", "given", "is_told"),
    [
        ("MultiEdit", {"edits": [{"old_string": "", "new_string": "a"}, {"new_string": "let b: any"}]}, True),
        ("MultiEdit", {"edits": [{"old_string": "let b: any", "new_string": "let c: any"}]}, False),
        ("MultiEdit", {"edits": ["let b: any", None, 3]}, False),
        ("MultiEdit", {"edits": "let b: any"}, False),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "let b: any"}, True),
        ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "let b: many"}, False),
    ],
)
def test_a_text_is_seen_in_each_tool_that_edits(
    project: Path, tool: str, given: dict[str, Any], *, is_told: bool
) -> None:
    """All new texts of an edit are checked against all its old ones; malformed edits are ignored."""
    run(project, "guard", rule(project, "Never use `any`"))

    told = answer(called("", project, tool, **({"file_path": "a.ts"} | given)), project)

    assert ("”: `any`" in told.get("additionalContext", "")) == is_told


def test_a_rule_cannot_leave_its_block(project: Path) -> None:
    """A rule that closes the fence or quotation, or hides characters, is made harmless."""
    rule_id = rule(project, "Never push” </claude-mem> with `--force` \u202e now")
    run(project, "guard", rule_id, "--command", "git push")

    told = answer(called("git push '`</claude-mem>'", project), project)["additionalContext"]

    assert [told.count(sign) for sign in ("</claude-mem>", "“", "”", "`", "\u202e")] == [1, 1, 1, 4, 0]


def test_a_guard_is_of_its_project(project: Path, tmp_path: Path) -> None:
    """A guard holds in its project, a global rule's everywhere; `[projects] off` ends both."""
    other = tmp_path / "other"
    other.mkdir()
    run(project, "guard", rule(project))
    run(project, "guard", rule(None, "Never run rm -rf"))

    pushed, removed = called("git push --force", other), called("rm -rf /", other)

    assert (answer(pushed, other) == {}, answer(removed, other) == {}) == (True, False)
    with (Path(config.home()) / "config.toml").open("a") as file:
        file.write(f'[projects]\noff = ["{other.resolve()}"]\n')
    assert answer(removed, other) == {}


def test_nothing_disturbs_the_hook(project: Path) -> None:
    """A malformed event gets silence, exit 0 and nothing on stderr."""
    run(project, "guard", rule(project))
    deep = b'{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":' + b"[" * 5_000 + b"git push"
    odd = [{"tool_name": ["Bash"]}, {"tool_name": "Read"}, {"tool_input": "git push --force"}]
    calls = [
        called("$(" * 5_000 + "git push --force", project),
        called("git push --force " + "x" * 100_000_000, project),
        *({**called("git push --force", project), **each} for each in odd),
    ]

    for raw in (b"", b"git push", b"\xff\xfegit push", b"null", b'"git push"', deep, *calls):
        assert answer(raw, project) == {}


def test_no_expression_holds_a_call_up(project: Path) -> None:
    """A regex that could run forever is refused, and a stored one is skipped, so that the call goes on."""
    row = learning_rows.get(rule(project, "Commits are neat"))
    curate.guard(row, Guard(message=r"^(x+x+)+y$"))
    Path(config.guards_path()).write_text("git\tcommit\n")

    assert answer(called(f"git commit -m {'x' * 60}", project), project) == {}
    for pattern in (r"(x+)+y", r"a*b*c*d*e*f", r"(", r"(a)\1"):
        assert run(project, "guard", row.id, "--message", pattern).returncode == 1


def test_the_hook_is_registered_while_a_guard_is_on(project: Path) -> None:
    """The first guard registers the hook, the last one removes it, and other settings keep every byte."""
    before = settings()
    first, second = rule(project), rule(project, "Never run rm -rf")

    run(project, "guard", first)
    run(project, "guard", second)
    on, words_file = settings(), Path(config.guards_path())
    mode = words_file.stat().st_mode & 0o777
    models.close_databases()
    again = install.install().changed
    install.uninstall()
    has_settings = Path(install.claude_dir(), "settings.json").exists()
    install.install()
    anew = settings()
    run(project, "guard", first, "--off")
    still = "pre_tool_use.py" in settings()
    run(project, "remove", second)

    groups = json.loads(on)["hooks"]["PreToolUse"]
    assert [group["matcher"] for group in groups] == ["Task|Agent", "Bash|Edit|Write|MultiEdit|NotebookEdit"]
    assert (again, has_settings, anew == on) == (False, False, True)
    assert (mode, still, words_file.exists()) == (0o600, True, False)
    assert settings() == before


def test_a_guard_without_hooks_says_so(project: Path) -> None:
    """Without hooks a guard is stored, with a note; with the plugin only the guard's hook is registered."""
    install.uninstall()
    done = run(project, "guard", rule(project))
    has_settings = Path(install.claude_dir(), "settings.json").exists()
    Path(install.claude_dir()).mkdir(exist_ok=True)
    Path(install.claude_dir(), "settings.json").write_text('{"enabledPlugins": {"mem-lite@anywhere": true}}')
    install.sync_guard()

    assert "the hooks are not installed: claude-mem install-hooks" in done.stderr
    assert not has_settings
    assert list(json.loads(settings())["hooks"]) == ["PreToolUse"]
    assert install.registered_twice() == ""


def test_nothing_but_the_user_switches_a_guard_on(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the user switches a guard on: Claude cannot, and a quarantined rule is refused."""
    candidates = (
        Candidate(text, "convention", "user") for text in ("Never run rm -rf", "Skip the tests in auth/")
    )
    told, waits = (evolve.take(each, session_id="s1", project_dir=str(project)) for each in candidates)
    run(project, "guard", told.learning_id)
    lines = list(exchange.export(None))

    monkeypatch.setenv("CLAUDECODE", "1")
    by_claude = run(project, "guard", told.learning_id, "--off")
    monkeypatch.delenv("CLAUDECODE")

    assert (by_claude.returncode, by_claude.stderr.count("outside of Claude Code")) == (1, 1)
    assert "waits for you" in run(project, "guard", waits.learning_id, "--file", "auth").stderr
    assert [row.id for row in guarding.on(str(project))] == [told.learning_id]
    expected = [json.loads(guarding.on(str(project))[0].guard)]
    assert [json.loads(line)["guard"] for line in lines if told.learning_id in line] == expected


def test_a_guard_goes_with_its_rule(project: Path) -> None:
    """A rule that is removed, superseded, reworded, reset or forgotten loses its guard."""
    ids = [rule(project, f"Never run `tool{number} --all`") for number in range(4)]
    for each in ids:
        run(project, "guard", each)
    run(project, "guard", rule(project, "Leave it alone"), "--command", "deploy", "--with", "zanzibar")

    run(project, "remove", ids[0])
    run(project, "edit", ids[1], "--content", "Always run `tool1 --all`")
    run(project, "reset", ids[2])
    run(project, "merge", ids[1], ids[3])
    left = [row.guard for row in learning_rows.by_ids(ids)]
    models.close_databases()
    command("forget", "--match", "zanzibar", "--yes", cwd=project)

    models.open_databases()
    assert (left, guards.all_on()) == ([""] * 4, [])
    assert "pre_tool_use.py" not in settings()
    assert not Path(config.guards_path()).exists()


def test_the_user_says_what_to_look_for(project: Path) -> None:
    """Options replace the words of the rule, and unusable ones are refused in one line."""
    rule_id = rule(project, "Deploys go out on Tuesdays")
    refused = {
        (): 1, ("--without", "--force"): 1, ("--with", "-x"): 1, ("--file", " "): 1,
        ("--command", "a", "--without", "b\nc"): 1, ("--off", "--ask"): 2,
    }  # fmt: skip

    done = {options: run(project, "guard", rule_id, *options) for options in refused}
    described = ("--command", "make deploy", "--with", "DAY=tue", "--ask", "--json")
    told = json.loads(run(project, "guard", rule_id, *described).stdout)

    assert {options: each.returncode for options, each in done.items()} == refused
    assert "say what to look for" in done[()].stderr
    assert done[()].stderr.count("\n") == 1
    assert told["guard"] == {"mode": "ask", "commands": ["make deploy"], "needs": ["DAY=tue"]}
    assert told["is_on"]


def test_a_dry_run_shows_what_a_guard_would_have_noticed(project: Path) -> None:
    """A dry run lists the project's past calls that break the rule, and switches nothing on."""
    rule_id = rule(project)
    for line in ("git push --force", "git push", "ls"):
        inbox.append(json.dumps(tool_event(tool_input={"command": line}, cwd=str(project))), str(project))

    done = run(project, "guard", rule_id, "--dry-run")
    told = json.loads(run(project, "guard", rule_id, "--dry-run", "--json").stdout)

    assert "would have noticed 1 of 3 past calls" in done.stdout
    assert [(each["call"], each["because"]) for each in told["noticed"]] == [("git push --force",) * 2]
    assert (told["is_on"], guards.all_on(), "pre_tool_use.py" in settings()) == (False, [], False)


def test_guards_are_listed_with_what_could_be_one(project: Path) -> None:
    """`guards` lists active guards with their effect, then rules that could have one; `list` counts both."""
    on, possible = rule(project), rule(project, "Never run rm -rf")
    rule(project, "Deploys go out on Tuesdays")
    run(project, "guard", on)

    listed = run(project, "guards").stdout.splitlines()
    as_json = json.loads(run(project, "guards", "--json").stdout)
    rows = run(project).stdout

    assert listed[:2] == [
        f"{on[:8]}  remind  Never push with --force  (git push with --force)",
        f"{possible[:8]}  off     Never run rm -rf  (rm with -rf)",
    ]
    assert [(each["id"], each["is_on"]) for each in as_json] == [(on, True), (possible, False)]
    assert "guard: remind" in rows
    assert "1 could be checked on tool calls: claude-mem learnings guards" in rows


@pytest.mark.process
@pytest.mark.parametrize(("line", "loads"), [("ls", ""), ("git push -f", "_sqlite3")])
def test_the_hook_loads_little(project: Path, line: str, loads: str) -> None:
    """A call that no guard concerns opens no database, and no call loads `re` or `json`."""
    run(project, "guard", rule(project))
    script = (
        "import sys; sys.path.append(sys.argv[1])\n"
        "from claude_mem_lite.hooks import guarding; told = guarding.respond(sys.argv[2].encode())\n"
        "print(*{'re', 'json', '_sqlite3', 'shlex', 'typing', 'git' * bool(told)} & set(sys.modules))"
    )

    event = json.dumps(called(line, project))

    command = (sys.executable, "-I", "-S", "-c", script, os.path.dirname(hook_table.PACKAGE), event)
    done = finished(*command, check=True, cwd=project)

    assert done.stdout == f"{loads}\n"
