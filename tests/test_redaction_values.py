"""Values go by their names, by their place, and by the sentence, table, command or form they stand in."""

from __future__ import annotations

import json

import pytest
from support import cases
from support.made_up_secrets import RANDOM, event

from claude_mem_lite.redaction.events import redact, scrub

CASES = cases.load("redaction/forms")

VALUES = cases.load("redaction/values")
PW, PHRASE = "Harbor!Honey8481", "barrel-rabbit-whale-27"


BASE32 = "JBSW" + "Y3DP" + "EHPK" + "3PXP"
WORDS = "acid banana cactus dragon eager fabric galaxy hammer icon jacket kitten ladder"
SALT = "q:Vx2{f" + "}<W$ M7*k|n" + "Z 9+tR(e8Lw&u" + "J3=pY~s5dC@0aH^6gT;bF#1oX/iK%4vQ"
WEAK = "spring-otter"


@pytest.mark.parametrize(("text", "expected"), VALUES["by_name"])
def test_a_value_goes_by_its_name(text: str, expected: str) -> None:
    """The value of what is called a secret goes; the name, the quotes and the host stay."""
    assert redact(text.format(RANDOM[:32])) == expected.format()


@pytest.mark.parametrize(("text", "expected"), VALUES["by_place"])
def test_a_value_goes_by_its_place(text: str, expected: str) -> None:
    """What opens a login goes from addresses, cookies, options of commands and files of logins."""
    kept = redact(text.format(RANDOM))

    assert expected in kept
    assert RANDOM[:12] not in kept


@pytest.mark.parametrize("text", VALUES["long"])
def test_a_long_credential_goes_whole(text: str) -> None:
    """However long a value is, nothing of its end is left."""
    kept = redact(text.format(4 * RANDOM))

    assert "[redacted: " in kept
    assert RANDOM[-8:] not in kept


@pytest.mark.parametrize("text", VALUES["beside"])
def test_a_password_goes_by_what_stands_beside_it(text: str) -> None:
    """Brackets in quotes, pairs, fallbacks, blocks and options hide no password; in JSON in JSON neither."""
    text = text.format()
    for shown in (text, json.dumps({"body": text}), json.dumps(json.dumps({"body": text}))):
        kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response=shown))

        assert "[redacted: " in kept
        assert not any(piece in kept for piece in ("hJ9", "YUIz"))


@pytest.mark.parametrize("secret", [PW, PHRASE, "j4smin3rock3t13", RANDOM[:20]])
@pytest.mark.parametrize("text", VALUES["said"])
def test_a_password_goes_from_sentences_tables_and_calls(text: str, secret: str) -> None:
    """What people choose and what is made at random goes, by the way of hooks and by itself."""
    text = text.format(secret)
    kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response={"stdout": text}))

    assert secret not in kept
    assert secret not in redact(text)
    assert "[redacted: " in kept


@pytest.mark.parametrize("text", VALUES["random"])
def test_a_random_value_goes_from_labels_and_commands(text: str) -> None:
    """Labels of two words, sentences, commands and cookies give a random value away."""
    text = text.format(RANDOM[:40])
    kept = scrub(event(tool_name="Bash", tool_input={"command": text}))

    assert RANDOM[:40] not in kept
    assert RANDOM[:40] not in redact(text)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=Crystal1981.f9D", "f9D"), ("password=Plum1998=65O", "65O"), ("Pwd=Lemon.Hazel6413;",
        "Hazel"),
        ("vpn_secret: Harbor!Honey8481", "Honey"), ("secret_key=8YI7_lK3Uh&T6e7ZwaeeM0MKe7X", "T6e7"),
        ("<password>Fennel2011=PAS</password>", "PAS"),
    ],
)  # fmt: skip
def test_a_value_with_signs_goes_whole(text: str, left: str) -> None:
    """Points, equals signs and others in a bare value neither save it nor part it."""
    assert left not in redact(text)


@pytest.mark.parametrize(("text", "secret"), CASES["forms"])
def test_a_key_goes_by_its_form(text: str, secret: str) -> None:
    """What the form tells to be a key goes, weak or not; what stands around it stays."""
    kept = redact(text)

    assert secret not in kept
    assert kept.split("[redacted: ")[0] in text
    assert "[redacted: " in kept
