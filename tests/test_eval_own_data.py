"""Test `eval retrieval` and `eval recall` on the user's own files; the user's memory stays untouched."""

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support import cases, installed
from support.claudes_words import capture
from support.commands import command

from claude_mem_lite import config
from claude_mem_lite.errors import ClaudeMemError
from claude_mem_lite.evals import recall, retrieval
from claude_mem_lite.evals.temporary import temporary_memory
from claude_mem_lite.storage import models

CASES = cases.load("own_history")

pytestmark = pytest.mark.meaning

ROWS = [
    {"_id": "otter", "title": "Build a lodge for the otter", "text": "The otter sleeps in a lodge of reeds."},
    {"_id": "heron", "title": "Watch the heron fish", "text": "It stands still in shallow water for hours."},
    {"_id": "vole", "title": "Count the voles", "text": "Traps along the bank, emptied each morning."},
    {"_id": "lodge", "title": "Repair the lodge roof", "text": "Reeds rot; willow lasts longer."},
]
QUERIES = [
    {"_id": "q1", "text": "heron shallow water", "relevant": ["heron"]},
    {"_id": "q2", "text": "otter lodge reeds", "relevant": {"otter": 2, "lodge": 1, "vole": 0}},
    {"_id": "q3", "text": "zebra", "relevant": ["vole"]},
]


def folder(path: Path, **files: Any) -> Path:
    """Write each list as JSON lines to NAME.jsonl in a folder."""
    path.mkdir(exist_ok=True)
    for name, content in files.items():
        text = content if isinstance(content, str) else "\n".join(map(json.dumps, content)) + "\n"
        (path / f"{name}.jsonl").write_text(text)
    return path


run = partial(command, "eval", columns=200)


@pytest.mark.parametrize(
    ("ranked", "relevant", "metrics"),
    [
        (["a", "b"], ["a"], (1.0, 1.0, 1.0, 1.0)),
        (["b", "a"], ["a"], (0.63093, 1.0, 1.0, 0.5)),
        (["a", "x", "b"], ["a", "b"], (0.91972, 1.0, 1.0, 1.0)),
        ([*"uvwxyz", "a"], ["a"], (1 / 3, 0.0, 1.0, 1 / 7)),
        ([*"0123456789", "a"], ["a"], (0.0, 0.0, 0.0, 0.0)),
        ([], ["a"], (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_the_metrics_are_those_of_the_field(
    ranked: list[str], relevant: list[str], metrics: tuple[float, ...]
) -> None:
    """nDCG@10, recall@5, recall@10 and MRR@10 equal values computed by hand."""
    assert retrieval.score(ranked, relevant) == pytest.approx(metrics, abs=1e-5)


def test_retrieval_measures_full_text_and_the_model(memory: Path, tmp_path: Path) -> None:
    """`eval retrieval` scores full text and the model, and changes no byte of the memory."""
    capture()
    models.close_databases()
    before = installed.files(memory)
    files = folder(tmp_path / "set", corpus=ROWS, queries=QUERIES)

    done, as_json = run("retrieval", str(files)), run("retrieval", str(files), "--json")

    assert (done.returncode, done.stderr) == (0, "")
    assert "4 rows, 3 questions" in done.stdout
    told = json.loads(as_json.stdout)
    assert list(told["systems"]) == ["full text", "minilm"]
    words = told["systems"]["full text"]
    assert [words[name] for name in ("R@5", "R@10", "MRR@10", "nDCG@10")] == [0.6667] * 4
    assert told["systems"]["minilm"]["R@10"] >= 2 / 3 - 1e-4
    assert all(row["p50_ms"] <= row["p95_ms"] for row in told["systems"].values())
    assert installed.files(memory) == before


def test_retrieval_without_a_model_goes_by_full_text(home: Path, tmp_path: Path) -> None:
    """Without a model in the settings, only full text is scored."""
    (home / "config.toml").write_text('[search]\nembedding_model = "none"\n')
    files = folder(tmp_path / "set", corpus=ROWS, queries=QUERIES)

    told = json.loads(run("retrieval", str(files), "--json").stdout)

    assert list(told["systems"]) == ["full text"]
    assert 'embedding_model = "none"' in told["problem"]


def test_a_project_has_rows_of_its_own(home: Path, tmp_path: Path) -> None:
    """A question of one project finds no rows of another."""
    rows = [row | {"project": f"p{number % 2}"} for number, row in enumerate(ROWS)]
    asked = [QUERIES[0] | {"project": "p0"}, QUERIES[0] | {"_id": "q9", "project": "p1"}]
    files = folder(tmp_path / "set", corpus=rows, queries=asked)
    (home / "config.toml").write_text('[search]\nembedding_model = "none"\n')

    assert retrieval.evaluate(str(files))["systems"]["full text"]["R@10"] == 0.5


@pytest.mark.parametrize(
    ("corpus", "queries", "says"),
    [
        ("{}", QUERIES, "corpus.jsonl line 1: it has no _id"),
        ("not JSON", QUERIES, "corpus.jsonl: a line is not a JSON object"),
        ("[1]", QUERIES, "corpus.jsonl: a line is not a JSON object (it holds a list)"),
        ([ROWS[0], ROWS[0]], QUERIES, "corpus.jsonl line 2: 'otter' appears twice"),
        ([{"_id": "x"}], QUERIES, "corpus.jsonl line 1: no text"),
        ([ROWS[0] | {"ts": "now"}], QUERIES, "ts is 'now'"),
        ([ROWS[0] | {"files": 5}], QUERIES, "5 is neither a text nor a list of texts"),
        (ROWS, "", "queries.jsonl has no questions"),
        (ROWS, [{"_id": "q", "text": "x"}], "queries.jsonl line 1: it needs text, and in relevant the ids"),
        (ROWS, [{"_id": "q", "text": "x", "relevant": ["whale"]}], "corpus.jsonl has no 'whale'"),
        (
            ROWS,
            [{"_id": "q", "text": "x", "relevant": {"otter": 0}}],
            "it needs text, and in relevant the ids",
        ),
        (ROWS, [{"text": "x", "relevant": ["otter"]}], "queries.jsonl line 1: it has no _id"),
        ("[" * 100_000, QUERIES, "corpus.jsonl: a line is not a JSON object"),
    ],
)
def test_a_wrong_file_is_said_in_one_line(
    home: Path, tmp_path: Path, corpus: Any, queries: Any, says: str
) -> None:
    """A malformed file is refused in one line with file, line number and mistake."""
    files = folder(tmp_path / "set", corpus=corpus, queries=queries)

    with pytest.raises(ClaudeMemError, match=re.escape(says)) as error:
        retrieval.evaluate(str(files))

    assert "\n" not in str(error.value)


def test_a_folder_that_is_not_there_is_said(home: Path, tmp_path: Path) -> None:
    """A missing folder gives one line, exit 1 and no traceback."""
    for what in ("retrieval", "recall"):
        done = run(what, str(tmp_path / "none"))

        assert done.returncode == 1
        assert done.stderr.startswith("claude-mem: cannot read ")
        assert done.stderr.count("\n") == 1


def test_a_temporary_memory_is_gone_afterwards(memory: Path) -> None:
    """A temporary memory is deleted even after an error, and the environment restored."""
    (memory / "models").mkdir()
    (memory / "models" / "kept").touch()

    def fail() -> str:
        with temporary_memory() as home:
            assert config.home() == home != str(memory)
            assert os.listdir(config.models_dir()) == ["kept"]
            models.Session.create(id="s", project_dir="/p", started_at="", last_event_at="")
            raise ClaudeMemError(home)

    with pytest.raises(ClaudeMemError) as error:
        fail()

    assert not os.path.exists(str(error.value))
    assert config.home() == str(memory)
    assert (memory / "models" / "kept").exists()


PROJECT = "/home/dev/otters"


def event(name: str, **fields: Any) -> dict[str, Any]:
    """Return a hook event of one session."""
    return {"session_id": "o1", "hook_event_name": name, "cwd": PROJECT, **fields}


EVENTS = CASES["events"]
ASKED = CASES["asked"]


def test_recall_plays_a_history_and_asks(memory: Path, tmp_path: Path) -> None:
    """`eval recall` plays a history, then counts answers and forbidden texts; the memory stays untouched."""
    capture()
    models.close_databases()
    before = installed.files(memory)
    wrapped = [{"event": each, "env": {}} for each in EVENTS[4:]]
    files = folder(tmp_path / "history", one=EVENTS[:4], two=wrapped)
    asked = {"questions": ASKED[:3], "unanswerable": ASKED[3:], "x": 1}
    (files / "questions.json").write_text(json.dumps(asked))

    done, as_json = run("recall", str(files)), run("recall", str(files), "--json")

    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(as_json.stdout)
    assert (told["events"], told["sessions"], told["questions"], told["answerable"]) == (6, 1, 5, 4)
    assert [row["search"] for row in told["rows"]] == [True, True, False, None, True]
    assert told["answered_by_search"] == 3
    assert told["rows"][0]["recall"] is True
    assert told["rows"][2]["recall"] is False
    assert [row["false"] for row in told["rows"]] == [[], [], [], [], ["reeds"]]
    assert (told["false_answers"], told["model"]) == (1, "minilm")
    assert "answered by search in the first five results: 3 of 4" in done.stdout
    assert "unanswered by recall and search: How many badgers live in the sett?" in done.stdout
    assert "false: What is the roof made of?" in done.stdout
    assert installed.files(memory) == before


def test_recall_asks_no_api(home: Path, tmp_path: Path) -> None:
    """`eval recall` calls no API, even with a key set."""
    files = folder(tmp_path / "history", all=EVENTS)
    (files / "questions.json").write_text(json.dumps(ASKED))
    (home / "config.toml").write_text('[search]\nembedding_model = "none"\n')

    done = run("recall", str(files), ANTHROPIC_API_KEY="sk-ant-x", ANTHROPIC_BASE_URL="http://127.0.0.1:9")

    assert done.returncode == 0
    assert "full text alone" in done.stderr
    assert "false answers: 1" in done.stdout


@pytest.mark.parametrize(
    ("events", "questions", "says"),
    [
        (EVENTS, "{", "questions.json is not JSON"),
        (EVENTS, "[]", "questions.json has no questions"),
        (EVENTS, '[{"question": "Why?"}]', "'Why?' needs answer_contains or must_not_contain"),
        (
            EVENTS,
            '[{"question": "Why?", "answer_contains": [5]}]',
            "[5] is neither a text nor a list of texts",
        ),
        ([], json.dumps(ASKED), "has no hook events in any *.jsonl"),
        ([{"hook_event_name": "Unknown"}], json.dumps(ASKED), "has no hook events in any *.jsonl"),
        ([{"event": 5}], json.dumps(ASKED), "all.jsonl line 1: this is not a hook event"),
        ("{", json.dumps(ASKED), "all.jsonl: a line is not a JSON object"),
    ],
)
def test_a_history_that_cannot_be_used_is_said(
    home: Path, tmp_path: Path, events: Any, questions: str, says: str
) -> None:
    """An unusable history is refused in one line before anything is played."""
    files = folder(tmp_path / "history", all=events)
    (files / "questions.json").write_text(questions)

    with pytest.raises(ClaudeMemError, match=re.escape(says)) as error:
        recall.evaluate(str(files))

    assert "\n" not in str(error.value)
