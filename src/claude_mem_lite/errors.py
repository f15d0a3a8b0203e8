"""Define the one base of our errors; nothing else lives here."""


class ClaudeMemError(Exception):
    """A failure fit to be shown as it is: what was tried, on what, what was found, what to do next."""
