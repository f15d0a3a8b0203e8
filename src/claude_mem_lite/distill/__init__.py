"""Turn captured events into observations and summaries by rules."""
