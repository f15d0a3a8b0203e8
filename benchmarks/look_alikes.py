"""Sixty kinds of text that resemble secrets and are none: hashes, identifiers, placeholders, code, prose.

Numbers and letters come from a seed; what stands here must leave redaction as it came. The rules were fitted to
the first forms of each kind before they met those held out.
"""

from __future__ import annotations

import base64
import hashlib
import string
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Fill = Callable[[Random], str]

_DIGITS, _UPPER, _LOWER = string.digits, string.ascii_uppercase, string.ascii_lowercase
_ALNUM, _HEX = string.ascii_letters + _DIGITS, "0123456789abcdef"
_STEMS = (
    "order",
    "customer",
    "invoice",
    "session",
    "profile",
    "report",
    "payment",
    "search",
    "upload",
    "render",
    "account",
    "release",
    "widget",
    "parser",
    "window",
    "cluster",
    "buffer",
    "schema",
)


def look_alike(kind: str, rng: Random, *, held_out: bool | None = None) -> str:
    """Return a new text of `kind`, in the first forms, in those held out, or in any of both."""
    first, second = _KINDS[kind]
    forms = (*first, *second) if held_out is None else second if held_out else first
    return _filled(rng.choice(forms), rng)


def _filled(form: str, rng: Random) -> str:
    parts, rest = [], form
    while "@" in rest:
        before, _, rest = rest.partition("@")
        name = next((name for name in sorted(_FILLS, key=len, reverse=True) if rest.startswith(name)), "")
        parts += [before, _FILLS[name](rng) if name else "@"]
        rest = rest[len(name) :]
    return "".join([*parts, rest])


def _some(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _hex(length: int) -> Fill:
    return lambda rng: _some(rng, _HEX, length)


def _uuid(rng: Random) -> str:
    text = _some(rng, _HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _base64(count: int) -> Fill:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def _words(joint: str, count: int) -> Fill:
    return lambda rng: joint.join(rng.choices(_STEMS, k=count))


def _camel(rng: Random) -> str:
    first, *rest = rng.choices(_STEMS, k=5)
    return first + "".join(word.title() for word in rest)


def _iban(rng: Random) -> str:
    account = _some(rng, _DIGITS, 18)
    check = 98 - int(account + "131400") % 97
    text = f"DE{check:02}{account}"
    return text if rng.random() < 0.5 else " ".join(text[at : at + 4] for at in range(0, 22, 4))


def _armoured(label: str, count: int) -> Fill:
    def make(rng: Random) -> str:
        body = base64.b64encode(rng.randbytes(count)).decode()
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"])

    return make


def _ssh_key(rng: Random) -> str:
    head = b"\0\0\0\x0bssh-ed25519\0\0\0 "
    return "ssh-ed25519 " + base64.b64encode(head + rng.randbytes(32)).decode()


def _minified(rng: Random) -> str:
    names = [_some(rng, string.ascii_letters, rng.randint(1, 2)) for _ in range(12)]
    calls = ";".join(
        f"{a}.{b}=function({c}){{return {c}.{a}}}"
        for a, b, c in zip(names, names[3:], names[5:], strict=False)
    )
    return f"!function(e,t){{{calls}}}(this,{{key:{names[0]},token:{names[1]}.next()}});"


_FILLS: dict[str, Fill] = {
    "HEX7": _hex(7),
    "HEX16": _hex(16),
    "HEX32": _hex(32),
    "HEX40": _hex(40),
    "HEX64": _hex(64),
    "HEX6": _hex(6),
    "UUID": _uuid,
    "B32": _base64(32),
    "B64": _base64(64),
    "B20": _base64(20),
    "IMG": _base64(150),
    "N4": lambda rng: _some(rng, _DIGITS, 4),
    "N10": lambda rng: _some(rng, "123456789", 10),
    "N18": lambda rng: "1" + _some(rng, _DIGITS, 17),
    "N2": lambda rng: str(rng.randint(10, 28)),
    "N1": lambda rng: str(rng.randint(1, 9)),
    "WORD": _words("", 1),
    "KEBAB": _words("-", 4),
    "SNAKE": _words("_", 4),
    "PATH": _words("/", 4),
    "CAMEL": _camel,
    "CONST": lambda rng: _words("_", 3)(rng).upper(),
    "IBAN": _iban,
    "DNA": lambda rng: _some(rng, "ACGT", 60),
    "MIN": _minified,
    "PUB": _armoured("PUBLIC KEY", 290),
    "CERT": _armoured("CERTIFICATE", 700),
    "PGPPUB": _armoured("PGP PUBLIC KEY BLOCK", 300),
    "SSH": _ssh_key,
    "MIXED8": lambda rng: _some(rng, _ALNUM, 8),
    "MIXED11": lambda rng: _some(rng, _ALNUM + "-_", 11),
    "MD5": lambda rng: hashlib.md5(rng.randbytes(4), usedforsecurity=False).hexdigest(),
    "LOW5": lambda rng: _some(rng, "bcdfghjklmnpqrstvwxz2456789", 5),
    "UP26": lambda rng: "01" + _some(rng, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 24),
}

_KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "git hash": (
        ("commit @HEX40", "@HEX7 Fix the @WORD of a @WORD"),
        (
            "index @HEX7..@HEX7 100644",
            "HEAD is now at @HEX7 @WORD",
            'rev = "@HEX40"',
            "uses: actions/checkout@@HEX40",
        ),
    ),
    "uuid": (
        ("@UUID", '"id": "@UUID"'),
        ("/api/@WORD/@UUID", "session @UUID ended", "id: @UUID", "uuid.UUID('@UUID')"),
    ),
    "sha256": (
        ("@HEX64  @KEBAB.tar.gz", "sha256:@HEX64"),
        ("--hash=sha256:@HEX64", 'checksum = "@HEX64"', "SHA256(@WORD.bin)= @HEX64", "digest: sha256:@HEX64"),
    ),
    "md5": (("@MD5  @PATH.txt", 'md5 = "@MD5"'), ("MD5 (@WORD) = @MD5", 'ETag: "@MD5"', "Content-MD5: @B20")),
    "base64": (
        ("data:image/png;base64,@IMG", "echo aGVsbG8gd29ybGQ= | base64 -d"),
        (
            'src="data:image/gif;base64,@IMG"',
            "background: url(data:font/woff2;base64,@IMG)",
            "Content-Transfer-Encoding: base64\n\n@IMG",
            '"data": "@IMG",',
            "b64decode('aGVsbG8gd29ybGQ=')",
            "mappings: AAAA,SAASA,EAAQC,GACf,OAAOC,EAAE",
        ),
    ),
    "minified script": (("@MIN",), ("//# sourceMappingURL=@WORD.@HEX7.js.map\n@MIN",)),
    "lock file integrity": (
        ('"integrity": "sha512-@B64",', "@PATH v1.@N1.0 h1:@B32"),
        (
            "  resolution: {integrity: sha512-@B64}",
            "integrity sha512-@B64",
            '{file = "@WORD-1.@N1.0.whl", hash = "sha256:@HEX64"},',
        ),
    ),
    "account number": (
        ("account number @N10", '"account_number": "@N10",'),
        ("Account: @N10-@N2", "account_id = @N10", "customer @N10 paid invoice @N4"),
    ),
    "iban": (("@IBAN",), ('"iban": "@IBAN"', "IBAN: @IBAN")),
    "file path": (
        ("/usr/lib/python3/@PATH.py", "key_file = '/etc/ssl/@PATH.pem'"),
        (
            "TOKEN_PATH=/var/run/@PATH",
            'secret_path: "/run/secrets/@SNAKE"',
            "C:\\Users\\me\\@KEBAB\\token.txt",
            "password_file=/etc/@WORD/pw.txt",
        ),
    ),
    "package version": (
        ("@KEBAB==1.@N1.@N2", '"@KEBAB": "^@N1.@N2.0",'),
        (
            "@WORD-token@@N1.@N2.0",
            "tokenizers==0.@N2.@N1",
            "secretstorage>=@N1.@N1",
            "python-jose[key]==@N1.2",
            'passlib = "^1.@N1.4"',
        ),
    ),
    "css colour": (
        ("color: #@HEX6;",),
        ("--token-color-@WORD: #@HEX6;", "$key-color: #@HEX6;", "colors = ['#@HEX6', '#@HEX6', '#@HEX6']"),
    ),
    "test id": (
        ('data-testid="@KEBAB-@N1"',),
        (
            "getByTestId('password-@KEBAB')",
            'id="token-@WORD-@N2"',
            "tests/test_@SNAKE.py::test_token_@SNAKE[@WORD-@N2]",
        ),
    ),
    "snowflake": (
        ("user @N18 joined",),
        (
            '"channel_id": "@N18"',
            "https://chat.example/channels/@N18/@N18",
            "<@@N18> wrote",
            '"message": @N18',
        ),
    ),
    "placeholder": (
        ("API_KEY=<your-token>", "password: xxxxxxxx", "TOKEN=your_token_here", "SECRET=changeme"),
        (
            'api_key = "YOUR_API_KEY"',
            "Authorization: Bearer <token>",
            "password=********",
            "sk-xxxxxxxxxxxxxxxxxxxxxxxx",
            "export TOKEN=...",
            "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "DB_PASSWORD=replace-me",
            "token: INSERT_TOKEN_HERE",
            "postgres://user:pass@localhost/db",
            "API_KEY=sk-...",
            "'password': '<password>'",
            "secret_key: TODO",
            "DATABASE_URL=postgres://USER:PASSWORD@HOST:5432/DB",
            "curl -u user:password https://a.example",
        ),
    ),
    "reference in shell": (
        ("TOKEN=$TOKEN", 'PASSWORD="${DB_PASSWORD}"', 'curl -H "Authorization: Bearer $TOKEN"'),
        (
            "API_KEY=$(cat key.txt)",
            "-e DB_PASSWORD=$DB_PASSWORD",
            'mysql -p"$MYSQL_PWD" shop',
            "export TOKEN=${TOKEN:-}",
            "SECRET=`pass show @WORD`",
            "psql postgres://app:$PGPASSWORD@db/x",
            'PASSWORD="$(openssl rand -base64 32)"',
            "set -x TOKEN (op read op://dev/@WORD/token)",
            'curl -u "$USER:$PASS" https://a.example',
            "echo $SECRET_KEY | head -c 4",
        ),
    ),
    "reference in CI": (
        ("token: ${{ secrets.GITHUB_TOKEN }}", "password: $(DB_PASSWORD)"),
        (
            "NPM_TOKEN: ${{ secrets.NPM_TOKEN }}",
            "api_key: !Ref ApiKey",
            'password: "{{ vault_password }}"',
            "secret: {{ .Values.secret.name }}",
            "token = var.api_token",
            'password = data.vault.db.data["password"]',
            "secretKeyRef: {name: db, key: password}",
            "api_key = module.@WORD.api_key",
        ),
    ),
    "reference in code": (
        ('token = os.environ["TOKEN"]', "password = config.get('password')", "apiKey: process.env.API_KEY,"),
        (
            "secret = settings.SECRET_KEY",
            "const token = await getToken(user);",
            "password = os.getenv('DB_PASSWORD', '')",
            'token := r.Header.Get("X-Token")',
            "api_key=self._api_key,",
            "password: req.body.password,",
            'String token = request.getHeader("Authorization");',
            'let secret = std::env::var("SECRET")?;',
            "auth = f'Bearer {token}'",
            "headers['Authorization'] = `Bearer ${token}`",
            "token = response.json()['access_token']",
            "password=args.password or prompt(),",
            "this.token = localStorage.getItem('token')",
            "key = hashlib.sha256(seed).digest()",
        ),
    ),
    "names in code": (
        ('password_field = "password"', "token = next(tokens)", "def login(user, password): ..."),
        (
            "TOKEN_PATTERN = re.compile(r'\\w+')",
            "tokens = tokenizer.encode(text)",
            "key = (row.id, row.name)",
            "class PasswordForm(Form):",
            "for key, value in pairs.items():",
            "secret_count += 1",
            "if (token.type === 'identifier') {",
            "is_secret = kind in SECRET_KINDS",
            "password_hasher = PasswordHasher()",
            "token_type = TokenType.COMMA",
            "keys = sorted(rows, key=lambda row: row.name)",
            "max_tokens = 4096",
            "api_key_header = APIKeyHeader(name='X-API-Key')",
            "token: Token = lexer.peek()",
            "expect(token).toBe(undefined)",
            "raise InvalidTokenError(token_id)",
            "PASSWORD_RESET_TIMEOUT = 259200",
            "const TOKEN_REFRESH_MS = 15 * 60 * 1000;",
            "secret: str = Field(default=..., min_length=8)",
            "AUTH_PASSWORD_VALIDATORS = []",
        ),
    ),
    "types": (
        ("token: string;", "password: Optional[str] = None"),
        (
            "readonly secretKey?: string | null;",
            "apiKey: Annotated[str, Header()]",
            "pub token: Option<String>,",
            'Password string `json:"password"`',
            "private String password;",
            "password = models.CharField(max_length=128)",
            "token VARCHAR(64) NOT NULL",
            "secret: z.string().min(16)",
            "token: { type: String, required: true }",
            "password = serializers.CharField(write_only=True)",
        ),
    ),
    "prose": (
        ("The token expires after an hour.", "Never commit a password: use the vault."),
        (
            "What is the secret: patience.",
            "key: value pairs are sorted",
            "Ask for a token, then pass it in the header.",
            "The password must have at least 12 characters.",
            "Rotate secrets every @N2 days (see RFC 6750).",
            "A bearer token is sent with each request.",
            "Token: a word or a sign of the language",
            "Password reset does not work in Safari",
            "the secret to fast builds is caching",
            "Note on passwords: store only hashes (argon2id).",
            "key insight: indexes are cheap",
            "Bearer authentication scheme",
            "the api key was invalid, so we got 401",
            "I forgot my password yesterday",
        ),
    ),
    "docs": (
        ("| `token` | string | required | the token of the user |",),
        (
            "--password TEXT  The password to use.  [required]",
            "`API_KEY` (string, default: empty): key of the API",
            "usage: tool [--token TOKEN] [--secret SECRET]",
            "  -p, --password string   Password",
            "@param password the password of the user",
            ":param token: what `login` returned",
            "* secret_key: Used to sign cookies",
            "set `password: true` to enable it",
            "[password](docs/password.md)",
            "password: str, the password in plain text",
        ),
    ),
    "public key": (
        ("@PUB", "@SSH me@host"),
        (
            "@PGPPUB",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC@B64 deploy",
            'public_key = "@B32"',
            "PublicKey = @B32",
            "age1@LOW5@LOW5@LOW5@LOW5@LOW5@LOW5@LOW5",
            '"publicKeyBase58": "@MIXED8@MIXED8@MIXED8@MIXED8"',
        ),
    ),
    "certificate": (("@CERT",), ("ca.crt: |\n@CERT", "certificate-authority-data: @IMG", '"x5c": ["@IMG"]')),
    "known hosts": (("git.example,10.0.0.@N2 @SSH",), ("|1|@B20|@B20 @SSH", "[host.example]:2222 @SSH")),
    "fingerprint": (
        ("SHA256:@B32 me@host (ED25519)",),
        (
            "@N4 SHA256:@B32 (RSA)",
            "key fingerprint is SHA256:@B32.",
            "Key fingerprint = @HEX40",
            'pin-sha256="@B32"',
        ),
    ),
    "trace id": (
        ("traceparent: 00-@HEX32-@HEX16-01", "X-Request-Id: @UUID"),
        (
            'ETag: W/"@HEX16-@HEX7"',
            "request_id=@UP26",
            '"trace_id": "@HEX32"',
            "span=@HEX16 trace=@HEX32",
            "x-amzn-trace-id: Root=1-@HEX7a-@HEX16@HEX7a",
            "CF-RAY: @HEX16-FRA",
            'etag: "@HEX40"',
        ),
    ),
    "nonce": (
        ('<script nonce="@B20">',),
        ("script-src 'nonce-@B20'", 'integrity="sha384-@B64" crossorigin', "Sec-WebSocket-Accept: @B20"),
    ),
    "long identifier": (
        ("def test_@SNAKE_@SNAKE(): ...", "@CAMEL(@CAMEL)"),
        (
            "@CONST_@CONST = @N1",
            "password@CAMEL(@WORD)",
            "get_token_for_@SNAKE(row)",
            "const @CAMELToken = @CAMEL;",
            "@KEBAB-@KEBAB-@KEBAB",
            "sk-@KEBAB-container",
            "task-@KEBAB-@N2",
            "hf_@SNAKE_download(x)",
            "com.example.@WORD.SecretKeyFactory@N1",
        ),
    ),
    "dna": (("@DNA",), (">seq@N2 key=@WORD\n@DNA", 'sequence = "@DNA"')),
    "hex table": (
        ("0x@HEX6, 0x@HEX6, 0x@HEX6, 0x@HEX6,",),
        (
            "000000@N20: @HEX16 @HEX16  ................",
            "key = bytes([0x@N2, 0x@N2])",
            "{ 0x@HEX16, 0x@HEX16 },",
        ),
    ),
    "ethereum": (
        ("0x@HEX40",),
        (
            "transfer to 0x@HEX40",
            "tx 0x@HEX64",
            'address: "0x@HEX40",',
            "token: 0x@HEX40",
            'tokenAddress = "0x@HEX40"',
        ),
    ),
    "phone": (
        ("+49 30 @N10", "call 030-@N10"),
        ("tel:+1-555-@N4", '"phone": "+1555@N4@N2"', "Tel. (0@N2) @N4 @N4"),
    ),
    "date": (
        ("2026-03-@N2T10:11:12.@N4Z", "token expires at 2026-03-@N2T10:11:12Z"),
        (
            "password_changed: 2026-03-@N2",
            "key rotated on 2026-03-@N2 10:11",
            "token_expiry = 2026-03-@N2T10:11:12+00:00",
            '"secret_created": "2026-03-@N2T10:11:12Z"',
        ),
    ),
    "image digest": (
        ("image: shop/@WORD@sha256:@HEX64",),
        (
            "FROM python:3.@N2@sha256:@HEX64",
            "docker-pullable://shop/@WORD@sha256:@HEX64",
            "Digest: sha256:@HEX64",
        ),
    ),
    "arn": (
        ("arn:aws:secretsmanager:eu-west-1:@N10:secret:@KEBAB",),
        (
            "SecretArn: arn:aws:secretsmanager:eu-west-1:@N10:secret:@WORD-@MIXED8",
            "arn:aws:iam::@N10:user/@WORD",
            "projects/shop/secrets/@KEBAB/versions/@N1",
            'kms_key_id = "arn:aws:kms:eu-west-1:@N10:key/@UUID"',
            "https://shop.vault.azure.net/secrets/@KEBAB/@HEX32",
        ),
    ),
    "pod name": (
        ("@KEBAB-@HEX6c-@LOW5   1/1   Running",),
        (
            "pod/token-@WORD-@HEX6c-@LOW5",
            "secret/@WORD-token-@LOW5 created",
            "default-token-@LOW5   kubernetes.io/service-account-token   3   4d",
            "secretName: @KEBAB-tls",
            "imagePullSecrets: [{name: @KEBAB}]",
        ),
    ),
    "pattern of a token": (
        ("re.compile(r'ghp_[A-Za-z0-9]{36}')",),
        (
            "AKIA[0-9A-Z]{16}",
            "sk-[A-Za-z0-9]{20,}",
            "(?i)password\\s*[:=]\\s*\\S+",
            "xox[baprs]-[0-9a-zA-Z-]+",
            "token: /^[a-f0-9]{32}$/",
            "startsWith('sk_live_')",
        ),
    ),
    "label": (
        ('"password": "Passwort",', "password: 'Password'"),
        (
            '"auth.token.expired": "Your token has expired",',
            'label_password = "Password:"',
            '<label for="password">Password</label>',
            'placeholder="Enter password"',
            "token: 'Jeton',",
            '"forgot_password": "Forgot your password?"',
            "password.label=Passwort",
            "secret: 'Geheimnis'",
        ),
    ),
    "keyboard": (
        ("if (event.key === 'ArrowUp')",),
        (
            'key: "Escape"',
            "<Row key={row.id} />",
            'key="@KEBAB"',
            "accessKey: 's'",
            'keys: ["ctrl+shift+p"]',
            "key={`${row}-${index}`}",
            'keydown: "Enter"',
        ),
    ),
    "class hash": (
        ('class="css-@LOW5@N1 sc-@LOW5"',),
        (
            "main.@HEX7a.chunk.js",
            "_next/static/chunks/@N4-@HEX16.js",
            ".@WORD__@WORD--@LOW5",
            "styles_token__@LOW5",
            "index-@MIXED8.css",
        ),
    ),
    "cache key": (
        ('cache_key = "user:@N4:profile"',),
        (
            'cache.get("@WORD:@N4")',
            "key = f'{user}:{day}'",
            's3_key = "uploads/2026/@UUID.png"',
            "primary_key = '@SNAKE'",
            'partition_key = "@WORD#@N4"',
            "cacheKey: '@KEBAB-v@N1',",
            "Key: uploads/@WORD/@N4.csv",
            "idempotency-key: @UUID",
            "key: v1-deps-@HEX40",
        ),
    ),
    "sql": (
        ("id INTEGER PRIMARY KEY, token_id INTEGER REFERENCES tokens(id)",),
        (
            "ALTER TABLE users ADD COLUMN password_hash TEXT",
            "SELECT token FROM tokens WHERE user_id = @N4",
            "FOREIGN KEY (key_id) REFERENCES keys (id)",
            "CREATE INDEX idx_token_@WORD ON tokens (secret)",
            "UPDATE users SET password = ? WHERE id = @N4",
            "INSERT INTO users (name, password) VALUES (%s, %s)",
        ),
    ),
    "token numbers": (
        ("input_tokens: @N4, output_tokens: @N4",),
        (
            '"usage": {"total_tokens": @N10}',
            "token ids: [@N4, @N4, @N4]",
            "eos_token_id=@N4",
            '"eos_token": "<|endoftext|>"',
            "pad_token = '[PAD]'",
            '"cache_read_input_tokens":@N10',
            "tokens/s: @N4.@N2",
            'bos_token: "<s>"',
        ),
    ),
    "header": (
        ("Content-Type: application/json; charset=utf-8", 'WWW-Authenticate: Bearer realm="api"'),
        (
            "Access-Control-Allow-Headers: Authorization, X-Api-Key",
            "Cookie: theme=dark; lang=en",
            "Set-Cookie: lang=de; Path=/; Max-Age=31536000",
            "Authorization: required",
            "Vary: Cookie, Authorization",
            "cookie_consent=accepted",
            "Strict-Transport-Security: max-age=31536000",
        ),
    ),
    "link": (
        ("https://docs.example/auth/token?lang=en#password",),
        (
            "https://video.example/watch?v=@MIXED11",
            "https://shop.example/@KEBAB?utm_source=@WORD&id=@N10",
            "https://git.example/me/app/blob/@HEX40/src/token.py#L@N2",
            "https://user@host.example:8080/a",
            "http://localhost:3000/reset?next=/token",
            "ssh://git@host.example:22/me/secrets.git",
            "git@host.example:me/@KEBAB.git",
            "s3://bucket/@PATH/@UUID",
        ),
    ),
    "object repr": (
        ("<Token id=@N4 at 0x7f@HEX6a>",),
        (
            "Token(type='NAME', string='@SNAKE', start=(1, 4))",
            "<function get_password at 0x7f@HEX6a>",
            "Secret(name='@KEBAB', version=@N1)",
            "KeyError: 'password'",
            "TokenError: ('EOF in multi-line statement', (@N2, 0))",
            "<SecretStr '**********'>",
            "AssertionError: token != @SNAKE",
        ),
    ),
    "placeholder in test": (
        ("login('user', 'password')", "password='secret'"),
        (
            '"password": "password"',
            "client.post('/login', {'password': 'test'})",
            "token='token'",
            "create_user(password=password)",
            "with pytest.raises(KeyError, match='token'):",
            "api_key='test'",
            "assert mask('secret') == '******'",
            "secret='none'",
        ),
    ),
    "settings": (
        ("AUTH_METHOD=token", "SECRET_NAME=@KEBAB"),
        (
            "PASSWORD_MIN_LENGTH=12",
            "token_endpoint_auth_method: client_secret_basic",
            "TOKEN_URL=https://auth.example/oauth/token",
            "ssh_key_path: ~/.ssh/id_ed25519",
            "PasswordAuthentication no",
            "SECRET_PROVIDER=vault",
            "token-ttl: 3600s",
            "KEY_VAULT_NAME=@KEBAB",
            "credentials: include",
            "credentialsId: '@KEBAB'",
            "grant_type=password",
            "key_type: rsa",
        ),
    ),
    "chat or command": (
        ("git push --set-upstream origin @KEBAB", "passwd -l @WORD"),
        (
            "ssh-keygen -t ed25519 -C me@host",
            "mkdir -p secrets/@KEBAB",
            "cp -p a.txt b.txt",
            "ps -ef | grep token",
            "curl -u me https://a.example",
            "mysql -u root -p shop < dump.sql",
            "docker run -p 8080:80 -u 1000:1000 @WORD",
            "mkdir -p /data/@WORD",
            "git log -p --stat",
            "rg -uu password src",
            "kubectl get secret @KEBAB -o yaml",
            "vault kv get secret/@KEBAB",
            "pip install -U keyring",
        ),
    ),
    "pair without a secret": (
        (
            '{"name": "REGION", "value": "eu-west-@N1"}',
            "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: {name: db, key: password}",
        ),
        (
            '{"name": "password", "type": "string", "required": true}',
            '<input type="password" value="{{ form.password }}">',
            '{"key": "token_type", "value": "Bearer"}',
            '<input type="password" name="password" autocomplete="current-password">',
            'variable "db_password" {\n  type      = string\n  sensitive = true\n}',
            '{"name": "max_tokens", "value": "@N4"}',
            "- name: TOKEN_URL\n  value: https://auth.example/@WORD",
        ),
    ),
    "fallback without a secret": (
        ("const token = process.env.TOKEN || '';", "password = os.environ.get('PASSWORD', '')"),
        (
            'api_key = os.getenv("API_KEY", "test")',
            "const password = form.password || 'password';",
            "token = request.headers.get('X-Token') or None",
            "password: config.password ?? '<password>',",
            "secret: |\n    see the vault",
        ),
    ),
    "bracketed": (
        ('password: "<your-password>"', 'token = f"{user.name}-{user.id}"'),
        (
            'password = "{db_password}"',
            'secret: "env(DB_SECRET@N1)"',
            "password: 'vault[@WORD]'",
            'Authorization: "Bearer {token}"',
            'api_key: "@string/maps_key@N1"',
            'token = "$TOKEN_@N1"',
        ),
    ),
    "typed in yaml style": (
        ("password: z.string().min(8),", "password: string | null;"),
        (
            "  password: Option<String>,",
            "password: params[:password],",
            "password: req.body.password&&req.body.token,",
            "password: (value) => value.length > 7,",
            "password: user?.password1,",
            "password: Arc<Mutex<Vec<u8>>>,",
            "password: hash(input1),",
        ),
    ),
    "base64 of 64 bytes": (
        ('"integrity": "sha512-@B64"', "sha512: @B64"),
        ("    sha512: @B64\n    size: @N10", '"sha512":"@B64"', "script-src 'sha512-@B64'"),
    ),
    "address of hooks": (
        ("https://git.example/me/shop/settings/webhooks/@N10", "POST /api/webhooks/stripe 200"),
        (
            "/api/v1/webhooks/@UUID/deliveries",
            "https://hooks.slack.com/services/T000/B000/XXX",
            "app.post('/webhooks/@KEBAB')",
        ),
    ),
    "short marks": (
        ("patch @N2.@HEX40", "the task_@HEX40"),
        (
            "disk_@HEX32",
            "https://eu-us@N2.example/@HEX32",
            "re_compiled_@SNAKE_@SNAKE",
            "rows.@CAMEL",
            "ssl.create_default_context_@SNAKE",
            "desk_@HEX16",
        ),
    ),
    "environment in code": (
        ("self.env: Mapping[str, str] = {}", "const db = ctx.env.DB_@N1;"),
        (
            "if (c.env.MODE === 'dev') {",
            "jq .env package.json",
            "this.env.load('@WORD')",
            "request.env['rack.@WORD']",
        ),
    ),
    "options of commands": (
        ("ssh -p @N4 me@host.example", "http -a GET https://a.example"),
        (
            'redis-cli -a "$REDIS_PASSWORD" ping',
            "docker login -u me --password-stdin < token.txt",
            "sqlcmd -S db -U sa -P $SA_PASSWORD",
            "keytool -list -keystore app.jks -storepass $PASS",
            "rsync -a -u -p src/ host:/srv/@WORD@N4",
            "curl -u $USER:$TOKEN https://a.example",
            "htpasswd -c users @WORD",
        ),
    ),
    "percentages and counts": (
        ("pass: 98.@N1%", "pass: @N4, fail: @N1"),
        ("token: @N2%", "pass rate: 9@N1.@N1%", "passed: @N4/@N4", "secret: @N1.@N1"),
    ),
}
KINDS = tuple(_KINDS)
