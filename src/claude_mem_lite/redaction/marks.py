"""The formats of tokens of known services, and a search for the marks (fixed parts) of tokens in a text.

A hook loads this module for every event. Source: the services' own documentation of their formats.
"""

from __future__ import annotations

_HEX, _LOWER = "0123456789abcdef", "0123456789abcdefghijklmnopqrstuvwxyz"
_ALNUM = _LOWER + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

# Kind, the marks that its tokens begin with, and the pattern of the rest. Each pattern consumes what it has
# read, so that a hostile text takes one pass too. Where it is empty, `tokens` has one for the whole token.
TOKENS = (
    ("aws key", "AKIA ASIA ABIA ACCA", r"[A-Z0-9]{16}(?![a-z\d])(?:[\s,|:;\"']{1,8}[\w/+]{40}(?![\w/+=]))?"),
    ("google key", "AIza", r"[\w-]{35}(?![\w-])"),
    ("google key", "ya29. GOCSPX- AQ.Ab8", r"[\w.-]{20,}"),
    ("google token", "1//0", r"[\w-]{40,}"),
    ("github token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"\w{30,}(?:\.[\w-]+)*"),
    (
        "gitlab token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glffct- glimt- glagent- glsoat- gloas-",
        r"[\w.-]{20,}",
    ),
    ("slack token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xoxe.xoxp- xapp-", r"[\w%-]{10,}"),
    ("stripe key", "sk_live_ sk_test_ rk_live_ rk_test_", r"\w{16,}"),
    ("webhook secret", "whsec_", r"[\w+/]{20,}={0,2}"),
    ("api key", "sk-", r"[\w-]{20,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36}(?!\w)"),
    ("pypi token", "pypi-AgE", r"[\w-]{30,}"),
    ("hugging face token", "hf_ api_org_", r"[A-Za-z0-9]{30,}"),
    ("sendgrid key", "SG.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    ("mapbox token", "sk.eyJ", r"[\w-]{20,}\.[\w-]{20,}"),
    ("1password token", "ops_eyJ", r"[\w-]{60,}"),
    ("jwt", "eyJ", r"[\w-]{8,}+(?:\.eyJ[\w-]{8,}+(?:\.[\w-]*+)?|(?:\.[\w-]*+){4})?"),
    ("url signature", "Amz-Signature= Goog-Signature=", r"[0-9A-Fa-f]{40,}"),
    (
        "service token",  # other text that begins so does not go on in hexadecimal
        (
            "dop_v1_ doo_v1_ dor_v1_ dapi shpat_ shpss_ shpca_ shppa_ sbp_ pul- rubygems_ squ_ sqp_ sqa_ "
            "e2b_ sntryu_ bkua_ lin_oauth_"
        ),
        r"[0-9a-f]{32,}(?!\w)",
    ),
    (
        "service token",  # other text that begins so is not random
        (
            "gsk_ xai- pplx- lin_api_ glsa_ tvly- csk- jina_ napi_ nfp_ rnd_ vcp_ phx_ pnu_ figd_ sb_secret_ "
            "nvapi-"
        ),
        r"[\w-]{24,}",
    ),
    (
        "service key",  # nothing else begins so
        (
            "NRAK- AGE-SECRET-KEY-1 hvs. hvb. hvr. dckr_pat_ dckr_oat_ tskey- HRKU- pscale_tkn_ pscale_pw_ "
            "pscale_oauth_ CCIPAT_ sq0atp- sq0csp- ATATT3 ATCTT3 ATBB AKCp cmVmdGtuOj"
        ),
        r"[\w-]{22,}(?:=[0-9A-F]{8})?",
    ),
    ("service key", "glc_ sntrys_ fm1r_ fm2_", r"[\w+/-]{32,}={0,2}"),
    ("service key", "r8_", r"[A-Za-z0-9]{37}(?!\w)"),
    ("service key", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("service key", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    ("service key", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    (
        "service key",
        "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
        r"(?:[\w-]{1,40}\.)?[A-Za-z0-9]{40,44}",
    ),
    ("service key", "dt0c01. dt0s01.", r"[A-Z2-7]{24}\.[A-Z2-7]{64}"),
    ("service key", "access_token$production$ access_token$sandbox$", r"[a-z0-9]{16}\$[0-9a-f]{32}"),
    ("service token", "secret_", r"[A-Za-z0-9]{43}(?!\w)"),
    ("service token", "ntn_", r"[A-Za-z0-9]{40,}"),
    ("terraform token", ".atlasv1.", r"[\w-]{60,}"),
    ("password hash", "$2a$ $2b$ $2y$", r"[0-9]{2}\$[A-Za-z0-9./]{53}(?![\w./])"),
    (
        "password hash",
        "$apr1$ $1$ $5$ $6$ $7$ $y$ $gy$ $argon2d$ $argon2i$ $argon2id$",
        r"(?:[\w./+=,]{1,64}\$){1,3}[A-Za-z0-9./+]{22,86}={0,2}(?![\w./+])",
    ),
    ("password hash", "pbkdf2_sha256$", r"[0-9]{1,8}\$[\w./+=-]{1,64}\$[\w/+]{22,86}={0,2}"),
    ("password hash", "SCRAM-SHA-256$", r"[0-9]{1,8}:[\w/+=]{8,64}\$[\w/+=]{22,88}:[\w/+=]{22,88}"),
    ("private key", "Private-Lines: LS0tLS1CRUdJTi", ""),
    (
        "docker login",
        "eyJhdXRocyI6 eyAiYXV0aHMi ewoJImF1dGhz ewogICJhdXRocy ewogICAgImF1dGhz",
        r"[\w+/-]{20,}={0,2}",
    ),
    ("telegram token", ":AA", ""),
    ("firebase key", "APA91b", ""),
    ("discord token", ".", ""),
    ("azure key", "==", ""),
    ("azure signature", "sig=", r"[\w%/+]{42,200}%3[dD]"),
    ("azure secret", "Q~", r"[\w~.-]{31,34}(?!\w)"),
    ("slack webhook", "hooks.slack.com/ hooks.slack-gov.com/", r"(?:services|workflows|triggers)/[\w/]{20,}"),
    ("discord webhook", "/webhooks/", ""),
    ("teams webhook", "webhook.office.com/webhookb2/", r"[\w@/-]{60,}"),
    ("zapier webhook", "hooks.zapier.com/hooks/catch/", r"[0-9]{4,}/[\w/]{6,}"),
    ("twilio token", "AC", ""),
    ("mailgun key", "key-", ""),
    ("elevenlabs key", "sk_", r"[0-9a-f]{48}(?!\w)"),
    ("firecrawl key", "fc-", r"[0-9a-f]{32}(?!\w)"),
    ("airtable token", "pat", r"[A-Za-z0-9]{14}\.[0-9a-f]{64}(?!\w)"),
    ("mailchimp key", "-us", r"[0-9]{1,2}(?!\w)"),
    ("resend key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?!\w)"),
    ("nuget key", "oy2", r"[a-z0-9]{43}(?!\w)"),
    ("service token", "EAA", r"[A-Za-z0-9_-]{60,}"),
    ("dropbox token", "sl.", r"[\w-]{100,}"),
    ("vault token", "s.", r"[A-Za-z0-9]{24}(?!\w)"),
)
PRIVATE_KEYS = ("PRIVATE KEY", "PRIVATE%20KEY", "PRIVATE+KEY")
# Marks outside runs of token characters, by a string that is searched for first: without it none occurs.
MARKS_ANYWHERE = {
    "hook": (
        "hooks.slack.com/", "hooks.slack-gov.com/", "/webhooks/", "webhook.office.com/webhookb2/",
        "hooks.zapier.com/hooks/catch/",
    ),
    "~": ("Q~",),
    "%": ("sig=",),
    "PRIVATE": PRIVATE_KEYS,
    "pbkdf2_": ("pbkdf2_sha256$",),
    "SCRAM": ("SCRAM-SHA-256$",),
    "Private-Lines:": ("Private-Lines:",),
}  # fmt: skip
# Marks too short to prove anything: offset, alphabet and number of the characters that must stand beside one.
SHORT_MARKS = {
    "AC": (2, _HEX, 32), "key-": (4, _HEX, 32), "sk_": (3, _HEX, 48), "fc-": (3, _HEX, 32),
    "pat": (18, _HEX, 64), "-us": (-32, _HEX, 32), "re_": (12, _ALNUM, 24), "oy2": (3, _LOWER, 43),
    "EAA": (3, _ALNUM + "_-", 60), "sl.": (3, _ALNUM + "_-", 100), "s.": (2, _ALNUM, 24),
}  # fmt: skip
# Algorithms of password hashes, each between two $.
CRYPTS = {"2a", "2b", "2y", "apr1", "1", "5", "6", "7", "y", "gy", "argon2d", "argon2i", "argon2id"}
_BY_THEMSELVES = {
    ".",
    "==",
    *SHORT_MARKS,
    *(f"${way}$" for way in CRYPTS),
    *(mark for marks in MARKS_ANYWHERE.values() for mark in marks),
}
MARKS_IN_RUNS = tuple(mark for _, marks, _ in TOKENS for mark in marks.split() if mark not in _BY_THEMSELVES)

_RUN = 20  # token characters of the shortest token, an AWS key id
_LEAD = 48  # characters before a run that are kept for marks that begin outside of it
_TOKEN = b"0123456789_-ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TOKEN_64 = _TOKEN + b"+/="
_KEY = 88 * b"a"  # 64 bytes in base64
_TWO_PARTS = 22 * b"a" + b" aaaaaa "  # the first two of the three parts of a Discord token
_NO_TOKEN = b"_-abcdefghijklmnopqrstuvwxyz"
_LONG = 36  # characters; names of classes are rarely longer
_FEW = 16_384  # bytes of runs, below which each mark is searched for
# Escapes that the next word follows without a gap (\n, %3D, \x22, \042): how many letters and digits they
# end in, and the first of these.
_ESCAPED = ((1, b"abfnrtv0"), (2, b"0123456789ABab"), (3, b"x01"))
_HEAD = 4  # bytes of a word that are compared
_IN_WORDS = "LS0tLS1CRUdJTi"  # an armoured key in base64, which may begin within a word


def _only(kept: bytes, shown_as: bytes = b"") -> bytes:
    """Return a `translate` table that blanks all bytes but `kept` and maps these to `shown_as`, if given."""
    others = bytes(range(256)).translate(None, kept)
    table = bytes.maketrans(others, b" " * len(others))
    return table.translate(bytes.maketrans(kept, shown_as * len(kept))) if shown_as else table


_SHAPE, _SHAPE_64 = _only(_TOKEN, b"a"), _only(_TOKEN_64, b"a")
# Keeps letters and digits; all else separates words, also the `m` that ends a colour code, ESC [ 3 2 m.
_WORDS = _only(_TOKEN.translate(None, b"_-m"))


def find_marks(text: str) -> list[str]:
    """Return the marks in `text` that stand where a token may: in and before long runs of token characters.

    Ordinary text has few such runs, so that one more kind of token costs it next to nothing.
    """
    data = text.encode("utf-8", "replace")
    joined, discord = _runs(data)
    runs = joined.decode("latin-1")
    likely = MARKS_IN_RUNS if len(runs) < _FEW else likely_marks(joined)
    marks = [mark for mark in likely if mark in runs]
    marks += [mark for mark, stands_by in SHORT_MARKS.items() if _has_short(runs, mark, *stands_by)]
    marks += ["."] * discord + ["=="] * _has_key(data)
    marks += [f"${way}$" for way in CRYPTS.intersection(text.split("$"))]
    anywhere = (some for sign, some in MARKS_ANYWHERE.items() if sign in text)
    return marks + [mark for some in anywhere for mark in some if mark in text]


def _runs(data: bytes) -> tuple[bytes, bool]:
    """Return the long runs of token characters with what precedes each; whether one ends a Discord token."""
    shape, run, found, discord, done = data.translate(_SHAPE), b"a" * _RUN, [], False, 0
    at = shape.find(run)
    while at >= 0:
        end = shape.find(b" ", at)
        end = end if end >= 0 else len(shape)
        if _may_be_token(data[at:end]) or data[at - 4 : at - 2] == b"hv":  # hvs.
            start = max(0, at - _LEAD)
            found.append(b" " + data[start:end] if start > done else data[done:end])
            done = end
            discord = discord or (data[at - 8 : at : 7] == b".." and shape[at - 30 : at] == _TWO_PARTS)
        at = shape.find(run, end)
    return b"".join(found), discord


def likely_marks(runs: bytes) -> list[str]:
    """Return the marks whose first word occurs in `runs` as a word: all that may begin a token there.

    In half a megabyte of random letters, searching for each mark instead takes ten times as long.
    """
    if b"\\u" in runs:  # an escaped letter ends in letters and digits, which hide where a word begins
        return list(MARKS_IN_RUNS)
    words = set(runs.translate(_WORDS).split())
    words |= {word[length:] for length, firsts in _ESCAPED for word in words if word[0] in firsts}
    heads = {word[:_HEAD] for word in words}
    likely = []
    for mark in MARKS_IN_RUNS:
        plain = mark.encode().translate(_WORDS)
        first = plain.split()[0]
        is_whole = not plain.endswith(first)  # else the word goes on
        is_there = first in words if is_whole else len(first) < _HEAD or first[:_HEAD] in heads
        if is_there or mark == _IN_WORDS:
            likely.append(mark)
    return likely


def _may_be_token(run: bytes) -> bool:
    """Tell whether a run of token characters may be more than a name: it has digits, capitals or no words."""
    if run.strip(_NO_TOKEN):
        return len(run) > _LONG or not run.isalpha() or run.isupper()
    return len(run) > _LONG and max(map(len, run.replace(b"-", b"_").split(b"_"))) > _RUN


def _has_short(runs: str, mark: str, offset: int, alphabet: str, count: int) -> bool:
    """Tell whether a mark occurs in `runs` with `count` characters of `alphabet` at `offset` from it."""
    at = runs.find(mark)
    while at >= 0:
        start = max(0, at + offset)
        body = runs[start : start + count]
        if len(body) == count and not body.strip(alphabet):
            before = runs[max(0, at - 2) : at]  # an escape or a colour code may end in a letter
            if offset < 0 or not before[-1:].isalnum() or before[0] in "\\[;0123456789ABCDEFabcdef":
                return True
        at = runs.find(mark, at + 1)
    return False


def _has_key(data: bytes) -> bool:
    """Tell whether a text may contain the padded base64 of 64 bytes."""
    shape = data.translate(_SHAPE_64)
    at = shape.find(_KEY)
    while at >= 0:
        end = shape.find(b" ", at)
        end = end if end >= 0 else len(shape)
        if data[end - 2 : end] == b"==":
            return True
        at = shape.find(_KEY, end)
    return False
