"""A real Claude Code with our hooks installed, against a Messages API on loopback.

Opt in with the client's path: `CLAUDE_MEM_TEST_CLIENT=/path/to/claude pytest tests/test_real_client.py`
(`npm install @anthropic-ai/claude-code`; several paths are separated by colons).
"""

import json
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.fake_messages import Body
from support.processes import wait_until
from support.real_client import (
    BEAVER,
    DAM,
    LODGE,
    OTTER,
    PATIENCE_S,
    SECTION,
    WHERE,
    Claude,
    blocks_in,
    down,
    events,
    git,
    has_it_done_by_a_sub_agent,
    installed,
    repository,
    said,
    sources,
    summary_of,
    text_of,
)  # fmt: skip

from claude_mem_lite.capture import client, guards
from claude_mem_lite.learnings import curate
from claude_mem_lite.services import install, plugin
from claude_mem_lite.storage import models

CLIENTS = [path for path in os.environ.get("CLAUDE_MEM_TEST_CLIENT", "").split(":") if path]
pytestmark = [
    pytest.mark.real_client,
    pytest.mark.skipif(not CLIENTS, reason="CLAUDE_MEM_TEST_CLIENT names no Claude Code to run"),
]
ROOT = Path(__file__).parent.parent
REPOSITORY = "someone/claude-mem-lite"
PLUGIN = "mem-lite@claude-mem-lite"


@pytest.fixture(params=CLIENTS, ids=lambda path: Path(path).name)
def claude(
    request: pytest.FixtureRequest, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Claude]:
    """Install our hooks into a client whose fake model runs a command and reports."""
    user, project = tmp_path / "user", tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(user / ".claude"))
    with installed(request.param, user, project) as client:
        yield client


def test_a_real_client_remembers(claude: Claude) -> None:
    """The installed hooks fire, and one session's work reaches the API request of the next."""
    claude.ask(OTTER)
    first = events()
    claude.ask(WHERE)

    assert first == ["SessionStart startup", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]
    assert sources() == ["startup", "startup"]
    [block] = claude.told(WHERE)
    assert "Put an otter into the river" in block
    assert "The otter is in the river now" in block


@pytest.mark.parametrize("form", ["folder", "github"])
def test_the_plugin_does_the_same(claude: Claude, form: str) -> None:
    """The plugin passes validation, and its hooks fire, installed from a clone or from GitHub."""
    install.uninstall()
    source = {"folder": str(ROOT), "github": REPOSITORY}[form]
    if form == "github" and not (ROOT / ".git").exists():
        pytest.skip("this is no git repository that could be cloned")
    (claude.user / ".gitconfig").write_text(
        f'[url "file://{ROOT}"]\n'
        f"insteadOf = https://github.com/{REPOSITORY}.git\ninsteadOf = git@github.com:{REPOSITORY}.git\n"
        f"[safe]\ndirectory = *\n"
    )
    strict = ("--strict", "--profile", "directory") if claude.version >= (2, 1, 329) else ()

    claude.do("plugin", "validate", *strict, str(ROOT))
    claude.do("plugin", "marketplace", "add", source)
    claude.do("plugin", "install", PLUGIN)
    seen = install.registered_events()
    claude.ask(OTTER)

    assert set(map(install.interpreter, seen.values())) == {"python3"}
    assert plugin.enabled(install.claude_dir()) == plugin.Plugin(PLUGIN)
    assert events() == ["SessionStart startup", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"]


def test_a_resumed_session_hears_what_is_new(claude: Claude) -> None:
    """A resumed session is told only what other sessions did since.

    A client that does not keep blocks is told all of it again.
    """
    session_id = claude.ask(OTTER)
    claude.ask(WHERE, "--resume", session_id)
    claude.ask(DAM)
    claude.ask("Is it still there?", "--resume", session_id)

    assert sources() == ["startup", "resume", "startup", "resume"]
    assert len(claude.told(WHERE)) == (not claude.keeps_blocks)
    [block] = claude.told("Is it still there?")
    assert "Build a dam" in block
    assert "Put an otter" not in block
    assert (BEAVER in block) == (not claude.keeps_blocks)


def test_a_resumed_session_still_has_its_block(claude: Claude) -> None:
    """A resumed session's request has the start block once, from the transcript or told again."""
    session_id = claude.ask(OTTER)
    claude.ask(WHERE, "--resume", session_id)
    claude.ask("Is it still there?", "--continue")

    [first] = claude.told(OTTER)
    for prompt in (WHERE, "Is it still there?"):
        [block] = blocks_in(claude.asked(prompt))
        assert first.split(SECTION)[1:] == block.split(SECTION)[1:]


def test_a_fork_hears_what_its_parent_missed(claude: Claude) -> None:
    """A fork is told what others did since its parent's block, and nothing of its parent again."""
    session_id = claude.ask(OTTER)
    claude.ask(DAM)
    claude.ask(WHERE, "--resume", session_id, "--fork-session")

    assert sources() in (["startup", "startup", "fork"], ["startup", "startup", "resume"])
    [block] = claude.told(WHERE)
    assert "Build a dam" in block
    assert "Put an otter" not in block


@pytest.mark.parametrize("source", ["clear", "compact"])
def test_after_clear_or_a_compaction_the_session_itself_comes_first(claude: Claude, source: str) -> None:
    """After /clear or a compaction the block begins with the session's own task."""
    claude.ask(DAM)
    with claude.terminal() as enter:
        enter(OTTER, "Stop")
        enter(f"/{source}", f"SessionStart {source}")
        enter(WHERE, "Stop")

    assert sources() == ["startup", "startup", source]
    [block] = claude.told(WHERE)
    _, first, *rest = block.split(SECTION)
    assert "Put an otter" in first
    assert "Build a dam" not in first
    assert source == "compact" or "Build a dam" in SECTION.join(rest)


def test_a_session_without_services_gets_a_block_and_starts_them(claude: Claude, memory: Path) -> None:
    """With the services down, the start block comes from SQLite and is the same."""
    claude.ask(OTTER)
    asked = {"project_path": str(claude.project), "source": "startup"}
    warm = (client.get("/api/context", asked, timeout_s=10) or {})["context"]
    down()
    settings = memory / "config.toml"
    settings.write_text(settings.read_text().replace("autostart = false", "autostart = true"))
    claude.ask(WHERE)

    [block] = claude.told(WHERE)
    assert "Put an otter into the river" in block
    assert block == warm.strip()


@pytest.mark.skipif("SubagentStart" not in install.hook_events(), reason="no hook for SubagentStart")
def test_a_sub_agent_gets_a_block(claude: Claude) -> None:
    """A sub-agent's first request has its own block, which no request of the session has."""
    task = "Why does the door of the lodge face south?"
    claude.ask(OTTER)
    claude.fake.act = has_it_done_by_a_sub_agent(task, "Agent" if claude.version >= (2, 1, 197) else "Task")
    claude.ask(WHERE)

    requests = [request.body["messages"] for request in claude.fake.requests if request.body.get("tools")]
    of_session = [messages for messages in requests if any(WHERE in text_of(each) for each in messages)]
    first = next(each for each in requests if each not in of_session and task in said(each))
    [block] = blocks_in(first, "SubagentStart")
    assert LODGE in block
    assert [blocks_in(messages, "SubagentStart") for messages in of_session] == [[]] * len(of_session)


def test_a_session_in_a_worktree_has_the_repositorys_memory(claude: Claude) -> None:
    """Sessions in the main folder and in the client's worktree share one memory."""
    if claude.version < (2, 1, 80):
        pytest.skip("this client makes no worktree")
    repository(claude.project)
    claude.ask(OTTER)
    claude.ask(DAM, "--worktree", "lodge")
    claude.ask(WHERE)

    assert (claude.project / ".claude" / "worktrees" / "lodge" / ".git").is_file()
    [in_worktree] = claude.told(DAM)
    assert "Put an otter into the river" in in_worktree
    [block] = claude.told(WHERE)
    assert "Build a dam" in block


def test_two_branches_side_by_side_are_one_project(claude: Claude) -> None:
    """Parallel sessions in two work trees stay separate, and the next session is told of both."""
    repository(claude.project)
    lodge = claude.project.parent / "lodge"
    git(claude.project, "worktree", "add", "-q", "-b", "lodge", str(lodge))

    with ThreadPoolExecutor() as both:
        otter, dam = both.map(lambda each: claude.ask(each[0], cwd=each[1]), [
            (OTTER, claude.project), (DAM, lodge)
        ])  # fmt: skip
    claude.ask(WHERE, cwd=lodge)

    assert "Build a dam" not in summary_of(otter)
    assert "otter into" not in summary_of(dam)
    [block] = claude.told(WHERE)
    assert "Put an otter into the river" in block
    assert "Build a dam of willow" in block


@pytest.mark.parametrize(("hook", "prompt"), [
    ("UserPromptSubmit", "Why does the door of the lodge face south?"),
    ("PostToolUse:Read", "Look into it, please."),
    ("PostToolUse:Write", "Write it anew, please."),
])  # fmt: skip
def test_what_memory_has_on_a_prompt_or_a_file_comes_with_it(claude: Claude, hook: str, prompt: str) -> None:
    """Recall for a prompt or a file reaches the model in its next API request."""
    lodge = claude.project / "lodge.txt"
    tool = "Write" if hook.endswith("Write") else "Read"
    given = {"file_path": str(lodge), **({"content": "A lodge."} if tool == "Write" else {})}
    wanted = f"{hook} hook additional context: <claude-mem>"

    def reached() -> bool:
        lodge.unlink(missing_ok=True)
        if tool == "Read":
            lodge.write_text("A lodge.")
        use: Body = {"type": "tool_use", "name": tool, "input": given, "id": f"toolu_{len(events())}"}
        claude.fake.steps[:] = [use, {"type": "text", "text": "I see."}]
        claude.ask(prompt)
        bodies = [json.dumps(request.body, ensure_ascii=False) for request in claude.fake.requests]
        return any(LODGE in body and wanted in body for body in bodies)

    wait_until(reached, timeout_s=PATIENCE_S)


@pytest.mark.parametrize("mode", [guards.REMIND, guards.ASK])
def test_a_guard_speaks_up_before_a_call(claude: Claude, mode: str) -> None:
    """A guard's reminder reaches the model with the call; in ask mode the unattended call is not made."""
    models.open_databases()
    rule = curate.add("Leave the river to the beavers", category="convention", project_dir=None)
    curate.guard(rule, guards.Guard(mode, files=["river.txt"]))
    install.sync_guard()

    claude.ask(OTTER)

    bodies = "\n".join(json.dumps(request.body, ensure_ascii=False) for request in claude.fake.requests)
    was_made = (claude.project / "river.txt").exists()
    assert "This call breaks the user's rule “Leave the river to the beavers”" in bodies
    asks = mode == guards.ASK and claude.version >= (2, 1, 197)  # 2.1.50 makes an allowed call anyway
    assert was_made != asks
