"""What prompts state for good, by the recorded history and a set of their own; how learnings relate."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.recorded import DATA

from claude_mem_lite.cli import demo
from claude_mem_lite.distill.relations import relation
from claude_mem_lite.distill.suspicion import suspicions
from claude_mem_lite.learnings.statements import CONTENT_CHARS, Statement, statements

PROMPTS: dict[str, list[dict[str, Any]]] = json.loads((DATA / "learnings" / "statements.json").read_text())
PAIRS: dict[str, list[dict[str, str]]] = json.loads((DATA / "learnings" / "relations.json").read_text())
FACTS: list[dict[str, Any]] = json.loads((DATA / "ledger" / "facts.json").read_text())["questions"]


def recorded_statements() -> list[str]:
    """Return what the user of the recorded sessions stated."""
    prompts = (e["prompt"] for e in demo.recorded_events() if e["hook_event_name"] == "UserPromptSubmit")
    return [statement.content for prompt in prompts for statement in statements(prompt)]


def judged(half: str) -> tuple[float, float, str]:
    """Return precision and recall over the statements of one half of the set, and what went wrong."""
    right, wrong, missed = 0, [], []
    for case in PROMPTS[half]:
        awaited = list(case["keep"])
        for statement in statements(case["prompt"]):
            hit = next((piece for piece in awaited if piece in statement.content), None)
            if hit is None:
                wrong.append(statement.content)
            else:
                awaited.remove(hit)
                right += 1
        missed += awaited
    precision, recall = right / (right + len(wrong)), right / (right + len(missed))
    return (
        precision,
        recall,
        f"precision {precision:.2f}, recall {recall:.2f}; wrong {wrong}; missed {missed}",
    )


def test_the_recorded_history_states_its_conventions_and_nothing_else() -> None:
    """Of the fifteen prompts of the recorded sessions, exactly the planted conventions are kept."""
    found = recorded_statements()

    assert found == [
        "debit positive, credit negative",
        "always use pathlib, never os.path",
        "no print() outside cli.py",
        'commit messages start with the module, like "money: ..." or "storage: ..."',
    ]
    for fact in FACTS:
        if fact["kind"] == "convention":
            assert any(all(part in content for part in fact["answer_contains"]) for content in found), fact


@pytest.mark.parametrize(("half", "precision", "recall"), [("tuned", 0.98, 0.99), ("held_out", 0.98, 0.98)])
def test_prompts_give_what_they_state_and_little_else(half: str, precision: float, recall: float) -> None:
    """Nearly nothing is kept that was not stated for good, and most of what was."""
    reached_precision, reached_recall, report = judged(half)

    assert reached_precision >= precision, report
    assert reached_recall >= recall, report


def test_a_statement_tells_its_kind_polarity_and_what_it_replaces() -> None:
    """A statement is the user's words without the words that introduce it."""
    assert statements("ok. From now on we use snake_case instead of camelCase in JSON, please.") == [
        Statement(
            "we use snake_case instead of camelCase in JSON, please",
            "convention",
            ("snake_case", "camelcas", "json"),
            is_negative=False,
            replaces="camelCase",
        )
    ]
    assert statements("Never call the billing service from a worker!") == [
        Statement(
            "Never call the billing service from a worker",
            "architecture",
            ("call", "bill", "servic", "worker"),
            is_negative=True,
            replaces="",
        )
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "Rules:\n- no tabs\n- sign every commit\n\nNow fix the bug in the parser.",
        "Rules:\n\n- no tabs\n\n- sign every commit\n\nNow fix the bug in the parser.",
        "Rules:\nno tabs\nsign every commit\n\nNow fix the bug in the parser.",
        "# Rules\n1. no tabs\n2. sign every commit\n\nNow:\n- fix the bug in the parser\n",
    ],
)
def test_a_list_of_rules_ends_where_the_task_begins(prompt: str) -> None:
    """Items stand below their heading, with bullets or without, with empty lines or without."""
    assert [statement.content for statement in statements(prompt)] == ["no tabs", "sign every commit"]


def test_no_content_is_longer_than_its_limit() -> None:
    """A long sentence is cut between two clauses."""
    long = "always use pathlib, " + "and keep the names of files short enough to read them, " * 9

    (statement,) = statements(long)

    assert len(statement.content) <= CONTENT_CHARS
    assert statement.content.endswith("to read them")


@pytest.mark.parametrize("half", ["tuned", "held_out"])
def test_learnings_relate_as_a_reader_would_say(half: str) -> None:
    """Pairs are told apart; a contradiction is hardly ever seen where there is none."""
    told = [(pair, relation(pair["old"], pair["new"])) for pair in PAIRS[half]]
    wrong = [(pair, answer) for pair, answer in told if answer != pair["relation"]]
    false = [pair for pair, answer in wrong if answer == "contradicts"]

    report = f"{len(told) - len(wrong)} of {len(told)} right, {len(false)} false contradictions: {wrong}"
    assert not wrong, report


def test_what_the_user_states_is_not_suspicious() -> None:
    """What is found in prompts of the set passes the other gate when the user said it."""
    found = [s.content for half in PROMPTS.values() for case in half for s in statements(case["prompt"])]

    stopped = [content for content in found if suspicions(content, origin="user")]

    assert len(stopped) <= len(found) // 20, stopped


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "a", "never ", "no a ", "(", '"', "`", " ", "\n", "- a\n", "a:", "a.", "a-", "we use ", "not ",
        "<private>", "remember that ", "never\t", "x, ", "from now on ", "the ", "Rules:\n", "? ",
        "whenever you a ",
        "no, the a ", "1. ", "\u00e9", "don't use a ", "instead of ", "always use a, ",
    ],
)  # fmt: skip
def test_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    """A hundred kilobytes of anything state nothing and relate to themselves before the test's time is up."""
    text = unit * (100_000 // len(unit))

    assert statements(text) == []
    assert relation(text, text + "b") == "same"
