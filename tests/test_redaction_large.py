"""Redaction of large and hostile texts: fast filters miss no token, and no text takes too long."""

import json
import random
import string
import sys
from functools import cache
from pathlib import Path

import pytest
from support.made_up_secrets import event

from claude_mem_lite.redaction import contents
from claude_mem_lite.redaction.events import redact, scrub
from claude_mem_lite.redaction.marks import MARKS_IN_RUNS, find_marks, likely_marks
from claude_mem_lite.redaction.vocabulary import IGNORED_FILES, IgnoredFiles, Looks

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

import pathological_texts

ALNUM = string.ascii_letters + string.digits
EDGES = (
    "\n", "\\n", "\\t", "C:\\", "\x1b[32m", "\x1b[m", "7m", "=", "-", "_", "é", "\\u00e9",
    "%3D", "=3D", "\\x22", "\\042", "\\0", "\\v",
)  # fmt: skip


@cache
def noise(size: int = 60_000) -> str:
    """Return lines of 40 random letters and digits, each long enough to be a token."""
    rng = random.Random(7)  # noqa: S311  (no secret is made)
    return "\n".join("".join(rng.choices(ALNUM, k=40)) for _ in range(size // 41))


@pytest.mark.parametrize("edge", EDGES)
def test_marks_in_a_large_text_are_found_behind_every_edge(edge: str) -> None:
    """In a large text every token prefix is found, whatever precedes it."""
    tokens = "\n".join(f"{edge}{mark}{noise()[:40]}" for mark in MARKS_IN_RUNS)

    missed = set(MARKS_IN_RUNS) - set(find_marks(f"{noise()}\n{tokens}"))

    assert missed == set()


def test_most_marks_are_ruled_out_of_random_letters() -> None:
    """In random letters, fewer than a quarter of the token prefixes need a search."""
    assert len(likely_marks(noise().encode())) < len(MARKS_IN_RUNS) / 4


def test_a_token_among_a_megabyte_of_letters_is_taken_out() -> None:
    """In an event of a megabyte, the token is removed and the text around it kept."""
    token = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ456789"
    event = json.dumps({"tool_name": "Bash", "tool_response": f"{token}\n{noise(1_000_000)}"})

    scrubbed = scrub(event)

    assert token not in scrubbed
    assert "[redacted: github token]\\n" in scrubbed
    assert noise()[:400] in json.loads(scrubbed)["tool_response"]


def test_names_of_ignored_files_in_a_large_text_are_those_of_a_small_one() -> None:
    """Every ignored file name, ours or the user's, is found in a large text, and none in prose."""
    patterns = (*IGNORED_FILES, "*.a", "plain", "x.y.z", "dir/some.cfg")
    files = IgnoredFiles(patterns, Looks())
    filler = "words of prose. And more. " * 400

    missed = [core for core in files.cores if core not in files.cores_in(f"{filler}{core}z {filler}")]

    assert (missed, files.cores_in(filler)) == ([], [])


def test_a_private_key_among_heads_of_keys_is_taken_out() -> None:
    """Fifty headers without a key are kept; a key that follows them is removed."""
    head, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"

    assert redact(f"{head}\n" * 50) == f"{head}\n" * 50
    assert line not in redact(f"{head}\n" * 50 + f"{head}\n{line}\n{end}\n")


@pytest.mark.parametrize(
    "text",
    [
        "snyk login kJ83hdQ92nBv7Lw3Xz5T",
        "h.login=kJ83hdQ92nBv7Lw3Xz5T",
        "the totp secret: JBSWY3DPEHPK3PXPJBSWY3DP",
        "sign in with admin / Harbor!Honey8481",
        "creds are admin / Harbor!Honey8481",
    ],
)
def test_signs_that_are_looked_for_in_two_steps_still_tell(text: str) -> None:
    """Secrets found in two steps, by a part of their sign first, are removed."""
    assert "[redacted" in redact(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a", "eyJ", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----\n", "://", "://a:", "key=", "token",
        "@", "password: ", "password,", "auth=", "A==", "pw", '"', " ", "\\", "sk-", "ghp_", "<private>",
        "secret='", "Bearer ", "A1b", "=", "\n", "password is ", "| password | a1Harbor99 |\n",
        "password,x\n", "login(a, ", "kind: secret data: a: YWJj\n", "insert (password) values ('", "密码 1 ",
        "creds a1:b/", "htpasswd -b a b ", "password=a=", "abcde ",
        "define('a_key', '", "totp(", "[]byte('",
    ],
)  # fmt: skip
def test_no_text_takes_for_ever(piece: str) -> None:
    """100 kB of repeated secret markers are redacted in time, and the same on a second pass."""
    once = redact(piece * (100_000 // len(piece)))

    assert redact(once) == once


@pytest.mark.parametrize("piece", ["mnemonic: ", "seed: word "])
def test_many_words_of_a_phrase_give_an_answer(piece: str) -> None:
    """100 kB of repeated seed phrase labels are redacted in time; each pass removes some of them."""
    assert "[redacted: seed phrase]" in redact(piece * (100_000 // len(piece)))


@pytest.mark.parametrize("shape", pathological_texts.SHAPES)
def test_no_shape_of_text_breaks_redaction(shape: str) -> None:
    """Every pathological text gives a valid event within the limit, its names kept."""
    text = pathological_texts.text(shape, 20_000, random.Random(1))  # noqa: S311  (no secret is made)
    bash = event(tool_name="Bash", tool_input={"command": "make"}, tool_response={"stdout": text})

    kept = scrub(bash, max_chars=16_384)

    assert len(kept) <= 16_384
    assert json.loads(kept) | {"tool_response": None} == json.loads(bash) | {"tool_response": None}


@pytest.mark.parametrize("filler", ["\n", "a;", "a|b\n", "'a;b' && "])
def test_only_commands_that_name_an_ignored_file_are_read(
    filler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a script of 100,000 characters, the work is that of its two commands with an ignored file."""
    read: list[str] = []
    prints = contents._prints
    monkeypatch.setattr(contents, "_prints", lambda part, joint: read.append(part) or prints(part, joint))
    command = f"ls .env; {filler * (50_000 // len(filler))}; {filler * (50_000 // len(filler))}; cat .env"
    bash = event(tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "plain words"})

    kept = json.loads(scrub(bash))

    assert kept["tool_response"] == {"stdout": "[redacted: contents of .env]"}
    assert [part.strip() for part in read] == ["ls .env", "cat .env"]
