"""Tokens of known services and private keys go, wherever they stand."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import cases
from support.made_up_secrets import BODY, RANDOM, SECRETS, event, pem

from claude_mem_lite.redaction.events import redact, scrub

CASES = cases.load("redaction/further")

AROUND = [
    "{}", "x {} y", '"{}"', "'{}'", "={}", "({})", "\n{}\n", "\x1b[32m{}\x1b[0m", "\x1b[01;31m{}\x1b[m",
    "`{}`", "[{}]", "\\n{}\\n", "     1→{}", "https://u:{}@h.example",
]  # fmt: skip


strings = st.text(max_size=60)


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "token"), [*SECRETS.items(), ("api key", "sk-" + "proj-" + RANDOM[:40])])
def test_a_token_goes_wherever_it_stands(kind: str, token: str, around: str) -> None:
    """Each kind of token is replaced by its name, and what stands around it stays."""
    assert redact(around.format(token)) == around.format(f"[redacted: {kind}]")


@pytest.mark.parametrize(
    "token",
    CASES["tokens"]
)  # fmt: skip
@pytest.mark.parametrize("around", ["see {} here", '"{}"', "\n{}\n", "\x1b[32m{}\x1b[m"])
def test_a_token_of_a_further_service_goes(token: str, around: str) -> None:
    """Each is known by its own mark, wherever it stands, and by both paths."""
    text = around.format(token)
    fast = scrub(event(text=text))

    assert token[-10:] not in fast
    assert json.loads(fast)["text"] == redact(text)


@settings(deadline=None)
@given(before=strings, after=strings, kind=st.sampled_from(sorted(SECRETS)))
def test_no_surroundings_save_a_token(before: str, after: str, kind: str) -> None:
    """Between any two texts that are no part of it a token goes, in any field, and the rest is JSON."""
    text = event(a={"b": [f"{before} {SECRETS[kind]} {after}"]}, c=before)

    kept = scrub(json.dumps(json.loads(text)))

    assert SECRETS[kind] not in kept
    assert json.loads(kept).keys() == json.loads(text).keys()


@pytest.mark.parametrize("prefix", ["", "    ", "+", "> ", "12\t", "     7→"])
@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_private_key_goes_however_it_is_shown(prefix: str, label: str) -> None:
    """A whole block, one without its end, and the rest of one without its start lose every line."""
    whole = pem(prefix=prefix, label=label)
    beheaded = "\n".join(whole.split("\n")[1:])
    for text in (whole, pem(end=False, prefix=prefix, label=label), beheaded):
        kept = redact(f"before\n{text}\nafter it all")

        assert not any(line in kept for line in BODY)
        assert "[redacted: private key]" in kept
        assert kept.startswith("before\n")
        assert kept.endswith("\nafter it all")


def test_a_private_key_on_one_line_goes() -> None:
    """A key inside a JSON string, with its line breaks written out, goes too."""
    text = json.dumps({"private_key": pem() + "\n", "type": "service_account"})

    kept = json.loads(redact(text))

    assert kept == {"private_key": "[redacted: private key]\n", "type": "service_account"}


@pytest.mark.parametrize("row", ["\x1b[32m+{}\x1b[m", "  71  {}", "src/app.py:12:{}"])
def test_a_private_key_goes_from_diffs_histories_and_searches(row: str) -> None:
    """Between the lines of a key colours, numbers and the origins of lines may stand."""
    kept = redact("\n".join(row.format(line) for line in pem().split("\n")))

    assert not any(line in kept for line in BODY)


def test_a_putty_key_goes_from_the_lines_of_an_edit() -> None:
    """Its lines go together and as strings of their own, whatever they begin with."""
    body = ["A+/" + BODY[0], BODY[1], "AbCd/12="]
    lines = ["Private-Lines: 3", *body, "Private-MAC: 12"]
    patch = [{"lines": ["+" + line for line in lines]}]
    kept = scrub(event(tool_input={"new_string": "\n".join(lines)}, tool_response={"patch": patch}))

    assert not any(line in kept for line in body[:2])


def test_what_kubernetes_keeps_goes() -> None:
    """Keys and logins in base64 and the data of a secret go; certificates and names stay."""
    key, certificate = (
        base64.b64encode(pem(label=label).encode()).decode() for label in ("RSA PRIVATE KEY", "CERTIFICATE")
    )
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
