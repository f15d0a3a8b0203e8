"""Make up values of secrets, each from a seed and in the format of its service."""

from __future__ import annotations

import base64
import binascii
import json
import string
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Value = tuple[str, tuple[str, ...]]  # the written value, and the parts that redaction must remove
    Maker = Callable[[Random], str | Value]

DIGITS, UPPER, LOWER = string.digits, string.ascii_uppercase, string.ascii_lowercase
ALNUM, HEX = string.ascii_letters + DIGITS, "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
BASE62 = DIGITS + UPPER + LOWER


def some(rng: Random, alphabet: str, length: int) -> str:
    return "".join(rng.choices(alphabet, k=length))


def token(prefix: str, alphabet: str, length: int, suffix: str = "") -> Maker:
    """Return a function that makes tokens of a prefix, `length` random characters and a suffix."""

    def make(rng: Random) -> Value:
        body = some(rng, alphabet, length)
        return prefix + body + suffix, (body,)

    return make


def one_of(*makers: Maker) -> Maker:
    return lambda rng: rng.choice(makers)(rng)


def github(rng: Random) -> Value:
    body = some(rng, ALNUM, 30)
    number, check = zlib.crc32(body.encode()), ""
    while number or len(check) < 6:
        number, digit = divmod(number, 62)
        check = BASE62[digit] + check
    return f"gh{rng.choice('posur')}_{body}{check}", (body,)


def slack(rng: Random) -> Value:
    body = some(rng, ALNUM, 24)
    return f"xox{rng.choice('bp')}-{some(rng, DIGITS, 12)}-{some(rng, DIGITS, 13)}-{body}", (body,)


def slack_app(rng: Random) -> Value:
    body = some(rng, HEX, 64)
    return f"xapp-1-A{some(rng, UPPER + DIGITS, 10)}-{some(rng, DIGITS, 13)}-{body}", (body,)


def slack_webhook(rng: Random) -> Value:
    body = some(rng, ALNUM, 24)
    ids = f"T{some(rng, UPPER + DIGITS, 8)}/B{some(rng, UPPER + DIGITS, 10)}"
    return "https://hooks.slack" + f".com/services/{ids}/{body}", (body,)


def base64_of(count: int) -> Maker:
    return lambda rng: base64.b64encode(rng.randbytes(count)).decode()


def openai(rng: Random) -> Value:
    mark = "T3Blbk" + "FJ"
    if rng.random() < 0.4:
        head, tail = some(rng, ALNUM, 20), some(rng, ALNUM, 20)
        return f"sk-{head}{mark}{tail}", (head, tail)
    head, tail = some(rng, URL_SAFE, 74), some(rng, URL_SAFE[:-2], 74)
    return f"sk-{rng.choice(('proj', 'svcacct', 'admin'))}-{head}{mark}{tail}", (head, tail)


def pypi(rng: Random) -> Value:
    body = base64.urlsafe_b64encode(rng.randbytes(120)).decode()
    return "py" + "pi-AgEIcHlwaS5vcmc" + body, (body,)


def sendgrid(rng: Random) -> Value:
    first, second = some(rng, URL_SAFE, 22), some(rng, URL_SAFE, 43)
    return "SG" + f".{first}.{second}", (second,)


def discord(rng: Random) -> Value:
    user = base64.b64encode(some(rng, "123456789", 1).encode() + some(rng, DIGITS, 17).encode()).decode()
    body = some(rng, URL_SAFE[:-2], 38)
    return f"{user}.{rng.choice('GHXY')}{some(rng, ALNUM, 5)}.{body}", (body,)


def jwt(rng: Random) -> Value:
    def coded(part: bytes) -> str:
        return base64.urlsafe_b64encode(part).decode().rstrip("=")

    header = coded(json.dumps({"alg": rng.choice(("HS256", "RS256")), "typ": "JWT"}).encode())
    body = coded(
        json.dumps({"sub": some(rng, DIGITS, 9), "iat": 1_700_000_000, "n": some(rng, LOWER, 6)}).encode()
    )
    signature = coded(rng.randbytes(rng.choice((32, 256))))
    return f"{header}.{body}.{signature}", (signature,)


def armoured(label: str, count: int, width: int = 64, headers: str = "") -> Maker:
    """Return a function that makes a block of base64 lines between BEGIN and END."""

    def make(rng: Random) -> Value:
        body = base64.b64encode(rng.randbytes(count)).decode()
        lines = [body[at : at + width] for at in range(0, len(body), width)]
        start, end = "-----BEGIN " + f"{label}-----", f"-----END {label}-----"
        return "\n".join([start, *([headers] if headers else []), *lines, end]), tuple(lines)

    return make


def escaped(depth: int) -> Maker:
    def make(rng: Random) -> Value:
        text, lines = pem_kinds(rng)
        return text.replace("\n", "\\" * depth + "n"), lines

    return make


def beheaded(rng: Random) -> Value:
    text, lines = pem_kinds(rng)
    rows = text.split("\n")
    return ("\n".join(rows[:-1]), lines) if rng.random() < 0.5 else (" ".join(rows), lines)


def pem_kinds(rng: Random) -> Value:
    made = PEM(rng)
    assert not isinstance(made, str)  # noqa: S101
    return made


def ssh(rng: Random) -> Value:
    head = b"openssh-key-v1\0" + b"\0\0\0\4none\0\0\0\4none\0\0\0\0\0\0\0\1"
    body = base64.b64encode(head + rng.randbytes(rng.choice((240, 1600)))).decode()
    lines = [body[at : at + 70] for at in range(0, len(body), 70)]
    label = "OPENSSH " + "PRIVATE KEY"
    return "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----"]), tuple(lines[1:])


def pgp(rng: Random) -> Value:
    body = base64.b64encode(rng.randbytes(600)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    check = base64.b64encode(binascii.crc_hqx(body.encode(), 0).to_bytes(3, "big")).decode()
    label = "PGP " + "PRIVATE KEY BLOCK"
    rows = [f"-----BEGIN {label}-----", "", *lines, f"={check}", f"-----END {label}-----"]
    return "\n".join(rows), tuple(lines)


def service_account(rng: Random) -> Value:
    made = armoured("PRIVATE KEY", 1190)(rng)
    assert not isinstance(made, str)  # noqa: S101
    key, lines = made
    account = {
        "type": "service_account",
        "project_id": "shop-" + some(rng, DIGITS, 6),
        "private_key_id": some(rng, HEX, 40),
        "private_key": key + "\n",
        "client_email": "deploy@shop.iam.gserviceaccount.com",
        "client_id": some(rng, DIGITS, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps(account, indent=rng.choice((None, 2))), lines


WORDS = (
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


def password(rng: Random) -> str:
    way, one, two = rng.random(), rng.choice(WORDS), rng.choice(WORDS)
    if way < 0.4:
        return some(rng, ALNUM, 2) + some(rng, ALNUM + "!#%^*+?~-_", rng.randint(10, 18)) + rng.choice(ALNUM)
    if way < 0.6:
        return one.title() + some(rng, DIGITS, rng.randint(2, 4)) + rng.choice("!?#*")
    if way < 0.8:
        return one.title() + two.title() + some(rng, DIGITS, 3)
    if way < 0.9:
        return f"{one}-{two}-{rng.choice(WORDS)}-{rng.randint(100, 999)}"
    return one.replace("o", "0").replace("e", "3").replace("a", "4") + "_" + some(rng, DIGITS, 4)


def url_password(rng: Random) -> str:
    return password(rng).translate(str.maketrans(dict.fromkeys("#?%*^!+", "-")))


def basic(rng: Random) -> Value:
    login = f"{rng.choice(('admin', 'deploy', 'api', 'svc-build'))}:{password(rng)}"
    value = base64.b64encode(login.encode()).decode()
    return value, (value,)


def uuid(rng: Random) -> str:
    text = some(rng, HEX, 32)
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def opaque(rng: Random) -> str:
    return rng.choice((some(rng, URL_SAFE[:-2], 40), some(rng, HEX, 40), some(rng, ALNUM, 32), uuid(rng)))


def session(rng: Random) -> str:
    return rng.choice((some(rng, LOWER + DIGITS, 32), some(rng, HEX, 64), "s%3A" + some(rng, ALNUM, 43)))


def sas(rng: Random) -> Value:
    signature = base64.b64encode(rng.randbytes(32)).decode()
    coded = signature.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    return f"sv=2023-11-03&ss=b&srt=co&sp=rl&se=2027-01-01T00:00:00Z&spr=https&sig={coded}", (coded,)


def twilio(rng: Random) -> Value:
    body = some(rng, HEX, 32)
    return body, (body,)


PUNCTUATION = "!@#$%^&*()-_=+[]{}:;,.<>?/~|"


def strong(rng: Random) -> str:
    """Return a password as a generator makes it, with a letter or digit at both ends."""
    return rng.choice(ALNUM) + some(rng, ALNUM + PUNCTUATION, rng.randint(12, 18)) + some(rng, ALNUM, 1)


def yaml_password(rng: Random) -> str:
    """Return a password that YAML accepts without quotes."""
    body = some(rng, ALNUM + "&,;|=%^!?", rng.randint(9, 14))
    return rng.choice(LOWER) + some(rng, DIGITS, 1) + body + rng.choice("&,;|") + some(rng, UPPER + DIGITS, 3)


def mixed(rng: Random) -> str:
    return some(rng, LOWER, 2) + some(rng, ALNUM, 6) + rng.choice(DIGITS) + rng.choice(UPPER)


def long(rng: Random) -> Value:
    body = some(rng, ALNUM, rng.choice((100, 192, 700)))
    return body, (body,)


SERVICES = one_of(
    token("r8" + "_", ALNUM, 37),
    token("sb_" + "secret_", ALNUM, 31),
    token("fig" + "d_", URL_SAFE[:-2], 43),
    lambda rng: ("PM" + f"AK-{some(rng, HEX, 24)}-{(body := some(rng, HEX, 34))}", (body,)),
    token("pscale_" + "tkn_", URL_SAFE[:-2], 43),
    token("ATA" + "TT3xFfGF0", ALNUM + "-_", 170, "=1A2B3C4D"),
    token("CCI" + "PAT_", ALNUM, 60),
    lambda rng: (some(rng, ALNUM, 14) + ".atlas" + f"v1.{(body := some(rng, ALNUM, 67))}", (body,)),
    token("pul" + "-", HEX, 40),
    token("ruby" + "gems_", HEX, 48),
    lambda rng: ("lsv2" + f"_pt_{(body := some(rng, HEX, 32))}_{some(rng, HEX, 10)}", (body,)),
    token("dp" + ".pt.", ALNUM, 43),
    token("xkeysib" + "-", HEX, 64, "-aB3dE5fG7hJ9kL1m"),
    lambda rng: (f"pat{some(rng, ALNUM, 14)}." + (body := some(rng, HEX, 64)), (body,)),
    token("s" + "k_", HEX, 48),
    token("f" + "c-", HEX, 32),
    lambda rng: ((body := some(rng, HEX, 32)) + "-us" + "12", (body,)),
    token("sq" + "p_", HEX, 40),
    lambda rng: (
        "dt0" + f"c01.{some(rng, UPPER, 24)}.{(body := some(rng, UPPER + '234567', 64))}",
        (body,),
    ),
    token("tskey" + "-auth-", ALNUM, 40),
    token("HRK" + "U-AA", ALNUM, 58),
    token("dckr" + "_oat_", ALNUM, 32),
    token("r" + "e_", ALNUM, 8, "_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7"),
    token("access_token" + "$production$", LOWER, 16, "$" + "0123456789abcdef" * 2),
)
HASHES = one_of(
    lambda rng: (
        f"$2{rng.choice('aby')}$1{some(rng, '012', 1)}$" + (body := some(rng, ALNUM + "./", 53)),
        (body,),
    ),
    lambda rng: (f"$apr1${some(rng, ALNUM, 8)}$" + (body := some(rng, ALNUM + "./", 22)), (body,)),
    lambda rng: (f"$6${some(rng, ALNUM, 16)}$" + (body := some(rng, ALNUM + "./", 86)), (body,)),
)

PEM = one_of(
    armoured("RSA " + "PRIVATE KEY", 1190),
    armoured("EC " + "PRIVATE KEY", 121),
    armoured("PRIVATE KEY", 138),
    armoured(
        "RSA " + "PRIVATE KEY",
        600,
        headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0A1B2C3D4E5F60718293A4B5C6D7E8F9\n",
    ),
    armoured("ENCRYPTED " + "PRIVATE KEY", 320),
    armoured("DSA " + "PRIVATE KEY", 440),
)
