"""What may be stored of a hook event: secrets, private passages and ignored files out, its size bounded.

Hooks import this module, so it imports nothing: it only finds out, without `re` and `json`, whether there
is anything to take out. What needs them stands in `redaction_rules`, loaded for such an event alone.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# fnmatch-like patterns for the end of a path, any case; a later "!pattern" takes a name out again.
IGNORED_FILES = (
    ".env", ".env.*", "*.env", ".envrc", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist",
    "!example.env", "!sample.env", "!process.env", "!import.meta.env",
    "*.pem", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore", "*.kdbx",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!*.pub",
    ".netrc", "_netrc", ".pgpass", ".my.cnf", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".s3cfg",
    ".vault-token", ".aws/credentials", ".docker/config.json", ".kube/config",
    "service-account*.json", "service_account*.json", "client_secret*.json", "credentials.json",
    "application_default_credentials.json",
)  # fmt: skip

# Tokens known by their beginning. The beginnings are looked for only in and just before the long runs of
# token characters, so another kind costs an ordinary event nothing that could be measured.
TOKEN_MARKS = {
    "aws key id": ("AKIA", "ASIA", "ABIA", "ACCA"),
    "google key": ("AIza", "ya29.", "GOCSPX-"),
    "github token": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
    "gitlab token": ("glpat-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
                     "glsoat-", "gloas-", "glffct-", "glwt-", "GR1348941"),
    "slack token": ("xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
    "stripe key": ("k_live_", "k_test_", "whsec_"),
    "api key": ("sk-",),
    "npm token": ("npm_",),
    "pypi token": ("pypi-AgE",),
    "hugging face token": ("hf_", "api_org_"),
    "sendgrid key": ("SG.",),
    "twilio key": ("SK",),
    "jwt": ("eyJ",),
    "url signature": ("ignature=",),
    "service token": ("dop_v1_", "dckr_pat_", "hvs.", "gsk_", "xai-", "glsa_", "shpat_", "lin_api_", "dapi",
                      "NRAK-", "PMAK-", "sbp_", "AGE-SECRET-KEY-", "r8_", "pplx-", "ntn_", ":AA"),
}  # fmt: skip
# Kinds without such a run have to be looked for in the whole text.
RARE_MARKS = {
    "private key": "PRIVATE KEY",
    "slack webhook": "hooks.slack.com",
    "azure signature": "sig=",
    "azure secret": "Q~",
}

_RUN = 20  # the shortest token (an AWS key id) has as many token characters in a row
_LEAD = 12  # characters before the run that belong to the beginning: "ya29.", a bot's number
_SHAPE = bytes(97 if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "_-") else 32 for c in range(256))

WORD, MIXED, RANDOM = 1, 2, 3  # how much a value looks like a secret; 0 is not at all

_WORDS = {
    "authorization": "authorization", "bearer": "authorization", "pass": "password", "pwd": "password",
    "secret": "secret", "token": "token", "credential": "credential", "key": "key",
}  # fmt: skip
_NAME = "abcdefghijklmnopqrstuvwxyz0123456789_-."
_JOINTS = "_-."
_AFTER_NAME = "\\\"'`] \t"
_SIGNS = frozenset("=:,>")
_QUOTES = frozenset("\"'`")
_ENDS = frozenset(" \t\r\n\\\"'`,;&<>(){}[]|=")
_URL_BREAKS = frozenset(" \t\r\n\\\"'`,;<>(){}[]|^/")
_REACH = 48  # the longest name on either side of its word
_LOOK = 128  # how much of a value is looked at
_LONGEST = 4096  # quoted values are searched for their end as far as this

_KEY_OWNERS = (
    "api", "access", "secret", "private", "signing", "encryption", "auth", "account", "master", "shared",
    "storage", "session", "service", "license", "webhook", "hmac", "jwt", "cookie", "ssh", "deploy", "admin",
    "consumer", "client", "vault", "fernet", "aes", "security", "subscription", "integration", "app", "rsa",
)  # fmt: skip
_NOT_SECRET = (
    "public", "next", "page", "continuation", "cancel", "cancellation", "primary", "foreign", "sort", "cache",
    "partition", "idempotency", "sync", "design", "pub", "max",
)  # fmt: skip
_ABOUT = (  # a name that ends so tells something about a secret, not the secret
    "id", "ids", "name", "names", "type", "types", "url", "uri", "path", "file", "dir", "field", "fields",
    "count", "counts", "length", "len", "size", "limit", "max", "min", "expires", "expiry", "expiration",
    "ttl", "at", "in", "arn", "ref", "version", "format", "prefix", "suffix", "header", "headers", "env",
    "var", "class", "policy", "label", "hint", "placeholder", "endpoint", "regex", "pattern", "position",
    "index", "usage", "used", "budget", "rate", "cost", "algorithm", "alg", "method", "mode", "enabled",
    "required", "error", "message", "title", "text", "description", "status", "state", "rules", "validator",
    "provider", "source", "selector", "input", "output", "re", "map", "list", "set",
)  # fmt: skip
_CONTINUED = {"pass": ("words", "word", "wd", "phrase"), "secret": ("key", "s"), "credential": ("s",)}
_SCHEMES = ("bearer", "basic", "token", "bot", "apikey", "key", "negotiate")

_REFERENCES = ("${", "$(", "#{", "{{", "{}", "%(", "%s", "...", "…", "://", "[redacted", "<", "environ", "env.")
_STAND_INS = (
    "your", "example", "changeme", "change-me", "change_me", "placeholder", "redacted", "xxxx", "dummy",
    "insert", "replace", "hidden", "undefined", "optional", "required", "string", "password", "passwd",
    "secret", "token", "credential",
)  # fmt: skip
_SIGNS_IN_PASSWORDS = frozenset("!@#$^&*~?+%")


def scrub(event: str, *, max_chars: int = 512 * 1024, ignored: tuple[str, ...] = IGNORED_FILES) -> str:
    """Return the JSON text of one hook event as it may be stored: nothing secret, at most `max_chars` long.

    An event with nothing to take out comes back as it is, unread. In any other the secrets, the `<private>`
    passages of what the user wrote and the contents of `ignored` files give way to `[redacted: what]`, and
    then the longest strings are cut in the middle until the text fits (some 4,000 characters at least).

    Raises: ValueError when an event that has to be read is no JSON object, or is nested too deep.
    """
    if len(event) <= max_chars and not _is_suspicious(event, ignored):
        return event
    from claude_mem_lite import redaction_rules

    return redaction_rules.rewrite(event, max_chars, ignored)


def redact(text: str) -> str:
    """Return `text` with every secret in it replaced by `[redacted: kind]`."""
    if not find_marks(text) and not find_values(text):
        return text
    from claude_mem_lite import redaction_rules

    return redaction_rules.redact_all([text])[0]


def _is_suspicious(event: str, ignored: tuple[str, ...]) -> bool:
    # A printable character written as \u00XX could hide a secret from the search; \udXXX is half a character.
    if "\\u" in event and any(f"\\u{code}" in event.lower() for code in _ODD_ESCAPES):
        return True
    return bool(
        "<private" in event.lower()
        or find_marks(event)
        or find_values(event)
        or _touches_ignored(event, ignored),
    )


_ODD_ESCAPES = ("002", "003", "004", "005", "006", "007", "d")


def find_marks(text: str) -> list[str]:
    """Return the kinds of token that may stand in `text`."""
    runs = _long_runs(text)
    kinds = [kind for kind, marks in TOKEN_MARKS.items() if any(mark in runs for mark in marks)]
    return kinds + [kind for kind, mark in RARE_MARKS.items() if mark in text]


def _long_runs(text: str) -> str:
    """Return the runs of token characters that are long enough for a token, each with what leads to it."""
    data = text.encode("utf-8", "replace")
    shape = data.translate(_SHAPE)
    run, found, at = b"a" * _RUN, [], shape.find(b"a" * _RUN)
    while at >= 0:
        end = shape.find(b" ", at)
        end = end if end >= 0 else len(shape)
        found.append(data[max(0, at - _LEAD) : end])
        at = shape.find(run, end)
    return b" ".join(found).decode("latin-1")
