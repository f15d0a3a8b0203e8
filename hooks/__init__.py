"""Hooks that Claude Code starts: one file per event, standard library only."""
