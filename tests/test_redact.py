"""Redaction: what is secret goes, what only looks so stays, and the ordinary event is not even read.

Every secret here is put together at run time, so that none stands in the repository.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import claude_mem_lite
from claude_mem_lite import redact

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

import pathological_texts
import redaction as benchmark

RANDOM = "k7Gx2QpL9vTz4RmW8sYb3NcJ6hFd1KaUeXw5oViS0tEyPqZuCrMjHlBnAgDf"
HEX = hashlib.sha256(b"claude-mem").hexdigest()
BODY = [base64.b64encode(bytes([number]) * 48).decode() for number in range(1, 5)]


def jwt() -> str:
    """Return a token of three parts."""
    parts = (b'{"alg":"HS256","typ":"JWT"}', b'{"sub":"someone","exp":1}')
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "." + RANDOM[:43]


def pem(*, end: bool = True, prefix: str = "", label: str = "RSA PRIVATE KEY") -> str:
    """Return a private key block, with something before each line."""
    lines = [f"-----BEGIN {label}-----", *BODY, *([f"-----END {label}-----"] if end else [])]
    return "\n".join(prefix + line for line in lines)


SECRETS = {
    "aws key": "AKIA" + RANDOM[:20].upper()[:16],
    "google key": "AI" + "za" + RANDOM[:35],
    "github token": "gh" + "p_" + RANDOM[:36],
    "gitlab token": "gl" + "pat-" + RANDOM[:20],
    "slack token": "xo" + "xb-1234567890-1234567890-" + RANDOM[:24],
    "stripe key": "sk" + "_live_" + RANDOM[:24],
    "api key": "sk-" + "ant-api03-" + RANDOM[:40],
    "npm token": "np" + "m_" + RANDOM[:36],
    "pypi token": "py" + "pi-AgEIcHlwaS5vcmc" + RANDOM,
    "hugging face token": "h" + "f_" + RANDOM[:34],
    "sendgrid key": "SG" + "." + RANDOM[:22] + "." + RANDOM[:43],
    "jwt": jwt(),
    "service key": "hv" + "s." + RANDOM[:24],
    "service token": "gs" + "k_" + RANDOM[:52],
}
AROUND = [
    "{}", "x {} y", '"{}"', "'{}'", "={}", "({})", "\n{}\n", "\x1b[32m{}\x1b[0m", "\x1b[01;31m{}\x1b[m",
    "`{}`", "[{}]", "\\n{}\\n", "     1→{}", "https://u:{}@h.example",
]  # fmt: skip


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "token"), [*SECRETS.items(), ("api key", "sk-" + "proj-" + RANDOM[:40])])
def test_a_token_goes_wherever_it_stands(kind: str, token: str, around: str) -> None:
    """Each kind of token is replaced by its name, and what stands around it stays."""
    assert redact.redact(around.format(token)) == around.format(f"[redacted: {kind}]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("AWS_SECRET_ACCESS_KEY={}", "AWS_SECRET_ACCESS_KEY=[redacted: secret]"),
        ("export DB_PASSWORD='{}'", "export DB_PASSWORD='[redacted: password]'"),
        ("SMTP_PASS={} make", "SMTP_PASS=[redacted: password] make"),
        ('{{"client_secret": "{}"}}', '{{"client_secret": "[redacted: secret]"}}'),
        ("{{'apiKey': '{}'}}", "{{'apiKey': '[redacted: key]'}}"),
        ("x-api-key: {}", "x-api-key: [redacted: key]"),
        ("token = b'{}'", "token = b'[redacted: token]'"),
        ("auth_token: {}", "auth_token: [redacted: token]"),
        ("Server=db;User=sa;Password={};", "Server=db;User=sa;Password=[redacted: password];"),
        ("AccountName=a;AccountKey={}==;", "AccountName=a;AccountKey=[redacted: key];"),
        ("Authorization: Bearer {}", "Authorization: Bearer [redacted: authorization]"),
        ("'Authorization': 'Basic {}'", "'Authorization': 'Basic [redacted: authorization]'"),
        ("postgresql://me:{}@db.example:5432/x", "postgresql://me:[redacted: password]@db.example:5432/x"),
        ("redis://:{}@cache", "redis://:[redacted: password]@cache"),
        ("curl -u admin:{} https://a.example", "curl -u admin:[redacted: password] https://a.example"),
        ("mysql --password {} db", "mysql --password [redacted: password] db"),
        (
            "https://hooks.slack.com/services/T0/B0/{}",
            "https://hooks.slack.com/[redacted: slack webhook]",
        ),
        ("https://b.example/x?sig={0}{0:.11}%3D", "https://b.example/x?sig=[redacted: azure signature]"),
    ],
)
def test_a_value_goes_by_its_name(text: str, expected: str) -> None:
    """The value of what is called a secret goes; the name, the quotes and the host stay."""
    assert redact.redact(text.format(RANDOM[:32])) == expected.format()


@pytest.mark.parametrize("prefix", ["", "    ", "+", "> ", "12\t", "     7→"])
@pytest.mark.parametrize(
    "label", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"]
)
def test_a_private_key_goes_however_it_is_shown(prefix: str, label: str) -> None:
    """A whole block, one without its end, and the rest of one without its start lose every line."""
    whole = pem(prefix=prefix, label=label)
    beheaded = "\n".join(whole.split("\n")[1:])
    for text in (whole, pem(end=False, prefix=prefix, label=label), beheaded):
        kept = redact.redact(f"before\n{text}\nafter it all")

        assert not any(line in kept for line in BODY)
        assert "[redacted: private key]" in kept
        assert kept.startswith("before\n")
        assert kept.endswith("\nafter it all")


def test_a_private_key_on_one_line_goes() -> None:
    """A key inside a JSON string, with its line breaks written out, goes too."""
    text = json.dumps({"private_key": pem() + "\n", "type": "service_account"})

    kept = json.loads(redact.redact(text))

    assert kept == {"private_key": "[redacted: private key]\n", "type": "service_account"}


@pytest.mark.parametrize(
    "text",
    [
        f"commit {HEX[:40]} and {HEX[:7]}",
        str(uuid.UUID(HEX[:32])),
        f"{HEX}  book.tar.gz",
        "integrity sha512-" + base64.b64encode(HEX.encode()).decode(),
        "data:image/png;base64," + base64.b64encode(bytes(range(200))).decode(),
        "DE89 3704 0044 0532 0130 00",
        "write to someone@mail.example or https://user@host.example/a:b@c",
        "http://localhost:8080/a@b",
        "max_tokens=4096, token_count: 12345678",
        "token = next(tokens)",
        "token = self.tokens[index2]",
        "password = getpass.getpass('Password: ')",
        'api_key = os.environ["API_KEY"]',
        'SECRET_KEY = env("SECRET_KEY")',
        "API_KEY=$API_KEY API_KEY=${API_KEY} API_KEY=<your-key>",
        "def login(password: str, token: Token2 | None = None) -> bool:",
        "sorted(rows, key=lambda row: row.size2)",
        'primary_key=True, public_key="abc123DEF456ghi789"',
        '{"key": "value", "token_type": "Bearer", "password": "changeme"}',
        "PASSWORD_FIELD = 'new-password1'",
        "postgres://user:password@localhost/db",
        "password=%s secret={secret} token=... key=****",
        "the secret: never give up",
        "risk-free task-management disk-usage-2024-overview",
        "<private>is an ordinary tag in a file</private>",
        "PWD=/home/dev/project2",
        "[redacted: github token]",
    ],
)
def test_what_only_looks_secret_stays(text: str) -> None:
    """Hashes, identifiers, images, ordinary code and placeholders are kept as they are."""
    assert redact.redact(text) == text


def event(**fields: Any) -> str:
    """Return the JSON text of an event as the client writes it."""
    return json.dumps({"session_id": "s", **fields}, ensure_ascii=False, separators=(",", ":"))


def test_what_the_user_calls_private_goes() -> None:
    """A private passage of a prompt goes whole: several lines, nested, any case, or not closed."""
    cases = {
        "a <private>b\nc</private> d": "a [redacted: private] d",
        "<PRIVATE>b</Private>": "[redacted: private]",
        "a <private>b <private>c</private> d</private> e": "a [redacted: private] e",
        "a <private>b</private> c <private>d": "a [redacted: private] c [redacted: private]",
        "a </private> b": "a </private> b",
    }
    for prompt, expected in cases.items():
        kept = json.loads(redact.scrub(event(prompt=prompt, tool_response=prompt)))

        assert (kept["prompt"], kept["tool_response"]) == (expected, prompt)


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("AskUserQuestion", {"tool_response": {"answers": {"Which?": "<private>WORDS</private>"}}}),
        ("Agent", {"tool_input": {"description": "<private note>WORDS</private>"}}),
        ("SendMessage", {"tool_input": {"content": ["<private>WORDS"]}}),
        ("Bash", {"tool_input": {"command": "ls", "description": "<private>WORDS</private>"}}),
        ("mcp__plans__make", {"tool_input": {"plan": "<private>WORDS</private>"}}),
    ],
)
def test_what_is_private_goes_from_what_is_said_to_tools(tool: str, fields: dict[str, Any]) -> None:
    """Answers, messages, plans and what agents are told lose their private passages, alone or in a batch."""
    for text in (event(tool_name=tool, **fields), event(tool_calls=[{"tool_name": tool, **fields}])):
        kept = redact.scrub(text)

        assert ("WORDS" in kept, "[redacted: private]" in kept) == (False, True)


def test_a_secret_goes_wherever_it_stands_again() -> None:
    """What was found secret by its name in one field is taken out of every other."""
    text = event(
        tool_input={"command": f"printf '%s' {RANDOM}"}, tool_response={"stdout": f"API_TOKEN={RANDOM}"}
    )

    kept = json.loads(redact.scrub(text))

    assert kept["tool_input"] == {"command": "printf '%s' [redacted: token]"}
    assert kept["tool_response"] == {"stdout": "API_TOKEN=[redacted: token]"}


@pytest.mark.parametrize(
    ("path", "ignored"),
    [
        ("/p/.env", True),
        ("/p/.env.local", True),
        ("/p/.env.example", False),
        ("/p/prod.env", True),
        ("/home/me/.ssh/id_rsa", True),
        ("/home/me/.ssh/id_ed25519.pub", False),
        ("/p/server.KEY", True),
        ("/home/me/.aws/credentials", True),
        ("/p/credentials", False),
        ("/p/credentials.csv", True),
        ("/p/credentials.py", False),
        ("/home/me/.cargo/credentials.toml", True),
        ("/p/service-account-2024.json", True),
        ("/p/gcp-service-account.json", True),
        ("/p/prod.tfvars", True),
        ("/p/.env~", True),
        ("/p/self.env", False),
        ("/p/service-account-prod.json", True),
        ("/p/environment.py", False),
    ],
)
def test_the_content_of_an_ignored_file_goes(path: str, ignored: bool) -> None:  # noqa: FBT001
    """Reading or writing such a file keeps its name only; any other file keeps its content."""
    response = {"type": "text", "file": {"filePath": path, "content": "plain words", "numLines": 1}}
    read = event(tool_name="Read", tool_input={"file_path": path}, tool_response=response)
    write = event(tool_name="Write", tool_input={"file_path": path, "content": "plain words"})

    kept = [redact.scrub(each) for each in (read, write)]

    mark = f"[redacted: contents of {path.rsplit('/', 1)[1]}]"
    assert [("plain words" in each, mark in each) for each in kept] == [(not ignored, ignored)] * 2
    assert path in kept[0]


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        ("cat .env", True),
        ("ls -la && head -3 deploy/key.pem", True),
        ("cut -d= -f1 < .env", True),
        ("git show HEAD:.env", True),
        ("ls -la .env", False),
        ("git check-ignore .env && git add .gitignore", False),
        ("grep -rn self.key src/", False),
        ("cat .env.example", False),
        ("rm id_rsa", False),
        ("python3.12 -c \"print(open('.env').read())\"", True),
        ('echo "$(<.env)"', True),
        ("while read l; do echo $l; done < .env", True),
        ("cp .env /dev/stdout", True),
        ("xargs -a .env echo", True),
        ("docker run --env-file .env alpine env", True),
        ("docker run --env-file .env shop", False),
        ("cat\t.env.local", True),
        ("rg -n -g '*.ts' \"prod.env\" src", False),
        ("grep -rn -A 3 self.env src", False),
        ("grep -e WORDS .env", True),
        ("grep -m 1 WORDS .env", True),
        ("jq .env package.json", False),
        ("git log -S prod.env -p", False),
        ("sed -n '/prod.env/p' a.ts", False),
        ("sed -n '/x/p' .env", True),
        ("openssl x509 -in cert.pem -noout -subject", False),
    ],
)
def test_what_a_command_prints_of_an_ignored_file_goes(command: str, printed: bool) -> None:  # noqa: FBT001
    """The output goes when the command shows such a file, and stays when it only names it."""
    text = event(tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "plain words"})

    kept = json.loads(redact.scrub(text))

    assert kept["tool_input"]["command"] == command
    assert (kept["tool_response"]["stdout"] == "plain words") is not printed


@pytest.mark.parametrize(
    ("tool", "given", "response"),
    [
        (
            "Edit",
            {"file_path": "/p/.env", "old_string": "WORDS"},
            {"structuredPatch": [{"lines": ["-WORDS"]}]},
        ),
        ("Grep", {"path": "."}, {"content": ".env:3:WORDS"}),
        ("Bash", {"command": "rg -A1 x"}, {"stdout": "a/.env-12-WORDS"}),
        ("Grep", {"path": "."}, {"content": "src/a.ts:1:x\n.env:3:WORDS\nz.py:2:q"}),
        ("mcp__files__read", {"paths": ["/p/a", "/p/.env"]}, {"text": "WORDS"}),
        ("mcp__files__get", {"uri": "file:///p/.env"}, {"text": "WORDS"}),
        ("PowerShell", {"command": "Get-Content .env"}, {"stdout": "WORDS"}),
        ("Bash", {"command": "git diff"}, {"stdout": "--- a/.env\n+++ b/.env\n+WORDS"}),
        ("Bash", {"command": "cat > .env <<'EOF'\nWORDS\nEOF\nmake"}, {}),
        ("Bash", {"command": "printf '%s' WORDS >> .env && make"}, {}),
        ("Bash", {"command": ". ./.env; make"}, {"stdout": "A=WORDS"}),
    ],
)
def test_no_way_leads_to_an_ignored_file(tool: str, given: dict[str, Any], response: dict[str, Any]) -> None:
    """Whatever shape the call has, alone or in a batch, what it shows or writes of such a file goes."""
    call = {"tool_name": tool, "tool_input": given, "tool_response": response}
    for kept in (redact.scrub(event(**call)), redact.scrub(event(tool_calls=[call]))):
        assert ("WORDS" in kept, "[redacted: contents of .env]" in kept) == (False, True)


def test_escapes_hide_nothing() -> None:
    """A token whose letters are written as escapes is found, and half a character does no harm."""
    hidden = "".join(f"\\u{ord(character):04x}" for character in SECRETS["github token"])

    kept = redact.scrub(f'{{"a": "{hidden}", "b": "\\ud83d"}}')

    assert json.loads(kept) == {"a": "[redacted: github token]", "b": "?"}


def test_a_large_event_is_cut_after_redaction() -> None:
    """The longest fields lose their middle, small ones nothing, and no half token is left."""
    token = SECRETS["github token"]
    text = event(small="kept", one="a" * 9_000 + f" {token} " + "b" * 9_000, two=["c" * 30_000])

    kept = json.loads(redact.scrub(text, max_chars=10_000))

    assert len(json.dumps(kept)) < 10_400
    assert (kept["small"], kept["session_id"]) == ("kept", "s")
    assert kept["one"].startswith("a" * 1_000)
    assert kept["two"][0].endswith("c" * 1_000)
    assert "characters cut …]" in kept["one"]
    assert token[:12] not in json.dumps(kept)


@pytest.mark.parametrize("offset", [12, 20, 39])
def test_no_half_token_is_left_by_a_cut(offset: int) -> None:
    """Where a very long text was parted before the search, what stands at the edge goes."""
    before = ((pem() + "\n") * 35).ljust(12_288 - offset)
    text = before + SECRETS["github token"] + "x = 1\n" * 60_000

    assert SECRETS["github token"][:10] not in redact.scrub(event(text=text), max_chars=4_096)


@pytest.mark.parametrize(
    "value", [list(range(200_000)), {str(number): number for number in range(100_000)}, "é\0" * 300_000]
)
def test_any_event_fits(value: Any) -> None:
    """Whatever makes an event large, what is stored is within the limit and still an object."""
    kept = redact.scrub(event(tool_response=value), max_chars=65_536)

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
    """No object, broken JSON and bottomless nesting are a ValueError, not a crash and not a leak."""
    with pytest.raises(ValueError, match=r"."):
        redact.scrub(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a", "eyJ", "-----BEGIN ", "-----BEGIN RSA PRIVATE KEY-----\n", "://", "://a:", "key=", "token", "@",
        "password: ", "password,", "auth=", "A==", "pw", '"', " ", "\\", "sk-", "ghp_", "<private>",
        "secret='",
        "Bearer ", "A1b", "=", "\n",
    ],
)  # fmt: skip
def test_no_text_takes_for_ever(piece: str) -> None:
    """A hostile text of 100 kB is done within the test's patience, once and twice the same."""
    once = redact.redact(piece * (100_000 // len(piece)))

    assert redact.redact(once) == once


strings = st.text(max_size=60)


@settings(deadline=None)
@given(before=strings, after=strings, kind=st.sampled_from(sorted(SECRETS)))
def test_no_surroundings_save_a_token(before: str, after: str, kind: str) -> None:
    """Between any two texts that are no part of it a token goes, in any field, and the rest is JSON."""
    text = event(a={"b": [f"{before} {SECRETS[kind]} {after}"]}, c=before)

    kept = redact.scrub(json.dumps(json.loads(text)))

    assert SECRETS[kind] not in kept
    assert json.loads(kept).keys() == json.loads(text).keys()


@settings(deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*SECRETS.values(), "password=", "token: '", "\n", " ", "'", "://u:", "@h", "x", RANDOM[:20]]
        )
    )
)
def test_redacting_twice_changes_nothing(pieces: list[str]) -> None:
    """The second time finds nothing more."""
    once = redact.redact(" ".join(pieces))

    assert redact.redact(once) == once


def test_an_ordinary_event_is_not_read(tmp_path: Path) -> None:
    """50 kB of ordinary source go through without re and json being loaded, and come back unchanged."""
    import argparse

    source = Path(argparse.__file__).read_text()[:50_000]
    (tmp_path / "event").write_text(
        event(tool_name="Write", tool_input={"file_path": "/p/a.py", "content": source})
    )
    script = f"""
import sys
sys.path.append({str(Path(claude_mem_lite.__file__).parent.parent)!r})
from claude_mem_lite import redact
text = open({str(tmp_path / "event")!r}, encoding="utf-8").read()
assert redact.scrub(text) is text
assert not {{"re", "json"}} & set(sys.modules), sys.modules
"""

    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://discord.com/api/webhooks/123456789012345678/{0}{0}", "[redacted: discord webhook]"),
        ("https://api.telegram.org/bot1234567890:AA{0:.33}/x", "[redacted: telegram token]"),
        ("login('MTIzNDU2Nzg5MDEyMzQ1Njc4.Gabcde.{0:.38}')", "[redacted: discord token]"),
        ("key=AAAA1234567:APA91b{0}{0}{0}", "[redacted: "),
        ("Authorization: SSWS 00{0:.40}", "[redacted: authorization]"),
        (
            "Cookie: theme=dark; sid={0:.32}; lang=en",
            "theme=dark; sid=[redacted: cookie]; lang=en",
        ),
        ("curl -b 'connect.sid={0:.32}' https://a.example", "connect.sid=[redacted: cookie]'"),
        ("machine a.example login me password {0:.12}", "password [redacted: password]"),
        ("db:5432:shop:app:{0:.12}", "db:5432:shop:app:[redacted: password]"),
        ("curl -u admin:'{0:.12}' https://a.example", "admin:'[redacted: password]'"),
        ("mysql --password={0:.12} shop", "--password=[redacted: password] shop"),
        ("mysqldump -u root -p{0:.12} shop", "-p[redacted: password] shop"),
        ("docker login -u me -p '{0:.12}'", "-p '[redacted: password]'"),
        ("echo '{0:.12}' | sudo -S ls", "echo '[redacted: password]' | sudo"),
        ("src/app.py:12:api_key: '{0:.32}',", "api_key: '[redacted: key]'"),
        (
            "'Authorization: Basic YWRtaW46Q2FzdGxlMDE1OSE='",
            "'Authorization: Basic [redacted: authorization]'",
        ),
        ('conn.setPassword("{0:.12}")', 'setPassword("[redacted: password]")'),
    ],
)
def test_a_value_goes_by_its_place(text: str, expected: str) -> None:
    """What opens a login goes from addresses, cookies, options of commands and files of logins."""
    kept = redact.redact(text.format(RANDOM))

    assert expected in kept
    assert RANDOM[:12] not in kept


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer {}", "curl -u me@shop.example:{} https://a.example", "db:5432:shop:app:{}",
        "docker login -u me -p {} r.example", "sshpass -p {} ssh h", "redis-cli -a {} ping", "TOKEN={}",
        "Authorization: Basic {}==", "token: {}", '"token": "{}"', "echo {} | docker login --password-stdin",
    ],
)  # fmt: skip
def test_a_long_credential_goes_whole(text: str) -> None:
    """However long a value is, nothing of its end is left."""
    kept = redact.redact(text.format(4 * RANDOM))

    assert "[redacted: " in kept
    assert RANDOM[-8:] not in kept


@pytest.mark.parametrize(
    "text",
    [
        'DB_PASSWORD = "aB3<dE5fG7hJ9"', 'password: "aB3{{dE5fG7hJ9"', "password: aB3&dE5fG7hJ9",
        "password: aB3,dE5fG7hJ9", '{{"name": "DB_PASSWORD", "value": "aB3dE5fG7hJ9"}}',
        "- name: DB_PASSWORD\n  value: aB3dE5fG7hJ9",
        'variable "db_password" {{\n  default = "aB3dE5fG7hJ9"\n}}',
        '<add key="Password" value="aB3dE5fG7hJ9" />', "<key>ApiKey</key><string>aB3dE5fG7hJ9kL1mN3</string>",
        "password = process.env.PW || 'aB3dE5fG7hJ9';", "password = os.environ.get('PW', 'aB3dE5fG7hJ9')",
        "password: |\n    aB3dE5fG7hJ9", "password | aB3dE5fG7hJ9", "IDENTIFIED BY 'aB3dE5fG7hJ9'",
        "DB_PW=aB3dE5fG7hJ9", "bindpw aB3dE5fG7hJ9", "Ocp-Apim-Subscription-Key: aB3dE5fG7hJ9kL1mN3",
        "echo root:aB3dE5fG7hJ9 | chpasswd", "ldapsearch -w aB3dE5fG7hJ9",
        "PASSWORDS = {{'me': 'aB3dE5fG7hJ9'}}",
        '"SecretString": "aB3dE5fG7hJ9"', "keytool -storepass aB3dE5fG7hJ9", "_auth=YUIzZEU1Zkc3aEo5",
    ],
)  # fmt: skip
def test_a_password_goes_by_what_stands_beside_it(text: str) -> None:
    """Brackets in quotes, pairs, fallbacks, blocks and options hide no password; in JSON in JSON neither."""
    text = text.format()
    for shown in (text, json.dumps({"body": text}), json.dumps(json.dumps({"body": text}))):
        kept = redact.scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response=shown))

        assert "[redacted: " in kept
        assert not any(piece in kept for piece in ("hJ9", "YUIz"))


@pytest.mark.parametrize(
    "token",
    [
        "r8" + "_" + RANDOM[:37], "PM" + "AK-" + HEX[:24] + "-" + HEX[:34], "ATA" + "TT3xFfGF0" + RANDOM[:50],
        RANDOM[:14] + ".atlas" + "v1." + 2 * RANDOM[:34], "dp" + ".st.prd." + RANDOM[:43],
        "s" + "k_" + HEX[:48],
        "pat" + RANDOM[:14] + "." + HEX, "f" + "c-" + HEX[:32], HEX[:32] + "-us" + "12",
        "oy" + "2" + "a1b2" * 10 + "c3d",
        "access_token" + "$production$" + "a1b2c3d4e5f6g7h8$" + HEX[:32], "$2b" + "$12$" + RANDOM[:53],
        "$apr1" + "$aB3dE5fG$" + "aB3/E5fG7.J9kL1mN3pQ5r", "NR" + "AK-" + "ABCDEFGHIJKLMNOPQRSTUVWXYZA",
        "https://discord" + ".com/api/v10/webhooks/123456789012345678/" + RANDOM + RANDOM[:8],
        base64.b64encode(hashlib.sha512(b"key").digest()).decode(), "gl" + "pat-" + "AbCdEfGhIjKlMnOpQrSt",
        "Private-Lines: 2\n" + BODY[0] + "\n" + BODY[1],
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["see {} here", '"{}"', "\n{}\n", "\x1b[32m{}\x1b[m"])
def test_a_token_of_a_further_service_goes(token: str, around: str) -> None:
    """Each is known by its own mark, wherever it stands, and by both paths."""
    text = around.format(token)
    fast = redact.scrub(event(text=text))

    assert token[-10:] not in fast
    assert json.loads(fast)["text"] == redact.redact(text)


def test_a_secret_of_many_strings_is_taken_out_of_each() -> None:
    """2,000 rows with a token each lose all of them."""
    rows = [{"id": row, "token": hashlib.sha256(b"%d" % row).hexdigest()} for row in range(2_000)]

    kept = redact.scrub(event(tool_response=rows))

    assert kept.count("[redacted: token]") == 2_000


@pytest.mark.parametrize("row", ["\x1b[32m+{}\x1b[m", "  71  {}", "src/app.py:12:{}"])
def test_a_private_key_goes_from_diffs_histories_and_searches(row: str) -> None:
    """Between the lines of a key colours, numbers and the origins of lines may stand."""
    kept = redact.redact("\n".join(row.format(line) for line in pem().split("\n")))

    assert not any(line in kept for line in BODY)


@pytest.mark.parametrize(
    "text",
    [
        "--token-color-order: #3e8246;",
        'tokenAddress = "0x11f83963fd765b832d7bac1f3ee90ede039b88e3"',
        '"secret_created": "2026-03-25T10:11:12Z"',
        "DB_PASSWORD=replace-me",
        "docker run -p 8080:80 -u 1000:1000 shop",
        "mysql -u root -p shop < dump.sql",
        "ACCATCGTAACCTCTTAAAGAAGCATTCTTGGG",
        "pass: 98.5%",
        r"jsonnet_token = r'[^\W\d]\w*'",
        'existingSecret: "postgres-credentials-2"',
        '"auth": "next-auth-v5beta"',
        'if token == "BEGIN_BLOCK2"',
        "password: z.string().min(8),",
        "password: string | null;",
        'password: "<your-password1>"',
        'token = "{user.name}-1"',
        "sha512: " + base64.b64encode(bytes(range(64))).decode(),
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: db, key: x1}",
        "      return the_identifier_of_a_long_name",
    ],
)
def test_what_stands_beside_such_names_stays(text: str) -> None:
    """Colours, addresses, dates, ports and long names are no secrets."""
    assert redact.redact(text) == text


PW, PHRASE = "Harbor!Honey8481", "barrel-rabbit-whale-27"


@pytest.mark.parametrize("secret", [PW, PHRASE, "j4smin3rock3t13", RANDOM[:20]])
@pytest.mark.parametrize(
    "text",
    [
        "the password for the staging db is {}, user is bob", "set the admin password to {} and restart",
        "A temporary password is generated for root@localhost: {}", 'the root password is "{}"',
        "password is `{}`, don't commit it", "ssh to a.example as bob, password {}", "**Password:** `{}`",
        "Password for the elastic user (reset with `bin/reset`):\n  {}", "Password ......: {}",
        "Das Passwort lautet: {}", "Passwort auf {} geändert", "le mot de passe est {}",
        "la contraseña es {}",
        "пароль от базы: {}", "密码是 {}", "パスワードは {} です", "wachtwoord: {}", "credentials: bob / {}",
        "creds for the VPN are bob:{}", "use bob / {} to log in",
        " id | password\n----+---------\n  1 | {}\n(1 row)", "| User | Password |\n|---|---|\n| bob | {} |",
        "| smtp_password | {} |", "username,password,role\nbob,{},admin", "name\tpassword\nbob\t{}",
        "USER    PASSWORD     HOST\nbob     {}    a.example", "<tr><td>Password</td><td>{}</td></tr>",
        "INSERT INTO users (name, password) VALUES ('bob', '{}');", "{{user=bob, password={}}}",
        "&{{Host:h User:bob Password:{} Port:5432}}", "--from-literal=password={} -n prod",
        '#define WIFI_PASSWORD "{}"', 'password <- "{}"', "define('DB_PASSWORD', '{}');",
        "new PDO('mysql:host=h;dbname=d', 'bob', '{}');", 'getConnection(url, "bob", "{}");',
        "process.env.DB_PASSWORD || '{}'", 'HTTPBasicAuth("bob", "{}")', 'dsn := "bob:{}@tcp(h:3306)/d"',
        "sshpass -p'{}' ssh h", "htpasswd -bc f bob {}", "openssl enc -k '{}'",
        "net use Z: \\\\h\\s /user:bob {}",
        "rabbitmqctl add_user bob {}", "poetry config http-basic.x bob {}", 'ssid="o"\n    psk="{}"',
        "chpasswd:\n  list: |\n    bob:{}\n",
    ],
)  # fmt: skip
def test_a_password_goes_from_sentences_tables_and_calls(text: str, secret: str) -> None:
    """What people choose and what is made at random goes, by the way of hooks and by itself."""
    text = text.format(secret)
    kept = redact.scrub(event(tool_name="Bash", tool_input={"command": "x"}, tool_response={"stdout": text}))

    assert secret not in kept
    assert secret not in redact.redact(text)
    assert "[redacted: " in kept


@pytest.mark.parametrize(
    "text",
    [
        "Secret key: {}", "api key: {} - please add it", "Access Token (expires 2027): {}",
        "use the token {} now",
        "The webhook secret is `{}`", "name\tapi_token\nbob\t{}", "npm config set //r.example/:_authToken {}",
        "gh secret set N --body '{}'", "cargo login {}", "sonar-scanner -Dsonar.login={} -X",
        "wss://h/v1?auth={}",
        'hmacKey := []byte("{}")', "secret_key={}", '{{"name":"sid","value":"{}","httpOnly":true}}',
        "client.cookies.set('sessionid', '{}')",
        "# Netscape HTTP Cookie File\n.h\tTRUE\t/\tTRUE\t17\tsid\t{}",
        'proxy_set_header Authorization "Bearer {}";',
    ],
)  # fmt: skip
def test_a_random_value_goes_from_labels_and_commands(text: str) -> None:
    """Labels of two words, sentences, commands and cookies give a random value away."""
    text = text.format(RANDOM[:40])
    kept = redact.scrub(event(tool_name="Bash", tool_input={"command": text}))

    assert RANDOM[:40] not in kept
    assert RANDOM[:40] not in redact.redact(text)


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
    assert left not in redact.redact(text)


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

    for kept in (redact.redact(text), redact.scrub(event(text=text))):
        assert not any(secret in kept for secret in (key[60:], login, url))
        assert certificate in kept
        assert "name: payments" in kept


def test_a_putty_key_goes_from_the_lines_of_an_edit() -> None:
    """Its lines go together and as strings of their own, whatever they begin with."""
    body = ["A+/" + BODY[0], BODY[1], "AbCd/12="]
    lines = ["Private-Lines: 3", *body, "Private-MAC: 12"]
    patch = [{"lines": ["+" + line for line in lines]}]
    kept = redact.scrub(event(tool_input={"new_string": "\n".join(lines)}, tool_response={"patch": patch}))

    assert not any(line in kept for line in body[:2])


@pytest.mark.parametrize(
    "text",
    [
        "the password is wrong", "the password is stored in vault2", "the token is expired since 2024-05-01",
        "password is required (min 12 characters)", "the secret is to use 2 threads",
        "password for svc01 is missing",
        "the token is a JWT signed with HS256", "the password is base64 encoded and hashed with bcrypt12",
        "the key 5d41402abc4b2a76b9719d911017c592 was evicted", "the api key for v2 is in config/prod2.yaml",
        "the password field is password2 in LoginForm2", "log in with Windows2019 and IE11",
        "login takes 300ms / 1200ms to log in", "| Password | varchar(255) |\n| Token | uuid |",
        "| Test | Pass | Fail |\n|---|---|---|\n| a1 | 12 | 0 |", "user,token_count\nanna,12345",
        "apt\tpasswd\t1:4.13\napt\tlibacl1:amd64\t2.3.1-3",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "login(user, password2)", "password = Sha256.hash(x1)", "password=settings.DB2_PASSWORD",
        'password = password.encode("latin1")', '"password": "Contraseña"', '"password": "Adgangskode"',
        '"confirm_password": "パスワード（確認）"', "s/password=[^&]*/password=***/g",  # noqa: RUF001
        "curl -u <user>:<password> https://h.example", "openssl enc -k $KEY", "docker login ghcr.io",
        'gh secret set TOKEN --body "$TOKEN"', "kind: ConfigMap\ndata:\n  a: c2VjcmV0LXRleHQ=",
        "secret: my-app-db",
        "  password: {{ .Values.db.password | b64enc }}",
        "Contents of ``key-certificate.pem``::\n\n    LS0tLS1CRUdJTiBD",
    ],
)  # fmt: skip
def test_sentences_tables_and_calls_without_a_secret_stay(text: str) -> None:
    """What is said of a password, the types of columns, labels and variables stay as they are."""
    assert redact.redact(text) == text


@pytest.mark.parametrize(
    "piece",
    ["password is ", "| password | a1Harbor99 |\n", "password,x\n", "login(a, ",
        "kind: secret data: a: YWJj\n",
     "insert (password) values ('", "密码 1 ", "creds a1:b/", "htpasswd -b a b ", "password=a="],
)  # fmt: skip
def test_no_sentence_or_table_takes_for_ever(piece: str) -> None:
    """A hostile text of 100 kB of what sentences, tables and commands are known by is done."""
    once = redact.redact(piece * (100_000 // len(piece)))

    assert redact.redact(once) == once


def test_planted_secrets_go_and_look_alikes_stay() -> None:
    """Of 120 secrets and 120 look-alikes of all kinds at most one each goes wrong."""
    planted, harmless = benchmark.cases(seed=1, each=2)

    leaked = [
        case.text for case in planted if any(piece in benchmark.scrubbed(case) for piece in case.pieces)
    ]
    altered = [case.text for case in benchmark.alterations(harmless)]

    assert (len(planted), len(harmless)) == (120, 120)
    assert len(leaked) <= 1, leaked
    assert len(altered) <= 1, altered


@pytest.mark.parametrize("rest", ["A" * 21, "A_-A" * 9 + "A", "\n" + "A" * 61])
def test_what_only_begins_like_an_armoured_key_stays(rest: str) -> None:
    """Base64 that goes on with nothing, of whatever length, is no key and no error."""
    text = f"LS0tLS1CRUdJTi{rest}"

    assert redact.redact(text) == text


def test_each_of_many_known_secrets_goes_wherever_it_stands_again() -> None:
    """3,000 passwords of one string are taken out of a second one that names none of them."""
    passwords = [f"Harbor!{hashlib.sha256(b'%d' % number).hexdigest()[:9]}X7" for number in range(3_000)]
    named = "\n".join(f"password={password}" for password in passwords)
    text = event(tool_input={"content": named}, tool_response={"list": " ".join(passwords)})

    kept = json.loads(redact.scrub(text))

    assert kept["tool_response"]["list"] == " ".join(["[redacted: password]"] * 3_000)


def test_the_longest_of_known_secrets_that_begin_alike_goes_whole() -> None:
    """Of a known secret that another one continues, nothing of the longer one is left."""
    text = event(a=f"API_TOKEN={RANDOM[:20]}\nOTHER_TOKEN={RANDOM[:40]}", b=f"x{RANDOM[:40]}y {RANDOM[:20]}")

    kept = json.loads(redact.scrub(text))

    assert kept["b"] == "x[redacted: token]y [redacted: token]"


WITHHELD = "[withheld: too much to redact]"


def test_too_many_places_of_secrets_withhold_long_strings() -> None:
    """100,000 passwords are withheld, none kept; short strings stay, and are redacted."""
    text = event(
        tool_name="Bash",
        tool_input={"command": f"make TOKEN={RANDOM[:32]}"},
        tool_response={"stdout": "password=Harbor!Honey8481 " * 100_000, "stderr": "done"},
    )

    kept = json.loads(redact.scrub(text))

    assert kept == {
        "session_id": "s",
        "tool_name": "Bash",
        "tool_input": {"command": "make TOKEN=[redacted: token]"},
        "tool_response": {"stdout": WITHHELD, "stderr": "done"},
    }


def test_a_withheld_input_withholds_the_output_too() -> None:
    """Where the command is withheld, nobody can tell whether its short output may be kept."""
    command = "cat .env; " + "password=Harbor!Honey8481 " * 100_000
    text = event(tool_name="Bash", tool_input={"command": command}, tool_response={"stdout": "plain words"})

    kept = json.loads(redact.scrub(text))

    assert (kept["tool_input"], kept["tool_response"]) == ({"command": WITHHELD}, WITHHELD)


def test_an_event_of_many_short_secrets_stays_within_bounds() -> None:
    """60,000 short strings with a secret each become a note; the names of session, tool and file stay."""
    edits = [{"new_string": f"password=Harbor!Honey{number}"} for number in range(60_000)]
    text = event(tool_name="MultiEdit", tool_input={"file_path": "/p/a.py", "edits": edits})

    kept = redact.scrub(text, max_chars=4 * len(text))

    assert json.loads(kept) == {
        "session_id": "s",
        "tool_name": "MultiEdit",
        "tool_input": {"file_path": "/p/a.py", "edits": WITHHELD},
    }


def test_a_hook_out_of_time_stores_its_event_withheld(home: Path) -> None:
    """A hook process with no time to redact stores the event at once, without its long strings."""
    script = f"""
import sys
sys.path.append({str(Path(claude_mem_lite.__file__).parent.parent)!r})
from claude_mem_lite.hooks import event
event.run(redaction_s=0.000001)
"""
    stdout = f"API_TOKEN={RANDOM[:40]}\n" + "x = 1\n" * 10_000
    text = event(
        hook_event_name="PostToolUse",
        tool_name="Bash",
        tool_input={"command": f"make TOKEN={RANDOM[:32]}"},
        tool_response={"stdout": stdout},
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", script],
        input=text.encode(),
        capture_output=True,
        env={**os.environ, "CLAUDE_PROJECT_DIR": "/p"},
        check=False,
        timeout=60,
    )

    with sqlite3.connect(home / "queue.db") as database:
        rows = database.execute("SELECT session_id, tool_name, raw_output FROM pending_queue").fetchall()
    database.close()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert [row[:2] for row in rows] == [("s", "Bash")]
    kept = json.loads(rows[0][2])
    assert kept["tool_input"] == {"command": "make TOKEN=[redacted: token]"}
    assert kept["tool_response"] == {"stdout": WITHHELD}


@pytest.mark.parametrize("shape", pathological_texts.SHAPES)
def test_no_shape_of_text_breaks_redaction(shape: str) -> None:
    """Each shape of text comes out as an event with its names, within the limit."""
    text = pathological_texts.text(shape, 20_000, random.Random(1))  # noqa: S311  (no secret is made)
    bash = event(tool_name="Bash", tool_input={"command": "make"}, tool_response={"stdout": text})

    kept = redact.scrub(bash, max_chars=16_384)

    assert len(kept) <= 16_384
    assert json.loads(kept) | {"tool_response": None} == json.loads(bash) | {"tool_response": None}
