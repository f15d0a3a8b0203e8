"""Take events in: what a hook needs to store one, ask for a block, check a guard. Standard library only."""
