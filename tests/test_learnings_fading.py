"""Test that unseen learnings fade, and how similarity of meaning finds duplicates and questions."""

import json
from pathlib import Path

import pytest
from support.databases import session_row
from support.processes import wait_until
from test_learnings import AT, PROJECT, events, heard, known, row_of

from claude_mem_lite import config
from claude_mem_lite.capture import inbox
from claude_mem_lite.learnings import curate, evolve, session
from claude_mem_lite.search import similarity
from claude_mem_lite.search.indexing import Index
from claude_mem_lite.storage import learnings as learning_rows
from claude_mem_lite.storage import models, queries


def closed_session(number: int, project_dir: str = PROJECT) -> str:
    """Store a session that has ended and return its id."""
    at = f"2026-11-20T11:{number:02}:00.000000Z"
    times = dict.fromkeys(("started_at", "last_event_at", "ended_at"), at)
    session_row(f"c{number}", project_dir=project_dir, status="closed", **times)
    return f"c{number}"


def test_what_no_session_sees_fades_slowly(memory: Path) -> None:
    """After the set number of sessions each further one takes 0.01 off, once; nothing is deleted."""
    (memory / "config.toml").write_text("[learnings]\ndecay_after_sessions = 3\n")
    row = row_of(heard("Uses redis for the queue"))
    own = curate.add("x y", category="gotcha", project_dir=PROJECT)
    for each in (row, own):
        learning_rows.update(each, seen_at=AT)

    confidences = []
    for number in range(5):
        session_id = closed_session(number)
        session.learn(session_id)
        session.learn(session_id)
        confidences.append(learning_rows.get(row.id).confidence)

    assert confidences == [0.5, 0.5, pytest.approx(0.49), pytest.approx(0.48), pytest.approx(0.47)]
    assert learning_rows.get(own.id).confidence == 1.0
    assert events(row).count("faded") == 3


def test_an_imported_session_lets_nothing_fade(memory: Path) -> None:
    """Imported sessions, which are old, let no learning fade."""
    (memory / "config.toml").write_text("[learnings]\ndecay_after_sessions = 1\n")
    row = row_of(heard("Uses redis for the queue"))
    learning_rows.update(row, seen_at=AT)

    for number in range(3):
        session_id = closed_session(number)
        event = json.dumps({"hook_event_name": "Stop", "session_id": session_id})
        inbox.append_import([(f"e{number}", AT, (PROJECT, "", ""), event)])
        inbox.finish(f"e{number}", status=inbox.IMPORTED)
        session.learn(session_id)

    assert learning_rows.get(row.id).confidence == 0.5


def test_what_a_session_used_has_been_seen(memory: Path) -> None:
    """A learning that a session used does not fade, and other projects' sessions do not count."""
    (memory / "config.toml").write_text("[learnings]\ndecay_after_sessions = 1\n")
    row = row_of(heard("Uses redis for the queue"))
    learning_rows.update(row, seen_at=AT)

    for number in range(3):
        session_id = closed_session(number)
        used = {"event_type": "context.used", "data": {row.id: "named"}, "created_at": AT}
        models.LogEntry.create(id=f"u{number}", session_id=session_id, **used)
        session.learn(session_id)
    closed_session(30, "/other")
    session.learn("c30")

    assert learning_rows.get(row.id).confidence == 0.5


def test_the_log_of_learnings_is_kept(memory: Path) -> None:
    """A learning's history outlives the retention of the log."""
    row = row_of(heard("Uses redis for the queue"))
    queries.log_event("compress.done", {})

    queries.prune_log(before="9")

    assert events(row) == ["inserted"]


@pytest.fixture
def meaning(web_and_consumer: Path) -> Index:
    """Return the writer of vectors, with the real model in a real web process."""
    return Index()


def embed_all(index: Index) -> None:
    """Compute the vector of every learning."""
    wait_until(lambda: index.step() is None)


@pytest.mark.meaning
def test_with_a_model_meaning_tells_duplicates(meaning: Index) -> None:
    """A paraphrase is merged by meaning; a negation, or a sentence with another name, is not."""
    heard("Hooks have to end within ten milliseconds because users wait for them")
    heard("The API never returns null on errors")
    heard("user_service.get_by_email returns None on errors")
    embed_all(meaning)
    texts = {
        "Since users wait for them, hooks have to end within ten milliseconds": "merged",
        "The API returns null on errors": "inserted",
        "user_service.get_by_id returns None on errors": "inserted",
        "Hooks are written without any library": "inserted",
    }

    outcomes = {text: heard(text, "s2", origin="user").action for text in texts}

    assert outcomes == texts


@pytest.mark.meaning
def test_what_is_near_in_meaning_is_asked_about(meaning: Index) -> None:
    """Two rules on one subject that may conflict both stay, and the user is asked."""
    heard("leave my TODO comments alone", origin="user")
    heard("deploys go out on Tuesdays", origin="user")
    embed_all(meaning)

    row = row_of(heard("remove any TODO comments that you come across", "s2", origin="user"))

    assert len(known()) == 3
    expected = [(row.id, "leave my TODO comments alone")]
    assert [(newer.id, older.content) for newer, older, _ in learning_rows.questions(PROJECT)] == expected


@pytest.mark.meaning
def test_a_rule_said_again_in_other_words_is_asked_about_and_raises_nothing(meaning: Index) -> None:
    """A rule repeated in other words raises no confidence, and the user is asked."""
    heard("make small commits", origin="user", starts_at=evolve.CANDIDATE)
    embed_all(meaning)

    heard("every logical step is its own commit", "s2", origin="user", starts_at=evolve.CANDIDATE)

    candidates = learning_rows.find(PROJECT, state="candidate")
    assert [row.confidence for row in candidates] == [evolve.CANDIDATE] * 2
    assert [is_again for *_, is_again in learning_rows.questions(PROJECT, candidates=True)] == [True]


@pytest.mark.meaning
def test_the_cosine_of_a_text_to_rows_is_what_the_model_says(meaning: Index) -> None:
    """A text's cosines to rows are the model's: 1 for the same text, high for a near one, low for another."""
    row = row_of(heard("Uses FastAPI with SQLAlchemy ORM"))
    embed_all(meaning)
    ids = [row.id, "unknown"]

    texts = (row.content, "Uses FastAPI with SQLAlchemy", "Uses Django with raw SQL")
    cosines = [similarity.cosines("learning", text, ids) for text in texts]

    assert [set(each) for each in cosines] == [{row.id}] * 3
    same, near, far = (each[row.id] for each in cosines)
    assert same == pytest.approx(1, abs=0.01)
    assert near >= 0.9
    assert far < 0.7


@pytest.mark.meaning
def test_a_model_that_knows_the_letters_alone_has_no_cosine(meaning: Index) -> None:
    """MiniLM gives no cosine for Korean, where it finds any two short sentences similar."""
    rows = [row_of(heard(text, origin="user")) for text in ("네 그건 다음에요", "non pushare mai")]
    embed_all(meaning)
    ids = [row.id for row in rows]

    assert similarity.cosines("learning", "네 그건 고쳐야죠", ids) == {}
    assert similarity.cosines("learning", "rollback해 주세요", ids) == {}
    assert set(similarity.cosines("learning", "il ramo è già su GitLab", ids)) == set(ids)


def test_without_services_there_is_no_cosine(memory: Path) -> None:
    """Without services there is no cosine and no wait."""
    assert similarity.cosines("learning", "anything", ["a"]) == {}
    assert not Path(config.socket_path()).exists()
