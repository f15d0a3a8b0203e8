"""Commands whose output is a secret by the command, whatever it looks like, and those that only look so."""

from __future__ import annotations

import json
from typing import Any

import pytest

from claude_mem_lite.redaction.events import scrub
from claude_mem_lite.redaction.printers import printer_of

WEAK = "spring otter lamp"  # looks like anything
SECRET = [
    "kubectl get secret db -n prod -o jsonpath='{.data.password}' | base64 -d",
    """kubectl get secret/db -o jsonpath="{.data['x']}" | base64 --decode; echo""",
    "terraform output -raw db_password",
    r"cd infra && terraform output -raw admin | tr -d '\\n'",
    "az keyvault secret show --vault-name v -n n --query value -o tsv",
    "gcloud secrets versions access latest --secret=x",
    'sudo op read "op://Vault/item/password"',
    "pass show web/x",
    "pass web/x | head -1",
    "printenv STRIPE_KEY API_TOKEN",
    "echo $X_TOKEN",
    'echo "token is ${GITHUB_TOKEN}"',
    "aws iam create-access-key --user-name x --output text",
    "AWS_PROFILE=p aws secretsmanager get-secret-value --secret-id a --query SecretString | jq -r .password",
    'PW=$(op read op://a/b/c) && echo "$PW"',
    "echo $(gh auth token)",
    'echo "Bearer $(gcloud auth print-access-token)"',
    "bash -c 'echo $DB_PASSWORD'",
    "ssh host 'printenv DB_PASSWORD'",
    "docker exec web printenv SECRET_KEY_BASE",
    "kubectl exec pod -- printenv DB_PASSWORD",
    '''python -c "import os; print(os.environ['API_TOKEN'])"''',
    'node -p "process.env.API_TOKEN"',
    "openssl rand -hex 32",
    "htpasswd -nb admin secretpw",
    "curl -s https://x/token -d a=b | jq -r '.access_token'",
    """grep DB_PASSWORD config.php | cut -d"'" -f4""",
    "cat /run/secrets/db",
    "security find-generic-password -s x -w",
    "python3 -m keyring get a b",
    "export T=`vault kv get -field=password secret/x`; echo $T",
    "sops -d secrets.enc.yaml",
    "pwsh -c 'x'; Write-Output $env:API_KEY",
]
HARMLESS = [
    "echo $HOME",
    "printenv PATH",
    "echo $PWD",
    "terraform output",
    "terraform output -raw vpc_id",
    "kubectl get pods -o jsonpath='{.items[*].metadata.name}'",
    "kubectl get secrets",
    "pass ls",
    "pass insert web/x",
    "git show",
    "echo '$API_TOKEN'",
    'echo "set API_TOKEN first"',
    "op read op://a/b/c | docker login -u x --password-stdin",
    "gh auth token | wc -c",
    'TOKEN=$(gh auth token) && curl -H "Authorization: Bearer $TOKEN" https://x',
    "echo ${API_TOKEN:+set}",
    "op --help",
    "openssl version",
    "az keyvault secret list",
    "az keyvault secret show -n x --query id -o tsv",
    "gcloud secrets list",
    "op read op://a/b/c > key.txt",
    'grep -rn "gh auth token" .',
    "jq -r '.name' package.json",
    "cat package.json | jq -r .version",
    "gpg --verify a",
    "git config user.name",
    "git log --oneline | cut -d' ' -f1",
    "npm config get registry",
    'echo "$KEYBOARD $TOKEN_COUNT $SECRET_NAME"',
    "ls && pytest -q",
    "ls\n# see the notes | cut -f1",
]


def call(command: str, **fields: Any) -> str:
    """Return the JSON text of a Bash call."""
    event = {"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": command}}
    return json.dumps(event | fields)


@pytest.mark.parametrize("command", SECRET)
def test_what_a_command_prints_goes_by_the_command(command: str) -> None:
    """A secret that looks like three words is withheld; that the command ran is not."""
    response = {"stdout": f"{WEAK}\n", "stderr": "", "isImage": False}

    stored = scrub(call(command, tool_response=response))

    assert WEAK not in stored
    event = json.loads(stored)
    assert event["tool_response"]["stdout"] == f"[redacted: output of {printer_of(command)}]"
    assert event["tool_response"]["isImage"] is False


@pytest.mark.parametrize("command", HARMLESS)
def test_what_only_looks_like_such_a_command_keeps_its_output(command: str) -> None:
    """Help, lists, names, copies and what goes to another program or a file stay as they are."""
    event = call(command, tool_response={"stdout": f"{WEAK}\n", "stderr": ""})

    assert scrub(event) == event


def test_why_such_a_command_failed_is_kept() -> None:
    """Of a failure only lines of one word go: one may be the secret, an error has blanks."""
    event = call("op read op://a/b/c", error="Exit code 1\nhunter2\n[ERROR] could not find item b in vault a")

    stored = json.loads(scrub(event))

    assert stored["error"] == (
        "Exit code 1\n[redacted: output of op]\n[ERROR] could not find item b in vault a"
    )


def test_a_text_for_the_model_is_withheld_too() -> None:
    """A batch tells the output as a text; it goes like the fields of a single call."""
    one = {"tool_name": "Bash", "tool_input": {"command": "pass show a"}, "tool_response": WEAK}

    stored = scrub(json.dumps({"hook_event_name": "PostToolBatch", "tool_calls": [one]}))

    assert json.loads(stored)["tool_calls"][0]["tool_response"] == "[redacted: output of pass]"


@pytest.mark.parametrize(
    "unit", ["$(", "`", "'", '"', "\\", "echo $A_TOKEN ", "|", "sudo ", "a=$(b) ", "(", "${"]
)
def test_any_script_is_read_to_its_end(unit: str) -> None:
    """A hundred thousand characters of anything give an answer, whatever they open and do not close."""
    assert isinstance(printer_of(unit * (100_000 // len(unit))), str)
