"""Capture for hooks: store an event, ask for a block, check a guard. Standard library only."""
