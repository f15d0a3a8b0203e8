"""Made-up secrets of sixty kinds in their services' formats, each as it stands in files and commands.

Every value comes from a seed and opens nothing. Formats are put together from parts, so that no scanner of
secrets takes this source for one. The rules of redaction were fitted to the
first forms of each kind before they met those held out.
"""

from __future__ import annotations

import base64
import binascii
import json
import string
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Value = tuple[str, tuple[str, ...]]  # as it is written, and the parts of which nothing may be left
    Maker = Callable[[Random], str | Value]

DIGITS, UPPER, LOWER = string.digits, string.ascii_uppercase, string.ascii_lowercase
ALNUM, HEX = string.ascii_letters + DIGITS, "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
BASE62 = DIGITS + UPPER + LOWER
_PIECE, _SHORTEST = 10, 6  # characters: so many of a secret in a row are a leak


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret in its form; a piece of it that is found again has leaked."""

    kind: str
    text: str
    pieces: tuple[str, ...]


def plant(kind: str, rng: Random, *, held_out: bool | None = None) -> Planted:
    """Return a new secret of `kind`, in the first forms, in those held out, or in any of both."""
    made = _KINDS[kind][0](rng)
    value, parts = (made, (made,)) if isinstance(made, str) else made
    form = rng.choice(_forms(kind, held_out=held_out)).replace("@@", value)
    for mark, alphabet, length in (("@HOST", LOWER, 6), ("@HEX", HEX, 32)):
        form = form.replace(mark, _some(rng, alphabet, length))
    some = parts if len(parts) <= 3 else (parts[0], parts[len(parts) // 2], parts[-1])
    return Planted(kind, form, tuple(piece for part in some for piece in _pieces(part)))


def _forms(kind: str, *, held_out: bool | None) -> list[str]:
    _, name, first, second = _KINDS[kind]
    first, second = first or TOKEN_FORMS, second or TOKEN_FORMS_HELD_OUT
    some = [*first, *second] if held_out is None else second if held_out else first
    return [form.replace("%N", name).replace("%n", name.lower()).replace("%c", _camel(name)) for form in some]


def _camel(name: str) -> str:
    first, *rest = name.lower().split("_")
    return first + "".join(word.title() for word in rest)


def _pieces(part: str) -> list[str]:
    if len(part) <= _PIECE:
        return [part] if len(part) >= _SHORTEST else []  # a shorter rest of a key may stand anywhere
    if len(part) <= 2 * _PIECE:  # passwords of two words share their beginnings
        return [part, part[-8:]]
    middle = len(part) // 2
    return [part[:_PIECE], part[middle - _PIECE // 2 : middle + _PIECE // 2], part[-_PIECE:]]


def _some(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def _token(prefix: str, alphabet: str, length: int, suffix: str = "") -> Maker:
    """Return what makes tokens of a beginning and `length` random characters."""

    def make(rng: Random) -> Value:
        body = _some(rng, alphabet, length)
        return prefix + body + suffix, (body,)

    return make


def _one_of(*makers: Maker) -> Maker:
    return lambda rng: rng.choice(makers)(rng)


def _github(rng: Random) -> Value:
    body = _some(rng, ALNUM, 30)
    number, check = zlib.crc32(body.encode()), ""
    while number or len(check) < 6:
        number, digit = divmod(number, 62)
        check = BASE62[digit] + check
    return f"gh{rng.choice('posur')}_{body}{check}", (body,)


def _slack(rng: Random) -> Value:
    body = _some(rng, ALNUM, 24)
    return f"xox{rng.choice('bp')}-{_some(rng, DIGITS, 12)}-{_some(rng, DIGITS, 13)}-{body}", (body,)


def _slack_app(rng: Random) -> Value:
    body = _some(rng, HEX, 64)
    return f"xapp-1-A{_some(rng, UPPER + DIGITS, 10)}-{_some(rng, DIGITS, 13)}-{body}", (body,)


def _slack_webhook(rng: Random) -> Value:
    body = _some(rng, ALNUM, 24)
    ids = f"T{_some(rng, UPPER + DIGITS, 8)}/B{_some(rng, UPPER + DIGITS, 10)}"
    return "https://hooks.slack" + f".com/services/{ids}/{body}", (body,)


def _base64_of(count: int) -> Maker:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def _openai(rng: Random) -> Value:
    mark = "T3Blbk" + "FJ"
    if rng.random() < 0.4:
        head, tail = _some(rng, ALNUM, 20), _some(rng, ALNUM, 20)
        return f"sk-{head}{mark}{tail}", (head, tail)
    head, tail = _some(rng, URL_SAFE, 74), _some(rng, URL_SAFE[:-2], 74)
    return f"sk-{rng.choice(('proj', 'svcacct', 'admin'))}-{head}{mark}{tail}", (head, tail)


def _pypi(rng: Random) -> Value:
    body = base64.urlsafe_b64encode(rng.randbytes(120)).decode()
    return "py" + "pi-AgEIcHlwaS5vcmc" + body, (body,)


def _sendgrid(rng: Random) -> Value:
    first, second = _some(rng, URL_SAFE, 22), _some(rng, URL_SAFE, 43)
    return "SG" + f".{first}.{second}", (second,)


def _discord(rng: Random) -> Value:
    user = base64.b64encode(_some(rng, "123456789", 1).encode() + _some(rng, DIGITS, 17).encode()).decode()
    body = _some(rng, URL_SAFE[:-2], 38)
    return f"{user}.{rng.choice('GHXY')}{_some(rng, ALNUM, 5)}.{body}", (body,)


def _jwt(rng: Random) -> Value:
    def coded(part: bytes) -> str:
        return base64.urlsafe_b64encode(part).decode().rstrip("=")

    header = coded(json.dumps({"alg": rng.choice(("HS256", "RS256")), "typ": "JWT"}).encode())
    body = coded(
        json.dumps({"sub": _some(rng, DIGITS, 9), "iat": 1_700_000_000, "n": _some(rng, LOWER, 6)}).encode()
    )
    signature = coded(rng.randbytes(rng.choice((32, 256))))
    return f"{header}.{body}.{signature}", (signature,)


def _armoured(label: str, count: int, width: int = 64, headers: str = "") -> Maker:
    """Return what makes a block of base64 lines between BEGIN and END."""

    def make(rng: Random) -> Value:
        body = base64.b64encode(rng.randbytes(count)).decode()
        lines = [body[at : at + width] for at in range(0, len(body), width)]
        start, end = "-----BEGIN " + f"{label}-----", f"-----END {label}-----"
        return "\n".join([start, *([headers] if headers else []), *lines, end]), tuple(lines)

    return make


def _escaped(depth: int) -> Maker:
    def make(rng: Random) -> Value:
        text, lines = _pem_kinds(rng)
        return text.replace("\n", "\\" * depth + "n"), lines

    return make


def _beheaded(rng: Random) -> Value:
    text, lines = _pem_kinds(rng)
    rows = text.split("\n")
    return ("\n".join(rows[:-1]), lines) if rng.random() < 0.5 else (" ".join(rows), lines)


def _pem_kinds(rng: Random) -> Value:
    made = _PEM(rng)
    assert not isinstance(made, str)  # noqa: S101
    return made


def _ssh(rng: Random) -> Value:
    head = b"openssh-key-v1\0" + b"\0\0\0\4none\0\0\0\4none\0\0\0\0\0\0\0\1"
    body = base64.b64encode(head + rng.randbytes(rng.choice((240, 1600)))).decode()
    lines = [body[at : at + 70] for at in range(0, len(body), 70)]
    label = "OPENSSH " + "PRIVATE KEY"
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"]), tuple(lines[1:])


def _pgp(rng: Random) -> Value:
    body = base64.b64encode(rng.randbytes(600)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    check = base64.b64encode(binascii.crc_hqx(body.encode(), 0).to_bytes(3, "big")).decode()
    label = "PGP " + "PRIVATE KEY BLOCK"
    rows = [f"-----BEGIN {label}-----", "", *lines, f"={check}", f"-----END {label}-----"]
    return "\n".join(rows), tuple(lines)


def _service_account(rng: Random) -> Value:
    made = _armoured("PRIVATE KEY", 1190)(rng)
    assert not isinstance(made, str)  # noqa: S101
    key, lines = made
    account = {
        "type": "service_account",
        "project_id": "shop-" + _some(rng, DIGITS, 6),
        "private_key_id": _some(rng, HEX, 40),
        "private_key": key + "\n",
        "client_email": "deploy@shop.iam.gserviceaccount.com",
        "client_id": _some(rng, DIGITS, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps(account, indent=rng.choice((None, 2))), lines


_WORDS = (
    "maple",
    "orbit",
    "copper",
    "window",
    "falcon",
    "river",
    "summer",
    "dragon",
    "planet",
    "coffee",
    "silver",
    "tiger",
    "monkey",
    "winter",
    "purple",
    "garden",
    "rocket",
    "castle",
)


def _password(rng: Random) -> str:
    way, one, two = rng.random(), rng.choice(_WORDS), rng.choice(_WORDS)
    if way < 0.4:
        return (
            _some(rng, ALNUM, 2) + _some(rng, ALNUM + "!#%^*+?~-_", rng.randint(10, 18)) + rng.choice(ALNUM)
        )
    if way < 0.6:
        return one.title() + _some(rng, DIGITS, rng.randint(2, 4)) + rng.choice("!?#*")
    if way < 0.8:
        return one.title() + two.title() + _some(rng, DIGITS, 3)
    if way < 0.9:
        return f"{one}-{two}-{rng.choice(_WORDS)}-{rng.randint(100, 999)}"
    return one.replace("o", "0").replace("e", "3").replace("a", "4") + "_" + _some(rng, DIGITS, 4)


def _url_password(rng: Random) -> str:
    return _password(rng).translate(str.maketrans(dict.fromkeys("#?%*^!+", "-")))


def _basic(rng: Random) -> Value:
    login = f"{rng.choice(('admin', 'deploy', 'api', 'svc-build'))}:{_password(rng)}"
    value = base64.b64encode(login.encode()).decode()
    return value, (value,)


def _uuid(rng: Random) -> str:
    text = _some(rng, HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _opaque(rng: Random) -> str:
    return rng.choice((_some(rng, URL_SAFE[:-2], 40), _some(rng, HEX, 40), _some(rng, ALNUM, 32), _uuid(rng)))


def _session(rng: Random) -> str:
    return rng.choice((_some(rng, LOWER + DIGITS, 32), _some(rng, HEX, 64), "s%3A" + _some(rng, ALNUM, 43)))


def _sas(rng: Random) -> Value:
    signature = base64.b64encode(rng.randbytes(32)).decode()
    coded = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return f"sv=2023-11-03&ss=b&srt=co&sp=rl&se=2027-01-01T00:00:00Z&spr=https&sig={coded}", (coded,)


def _twilio(rng: Random) -> Value:
    body = _some(rng, HEX, 32)
    return body, (body,)


_PUNCTUATION = "!@#$%^&*()-_=+[]{}:;,.<>?/~|"


def _strong(rng: Random) -> str:
    """Return what a generator of passwords makes, with a letter at both ends."""
    return rng.choice(ALNUM) + _some(rng, ALNUM + _PUNCTUATION, rng.randint(12, 18)) + _some(rng, ALNUM, 1)


def _yaml_password(rng: Random) -> str:
    """Return a password that YAML takes without quotes."""
    body = _some(rng, ALNUM + "&,;|=%^!?", rng.randint(9, 14))
    return (
        rng.choice(LOWER) + _some(rng, DIGITS, 1) + body + rng.choice("&,;|") + _some(rng, UPPER + DIGITS, 3)
    )


def _mixed(rng: Random) -> str:
    return _some(rng, LOWER, 2) + _some(rng, ALNUM, 6) + rng.choice(DIGITS) + rng.choice(UPPER)


def _long(rng: Random) -> Value:
    body = _some(rng, ALNUM, rng.choice((100, 192, 700)))
    return body, (body,)


_SERVICES = _one_of(
    _token("r8" + "_", ALNUM, 37),
    _token("sb_" + "secret_", ALNUM, 31),
    _token("fig" + "d_", URL_SAFE[:-2], 43),
    lambda rng: ("PM" + f"AK-{_some(rng, HEX, 24)}-{(body := _some(rng, HEX, 34))}", (body,)),
    _token("pscale_" + "tkn_", URL_SAFE[:-2], 43),
    _token("ATA" + "TT3xFfGF0", ALNUM + "-_", 170, "=1A2B3C4D"),
    _token("CCI" + "PAT_", ALNUM, 60),
    lambda rng: (_some(rng, ALNUM, 14) + ".atlas" + f"v1.{(body := _some(rng, ALNUM, 67))}", (body,)),
    _token("pul" + "-", HEX, 40),
    _token("ruby" + "gems_", HEX, 48),
    lambda rng: ("lsv2" + f"_pt_{(body := _some(rng, HEX, 32))}_{_some(rng, HEX, 10)}", (body,)),
    _token("dp" + ".pt.", ALNUM, 43),
    _token("xkeysib" + "-", HEX, 64, "-aB3dE5fG7hJ9kL1m"),
    lambda rng: (f"pat{_some(rng, ALNUM, 14)}." + (body := _some(rng, HEX, 64)), (body,)),
    _token("s" + "k_", HEX, 48),
    _token("f" + "c-", HEX, 32),
    lambda rng: ((body := _some(rng, HEX, 32)) + "-us" + "12", (body,)),
    _token("sq" + "p_", HEX, 40),
    lambda rng: (
        "dt0" + f"c01.{_some(rng, UPPER, 24)}.{(body := _some(rng, UPPER + '234567', 64))}",
        (body,),
    ),
    _token("tskey" + "-auth-", ALNUM, 40),
    _token("HRK" + "U-AA", ALNUM, 58),
    _token("dckr" + "_oat_", ALNUM, 32),
    _token("r" + "e_", ALNUM, 8, "_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7"),
    _token("access_token" + "$production$", LOWER, 16, "$" + "0123456789abcdef" * 2),
)
_HASHES = _one_of(
    lambda rng: (
        f"$2{rng.choice('aby')}$1{_some(rng, '012', 1)}$" + (body := _some(rng, ALNUM + "./", 53)),
        (body,),
    ),
    lambda rng: (f"$apr1${_some(rng, ALNUM, 8)}$" + (body := _some(rng, ALNUM + "./", 22)), (body,)),
    lambda rng: (f"$6${_some(rng, ALNUM, 16)}$" + (body := _some(rng, ALNUM + "./", 86)), (body,)),
)

_PEM = _one_of(
    _armoured("RSA " + "PRIVATE KEY", 1190),
    _armoured("EC " + "PRIVATE KEY", 121),
    _armoured("PRIVATE KEY", 138),
    _armoured(
        "RSA " + "PRIVATE KEY",
        600,
        headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9\n",
    ),
    _armoured("ENCRYPTED " + "PRIVATE KEY", 320),
    _armoured("DSA " + "PRIVATE KEY", 440),
)

# Forms of what shows by itself what it is; %N, %n and %c are the name that it goes by.
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
_PEM_FORMS = ("@@",)
_PASSWORD_SHELL = (
    "DB_PASSWORD=@@",
    "export POSTGRES_PASSWORD='@@'",
    'ADMIN_PASSWORD="@@"',
    "SMTP_PASS=@@ ./send.sh",
    "export MYSQL_PWD=@@",
)
_PASSWORD_SHELL_HELD_OUT = (
    'declare -x DB_PASSWORD="@@"',
    "ENV ADMIN_PASSWORD=@@",
    "setx DB_PASSWORD @@",
    "REDIS_PASSWORD=@@ # cache",
    "$env:DB_PASSWORD = '@@'",
    "export PGPASSWORD=@@; psql -h db",
    "set -x DB_PASSWORD @@",
)

_KINDS: dict[str, tuple[Maker, str, tuple[str, ...], tuple[str, ...]]] = {
    "aws access key": (
        _one_of(_token("AK" + "IA", UPPER + "234567", 16), _token("AS" + "IA", UPPER + "234567", 16)),
        "AWS_ACCESS_KEY_ID",
        (),
        (),
    ),
    "aws secret key": (
        _base64_of(30),
        "AWS_SECRET_ACCESS_KEY",
        (
            "%N=@@",
            "aws_secret_access_key = @@",
            '"SecretAccessKey": "@@",',
            "export %N='@@'",
            "boto3.client('s3', aws_secret_access_key='@@')",
        ),
        (
            "<SecretAccessKey>@@</SecretAccessKey>",
            "secretAccessKey: '@@',",
            "aws configure set aws_secret_access_key @@",
            "spark.hadoop.fs.s3a.secret.key=@@",
            'secret_key = "@@"',
            "-e %N=@@",
            'new AWSCredentials(secretKey: "@@")',
        ),
    ),
    "github classic": (_github, "GITHUB_TOKEN", (), ()),
    "github fine-grained": (
        lambda rng: ("github_" + f"pat_{_some(rng, ALNUM, 22)}_" + (body := _some(rng, ALNUM, 59)), (body,)),
        "GH_TOKEN",
        (),
        (),
    ),
    "gitlab": (
        _one_of(_token("gl" + "pat-", URL_SAFE, 20), _token("gl" + "dt-", URL_SAFE, 20)),
        "GITLAB_TOKEN",
        (),
        (),
    ),
    "slack bot": (_slack, "SLACK_BOT_TOKEN", (), ()),
    "slack app": (_slack_app, "SLACK_APP_TOKEN", (), ()),
    "slack webhook": (
        _slack_webhook,
        "SLACK_WEBHOOK_URL",
        ("%N=@@", "curl -X POST -d '{}' @@", '"%c": "@@",', "url: @@"),
        ("requests.post('@@', json=body)", "<@@>", "webhook=@@&x=1", "POST @@ 200 in 12 ms"),
    ),
    "stripe": (
        _one_of(
            _token("sk_" + "live_", ALNUM, 24),
            _token("sk_" + "test_", ALNUM, 99),
            _token("rk_" + "live_", ALNUM, 24),
        ),
        "STRIPE_SECRET_KEY",
        (),
        (),
    ),
    "google api key": (_token("AI" + "za", URL_SAFE[:-2], 35), "GOOGLE_API_KEY", (), ()),
    "gcp service account": (
        _service_account,
        "",
        ("@@",),
        ("credentials = @@", "GOOGLE_CREDENTIALS='@@'", "gcloud said: @@ (saved)"),
    ),
    "azure storage key": (
        _base64_of(64),
        "AZURE_STORAGE_KEY",
        (
            "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=@@;EndpointSuffix=core.windows.net",
            "%N=@@",
            '"accountKey": "@@"',
            "az storage blob list --account-key @@",
        ),
        (
            'AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=https;AccountName=x@HOST;AccountKey=@@"',
            '"primaryKey": "@@",',
            "account_key='@@')",
            "key1: @@",
            "SharedAccessKeyName=Root;SharedAccessKey=@@",
        ),
    ),
    "azure sas": (
        _sas,
        "AZURE_SAS",
        ("https://a@HOST.blob.core.windows.net/c/f.bin?@@", "SAS='?@@'"),
        (
            "azcopy cp a.bin 'https://a@HOST.blob.core.windows.net/c?@@'",
            '"sasToken": "@@"',
            'sas_token = "@@"',
        ),
    ),
    "openai": (_openai, "OPENAI_API_KEY", (), ()),
    "anthropic": (
        lambda rng: ("sk-" + f"ant-api03-{(body := _some(rng, URL_SAFE, 93))}AA", (body,)),
        "ANTHROPIC_API_KEY",
        (),
        (),
    ),
    "hugging face": (_token("h" + "f_", string.ascii_letters, 34), "HF_TOKEN", (), ()),
    "npm": (
        _token("np" + "m_", ALNUM, 36),
        "NPM_TOKEN",
        (*TOKEN_FORMS, "//registry.npmjs.org/:_authToken=@@"),
        (),
    ),
    "pypi": (_pypi, "TWINE_PASSWORD", (), ()),
    "sendgrid": (_sendgrid, "SENDGRID_API_KEY", (), ()),
    "twilio": (
        _twilio,
        "TWILIO_AUTH_TOKEN",
        ("%N=@@", '"authToken": "@@",', "twilio_auth_token: @@", "Client('AC" + "@HEX', '@@')"),
        (
            "auth_token = '@@'",
            "curl -u AC" + "@HEX:@@ https://api.twilio.com/x.json",
            "TWILIO_API_SECRET=@@",
            "twilio(accountSid, { authToken: '@@' })",
        ),
    ),
    "telegram bot": (
        lambda rng: (
            f"{_some(rng, '123456789', 1)}{_some(rng, DIGITS, 9)}:AA{(body := _some(rng, URL_SAFE[:-2], 33))}",
            (body,),
        ),
        "TELEGRAM_BOT_TOKEN",
        ("%N=@@", "https://api.telegram.org/bot@@/sendMessage", "bot = Bot('@@')"),
        ('"botToken": "@@"', "Bot token is @@", "telegram.bot.token=@@", "GET /bot@@/getUpdates 200"),
    ),
    "discord bot": (
        _discord,
        "DISCORD_TOKEN",
        ("%N=@@", "client.login('@@');", "Authorization: Bot @@"),
        ('bot.run("@@")', "discord_token: @@", '{"token": "@@"}', "the bot uses @@ now"),
    ),
    "discord webhook": (
        lambda rng: (
            "https://discord"
            + f".com/api/webhooks/{_some(rng, DIGITS, 19)}/{(body := _some(rng, URL_SAFE, 68))}",
            (body,),
        ),
        "DISCORD_WEBHOOK",
        ("%N=@@", "curl -d '{}' @@", '"webhook": "@@"'),
        ("hook: '@@'", "POST @@ 204", "new WebhookClient({ url: '@@' })"),
    ),
    "jwt": (_jwt, "ID_TOKEN", (), ()),
    "pem private key": (
        _PEM,
        "",
        ("@@", 'KEY = """@@"""'),
        ("const key = `@@`;", "tls.key: |\n@@", "$ cat server.key\n@@"),
    ),
    "pem escaped or cut": (
        _one_of(_escaped(1), _escaped(2), _beheaded),
        "PRIVATE_KEY",
        ('PRIVATE_KEY="@@"', '"privateKey": "@@",'),
        ("key: '@@'", "FIREBASE_PRIVATE_KEY=@@", "{'pem': '@@'}", "got @@"),
    ),
    "ssh private key": (_ssh, "", ("@@", "SSH_KEY='@@'"), ('echo "@@" > ~/.ssh/deploy', "deploy_key: |\n@@")),
    "pgp private block": (
        _pgp,
        "",
        ("@@", "gpg --import <<'K'\n@@\nK"),
        ("GPG_PRIVATE_KEY: |\n@@", "key = '''@@'''"),
    ),
    "database url": (
        _url_password,
        "DATABASE_URL",
        (
            "%N=postgresql://app:@@@db.internal:5432/shop",
            "mongodb+srv://root:@@@c@HOST.mongodb.net/test",
            "redis://:@@@cache:6379/0",
            "create_engine('mysql+pymysql://web:@@@127.0.0.1/app')",
        ),
        (
            "jdbc:postgresql://db:5432/x?user=app&password=@@",
            "amqp://guest:@@@mq:5672//",
            "Server=db;Database=x;User Id=sa;Password=@@;Encrypt=True",
            '"url": "postgres://app:@@@db/x?sslmode=require"',
            "host=db user=app password=@@ dbname=x",
            "sqlalchemy.url = postgresql+asyncpg://app:@@@db/x",
        ),
    ),
    "login in url": (
        _url_password,
        "",
        ("https://admin:@@@git.internal/app.git", "wget ftp://u@HOST:@@@files.example/x.gz"),
        (
            "proxy = http://user:@@@proxy.corp:3128",
            "remote: https://ci:@@@repo.example/simple/",
            "smtp://mailer:@@@smtp.example:587",
        ),
    ),
    "basic header": (
        _basic,
        "",
        ("Authorization: Basic @@", '"Authorization": "Basic @@"', "-H 'Authorization: Basic @@'"),
        (
            "authorization: basic @@",
            "headers['Authorization'] = 'Basic @@'",
            '"auth": "@@"',
            "Proxy-Authorization: Basic @@",
            '.setHeader("Authorization", "Basic @@")',
        ),
    ),
    "bearer token": (
        _opaque,
        "",
        (
            "Authorization: Bearer @@",
            "curl -H 'Authorization: Bearer @@' https://a.example",
            '"authorization": "Bearer @@"',
        ),
        (
            "headers={'Authorization': 'Bearer @@'}",
            "> authorization: Bearer @@",
            ".set('Authorization', 'Bearer @@')",
            "Authorization=Bearer%20@@",
            '-H "Authorization: token @@"',
            "auth header was Bearer @@",
        ),
    ),
    "cookie": (
        _session,
        "",
        (
            "Cookie: theme=dark; sessionid=@@; lang=en",
            "Set-Cookie: session=@@; Path=/; HttpOnly",
            "Cookie: JSESSIONID=@@",
        ),
        (
            "curl -b 'connect.sid=@@' https://a.example",
            "'Cookie': 'PHPSESSID=@@'",
            "set-cookie: __Secure-next-auth.session-token=@@; Path=/",
            "cookies={'sessionid': '@@'}",
            "cookie: auth=@@; theme=light",
            '--cookie "sid=@@"',
        ),
    ),
    "password in shell": (_password, "", _PASSWORD_SHELL, _PASSWORD_SHELL_HELD_OUT),
    "password in config": (
        _password,
        "",
        (
            "password: @@",
            '"password": "@@",',
            "password = @@",
            "spring.datasource.password=@@",
            'db_password = "@@"',
            "password: '@@'",
        ),
        (
            '  passwd: "@@"',
            "<password>@@</password>",
            "admin_password=@@",
            "requirepass @@",
            'variable "db_password" { default = "@@" }',
            "MYSQL_ROOT_PASSWORD: @@",
            '"Password":"@@"',
            "- POSTGRES_PASSWORD=@@",
            "pass = @@",
            "bindpw @@",
            "smtp_password: @@ # relay",
        ),
    ),
    "password in code": (
        _password,
        "",
        (
            "password = '@@'",
            "connect(host='db', password='@@')",
            'const dbPassword = "@@";',
            'String password = "@@";',
            "'password' => '@@',",
        ),
        (
            "self.password: str = '@@'",
            'login("admin", password="@@")',
            'Password: "@@",',
            "let password = `@@`;",
            "{ user: 'a', pass: '@@' }",
            "$db_pass = '@@';",
            'conn.setPassword("@@")',
            'password := "@@"',
            "os.environ['DB_PASSWORD'] = '@@'",
            "PASSWORDS = {'admin': '@@'}",
            'private static final String PASSWORD = "@@";',
            "auth=('admin', '@@')",
        ),
    ),
    "password in command": (
        _password,
        "",
        (
            "curl -u admin:'@@' https://a.example",
            "mysql --password=@@ shop",
            "docker run -e MYSQL_ROOT_PASSWORD=@@ mysql",
            "PGPASSWORD='@@' psql -h db",
            "mytool login --user a --password '@@'",
        ),
        (
            "mysql -uroot -p'@@' shop",
            "sshpass -p '@@' ssh root@h",
            "redis-cli -a '@@' ping",
            "docker login -u me -p '@@'",
            "mysqldump -u root -p@@ shop",
            "curl --user 'admin:@@' https://a.example",
            "echo '@@' | sudo -S ls",
            "smbclient //h/s -U 'me%@@'",
            "openssl rsa -passin pass:@@ -in k",
            "mongosh -u a -p '@@' --quiet",
            "htpasswd -bc users admin '@@'",
            "wget --user=a --password='@@' u",
        ),
    ),
    "netrc or pgpass": (
        _password,
        "",
        ("machine api.example login deploy password @@", "db.internal:5432:shop:app:@@"),
        ("machine h\n  login me\n  password @@", "*:*:*:postgres:@@", "default login a password @@"),
    ),
    "heroku": (
        _one_of(_uuid, _token("HRKU-" + "AA", URL_SAFE[:-2], 58)),
        "HEROKU_API_KEY",
        ("%N=@@", "export %N=@@", '"herokuApiKey": "@@"'),
        (
            "heroku_api_key: @@",
            "HEROKU_API_TOKEN: '@@'",
            "machine api.heroku.com login a@b.example password @@",
            "-e %N=@@",
        ),
    ),
    "digitalocean": (_token("do" + "p_v1_", HEX, 64), "DIGITALOCEAN_TOKEN", (), ()),
    "mailgun": (
        _one_of(
            _token("key-", HEX, 32),
            lambda rng: f"{_some(rng, HEX, 32)}-{_some(rng, HEX, 8)}-{_some(rng, HEX, 8)}",
        ),
        "MAILGUN_API_KEY",
        ("%N=@@", "mailgun_api_key: @@", "curl -u 'api:@@' https://api.mailgun.net/v3"),
        (
            "apiKey: '@@',",
            "auth=('api', '@@')",
            "mailgun.client({username: 'api', key: '@@'})",
            "MAILGUN_SENDING_KEY=@@",
        ),
    ),
    "datadog": (
        lambda rng: _some(rng, HEX, rng.choice((32, 40))),
        "DD_API_KEY",
        ("%N=@@", "DD-API-KEY: @@", "api_key: @@", 'datadog_app_key = "@@"'),
        (
            "-e DD_API_KEY=@@",
            "DD-APPLICATION-KEY: @@",
            '"dd_app_key": "@@"',
            'DD_API_KEY: "@@"',
            "initialize(api_key='@@')",
            "https://api.datadoghq.com/v1?api_key=@@",
        ),
    ),
    "sentry dsn": (
        lambda rng: (
            f"https://{_some(rng, HEX, 32)}:{(body := _some(rng, HEX, 32))}@o{_some(rng, DIGITS, 6)}.ingest.sentry.io/{_some(rng, DIGITS, 7)}",
            (body,),
        ),
        "SENTRY_DSN",
        ("%N=@@", "sentry_sdk.init('@@')"),
        ("dsn: '@@'", '"dsn": "@@"', 'Sentry.init({ dsn: "@@" });'),
    ),
    "vault": (
        _one_of(
            _token("hv" + "s.", URL_SAFE[:-2], 24),
            _token("hv" + "b.", URL_SAFE[:-2], 100),
            _token("s.", ALNUM, 24),
        ),
        "VAULT_TOKEN",
        ("%N=@@", "vault login -method=token token=@@", "X-Vault-Token: @@"),
        ("token                @@", "export %N=@@", '"client_token": "@@"', "vault_token: @@"),
    ),
    "databricks": (_token("da" + "pi", HEX, 32), "DATABRICKS_TOKEN", (), ()),
    "linear or notion": (
        _one_of(
            _token("lin_" + "api_", ALNUM, 40),
            _token("secret_", ALNUM, 43),
            _token("ntn_", DIGITS + ALNUM, 46),
        ),
        "NOTION_TOKEN",
        (),
        (),
    ),
    "okta": (
        _token("00", URL_SAFE[:-2], 40),
        "OKTA_API_TOKEN",
        ("%N=@@", "Authorization: SSWS @@", 'okta_api_token = "@@"'),
        ("'Authorization': 'SSWS @@'", "okta.client.token=@@", '"apiToken": "@@"', "OKTA_CLIENT_SECRET: @@"),
    ),
    "firebase": (
        lambda rng: (
            "AAAA" + _some(rng, URL_SAFE, 7) + ":APA91b" + (body := _some(rng, URL_SAFE[:-2], 134)),
            (body,),
        ),
        "FCM_SERVER_KEY",
        ("%N=@@", "Authorization: key=@@", '"serverKey": "@@"'),
        ("FIREBASE_SERVER_KEY: '@@'", 'fcm_key = "@@"', "-H 'Authorization:key=@@'"),
    ),
    "age or sops": (
        _token("AGE-" + "SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
        "SOPS_AGE_KEY",
        ("# created: 2026-01-01\n@@", "%N=@@"),
        ("age-keygen says @@", '"key": "@@"', "sops_key: @@"),
    ),
    "kubernetes secret": (
        lambda rng: base64.b64encode(_password(rng).encode()).decode(),
        "",
        (
            "apiVersion: v1\nkind: Secret\ndata:\n  password: @@",
            "kind: Secret\nmetadata:\n  name: db\ndata:\n  DB_PASSWORD: @@\n  user: YWRtaW4=",
        ),
        (
            '{"kind":"Secret","data":{"db-password":"@@"}}',
            "kind: Secret\ntype: Opaque\ndata:\n  username: YWRtaW4=\n  redis-pass: @@",
            "kubectl get secret db -o jsonpath='{.data.password}'\npassword: @@",
        ),
    ),
    "long credential": (
        _long,
        "",
        (
            "Authorization: Bearer @@",
            "curl -u me@shop.example:@@ https://a.example",
            "db:5432:shop:app:@@",
            '"Authorization": "Bearer @@",',
        ),
        (
            "Authorization: Basic @@==",
            "curl --user 'me@shop.example:@@' https://a.example",
            "docker login -u me -p @@ registry.example",
            "API_TOKEN=@@",
        ),
    ),
    "strong password quoted": (
        _strong,
        "",
        ('DB_PASSWORD = "@@"', "password: '@@'", '{"password": "@@"}'),
        ("ADMIN_PASSWORD='@@'", 'const password = "@@";', "'passwd' => '@@',"),
    ),
    "odd password in yaml": (
        _yaml_password,
        "",
        ("password: @@", "  db_password: @@"),
        ("spring:\n  datasource:\n    password: @@", "smtp_password: @@", "- password: @@"),
    ),
    "pair of name and value": (
        _mixed,
        "",
        (
            '{"name": "DB_PASSWORD", "value": "@@"}',
            "- name: DB_PASSWORD\n  value: @@",
            '<add key="Password" value="@@" />',
        ),
        (
            '{"Name": "/prod/db/password", "Type": "SecureString", "Value": "@@"}',
            'variable "db_password" {\n  type    = string\n  default = "@@"\n}',
            '"db_password": {"sensitive": true, "type": "string", "value": "@@"}',
            '- name: SMTP_PASSWORD\n  value: "@@"',
            '<input type="password" value="@@">',
            '<property name="password" value="@@"/>',
        ),
    ),
    "fallback or block": (
        _mixed,
        "",
        (
            "const password = process.env.PW || '@@';",
            "password = os.environ.get('PW', '@@')",
            "password: |\n    @@",
        ),
        (
            'password = ENV["PW"] || "@@"',
            "password: >-\n  @@",
            'db_password = os.getenv("PW") or "@@"',
            "password: process.env.PW ?? '@@',",
        ),
    ),
    "further services": (
        _SERVICES,
        "NOTE",
        ("use this one: @@", "Client('@@')", "x = `@@`;"),
        ("see @@ .", "[@@]", "| @@ |"),
    ),
    "password at a command": (
        _mixed,
        "",
        (
            "echo @@ | docker login -u me --password-stdin",
            "keytool -list -storepass @@ -keystore k",
            "ldapsearch -x -w @@ -b dc=shop",
        ),
        (
            "echo 'root:@@' | chpasswd",
            "CREATE USER bob IDENTIFIED BY '@@';",
            'smtp.login(user, "@@")',
            '$c = ConvertTo-SecureString "@@" -AsPlainText -Force',
            "http -a me:@@ GET https://a.example",
            "sqlcmd -S db -U sa -P @@",
            "lftp -u me,@@ ftp.example",
        ),
    ),
    "password hash": (
        _HASHES,
        "",
        ("alice:@@", "root:@@:19000:0:99999:7:::"),
        ("INSERT INTO users VALUES ('a', '@@')", "hash is @@"),
    ),
    "azure key listed": (
        _base64_of(64),
        "",
        ("  key1: @@\n  key2: x", "- keyName: key1\n  value: @@"),
        ('{"keyName":"key1","value":"@@"}', "key is @@ ok"),
    ),
    "webhook address": (
        lambda rng: (
            rng.choice(
                (
                    "https://discord" + f".com/api/v10/webhooks/{_some(rng, DIGITS, 19)}/",
                    "https://hooks.slack-" + "gov.com/services/T0123ABCD/B0123ABCD/",
                )
            )
            + (body := _some(rng, ALNUM, 68)),
            (body,),
        ),
        "",
        ("POST @@ 200", "hook: '@@'"),
        ("curl -d '{}' @@", "url = @@"),
    ),
}
KINDS = tuple(_KINDS)
