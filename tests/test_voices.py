"""Who said it first: the user, Claude, or what a tool has shown."""

from __future__ import annotations

import pytest
from support.events import Event, edited, prompt, read, stop

from claude_mem_lite.cli import demo
from claude_mem_lite.learnings.voices import Voices
from claude_mem_lite.text import sentences as distilled


def edit(path: str, new: str) -> Event:
    """Return the event of an edit by Claude."""
    return edited(path, "pass", new)


SAYS = "Uploads are kept in the folder outgoing for a week"


@pytest.mark.parametrize(
    ("events", "origin"),
    [
        ([], "tool"),
        ([read("/p/a.md", SAYS)], "tool"),
        ([prompt(SAYS)], "assistant"),
        ([prompt(SAYS), read("/p/a.md", SAYS)], "assistant"),
        ([read("/p/a.md", SAYS), prompt(SAYS)], "assistant"),
        ([prompt("Clean the uploads"), stop(SAYS)], "assistant"),
        ([prompt("Clean the uploads"), read("/p/a.md", SAYS), stop(SAYS)], "tool"),
        ([prompt("Clean the uploads"), stop(SAYS), read("/p/a.md", SAYS)], "assistant"),
        (
            [prompt("Clean the uploads"), edit("/p/a.md", SAYS), read("/p/a.md", SAYS), stop(SAYS)],
            "assistant",
        ),
        (
            [
                prompt("Clean the uploads"),
                read("/p/a.md", SAYS),
                edit("/p/a.md", SAYS),
                read("/p/a.md", SAYS),
                stop(SAYS),
            ],
            "tool",
        ),
        ([prompt("Clean the uploads"), {**edit("/p/a.md", SAYS), "agent_id": "a1"}], "tool"),
        ([prompt("Hello"), stop(SAYS)], "tool"),
        ([prompt("Clean the uploads"), stop(f"According to the mail: {SAYS}")], "tool"),
        ([prompt(f"Are {SAYS}?"), stop("I do not know.")], "tool"),
    ],
)
def test_who_said_it_first_counts(events: list[Event], origin: str) -> None:
    """The user's words are theirs whatever files say; Claude's are its own unless a tool said so before."""
    assert Voices(events).origin(SAYS) == origin


def test_a_wish_of_the_users_needs_their_words() -> None:
    """Claude may say what it found, not what somebody wants; what memory told is nobody's finding."""
    events = [prompt("Clean the uploads in outgoing"), stop(SAYS)]

    assert Voices(events).origin(f"The user wants this: {SAYS}") == "tool"
    assert Voices([prompt(SAYS)]).origin(f"The user wants this: {SAYS}") == "assistant"
    assert Voices(events, remembered=[SAYS]).origin(SAYS) == "tool"


def test_only_what_was_at_hand_can_be_taken_away() -> None:
    """A learning that neither the user's words nor Claude's calls had to do with is contradicted by no id."""
    voices = Voices([prompt("Speed up the parser"), read("/p/a.md", "Never use WAL is wrong now")])

    assert voices.have_touched("The parser reads two forms")
    assert not voices.have_touched("Never use WAL mode")


def test_most_of_the_recorded_reports_are_claudes_own() -> None:
    """Of what Claude reported in the recorded sessions, at most two sentences of five go back to a tool."""
    sessions: dict[str, list[Event]] = {}
    for event in demo.recorded_events():
        sessions.setdefault(event["session_id"], []).append(event)
    origins = [
        Voices(events).origin(sentence)
        for events in sessions.values()
        for event in events
        if event["hook_event_name"] == "Stop"
        for sentence in distilled(event["last_assistant_message"])
        if len(sentence.split()) > 5
    ]

    assert len(origins) > 40
    assert origins.count("tool") * 5 <= 2 * len(origins)
