"""What only looks like a secret stays: hashes, identifiers, code, placeholders, sentences, tables."""

from __future__ import annotations

import base64
import sys
import uuid
from pathlib import Path

import pytest
from support.made_up_secrets import HEX

from claude_mem_lite.redaction.events import redact

sys.path.append(str(Path(__file__).parent.parent / "benchmarks"))

import redaction as benchmark


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
        "the password is wrong",
        "the password is stored in vault2",
        "the token is expired since 2024-05-01",
        "password is required (min 12 characters)",
        "the secret is to use 2 threads",
        "password for svc01 is missing",
        "the token is a JWT signed with HS256",
        "the password is base64 encoded and hashed with bcrypt12",
        "the key 5d41402abc4b2a76b9719d911017c592 was evicted",
        "the api key for v2 is in config/prod2.yaml",
        "the password field is password2 in LoginForm2",
        "log in with Windows2019 and IE11",
        "login takes 300ms / 1200ms to log in",
        "| Password | varchar(255) |\n| Token | uuid |",
        "| Test | Pass | Fail |\n|---|---|---|\n| a1 | 12 | 0 |",
        "user,token_count\nanna,12345",
        "apt\tpasswd\t1:4.13\napt\tlibacl1:amd64\t2.3.1-3",
        "INSERT INTO users (name, password) VALUES (?, ?)",
        "login(user, password2)",
        "password = Sha256.hash(x1)",
        "password=settings.DB2_PASSWORD",
        'password = password.encode("latin1")',
        '"password": "Contraseña"',
        '"password": "Adgangskode"',
        '"confirm_password": "パスワード（確認）"',  # noqa: RUF001
        "s/password=[^&]*/password=***/g",
        "curl -u <user>:<password> https://h.example",
        "openssl enc -k $KEY",
        "docker login ghcr.io",
        'gh secret set TOKEN --body "$TOKEN"',
        "kind: ConfigMap\ndata:\n  a: c2VjcmV0LXRleHQ=",
        "secret: my-app-db",
        "  password: {{ .Values.db.password | b64enc }}",
        "Contents of ``key-certificate.pem``::\n\n    LS0tLS1CRUdJTiBD",
        "define('WP_DEBUG', true);",
        "define( 'AUTH_KEY', 'put your unique phrase here' );",
        "define(['jquery', 'underscore'], function ($, _) {})",
        'w.Write([]byte("hello world, how are you"))',
        'tokenPrefix := []byte("Bearer of news")',
        "The phrase is: the quick brown fox jumps over the lazy dog and then sleeps until noon",
        "seed: 42",
        f"tx 0x{HEX} was mined",
        f"{HEX}  wallet-1.2.tar.gz",
        "login with your company account / SSO",
        "You can log in with email and password.",
        "totp = pyotp.TOTP(os.environ['TOTP_SECRET'])",
        "The authenticator app shows six digits.",
        *(f"LS0tLS1CRUdJTi{rest}" for rest in ("A" * 21, "A_-A" * 9 + "A", "\n" + "A" * 61)),
    ],
)
def test_what_only_looks_secret_stays(text: str) -> None:
    """Hashes, images, ordinary code, placeholders, dates, sentences and tables are kept as they are."""
    assert redact(text) == text


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
