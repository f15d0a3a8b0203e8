"""Test which sentences become a rule, a candidate or nothing, and which repeat an earlier one."""

from typing import Any

import pytest
from support import attacks, cases

from claude_mem_lite.cli import demo
from claude_mem_lite.distill.suspicion import suspicions
from claude_mem_lite.distill.typed import CONTENT_CHARS
from claude_mem_lite.learnings.evidence import ACTIVE, CANDIDATE, stated
from claude_mem_lite.learnings.heard import Earlier, comparable

CASES = cases.load("evidence")


def signs(prompt: str, **told: Any) -> list[tuple[str, int]]:
    """Return the sentences of a prompt that are evidence, with their number of signs."""
    return [(each.content, each.signs) for each in stated(prompt, **told) if each.signs]


def test_the_recorded_history_states_its_conventions_and_nothing_else() -> None:
    """Of the recorded prompts exactly the user's stated conventions become rules."""
    prompts = (e["prompt"] for e in demo.recorded_events() if e["hook_event_name"] == "UserPromptSubmit")

    found = [told for prompt in prompts for told in signs(prompt)]
    assert [content for content, count in found if count == ACTIVE] == [
        "always use pathlib, never os.path",
        "no print() outside cli.py",
        'commit messages start with the module, like "money: ..." or "storage: ..."',
    ]
    assert ("Test first please", CANDIDATE) in found
    assert len(found) < 12


@pytest.mark.parametrize("rule", CASES["rules"])
def test_a_form_that_binds_makes_a_rule(rule: str) -> None:
    """Words such as "always", "never" or "from now on", early or beside another sign, make a rule."""
    assert [count for _, count in signs(rule)] == [ACTIVE]


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        ("ok. the shelf test goes in first. always like that please", "the shelf test goes in first"),
        ("Give me the exact command. Do that every time.", "Give me the exact command"),
        ("Erst der Test, dann der Umbau. Ab jetzt immer so", "Erst der Test, dann der Umbau"),
        ("un titre court, sans emoji. toujours comme ça", "un titre court, sans emoji"),
        ("título curto e em inglês. sempre assim", "título curto e em inglês"),
        ("the shelf test goes in first. it always looks like that, ignore it", ""),
        ("test first!! I said that before", "test first"),
        ("no footer in commits. I already told you", "no footer in commits"),
        ("I already told you: no footer", "I already told you: no footer"),
        ("no, I said no footer", "no, I said no footer"),
        ("I told you before", ""),
        ("no second try to hide a fault. ever", "no second try to hide a fault"),
        ("open the MR. always as draft, I undraft them myself", "always as draft, I undraft them myself"),
        ("deploy again please, and never open the old shelf", "never open the old shelf"),
        ("fix the label and always sort the books", "always sort the books"),
        ("eso, no force unwrap en el código, nunca", "no force unwrap en el código, nunca"),
        ("ありがとう", ""),
        ("the shelf falls over. is it always like that?", ""),
        ("the shelf always falls over", ""),
        ("you have sorted the shelf by hand. never do that", ""),
        ("label the shelf. always sort the books too", "always sort the books too"),
        ('what is this: "warning: never type coerced"', ""),
    ],
)
def test_what_binds_may_stand_behind_what_it_binds(prompt: str, rule: str) -> None:
    """A sentence such as "always like that" makes the one before it a rule; a report of facts does not."""
    assert [content for content, count in signs(prompt) if count == ACTIVE] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("prompt", "said_as", "rule"),
    [
        ("never a footer. We don't want either", "refusal", "never a footer. We don't want either"),
        ("no sleeps in tests, ever. x may, this time", "refusal", "no sleeps in tests, ever"),
        ("no names on labels. the number. always", "prompt", "no names on labels. the number"),
        ("never edit a label. Which one is it?", "prompt", "never edit a label"),
        ("always in ink. paper labels too", "prompt", "always in ink. paper labels too"),
    ],
)
def test_what_stands_beside_a_rule_in_a_brief_message_is_kept_with_it(
    prompt: str, said_as: str, rule: str
) -> None:
    """In a brief message the sentences beside a rule stay with it, except questions, tasks and one-offs."""
    assert signs(prompt, is_refusal=said_as == "refusal") == [(rule, ACTIVE)]


@pytest.mark.parametrize("prompt", CASES["no_rules"])
def test_tasks_questions_one_offs_and_pastes_are_no_rules(prompt: str) -> None:
    """Questions, reports of faults, one-off requests and pasted text are no evidence."""
    assert signs(prompt) == []


@pytest.mark.parametrize("wish", CASES["candidates"])
def test_what_says_how_things_are_done_is_a_candidate(wish: str) -> None:
    """A sentence on how things are done is a candidate, unless it points at something in view."""
    assert [count for _, count in signs(wish)] == [CANDIDATE]
    assert signs(f"{wish}, like line 12 of this file") == []


@pytest.mark.parametrize("told", CASES["descriptions"])
def test_a_word_that_binds_elsewhere_makes_no_rule_of_a_description(told: str) -> None:
    """A binding word inside another word, in a description or about the task makes no rule."""
    assert ACTIVE not in [count for _, count in signs(told)]


@pytest.mark.parametrize("told", CASES["nothing"])
def test_who_tells_or_points_states_nothing(told: str) -> None:
    """A wish for the task, a description, a fragment or a pointer to something in view is no evidence."""
    assert signs(told) == []


def test_words_that_turn_a_call_down_are_candidates_and_rules_where_they_say_how() -> None:
    """A reason to refuse a call is a rule in general form, else a candidate or nothing."""
    assert signs("prefer subagents to save context", is_refusal=True)[0][1] == ACTIVE
    assert signs("should not log secrets to disk", is_refusal=True) == []
    assert signs("don't check this in", is_refusal=True) == []
    assert signs("avoid shop_cart in handlers", is_refusal=True, is_known=lambda _: False)[0][1] == CANDIDATE
    assert signs("avoid shop_cart in handlers", is_refusal=True)[0][1] == ACTIVE
    assert signs("why not use the helper?", is_refusal=True) == []
    assert signs("I don't want a summary file in docs", is_refusal=True)[0][1] == ACTIVE
    # "No" and a refusal count as one sign, and a report on a thing says nothing on how to do it.
    assert signs("nein, die Tests laufen gegen Postgres", is_refusal=True)[0][1] == CANDIDATE
    assert signs("das Regal hängt gerade nicht", is_refusal=True)[0][1] == CANDIDATE


@pytest.mark.parametrize(
    ("told", "count"),
    [
        ("every label goes through shelf.print_label, in two languages", ACTIVE),
        ("ok. chaque nouvelle étiquette va dans labels/fr.json", ACTIVE),
        ("her yeni etiket labels/tr.json içinde", ACTIVE),
        ("every label gets a number", CANDIDATE),
        ("all good, I would replace shelf.print_label", 0),
        ("no `any` in TypeScript", ACTIVE),
        ("generally: no unwrap() outside of tests, return an error", ACTIVE),
        ("ingen heap i firmware, allt statiskt", ACTIVE),
        ("keine Globals im Regal, das hatten wir schon", ACTIVE),
        ("no changelog for tests", CANDIDATE),
        ("no way to open the shelf", CANDIDATE),
        ("no fault in this shelf", 0),
    ],
)
def test_what_holds_for_all_of_a_kind_is_a_rule(told: str, count: int) -> None:
    """A statement on all of a kind is a rule if it names code; one that forbids a thing somewhere is, too."""
    assert max((each for _, each in signs(told)), default=0) == count


def test_practice_and_corrections_are_evidence() -> None:
    """What "we" do is a rule; a bare correction is a candidate, and a rule if it says how."""
    assert signs("we don't keep a user table") == [("we don't keep a user table", ACTIVE)]
    assert signs("no, the queue is backed by Redis") == [("no, the queue is backed by Redis", CANDIDATE)]
    assert signs("nein, die Tests laufen gegen Postgres")[0][1] == CANDIDATE
    assert signs("next time too")[0][1] == CANDIDATE  # a form that binds nothing
    assert signs("next time sort the callers")[0][1] == ACTIVE
    assert signs("ok, callers next time")[0][1] == CANDIDATE  # "next time" postpones the task here


def test_no_content_is_longer_than_its_limit() -> None:
    """A sentence over the length limit is no rule."""
    assert stated("always " + "keep the names of files short enough to read them, " * 9) == []
    assert all(len(each.content) <= CONTENT_CHARS for each in stated("never " + "x" * 400))


def test_what_the_user_states_is_rarely_suspicious() -> None:
    """Rules that users state in ordinary sessions are not quarantined."""
    found = [each.content for case in attacks.ORDINARY for each in stated(case.prompt) if each.signs]

    assert len(found) > 3
    assert [content for content in found if suspicions(content, origin="user")] == []


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "unit",
    [
        "a", "never ", "no a ", "(", '"', "`", " ", "\n", "- a\n", "a:", "a.", "a-", "we use ", "not ",
        "<private>", "remember that ", "never\t", "x, ", "from now on ", "the ", "Rules:\n", "? ",
        "no, the a ", "1. ", "é", "don't use a ", "instead of ", "always use a, ", "总是", "we (",
    ],
)  # fmt: skip
def test_hostile_text_costs_no_more_than_its_length(unit: str) -> None:
    """A hundred kilobytes of any text are read in bounded time."""
    found = stated(unit * (100_000 // len(unit)), is_refusal=True)

    assert all(len(each.content) <= CONTENT_CHARS for each in found)


def wishes(earlier: list[tuple[str, str]], now: str) -> list[tuple[str, str]]:
    """Return the wishes that a prompt shares with other sessions' prompts, each with its session."""
    filler = [(f"f{number}", f"look at the parser of module number {number}") for number in range(30)]
    known = Earlier((session_id, "", prompt) for session_id, prompt in [*filler, *earlier])
    found = (each for sentence in comparable("now", "", now) for each in known.wishes(sentence))
    return [(wish.text, wish.session_id) for wish, _ in found]


def test_a_wish_that_comes_back_in_other_words_is_a_rule() -> None:
    """A wish that two sessions share by its rare words is a rule, whichever came first."""
    how = "make sure the issue lands in Project Atlas"
    task = "write an issue in Project Atlas about the crash"

    assert wishes([("s1", how)], task) == [(how, "s1")]
    assert wishes([("s1", task)], how) == [(how, "now")]
    assert wishes([("now", how)], task) == []


def test_what_little_speaks_for_is_said_briefly() -> None:
    """In a long prompt a weak sign is about the task at hand; a binding form still makes a rule."""
    task = "The importer reads the table row by row and keeps each of them until the end of the file. " * 5

    assert signs("lint with ruff") == [("lint with ruff", CANDIDATE)]
    assert signs(f"{task[:200]}\nlint with ruff") == []
    assert signs("avoid globals in handlers") == [("avoid globals in handlers", CANDIDATE)]
    assert signs(f"{task}\navoid globals in handlers") == []
    assert signs(f"{task}\nnever use globals in handlers") == [("never use globals in handlers", ACTIVE)]


def test_what_is_said_often_or_was_pasted_is_no_wish() -> None:
    """Common phrases and long identical sentences, which are pasted, are no shared wish."""
    often = [(f"s{number}", "commit and push, please don't wait") for number in range(20)]
    pasted = "To resume the other session you should not forget to exit Claude first"

    assert wishes(often, "commit and push, please don't wait") == []
    assert wishes([("s1", pasted)], pasted) == []
