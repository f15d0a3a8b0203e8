"""Redaction of large texts: cheap looks rule out most beginnings of tokens and names, none that is there."""

from __future__ import annotations

import json
import random
import string
from functools import cache

import pytest

from claude_mem_lite import redact
from claude_mem_lite.redaction_formats import MARKS_IN_RUNS, find_marks

ALNUM = string.ascii_letters + string.digits
EDGES = ("\n", "\\n", "\\t", "C:\\", "\x1b[32m", "\x1b[m", "7m", "=", "-", "_", "é", "\\u00e9")


@cache
def noise(size: int = 60_000) -> str:
    """Return lines of random letters and digits, all of them long enough to be tokens."""
    rng = random.Random(7)  # noqa: S311  (no secret is made)
    return "\n".join("".join(rng.choices(ALNUM, k=40)) for _ in range(size // 41))


@pytest.mark.parametrize("edge", EDGES)
def test_marks_in_a_large_text_are_found_behind_every_edge(edge: str) -> None:
    """Each kind of token in a large text is found by its beginning, whatever stands before it."""
    tokens = "\n".join(f"{edge}{mark}{noise()[:40]}" for mark in MARKS_IN_RUNS)

    missed = set(MARKS_IN_RUNS) - set(find_marks(f"{noise()}\n{tokens}"))

    assert missed == set()


def test_most_marks_are_ruled_out_of_random_letters() -> None:
    """Random letters are not searched for every beginning of a token: few of their words begin one."""
    from claude_mem_lite.redaction_formats import _likely_marks

    assert len(_likely_marks(noise().encode())) < len(MARKS_IN_RUNS) / 4


def test_a_token_among_a_megabyte_of_letters_is_taken_out() -> None:
    """The same holds for a whole event that is cut: the token goes, the letters stay."""
    token = "gh" + "p_" + "0123456789abcdefghijABCDEFGHIJ456789"
    event = json.dumps({"tool_name": "Bash", "tool_response": f"{token}\n{noise(1_000_000)}"})

    scrubbed = redact.scrub(event)

    assert token not in scrubbed
    assert "[redacted: github token]\\n" in scrubbed
    assert noise()[:400] in json.loads(scrubbed)["tool_response"]


def test_names_of_ignored_files_in_a_large_text_are_those_of_a_small_one() -> None:
    """Each ignored file, of ours or the user's, is found in a large text as in a small one."""
    patterns = (*redact.IGNORED_FILES, "*.a", "plain", "x.y.z", "dir/some.cfg")
    files = redact.IgnoredFiles(patterns, redact.Looks())
    filler = "words of prose. And more. " * 400

    missed = [core for core in files.cores if core not in files.cores_in(f"{filler}{core}z {filler}")]

    assert missed == []
    assert files.cores_in(filler) == []


def test_a_private_key_among_heads_of_keys_is_taken_out() -> None:
    """Heads of keys without a key are no key; one with lines among them is."""
    head, end = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"

    assert redact.redact(f"{head}\n" * 50) == f"{head}\n" * 50
    assert line not in redact.redact(f"{head}\n" * 50 + f"{head}\n{line}\n{end}\n")


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
    """A form is found by its sign also where a part of the sign is looked for first."""
    assert "[redacted" in redact.redact(text)
