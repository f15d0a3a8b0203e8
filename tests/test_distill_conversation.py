"""What is remembered of what was said, delegated, looked up on the web, and of tools nobody knows."""

from typing import Any

import pytest
from support import cases

from claude_mem_lite.distill.local import observe
from claude_mem_lite.distill.observation import Capture, Observation, Skip


def _event(event_name: str, **payload: Any) -> Capture:
    return Capture(event_name, "", payload, "/shop")


def _tool(tool_name: str, arguments: object, response: object) -> Capture:
    return Capture("PostToolUse", tool_name, {"tool_input": arguments, "tool_response": response}, "/shop")


def test_a_prompt_is_kept_in_the_users_words() -> None:
    """The first sentence is the title, the prompt the summary."""
    words = "Move the basket to SQLite, JSON takes 4 s to load. Keep the class as it is."

    assert observe(_event("UserPromptSubmit", prompt=words), prompt="the one before") == Observation(
        title="Move the basket to SQLite, JSON takes 4 s to load",
        summary=words,
        detail=None,
        files_touched=(),
        functions_changed=(),
    )


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("yes", "a prompt that only consents"),
        ("ok, go on!", "a prompt that only consents"),
        ("  ", "a prompt that only consents"),
        ("2", "a prompt that only consents"),
        ("/compact", "a slash command without arguments"),
        ("<task-notification>\n<task-id>a</task-id>", "written by the client, not by the user"),
        ("[Request interrupted by user]", "written by the client, not by the user"),
        ("Operation stopped by hook: locked.", "written by the client, not by the user"),
    ],
)
def test_a_prompt_that_asks_for_nothing_is_skipped(words: str, reason: str) -> None:
    """Consent, bare slash commands and the client's own messages are no memory."""
    assert observe(_event("UserPromptSubmit", prompt=words)) == Skip(reason)


@pytest.mark.parametrize("words", ["/review check the basket", "use tabs", "no, use SQLite instead"])
def test_a_short_prompt_that_decides_is_kept(words: str) -> None:
    """Few words may still be a decision."""
    observation = observe(_event("UserPromptSubmit", prompt=words))

    assert isinstance(observation, Observation)
    assert (observation.title, observation.summary) == (words, words)


def test_a_long_prompt_is_clipped() -> None:
    """A pasted log doesn't fill the memory."""
    observation = observe(_event("UserPromptSubmit", prompt="Fix the import. " + "log line\n" * 1_000))

    assert isinstance(observation, Observation)
    assert observation.title == "Fix the import"
    assert 1_000 < len(observation.summary) <= 1_500


@pytest.mark.parametrize(
    ("event_name", "more", "marks"),
    [("Stop", {}, ("", "")), ("SubagentStop", {"agent_type": "general-purpose"}, ("“", "”"))],
)
def test_a_report_is_kept_with_what_was_asked(
    event_name: str, more: dict[str, Any], marks: tuple[str, str]
) -> None:
    """The last message says what was decided and why; what a sub-agent says is quoted."""
    opened, closed = marks
    message = "## Done\n\nThe basket is SQLite now, because JSON took 4 s. Tests pass."

    assert observe(
        _event(event_name, last_assistant_message=message, **more), prompt="Make it fast."
    ) == Observation(
        title=f"{opened}The basket is SQLite now, because JSON took 4 s{closed}",
        summary=f"{opened}{message}{closed}\nAsked: Make it fast",
        detail=None,
        files_touched=(),
        functions_changed=(),
    )


@pytest.mark.parametrize(
    "capture",
    [
        _event("Stop", last_assistant_message="  "),
        _event("Stop"),
        _event("SubagentStop", agent_type="", last_assistant_message="<summary>of the client</summary>"),
        _event("SessionStart", source="startup"),
        _event("SessionEnd", reason="other"),
        _event("PreCompact", trigger="auto"),
        _event("FutureEvent"),
    ],
)
def test_events_that_say_nothing_are_skipped(capture: Capture) -> None:
    """The rest of the protocol leaves no observation, only a reason."""
    skip = observe(capture)

    assert isinstance(skip, Skip)
    assert 0 < len(skip.reason) < 60


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("Make it fast. Then commit.", "\nAsked: Make it fast"),
        ("yes please", ""),
        (None, ""),
        ("<task-notification>x", ""),
        ("word " * 99, "\nAsked: " + ("word " * 31).strip() + "…"),
    ],
)
def test_the_reason_is_the_first_sentence_of_the_prompt(prompt: str | None, reason: str) -> None:
    """A prompt that says nothing gives no reason; a long sentence is cut."""
    observation = observe(_event("Stop", last_assistant_message="It is fast now."), prompt=prompt)

    assert isinstance(observation, Observation)
    assert observation.summary == f"It is fast now.{reason}"


@pytest.mark.parametrize(
    ("report", "title"),
    [
        ("All tests pass. Sessions older than 20 commits are no longer active.",
         "Sessions older than 20 commits are no longer active"),
        ("Here's a summary of the changes:\n\n- `total` rounds half up\n- The book is in WAL mode",
         "`total` rounds half up"),
        ("All tests pass.", "All tests pass"),
        ("All tests pass because time is a parameter.", "All tests pass because time is a parameter"),
        ("Der Parser rundet jetzt richtig. Alles grün.", "Der Parser rundet jetzt richtig"),
    ],
)  # fmt: skip
def test_a_report_is_headed_by_what_came_of_it(report: str, title: str) -> None:
    """That tests pass, or that a list follows, is no headline where there is another."""
    observation = observe(_event("Stop", last_assistant_message=report))

    assert isinstance(observation, Observation)
    assert observation.title == title


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("<system-reminder>Plan mode is active.</system-reminder>\nFix the rounding.", "Fix the rounding"),
        ("<ide_opened_file>The user opened a.py.</ide_opened_file>\nFix the rounding.", "Fix the rounding"),
        ("This session is being continued from a previous conversation that ran out of context.", None),
        ("[Request interrupted by user]", None),
        ("<command-name>/compact</command-name>", None),
    ],
)
def test_what_the_client_writes_is_nobodys_prompt(prompt: str, title: str | None) -> None:
    """Reminders, commands and compactions are the client's words, and the user's beside them stay."""
    observation = observe(_event("UserPromptSubmit", prompt=prompt))

    assert (observation.title if isinstance(observation, Observation) else None) == title


def test_only_a_report_repeats_what_was_asked() -> None:
    """A prompt has a row of its own, so no tool call says again what led to it."""
    observation = observe(
        _tool("WebSearch", {"query": "wal"}, {"results": ["WAL is a log."]}), prompt="Make it fast."
    )

    assert isinstance(observation, Observation)
    assert "Make it fast" not in f"{observation.title}{observation.summary}{observation.detail}"


TODOS = {"todos": [{"content": "Write it", "status": "pending"}, {"content": "Test it", "status": "pending"}]}


@pytest.mark.parametrize("case", cases.load("distill/told")["case"], ids=lambda case: case["tool"])
def test_every_tool_has_its_words(case: dict[str, Any]) -> None:
    """Sub-agents, the web, plans, choices, MCP tools and unknown ones are told by what they were asked."""
    observation = observe(cases.capture(case))

    assert isinstance(observation, Observation)
    told = (observation.title, observation.summary, observation.detail)
    assert told == (case["title"], case["summary"], case.get("detail"))


@pytest.mark.parametrize(
    "capture",
    [
        _tool("TodoWrite", TODOS, {"oldTodos": [{"content": "Write it"}]}),
        _tool("TaskUpdate", {"taskId": "1", "status": "completed"}, {}),
        _tool("TaskCreate", {"subject": "Write it", "description": ""}, {}),
        _tool("ToolSearch", {"query": "select:NotebookEdit"}, {"matches": ["NotebookEdit"]}),
        _tool("Skill", {"skill": "release"}, {"success": True}),
        _tool("WebFetch", {"url": "https://x.example"}, {"result": ""}),
        _tool("Agent", {}, {}),
        _tool("", None, None),
    ],
)
def test_noise_is_skipped(capture: Capture) -> None:
    """Ticked boxes, tool searches and empty answers leave nothing."""
    assert isinstance(observe(capture), Skip)
