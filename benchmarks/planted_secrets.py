"""Make up secrets of sixty kinds in their services' formats, in the forms found in files and commands.

Every value comes from a seed and gives no access. Prefixes are split into parts, so that secret scanners do
not report this source. The forms are in `data/planted_secrets.jsonl`: "@@" stands for the secret, %N, %n and
%c for its name. The redaction rules were fitted to `forms`; the `held_out` forms were not used for fitting.
"""

from __future__ import annotations

import base64
import json
import string
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import secret_values as values

if TYPE_CHECKING:
    from random import Random

    from secret_values import Maker

_PIECE, _SHORTEST = 10, 6  # characters of a secret in a row that count as a leak; shortest part checked


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret in its form; it has leaked if one of its pieces is found again."""

    kind: str
    text: str
    pieces: tuple[str, ...]


def plant(kind: str, rng: Random, *, held_out: bool | None = None) -> Planted:
    """Return a new secret of `kind` in one of the first forms, the held-out forms, or (None) all forms."""
    made = _MAKERS[kind](rng)
    value, parts = (made, (made,)) if isinstance(made, str) else made
    form = rng.choice(_forms(kind, held_out=held_out)).replace("@@", value)
    for mark, alphabet, length in (("@HOST", values.LOWER, 6), ("@HEX", values.HEX, 32)):
        form = form.replace(mark, values.some(rng, alphabet, length))
    some = parts if len(parts) <= 3 else (parts[0], parts[len(parts) // 2], parts[-1])
    return Planted(kind, form, tuple(piece for part in some for piece in _pieces(part)))


def _forms(kind: str, *, held_out: bool | None) -> list[str]:
    row = _ROWS[kind]
    name, first, second = row["name"], row["forms"] or TOKEN_FORMS, row["held_out"] or TOKEN_FORMS_HELD_OUT
    some = [*first, *second] if held_out is None else second if held_out else first
    return [form.replace("%N", name).replace("%n", name.lower()).replace("%c", _camel(name)) for form in some]


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(word.title() for word in rest)


def _pieces(part: str) -> list[str]:
    if len(part) <= _PIECE:
        return [part] if len(part) >= _SHORTEST else []  # shorter text may occur anywhere by chance
    if len(part) <= 2 * _PIECE:  # passwords of two words may share their first word
        return [part, part[-8:]]
    middle = len(part) // 2
    return [part[:_PIECE], part[middle - _PIECE // 2 : middle + _PIECE // 2], part[-_PIECE:]]


# Forms of kinds without their own: redaction recognizes their values wherever they occur.
TOKEN_FORMS: tuple[str, ...] = (
    "%N=@@",
    "export %N='@@'",
    '"%c": "@@",',
    "%n: @@",
    "Authorization: Bearer @@",
    "client = Client('@@')",
    "mytool deploy --%n @@ --yes",
    "use this one: @@",
    "-e %N=@@",
)
TOKEN_FORMS_HELD_OUT: tuple[str, ...] = (
    "GET /v1/items?access_token=@@&page=2 HTTP/1.1",
    "echo @@ | docker login -u me --password-stdin",
    "{'%n': '@@', 'n': 1}",
    "| %n | @@ | 2026-01-01 |",
    "<%c>@@</%c>",
    'set -gx %N "@@"',
    "git clone https://oauth2:@@@git@HOST.example/team/app.git",
    "%n,@@,active",
    "x = `@@`;",
    "%n => '@@',",
    "[@@]",
    "'-H', 'X-Auth: @@',",
)

_MAKERS: dict[str, Maker] = {
    "aws access key": values.one_of(
        values.token("AK" + "IA", values.UPPER + "234567", 16),
        values.token("AS" + "IA", values.UPPER + "234567", 16),
    ),
    "aws secret key": values.base64_of(30),
    "github classic": values.github,
    "github fine-grained": lambda rng: (
        "github_"
        + f"pat_{values.some(rng, values.ALNUM, 22)}_"
        + (body := values.some(rng, values.ALNUM, 59)),
        (body,),
    ),
    "gitlab": values.one_of(
        values.token("gl" + "pat-", values.URL_SAFE, 20), values.token("gl" + "dt-", values.URL_SAFE, 20)
    ),
    "slack bot": values.slack,
    "slack app": values.slack_app,
    "slack webhook": values.slack_webhook,
    "stripe": values.one_of(
        values.token("sk_" + "live_", values.ALNUM, 24),
        values.token("sk_" + "test_", values.ALNUM, 99),
        values.token("rk_" + "live_", values.ALNUM, 24),
    ),
    "google api key": values.token("AI" + "za", values.URL_SAFE[:-2], 35),
    "gcp service account": values.service_account,
    "azure storage key": values.base64_of(64),
    "azure sas": values.sas,
    "openai": values.openai,
    "anthropic": lambda rng: (
        "sk-" + f"ant-api03-{(body := values.some(rng, values.URL_SAFE, 93))}AA",
        (body,),
    ),
    "hugging face": values.token("h" + "f_", string.ascii_letters, 34),
    "npm": values.token("np" + "m_", values.ALNUM, 36),
    "pypi": values.pypi,
    "sendgrid": values.sendgrid,
    "twilio": values.twilio,
    "telegram bot": lambda rng: (
        f"{values.some(rng, '123456789', 1)}{values.some(rng, values.DIGITS, 9)}:AA{(body := values.some(rng, values.URL_SAFE[:-2], 33))}",
        (body,),
    ),
    "discord bot": values.discord,
    "discord webhook": lambda rng: (
        "https://discord"
        + f".com/api/webhooks/{values.some(rng, values.DIGITS, 19)}/{(body := values.some(rng, values.URL_SAFE, 68))}",
        (body,),
    ),
    "jwt": values.jwt,
    "pem private key": values.PEM,
    "pem escaped or cut": values.one_of(values.escaped(1), values.escaped(2), values.beheaded),
    "ssh private key": values.ssh,
    "pgp private block": values.pgp,
    "database url": values.url_password,
    "login in url": values.url_password,
    "basic header": values.basic,
    "bearer token": values.opaque,
    "cookie": values.session,
    "password in shell": values.password,
    "password in config": values.password,
    "password in code": values.password,
    "password in command": values.password,
    "netrc or pgpass": values.password,
    "heroku": values.one_of(values.uuid, values.token("HRKU-" + "AA", values.URL_SAFE[:-2], 58)),
    "digitalocean": values.token("do" + "p_v1_", values.HEX, 64),
    "mailgun": values.one_of(
        values.token("key-", values.HEX, 32),
        lambda rng: (
            f"{values.some(rng, values.HEX, 32)}-{values.some(rng, values.HEX, 8)}-{values.some(rng, values.HEX, 8)}"
        ),
    ),
    "datadog": lambda rng: values.some(rng, values.HEX, rng.choice((32, 40))),
    "sentry dsn": lambda rng: (
        f"https://{values.some(rng, values.HEX, 32)}:{(body := values.some(rng, values.HEX, 32))}@o{values.some(rng, values.DIGITS, 6)}.ingest.sentry.io/{values.some(rng, values.DIGITS, 7)}",
        (body,),
    ),
    "vault": values.one_of(
        values.token("hv" + "s.", values.URL_SAFE[:-2], 24),
        values.token("hv" + "b.", values.URL_SAFE[:-2], 100),
        values.token("s.", values.ALNUM, 24),
    ),
    "databricks": values.token("da" + "pi", values.HEX, 32),
    "linear or notion": values.one_of(
        values.token("lin_" + "api_", values.ALNUM, 40),
        values.token("secret_", values.ALNUM, 43),
        values.token("ntn_", values.DIGITS + values.ALNUM, 46),
    ),
    "okta": values.token("00", values.URL_SAFE[:-2], 40),
    "firebase": lambda rng: (
        "AAAA"
        + values.some(rng, values.URL_SAFE, 7)
        + ":APA91b"
        + (body := values.some(rng, values.URL_SAFE[:-2], 134)),
        (body,),
    ),
    "age or sops": values.token("AGE-" + "SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "kubernetes secret": lambda rng: base64.b64encode(values.password(rng).encode()).decode(),
    "long credential": values.long,
    "strong password quoted": values.strong,
    "odd password in yaml": values.yaml_password,
    "pair of name and value": values.mixed,
    "fallback or block": values.mixed,
    "further services": values.SERVICES,
    "password at a command": values.mixed,
    "password hash": values.HASHES,
    "azure key listed": values.base64_of(64),
    "webhook address": lambda rng: (
        rng.choice(
            (
                "https://discord" + f".com/api/v10/webhooks/{values.some(rng, values.DIGITS, 19)}/",
                "https://hooks.slack-" + "gov.com/services/T0123ABCD/B0123ABCD/",
            )
        )
        + (body := values.some(rng, values.ALNUM, 68)),
        (body,),
    ),
}
_ROWS = {
    row["kind"]: row
    for row in map(
        json.loads, (Path(__file__).parent / "data" / "planted_secrets.jsonl").read_text().splitlines()
    )
}
KINDS = tuple(_MAKERS)
