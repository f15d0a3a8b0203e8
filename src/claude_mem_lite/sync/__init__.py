"""Carry the memory between machines by way of a hub: log changes, merge records, push and pull segments."""
