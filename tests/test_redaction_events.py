"""Redaction of whole events: secrets, private passages, ignored files, size limits and a fast path."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.made_up_secrets import RANDOM, SECRETS, event, pem
from support.processes import finished

import claude_mem_lite
from claude_mem_lite.redaction.events import redact, scrub

CASES = cases.load("redaction/ignored")

WITHHELD = "[withheld: too much to redact]"


def test_what_the_user_calls_private_goes() -> None:
    """A private passage of a prompt is removed: multi-line, nested, in any case, or not closed."""
    cases = {
        "a <private>b\nc</private> d": "a [redacted: private] d",
        "<PRIVATE>b</Private>": "[redacted: private]",
        "a <private>b <private>c</private> d</private> e": "a [redacted: private] e",
        "a <private>b</private> c <private>d": "a [redacted: private] c [redacted: private]",
        "a </private> b": "a </private> b",
    }
    for prompt, expected in cases.items():
        kept = json.loads(scrub(event(prompt=prompt, tool_response=prompt)))

        assert (kept["prompt"], kept["tool_response"]) == (expected, prompt)


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("AskUserQuestion", {"tool_response": {"answers": {"Which?": "<private>WORDS</private>"}}}),
        ("Agent", {"tool_input": {"description": "<private note>WORDS</private>"}}),
        ("SendMessage", {"tool_input": {"content": ["<private>WORDS"]}}),
        (
            "TodoWrite",
            {"tool_input": {"todos": [{"content": "<private>WORDS</private>", "status": "pending"}]}},
        ),
        ("TaskCreate", {"tool_input": {"subject": "<private>WORDS</private>", "prompt": "x"}}),
        ("Bash", {"tool_input": {"command": "ls", "description": "<private>WORDS</private>"}}),
        ("mcp__plans__make", {"tool_input": {"plan": "<private>WORDS</private>"}}),
    ],
)
def test_what_is_private_goes_from_what_is_said_to_tools(tool: str, fields: dict[str, Any]) -> None:
    """Private passages are removed from messages, answers and plans, alone or in a batch."""
    for text in (event(tool_name=tool, **fields), event(tool_calls=[{"tool_name": tool, **fields}])):
        kept = scrub(text)

        assert ("WORDS" in kept, "[redacted: private]" in kept) == (False, True)


@pytest.mark.parametrize(("path", "ignored"), CASES["content"])
def test_the_content_of_an_ignored_file_goes(path: str, ignored: bool) -> None:  # noqa: FBT001
    """Reads and writes of ignored files keep the name only; other files keep their content."""
    response = {"type": "text", "file": {"filePath": path, "content": "plain words", "numLines": 1}}
    read = event(tool_name="Read", tool_input={"file_path": path}, tool_response=response)
    write = event(tool_name="Write", tool_input={"file_path": path, "content": "plain words"})

    kept = [scrub(each) for each in (read, write)]

    mark = f"[redacted: contents of {path.rsplit('/', 1)[1]}]"
    assert [("plain words" in each, mark in each) for each in kept] == [(not ignored, ignored)] * 2
    assert path in kept[0]


@pytest.mark.parametrize(("command", "printed"), CASES["printed"])
def test_what_a_command_prints_of_an_ignored_file_goes(command: str, printed: bool) -> None:  # noqa: FBT001
    """Output is removed if a command prints an ignored file, and kept if it only names one."""
    text = event(tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "plain words"})

    kept = json.loads(scrub(text))

    assert kept["tool_input"]["command"] == command
    assert (kept["tool_response"]["stdout"] == "plain words") is not printed


@pytest.mark.parametrize(("tool", "given", "response"), CASES["ways"])
def test_no_way_leads_to_an_ignored_file(tool: str, given: dict[str, Any], response: dict[str, Any]) -> None:
    """An ignored file's content is removed from every kind of call, alone or in a batch."""
    call = {"tool_name": tool, "tool_input": given, "tool_response": response}
    for kept in (scrub(event(**call)), scrub(event(tool_calls=[call]))):
        assert ("WORDS" in kept, "[redacted: contents of .env]" in kept) == (False, True)


@pytest.mark.parametrize(("command", "stored"), CASES["written"])
def test_only_what_is_written_to_an_ignored_file_goes_from_a_command(command: str, stored: str) -> None:
    """Of a command that writes an ignored file, what it writes there is removed and the rest kept."""
    kept = json.loads(scrub(event(tool_name="Bash", tool_input={"command": command}, tool_response={})))

    assert kept["tool_input"]["command"] == stored


def test_escapes_hide_nothing() -> None:
    """A token written in JSON escapes is found, and a lone surrogate causes no error."""
    hidden = "".join(f"\\u{ord(character):04x}" for character in SECRETS["github token"])

    kept = scrub(f'{{"a": "{hidden}", "b": "\\ud83d"}}')

    assert json.loads(kept) == {"a": "[redacted: github token]", "b": "?"}


def test_a_large_event_is_cut_after_redaction() -> None:
    """The longest fields lose their middle after redaction, so no half token is left."""
    token = SECRETS["github token"]
    text = event(small="kept", one="a" * 9_000 + f" {token} " + "b" * 9_000, two=["c" * 30_000])

    kept = json.loads(scrub(text, max_chars=10_000))

    assert len(json.dumps(kept)) < 10_400
    assert (kept["small"], kept["session_id"]) == ("kept", "s")
    assert kept["one"].startswith("a" * 1_000)
    assert kept["two"][0].endswith("c" * 1_000)
    assert "characters cut …]" in kept["one"]
    assert token[:12] not in json.dumps(kept)


@pytest.mark.parametrize("offset", [12, 20, 39])
def test_no_half_token_is_left_by_a_cut(offset: int) -> None:
    """A token at the edge where a long text is split leaves no part behind."""
    before = ((pem() + "\n") * 35).ljust(12_288 - offset)
    text = before + SECRETS["github token"] + "x = 1\n" * 60_000

    assert SECRETS["github token"][:10] not in scrub(event(text=text), max_chars=4_096)


@pytest.mark.parametrize(
    "value", [list(range(200_000)), {str(number): number for number in range(100_000)}, "é\0" * 300_000]
)
def test_any_event_fits(value: Any) -> None:
    """Any oversized event is stored within the limit and as a JSON object."""
    kept = scrub(event(tool_response=value), max_chars=65_536)

    assert len(kept) <= 65_536
    assert json.loads(kept)["session_id"] == "s"


@pytest.mark.parametrize(
    "text",
    [
        '["ghp_' + "a" * 36 + '"]',
        '{"a": "ghp_' + "a" * 36,
        '{"a":' + "[" * 5_000 + "]" * 5_000 + ',"<private>":1}',
    ],
)
def test_what_cannot_be_read_is_refused(text: str) -> None:
    """Broken, non-object or deeply nested JSON raises ValueError."""
    with pytest.raises(ValueError, match=r"."):
        scrub(text)


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*SECRETS.values(), "password=", "token: '", "\n", " ", "'", "://u:", "@h", "x", RANDOM[:20]]
        )
    )
)
def test_redacting_twice_changes_nothing(pieces: list[str]) -> None:
    """Redacting redacted text changes nothing."""
    once = redact(" ".join(pieces))

    assert redact(once) == once


def test_an_ordinary_event_is_not_read(tmp_path: Path) -> None:
    """50 kB of ordinary source pass unchanged, without importing re or json."""
    import argparse

    source = Path(argparse.__file__).read_text()[:50_000]
    given = {"file_path": "/p/a.py", "content": source}
    (tmp_path / "event").write_text(event(tool_name="Write", tool_input=given))
    script = f"""
import sys
sys.path.append({str(Path(claude_mem_lite.__file__).parent.parent)!r})
from claude_mem_lite.redaction.events import redact, scrub
text = open({str(tmp_path / "event")!r}, encoding="utf-8").read()
assert scrub(text) is text
assert not {{"re", "json"}} & set(sys.modules), sys.modules
"""

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_secret_of_many_strings_is_taken_out_of_each() -> None:
    """2,000 rows with a token each lose every token."""
    rows = [{"id": row, "token": hashlib.sha256(b"%d" % row).hexdigest()} for row in range(2_000)]

    assert scrub(event(tool_response=rows)).count("[redacted: token]") == 2_000


def test_each_of_many_known_secrets_goes_wherever_it_stands_again() -> None:
    """3,000 passwords named in one string are also removed from another that doesn't name them."""
    passwords = [f"Harbor!{hashlib.sha256(b'%d' % number).hexdigest()[:9]}X7" for number in range(3_000)]
    named = "\n".join(f"password={password}" for password in passwords)
    text = event(tool_input={"content": named}, tool_response={"list": " ".join(passwords)})

    kept = json.loads(scrub(text))

    assert kept["tool_response"]["list"] == " ".join(["[redacted: password]"] * 3_000)


def test_the_longest_of_known_secrets_that_begin_alike_goes_whole() -> None:
    """If one known secret is a prefix of another, the longer one is removed in full."""
    text = event(a=f"API_TOKEN={RANDOM[:20]}\nOTHER_TOKEN={RANDOM[:40]}", b=f"x{RANDOM[:40]}y {RANDOM[:20]}")

    assert json.loads(scrub(text))["b"] == "x[redacted: token]y [redacted: token]"


def test_too_many_places_of_secrets_withhold_long_strings() -> None:
    """A string with 100,000 passwords is withheld whole; short strings are redacted and kept."""
    given = {"command": f"make TOKEN={RANDOM[:32]}"}
    printed = {"stdout": "password=Harbor!Honey8481 " * 100_000, "stderr": "done"}
    text = event(tool_name="Bash", tool_input=given, tool_response=printed)

    kept = json.loads(scrub(text))

    given, printed = {"command": "make TOKEN=[redacted: token]"}, {"stdout": WITHHELD, "stderr": "done"}
    call = {"tool_name": "Bash", "tool_input": given, "tool_response": printed}
    assert kept == {"session_id": "s", **call}


def test_a_withheld_input_withholds_the_output_too() -> None:
    """If a command is withheld its output is too, since nobody can tell what it printed."""
    command = "cat .env; " + "password=Harbor!Honey8481 " * 100_000
    text = event(tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "plain words"})

    kept = json.loads(scrub(text))

    assert (kept["tool_input"], kept["tool_response"]) == ({"command": WITHHELD}, WITHHELD)


def test_an_event_of_many_short_secrets_stays_within_bounds() -> None:
    """60,000 short secrets become one note; session, tool and file names are kept."""
    edits = [{"new_string": f"password=Harbor!Honey{number}"} for number in range(60_000)]
    text = event(tool_name="MultiEdit", tool_input={"file_path": "/p/a.py", "edits": edits})

    kept = scrub(text, max_chars=4 * len(text))

    given = {"file_path": "/p/a.py", "edits": WITHHELD}
    assert json.loads(kept) == {"session_id": "s", "tool_name": "MultiEdit", "tool_input": given}


def test_a_hook_out_of_time_stores_its_event_withheld(home: Path) -> None:
    """A hook out of time for redaction stores the event with its long strings withheld."""
    script = f"""
import sys
sys.path.append({str(Path(claude_mem_lite.__file__).parent.parent)!r})
from claude_mem_lite.hooks import event
event.run(redaction_s=0.000001)
"""
    stdout = f"API_TOKEN={RANDOM[:40]}\n" + "x = 1\n" * 10_000
    call = {"tool_input": {"command": f"make TOKEN={RANDOM[:32]}"}, "tool_response": {"stdout": stdout}}
    text = event(hook_event_name="PostToolUse", tool_name="Bash", **call)

    command = (sys.executable, "-I", "-S", "-c", script)
    project = {**os.environ, "CLAUDE_PROJECT_DIR": "/p"}
    done = finished(*command, input=text, env=project, timeout=60)

    with sqlite3.connect(home / "queue.db") as database:
        rows = database.execute("SELECT session_id, tool_name, raw_output FROM pending_queue").fetchall()
    database.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert [row[:2] for row in rows] == [("s", "Bash")]
    kept = json.loads(rows[0][2])
    assert kept["tool_input"] == {"command": "make TOKEN=[redacted: token]"}
    assert kept["tool_response"] == {"stdout": WITHHELD}
