"""Search the memory by full text and by vectors."""
