"""Build the environment of the services: a short list, and no variable of a session."""

import os
import sys

from claude_mem_lite import config, keys
from claude_mem_lite.keys import Credential

# Handed on where they are set; nothing else is. ANTHROPIC_* and proxies would decide where the content of
# every project goes and who pays for it; LD_* and PYTHON* which code runs.
HANDED_ON = (
    # who the user is, their language and time
    "HOME", "USER", "LOGNAME", "LANG", "TZ",
    # where temporary files go
    "TMPDIR",
    # the certificates of the network that the machine stands in
    "SSL_CERT_FILE", "SSL_CERT_DIR",
    # where fetched models lie
    "HF_HOME", "HF_HUB_CACHE",
)  # fmt: skip
# The rest of the language; folders of caches (models) and of settings (systemd's units).
PREFIXES = ("LC_", "XDG_")


def for_services(credential: Credential | None, *, with_key: str = "") -> dict[str, str]:
    """Return the environment in which supervisord starts both programs.

    It has the key of `credential` if that came from a variable; `with_key` is the one of `up --with-key`.
    PATH is the system's: the services start no other program but the client of `claude.via`, by its path.
    """
    names = (name for name in os.environ if name in HANDED_ON or name.startswith(PREFIXES))
    given = {name: os.environ[name] for name in names}
    given |= {"PATH": os.defpath, "CLAUDE_MEM_HOME": config.home(), "CLAUDE_MEM_PYTHON": sys.executable}
    if credential is not None and credential.source in keys.KINDS:
        given[credential.source] = credential.value
    return given | keys.to_hand_over(with_key) if with_key else given
