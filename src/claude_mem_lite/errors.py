"""Define the base class of all our errors; nothing else lives here."""


class ClaudeMemError(Exception):
    """An error whose message can be shown as it is: what was tried, on what, what was found, what to do."""
