"""Sync the memory between machines through a hub: log changes, merge records, push and pull segments."""
