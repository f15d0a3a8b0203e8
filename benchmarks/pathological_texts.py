"""Generate texts that could make the search for secrets slow.

`SHAPES` maps a name to a function that makes pieces: repeated prefixes without a secret after them, thousands
of secrets, quotes and brackets that never close, runs without white space, and large files of everyday
formats. Every value comes from a seed and gives no access.
"""

from __future__ import annotations

import base64
import json
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Unit = Callable[[Random], str]

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"
_WORDS = ("harbor", "ledger", "falcon", "maple", "orbit", "copper", "window", "river", "planet", "rocket")
_TOKEN, _ARMOUR = "gh" + "p_", "-----BEGIN " + "RSA PRIVATE KEY-----"


def text(name: str, size: int, rng: Random) -> str:
    """Return `size` characters of a shape."""
    unit, parts, length = SHAPES[name], [], 0
    while length < size:
        parts.append(unit(rng))
        length += len(parts[-1])
    return "".join(parts)[:size]


def _some(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _random(length: int = 24) -> Unit:
    return lambda rng: _some(rng, _ALNUM, length)


def _password(rng: Random) -> str:
    return f"{rng.choice(_WORDS).title()}!{rng.choice(_WORDS).title()}{rng.randint(100, 9999)}"


def _word(rng: Random) -> str:
    return rng.choice(_WORDS)


def _same(piece: str, times: int = 64) -> Unit:
    """Return a function that repeats a piece unchanged."""
    return lambda _: piece * times


def _form(form: str) -> Unit:
    """Return a function that fills the marks in a form, see `_MARKS`."""

    def make(rng: Random) -> str:
        filled = form
        for mark, value in _MARKS.items():
            while mark in filled:
                filled = filled.replace(mark, value(rng), 1)
        return filled

    return make


_MARKS: dict[str, Unit] = {
    "%P": _password,
    "%R": _random(),
    "%W": _word,
    "%N": lambda rng: str(rng.randint(1, 99_999)),
    "%X": lambda rng: _some(rng, _HEX, 40),
    "%B": lambda rng: base64.b64encode(rng.randbytes(48)).decode(),
}


def _pem(rng: Random) -> str:
    lines = "\n".join(base64.b64encode(rng.randbytes(48)).decode() for _ in range(12))
    return f"{_ARMOUR}\n{lines}\n{_ARMOUR.replace('BEGIN', 'END')}\n"


def _nested_json(rng: Random) -> str:
    row = {"user": _word(rng), "password": _password(rng), "note": f"{_word(rng)} {_word(rng)}"}
    return json.dumps({"level": "info", "body": json.dumps({"row": json.dumps(row)})}) + "\n"


def _minified(rng: Random) -> str:
    names = [_some(rng, string.ascii_letters, 2) for _ in range(6)]
    a, b, c, d, e, f = names
    return (
        f"function {a}({b},{c}){{return {b}.{d}?{c}[{e}]:{{key:{f},token:{a}.next()}}}}"
        f"var {d}={{{e}:!0,{f}:void 0}};"
    )


def _source(rng: Random) -> str:
    one, two = _word(rng), _word(rng)
    return (
        f"def {one}_{two}(self, {one}: str, *, {two}: int = {rng.randint(1, 99)}) -> dict[str, int]:\n"
        f'    """Return the {two} of a {one}."""\n'
        f"    for key, value in self.{one}s.items():\n        if key.startswith('{two}'):\n"
        f"            yield key, value + {two}\n\n"
    )


SHAPES: dict[str, Unit] = {
    # Thousands of secrets.
    "password=X lines": _form("password=%P\n"),
    "password=random lines": _form("password=%R\n"),
    "users.json": _form('  {\n    "id": %N,\n    "user": "%W%N",\n    "password": "%P"\n  },\n'),
    "users.json on one line": _form('{"id":%N,"user":"%W%N","password":"%P"},'),
    "tokens in JSON": _form('{"token":"%R%R","name":"%W"},'),
    ".env": _form("%W_API_KEY=%R\n"),
    ".env in capitals": _form("DB_PASSWORD='%P'\n"),
    "YAML passwords": _form("- name: %W\n  password: %P\n"),
    "YAML of Kubernetes": _form("apiVersion: v1\nkind: Secret\ndata:\n  %W: %B\n---\n"),
    "CSV with passwords": _form("%W%N,%P,%W\n"),
    "CSV headed by password": _form("user,password,role\n%W,%P,admin\n%W,%P,user\n"),
    "Markdown table": _form("| user | password |\n|---|---|\n| %W | %P |\n"),
    "psql table": _form(" id | password\n----+---------\n %N | %P\n(1 row)\n"),
    "INSERT statements": _form("INSERT INTO users (name, password) VALUES ('%W', '%P');\n"),
    "INSERT of rows": _form("('%W', '%P'),\n"),
    "XML": _form("<user><name>%W</name><password>%P</password></user>\n"),
    "HTML table": _form("<tr><td>Password</td><td>%P</td></tr>\n"),
    "properties": _form("spring.datasource.password=%P\n"),
    "URLs with userinfo": _form("https://%W:%P@host.example/a\n"),
    "database URLs": _form("DATABASE_URL=postgres://app:%P@db.example:5432/shop\n"),
    "connection strings": _form("Server=db;User Id=sa;Password=%P;Encrypt=True\n"),
    "Bearer headers": _form("Authorization: Bearer %R%R\n"),
    "Basic headers": _form("Authorization: Basic %B\n"),
    "cookies": _form("Set-Cookie: sessionid=%R; Path=/; HttpOnly\n"),
    "one long cookie": _form("Cookie: a=%R; b=%R; c=%R; "),
    "tokens of a service": _form(f"{_TOKEN}%R0123456789ab\n"),
    "keys of many services": _form(f"sk-%R%R {_TOKEN}%R0123456789ab hvs.%R\n"),
    "private keys": _pem,
    "password hashes": _form("$2b$12$%R%Rabcde:%W\n"),
    ".pgpass": _form("db%N:5432:shop:%W:%P\n"),
    ".netrc": _form("machine h%N.example login %W password %P\n"),
    "curl commands": _form("curl -u %W:%P https://h.example/%W\n"),
    "mysql commands": _form("mysql -u root -p%P shop\n"),
    "shell exports": _form("export %W_TOKEN=%R && make\n"),
    "sentences": _form("The password for the %W server is %P now. "),
    "Chinese sentences": _form("密码是 %P。\n"),
    "JSON in JSON in JSON": _nested_json,
    "escaped JSON": _form('\\"password\\": \\"%P\\", \\"user\\": \\"%W\\", '),
    "Python calls": _form("connect(host='%W', user='%W', password='%P')\n"),
    "setters": _form('conn.setPassword("%P");\n'),
    "fallbacks": _form("const password = process.env.PW || '%P';\n"),
    "Terraform": _form('variable "db_password" {\n  type = string\n  default = "%P"\n}\n'),
    "pairs of name and value": _form('{"name": "DB_PASSWORD", "value": "%P"},\n'),
    "login calls": _form('client.login("%W", "%P")\n'),
    "one password again and again": _same("password=Harbor!Honey8481\n"),
    "one password, then text without it": _form("%W %W %N Harbor!Honey8481\n"),
    "a chain of commands": _form("PASSWORD=%P make && TOKEN=%R curl -H 'X-Api-Key: %R' h | "),
    # Signs of secrets without a secret after them.
    "password=": _same("password="),
    "password: in prose": _form("The password: it was %W, and the token of %W too. "),
    "secret='": _same("secret='"),
    "secret=' on a line each": _same("secret='\n"),
    'token="': _same('token="'),
    "key=": _same("key="),
    "api_key: ": _same("api_key: "),
    "Bearer ": _same("Bearer "),
    "auth=": _same("auth="),
    "pass": _same("pass"),
    "pw": _same("pw"),
    "password and a digit": _same("password 1 "),
    "names without values": _form("%W_password, %W_token, %W_secret, "),
    "credentials: a/": _same("credentials: a1/"),
    "://": _same("://"),
    "://a:": _same("://a:"),
    "://a:b@": _same("://a:b@"),
    "@": _same("@"),
    "login(": _same("login(a, "),
    "insert values": _same("insert (password) values ('"),
    "chpasswd:": _same("chpasswd:\n  list: |\n    "),
    "kind: secret": _same("kind: secret data: "),
    "| password |": _same("| password | "),
    "password,": _same("password,"),
    "PEM heads": _same(_ARMOUR + "\n"),
    "PEM heads without line ends": _same(_ARMOUR),
    "-----BEGIN ": _same("-----BEGIN "),
    "an armoured key in base64": _same("LS0tLS1CRUdJTi"),
    "eyJ": _same("eyJ"),
    "sk-": _same("sk-"),
    "token heads": _same(_TOKEN),
    "<private>": _same("<private>"),
    "<private> and </private>": _same("<private>a</private>"),
    "file names": _form("src/.env.%W config/credentials.json id_rsa "),
    "cat .env": _same("cat .env; "),
    "grep lines": _form(".env:%N:%W=%R\n"),
    "here-documents": _form("cat > .env <<'EOF'\nA=%W\nEOF\n"),
    # Runs without an end.
    "one letter": _same("a"),
    "blanks": _same(" "),
    "line ends": _same("\n"),
    "backslashes": _same("\\"),
    "double quotes": _same('"'),
    "single quotes": _same("'"),
    "an open bracket": _same("["),
    "nested brackets": lambda _: "{[(" * 32 + ")]}" * 32,
    "equals signs": _same("="),
    "A==": _same("A=="),
    "colons": _same(":"),
    "dots": _same("."),
    "escapes": _same("\\n\\t\\u00e9"),
    "control characters": _same("\x1b[32m+\x00"),
    "a run of letters and digits": _random(4096),
    "a run of base64": lambda rng: base64.b64encode(rng.randbytes(3000)).decode(),
    "a run of hex": lambda rng: _some(rng, _HEX, 4096),
    "lines of base64": _form("%B\n"),
    "lines of hashes": _form("%X  %W/%W.py\n"),
    "words of another script": _same("密钥和口令 пароль contraseña "),
    "emoji": _same("🔑🔒"),
    "the dotted capital I": _same("İ"),
    # Everyday files.
    "source code": _source,
    "minified JavaScript": _minified,
    "a log": _form("2026-03-02T10:11:12.%N INFO [%W] request %N by user %W took %N ms\n"),
    "a log with tokens counted": _form('{"at":%N,"input_tokens":%N,"output_tokens":%N,"key":"%W"}\n'),
    "a lock file": _form('"%W": {"version": "1.%N.0", "integrity": "sha512-%B%B"},\n'),
    "a diff": _form("diff --git a/%W.py b/%W.py\n@@ -%N,7 +%N,7 @@\n-    %W = %N\n+    %W = %N\n"),
    "terminal colours": _form("\x1b[32m+    %W = '%W'\x1b[m\n"),
    "numbers": _form("%N, %N, %N, %N,\n"),
    "shell history": _form("  %N  git commit -m '%W %W' && make -j 4 -k %W -p -u -a -b\n"),
    "HTML": _form('<div class="%W"><a href="/%W?id=%N" data-key="%W">%W</a></div>\n'),
    "ssh configuration": _form(
        "Host %W\n  User %W\n  IdentityFile ~/.ssh/id_ed25519\n  PasswordAuthentication no\n"
    ),
    "settings named so": _form("PASSWORD_MIN_LENGTH=%N\nTOKEN_URL=https://%W.example/%W\nSECRET_NAME=%W\n"),
}
