"""Hooks that Claude Code starts: one file an event, standard library only."""
