"""Redaction of tokens, of values by name, place and form, and of what secret commands print."""

import base64
import hashlib
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.made_up_secrets import BODY, HEX, RANDOM, SECRETS, event, pem

from claude_mem_lite.redaction.events import redact, scrub
from claude_mem_lite.redaction.printers import printer_of

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))
import redaction as benchmark

FURTHER = cases.load("redaction/further")
AROUND = [
    "{}", "x {} y", '"{}"', "'{}'", "={}", "({})", "\n{}\n", "\x1b[32m{}\x1b[0m", "\x1b[01;31m{}\x1b[m",
    "`{}`", "[{}]", "\\n{}\\n", "     1→{}", "https://u:{}@h.example",
]  # fmt: skip
ESCAPES = [
    "%3D", "%22", "%2f", "%C3%A9", "=3D", "\\u003d", "\\x22", "\\042", "\\0", "\\a", "\\b", "\\f", "\\v",
]  # fmt: skip
strings = st.text(max_size=60)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "token"), [*SECRETS.items(), ("api key", "sk-" + "proj-" + RANDOM[:40])])
def test_a_token_goes_wherever_it_stands(kind: str, token: str, around: str) -> None:
    """A token is replaced by its kind's name, and the text around it is kept."""
    assert redact(around.format(token)) == around.format(f"[redacted: {kind}]")


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize(
    "token", [*SECRETS.values(), "fc-" + HEX[:32], "sk_" + HEX[:48], "key-" + HEX[:32], "s." + RANDOM[:24]]
)
def test_a_token_goes_after_an_escape(token: str, escape: str) -> None:
    """A token is removed although an escape that ends in a letter or digit precedes it."""
    text = f"see id{escape}{token} here"
    fast = scrub(event(text=text))

    assert json.loads(fast)["text"] == redact(text)
    assert token[-10:] not in redact(text)


@pytest.mark.parametrize("token", FURTHER["tokens"])
@pytest.mark.parametrize("around", ["see {} here", '"{}"', "\n{}\n", "\x1b[32m{}\x1b[m"])
def test_a_token_of_a_further_service_goes(token: str, around: str) -> None:
    """Tokens of further services are removed by their prefix, the same by scrub and redact."""
    text = around.format(token)
    fast = scrub(event(text=text))

    assert token[-10:] not in fast
    assert json.loads(fast)["text"] == redact(text)


@settings(deadline=None)
@given(before=strings, after=strings, kind=st.sampled_from(sorted(SECRETS)))
def test_no_surroundings_save_a_token(before: str, after: str, kind: str) -> None:
    """A token is removed between any two texts, and the event stays valid JSON."""
    text = event(a={"b": [f"{before} {SECRETS[kind]} {after}"]}, c=before)

    kept = scrub(json.dumps(json.loads(text)))

    assert SECRETS[kind] not in kept
    assert json.loads(kept).keys() == json.loads(text).keys()


@pytest.mark.parametrize("prefix", ["", "    ", "+", "> ", "12\t", "     7→"])
@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_private_key_goes_however_it_is_shown(prefix: str, label: str) -> None:
    """A key block loses every line, whole or without its start or its end."""
    whole = pem(prefix=prefix, label=label)
    beheaded = "\n".join(whole.split("\n")[1:])
    for text in (whole, pem(end=False, prefix=prefix, label=label), beheaded):
        kept = redact(f"before\n{text}\nafter it all")

        assert not any(line in kept for line in BODY)
        assert "[redacted: private key]" in kept
        assert kept.startswith("before\n")
        assert kept.endswith("\nafter it all")


@pytest.mark.parametrize(
    "prefix",
    [
        "web-1  | ", "2026-11-27T10:00:00.123Z ", "Nov 27 10:00:00 host app[123]: ", "[INFO] ", "INFO - ",
        "; ", "REM ", "\u200b", '{"level":"info","msg":"',
    ],
)  # fmt: skip
def test_a_private_key_goes_from_a_log(prefix: str) -> None:
    """A key with a log's prefix on each line loses every line, also without its start or its end."""
    whole = pem(prefix=prefix)
    beheaded = "\n".join(whole.split("\n")[1:])
    for text in (whole, pem(end=False, prefix=prefix), beheaded):
        kept = redact(f"before\n{text}\n{prefix}after it all")

        assert not any(line in kept for line in BODY)
        assert kept.startswith("before\n")
        assert kept.endswith(f"\n{prefix}after it all")


@pytest.mark.parametrize(
    "joint", ["%0A", "&#10;", "&#xA;", "<br>", "=0A=\n", "`n", '" & _\n"', ";", "_", "\n\u200b", "\\012"]
)
@pytest.mark.parametrize("length", [64, 12])
def test_a_private_key_goes_whatever_joins_its_lines(joint: str, length: int) -> None:
    """Everything between a key's BEGIN and END goes, however its lines are joined and however short."""
    body = base64.b64encode(hashlib.shake_256(b"claude-mem").digest(288)).decode()
    lines = [body[at : at + length] for at in range(0, len(body), length)]
    head, *_, end = pem().split("\n")
    shown = joint.join([head, *lines, end])
    for text in (shown, shown.replace(" ", "%20")):
        kept = redact(f"before {text} after")

        assert kept == "before [redacted: private key] after"


def test_a_private_key_on_one_line_goes() -> None:
    """A key inside a JSON string with escaped line breaks is removed."""
    text = json.dumps({"private_key": pem() + "\n", "type": "service_account"})

    kept = json.loads(redact(text))

    assert kept == {"private_key": "[redacted: private key]\n", "type": "service_account"}


@pytest.mark.parametrize("row", ["\x1b[32m+{}\x1b[m", "  71  {}", "src/app.py:12:{}"])
def test_a_private_key_goes_from_diffs_histories_and_searches(row: str) -> None:
    """A key is removed though colours, line numbers or file names precede its lines."""
    kept = redact("\n".join(row.format(line) for line in pem().split("\n")))

    assert not any(line in kept for line in BODY)


def test_a_putty_key_goes_from_the_lines_of_an_edit() -> None:
    """A PuTTY key is removed from a text and from a patch's separate lines."""
    body = ["A+/" + BODY[0], BODY[1], "AbCd/12="]
    lines = ["Private-Lines: 3", *body, "Private-MAC: 12"]
    patch = [{"lines": ["+" + line for line in lines]}]
    kept = scrub(event(tool_input={"new_string": "\n".join(lines)}, tool_response={"patch": patch}))

    assert not any(line in kept for line in body[:2])


def test_what_kubernetes_keeps_goes() -> None:
    """Base64 keys, logins and secret data are removed; certificates and names are kept."""
    pems = (pem(label=label).encode() for label in ("RSA PRIVATE KEY", "CERTIFICATE"))
    key, certificate = (base64.b64encode(each).decode() for each in pems)
    login = base64.b64encode(b'{"auths":{"r.example":{"auth":"Ym9iOmh1bnRlcjI="}}}').decode()
    url = base64.b64encode(b"redis://:Harbor8481@redis").decode()
    text = (
        f"client-key-data: {key}\ncertificate-authority-data: {certificate}\n---\nkind: Secret\nmetadata:\n"
        f"  name: payments\ndata:\n  .dockerconfigjson: {login}\n  redis-url: {url}\n"
    )

    for kept in (redact(text), scrub(event(text=text))):
        assert not any(secret in kept for secret in (key[60:], login, url))
        assert certificate in kept
        assert "name: payments" in kept


CASES = cases.load("redaction/forms")
VALUES = cases.load("redaction/values")


@pytest.mark.parametrize(("text", "expected"), VALUES["by_name"])
def test_a_value_goes_by_its_name(text: str, expected: str) -> None:
    """A value is removed if its name denotes a secret; name, quotes and host are kept."""
    assert redact(text.format(RANDOM[:32])) == expected.format()


@pytest.mark.parametrize(("text", "expected"), VALUES["by_place"])
def test_a_value_goes_by_its_place(text: str, expected: str) -> None:
    """Credentials are removed from URLs, cookies, command options and login files."""
    kept = redact(text.format(RANDOM))
    fast = scrub(event(text=text.format(RANDOM)))

    assert expected in kept
    assert RANDOM[:12] not in kept
    assert RANDOM[:12] not in fast


@pytest.mark.parametrize("text", VALUES["long"])
def test_a_long_credential_goes_whole(text: str) -> None:
    """A very long value is removed to its last character."""
    kept = redact(text.format(4 * RANDOM))

    assert "[redacted: " in kept
    assert RANDOM[-8:] not in kept


@pytest.mark.parametrize("text", VALUES["beside"])
def test_a_password_goes_by_what_stands_beside_it(text: str) -> None:
    """Passwords go from quoted brackets, pairs, fallbacks, blocks and options, also in nested JSON."""
    text = text.format()
    for shown in (text, json.dumps({"body": text}), json.dumps(json.dumps({"body": text}))):
        kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response=shown))

        assert "[redacted: " in kept
        assert not any(piece in kept for piece in ("hJ9", "YUIz"))


@pytest.mark.parametrize("text", VALUES["lines"])
def test_a_value_of_several_lines_goes_whole(text: str) -> None:
    """Each line of a value goes: in quotes, in a YAML block, in a here-document, after a backslash."""
    for shown in (text, json.dumps({"body": text})):
        kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response=shown))

        assert "[redacted: " in kept
        assert not any(piece in kept for piece in ("aB3d", "hJ9", "Q5rS", "zA5b", "C7dE"))
    assert ("X=1" in text, "host: a" in text) == ("X=1" in redact(text), "host: a" in redact(text))


@pytest.mark.parametrize(
    "secret", ["Harbor!Honey8481", "barrel-rabbit-whale-27", "j4smin3rock3t13", RANDOM[:20]]
)
@pytest.mark.parametrize("text", VALUES["said"])
def test_a_password_goes_from_sentences_tables_and_calls(text: str, secret: str) -> None:
    """Chosen and random passwords are removed from sentences, tables and calls, by hook or directly."""
    text = text.format(secret)
    kept = scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response={"stdout": text}))

    assert secret not in kept
    assert secret not in redact(text)
    assert "[redacted: " in kept


@pytest.mark.parametrize("text", VALUES["pins"])
@pytest.mark.parametrize("pin", ["4711", "493817", "00000000"])
def test_a_pin_goes_from_a_sentence(text: str, pin: str) -> None:
    """The number of four to eight digits that a text calls somebody's PIN is removed, by hook or directly."""
    text = text.format(pin)

    assert redact(text) == text.replace(pin, "[redacted: pin]")
    assert pin not in scrub(event(prompt=text))


@pytest.mark.parametrize("text", VALUES["random"])
def test_a_random_value_goes_from_labels_and_commands(text: str) -> None:
    """A random value is removed after two-word labels, in sentences, commands and cookies."""
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
    """A bare value with dots, equals signs or other symbols is removed in full."""
    assert left not in redact(text)


@pytest.mark.parametrize(("text", "secret"), CASES["forms"])
def test_a_key_goes_by_its_form(text: str, secret: str) -> None:
    """A value whose form marks it as a key is removed; the text around it is kept."""
    kept = redact(text)

    assert secret not in kept
    assert kept.split("[redacted: ")[0] in text
    assert "[redacted: " in kept


SECRET = "spring otter lamp"  # matches no pattern of a secret
COMMANDS = cases.load("redaction/commands")


def call(command: str, **fields: Any) -> str:
    """Return the JSON text of a Bash call."""
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    return json.dumps(event | fields)


@pytest.mark.parametrize("command", COMMANDS["secret"])
def test_what_a_command_prints_goes_by_the_command(command: str) -> None:
    """The output of a command that prints secrets is removed; the command is named."""
    response = {"stdout": f"{SECRET}\n", "stderr": "", "isImage": False}

    stored = scrub(call(command, tool_response=response))

    assert SECRET not in stored
    event = json.loads(stored)
    assert event["tool_response"]["stdout"] == f"[redacted: output of {printer_of(command)}]"
    assert event["tool_response"]["isImage"] is False


@pytest.mark.parametrize("command", COMMANDS["harmless"])
def test_what_only_looks_like_such_a_command_keeps_its_output(command: str) -> None:
    """Help, lists, names, copies, and output to a program or file are kept."""
    event = call(command, tool_response={"stdout": f"{SECRET}\n", "stderr": ""})

    assert scrub(event) == event


def test_why_such_a_command_failed_is_kept() -> None:
    """A failed secret command keeps its error; only one-word lines, possible secrets, are removed."""
    event = call("op read op://a/b/c", error="Exit code 1\nhunter2\n[ERROR] could not find item b in vault a")

    stored = json.loads(scrub(event))

    says = "Exit code 1\n[redacted: output of op]\n[ERROR] could not find item b in vault a"
    assert stored["error"] == says


def test_a_text_for_the_model_is_withheld_too() -> None:
    """A batch's plain-text output is removed like a single call's fields."""
    one = {"tool_name": "Bash", "tool_input": {"command": "pass show a"}, "tool_response": SECRET}

    stored = scrub(json.dumps({"hook_event_name": "PostToolBatch", "tool_calls": [one]}))

    assert json.loads(stored)["tool_calls"][0]["tool_response"] == "[redacted: output of pass]"


@pytest.mark.parametrize(
    "unit", ["$(", "`", "'", '"', "\\", "echo $A_TOKEN ", "|", "sudo ", "a=$(b) ", "(", "${"]
)
def test_any_script_is_read_to_its_end(unit: str) -> None:
    """100,000 characters of unclosed shell syntax are parsed without an error."""
    assert isinstance(printer_of(unit * (100_000 // len(unit))), str)


@pytest.mark.parametrize(
    "text",
    [
        *cases.load("redaction/look_alikes")["stays"],
        f"commit {HEX[:40]} and {HEX[:7]}",
        str(uuid.UUID(HEX[:32])),
        f"{HEX}  book.tar.gz",
        "integrity sha512-" + base64.b64encode(HEX.encode()).decode(),
        "data:image/png;base64," + base64.b64encode(bytes(range(200))).decode(),
        "sha512: " + base64.b64encode(bytes(range(64))).decode(),
        f"tx 0x{HEX} was mined",
        f"{HEX}  wallet-1.2.tar.gz",
        *(f"LS0tLS1CRUdJTi{rest}" for rest in ("A" * 21, "A_-A" * 9 + "A", "\n" + "A" * 61)),
    ],
)
def test_what_only_looks_secret_stays(text: str) -> None:
    """Hashes, images, code, placeholders, dates, sentences and tables are kept unchanged."""
    assert redact(text) == text


def test_planted_secrets_go_and_look_alikes_stay() -> None:
    """At most 1 of 120 secrets leaks, and at most 1 of 120 look-alikes is altered."""
    planted, harmless = benchmark.cases(seed=1, each=2)

    pieces = [(case, benchmark.scrubbed(case)) for case in planted]
    leaked = [case.text for case, kept in pieces if any(piece in kept for piece in case.pieces)]
    altered = [case.text for case in benchmark.alterations(harmless)]

    assert (len(planted), len(harmless)) == (120, 120)
    assert len(leaked) <= 1, leaked
    assert len(altered) <= 1, altered
