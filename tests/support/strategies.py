"""Hypothesis strategies for captures of any shape and texts in many alphabets."""
# ruff: noqa: RUF001  (letters that look alike are what is drawn)

from hypothesis import strategies as st

from claude_mem_lite.distill.observation import Capture

EVENTS = ["PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop", "SessionStart"]
EVENTS += ["", "?"]
TOOLS = [
    "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "Read", "Grep", "Glob", "LS", "Agent", "Task",
    "Skill", "TodoWrite", "TaskCreate", "WebFetch", "WebSearch", "ToolSearch", "AskUserQuestion",
    "ExitPlanMode", "mcp__server__tool", "mcp__", "Unknown", "",
]  # fmt: skip
KEYS = [
    "tool_input", "tool_response", "error", "prompt", "last_assistant_message", "agent_type",
    "is_interrupt", "cwd", "command", "description", "file_path", "notebook_path", "content", "old_string",
    "new_string", "replace_all", "edits", "originalFile", "structuredPatch", "lines", "oldStart", "stdout",
    "stderr", "type", "file", "cells", "source", "numLines", "startLine", "totalLines", "pattern",
    "filenames", "answers", "plan", "todos", "oldTodos", "subject", "query", "results", "url", "result",
    "new_source", "old_source", "cell_id", "edit_mode", "language", "persistedOutputSize",
    "timedOutAfterMs", "backgroundTaskId", "text",
]  # fmt: skip
FRAGMENTS = [
    "/p/a.py", "/p/a.md", "def f():\n    return 1\n", "class A:\n  def b(self): ...", "x = (", "\x1b[31m",
    "\ud800", "\0", "git commit -m 'x'", "pytest -q", "1 failed, 2 passed in 0.1s", "python3 - <<'EOF'\n",
    "Exit code 1\n", "'", '"', "$(", "`", "sed -i ", "> out", "[… 12,345 characters cut …]",
    "FAILED a::b - c\n", "E   assert 1\n", "Tests: 5, ", "<task-notification>", "python", "text",
    "notebook", "\r", "\n", " ", "9",
]  # fmt: skip
TEXT = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=6).map("".join)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=5)), inner, max_size=6),
    ),
    max_leaves=20,
)
FIELDS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=10)
FIELDS_OF_A_CALL = {"tool_input": FIELDS, "tool_response": st.one_of(FIELDS, VALUES)}
PAYLOADS = st.fixed_dictionaries({}, optional=FIELDS_OF_A_CALL)
CAPTURES = st.builds(
    lambda event, tool, fields, more: Capture(event, tool, {**fields, **more}, "/p"),
    st.sampled_from(EVENTS),
    st.sampled_from(TOOLS),
    FIELDS,
    PAYLOADS,
)
GIANTS = ["x" * 3_000_000, "a\n" * 500_000, "'" * 200_001, "$(" * 100_000, "\n" * 400_000]
GIANTS += ["((((" * 50_000, " " * 400_000]


# Letters, marks and signs of many alphabets, all as old as SQLite's tables (Unicode 6.1).
ALPHABETS = (
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", " \t\n_-./:'\"()*^+{}@#$%&\\\0",
    "àâçéèêëîïôùûüñåøłđßæœÀÉÇÑÅØŁĐÆŒşğıİőűœﬁſµªº²½", "\u0300\u0301\u0308\u030a\u0323\u0327\u0305\u0336\u20dd",
    "абвгдеёжзийклмнопрстуфхцчшщъыьэюяЁЙЇґў", "αάβγδεέζηήθιίϊΐκλμνξοόπρσςτυύφχψωώΆΈΣϐ",
    "אבגדהשׁלוםכךן\u05b8\u05bc", "عربيكتابة\u064b\u0651\u200f٠١٢", "हिन्दीभाषा",
    "ไทยแลนด์", "ＡＢｃ１２、。「」…—“”→✓☃♥", "\u200b\u200d\ufe0f\ufeff",
)  # fmt: skip


# Letters of scripts that do not separate words.
SIGNS = "データベース技術がぎぱ保存数据库데이터베이스저장"


mixed = st.text(st.sampled_from("".join([*ALPHABETS, SIGNS])), max_size=40)
parted = st.text(st.sampled_from("".join(ALPHABETS)), max_size=40)
