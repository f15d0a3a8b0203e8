"""Recognise shell commands whose output is a secret, and remove that output from a tool call.

A hook loads this for every shell command, so it imports no `re`, which would cost as much as all the rest.
"""

from __future__ import annotations

from claude_mem_lite.redaction.shell import (
    NAME_CHARS,
    bare,
    base,
    is_redirected,
    pipelines,
    substitutions,
    variables,
    words_of,
)
from claude_mem_lite.redaction.vocabulary import REACH, WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Per program, the arguments that make it print a secret: all words of one of the comma-separated lists, in
# any order. A word after "~" may be part of an argument.
_PROGRAMS = {
    "kubectl oc k k3s": (
        "get ~secret ~data, create token, config view --raw, view-secret, whoami -t, whoami --show-token, "
        "extract ~secret"
    ),
    "kubeadm": "token create, token generate, certs certificate-key",
    "kubeseal": "--recovery-unseal",
    "argocd": "initial-password, generate-token",
    "eksctl": "get token",
    "az": (
        "keyvault secret show, keyvault secret set, get-access-token, keys list, list-keys, "
        "credential show, credential reset, create-for-rbac, show-connection-string, keys renew, "
        "list-connection-strings, list-publishing-credentials, generate-sas"
    ),
    "gcloud": "secrets versions access, print-access-token, print-identity-token, sql generate-login-token",
    "aws": (
        "secretsmanager get-secret-value, secretsmanager get-random-password, ssm --with-decryption, "
        "iam create-access-key, iam create-service-specific-credential, "
        "iam reset-service-specific-credential, sts assume-role, sts get-session-token, "
        "sts get-federation-token, sts assume-role-with-web-identity, sts assume-role-with-saml, "
        "get-login-password, get-authorization-token, generate-db-auth-token, configure get ~secret, "
        "configure get ~token, configure get ~key, configure export-credentials, kms decrypt, "
        "kms generate-data-key, get-cluster-credentials, get-password-data, eks get-token, "
        "sso get-role-credentials"
    ),
    "op": "read, item get, document get, inject, signin --raw, create token",
    "bw": "get password, get totp, get item, get notes, unlock --raw, login --raw, generate",
    "rbw": "get, code, generate",
    "lpass": "show, generate",
    "keepassxc-cli": "show, generate, diceware",
    "dcli": "password, read, note",
    "gopass": "show, cat, generate, pwgen, otp",
    "security": "find-generic-password, find-internet-password",
    "secret-tool": "lookup, search",
    "keyring": "get",
    "vault bao": "kv get, read, print token, token create, unwrap, write -field, login ~token-only",
    "chamber": "read, export, env",
    "doppler": "secrets get, secrets download, configure get token",
    "infisical": "secrets get, export, token",
    "berglas": "access",
    "credstash": "get, getall",
    "heroku": "config:get, auth:token",
    "fly flyctl": "auth token, tokens create",
    "netlify": "env:get",
    "gh": "auth token, auth status -t, auth status --show-token",
    "glab": "config get token, auth status -t, auth status --show-token",
    "npm": "token create, config get ~token, config get ~password, config get ~_auth",
    "pnpm": "config get ~token, config get ~_auth",
    "yarn": "config get ~token, config get ~password",
    "git": "credential fill, config ~token, config ~password, config ~secret",
    "pip": "config get ~password, config get ~token",
    "poetry": "config ~token, config ~password",
    "firebase": "login:ci, functions:secrets:access",
    "doctl": "auth token",
    "databricks": "tokens create, auth token, secrets get-secret",
    "snyk": "config get api",
    "circleci": "runner token",
    "travis": "token",
    "ansible-vault": "view, decrypt",
    "sops": "-d, --decrypt, decrypt",
    "gpg gpg2": "-d, --decrypt, --export-secret-keys",
    "age rage": "-d, --decrypt",
    "openssl": "rand, enc -d, rsautl -decrypt, pkeyutl -decrypt, passwd, genrsa, genpkey",
    "wg": "genkey, genpsk, show private-key, show preshared-keys, showconf",
    "rails": "secret, credentials:show",
    "rake": "secret",
    "artisan": "key:generate --show",
    "mix": "phx.gen.secret",
    "htpasswd": "-n, -nb, -nB, -nbB, -bn, -nbm, -bnBC",
    "oathtool pwgen apg mkpasswd diceware age-keygen": "",
    "ykman": "oath accounts code, oath code",
}  # fmt: skip
_SECRET_OUTPUT = {program: words for programs, words in _PROGRAMS.items() for program in programs.split()}
# With one of these a program prints no secret: it copies the secret, prints help or does nothing.
_PRINTS_NONE = frozenset({"--help", "-h", "help", "--version", "--clip", "--dry-run"})
_PASS_COMMANDS = frozenset({
    "ls", "list", "find", "search", "insert", "add", "edit", "rm", "remove", "delete", "mv", "rename", "cp",
    "copy", "git", "init", "version",
})  # fmt: skip
_LPASS_OTHERS = frozenset({"--username", "--url", "--name", "--id", "--group"})
# Words in a query or a list of fields that select the secret itself, not facts about it.
_TELLING = (
    "secret", "password", "token", "key", "value", "credential", "plaintext", "string", "parameter", "cert",
    "data", "otp", "pin", "note", "pass",
)  # fmt: skip
# Last words in the names of Terraform outputs that are no secrets.
_PLAIN_OUTPUTS = (
    "id", "ids", "arn", "url", "endpoint", "host", "hostname", "name", "names", "region", "bucket", "ip",
    "ips", "address", "port", "zone", "zones", "domain", "version", "count", "vpc", "subnet", "subnets",
    "cluster", "group", "dns", "fqdn", "uri", "path", "account", "project", "cidr", "size", "environment",
)  # fmt: skip
# Programs that run the command in their arguments, and shell keywords that precede a command.
_WRAPPERS = frozenset({
    "sudo", "doas", "env", "time", "nohup", "command", "exec", "builtin", "timeout", "nice", "stdbuf",
    "watch", "xargs", "npx", "bunx", "uvx", "uv", "pnpm", "yarn", "bun", "poetry", "pipenv", "pdm", "bundle",
    "docker", "podman", "docker-compose", "kubectl", "oc", "ssh", "bash", "sh", "zsh", "dash", "direnv",
    "dotenv", "mise", "nix", "heroku", "fly", "flyctl", "eval", "aws-vault", "op", "doppler", "infisical",
    "chamber", "php", "python", "python3", "vagrant", "do", "then", "else", "if", "while", "until", "!", "{",
    "(", "su", "winpty", "setsid", "script", "return",
})  # fmt: skip
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ssh", "eval", "su", "nix", "nix-shell", "watch", "script"})
_PRINTERS = frozenset({"echo", "printf", "print", "Write-Output", "Write-Host"})
# Programs that print what they read from a pipe. Any other program is taken to print none of it.
_HANDS_ON = frozenset({
    "base64", "base32", "head", "tail", "tr", "cut", "jq", "yq", "sed", "awk", "gawk", "cat", "tac", "tee",
    "rev", "xargs", "fold", "sort", "uniq", "xxd", "od", "hexdump", "python", "python3", "node", "perl",
    "ruby",
    "openssl", "gunzip", "zcat", "less", "more", "column", "nl", "strings", "iconv", "paste", "bat", "gpg",
    "age", "grep", "rg", "while", "read", "echo", "printf", "dos2unix", "fmt", "json_pp", "jwt", "sponge",
})  # fmt: skip
_COUNTS = frozenset({"-c", "-q", "--count", "--quiet", "-l"})  # grep then prints no matching line
_DECLARES = frozenset({"export", "local", "declare", "readonly"})
_GENERATES = ("secrets.token_", "randomBytes", "get_random_secret_key")
_NOT_NAMES = frozenset({"PWD", "OLDPWD"})
_DEEPEST = 6  # levels of nested commands that are read
_TERRAFORMS = frozenset({"terraform", "tofu", "terragrunt"})
_LANGUAGES = frozenset({"python", "python3", "node", "ruby", "deno", "bun", "php"})
_MOUNTED = "/run/secrets/"  # where containers find their secrets
_KNOWN = frozenset(
    {*_SECRET_OUTPUT, *_PRINTERS, *_TERRAFORMS, *_SHELLS, *_LANGUAGES, "printenv", "pass", "cat"}
)


def printer_of(command: str) -> str:
    """Return the program in a shell command whose printed output is a secret, "" for none."""
    return _printer(command, set(), 0)


def _is_telling(name: str) -> bool:
    """Tell whether a variable or field of this name holds a secret, whatever its value looks like."""
    from claude_mem_lite.redaction.weights import MIXED, least_weight

    low = name.lower()
    if name in _NOT_NAMES or len(name) > 2 * REACH:
        return False
    found = ((word, low.find(word)) for word in WORDS)
    return any(
        at >= 0 and least_weight(name[:at], name[at : at + len(word)], name[at + len(word) :]) <= MIXED
        for word, at in found
    )


def _printer(script: str, secrets: set[str], depth: int) -> str:
    """Do as `printer_of`; add the variables that are assigned a secret to `secrets`."""
    if depth > _DEEPEST:
        return ""
    for stages in pipelines(script):
        found = ""
        for stage in stages:
            words = _without_assignments(words_of(stage), secrets, depth)
            if words:
                printer = _prints(words, secrets, depth)
                found = printer or (found if _hands_on(words) else "")
                found = "" if is_redirected(words) else found
        if found := found or _selector(stages):
            return found
    return ""


def _without_assignments(words: list[str], secrets: set[str], depth: int) -> list[str]:
    """Return a command without its leading assignments; add variables that get a secret to `secrets`."""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if not (equals and name and not name.strip(NAME_CHARS)) and word not in _DECLARES:
            return words[at:]
        if any(_printer(inner, secrets, depth + 1) for inner in substitutions(value)):
            secrets.add(name)
    return []


def _prints(words: list[str], secrets: set[str], depth: int) -> str:
    """Return the program in a simple command, wrappers included, whose output is a secret, "" for none."""
    program, arguments = base(words[0]), [bare(word) for word in words[1:]]
    if program in _PRINTERS:
        is_secret = any(_stands_for_one(word, secrets, depth) for word in words[1:])
    elif program == "printenv":
        is_secret = any(map(_is_telling, arguments))
    else:
        is_secret = (
            _is_secret_output(program, arguments)
            or (program in _HANDS_ON and any(_MOUNTED in word for word in arguments))
            or (program in _LANGUAGES and _shows_environment(" ".join(arguments)))
        )
    return program if is_secret else _prints_inside(program, words, secrets, depth)


def _prints_inside(program: str, words: list[str], secrets: set[str], depth: int) -> str:
    """Do as `_prints` for the command that another runs: `sudo X`, `ssh HOST 'X'`, `docker exec NAME X`."""
    if program in _SHELLS:
        scripts = (bare(word) for word in words[1:] if " " in word)
        if found := next(filter(None, (_printer(script, secrets, depth + 1) for script in scripts)), ""):
            return found
    inner = next((at for at, word in enumerate(words) if at and base(word) in _KNOWN), 0)
    return _prints(words[inner:], secrets, depth) if inner and program in _WRAPPERS else ""


def _is_secret_output(program: str, arguments: list[str]) -> bool:
    if _PRINTS_NONE.intersection(arguments):
        return False
    if program == "pass":
        return _shows_entry(arguments)
    if program in _TERRAFORMS:
        return "output" in arguments and _is_secret_value(arguments[arguments.index("output") + 1 :])
    if program not in _SECRET_OUTPUT or _asks_for_other(program, arguments):
        return False
    lists = (words.split() for words in _SECRET_OUTPUT[program].split(", "))
    is_asked = any(all(_is_among(word, arguments) for word in words) for words in lists)
    return is_asked and _asks_for_it(arguments)


def _asks_for_other(program: str, arguments: list[str]) -> bool:
    """Tell whether `lpass` or `security` is asked for another field of an entry than its password."""
    if program == "lpass":
        return bool(_LPASS_OTHERS.intersection(arguments))
    return program == "security" and not {"-w", "-g"}.intersection(arguments)


def _shows_entry(arguments: list[str]) -> bool:
    """Tell whether `pass` prints a password: it is given an entry, and no other subcommand or `-c`."""
    named = [word for word in arguments if not word.startswith("-")]
    return bool(named) and named[0] not in _PASS_COMMANDS and "-c" not in arguments


def _is_among(word: str, arguments: list[str]) -> bool:
    if word[0] == "~":
        return any(word[1:] in argument.lower() for argument in arguments)
    return any(argument == word or argument.startswith((f"{word}/", f"{word}=")) for argument in arguments)


def _asks_for_it(arguments: list[str]) -> bool:
    """Tell whether `--query` or `--fields`, where given, may select the secret itself."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name in {"--query", "--fields"}:
            asked = (value if equals else "".join(arguments[at + 1 : at + 2])).lower()
            return any(word in asked for word in _TELLING)
    return True


def _is_secret_value(arguments: list[str]) -> bool:
    """Tell whether a Terraform output is a secret: its name says so, or it is raw with no harmless name."""
    named = [word for word in arguments if not word.startswith("-")]
    if not named:
        return False
    is_plain = named[0].lower().replace("-", "_").rsplit("_", 1)[-1] in _PLAIN_OUTPUTS
    return _is_telling(named[0]) or (len(named) < len(arguments) and not is_plain)


def _stands_for_one(word: str, secrets: set[str], depth: int) -> bool:
    """Tell whether a printed word expands to a secret."""
    if word[0] == "'":
        return False
    if any(_is_telling(name) or name in secrets for name in variables(word)):
        return True
    return any(_printer(inner, secrets, depth + 1) for inner in substitutions(word))


def _shows_environment(code: str) -> bool:
    """Tell whether an inline program prints a secret from the environment, or generates one."""
    if not any(word in code for word in ("print", "console.log", "-p", "puts", "write")):
        return False
    if any(word in code for word in _GENERATES):
        return True
    for sign in ("environ", "getenv", "process.env", "ENV"):
        _, found, rest = code.partition(sign)
        name = rest.removeprefix(".get").lstrip(".([\"'")
        if found and _is_telling(name[: len(name) - len(name.lstrip(NAME_CHARS))]):
            return True
    return False


def _selector(stages: list[str]) -> str:
    """Return the program that prints a secret's value without its name: `jq -r .token`, `grep NAME | cut`."""
    words = words_of(stages[-1]) if stages else []
    if not words or is_redirected(words):
        return ""
    program, arguments = base(words[0]), [bare(word) for word in words[1:]]
    if program in {"jq", "yq"}:
        names = _selected_fields(arguments)
    elif program in {"cut", "awk", "sed"} and len(stages) > 1:
        names = _sought(words_of(stages[-2]))
    else:
        names = []
    return program if any(map(_is_telling, names)) else ""


def _selected_fields(arguments: list[str]) -> list[str]:
    """Return the last field of each path that jq or yq selects, if it prints them raw (`-r`, `-j`)."""
    is_raw = any(word[:1] == "-" and ("r" in word or "j" in word) for word in arguments)
    return [word.rsplit(".", 1)[-1].strip("[]\"'?() ") for word in arguments if is_raw and word[:1] == "."]


def _sought(words: list[str]) -> list[str]:
    """Return grep's pattern and files, [] for another command or a comment, which has no words."""
    if not words or base(words[0]) not in {"grep", "rg"}:
        return []
    return [bare(word).strip("^=: ") for word in words[1:] if word[0] != "-"]


def _hands_on(words: list[str]) -> bool:
    program = base(words[0])
    return program in _HANDS_ON and not (program in {"grep", "rg"} and _COUNTS.intersection(words))


def without_output(call: dict[str, Any]) -> dict[str, Any]:
    """Return the output fields of a tool call whose command prints a secret, with that output replaced.

    In the error of a failed command only lines of one word are replaced: error messages contain blanks.
    """
    given = call.get("tool_input")
    command = given.get("command") if isinstance(given, dict) else None
    printer = printer_of(command) if isinstance(command, str) else ""
    if not printer:
        return {}
    hidden = f"[redacted: output of {printer}]"
    found: dict[str, Any] = {}
    if response := _hidden_response(call.get("tool_response"), hidden):
        found["tool_response"] = response
    error = call.get("error")
    if isinstance(error, str):
        lines = error.split("\n")
        found["error"] = "\n".join(hidden if len(line.split()) == 1 else line for line in lines)
    return found


def _hidden_response(response: Any, hidden: str) -> Any:
    """Return a response with `hidden` in place of its output; None if it is blank, no text and no object."""
    if isinstance(response, str):
        return hidden if response.strip() else None
    if not isinstance(response, dict):
        return None
    return response | {name: hidden for name in ("stdout", "stderr") if str(response.get(name) or "").strip()}
